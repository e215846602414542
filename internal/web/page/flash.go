package page

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// Flash is what the page after a redirect has to say, once. It travels in a cookie that only this instance can make
// and that opens in one session only, so it may carry a secret to the one page that shows it.
type Flash struct {
	Good   bool     `json:"good,omitempty"`
	Text   string   `json:"text"`
	Secret string   `json:"secret,omitempty"` // a new token, not shown again
	Codes  []string `json:"codes,omitempty"`  // recovery codes, neither
	Until  int64    `json:"until"`            // seconds since 1970 after which it is not shown: a cookie may be kept longer
}

const flashSeconds = 120

func (k *Kit) flashCookie() string { return "_" + k.Names.Service + "_flash" }

// Say leaves a message for the next page.
func (x *Request) Say(f Flash) error {
	f.Until = x.Clock.Now().Unix() + flashSeconds
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	sealed, err := x.box.Seal(text, flashPlace(x))
	if err != nil {
		return err
	}
	x.SetCookie(x.flashCookie(), base64.RawURLEncoding.EncodeToString(sealed), flashSeconds)
	return nil
}

// Done says that something went well, on the page at path.
func (x *Request) Done(path, text string) error { return x.DoneWith(path, Flash{Text: text}) }

// DoneWith says that something went well, on the page at path, which shows what else there is this one time.
func (x *Request) DoneWith(path string, f Flash) error {
	f.Good = true
	if err := x.Say(f); err != nil {
		return err
	}
	x.Redirect(path)
	return nil
}

func flashPlace(x *Request) string { return "web.flash:" + x.Session }

// Flash reads what the last page left, if anything.
func (x *Request) Flash() *Flash {
	cookie, err := x.R.Cookie(x.flashCookie())
	if err != nil {
		return nil
	}
	x.flashed = &Flash{}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return nil
	}
	text, err := x.box.Open(sealed, flashPlace(x))
	if err != nil || json.Unmarshal(text, x.flashed) != nil || x.Clock.Now().Unix() > x.flashed.Until {
		return nil
	}
	return x.flashed
}

// forgetFlash takes back what was shown.
func forgetFlash(x *Request) {
	if x.flashed != nil {
		x.SetCookie(x.flashCookie(), "", -1)
	}
}

// SetCookie gives the browser a cookie that no script reads and no other site sends along with a form. With a
// negative age it is taken back, with none it lasts as long as the browser.
func (x *Request) SetCookie(name, value string, age int) {
	http.SetCookie(x.W, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: x.Secure, SameSite: http.SameSiteLaxMode,
	})
}
