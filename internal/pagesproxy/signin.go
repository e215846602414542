package pagesproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/oauth"
)

// A reader of a site that is not for everyone is sent to the forge, which asks them who they are and sends them back with a code: to the root, the one address
// that the forge knows, and from there to the host they came from. There the code is exchanged, if this is the browser that set out. What they are
// given is good for one site at one host, for an hour, and says only who they are: what they may read is asked again and again.
const (
	sessionCookie = "pages_session"
	startCookie   = "pages_start"
	sessionLife   = time.Hour
	startLife     = 10 * time.Minute
	maxTarget     = 1024
	maxSealed     = 8 << 10
	statePlace    = "pages.state"
)

// start is a sign-in that has begun.
type start struct {
	Scheme    string    `json:"s"`
	Host      string    `json:"h"` // as the browser names it, with its port
	ProjectID int64     `json:"p"`
	Target    string    `json:"t"` // where the reader wants to go on that host
	Challenge string    `json:"c"` // of what the browser keeps
	Until     time.Time `json:"u"`
}

// session says who a reader is, to one site at one host.
type session struct {
	UserID    int64     `json:"i"`
	ProjectID int64     `json:"p"`
	Until     time.Time `json:"u"`
}

func sessionPlace(host string) string { return "pages.session:" + host }

func (s *Server) seal(value any, place string) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sealed, err := s.deps.Box.Seal(text, place)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// open reads what was sealed for a place, and reports whether it was.
func (s *Server) open(text, place string, into any) bool {
	if len(text) > maxSealed {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := s.deps.Box.Open(sealed, place)
	return err == nil && json.Unmarshal(plain, into) == nil
}

// mayRead reports whether it is known who reads, and whether they may. Other sites below the root can set cookies of any name; those that were not made here
// are passed over.
func (s *Server) mayRead(x *request, at place) (known, allowed bool, err error) {
	for _, cookie := range x.CookiesNamed(sessionCookie) {
		var who session
		if !s.open(cookie.Value, sessionPlace(x.host), &who) || who.ProjectID != at.site.ProjectID || !s.deps.Clock.Now().Before(who.Until) {
			continue
		}
		allowed, err := s.verdicts.get(fmt.Sprint(who.UserID, " ", who.ProjectID), func() (bool, error) {
			return s.deps.Pages.MayRead(x.Context(), who.UserID, who.ProjectID)
		})
		return true, allowed, err
	}
	return false, false, nil
}

func (s *Server) redirectURI() string {
	u := url.URL{Scheme: s.deps.Root.Scheme, Host: s.deps.Root.Host, Path: authPath}
	if s.deps.Root.Port != "" {
		u.Host += ":" + s.deps.Root.Port
	}
	return u.String()
}

func (s *Server) client(x *request) (oauth.Client, error) {
	return s.deps.OAuth.Own(x.Context(), "Pages", s.redirectURI(), access.Scopes{access.ScopeProfile})
}

func challengeOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// secretLength is that of what a browser keeps while it signs in.
const secretLength = 43

// askWho sends a reader to the forge. A browser that set out before, in another tab, keeps what it has.
func (s *Server) askWho(x *request, at place) error {
	secret := ""
	for _, cookie := range x.CookiesNamed(startCookie) {
		if len(cookie.Value) == secretLength {
			secret = cookie.Value
		}
	}
	if secret == "" {
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails: the process ends first
		secret = base64.RawURLEncoding.EncodeToString(random)
	}
	target := x.URL.RequestURI()
	if len(target) > maxTarget || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") {
		target = at.home + "/"
	}
	state, err := s.seal(start{
		Scheme: x.scheme, Host: x.Host, ProjectID: at.site.ProjectID, Target: target, Challenge: challengeOf(secret), Until: s.deps.Clock.Now().Add(startLife),
	}, statePlace)
	if err != nil {
		return err
	}
	client, err := s.client(x)
	if err != nil {
		return err
	}
	s.setCookie(x, startCookie, secret, authPath, startLife)
	q := url.Values{
		"client_id": {client.ID}, "redirect_uri": {s.redirectURI()}, "response_type": {"code"}, "scope": {string(access.ScopeProfile)}, "state": {state},
		"code_challenge": {challengeOf(secret)}, "code_challenge_method": {"S256"},
	}
	goTo(x, http.StatusFound, s.deps.ExternalURL.JoinPath("oauth/authorize").String()+"?"+q.Encode())
	return nil
}

// setCookie gives the browser a cookie for this host alone.
func (s *Server) setCookie(x *request, name, value, path string, life time.Duration) {
	http.SetCookie(x.ResponseWriter, &http.Cookie{ //nolint:gosec // Secure wherever the site is read over TLS
		Name: name, Value: value, Path: path, MaxAge: int(life / time.Second), HttpOnly: true, Secure: x.scheme == "https", SameSite: http.SameSiteLaxMode,
	})
}

func (s *Server) started(x *request) (begun start, ok bool) {
	ok = s.open(x.URL.Query().Get("state"), statePlace, &begun) && s.deps.Clock.Now().Before(begun.Until)
	return begun, ok
}

// relay passes the answer of the forge on to the host at which the sign-in began. That host is in the state, which nobody else can make.
func (s *Server) relay(x *request) error {
	begun, ok := s.started(x)
	if x.URL.Path != authPath || !ok {
		s.missing(x)
		return nil
	}
	goTo(x, http.StatusFound, (&url.URL{Scheme: begun.Scheme, Host: begun.Host, Path: authPath, RawQuery: x.URL.RawQuery}).String())
	return nil
}

// admit ends a sign-in at the host where it began.
func (s *Server) admit(x *request) error {
	begun, ok := s.started(x)
	secret := starter(x, begun)
	if host, _ := hostOf(begun.Host); !ok || host != x.host || secret == "" {
		say(x, http.StatusBadRequest, "The sign-in did not begin in this browser, or took too long. Open the site again.")
		return nil
	}
	target, err := url.ParseRequestURI(begun.Target)
	if err != nil {
		return err
	}
	at, err := s.find(x.Context(), x.host, target.Path)
	if err != nil {
		return err
	}
	code := x.URL.Query().Get("code")
	if at.site == nil || at.site.ProjectID != begun.ProjectID || code == "" {
		s.missing(x)
		return nil
	}
	userID, err := s.exchange(x, code, secret)
	if _, refused := oauth.Refused(err); refused {
		say(x, http.StatusBadRequest, "The sign-in is not valid any more. Open the site again.")
		return nil
	}
	if err != nil {
		return err
	}
	sealed, err := s.seal(session{UserID: userID, ProjectID: begun.ProjectID, Until: s.deps.Clock.Now().Add(sessionLife)}, sessionPlace(x.host))
	if err != nil {
		return err
	}
	s.setCookie(x, sessionCookie, sealed, at.home+"/", sessionLife)
	goTo(x, http.StatusFound, begun.Target)
	return nil
}

// starter is what the browser keeps with which a sign-in began, empty in any other.
func starter(x *request, begun start) string {
	for _, cookie := range x.CookiesNamed(startCookie) {
		if subtle.ConstantTimeCompare([]byte(challengeOf(cookie.Value)), []byte(begun.Challenge)) == 1 {
			return cookie.Value
		}
	}
	return ""
}

// exchange asks the forge whom a code stands for. The token that comes with the answer is not kept.
func (s *Server) exchange(x *request, code, secret string) (userID int64, err error) {
	client, err := s.client(x)
	if err != nil {
		return 0, err
	}
	issued, err := s.deps.OAuth.Exchange(x.Context(), oauth.Exchange{
		Client: client, Type: "authorization_code", Code: code, RedirectURI: s.redirectURI(), Verifier: secret, From: x.from,
	})
	if err != nil {
		return 0, err
	}
	return issued.UserID, s.deps.OAuth.Revoke(x.Context(), client, issued.Access.Reveal(), "")
}
