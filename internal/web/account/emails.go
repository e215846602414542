package account

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
)

// emailsBody is the addresses of a person.
type emailsBody struct {
	Rows    []emailRow
	Mail    bool       // the instance can ask for proof
	Waiting string     // the address that becomes the primary one when it is confirmed
	Resend  *page.Form // nil when every address is confirmed
	Add     *page.Form
	Primary *page.Form // nil when there is nothing to choose from
}

type emailRow struct {
	Address            string
	Primary, Confirmed bool
	Uses               []string
	Remove             *page.Form
}

func addEmailForm(x *request) *page.Form {
	f := emailField()
	f.Focus = false
	return x.NewForm(emailsPath, "Add address", f)
}

func showEmails(x *request) error { return emails(x, http.StatusOK, nil) }

// emails shows the page; given takes the place of the form with its action.
func emails(x *request, status int, given *page.Form) error {
	found, err := x.deps.Users.Emails(x.Context(), x.account.ID, paging.Request{Page: 1, PerPage: ownRows})
	if err != nil {
		return err
	}
	body := emailsBody{Mail: x.deps.SignIns.SendsMail(), Add: addEmailForm(x)}
	if x.account.UnconfirmedEmail != nil {
		body.Waiting = *x.account.UnconfirmedEmail
	}
	choice := page.Field{Name: "email", As: "primary_email", Label: "Address", Type: page.Select, Required: true}
	row := func(address string, primary, confirmed bool) emailRow {
		r := emailRow{Address: address, Primary: primary, Confirmed: confirmed}
		for _, use := range []struct{ address, text string }{
			{x.account.PublicEmail, "shown on your profile"}, {x.account.CommitEmail, "used for commits made here"},
		} {
			if strings.EqualFold(use.address, address) {
				r.Uses = append(r.Uses, use.text)
			}
		}
		if confirmed {
			choice.Options = append(choice.Options, primaryChoice(address, primary))
		} else if body.Mail {
			body.Resend = x.Button(emailsPath+"/confirm", "Send the links again", page.Secondary, "")
		}
		return r
	}
	body.Rows = append(body.Rows, row(x.account.Email, true, x.account.ConfirmedAt != nil))
	for _, e := range found.Items {
		r := row(e.Email, false, e.ConfirmedAt != nil)
		r.Remove = x.Button(emailsPath+"/"+strconv.FormatInt(e.ID, 10)+"/remove", "Remove", page.Danger, "the address "+e.Email).
			AskFirst(e.Email + " signs you in no more, and commits with it are not shown as yours.")
		body.Rows = append(body.Rows, r)
	}
	if len(choice.Options) > 1 {
		body.Primary = primaryForm(x, choice)
	}
	for _, f := range []**page.Form{&body.Add, &body.Primary} {
		if given != nil && *f != nil && (*f).Action == given.Action {
			keepOptions(given, *f)
			*f = given
		}
	}
	return x.Show(status, settings(x, "Email addresses", emailsPath), emailsPage(body))
}

func primaryChoice(address string, chosen bool) page.Choice {
	return page.Choice{Value: address, Label: address, Chosen: chosen}
}

func primaryForm(x *request, address page.Field) *page.Form {
	return x.NewForm(emailsPath+"/primary", "Make it primary", address, reassureField(""))
}

// keepOptions takes over what can be chosen from, where a form was made
// without knowing it.
func keepOptions(f, from *page.Form) {
	for i := range f.Fields {
		if f.Fields[i].Options == nil && i < len(from.Fields) {
			f.Fields[i].Options = from.Fields[i].Options
		}
	}
}

func addEmail(x *request) error {
	_, err := x.deps.Users.AddEmail(x.Context(), x.Actor, x.account.ID, strings.TrimSpace(x.Form.Get("email")), false)
	if err == nil {
		text := "The address is added."
		if x.deps.SignIns.SendsMail() {
			text += " It counts once you follow the link that is mailed to it."
		}
		return x.Done(emailsPath, text)
	}
	f := addEmailForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return emails(x, http.StatusUnprocessableEntity, f)
}

// choosePrimary asks for the password: links that set a new one go to the
// primary address.
func choosePrimary(x *request) error {
	address := x.Form.Get("email")
	err := reassure(x)
	if err == nil {
		_, err = x.deps.Users.Update(x.Context(), x.Actor, x.account.ID, user.Attributes{Email: &address})
	}
	if err == nil {
		return x.Done(emailsPath, "Your primary address is changed.")
	}
	f := primaryForm(x, page.Field{Name: "email", As: "primary_email", Label: "Address", Type: page.Select, Required: true})
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return emails(x, http.StatusUnprocessableEntity, f)
}

func confirmAgain(x *request) error {
	if !x.deps.SignIns.SendsMail() {
		return fault.WithReason(fault.Forbidden, "This instance sends no mail. Ask an administrator.")
	}
	if err := x.deps.SignIns.ConfirmAgain(x.Context(), x.account, x.Address); err != nil {
		return err
	}
	return x.Done(emailsPath, "A mail is on its way to each address that is not confirmed.")
}

func removeEmail(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	if err := x.deps.Users.RemoveEmail(x.Context(), x.Actor, x.account.ID, id); err != nil {
		return err
	}
	return x.Done(emailsPath, "The address is removed.")
}
