package account

import (
	"net/http"
	"strings"

	"stithy/internal/user"
	"stithy/internal/web/page"
)

// profileField is a field of the profile and the attribute that it sets.
type profileField struct {
	page.Field
	read func(*user.User) string
	set  func(*user.Attributes, *string)
}

func profileFields() []profileField {
	text := func(name, label, autocomplete string, length int, read func(*user.User) string,
		set func(*user.Attributes, *string)) profileField {
		return profileField{page.Field{Name: name, Label: label, Type: page.Text, Autocomplete: autocomplete, Length: length}, read, set}
	}
	all := []profileField{
		text("name", "Name", "name", 255, func(u *user.User) string { return u.Name }, func(a *user.Attributes, s *string) { a.Name = s }),
		text("pronouns", "Pronouns", "", 50, func(u *user.User) string { return u.Pronouns },
			func(a *user.Attributes, s *string) { a.Pronouns = s }),
		text("location", "Location", "", 500, func(u *user.User) string { return u.Location },
			func(a *user.Attributes, s *string) { a.Location = s }),
		text("organization", "Organization", "organization", 500, func(u *user.User) string { return u.Organization },
			func(a *user.Attributes, s *string) { a.Organization = s }),
		text("job_title", "Job title", "organization-title", 200, func(u *user.User) string { return u.JobTitle },
			func(a *user.Attributes, s *string) { a.JobTitle = s }),
		text("website_url", "Website", "url", 500, func(u *user.User) string { return u.WebsiteURL },
			func(a *user.Attributes, s *string) { a.WebsiteURL = s }),
		text("bio", "About you", "", 255, func(u *user.User) string { return u.Bio }, func(a *user.Attributes, s *string) { a.Bio = s }),
	}
	all[0].Required = true
	all[5].Hint = "Begins with https:// or http://."
	all[6].Type = "textarea"
	return all
}

func profileForm(x *request) *page.Form {
	f := x.NewForm(profilePath, "Save profile")
	for _, p := range profileFields() {
		p.Value = p.read(x.account)
		f.Fields = append(f.Fields, p.Field)
	}
	private := page.Field{
		Name: "private_profile", Label: "Private profile", Type: page.Checkbox, Hint: "Others do not see when you joined and whom you follow.",
	}
	if x.account.PrivateProfile {
		private.Value = "1"
	}
	f.Fields = append(f.Fields, private)
	return f
}

// profileBody is the account as its owner sees it.
type profileBody struct {
	Form            *page.Form
	Username, Email string
	Joined          *page.DisplayTime
}

func showProfile(x *request) error { return profile(x, http.StatusOK, profileForm(x)) }

func profile(x *request, status int, f *page.Form) error {
	return x.Show(status, settings(x, "Profile", profilePath), profilePage(profileBody{
		Form: f, Username: x.account.Username, Email: x.account.Email, Joined: x.Time(&x.account.CreatedAt),
	}))
}

func changeProfile(x *request) error {
	a := user.Attributes{PrivateProfile: new(x.Form.Get("private_profile") == "1")}
	for _, p := range profileFields() {
		p.set(&a, new(strings.TrimSpace(x.Form.Get(p.Name))))
	}
	_, err := x.deps.Users.Update(x.Context(), x.Actor, x.account.ID, a)
	if err == nil {
		return x.Done(profilePath, "Your profile is saved.")
	}
	f := profileForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return profile(x, http.StatusUnprocessableEntity, f)
}
