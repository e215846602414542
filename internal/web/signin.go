package web

import (
	"net/http"
	"net/url"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/signin"
)

func (d *Door) signInPages() []page {
	return []page{
		{route: "GET " + signInPath, who: anyone, do: (*visit).showSignIn},
		{route: "POST " + signInPath, who: anyone, do: (*visit).signIn},
		{route: "GET " + factorPath, who: anyone, do: (*visit).showFactor},
		{route: "POST " + factorPath, who: anyone, do: (*visit).showFactorAnswer},
		{route: "POST " + factorPath + "/key", who: anyone, do: (*visit).keyAnswer},
		{route: "POST /users/sign_out", who: anyone, do: (*visit).signOut},
		{route: "GET " + expiredPath, who: mustChange, do: (*visit).showExpired},
		{route: "POST " + expiredPath, who: mustChange, do: (*visit).replaceExpired},
	}
}

// factorPath is the page that asks for the second factor.
const factorPath = "/users/sign_in/second_factor"

// The names of these fields are known to programs that sign in like a browser.
const (
	loginField    = "user[login]"
	passwordField = "user[password]"
	returnField   = "return_to"
	againField    = "again" // shows the form to who is signed in, too
)

// signInBody is the page where people sign in.
type signInBody struct {
	Form    *form
	Text    string // what the administrator has to say
	Mail    bool   // mail is sent, so passwords can be reset
	SignUp  bool
	Confirm bool // the address was not confirmed
}

func (x *visit) signInForm() *form {
	f := x.newForm(signInPath, "Sign in",
		field{Name: loginField, Label: "Username or email address", Type: "text", Autocomplete: "username", Required: true, Focus: true, Length: 255},
		field{Name: passwordField, Label: "Password", Type: "password", Autocomplete: "current-password", Required: true},
	)
	if to := localPath(x.form.Get(returnField)); to != "/" {
		f.with(returnField, to)
	}
	return f
}

func (x *visit) showSignIn() error {
	if x.account != nil && x.form.Get(againField) == "" {
		x.redirect(localPath(x.form.Get(returnField)))
		return nil
	}
	return x.showSignInForm(http.StatusOK, x.signInForm(), false)
}

func (x *visit) showSignInForm(status int, f *form, confirm bool) error {
	now := x.Settings.Current()
	return x.show(status, "sign_in", "Sign in", signInBody{
		Form: f, Text: string(now.SignInText), Mail: x.SignIns.Mail.Configured(), SignUp: now.SignupEnabled, Confirm: confirm,
	}, narrow)
}

// signIn holds a password against an account. A browser that is signed in may
// sign in anew: the old session ends.
func (x *visit) signIn() error {
	if !x.Settings.Current().PasswordAuthenticationEnabledForWeb {
		return fault.Because(fault.Forbidden, "Signing in with a password is switched off on this instance.")
	}
	ctx := x.r.Context()
	u, err := x.SignIns.CheckPassword(ctx, x.form.Get(loginField), secretbox.Secret(x.form.Get(passwordField)), x.address)
	if err == nil {
		var e signin.Entry
		if e, err = x.SignIns.Begin(ctx, u, x.address, x.r.UserAgent()); err == nil {
			return x.entered(e)
		}
	}
	f := x.signInForm()
	unconfirmed := u != nil && u.ConfirmedAt == nil
	status := http.StatusUnauthorized
	if fault.Is(err, fault.TooMany) {
		status = http.StatusTooManyRequests
	}
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.showSignInForm(status, f, unconfirmed)
}

// entered gives the browser what the way in ended with, and sends it on.
func (x *visit) entered(e signin.Entry) error {
	to := localPath(x.form.Get(returnField))
	if e.Half != "" {
		x.setCookie(x.halfCookie(), e.Half.Reveal(), 0)
		if to != "/" {
			x.redirect(factorPath + "?" + url.Values{returnField: {to}}.Encode())
		} else {
			x.redirect(factorPath)
		}
		return nil
	}
	if err := x.begin(e.Session); err != nil {
		return err
	}
	x.redirect(to)
	return nil
}

// begin puts a new session in the place of the old one: whoever knew the old
// cookie knows nothing of the new.
func (x *visit) begin(session secretbox.Secret) error {
	if cookie, err := x.r.Cookie(x.Names.SessionCookie()); err == nil && cookie.Value != "" {
		if err := x.Tokens.EndSession(x.r.Context(), secretbox.Secret(cookie.Value)); err != nil {
			return err
		}
	}
	x.session = session.Reveal()
	x.setCookie(x.Names.SessionCookie(), x.session, 0)
	return nil
}

func (d *Door) halfCookie() string { return "_" + d.Names.Service + "_second_factor" }

func (x *visit) half() (secretbox.Secret, error) {
	cookie, err := x.r.Cookie(x.halfCookie())
	if err != nil {
		return "", nil
	}
	half := secretbox.Secret(cookie.Value)
	lives, err := x.SignIns.HalfLives(x.r.Context(), half)
	if err != nil || !lives {
		return "", err
	}
	return half, nil
}

func (x *visit) factorForm() *form {
	f := x.newForm(factorPath, "Go on", field{
		Name: "code", Label: "Code", Type: "text", Autocomplete: "one-time-code", Required: true, Focus: true, Length: 32,
		Hint: "The six digits of your authenticator app, or one of your recovery codes.",
	})
	if to := localPath(x.form.Get(returnField)); to != "/" {
		f.with(returnField, to)
	}
	return f
}

func (x *visit) showFactor() error {
	half, err := x.half()
	if err != nil {
		return err
	}
	if half == "" {
		x.redirect(signInPath)
		return nil
	}
	return x.askFactor(http.StatusOK, half, x.factorForm(), "")
}

// factorBody is the page that asks for the second factor.
type factorBody struct {
	Key  *keyForm // nil: no key of this person can answer here
	Form *form
}

// keyForm is a form that a security key fills in, with the help of a script.
type keyForm struct {
	Form      *form
	Ask       string // "create" or "get"
	Options   string // what the browser is told, as JSON
	Otherwise string // what to do without script
}

// askFactor shows the page; problem is what was wrong with a key's answer.
func (x *visit) askFactor(status int, half secretbox.Secret, f *form, problem string) error {
	body, options := factorBody{Form: f}, []option{narrow}
	asked, err := x.SignIns.KeyAsked(x.r.Context(), half)
	if err != nil {
		return err
	}
	if asked == nil && problem != "" {
		f.Problem = problem
	}
	if asked != nil {
		key := x.newForm(factorPath+"/key", "Use security key")
		key.Problem = problem
		if to := localPath(x.form.Get(returnField)); to != "/" {
			key.with(returnField, to)
		}
		body.Key = &keyForm{Form: key, Ask: "get", Options: string(asked), Otherwise: "Enter a code instead."}
		f.Look, f.Fields[0].Focus = "", false
		f.Fields[0].Hint = "The six digits of your authenticator app, if you have one, or a recovery code."
		options = append(options, x.scripted(x.keyScript))
	}
	return x.show(status, "second_factor", "Second factor", body, options...)
}

// keyAnswer takes what a security key said.
func (x *visit) keyAnswer() error {
	half, err := x.half()
	if err != nil {
		return err
	}
	if half == "" {
		x.redirect(signInPath)
		return nil
	}
	e, err := x.SignIns.FinishByKey(x.r.Context(), half, x.form.Get("answer"), x.address, x.r.UserAgent())
	if err == nil {
		x.setCookie(x.halfCookie(), "", -1)
		return x.entered(e)
	}
	f, shown := fault.Of(err)
	if !shown {
		return err
	}
	_, said := failure(f)
	return x.askFactor(http.StatusUnauthorized, half, x.factorForm(), said.Text)
}

func (x *visit) showFactorAnswer() error {
	half, err := x.half()
	if err != nil {
		return err
	}
	if half == "" {
		x.redirect(signInPath)
		return nil
	}
	e, err := x.SignIns.Finish(x.r.Context(), half, x.form.Get("code"), x.address, x.r.UserAgent())
	if err == nil {
		x.setCookie(x.halfCookie(), "", -1)
		return x.entered(e)
	}
	f := x.factorForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	f.Fields[0].Value = ""
	return x.askFactor(http.StatusUnauthorized, half, f, "")
}

// formBody is a page that is one form, with a few words before it.
type formBody struct {
	Words string
	Form  *form
	Done  bool // nothing is left to fill in
}

func (x *visit) signOut() error {
	if x.session != "" {
		if err := x.Tokens.EndSession(x.r.Context(), secretbox.Secret(x.session)); err != nil {
			return err
		}
	}
	x.setCookie(x.Names.SessionCookie(), "", -1)
	x.w.Header().Set("Clear-Site-Data", `"cache"`)
	x.session = ""
	return x.done(signInPath, "You are signed out.")
}

// expiredForm asks for a password of one's own, in place of one that somebody
// else chose.
func (x *visit) expiredForm() *form {
	return x.newForm(expiredPath, "Set new password", passwordFields("Current password")...)
}

func passwordFields(current string) []field {
	return []field{
		{Name: "current_password", Label: current, Type: "password", Autocomplete: "current-password", Required: true, Focus: true},
		{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password", Required: true},
		{Name: "password_confirmation", Label: "New password, once more", Type: "password", Autocomplete: "new-password", Required: true},
	}
}

const expiredWords = "Your password was set by somebody else. Choose one that only you know, then go on."

func (x *visit) showExpired() error {
	if !x.account.PasswordExpired(x.Clock.Now()) {
		x.redirect("/")
		return nil
	}
	return x.show(http.StatusOK, "one_form", "Set a new password", formBody{Words: expiredWords, Form: x.expiredForm()}, narrow)
}

func (x *visit) replaceExpired() error {
	if !x.account.PasswordExpired(x.Clock.Now()) {
		x.redirect("/")
		return nil
	}
	err := x.changePassword()
	if err == nil {
		return x.done("/", "Your password is changed.")
	}
	f := x.expiredForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.show(http.StatusUnprocessableEntity, "one_form", "Set a new password", formBody{Words: expiredWords, Form: f}, narrow)
}

// changePassword replaces the password of whoever is signed in. All sessions
// end with the old one; this browser gets a new one.
func (x *visit) changePassword() error {
	err := x.SignIns.ChangePassword(x.r.Context(), x.account, x.address, signin.NewPassword{
		Current: secretbox.Secret(x.form.Get("current_password")), New: secretbox.Secret(x.form.Get("password")),
		Again: secretbox.Secret(x.form.Get("password_confirmation")),
	})
	if err != nil {
		return err
	}
	return x.renew()
}

// renew signs this browser in anew, after all its person's sessions ended.
func (x *visit) renew() error {
	session, err := x.SignIns.Renew(x.r.Context(), x.account.ID, x.address, x.r.UserAgent())
	if err != nil {
		return err
	}
	return x.begin(session)
}
