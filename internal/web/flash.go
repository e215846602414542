package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// flash is what the page after a redirect has to say, once. It travels in a
// cookie that only this instance can make and that opens in one session only,
// so it may carry a secret to the one page that shows it.
type flash struct {
	Good   bool     `json:"good,omitempty"`
	Text   string   `json:"text"`
	Secret string   `json:"secret,omitempty"` // a new token, not shown again
	Codes  []string `json:"codes,omitempty"`  // recovery codes, neither
}

const flashSeconds = 120

func (d *Door) flashCookie() string { return "_" + d.Names.Service + "_flash" }

// say leaves a message for the next page.
func (x *visit) say(f flash) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	sealed, err := x.Box.Seal(text, x.flashPlace())
	if err != nil {
		return err
	}
	x.setCookie(x.flashCookie(), base64.RawURLEncoding.EncodeToString(sealed), flashSeconds)
	return nil
}

// done says that something went well, on the page at path.
func (x *visit) done(path, text string) error {
	if err := x.say(flash{Good: true, Text: text}); err != nil {
		return err
	}
	x.redirect(path)
	return nil
}

func (x *visit) flashPlace() string { return "web.flash:" + x.session }

// flash reads what the last page left, if anything.
func (x *visit) flash() *flash {
	cookie, err := x.r.Cookie(x.flashCookie())
	if err != nil {
		return nil
	}
	x.flashed = &flash{}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return nil
	}
	text, err := x.Box.Open(sealed, x.flashPlace())
	if err != nil || json.Unmarshal(text, x.flashed) != nil {
		return nil
	}
	return x.flashed
}

// forgetFlash takes back what was shown.
func (x *visit) forgetFlash() {
	if x.flashed != nil {
		x.setCookie(x.flashCookie(), "", -1)
	}
}

// setCookie gives the browser a cookie that no script reads and no other site
// sends along with a form. With a negative age it is taken back, with none it
// lasts as long as the browser.
func (x *visit) setCookie(name, value string, age int) {
	http.SetCookie(x.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: x.secure, SameSite: http.SameSiteLaxMode,
	})
}
