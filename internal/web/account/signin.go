package account

import (
	"net/http"
	"net/url"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/signin"
	"stithy/internal/web/page"
)

// The names of these fields are known to programs that sign in like a browser.
const (
	loginField    = "user[login]"
	passwordField = "user[password]"
	returnField   = "return_to"
	againField    = "again" // shows the form to who is signed in, too
)

// signInBody is the page where people sign in.
type signInBody struct {
	Form    *page.Form
	Text    string   // what the administrator has to say
	Forgot  page.URL // empty where no mail is sent, so that passwords cannot be reset
	SignUp  page.URL // empty where nobody registers
	Confirm page.URL // where an address that was not confirmed is
}

func signInForm(x *request) *page.Form {
	f := x.NewForm(page.SignInPath, "Sign in",
		page.Field{Name: loginField, Label: "Username or email address", Type: page.Text, Autocomplete: "username", Required: true, Focus: true,
			Length: 255},
		page.Field{Name: passwordField, Label: "Password", Type: page.Password, Autocomplete: "current-password", Required: true},
	)
	if to := page.LocalPath(x.Form.Get(returnField)); to != "/" {
		f.With(returnField, to)
	}
	return f
}

func showSignIn(x *request) error {
	if x.account != nil && x.Form.Get(againField) == "" {
		x.Redirect(page.LocalPath(x.Form.Get(returnField)))
		return nil
	}
	return showSignInForm(x, http.StatusOK, signInForm(x), false)
}

func showSignInForm(x *request, status int, f *page.Form, confirm bool) error {
	now := x.deps.Settings.Current()
	body := signInBody{Form: f, Text: string(now.SignInText)}
	if x.deps.SignIns.SendsMail() {
		body.Forgot = x.Link(forgotPath)
	}
	if now.SignupEnabled {
		body.SignUp = x.Link(signUpPath)
	}
	if confirm {
		body.Confirm = x.Link(resendPath)
	}
	return x.Show(status, page.Layout{Title: "Sign in", Narrow: true}, signInPage(body))
}

// signIn holds a password against an account. A browser that is signed in may
// sign in anew: the old session ends.
func signIn(x *request) error {
	if !x.deps.Settings.Current().PasswordAuthenticationEnabledForWeb {
		return fault.WithReason(fault.Forbidden, "Signing in with a password is switched off on this instance.")
	}
	ctx := x.Context()
	u, err := x.deps.SignIns.CheckPassword(ctx, x.Form.Get(loginField), secretbox.Secret(x.Form.Get(passwordField)), x.Address)
	if err == nil {
		var e signin.Entry
		if e, err = x.deps.SignIns.Begin(ctx, u, x.Address, x.R.UserAgent()); err == nil {
			return entered(x, e)
		}
	}
	f := signInForm(x)
	unconfirmed := u != nil && u.ConfirmedAt == nil
	status := http.StatusUnauthorized
	if fault.Is(err, fault.TooMany) {
		status = http.StatusTooManyRequests
	}
	if u == nil && status == http.StatusUnauthorized {
		f.Next = afterWrongPassword(x)
	}
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return showSignInForm(x, status, f, unconfirmed)
}

// afterWrongPassword is what somebody can do who does not know the password any more.
func afterWrongPassword(x *request) page.NextStep {
	if x.deps.SignIns.SendsMail() {
		return page.NextStep{Text: "Set a new password if you forgot yours.", URL: x.Link(forgotPath)}
	}
	return page.NextStep{Text: "If you forgot your password, ask an administrator to set a new one."}
}

// entered gives the browser what the way in ended with, and sends it on.
func entered(x *request, e signin.Entry) error {
	to := page.LocalPath(x.Form.Get(returnField))
	if e.Half != "" {
		x.SetCookie(halfCookie(x), e.Half.Reveal(), 0)
		if to != "/" {
			x.Redirect(factorPath + "?" + url.Values{returnField: {to}}.Encode())
		} else {
			x.Redirect(factorPath)
		}
		return nil
	}
	if err := begin(x, e.Session); err != nil {
		return err
	}
	x.Redirect(to)
	return nil
}

// begin puts a new session in the place of the old one: whoever knew the old
// cookie knows nothing of the new.
func begin(x *request, session secretbox.Secret) error {
	if cookie, err := x.R.Cookie(x.Names.SessionCookie()); err == nil && cookie.Value != "" {
		if err := x.deps.Tokens.EndSession(x.Context(), secretbox.Secret(cookie.Value)); err != nil {
			return err
		}
	}
	x.Session = session.Reveal()
	x.SetCookie(x.Names.SessionCookie(), x.Session, 0)
	return nil
}

func signOut(x *request) error {
	if x.Session != "" {
		if err := x.deps.Tokens.EndSession(x.Context(), secretbox.Secret(x.Session)); err != nil {
			return err
		}
	}
	x.SetCookie(x.Names.SessionCookie(), "", -1)
	x.W.Header().Set("Clear-Site-Data", `"cache"`)
	x.Session = ""
	return x.Done(page.SignInPath, "You are signed out.")
}

// formBody is a page that is one form, with a few words before it.
type formBody struct {
	Words string
	Form  *page.Form
	Back  page.URL // to signing in, for those who came from there
}
