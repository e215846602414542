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
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// browser is a session as authentication reads it, with its account.
type browser struct {
	user.User
	SessionID  int64
	LastSeenAt time.Time
}

// csrfKind keeps the second secret of a session apart from the first.
const csrfKind access.Kind = "csrf"

// lastSeenEvery is how exact the last use of a session is known.
const lastSeenEvery = time.Minute

// StartSession signs a browser in. The cookie is its proof; csrf is what the
// pages must add to every request that changes something.
func (s *Service) StartSession(ctx context.Context, userID int64, address netip.Addr, userAgent string) (cookie secretbox.Secret, csrf string, err error) {
	cookie = secretbox.Secret(secretbox.RandomToken(sessionLength))
	now, from := s.clock.Now(), ""
	if address.IsValid() {
		from = address.String()
	}
	_, err = s.db.Exec(ctx, sqlStartSession, userID, s.digest(access.Session, cookie.Reveal()), from, shorten(userAgent), now, now.Add(s.sessionLife()))
	if err != nil {
		return "", "", fmt.Errorf("starting a session: %w", err)
	}
	return cookie, s.csrf(cookie.Reveal()), nil
}

// EndSession signs one browser out.
func (s *Service) EndSession(ctx context.Context, cookie secretbox.Secret) error {
	_, err := s.db.Exec(ctx, sqlEndSession, s.digest(access.Session, cookie.Reveal()))
	return err
}

// EndSessions signs a person out everywhere.
func (s *Service) EndSessions(ctx context.Context, tx pgx.Tx, userID int64) error {
	_, err := tx.Exec(ctx, sqlEndSessions, userID)
	return err
}

// sessionLife is how long a session lives without being used.
func (s *Service) sessionLife() time.Duration {
	return time.Duration(s.settings.Current().SessionExpireDelay) * time.Minute
}

// csrf follows from the cookie and the server's key, so it needs no place to
// be kept; other sites know neither.
func (s *Service) csrf(cookie string) string {
	return base64.RawURLEncoding.EncodeToString(s.digest(csrfKind, cookie))
}

// session resolves the cookies of browsers. One without the right CSRF value
// says nothing about who asked for a change.
func (s *Service) session(ctx context.Context, p access.Presented) (*user.User, access.Credential, error) {
	if len(p.Secret) != sessionLength || !isRandom(p.Secret) ||
		(!p.Reading && subtle.ConstantTimeCompare([]byte(p.CSRF), []byte(s.csrf(p.Secret))) == 0) {
		return nil, access.Credential{}, nil
	}
	now := s.clock.Now()
	b, err := postgres.One[browser](ctx, s.db, sqlSession, s.digest(access.Session, p.Secret), now)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, access.Credential{}, nil
	}
	if err != nil {
		return nil, access.Credential{}, err
	}
	if now.Sub(b.LastSeenAt) >= lastSeenEvery {
		s.touches.session(b.SessionID, now)
	}
	return &b.User, access.Credential{Kind: access.Session, ID: b.SessionID}, nil
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
