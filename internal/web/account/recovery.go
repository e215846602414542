package account

import (
	"net/http"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/signin"
	"stithy/internal/web/page"
)

const noMail = "This instance sends no mail. Ask an administrator to set a password for you."

func emailField() page.Field {
	return page.Field{Name: "email", Label: "Email address", Type: page.Email, Autocomplete: "email", Required: true, Focus: true, Length: 254}
}

// askForMail is a page that sends something to an address, whether or not
// anybody has it.
func askForMail(x *request, path, title, words, submit string) (*page.Form, error) {
	f := x.NewForm(path, submit, emailField())
	if !x.deps.SignIns.SendsMail() {
		return nil, x.Show(http.StatusOK, page.Layout{Title: title, Narrow: true},
			oneFormPage(formBody{Words: noMail, Back: x.Link(page.SignInPath)}))
	}
	if x.Reading() {
		return nil, x.Show(http.StatusOK, page.Layout{Title: title, Narrow: true},
			oneFormPage(formBody{Words: words, Form: f, Back: x.Link(page.SignInPath)}))
	}
	return f, nil
}

func answerMail(x *request, f *page.Form, title, words string, err error) error {
	if err == nil {
		return x.Done(page.SignInPath, "If an account has this address, a mail is on its way to it.")
	}
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return x.Show(http.StatusUnprocessableEntity, page.Layout{Title: title, Narrow: true},
		oneFormPage(formBody{Words: words, Form: f, Back: x.Link(page.SignInPath)}))
}

const (
	forgotTitle = "Forgotten password"
	forgotWords = "Enter your address. A link to set a new password is mailed to it."
	resendTitle = "Confirm your address"
	resendWords = "Enter your address. The link that confirms it is mailed again."
)

func showForgot(x *request) error {
	_, err := askForMail(x, forgotPath, forgotTitle, forgotWords, "Send link")
	return err
}

func forgot(x *request) error {
	f, err := askForMail(x, forgotPath, forgotTitle, forgotWords, "Send link")
	if f == nil {
		return err
	}
	return answerMail(x, f, forgotTitle, forgotWords, x.deps.SignIns.ForgotPassword(x.Context(), strings.TrimSpace(x.Form.Get("email")), x.Address))
}

func showResend(x *request) error {
	_, err := askForMail(x, resendPath, resendTitle, resendWords, "Send link again")
	return err
}

func resend(x *request) error {
	f, err := askForMail(x, resendPath, resendTitle, resendWords, "Send link again")
	if f == nil {
		return err
	}
	return answerMail(x, f, resendTitle, resendWords, x.deps.SignIns.ResendConfirmation(x.Context(), strings.TrimSpace(x.Form.Get("email")),
		x.Address))
}

// The names of these parameters stand in mails.
const (
	resetParam   = "reset_password_token"
	confirmParam = "confirmation_token"
)

func resetForm(x *request) *page.Form {
	return x.NewForm(resetPath, "Set password", passwordFields("")[1:]...).With(resetParam, x.Form.Get(resetParam))
}

// showReset asks for a new password. Opening the link uses nothing up: the
// programs that look at mail open links, too.
func showReset(x *request) error {
	if err := checkLink(x, signin.ResetPassword, resetParam); err != nil {
		return err
	}
	f := resetForm(x)
	f.Fields[0].Focus = true
	return x.Show(http.StatusOK, page.Layout{Title: "Set a new password", Narrow: true}, oneFormPage(formBody{Form: f}))
}

func checkLink(x *request, p signin.Purpose, param string) error {
	lives, err := x.deps.SignIns.LinkLives(x.Context(), p, x.Form.Get(param))
	if err == nil && !lives {
		err = fault.WithMessage(fault.Rejected, "This link was used already, or is too old. Ask for a new one.")
	}
	return err
}

func reset(x *request) error {
	password, again := x.Form.Get("password"), x.Form.Get("password_confirmation")
	var err error
	if password != again {
		err = fault.Field("password_confirmation", "doesn't match the new password")
	} else {
		err = x.deps.SignIns.ResetPasswordBy(x.Context(), x.Form.Get(resetParam), secretbox.Secret(password), x.Address)
	}
	if err == nil {
		return x.Done(page.SignInPath, "Your password is set. Sign in with it.")
	}
	f := resetForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return x.Show(http.StatusUnprocessableEntity, page.Layout{Title: "Set a new password", Narrow: true}, oneFormPage(formBody{Form: f}))
}

func showConfirm(x *request) error {
	if err := checkLink(x, signin.ConfirmAddress, confirmParam); err != nil {
		return err
	}
	f := x.NewForm(confirmPath, "Confirm").With(confirmParam, x.Form.Get(confirmParam))
	return x.Show(http.StatusOK, page.Layout{Title: resendTitle, Narrow: true},
		oneFormPage(formBody{Words: "One more press, and the address counts as yours.", Form: f}))
}

func confirm(x *request) error {
	if err := x.deps.SignIns.ConfirmAddressBy(x.Context(), x.Form.Get(confirmParam), x.Address); err != nil {
		return err
	}
	return x.Done(page.SignInPath, "Your address is confirmed.")
}
