package web

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
)

// factorsPath is the page of a person's second factors.
const factorsPath = "/-/user_settings/two_factor"

func (d *Door) factorPages() []page {
	return []page{
		{route: "GET " + factorsPath, who: mustEnroll, do: (*visit).showFactors},
		{route: "POST " + factorsPath + "/begin", who: mustEnroll, do: (*visit).beginFactor},
		{route: "POST " + factorsPath + "/confirm", who: mustEnroll, do: (*visit).confirmFactor},
		{route: "POST " + factorsPath + "/keys/begin", who: mustEnroll, do: (*visit).beginSecurityKey},
		{route: "POST " + factorsPath + "/keys", who: mustEnroll, do: (*visit).addSecurityKey},
		{route: "POST " + factorsPath + "/keys/{id}/remove", do: (*visit).removeSecurityKey},
		{route: "POST " + factorsPath + "/codes", do: (*visit).renewCodes},
		{route: "POST " + factorsPath + "/disable", do: (*visit).disableFactor},
	}
}

// factorsBody is the second factors of a person.
type factorsBody struct {
	Enabled bool
	Owed    bool     // nothing else is open before one is set up
	Left    int      // recovery codes
	Codes   []string // that were just made
	Renew   *form
	Disable *form

	App     bool // an app is set up
	Begin   *form
	Secret  string // to type into an app
	Picture template.URL
	Confirm *form

	Keys     []securityKeyRow
	BeginKey *form    // nil where browsers take no keys
	Key      *keyForm // a new key is asked for
}

type securityKeyRow struct {
	Name        string
	Added, Used *moment
	Remove      *form
}

func (x *visit) reassureField(as string) field {
	return field{Name: "current_password", As: as, Label: "Your password", Type: "password", Autocomplete: "current-password", Required: true}
}

func (x *visit) beginForm() *form {
	return x.newForm(factorsPath+"/begin", "Set up an app", x.reassureField("app_password"))
}

func (x *visit) confirmForm() *form {
	return x.newForm(factorsPath+"/confirm", "Turn on", field{
		Name: "code", Label: "Code of the app", Type: "text", Autocomplete: "one-time-code", Mode: "numeric", Required: true, Length: 16,
	})
}

func (x *visit) beginKeyForm() *form {
	return x.newForm(factorsPath+"/keys/begin", "Add a security key", x.reassureField("key_password"))
}

func (x *visit) keyNameForm() *form {
	return x.newForm(factorsPath+"/keys", "Register the key", field{
		Name: "name", Label: "Name", Type: "text", Required: true, Length: 255, Hint: "So that you know it among others, such as “blue key”.",
	})
}

func (x *visit) renewForm() *form {
	return x.newForm(factorsPath+"/codes", "Make new recovery codes", x.reassureField("codes_password"))
}

func (x *visit) removeKeyForm(id int64) *form {
	n := strconv.FormatInt(id, 10)
	f := x.newForm(factorsPath+"/keys/"+n+"/remove", "Remove the key", x.reassureField("remove_password_"+n))
	f.Look = "danger"
	return f
}

func (x *visit) disableForm() *form {
	f := x.newForm(factorsPath+"/disable", "Turn off two-factor", x.reassureField(""))
	f.Look = "danger"
	return f
}

func (x *visit) showFactors() error { return x.factors(http.StatusOK, nil) }

// factors shows the page; given takes the place of the form with its action.
func (x *visit) factors(status int, given *form) error {
	body := factorsBody{Enabled: x.account.TwoFactorEnabled, Owed: x.Tokens.OwesFactor(x.account)}
	if said := x.flash(); said != nil {
		body.Codes = said.Codes
	}
	if body.Enabled {
		var err error
		if body.Left, err = x.SignIns.RecoveryCodesLeft(x.r.Context(), x.account.ID); err != nil {
			return err
		}
		body.Disable = x.disableForm()
		body.Renew = x.renewForm()
	}
	if err := x.fillApp(&body); err != nil {
		return err
	}
	options := []option{settings(factorsPath)}
	if err := x.fillKeys(&body); err != nil {
		return err
	}
	forms := []**form{&body.Begin, &body.Confirm, &body.BeginKey, &body.Renew, &body.Disable}
	for i := range body.Keys {
		forms = append(forms, &body.Keys[i].Remove)
	}
	if body.Key != nil {
		forms = append(forms, &body.Key.Form)
		options = append(options, x.scripted(x.keyScript))
	}
	for _, f := range forms {
		if given != nil && *f != nil && (*f).Action == given.Action {
			*f = given
		}
	}
	return x.show(status, "factors", "Two-factor authentication", body, options...)
}

func (x *visit) fillApp(body *factorsBody) (err error) {
	if body.App, err = x.SignIns.HasApp(x.r.Context(), x.account.ID); err != nil || body.App {
		return err
	}
	setup, waiting, err := x.SignIns.Setup(x.r.Context(), x.account)
	if err != nil {
		return err
	}
	body.Begin = x.beginForm()
	if waiting {
		body.Secret, body.Confirm = setup.Secret, x.confirmForm()
		// The picture is ours, from bytes that we drew.
		body.Picture = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(setup.Picture))
	}
	return nil
}

func (x *visit) fillKeys(body *factorsBody) error {
	keys, err := x.SignIns.SecurityKeys(x.r.Context(), x.account.ID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		body.Keys = append(body.Keys, securityKeyRow{
			Name: k.Name, Added: x.moment(&k.CreatedAt), Used: x.moment(k.LastUsedAt),
			Remove: x.removeKeyForm(k.ID),
		})
	}
	if !x.SignIns.KeysWork() {
		return nil
	}
	body.BeginKey = x.beginKeyForm()
	wanted, err := x.SignIns.KeyWanted(x.r.Context(), x.account.ID, secretbox.Secret(x.session))
	if err == nil && wanted != nil {
		body.Key = &keyForm{Form: x.keyNameForm(), Ask: "create", Options: string(wanted), Otherwise: "Use an authenticator app instead."}
	}
	return err
}

func (x *visit) refusedFactor(f *form, err error) error {
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.factors(http.StatusUnprocessableEntity, f)
}

// reassure asks for the password once more.
func (x *visit) reassure() error {
	return x.SignIns.Reassure(x.r.Context(), x.account, secretbox.Secret(x.form.Get("current_password")), x.address)
}

func (x *visit) beginFactor() error {
	err := x.reassure()
	if err == nil {
		err = x.SignIns.BeginSetup(x.r.Context(), x.account)
	}
	if err != nil {
		return x.refusedFactor(x.beginForm(), err)
	}
	x.redirect(factorsPath)
	return nil
}

func (x *visit) confirmFactor() error {
	codes, err := x.SignIns.FinishSetup(x.r.Context(), x.actor, x.form.Get("code"))
	if err != nil {
		return x.refusedFactor(x.confirmForm(), err)
	}
	return x.factorAdded("The app is set up.", codes)
}

// factorAdded signs this browser in anew, for all sessions ended, and shows the
// codes that came with the first factor.
func (x *visit) factorAdded(text string, codes []string) error {
	if err := x.renew(); err != nil {
		return err
	}
	if codes != nil {
		text = "Two-factor authentication is on."
	}
	return x.sayCodes(text, codes)
}

func (x *visit) sayCodes(text string, codes []string) error {
	if err := x.say(flash{Good: true, Text: text, Codes: codes}); err != nil {
		return err
	}
	x.redirect(factorsPath)
	return nil
}

func (x *visit) beginSecurityKey() error {
	err := x.reassure()
	if err == nil {
		err = x.SignIns.BeginKey(x.r.Context(), x.account.ID, secretbox.Secret(x.session))
	}
	if err != nil {
		return x.refusedFactor(x.beginKeyForm(), err)
	}
	x.redirect(factorsPath)
	return nil
}

func (x *visit) addSecurityKey() error {
	codes, err := x.SignIns.AddKey(x.r.Context(), x.actor, secretbox.Secret(x.session), x.form.Get("name"), x.form.Get("answer"))
	if err == nil {
		return x.factorAdded("The key is registered.", codes)
	}
	// An answer counts once: the page asks for the password and the key again.
	f := x.keyNameForm()
	if err := x.refused(f, err); err != nil {
		return err
	}
	again := x.beginKeyForm()
	again.Problem = f.Problem
	if again.Problem == "" && len(f.Fields[0].Problems) > 0 {
		again.Problem = "The name " + f.Fields[0].Problems[0] + "."
	}
	return x.factors(http.StatusUnprocessableEntity, again)
}

func (x *visit) removeSecurityKey() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	if err := x.reassure(); err != nil {
		return x.refusedFactor(x.removeKeyForm(id), err)
	}
	if err := x.SignIns.RemoveKey(x.r.Context(), x.actor, id); err != nil {
		return err
	}
	if err := x.renew(); err != nil {
		return err
	}
	return x.done(factorsPath, "The key is removed.")
}

func (x *visit) renewCodes() error {
	if !x.account.TwoFactorEnabled {
		return fault.New(fault.NotFound)
	}
	if err := x.reassure(); err != nil {
		return x.refusedFactor(x.renewForm(), err)
	}
	codes, err := x.SignIns.NewRecoveryCodes(x.r.Context(), x.actor)
	if err != nil {
		return err
	}
	if err := x.renew(); err != nil {
		return err
	}
	return x.sayCodes("The old recovery codes do not work any more.", codes)
}

func (x *visit) disableFactor() error {
	err := x.reassure()
	if err == nil {
		err = x.SignIns.GiveUpFactor(x.r.Context(), x.actor)
	}
	if err != nil {
		return x.refusedFactor(x.disableForm(), err)
	}
	if err := x.renew(); err != nil {
		return err
	}
	return x.done(factorsPath, "Two-factor authentication is off.")
}
