package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token"
	"stithy/internal/user"
)

// The pages of a person's own settings.
const (
	profilePath  = "/-/user_settings/profile"
	passwordPath = "/-/user_settings/password"
	tokensPath   = "/-/user_settings/personal_access_tokens"
	keysPath     = "/-/user_settings/ssh_keys"
	sessionsPath = "/-/user_settings/active_sessions"
)

// settingsPlaces are the neighbours of every settings page.
var settingsPlaces = []place{
	{Title: "Profile", Path: profilePath}, {Title: "Email addresses", Path: emailsPath}, {Title: "Password", Path: passwordPath},
	{Title: "Access tokens", Path: tokensPath},
	{Title: "SSH keys", Path: keysPath}, {Title: "Sessions", Path: sessionsPath}, {Title: "Two-factor", Path: factorsPath},
	{Title: "Applications", Path: ownApplications}, {Title: "Invitations", Path: invitationsPath},
}

func settings(here string) option { return beside("Settings", here, settingsPlaces...) }

func (d *Door) settingsPages() []page {
	return []page{
		{route: "GET " + profilePath, do: (*visit).showProfile},
		{route: "POST " + profilePath, do: (*visit).changeProfile},
		{route: "GET " + passwordPath, do: (*visit).showPassword},
		{route: "POST " + passwordPath, do: (*visit).replacePassword},
		{route: "GET " + tokensPath, do: (*visit).showTokens},
		{route: "POST " + tokensPath, do: (*visit).createToken, many: []string{"scopes"}},
		{route: "POST " + tokensPath + "/{id}/revoke", do: (*visit).revokeToken},
		{route: "GET " + keysPath, do: (*visit).showKeys},
		{route: "POST " + keysPath, do: (*visit).addKey},
		{route: "POST " + keysPath + "/{id}/remove", do: (*visit).removeKey},
		{route: "GET " + sessionsPath, do: (*visit).showSessions},
		{route: "POST " + sessionsPath + "/{id}/end", do: (*visit).endSession},
	}
}

// id is the number in the path.
func (x *visit) id() (int64, error) {
	id, err := strconv.ParseInt(x.r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, fault.New(fault.NotFound)
	}
	return id, nil
}

// profileField is a field of the profile and the attribute that it sets.
type profileField struct {
	field
	read func(*user.User) string
	set  func(*user.Attributes, *string)
}

func profileFields() []profileField {
	text := func(name, label, autocomplete string, length int, read func(*user.User) string, set func(*user.Attributes, *string)) profileField {
		return profileField{field{Name: name, Label: label, Type: "text", Autocomplete: autocomplete, Length: length}, read, set}
	}
	all := []profileField{
		text("name", "Name", "name", 255, func(u *user.User) string { return u.Name }, func(a *user.Attributes, s *string) { a.Name = s }),
		text("pronouns", "Pronouns", "", 50, func(u *user.User) string { return u.Pronouns }, func(a *user.Attributes, s *string) { a.Pronouns = s }),
		text("location", "Location", "", 500, func(u *user.User) string { return u.Location }, func(a *user.Attributes, s *string) { a.Location = s }),
		text("organization", "Organization", "organization", 500, func(u *user.User) string { return u.Organization }, func(a *user.Attributes, s *string) { a.Organization = s }),
		text("job_title", "Job title", "organization-title", 200, func(u *user.User) string { return u.JobTitle }, func(a *user.Attributes, s *string) { a.JobTitle = s }),
		text("website_url", "Website", "url", 500, func(u *user.User) string { return u.WebsiteURL }, func(a *user.Attributes, s *string) { a.WebsiteURL = s }),
		text("bio", "About you", "", 255, func(u *user.User) string { return u.Bio }, func(a *user.Attributes, s *string) { a.Bio = s }),
	}
	all[0].Required = true
	all[5].Hint = "Begins with https:// or http://."
	all[6].Type = "textarea"
	return all
}

func (x *visit) profileForm() *form {
	f := x.newForm(profilePath, "Save profile")
	for _, p := range profileFields() {
		p.Value = p.read(x.account)
		f.Fields = append(f.Fields, p.field)
	}
	private := field{
		Name: "private_profile", Label: "Private profile", Type: "checkbox", Hint: "Others do not see when you joined and whom you follow.",
	}
	if x.account.PrivateProfile {
		private.Value = "1"
	}
	f.Fields = append(f.Fields, private)
	return f
}

// profileBody is the account as its owner sees it.
type profileBody struct {
	Form            *form
	Username, Email string
	Joined          *moment
}

func (x *visit) showProfile() error { return x.profile(http.StatusOK, x.profileForm()) }

func (x *visit) profile(status int, f *form) error {
	return x.show(status, "profile", "Profile", profileBody{
		Form: f, Username: x.account.Username, Email: x.account.Email, Joined: x.moment(&x.account.CreatedAt),
	}, settings(profilePath))
}

func (x *visit) changeProfile() error {
	a := user.Attributes{PrivateProfile: new(x.form.Get("private_profile") == "1")}
	for _, p := range profileFields() {
		p.set(&a, new(strings.TrimSpace(x.form.Get(p.Name))))
	}
	_, err := x.Users.Update(x.r.Context(), x.actor, x.account.ID, a)
	if err == nil {
		return x.done(profilePath, "Your profile is saved.")
	}
	f := x.profileForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.profile(http.StatusUnprocessableEntity, f)
}

func (x *visit) passwordForm() *form {
	f := x.newForm(passwordPath, "Change password", passwordFields("Current password")...)
	f.Fields[0].Focus = false
	return f
}

const passwordWords = "You are signed out everywhere else when the password changes."

func (x *visit) showPassword() error {
	return x.show(http.StatusOK, "one_form", "Password", formBody{Words: passwordWords, Form: x.passwordForm()}, settings(passwordPath))
}

func (x *visit) replacePassword() error {
	err := x.changePassword()
	if err == nil {
		return x.done(passwordPath, "Your password is changed.")
	}
	f := x.passwordForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.show(http.StatusUnprocessableEntity, "one_form", "Password", formBody{Words: passwordWords, Form: f}, settings(passwordPath))
}

// scopeHints say what a token may do with a scope.
var scopeHints = map[access.Scope]string{
	access.ScopeAPI: "Everything, over the API and over git.", access.ScopeReadAPI: "Read everything over the API.",
	access.ScopeReadUser: "Read your profile and those of others.", access.ScopeCreateRunner: "Register runners.",
	access.ScopeK8sProxy: "Call clusters through their agent.", access.ScopeReadRepository: "Pull from repositories.",
	access.ScopeWriteRepository: "Pull from and push to repositories.", access.ScopeReadRegistry: "Pull container images.",
	access.ScopeWriteRegistry: "Push container images.", access.ScopeAIFeatures: "Use assistants.",
	access.ScopeSudo: "Act as anybody.", access.ScopeAdminMode: "Act as an administrator in admin mode.",
	access.ScopeReadServicePing: "Read the usage report.",
}

func (x *visit) tokenForm() *form {
	scopes := field{Name: "scopes", Label: "Scopes", Type: "checkboxes"}
	for _, s := range access.PersonalScopes(x.account.Admin) {
		scopes.Options = append(scopes.Options, choice{Value: string(s), Label: string(s), Hint: scopeHints[s]})
	}
	return x.newForm(tokensPath, "Create token",
		field{Name: "name", Label: "Name", Type: "text", Required: true, Length: 255, Hint: "What the token is for."},
		field{Name: "expires_at", Label: "Expires", Type: "date", Hint: "Optional. Without a date it expires as late as this instance allows."},
		scopes,
	)
}

// tokensBody is the access tokens of a person.
type tokensBody struct {
	Tokens []tokenRow
	More   bool
	Form   *form
	Secret string // of the token that was just made
}

type tokenRow struct {
	Name, Scopes           string
	Created, Used, Expires *moment
	Revoke                 *form
}

// ownRows is how many of a person's things a page shows.
const ownRows = 100

func (x *visit) showTokens() error { return x.tokens(http.StatusOK, x.tokenForm()) }

func (x *visit) tokens(status int, f *form) error {
	found, err := x.Tokens.List(x.r.Context(), token.Filter{UserID: &x.account.ID, Impersonation: new(false), Active: new(true)}, paging.Request{Page: 1, PerPage: ownRows})
	if err != nil {
		return err
	}
	body := tokensBody{More: found.More, Form: f}
	for _, t := range found.Items {
		scopes := make([]string, len(t.Scopes))
		for i, s := range t.Scopes {
			scopes[i] = string(s)
		}
		body.Tokens = append(body.Tokens, tokenRow{
			Name: t.Name, Scopes: strings.Join(scopes, ", "), Created: x.moment(&t.CreatedAt), Used: x.moment(t.LastUsedAt), Expires: x.moment(t.ExpiresAt),
			Revoke: x.button(tokensPath+"/"+strconv.FormatInt(t.ID, 10)+"/revoke", "Revoke", "danger", "the token "+t.Name),
		})
	}
	if said := x.flash(); said != nil {
		body.Secret = said.Secret
	}
	return x.show(status, "tokens", "Access tokens", body, settings(tokensPath))
}

func (x *visit) createToken() error {
	d := token.Draft{Name: strings.TrimSpace(x.form.Get("name"))}
	for _, s := range x.form["scopes"] {
		d.Scopes = append(d.Scopes, access.Scope(s))
	}
	var err error
	if text := x.form.Get("expires_at"); text != "" {
		day, parseErr := time.Parse(time.DateOnly, text)
		if d.ExpiresAt = &day; parseErr != nil {
			err = fault.Field("expires_at", "is not a date")
		}
	}
	if err == nil {
		var secret secretbox.Secret
		if _, secret, err = x.Tokens.Create(x.r.Context(), x.actor, x.account.ID, d); err == nil {
			if err := x.say(flash{Good: true, Text: "Token created. Copy it now: it is not shown again.", Secret: secret.Reveal()}); err != nil {
				return err
			}
			x.redirect(tokensPath)
			return nil
		}
	}
	f := x.tokenForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.tokens(http.StatusUnprocessableEntity, f)
}

func (x *visit) revokeToken() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	t, err := x.Tokens.Find(x.r.Context(), id)
	if err != nil {
		return err
	}
	if t.UserID != x.account.ID || t.Impersonation {
		return fault.New(fault.NotFound)
	}
	if err := x.Tokens.Revoke(x.r.Context(), x.actor, id); err != nil {
		return err
	}
	return x.done(tokensPath, "The token is revoked.")
}

func (x *visit) keyForm() *form {
	return x.newForm(keysPath, "Add key",
		field{Name: "title", Label: "Name", Type: "text", Required: true, Length: 255, Hint: "Where the key is kept, such as “work laptop”."},
		field{Name: "key", Also: "fingerprint_sha256", Label: "Public key", Type: "textarea", Required: true, Length: 5000, Hint: "The line in the file that ends in .pub."},
		field{Name: "expires_at", Label: "Expires", Type: "date", Hint: "Optional."},
	)
}

// keysBody is the SSH keys of a person.
type keysBody struct {
	Keys []keyRow
	Form *form
}

type keyRow struct {
	Title, Fingerprint string
	Created, Expires   *moment
	Remove             *form
}

func (x *visit) showKeys() error { return x.keys(http.StatusOK, x.keyForm()) }

func (x *visit) keys(status int, f *form) error {
	found, err := x.Users.SSHKeys(x.r.Context(), x.account.ID, paging.Request{Page: 1, PerPage: ownRows})
	if err != nil {
		return err
	}
	body := keysBody{Form: f}
	for _, k := range found.Items {
		body.Keys = append(body.Keys, keyRow{
			Title: k.Title, Fingerprint: k.FingerprintSHA256, Created: x.moment(&k.CreatedAt), Expires: x.moment(k.ExpiresAt),
			Remove: x.button(keysPath+"/"+strconv.FormatInt(k.ID, 10)+"/remove", "Remove", "danger", "the key "+k.Title),
		})
	}
	return x.show(status, "keys", "SSH keys", body, settings(keysPath))
}

func (x *visit) addKey() error {
	n := user.NewSSHKey{Title: strings.TrimSpace(x.form.Get("title")), Key: x.form.Get("key"), UsageType: "auth_and_signing"}
	var err error
	if text := x.form.Get("expires_at"); text != "" {
		day, parseErr := time.Parse(time.DateOnly, text)
		if n.ExpiresAt = &day; parseErr != nil {
			err = fault.Field("expires_at", "is not a date")
		}
	}
	if err == nil {
		if _, err = x.Users.AddSSHKey(x.r.Context(), x.actor, x.account.ID, n); err == nil {
			return x.done(keysPath, "SSH key added.")
		}
	}
	f := x.keyForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.keys(http.StatusUnprocessableEntity, f)
}

func (x *visit) removeKey() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	k, err := x.Users.FindSSHKeyOf(x.r.Context(), x.account.ID, id)
	if err != nil {
		return err
	}
	if err := x.Users.RemoveSSHKey(x.r.Context(), x.actor, k); err != nil {
		return err
	}
	return x.done(keysPath, "The key is removed.")
}

type sessionRow struct {
	Browser, Address string
	Seen, Began      *moment
	Here             bool
	End              *form
}

func (x *visit) showSessions() error {
	all, err := x.Tokens.Sessions(x.r.Context(), x.account.ID)
	if err != nil {
		return err
	}
	var rows []sessionRow
	for _, s := range all {
		row := sessionRow{
			Browser: browserName(s.UserAgent), Address: s.Address, Seen: x.moment(&s.LastSeenAt), Began: x.moment(&s.CreatedAt),
			Here: s.ID == x.actor.Credential.ID,
		}
		if !row.Here {
			row.End = x.button(sessionsPath+"/"+strconv.FormatInt(s.ID, 10)+"/end", "Sign out", "danger", row.Browser+" at "+row.Address)
		}
		rows = append(rows, row)
	}
	return x.show(http.StatusOK, "sessions", "Sessions", rows, settings(sessionsPath))
}

// browserName is what people call what a browser says of itself.
func browserName(agent string) string {
	find := func(otherwise string, marks ...[2]string) string {
		for _, m := range marks {
			if strings.Contains(agent, m[0]) {
				return m[1]
			}
		}
		return otherwise
	}
	name := find("", [2]string{"Edg", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"Firefox/", "Firefox"}, [2]string{"FxiOS", "Firefox"},
		[2]string{"Chrome/", "Chrome"}, [2]string{"CriOS", "Chrome"}, [2]string{"Safari/", "Safari"})
	system := find("", [2]string{"Android", "Android"}, [2]string{"iPhone", "iOS"}, [2]string{"iPad", "iOS"}, [2]string{"Windows", "Windows"},
		[2]string{"Mac OS", "macOS"}, [2]string{"Linux", "Linux"})
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case name != "":
		return name
	case agent == "":
		return "Unknown browser"
	}
	if runes := []rune(agent); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return agent
}

func (x *visit) endSession() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	if err := x.Tokens.EndSessionOf(x.r.Context(), x.account.ID, id); err != nil {
		return err
	}
	return x.done(sessionsPath, "That browser is signed out.")
}
