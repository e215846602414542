package token

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// browser is a session as authentication reads it, with its account.
type browser struct {
	user.User
	SessionID  int64
	BeganAt    time.Time
	LastSeenAt time.Time
}

// csrfKind keeps the second secret of a session apart from the first.
const csrfKind access.Kind = "csrf"

// lastSeenEvery is how exact the last use of a session is known.
const lastSeenEvery = time.Minute

// StartSession signs a browser in. The cookie is its proof; csrf is what the
// pages must add to every request that changes something.
func (s *Service) StartSession(ctx context.Context, userID int64, address netip.Addr, userAgent string) (cookie secretbox.Secret, csrf string, err error) {
	return s.StartSessionIn(ctx, s.deps.DB, userID, address, userAgent)
}

// StartSessionIn is StartSession as part of a larger change.
func (s *Service) StartSessionIn(ctx context.Context, q postgres.Querier, userID int64, address netip.Addr, userAgent string) (cookie secretbox.Secret, csrf string, err error) {
	cookie = secretbox.Secret(secretbox.RandomToken(sessionLength))
	now, from := s.deps.Clock.Now(), ""
	if address.IsValid() {
		from = address.String()
	}
	_, err = q.Exec(ctx, sqlStartSession, userID, s.digest(access.Session, cookie.Reveal()), from, shorten(userAgent), now, now.Add(s.sessionLife()))
	if err != nil {
		return "", "", fmt.Errorf("starting a session: %w", err)
	}
	return cookie, s.csrf(cookie.Reveal()), nil
}

// EndSession signs one browser out.
func (s *Service) EndSession(ctx context.Context, cookie secretbox.Secret) error {
	_, err := s.deps.DB.Exec(ctx, sqlEndSession, s.digest(access.Session, cookie.Reveal()))
	return err
}

// Session is a browser in which a person is signed in.
type Session struct {
	ID         int64
	Address    string
	UserAgent  string
	CreatedAt  time.Time
	LastSeenAt time.Time
}

// maxSessions is how many sessions a person is shown.
const maxSessions = 100

// Sessions lists where a person is signed in, the last used first.
func (s *Service) Sessions(ctx context.Context, userID int64) ([]Session, error) {
	return postgres.All[Session](ctx, s.deps.DB, sqlSessions, userID, s.deps.Clock.Now(), maxSessions)
}

// EndSessionOf signs a person out of one browser.
func (s *Service) EndSessionOf(ctx context.Context, userID, sessionID int64) error {
	tag, err := s.deps.DB.Exec(ctx, sqlEndSessionOf, userID, sessionID)
	if err == nil && tag.RowsAffected() == 0 {
		return fault.New(fault.NotFound)
	}
	return err
}

// EndSessions signs a person out everywhere.
func (s *Service) EndSessions(ctx context.Context, tx pgx.Tx, userID int64) error {
	_, err := tx.Exec(ctx, sqlEndSessions, userID)
	return err
}

// sessionLife is how long a session lives without being used.
func (s *Service) sessionLife() time.Duration {
	return time.Duration(s.deps.Settings.Current().SessionExpireDelay) * time.Minute
}

// CSRF is what the pages of a session add to what they send.
func (s *Service) CSRF(cookie string) string { return s.csrf(cookie) }

// CheckCSRF reports whether a form was shown in the session that sends it.
func (s *Service) CheckCSRF(cookie, presented string) bool {
	return subtle.ConstantTimeCompare([]byte(presented), []byte(s.csrf(cookie))) == 1
}

// csrf follows from the cookie and the server's key, so it needs no place to
// be kept; other sites know neither.
func (s *Service) csrf(cookie string) string {
	return base64.RawURLEncoding.EncodeToString(s.digest(csrfKind, cookie))
}

// session resolves the cookies of browsers. One without the right CSRF value
// says nothing about who asked for a change.
func (s *Service) session(ctx context.Context, p access.Presented) (*user.User, access.Credential, error) {
	if !p.Reading && !s.CheckCSRF(p.Secret, p.CSRF) {
		return nil, access.Credential{}, nil
	}
	b, credential, err := s.browser(ctx, p.Secret)
	if err != nil || b == nil || s.OwesFactor(&b.User) {
		return nil, access.Credential{}, err
	}
	return &b.User, credential, nil
}

// OwesFactor reports whether an account must set up a second factor before its
// sessions open anything. New accounts are given the grace of the settings.
func (s *Service) OwesFactor(u *user.User) bool {
	now := s.deps.Settings.Current()
	if u.TwoFactorEnabled || !(now.RequireTwoFactorAuthentication || now.RequireAdminTwoFactorAuthentication && u.Admin) {
		return false
	}
	return s.deps.Clock.Now().Sub(u.CreatedAt) >= time.Duration(now.TwoFactorGracePeriod)*time.Hour
}

// browser finds whose a cookie is.
func (s *Service) browser(ctx context.Context, cookie string) (*browser, access.Credential, error) {
	if len(cookie) != sessionLength || !isRandom(cookie) {
		return nil, access.Credential{}, nil
	}
	now := s.deps.Clock.Now()
	b, err := postgres.One[browser](ctx, s.deps.DB, sqlSession, s.digest(access.Session, cookie), now)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, access.Credential{}, nil
	}
	if err != nil {
		return nil, access.Credential{}, err
	}
	if now.Sub(b.LastSeenAt) >= lastSeenEvery {
		s.lastUsed.session(b.SessionID, now)
	}
	return &b, access.Credential{Kind: access.Session, ID: b.SessionID}, nil
}

// Visitor is whom the cookie of a browser speaks for.
type Visitor struct {
	Account *user.User   // nil: nobody is signed in
	Actor   access.Actor // anonymous when the account may not be used
	Refusal error        // why it may not
	Since   time.Time    // when the person signed in
}

// Visitor looks a cookie up for a page. An account that may not be used is
// told apart from none, for its owner may have to be told what to do.
func (s *Service) Visitor(ctx context.Context, cookie string) (Visitor, error) {
	b, credential, err := s.browser(ctx, cookie)
	if err != nil || b == nil {
		return Visitor{}, err
	}
	actor, refusal := s.Admit(&b.User, credential)
	if _, shown := fault.Of(refusal); refusal != nil && !shown {
		return Visitor{}, refusal
	}
	return Visitor{Account: &b.User, Actor: actor, Refusal: refusal, Since: b.BeganAt}, nil
}

// shorten keeps what a browser says of itself within its column.
func shorten(userAgent string) string {
	const most = 512
	text := strings.ReplaceAll(strings.ToValidUTF8(userAgent, "\uFFFD"), "\x00", "")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}
