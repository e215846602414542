package user

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Settings    *setting.Service
	Hasher      *secretbox.Hasher
	Clock       clock.Clock
	Log         *slog.Logger
	ExternalURL *url.URL
	Paid        bool // fields of the premium and ultimate tiers are shown
}

// Service is the use cases of accounts.
type Service struct {
	deps    Deps
	baseURL string
	host    string

	attributes *attribute.Store[*User]
}

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d), baseURL: d.ExternalURL.String(), host: d.ExternalURL.Hostname()}
	s.attributes = newAttributes(s)
	return s
}

// Find reads an account by id. It answers NotFound for one that is being
// removed.
func (s *Service) Find(ctx context.Context, id int64) (*User, error) {
	return s.FindIn(ctx, s.deps.DB, id)
}

// FindIn is Find for whoever is in a transaction.
func (s *Service) FindIn(ctx context.Context, q postgres.Querier, id int64) (*User, error) {
	return found(postgres.One[User](ctx, q, sqlByID, id))
}

// FindByUsername reads an account by its username, in any case.
func (s *Service) FindByUsername(ctx context.Context, username string) (*User, error) {
	return found(postgres.One[User](ctx, s.deps.DB, sqlByUsername, username))
}

// FindByRef reads an account by id when ref is all digits, else by username.
func (s *Service) FindByRef(ctx context.Context, ref string) (*User, error) {
	if id, err := strconv.ParseUint(ref, 10, 63); err == nil && ref[0] != '+' {
		return s.Find(ctx, int64(id))
	}
	return s.FindByUsername(ctx, ref)
}

// Briefs reads the public part of some accounts, by id.
func (s *Service) Briefs(ctx context.Context, ids ...int64) (map[int64]Brief, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[Brief](ctx, s.deps.DB, sqlBriefs, ids)
	byID := make(map[int64]Brief, len(rows))
	for _, b := range rows {
		byID[b.ID] = b
	}
	return byID, err
}

// lock reads an account and keeps others from changing it until the
// transaction ends.
func (s *Service) lock(ctx context.Context, tx pgx.Tx, id int64) (*User, error) {
	return found(postgres.One[User](ctx, tx, sqlLock, id))
}

func found(u User, err error) (*User, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.NotFoundf("User")
	}
	if err != nil {
		return nil, err
	}
	return &u, nil
}

// FromActor is the part of the account that every authentication reads; nil
// when nobody is signed in.
func FromActor(a access.Actor) *AccountState {
	switch account := a.Account.(type) {
	case *User:
		return &account.AccountState
	case *AccountState:
		return account
	}
	return nil
}

// account is the actor's whole account. An endpoint whose Spec asks for it has
// it from authentication.
func (s *Service) account(ctx context.Context, a access.Actor) (*User, error) {
	if u, read := a.Account.(*User); read {
		return u, nil
	}
	return s.Find(ctx, a.ID())
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
