package account

import (
	"net/http"

	"stithy/internal/platform/secretbox"
	"stithy/internal/signin"
	"stithy/internal/web/page"
)

// expiredForm asks for a password of one's own, in place of one that somebody
// else chose.
func expiredForm(x *request) *page.Form {
	return x.NewForm(ExpiredPath, "Set new password", passwordFields("Current password")...)
}

func passwordFields(current string) []page.Field {
	return []page.Field{
		{Name: "current_password", Label: current, Type: page.Password, Autocomplete: "current-password", Required: true, Focus: true},
		{Name: "password", Label: "New password", Type: page.Password, Autocomplete: "new-password", Required: true},
		{Name: "password_confirmation", Label: "New password, once more", Type: page.Password, Autocomplete: "new-password", Required: true},
	}
}

const expiredWords = "Your password was set by somebody else. Choose one that only you know, then go on."

func showExpired(x *request) error {
	if !x.account.PasswordExpired(x.Clock.Now()) {
		x.Redirect("/")
		return nil
	}
	return x.Show(http.StatusOK, page.Layout{Title: "Set a new password", Narrow: true},
		oneFormPage(formBody{Words: expiredWords, Form: expiredForm(x)}))
}

func replaceExpired(x *request) error {
	if !x.account.PasswordExpired(x.Clock.Now()) {
		x.Redirect("/")
		return nil
	}
	err := changePassword(x)
	if err == nil {
		return x.Done("/", "Your password is changed.")
	}
	f := expiredForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return x.Show(http.StatusUnprocessableEntity, page.Layout{Title: "Set a new password", Narrow: true},
		oneFormPage(formBody{Words: expiredWords, Form: f}))
}

// changePassword replaces the password of whoever is signed in. All sessions
// end with the old one; this browser gets a new one.
func changePassword(x *request) error {
	err := x.deps.SignIns.ChangePassword(x.Context(), x.account, x.Address, signin.NewPassword{
		Current: secretbox.Secret(x.Form.Get("current_password")), New: secretbox.Secret(x.Form.Get("password")),
		Again: secretbox.Secret(x.Form.Get("password_confirmation")),
	})
	if err != nil {
		return err
	}
	return renew(x)
}

// renew signs this browser in anew, after all its person's sessions ended.
func renew(x *request) error {
	session, err := x.deps.SignIns.Renew(x.Context(), x.account.ID, x.Address, x.R.UserAgent())
	if err != nil {
		return err
	}
	return begin(x, session)
}

func passwordForm(x *request) *page.Form {
	f := x.NewForm(passwordPath, "Change password", passwordFields("Current password")...)
	f.Fields[0].Focus = false
	return f
}

const passwordWords = "You are signed out everywhere else when the password changes."

func showPassword(x *request) error {
	return x.Show(http.StatusOK, settings(x, "Password", passwordPath), passwordPage(passwordWords, passwordForm(x)))
}

func replacePassword(x *request) error {
	err := changePassword(x)
	if err == nil {
		return x.Done(passwordPath, "Your password is changed.")
	}
	f := passwordForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return x.Show(http.StatusUnprocessableEntity, settings(x, "Password", passwordPath), passwordPage(passwordWords, f))
}
