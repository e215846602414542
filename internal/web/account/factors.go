package account

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/web/page"
)

// factorsBody is the second factors of a person.
type factorsBody struct {
	Enabled bool
	Owed    bool     // nothing else is open before one is set up
	Left    int      // recovery codes
	Codes   []string // that were just made
	Renew   *page.Form
	Disable *page.Form

	App     bool // an app is set up
	Begin   *page.Form
	Secret  string   // to type into an app
	Picture page.URL // of the secret, as an address that holds it
	Confirm *page.Form

	Keys     []securityKeyRow
	BeginKey *page.Form       // nil where browsers take no keys
	Key      *securityKeyForm // a new key is asked for
}

// asked says what a person is asked for.
func (b factorsBody) asked() string {
	const app, key = "a code of your authenticator app", "a security key"
	switch {
	case b.App && len(b.Keys) > 0:
		return app + " or for " + key
	case b.App:
		return app
	}
	return key
}

// next is the form that the page is there for: it finishes what was begun, or begins with the first factor.
func (b factorsBody) next() *page.Form {
	switch {
	case b.Key != nil:
		return b.Key.Form
	case b.Confirm != nil:
		return b.Confirm
	case !b.Enabled:
		return b.Begin
	}
	return nil
}

type securityKeyRow struct {
	Name        string
	Added, Used *page.DisplayTime
	Remove      *page.Form
}

func reassureField(as string) page.Field {
	return page.Field{Name: "current_password", As: as, Label: "Your password", Type: page.Password, Autocomplete: "current-password",
		Required: true}
}

func beginForm(x *request) *page.Form {
	return x.NewForm(FactorsPath+"/begin", "Set up an app", reassureField("app_password"))
}

func confirmForm(x *request) *page.Form {
	return x.NewForm(FactorsPath+"/confirm", "Turn on", page.Field{
		Name: "code", Label: "Code of the app", Type: page.Text, Autocomplete: "one-time-code", Mode: "numeric", Required: true, Length: 16,
	})
}

func beginKeyForm(x *request) *page.Form {
	return x.NewForm(FactorsPath+"/keys/begin", "Add a security key", reassureField("key_password"))
}

func keyNameForm(x *request) *page.Form {
	return x.NewForm(FactorsPath+"/keys", "Register the key", page.Field{
		Name: "name", Label: "Name", Type: page.Text, Required: true, Length: 255, Hint: "So that you know it among others, such as “blue key”.",
	})
}

func renewForm(x *request) *page.Form {
	return x.NewForm(FactorsPath+"/codes", "Make new recovery codes", reassureField("codes_password"))
}

func removeKeyForm(x *request, id int64) *page.Form {
	n := strconv.FormatInt(id, 10)
	f := x.NewForm(FactorsPath+"/keys/"+n+"/remove", "Remove the key", reassureField("remove_password_"+n))
	f.Look = page.Danger
	return f
}

func disableForm(x *request) *page.Form {
	f := x.NewForm(FactorsPath+"/disable", "Turn off two-factor", reassureField(""))
	f.Look = page.Danger
	return f
}

func showFactors(x *request) error { return factors(x, http.StatusOK, nil) }

// factors shows the page; given takes the place of the form with its action.
func factors(x *request, status int, given *page.Form) error {
	body := factorsBody{Enabled: x.account.TwoFactorEnabled, Owed: x.deps.Tokens.OwesFactor(x.account)}
	if said := x.Flash(); said != nil {
		body.Codes = said.Codes
	}
	if body.Enabled {
		var err error
		if body.Left, err = x.deps.SignIns.RecoveryCodesLeft(x.Context(), x.account.ID); err != nil {
			return err
		}
		body.Disable = disableForm(x)
		body.Renew = renewForm(x)
	}
	if err := fillApp(x, &body); err != nil {
		return err
	}
	layout := settings(x, "Two-factor authentication", FactorsPath)
	if err := fillKeys(x, &body); err != nil {
		return err
	}
	forms := []**page.Form{&body.Begin, &body.Confirm, &body.BeginKey, &body.Renew, &body.Disable}
	for i := range body.Keys {
		forms = append(forms, &body.Keys[i].Remove)
	}
	if body.Key != nil {
		forms = append(forms, &body.Key.Form)
		layout.Script = page.SecurityKeyScript
	}
	for _, f := range forms {
		if given != nil && *f != nil && (*f).Action == given.Action {
			*f = given
		}
		if *f != nil && (*f).Look == page.Primary {
			(*f).Look = page.Secondary
		}
	}
	if next := body.next(); next != nil {
		next.Look = page.Primary
	}
	return x.Show(status, layout, factorsPage(body))
}

func fillApp(x *request, body *factorsBody) (err error) {
	if body.App, err = x.deps.SignIns.HasApp(x.Context(), x.account.ID); err != nil || body.App {
		return err
	}
	setup, waiting, err := x.deps.SignIns.Setup(x.Context(), x.account)
	if err != nil {
		return err
	}
	body.Begin = beginForm(x)
	if waiting {
		body.Secret, body.Confirm = setup.Secret, confirmForm(x)
		// The picture is ours, from bytes that we drew.
		body.Picture = page.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(setup.Picture))
	}
	return nil
}

func fillKeys(x *request, body *factorsBody) error {
	keys, err := x.deps.SignIns.SecurityKeys(x.Context(), x.account.ID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		body.Keys = append(body.Keys, securityKeyRow{
			Name: k.Name, Added: x.Time(&k.CreatedAt), Used: x.Time(k.LastUsedAt),
			Remove: removeKeyForm(x, k.ID),
		})
	}
	if !x.deps.SignIns.KeysWork() {
		return nil
	}
	body.BeginKey = beginKeyForm(x)
	wanted, err := x.deps.SignIns.KeyWanted(x.Context(), x.account.ID, secretbox.Secret(x.Session))
	if err == nil && wanted != nil {
		body.Key = &securityKeyForm{Form: keyNameForm(x), Ask: "create", Options: string(wanted), Otherwise: "Use an authenticator app instead."}
	}
	return err
}

func refusedFactor(x *request, f *page.Form, err error) error {
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return factors(x, http.StatusUnprocessableEntity, f)
}

// reassure asks for the password once more.
func reassure(x *request) error {
	return x.deps.SignIns.Reassure(x.Context(), x.account, secretbox.Secret(x.Form.Get("current_password")), x.Address)
}

func beginFactor(x *request) error {
	err := reassure(x)
	if err == nil {
		err = x.deps.SignIns.BeginSetup(x.Context(), x.account)
	}
	if err != nil {
		return refusedFactor(x, beginForm(x), err)
	}
	x.Redirect(FactorsPath)
	return nil
}

func confirmFactor(x *request) error {
	codes, err := x.deps.SignIns.FinishSetup(x.Context(), x.Actor, x.Form.Get("code"))
	if err != nil {
		return refusedFactor(x, confirmForm(x), err)
	}
	return factorAdded(x, "The app is set up.", codes)
}

// factorAdded signs this browser in anew, for all sessions ended, and shows the
// codes that came with the first factor.
func factorAdded(x *request, text string, codes []string) error {
	if err := renew(x); err != nil {
		return err
	}
	if codes != nil {
		text = "Two-factor authentication is on."
	}
	return sayCodes(x, text, codes)
}

func sayCodes(x *request, text string, codes []string) error {
	if err := x.Say(page.Flash{Good: true, Text: text, Codes: codes}); err != nil {
		return err
	}
	x.Redirect(FactorsPath)
	return nil
}

func beginSecurityKey(x *request) error {
	err := reassure(x)
	if err == nil {
		err = x.deps.SignIns.BeginKey(x.Context(), x.account.ID, secretbox.Secret(x.Session))
	}
	if err != nil {
		return refusedFactor(x, beginKeyForm(x), err)
	}
	x.Redirect(FactorsPath)
	return nil
}

func addSecurityKey(x *request) error {
	codes, err := x.deps.SignIns.AddKey(x.Context(), x.Actor, secretbox.Secret(x.Session), x.Form.Get("name"), x.Form.Get("answer"))
	if err == nil {
		return factorAdded(x, "The key is registered.", codes)
	}
	// An answer counts once: the page asks for the password and the key again.
	f := keyNameForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	again := beginKeyForm(x)
	again.Problem = f.Problem
	if again.Problem == "" && len(f.Fields[0].Problems) > 0 {
		again.Problem = "The name " + f.Fields[0].Problems[0] + "."
	}
	return factors(x, http.StatusUnprocessableEntity, again)
}

func removeSecurityKey(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	if err := reassure(x); err != nil {
		return refusedFactor(x, removeKeyForm(x, id), err)
	}
	if err := x.deps.SignIns.RemoveKey(x.Context(), x.Actor, id); err != nil {
		return err
	}
	if err := renew(x); err != nil {
		return err
	}
	return x.Done(FactorsPath, "The key is removed.")
}

func renewCodes(x *request) error {
	if !x.account.TwoFactorEnabled {
		return fault.New(fault.NotFound)
	}
	if err := reassure(x); err != nil {
		return refusedFactor(x, renewForm(x), err)
	}
	codes, err := x.deps.SignIns.NewRecoveryCodes(x.Context(), x.Actor)
	if err != nil {
		return err
	}
	if err := renew(x); err != nil {
		return err
	}
	return sayCodes(x, "The old recovery codes do not work any more.", codes)
}

func disableFactor(x *request) error {
	err := reassure(x)
	if err == nil {
		err = x.deps.SignIns.GiveUpFactor(x.Context(), x.Actor)
	}
	if err != nil {
		return refusedFactor(x, disableForm(x), err)
	}
	if err := renew(x); err != nil {
		return err
	}
	return x.Done(FactorsPath, "Two-factor authentication is off.")
}
