package account

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/oauth"
	"stithy/internal/platform/secretbox"
	"stithy/internal/web/page"
)

// applicationsLayout is the layout of a page of applications.
func applicationsLayout(x *request, at, title string) page.Layout {
	if at == ownApplications {
		return settings(x, title, at)
	}
	return page.Layout{Title: title, Sidebar: x.Sidebar(page.AdminList, at)}
}

// applicationsBody is the applications that someone registered, and those
// that act for them.
type applicationsBody struct {
	New        page.URL // empty: this person may register none
	Registered []applicationRow
	Own        bool
	Authorized []grantRow
}

func (b applicationsBody) registeredTitle() string {
	if b.Own {
		return "Registered by you"
	}
	return "Registered for the instance"
}

type applicationRow struct {
	Name, Callback string
	URL            page.URL
	Trusted        bool
}

type grantRow struct {
	Name   string
	Scopes string
	Since  *page.DisplayTime
	Revoke *page.Form
}

func applications(x *request, at string) error {
	body := applicationsBody{Own: at == ownApplications}
	if !body.Own || x.deps.Settings.Current().UserOAuthApplications || x.Actor.Admin() {
		body.New = x.Link(at + "/new")
	}
	list, err := registered(x, at)
	if err != nil {
		return err
	}
	for _, a := range list {
		body.Registered = append(body.Registered, applicationRow{
			Name: a.Name, URL: x.Link(at + "/" + strconv.FormatInt(a.ID, 10)), Callback: a.RedirectURI, Trusted: a.Trusted,
		})
	}
	if body.Own {
		grants, err := x.deps.OAuth.Authorized(x.Context(), x.account.ID)
		if err != nil {
			return err
		}
		for _, g := range grants {
			body.Authorized = append(body.Authorized, grantRow{
				Name: g.Name, Scopes: spaced(g.Scopes), Since: x.Time(&g.Since),
				Revoke: x.Button("/oauth/authorized_applications/"+strconv.FormatInt(g.ID, 10), "Revoke", page.Danger, "access of "+g.Name).
					AskFirst(g.Name + " can act for you no more. It has to ask you again."),
			})
		}
	}
	layout := applicationsLayout(x, at, "Applications")
	if body.New != "" {
		layout.Actions = newApplication(body.New)
	}
	return x.Show(http.StatusOK, layout, applicationsPage(body))
}

func registered(x *request, at string) ([]oauth.Application, error) {
	if at == ownApplications {
		return x.deps.OAuth.OfOwner(x.Context(), x.account.ID)
	}
	return x.deps.OAuth.OfInstance(x.Context())
}

func spaced(scopes access.Scopes) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

// applicationForm asks for everything that an application is made of.
func applicationForm(x *request, at, action, submit string, a oauth.Application) *page.Form {
	scopes := page.Field{Name: "scopes", Label: "Scopes", Type: page.Checkboxes}
	for _, s := range oauth.Scopes() {
		scopes.Options = append(scopes.Options, page.Choice{Value: string(s), Label: string(s), Hint: scopeMeanings[s], Chosen: a.Scopes.Has(s)})
	}
	f := x.NewForm(action, submit,
		page.Field{Name: "name", Label: "Name", Type: page.Text, Value: a.Name, Required: true, Length: 255,
			Hint: "People see it when they are asked to authorize the application."},
		page.Field{Name: "redirect_uri", Label: "Redirect URI", Type: page.Textarea, Value: a.RedirectURI, Required: true,
			Hint: "Where answers are sent to, to the letter. One on each line."},
		page.Field{Name: "confidential", Label: "Confidential", Type: page.Checkbox, Value: page.Checked(a.Confidential),
			Hint: "The application runs where its secret can be kept. Leave it off for apps on phones, desktops and in browsers."},
	)
	if at == instanceApplications {
		f.Fields = append(f.Fields, page.Field{Name: "trusted", Label: "Trusted", Type: page.Checkbox, Value: page.Checked(a.Trusted),
			Hint: "People are not asked whether it may act for them."})
	}
	f.Fields = append(f.Fields, scopes)
	return f
}

func draft(x *request, at string) oauth.Draft {
	d := oauth.Draft{
		Name: strings.TrimSpace(x.Form.Get("name")), RedirectURI: strings.TrimSpace(x.Form.Get("redirect_uri")),
		Confidential: x.Form.Get("confidential") != "", Trusted: at == instanceApplications && x.Form.Get("trusted") != "",
	}
	for _, s := range x.Form["scopes"] {
		d.Scopes = append(d.Scopes, access.Scope(s))
	}
	return d
}

func showNewApplication(x *request, at string) error {
	return x.Show(http.StatusOK, applicationsLayout(x, at, "Register an application"),
		applicationFormPage(applicationForm(x, at, at, "Register", oauth.Application{Confidential: true})))
}

func createApplication(x *request, at string) error {
	var owner *int64
	if at == ownApplications {
		owner = &x.account.ID
	}
	a, secret, err := x.deps.OAuth.Create(x.Context(), x.Actor, owner, draft(x, at))
	if err != nil {
		return refusedApplication(x, at, applicationForm(x, at, at, "Register", oauth.Application{}), "Register an application", err)
	}
	return shownOnce(x, at, a, secret, "The application is registered.")
}

// refusedApplication shows a form again, with what is wrong with it.
func refusedApplication(x *request, at string, f *page.Form, title string, err error) error {
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return x.Show(http.StatusUnprocessableEntity, applicationsLayout(x, at, title), applicationFormPage(f))
}

// shownOnce sends the browser to the application, whose page shows the secret
// this one time.
func shownOnce(x *request, at string, a *oauth.Application, secret secretbox.Secret, text string) error {
	if err := x.Say(page.Flash{Good: true, Text: text, Secret: secret.Reveal()}); err != nil {
		return err
	}
	x.Redirect(at + "/" + strconv.FormatInt(a.ID, 10))
	return nil
}

// find reads the application of the path: one's own in one's settings, one of
// the instance for administrators.
func find(x *request, at string) (*oauth.Application, error) {
	id, err := strconv.ParseInt(x.R.PathValue("id"), 10, 64)
	if err != nil {
		return nil, fault.New(fault.NotFound)
	}
	a, err := x.deps.OAuth.Find(x.Context(), x.Actor, id)
	if err == nil && (at == ownApplications) != (a.OwnerID != nil && *a.OwnerID == x.account.ID) {
		return nil, fault.New(fault.NotFound)
	}
	return a, err
}

type applicationBody struct {
	UID, Scopes           string
	Callbacks             []string
	Confidential, Trusted bool
	Secret                string
	Edit                  page.URL
	Renew, Delete         *page.Form
}

func application(x *request, at string) error {
	a, err := find(x, at)
	if err != nil {
		return err
	}
	here := at + "/" + strconv.FormatInt(a.ID, 10)
	body := applicationBody{
		UID: a.UID, Scopes: spaced(a.Scopes), Callbacks: strings.Fields(a.RedirectURI), Confidential: a.Confidential, Trusted: a.Trusted,
		Edit: x.Link(here + "/edit"), Renew: x.Button(here+"/renew", "Renew secret", page.Secondary, "of "+a.Name).
			AskFirst("The secret that " + a.Name + " uses now works no more, until it is given the new one."),
		Delete: x.Button(here+"/delete", "Delete", page.Danger, a.Name).
			AskFirst(a.Name + " can act for nobody any more. This cannot be undone."),
	}
	if f := x.Flash(); f != nil {
		body.Secret = f.Secret
	}
	layout := applicationsLayout(x, at, a.Name)
	layout.Actions = applicationActions(body)
	return x.Show(http.StatusOK, layout, applicationPage(body))
}

func editApplication(x *request, at string) error {
	a, err := find(x, at)
	if err != nil {
		return err
	}
	return x.Show(http.StatusOK, applicationsLayout(x, at, "Edit "+a.Name),
		applicationFormPage(applicationForm(x, at, at+"/"+strconv.FormatInt(a.ID, 10), "Save changes", *a)))
}

func updateApplication(x *request, at string) error {
	a, err := find(x, at)
	if err != nil {
		return err
	}
	here := at + "/" + strconv.FormatInt(a.ID, 10)
	if _, err := x.deps.OAuth.Update(x.Context(), x.Actor, a.ID, draft(x, at)); err != nil {
		return refusedApplication(x, at, applicationForm(x, at, here, "Save changes", *a), "Edit "+a.Name, err)
	}
	return x.Done(here, "The application was changed.")
}

func renewApplication(x *request, at string) error {
	a, err := find(x, at)
	if err != nil {
		return err
	}
	a, secret, err := x.deps.OAuth.RenewSecret(x.Context(), x.Actor, a.ID)
	if err != nil {
		return err
	}
	return shownOnce(x, at, a, secret, "The old secret works no more.")
}

func deleteApplication(x *request, at string) error {
	a, err := find(x, at)
	if err == nil {
		err = x.deps.OAuth.Delete(x.Context(), x.Actor, a.ID)
	}
	if err != nil {
		return err
	}
	return x.Done(at, "The application "+a.Name+" was deleted, and what it was granted has ended.")
}

func withdraw(x *request) error {
	id, err := strconv.ParseInt(x.R.PathValue("id"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound)
	}
	if err := x.deps.OAuth.Withdraw(x.Context(), x.Actor, x.account, id); err != nil {
		return err
	}
	return x.Done(ownApplications, "The application has no access any more.")
}
