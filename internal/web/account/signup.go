package account

import (
	"net/http"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/signin"
	"stithy/internal/web/page"
)

func signUpForm(x *request) *page.Form {
	email := emailField()
	email.Focus = false
	return x.NewForm(signUpPath, "Register",
		page.Field{Name: "name", Label: "Name", Type: page.Text, Autocomplete: "name", Required: true, Focus: true, Length: 255},
		page.Field{Name: "username", Label: "Username", Type: page.Text, Autocomplete: "username", Required: true, Length: 255},
		email,
		page.Field{Name: "password", Label: "Password", Type: page.Password, Autocomplete: "new-password", Required: true},
	)
}

func showSignUp(x *request) error {
	if !x.deps.Settings.Current().SignupEnabled {
		return fault.New(fault.NotFound)
	}
	return x.Show(http.StatusOK, page.Layout{Title: "Register", Narrow: true},
		oneFormPage(formBody{Form: signUpForm(x), Back: x.Link(page.SignInPath)}))
}

func signUp(x *request) error {
	err := x.deps.SignIns.SignUp(x.Context(), signin.Registration{
		Name: strings.TrimSpace(x.Form.Get("name")), Username: strings.TrimSpace(x.Form.Get("username")),
		Email: strings.TrimSpace(x.Form.Get("email")), Password: secretbox.Secret(x.Form.Get("password")),
	}, x.Address)
	if err == nil {
		return x.Done(page.SignInPath, afterSignUp(x))
	}
	f := signUpForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	// Clients of the API know the rule for usernames in two wordings. People need one.
	for i := range f.Fields {
		if q := &f.Fields[i]; q.Name == "username" && len(q.Problems) > 1 {
			q.Problems = q.Problems[len(q.Problems)-1:]
		}
	}
	return x.Show(http.StatusUnprocessableEntity, page.Layout{Title: "Register", Narrow: true},
		oneFormPage(formBody{Form: f, Back: x.Link(page.SignInPath)}))
}

// afterSignUp says what is still to be done before the new account is of use.
func afterSignUp(x *request) string {
	now := x.deps.Settings.Current()
	text := "You are registered."
	if x.deps.SignIns.SendsMail() {
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
