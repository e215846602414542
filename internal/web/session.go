package web

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/web/account"
	"stithy/internal/web/page"
)

// enter holds a request against everything that all pages share.
func (s *Server) enter(x *page.Request, p page.Page) error {
	v, err := s.recognize(x, p)
	if err != nil {
		if s.throttled(x) {
			return page.ErrAnswered
		}
		return err
	}
	if err := x.Read(p); err != nil {
		return err
	}
	if err := s.origins.Check(x.R); err != nil {
		return fault.WithReason(fault.Forbidden, "This form was sent from another site. Open the page here and try again.")
	}
	if s.throttled(x) {
		return page.ErrAnswered
	}
	if err := s.admit(x, p, v); err != nil {
		return err
	}
	if !x.Reading() && x.Account != nil && !s.deps.Tokens.CheckCSRF(x.Session, x.Form.Get(page.CSRFField)) {
		return fault.WithReason(fault.Forbidden, "This form is older than your session. Go back, reload the page and try again.")
	}
	return nil
}

// recognize looks up whose browser it is, or whose token.
func (s *Server) recognize(x *page.Request, p page.Page) (token.Visitor, error) {
	if secret, shown := presented(x.R); shown && p.Tokens != nil {
		return token.Visitor{}, s.bearer(x, p, secret)
	}
	cookie, err := x.R.Cookie(s.deps.Names.SessionCookie())
	if err != nil || cookie.Value == "" {
		return token.Visitor{}, nil
	}
	v, err := s.deps.Tokens.Visitor(x.Context(), cookie.Value)
	if err != nil || v.Account == nil {
		return v, err
	}
	x.Visitor = page.Visitor{Actor: v.Actor, Account: accountOf(v.Account), Session: cookie.Value, CSRF: s.deps.Tokens.CSRF(cookie.Value),
		Since: v.Since}
	x.Actor.Address = x.Address
	return v, nil
}

// presented is the token that a program shows in a header. Programs that follow feeds know how to send a name and a password; the name is not looked at.
func presented(r *http.Request) (secret string, shown bool) {
	if secret = r.Header.Get("Private-Token"); secret != "" {
		return secret, true
	}
	if _, secret, shown = r.BasicAuth(); shown {
		return secret, true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return secret, strings.EqualFold(scheme, "Bearer")
}

// bearer lets a program look with a token that carries what the page asks for. It has no session, and so sends nothing.
func (s *Server) bearer(x *page.Request, p page.Page, secret string) error {
	if len(secret) > maxSecret || !utf8.ValidString(secret) {
		return fault.New(fault.Unauthenticated)
	}
	actor, err := s.deps.Tokens.Authenticate(x.Context(), access.Presented{
		Secret: secret, Kinds: []access.Kind{access.PersonalToken, access.OAuthToken}, Address: x.Address, Reading: true, Account: true,
	})
	if err != nil {
		return err
	}
	if err := access.CheckScope(actor.Credential, *p.Tokens, x.Reading()); err != nil {
		return err
	}
	x.Visitor = page.Visitor{Actor: actor}
	if u, whole := actor.Account.(*user.User); whole {
		x.Account = accountOf(u)
	}
	x.Actor.Address = x.Address
	return nil
}

// maxSecret is longer than any token that was ever issued.
const maxSecret = 512

func accountOf(u *user.User) *page.Account {
	return &page.Account{ID: u.ID, Username: u.Username, Name: u.Name}
}

// throttled counts the request against the throttles of the instance, and answers it when there were too many. What
// applications send people to counts as their own traffic does.
func (s *Server) throttled(x *page.Request) bool {
	var userID int64
	if x.Account != nil {
		userID = x.Account.ID
	}
	over := func(rule ratelimit.Rule, active bool) bool {
		if active {
			x.Headers()
		}
		return active && s.deps.Throttle.Over(x.Context(), x.W, rule, userID, x.Address)
	}
	if !x.Reading() && over(s.deps.Settings.ProtectedPath(x.R.URL.Path, userID != 0)) {
		return true
	}
	if strings.HasPrefix(x.R.URL.Path, "/oauth/") {
		return over(s.deps.Settings.Throttle(userID != 0))
	}
	return over(s.deps.Settings.PageThrottle(userID != 0))
}

// admit lets in who may see the page, and sends the others where they should go first.
func (s *Server) admit(x *page.Request, p page.Page, v token.Visitor) error {
	expired := v.Account != nil && v.Account.PasswordExpired(s.deps.Clock.Now())
	switch {
	case x.Account == nil && (p.Who == page.Anyone || p.Who == page.Readers):
		return nil
	case x.Account == nil:
		x.AskToSignIn()
		return page.ErrAnswered
	case v.Account == nil:
		return nil // a token, which the account was held against
	case v.Refusal != nil && !expired:
		// The account was kept out while its session lived.
		if p.Who == page.Anyone {
			x.Account, x.Session, x.CSRF = nil, "", ""
			return nil
		}
		return v.Refusal
	case expired && p.Who != page.Anyone && p.Who != page.MustChange:
		x.Redirect(account.ExpiredPath)
		return page.ErrAnswered
	case !expired && p.Who != page.Anyone && p.Who != page.MustEnroll && s.deps.Tokens.OwesFactor(v.Account):
		x.Redirect(account.FactorsPath)
		return page.ErrAnswered
	case p.Who == page.Administrators && !x.Actor.Admin():
		return fault.New(fault.NotFound)
	}
	return nil
}
