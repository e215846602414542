package web

import (
	"net/http"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/signin"
)

// The pages for those who cannot sign in yet.
const (
	forgotPath  = "/users/password/new"
	resetPath   = "/users/password/edit"
	resendPath  = "/users/confirmation/new"
	confirmPath = "/users/confirmation"
	signUpPath  = "/users/sign_up"
)

func (d *Door) recoveryPages() []page {
	return []page{
		{route: "GET " + forgotPath, who: anyone, do: (*visit).showForgot},
		{route: "POST " + forgotPath, who: anyone, do: (*visit).forgot},
		{route: "GET " + resetPath, who: anyone, do: (*visit).showReset},
		{route: "POST " + resetPath, who: anyone, do: (*visit).reset},
		{route: "GET " + resendPath, who: anyone, do: (*visit).showResend},
		{route: "POST " + resendPath, who: anyone, do: (*visit).resend},
		{route: "GET " + confirmPath, who: anyone, do: (*visit).showConfirm},
		{route: "POST " + confirmPath, who: anyone, do: (*visit).confirm},
		{route: "GET " + signUpPath, who: anyone, do: (*visit).showSignUp},
		{route: "POST " + signUpPath, who: anyone, do: (*visit).signUp},
	}
}

const noMail = "This instance sends no mail. Ask an administrator to set a password for you."

func emailField() field {
	return field{Name: "email", Label: "Email address", Type: "email", Autocomplete: "email", Required: true, Focus: true, Length: 254}
}

// askForMail is a page that sends something to an address, whether or not
// anybody has it.
func (x *visit) askForMail(path, title, words, submit string) (*form, error) {
	f := x.newForm(path, submit, emailField())
	if !x.SignIns.Mail.Configured() {
		return nil, x.show(http.StatusOK, "one_form", title, formBody{Words: noMail, Done: true}, narrow)
	}
	if x.reading() {
		return nil, x.show(http.StatusOK, "one_form", title, formBody{Words: words, Form: f, Done: true}, narrow)
	}
	return f, nil
}

func (x *visit) answerMail(f *form, title, words string, err error) error {
	if err == nil {
		return x.done(signInPath, "If an account has this address, a mail is on its way to it.")
	}
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.show(http.StatusUnprocessableEntity, "one_form", title, formBody{Words: words, Form: f, Done: true}, narrow)
}

const (
	forgotTitle = "Forgotten password"
	forgotWords = "Enter your address. A link to set a new password is mailed to it."
	resendTitle = "Confirm your address"
	resendWords = "Enter your address. The link that confirms it is mailed again."
)

func (x *visit) showForgot() error {
	_, err := x.askForMail(forgotPath, forgotTitle, forgotWords, "Send link")
	return err
}

func (x *visit) forgot() error {
	f, err := x.askForMail(forgotPath, forgotTitle, forgotWords, "Send link")
	if f == nil {
		return err
	}
	return x.answerMail(f, forgotTitle, forgotWords, x.SignIns.ForgotPassword(x.r.Context(), strings.TrimSpace(x.form.Get("email")), x.address))
}

func (x *visit) showResend() error {
	_, err := x.askForMail(resendPath, resendTitle, resendWords, "Send link again")
	return err
}

func (x *visit) resend() error {
	f, err := x.askForMail(resendPath, resendTitle, resendWords, "Send link again")
	if f == nil {
		return err
	}
	return x.answerMail(f, resendTitle, resendWords, x.SignIns.ResendConfirmation(x.r.Context(), strings.TrimSpace(x.form.Get("email")), x.address))
}

// The names of these parameters stand in mails.
const (
	resetParam   = "reset_password_token"
	confirmParam = "confirmation_token"
)

func (x *visit) resetForm() *form {
	return x.newForm(resetPath, "Set password", passwordFields("")[1:]...).with(resetParam, x.form.Get(resetParam))
}

// showReset asks for a new password. Opening the link uses nothing up: the
// programs that look at mail open links, too.
func (x *visit) showReset() error {
	if err := x.checkLink(signin.ResetPassword, resetParam); err != nil {
		return err
	}
	f := x.resetForm()
	f.Fields[0].Focus = true
	return x.show(http.StatusOK, "one_form", "Set a new password", formBody{Form: f}, narrow)
}

func (x *visit) checkLink(p signin.Purpose, param string) error {
	lives, err := x.SignIns.LinkLives(x.r.Context(), p, x.form.Get(param))
	if err == nil && !lives {
		err = fault.Say(fault.Rejected, "This link was used already, or is too old. Ask for a new one.")
	}
	return err
}

func (x *visit) reset() error {
	password, again := x.form.Get("password"), x.form.Get("password_confirmation")
	var err error
	if password != again {
		err = fault.Field("password_confirmation", "doesn't match the new password")
	} else {
		err = x.SignIns.ResetPasswordBy(x.r.Context(), x.form.Get(resetParam), secretbox.Secret(password), x.address)
	}
	if err == nil {
		return x.done(signInPath, "Your password is set. Sign in with it.")
	}
	f := x.resetForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.show(http.StatusUnprocessableEntity, "one_form", "Set a new password", formBody{Form: f}, narrow)
}

func (x *visit) showConfirm() error {
	if err := x.checkLink(signin.ConfirmAddress, confirmParam); err != nil {
		return err
	}
	f := x.newForm(confirmPath, "Confirm").with(confirmParam, x.form.Get(confirmParam))
	return x.show(http.StatusOK, "one_form", resendTitle, formBody{Words: "One more press, and the address counts as yours.", Form: f}, narrow)
}

func (x *visit) confirm() error {
	if err := x.SignIns.ConfirmAddressBy(x.r.Context(), x.form.Get(confirmParam), x.address); err != nil {
		return err
	}
	return x.done(signInPath, "Your address is confirmed.")
}

func (x *visit) signUpForm() *form {
	email := emailField()
	email.Focus = false
	return x.newForm(signUpPath, "Register",
		field{Name: "name", Label: "Name", Type: "text", Autocomplete: "name", Required: true, Focus: true, Length: 255},
		field{Name: "username", Label: "Username", Type: "text", Autocomplete: "username", Required: true, Length: 255},
		email,
		field{Name: "password", Label: "Password", Type: "password", Autocomplete: "new-password", Required: true},
	)
}

func (x *visit) showSignUp() error {
	if !x.Settings.Current().SignupEnabled {
		return fault.New(fault.NotFound)
	}
	return x.show(http.StatusOK, "one_form", "Register", formBody{Form: x.signUpForm(), Done: true}, narrow)
}

func (x *visit) signUp() error {
	err := x.SignIns.SignUp(x.r.Context(), signin.Registration{
		Name: strings.TrimSpace(x.form.Get("name")), Username: strings.TrimSpace(x.form.Get("username")),
		Email: strings.TrimSpace(x.form.Get("email")), Password: secretbox.Secret(x.form.Get("password")),
	}, x.address)
	if err == nil {
		return x.done(signInPath, x.afterSignUp())
	}
	f := x.signUpForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.show(http.StatusUnprocessableEntity, "one_form", "Register", formBody{Form: f, Done: true}, narrow)
}

// afterSignUp says what is still to be done before the new account is of use.
func (x *visit) afterSignUp() string {
	now := x.Settings.Current()
	text := "You are registered."
	if x.SignIns.Mail.Configured() {
		text += " Confirm your address with the link that is mailed to you."
	}
	if now.RequireAdminApprovalAfterUserSignup {
		text += " An administrator has to approve your account before you can sign in."
	}
	if own := string(now.AfterSignUpText); own != "" {
		text += " " + own
	}
	return text
}
