package oauth

import (
	"context"
	"net/netip"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// PasswordCheck finds the account that a login and a password belong to. It
// counts the tries, and answers with a fault when there is no such account.
type PasswordCheck func(ctx context.Context, login string, password secretbox.Secret, from netip.Addr) (*user.User, error)

// Deps is what the room needs from below.
type Deps struct {
	DB            *postgres.DB
	Bus           *bus.Bus
	Box           *secretbox.Box
	Settings      *setting.Service
	Users         *user.Service
	Tokens        *token.Service
	Clock         clock.Clock
	ExternalURL   string
	Names         wire.Names
	Password      PasswordCheck
	PasswordGrant bool // passwords may be exchanged for tokens
}

// Service is the use cases of the provider.
type Service struct {
	deps    Deps
	keys    keyring
	dialect dialect
}

// New puts the room together.
func New(d Deps) *Service {
	d.ExternalURL = strings.TrimSuffix(d.ExternalURL, "/")
	s := &Service{deps: deps.Complete(d)}
	s.dialect = s.newDialect()
	return s
}

func (s *Service) digest(kind access.Kind, secret string) []byte {
	return s.deps.Box.Digest(string(kind), secret)
}

// lock makes what concerns one person's grants wait for each other, and keeps
// the application, if there is one, from being deleted under it.
func (s *Service) lock(ctx context.Context, tx pgx.Tx, userID int64, applicationID *int64) error {
	if _, err := tx.Exec(ctx, sqlLockPerson, userID); err != nil || applicationID == nil {
		return err
	}
	kept, err := tx.Exec(ctx, sqlKeepApplication, *applicationID)
	if err == nil && kept.RowsAffected() == 0 {
		err = errNoApplication
	}
	return err
}
