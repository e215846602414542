package signin

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Box         *secretbox.Box
	Settings    *setting.Service
	Users       *user.Service
	Tokens      *token.Service
	Mail        *mail.Sender
	Clock       clock.Clock
	ExternalURL *url.URL
}

// Service is the use cases of the way in.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// SendsMail reports whether there is a server to send mail through.
func (s *Service) SendsMail() bool { return s.deps.Mail.Configured() }

func (s *Service) digest(kind access.Kind, secret string) []byte {
	return s.deps.Box.Digest(string(kind), secret)
}

// CheckPassword finds whose a name and password are. It answers the same, after
// the same work, for a name that nobody has and for a wrong password, and it
// counts both. What comes back still owes the second factor if it has one: only
// Begin and Finish make a session.
func (s *Service) CheckPassword(ctx context.Context, login string, password secretbox.Secret, from netip.Addr) (*user.User, error) {
	l, err := s.deps.Users.FindLogin(ctx, login)
	if err != nil {
		return nil, err
	}
	key := tryKey(l, login)
	try, err := s.count(ctx, key, from)
	if err != nil {
		return nil, err
	}
	right, err := s.deps.Users.CheckPassword(ctx, l, password)
	if err != nil {
		return nil, err
	}
	if !right {
		if l != nil && try.last {
			if err := s.lockOut(ctx, l.ID); err != nil {
				return nil, err
			}
		}
		return nil, errWrong
	}
	if err := s.giveBack(ctx, try); err != nil {
		return nil, err
	}
	return &l.User, refusal(&l.User)
}

// limits are how often a password or a code may be wrong, and for how long
// nothing is taken after that.
func (s *Service) limits() (tries int, period time.Duration) {
	tries, period = accountTries, triesPeriod
	now := s.deps.Settings.Current()
	if now.MaxLoginAttempts != nil {
		tries = *now.MaxLoginAttempts
	}
	if now.FailedLoginAttemptsUnlockPeriodInMinutes != nil {
		period = time.Duration(*now.FailedLoginAttemptsUnlockPeriodInMinutes) * time.Minute
	}
	return tries, period
}

// try is one that was counted.
type try struct {
	name, address []byte
	last          bool // no more are taken if it fails
}

// count takes a try before it is made, so that tries at the same moment, on
// any node, are never more than allowed.
func (s *Service) count(ctx context.Context, key string, from netip.Addr) (t try, err error) {
	tries, period := s.limits()
	now := s.deps.Clock.Now()
	t.name, t.address = s.digest(kindTry, key), s.digest(kindTry, "address:"+network(from))
	fromHere, err := postgres.Value[int](ctx, s.deps.DB, sqlCountInPeriod, t.address, now, now.Add(triesPeriod))
	if err != nil {
		return t, err
	}
	if fromHere > addressTries {
		return t, errTooMany
	}
	inARow, err := postgres.Value[int](ctx, s.deps.DB, sqlCountInARow, t.name, now, now.Add(period), tries)
	if err == nil && inARow > tries {
		err = errTooMany
	}
	t.last = inARow == tries
	return t, err
}

// giveBack takes a try that succeeded out of the count.
func (s *Service) giveBack(ctx context.Context, t try) error {
	_, err := s.deps.DB.Exec(ctx, sqlGiveBack, t.name, t.address)
	return err
}

// network is what tries are counted by: an address, or the network that one
// subscriber gets where addresses are plenty.
func network(a netip.Addr) string {
	if a.Is6() {
		if prefix, err := a.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return a.String()
}

// lockOut shows everyone that an account takes no password for now.
func (s *Service) lockOut(ctx context.Context, userID int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.deps.Users.Lock(ctx, tx, userID); err != nil {
			return err
		}
		_, period := s.limits()
		return s.deps.Queue.Insert(ctx, tx, UnlockArgs{UserID: userID}, jobqueue.At(s.deps.Clock.Now().Add(period)))
	})
}

// Entry is what a browser is given at the end of a step.
type Entry struct {
	Session secretbox.Secret // the cookie of a session; empty when Half is set
	Half    secretbox.Secret // the proof of a password that awaits the second factor
}

// Begin lets an account in whose password was right, or asks it for its second
// factor. Browser is what the browser says of itself.
func (s *Service) Begin(ctx context.Context, u *user.User, from netip.Addr, browser string) (e Entry, err error) {
	if u.TwoFactorEnabled {
		e.Half = secretbox.Secret(secretbox.RandomToken(secretLength))
		now := s.deps.Clock.Now()
		if _, err = s.deps.DB.Exec(ctx, sqlBeginHalf, u.ID, s.digest(kindHalf, e.Half.Reveal()), now, now.Add(halfLife)); err != nil {
			return e, err
		}
		return e, s.askKeys(ctx, u.ID, e.Half)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		e.Session, err = s.enter(ctx, tx, u.ID, false, from, browser)
		return err
	})
	return e, err
}

// enter is the one place where a sign-in becomes a session. It looks at the
// account again: the state and the factor may have come to be since the
// password was shown.
func (s *Service) enter(ctx context.Context, tx pgx.Tx, userID int64, factorShown bool, from netip.Addr, browser string) (secretbox.Secret, error) {
	var account *user.User // as it was before
	err := s.deps.Users.SignedIn(ctx, tx, userID, from, func(u *user.User) error {
		if u.TwoFactorEnabled && !factorShown {
			return errHalfGone
		}
		account = u
		return refusal(u)
	})
	if err != nil {
		return "", err
	}
	known, err := s.known(ctx, tx, account, from)
	if err != nil {
		return "", err
	}
	cookie, _, err := s.deps.Tokens.StartSessionIn(ctx, tx, userID, from, browser)
	if err != nil || known {
		return cookie, err
	}
	return cookie, s.deps.Bus.Publish(ctx, tx, UnknownEntry{
		By: access.Actor{Person: account.Person(), Address: from}, Browser: browser, At: s.deps.Clock.Now(),
	})
}

// known reports whether a person signed in from a network before, as far as that is remembered: by their last two sign-ins and by the sessions that
// live. Nothing is unknown to somebody who signs in for the first time.
func (s *Service) known(ctx context.Context, tx pgx.Tx, u *user.User, from netip.Addr) (bool, error) {
	if !from.IsValid() || (u.CurrentSignInIP == nil && u.LastSignInIP == nil) {
		return true, nil
	}
	addresses, err := postgres.Values[string](ctx, tx, sqlSessionAddresses, u.ID, s.deps.Clock.Now())
	if err != nil {
		return false, err
	}
	for _, last := range []*string{u.CurrentSignInIP, u.LastSignInIP} {
		if last != nil {
			addresses = append(addresses, *last)
		}
	}
	return slices.ContainsFunc(addresses, func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && network(a.Unmap()) == network(from.Unmap())
	}), nil
}

// Renew gives a person who is signed in a session of a new name, when the old
// ones ended or their rights rose.
func (s *Service) Renew(ctx context.Context, userID int64, from netip.Addr, browser string) (secretbox.Secret, error) {
	cookie, _, err := s.deps.Tokens.StartSession(ctx, userID, from, browser)
	return cookie, err
}
