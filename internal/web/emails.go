package web

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
)

// emailsPath is the page of a person's addresses.
const emailsPath = "/-/user_settings/emails"

func (d *Door) emailPages() []page {
	return []page{
		{route: "GET " + emailsPath, do: (*visit).showEmails},
		{route: "POST " + emailsPath, do: (*visit).addEmail},
		{route: "POST " + emailsPath + "/primary", do: (*visit).choosePrimary},
		{route: "POST " + emailsPath + "/confirm", do: (*visit).confirmAgain},
		{route: "POST " + emailsPath + "/{id}/remove", do: (*visit).removeEmail},
	}
}

// emailsBody is the addresses of a person.
type emailsBody struct {
	Rows    []emailRow
	Mail    bool   // the instance can ask for proof
	Waiting string // the address that becomes the primary one when it is confirmed
	Resend  *form  // nil when every address is confirmed
	Add     *form
	Primary *form // nil when there is nothing to choose from
}

type emailRow struct {
	Address            string
	Primary, Confirmed bool
	Uses               []string
	Remove             *form
}

func (x *visit) addEmailForm() *form {
	f := emailField()
	f.Focus = false
	return x.newForm(emailsPath, "Add address", f)
}

func (x *visit) showEmails() error { return x.emails(http.StatusOK, nil) }

// emails shows the page; given takes the place of the form with its action.
func (x *visit) emails(status int, given *form) error {
	found, err := x.Users.Emails(x.r.Context(), x.account.ID, paging.Request{Page: 1, PerPage: ownRows})
	if err != nil {
		return err
	}
	body := emailsBody{Mail: x.SignIns.Mail.Configured(), Add: x.addEmailForm()}
	if x.account.UnconfirmedEmail != nil {
		body.Waiting = *x.account.UnconfirmedEmail
	}
	choice := field{Name: "email", As: "primary_email", Label: "Address", Type: "select", Required: true}
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
			body.Resend = x.button(emailsPath+"/confirm", "Send the links again", "", "")
		}
		return r
	}
	body.Rows = append(body.Rows, row(x.account.Email, true, x.account.ConfirmedAt != nil))
	for _, e := range found.Items {
		r := row(e.Email, false, e.ConfirmedAt != nil)
		r.Remove = x.button(emailsPath+"/"+strconv.FormatInt(e.ID, 10)+"/remove", "Remove", "danger", "the address "+e.Email)
		body.Rows = append(body.Rows, r)
	}
	if len(choice.Options) > 1 {
		body.Primary = x.primaryForm(choice)
	}
	for _, f := range []**form{&body.Add, &body.Primary} {
		if given != nil && *f != nil && (*f).Action == given.Action {
			given.keepOptions(*f)
			*f = given
		}
	}
	return x.show(status, "emails", "Email addresses", body, settings(emailsPath))
}

func primaryChoice(address string, chosen bool) choice {
	return choice{Value: address, Label: address, Chosen: chosen}
}

func (x *visit) primaryForm(address field) *form {
	return x.newForm(emailsPath+"/primary", "Make it primary", address, x.reassureField(""))
}

// keepOptions takes over what can be chosen from, where a form was made
// without knowing it.
func (f *form) keepOptions(from *form) {
	for i := range f.Fields {
		if f.Fields[i].Options == nil && i < len(from.Fields) {
			f.Fields[i].Options = from.Fields[i].Options
		}
	}
}

func (x *visit) addEmail() error {
	_, err := x.Users.AddEmail(x.r.Context(), x.actor, x.account.ID, strings.TrimSpace(x.form.Get("email")), false)
	if err == nil {
		text := "The address is added."
		if x.SignIns.Mail.Configured() {
			text += " It counts once you follow the link that is mailed to it."
		}
		return x.done(emailsPath, text)
	}
	f := x.addEmailForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.emails(http.StatusUnprocessableEntity, f)
}

// choosePrimary asks for the password: links that set a new one go to the
// primary address.
func (x *visit) choosePrimary() error {
	address := x.form.Get("email")
	err := x.reassure()
	if err == nil {
		_, err = x.Users.Update(x.r.Context(), x.actor, x.account.ID, user.Attributes{Email: &address})
	}
	if err == nil {
		return x.done(emailsPath, "Your primary address is changed.")
	}
	f := x.primaryForm(field{Name: "email", As: "primary_email", Label: "Address", Type: "select", Required: true})
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.emails(http.StatusUnprocessableEntity, f)
}

func (x *visit) confirmAgain() error {
	if !x.SignIns.Mail.Configured() {
		return fault.Because(fault.Forbidden, "This instance sends no mail. Ask an administrator.")
	}
	if err := x.SignIns.ConfirmAgain(x.r.Context(), x.account, x.address); err != nil {
		return err
	}
	return x.done(emailsPath, "A mail is on its way to each address that is not confirmed.")
}

func (x *visit) removeEmail() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	if err := x.Users.RemoveEmail(x.r.Context(), x.actor, x.account.ID, id); err != nil {
		return err
	}
	return x.done(emailsPath, "The address is removed.")
}
