// Package token owns what proves an identity: personal and impersonation
// tokens, the sessions of browsers, and the lookup of every secret that a
// request presents. Rooms that own further kinds of secrets lend it their
// lookup (Resolve).
//
// It does not own the accounts behind the secrets (user), what a scope opens
// (access), or where in a request a secret is looked for (httpapi).
//
// A secret is shown once, to whoever made it; the tables keep a keyed digest
// that includes the kind of secret.
//
// Tables: personal_access_tokens, sessions.
package token

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

const (
	maxLifetime     = 365 // days, where the settings name no maximum
	rotatedLifetime = 7   // days, of a token that replaces another

	day = 24 * time.Hour
)

// Token is a personal or impersonation token. Its secret is not in it.
type Token struct {
	ID            int64
	UserID        int64
	Name          string
	Scopes        access.Scopes
	Impersonation bool
	ExpiresAt     *time.Time // midnight UTC at which it stops working; nil never does
	RevokedAt     *time.Time
	LastUsedAt    *time.Time
	FamilyID      *int64 // the first of the line that rotation made; nil before the first rotation
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Active reports whether the token works.
func (t *Token) Active(now time.Time) bool { return t.RevokedAt == nil && !expired(t.ExpiresAt, now) }

// ModifiedAt lets a client revoke only what it has seen.
func (t *Token) ModifiedAt() time.Time { return t.UpdatedAt }

// managedBy reports whether someone may see, rotate and revoke the token. What
// an administrator made in someone's name is not that person's to manage.
func (t *Token) managedBy(a access.Actor) bool {
	return a.Admin() || (a.Is(t.UserID) && !t.Impersonation)
}

func expired(at *time.Time, now time.Time) bool { return at != nil && !now.Before(*at) }

// Draft is what a token is made of.
type Draft struct {
	Name          string
	Scopes        access.Scopes
	ExpiresAt     *time.Time // nil is as late as possible
	Impersonation bool
}

// check says what is wrong with a new token; latest is the last day on which
// it may expire.
func (d Draft) check(owner *user.User, latest time.Time) error {
	var f fault.Fields
	if strings.TrimSpace(d.Name) == "" {
		f.Add("name", "can't be blank")
	} else if utf8.RuneCountInString(d.Name) > 255 {
		f.Add("name", "is too long (maximum is 255 characters)")
	}
	allowed := access.PersonalScopes(owner.Admin)
	if len(d.Scopes) == 0 {
		f.Add("scopes", "can't be blank")
	} else if slices.ContainsFunc(d.Scopes, func(s access.Scope) bool { return !allowed.Has(s) }) {
		f.Add("scopes", "can only contain available scopes")
	}
	if d.ExpiresAt == nil && d.Impersonation {
		f.Add("expires_at", "can't be blank")
	} else if d.ExpiresAt != nil && d.ExpiresAt.After(latest) {
		f.Add("expires_at", "must be before %s", latest.Format(time.DateOnly))
	}
	return f.Err()
}

// mayReceive reports whether an account can be given a token at all.
func mayReceive(owner *user.User) bool { return !owner.State.Blocked() && !owner.Kind.Internal() }

// guarded scopes are more than api: they are handed on only by a token that
// carries them. Every other scope opens a part of what api opens, and no
// token without api reaches a place where tokens are made.
var guarded = access.Scopes{access.ScopeSudo, access.ScopeAdminMode}

// checkPower refuses to let a token make a stronger one. A session acts with
// the whole of its person's rights, and the operator's shell with all there are.
func checkPower(maker access.Credential, scopes access.Scopes) error {
	if maker.Kind == access.NoCredential || maker.Kind == access.Session {
		return nil
	}
	for _, s := range scopes {
		if guarded.Has(s) && !maker.Scopes.Has(s) {
			return access.InsufficientScope(s)
		}
	}
	return nil
}

// latestExpiry is the last day that the settings allow.
func latestExpiry(now time.Time, maxDays *int) time.Time {
	days := maxLifetime
	if maxDays != nil {
		days = *maxDays
	}
	return midnight(now).AddDate(0, 0, days)
}

// midnight is when the day of a moment began.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

const (
	randomLength  = 20
	prefixLength  = 20 // in characters; administrators choose it and may change it
	sessionLength = 43 // 258 bits
)

// newSecret is the value of a personal token. Some clients tell personal from
// other tokens by a length of 20 to 40.
func newSecret(prefix string) secretbox.Secret {
	return secretbox.Secret(prefix + secretbox.RandomToken(randomLength))
}

// parse splits what was presented as a personal token. ok is false for what
// was never issued, whatever the prefix was at the time.
func parse(secret string) (prefix, random string, ok bool) {
	if len(secret) < randomLength {
		return "", "", false
	}
	prefix, random = secret[:len(secret)-randomLength], secret[len(secret)-randomLength:]
	ok = utf8.ValidString(prefix) && utf8.RuneCountInString(prefix) <= prefixLength && isRandom(random)
	return prefix, random, ok
}

// isRandom reports whether a text is of the characters that random secrets
// are made of.
func isRandom(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
