package account

import (
	"net/http"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/web/page"
)

func halfCookie(x *request) string { return "_" + x.Names.Service + "_second_factor" }

func half(x *request) (secretbox.Secret, error) {
	cookie, err := x.R.Cookie(halfCookie(x))
	if err != nil {
		return "", nil
	}
	half := secretbox.Secret(cookie.Value)
	lives, err := x.deps.SignIns.HalfLives(x.Context(), half)
	if err != nil || !lives {
		return "", err
	}
	return half, nil
}

// halfway is for people who gave their password and owe a second factor. Whoever is not begins to sign in.
func halfway(do func(x *request, half secretbox.Secret) error) func(*request) error {
	return func(x *request) error {
		half, err := half(x)
		if err != nil {
			return err
		}
		if half == "" {
			x.Redirect(page.SignInPath)
			return nil
		}
		return do(x, half)
	}
}

func factorForm(x *request) *page.Form {
	f := x.NewForm(factorPath, "Go on", page.Field{
		Name: "code", Label: "Code", Type: page.Text, Autocomplete: "one-time-code", Required: true, Focus: true, Length: 32,
		Hint: "The six digits of your authenticator app, or one of your recovery codes.",
	})
	if to := page.LocalPath(x.Form.Get(returnField)); to != "/" {
		f.With(returnField, to)
	}
	return f
}

func showFactor(x *request, half secretbox.Secret) error {
	return askFactor(x, http.StatusOK, half, factorForm(x), "")
}

// factorBody is the page that asks for the second factor.
type factorBody struct {
	Key  *securityKeyForm // nil: no key of this person can answer here
	Form *page.Form
}

// securityKeyForm is a form that a security key fills in, with the help of a script.
type securityKeyForm struct {
	Form      *page.Form
	Ask       string // "create" or "get"
	Options   string // what the browser is told, as JSON
	Otherwise string // what to do without script
}

// askFactor shows the page; problem is what was wrong with a key's answer.
func askFactor(x *request, status int, half secretbox.Secret, f *page.Form, problem string) error {
	body, layout := factorBody{Form: f}, page.Layout{Title: "Second factor", Narrow: true}
	asked, err := x.deps.SignIns.KeyAsked(x.Context(), half)
	if err != nil {
		return err
	}
	if asked == nil && problem != "" {
		f.Problem = problem
	}
	if asked != nil {
		key := x.NewForm(factorPath+"/key", "Use security key")
		key.Problem = problem
		if to := page.LocalPath(x.Form.Get(returnField)); to != "/" {
			key.With(returnField, to)
		}
		body.Key = &securityKeyForm{Form: key, Ask: "get", Options: string(asked), Otherwise: "Enter a code instead."}
		f.Look, f.Fields[0].Focus = "", false
		f.Fields[0].Hint = "The six digits of your authenticator app, if you have one, or a recovery code."
		layout.Script = page.SecurityKeyScript
	}
	return x.Show(status, layout, secondFactorPage(body))
}

// keyAnswer takes what a security key said.
func keyAnswer(x *request, half secretbox.Secret) error {
	e, err := x.deps.SignIns.FinishByKey(x.Context(), half, x.Form.Get("answer"), x.Address, x.R.UserAgent())
	if err == nil {
		x.SetCookie(halfCookie(x), "", -1)
		return entered(x, e)
	}
	f, shown := fault.Of(err)
	if !shown {
		return err
	}
	return askFactor(x, http.StatusUnauthorized, half, factorForm(x), page.FailureOf(f).Text)
}

func showFactorAnswer(x *request, half secretbox.Secret) error {
	e, err := x.deps.SignIns.Finish(x.Context(), half, x.Form.Get("code"), x.Address, x.R.UserAgent())
	if err == nil {
		x.SetCookie(halfCookie(x), "", -1)
		return entered(x, e)
	}
	f := factorForm(x)
	if fault.Is(err, fault.Unauthenticated) {
		f.Next.Text = "Enter the next one that your app shows, or a recovery code."
	}
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	f.Fields[0].Value = ""
	return askFactor(x, http.StatusUnauthorized, half, f, "")
}
