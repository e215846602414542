package web

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/oauth"
	"stithy/internal/platform/secretbox"
)

const (
	ownApplications      = "/-/user_settings/applications"
	instanceApplications = "/admin/applications"
)

func (d *Door) applicationPages() []page {
	scopes := []string{"scopes"}
	var all []page
	for at, who := range map[string]audience{ownApplications: signedIn, instanceApplications: administrators} {
		all = append(all,
			page{route: "GET " + at, who: who, do: func(x *visit) error { return x.applications(at) }},
			page{route: "GET " + at + "/new", who: who, do: func(x *visit) error { return x.showNewApplication(at) }},
			page{route: "POST " + at, who: who, many: scopes, do: func(x *visit) error { return x.createApplication(at) }},
			page{route: "GET " + at + "/{id}", who: who, do: func(x *visit) error { return x.application(at) }},
			page{route: "GET " + at + "/{id}/edit", who: who, do: func(x *visit) error { return x.editApplication(at) }},
			page{route: "POST " + at + "/{id}", who: who, many: scopes, do: func(x *visit) error { return x.updateApplication(at) }},
			page{route: "POST " + at + "/{id}/renew", who: who, do: func(x *visit) error { return x.renewApplication(at) }},
			page{route: "POST " + at + "/{id}/delete", who: who, do: func(x *visit) error { return x.deleteApplication(at) }},
		)
	}
	return append(all, page{route: "POST /oauth/authorized_applications/{id}", do: (*visit).withdraw})
}

// neighbours are the pages beside those of applications.
func neighbours(at string) option {
	if at == ownApplications {
		return settings(at)
	}
	return administration(at)
}

// applicationsBody is the applications that someone registered, and those
// that act for them.
type applicationsBody struct {
	New        string // empty: this person may register none
	Registered []applicationRow
	Own        bool
	Authorized []grantRow
}

type applicationRow struct {
	Name, Path, Callback string
	Trusted              bool
}

type grantRow struct {
	Name   string
	Scopes string
	Since  *moment
	Revoke *form
}

func (x *visit) applications(at string) error {
	body := applicationsBody{Own: at == ownApplications}
	if !body.Own || x.Settings.Current().UserOAuthApplications || x.actor.Admin() {
		body.New = at + "/new"
	}
	list, err := x.registered(at)
	if err != nil {
		return err
	}
	for _, a := range list {
		body.Registered = append(body.Registered, applicationRow{
			Name: a.Name, Path: at + "/" + strconv.FormatInt(a.ID, 10), Callback: a.RedirectURI, Trusted: a.Trusted,
		})
	}
	if body.Own {
		grants, err := x.OAuth.Authorized(x.r.Context(), x.account.ID)
		if err != nil {
			return err
		}
		for _, g := range grants {
			body.Authorized = append(body.Authorized, grantRow{
				Name: g.Name, Scopes: spaced(g.Scopes), Since: x.moment(&g.Since),
				Revoke: x.button("/oauth/authorized_applications/"+strconv.FormatInt(g.ID, 10), "Revoke", "danger", "access of "+g.Name),
			})
		}
	}
	return x.show(http.StatusOK, "applications", "Applications", body, neighbours(at))
}

func (x *visit) registered(at string) ([]oauth.Application, error) {
	if at == ownApplications {
		return x.OAuth.OfOwner(x.r.Context(), x.account.ID)
	}
	return x.OAuth.OfInstance(x.r.Context())
}

func spaced(scopes access.Scopes) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

// applicationForm asks for everything that an application is made of.
func (x *visit) applicationForm(at, action, submit string, a oauth.Application) *form {
	scopes := field{Name: "scopes", Label: "Scopes", Type: "checkboxes"}
	for _, s := range oauth.Scopes() {
		scopes.Options = append(scopes.Options, choice{Value: string(s), Label: string(s), Hint: scopeMeanings[s], Chosen: a.Scopes.Has(s)})
	}
	f := x.newForm(action, submit,
		field{Name: "name", Label: "Name", Type: "text", Value: a.Name, Required: true, Length: 255, Hint: "People see it when they are asked to authorize the application."},
		field{Name: "redirect_uri", Label: "Redirect URI", Type: "textarea", Value: a.RedirectURI, Required: true, Hint: "Where answers are sent to, to the letter. One on each line."},
		field{Name: "confidential", Label: "Confidential", Type: "checkbox", Value: checked(a.Confidential), Hint: "The application runs where its secret can be kept. Leave it off for apps on phones, desktops and in browsers."},
	)
	if at == instanceApplications {
		f.Fields = append(f.Fields, field{Name: "trusted", Label: "Trusted", Type: "checkbox", Value: checked(a.Trusted), Hint: "People are not asked whether it may act for them."})
	}
	f.Fields = append(f.Fields, scopes)
	return f
}

func (x *visit) draft(at string) oauth.Draft {
	d := oauth.Draft{
		Name: strings.TrimSpace(x.form.Get("name")), RedirectURI: strings.TrimSpace(x.form.Get("redirect_uri")),
		Confidential: x.form.Get("confidential") != "", Trusted: at == instanceApplications && x.form.Get("trusted") != "",
	}
	for _, s := range x.form["scopes"] {
		d.Scopes = append(d.Scopes, access.Scope(s))
	}
	return d
}

func (x *visit) showNewApplication(at string) error {
	return x.show(http.StatusOK, "application_form", "Register an application",
		x.applicationForm(at, at, "Register", oauth.Application{Confidential: true}), neighbours(at))
}

func (x *visit) createApplication(at string) error {
	var owner *int64
	if at == ownApplications {
		owner = &x.account.ID
	}
	a, secret, err := x.OAuth.Create(x.r.Context(), x.actor, owner, x.draft(at))
	if err != nil {
		return x.refusedApplication(at, x.applicationForm(at, at, "Register", oauth.Application{}), "Register an application", err)
	}
	return x.shownOnce(at, a, secret, "The application is registered.")
}

// refusedApplication shows a form again, with what is wrong with it.
func (x *visit) refusedApplication(at string, f *form, title string, err error) error {
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.show(http.StatusUnprocessableEntity, "application_form", title, f, neighbours(at))
}

// shownOnce sends the browser to the application, whose page shows the secret
// this one time.
func (x *visit) shownOnce(at string, a *oauth.Application, secret secretbox.Secret, text string) error {
	if err := x.say(flash{Good: true, Text: text, Secret: secret.Reveal()}); err != nil {
		return err
	}
	x.redirect(at + "/" + strconv.FormatInt(a.ID, 10))
	return nil
}

// find reads the application of the path: one's own in one's settings, one of
// the instance for administrators.
func (x *visit) find(at string) (*oauth.Application, error) {
	id, err := strconv.ParseInt(x.r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, fault.New(fault.NotFound)
	}
	a, err := x.OAuth.Find(x.r.Context(), x.actor, id)
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
	Edit                  string
	Renew, Delete         *form
}

func (x *visit) application(at string) error {
	a, err := x.find(at)
	if err != nil {
		return err
	}
	here := at + "/" + strconv.FormatInt(a.ID, 10)
	body := applicationBody{
		UID: a.UID, Scopes: spaced(a.Scopes), Callbacks: strings.Fields(a.RedirectURI), Confidential: a.Confidential, Trusted: a.Trusted,
		Edit: here + "/edit", Renew: x.button(here+"/renew", "Renew secret", "", "of "+a.Name), Delete: x.button(here+"/delete", "Delete", "danger", a.Name),
	}
	if f := x.flash(); f != nil {
		body.Secret = f.Secret
	}
	return x.show(http.StatusOK, "application", a.Name, body, neighbours(at))
}

func (x *visit) editApplication(at string) error {
	a, err := x.find(at)
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, "application_form", "Edit "+a.Name,
		x.applicationForm(at, at+"/"+strconv.FormatInt(a.ID, 10), "Save changes", *a), neighbours(at))
}

func (x *visit) updateApplication(at string) error {
	a, err := x.find(at)
	if err != nil {
		return err
	}
	here := at + "/" + strconv.FormatInt(a.ID, 10)
	if _, err := x.OAuth.Update(x.r.Context(), x.actor, a.ID, x.draft(at)); err != nil {
		return x.refusedApplication(at, x.applicationForm(at, here, "Save changes", *a), "Edit "+a.Name, err)
	}
	return x.done(here, "The application was changed.")
}

func (x *visit) renewApplication(at string) error {
	a, err := x.find(at)
	if err != nil {
		return err
	}
	a, secret, err := x.OAuth.RenewSecret(x.r.Context(), x.actor, a.ID)
	if err != nil {
		return err
	}
	return x.shownOnce(at, a, secret, "The old secret works no more.")
}

func (x *visit) deleteApplication(at string) error {
	a, err := x.find(at)
	if err == nil {
		err = x.OAuth.Delete(x.r.Context(), x.actor, a.ID)
	}
	if err != nil {
		return err
	}
	return x.done(at, "The application "+a.Name+" was deleted, and what it was granted has ended.")
}

func (x *visit) withdraw() error {
	id, err := strconv.ParseInt(x.r.PathValue("id"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound)
	}
	if err := x.OAuth.Withdraw(x.r.Context(), x.actor, x.account, id); err != nil {
		return err
	}
	return x.done(ownApplications, "The application has no access any more.")
}
