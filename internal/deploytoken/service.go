package deploytoken

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// kind keeps the digests of deploy tokens apart from those of any other.
const kind access.Kind = "deploy"

const randomLength = 20

// Deps is what the room needs from below.
type Deps struct {
	DB     *postgres.DB
	Bus    *bus.Bus
	Box    *secretbox.Box
	Owners *owner.Service
	Clock  clock.Clock
	Names  wire.Names
}

// Service is the use cases of deploy tokens.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var errMissing = fault.NotFoundf("Deploy Token")

// gone is an owner that went while something was to come to be in it.
var gone = owner.Gone("deploy_tokens")

// Find reads a deploy token of an owner.
func (s *Service) Find(ctx context.Context, of bus.Entity, id int64) (*Token, error) {
	namespaceID, projectID := owner.Keys(of)
	return found(postgres.One[Token](ctx, s.deps.DB, sqlFind, namespaceID, projectID, id))
}

func found(t Token, err error) (*Token, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		err = errMissing
	}
	return &t, err
}

// Create makes a deploy token and returns its secret, which is not kept.
func (s *Service) Create(ctx context.Context, by access.Actor, of bus.Entity, d Draft) (t Token, secret secretbox.Secret, err error) {
	if err := d.check(); err != nil {
		return Token{}, "", err
	}
	carried := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !slices.Contains(d.Scopes, s) })
	secret = secretbox.Secret(s.deps.Names.TokenPrefix(wire.DeployToken) + secretbox.RandomToken(randomLength))
	namespaceID, projectID := owner.Keys(of)
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, err = postgres.One[Token](ctx, tx, sqlInsert, namespaceID, projectID, d.Name, d.Username, s.deps.Names.Service+"+deploy-token-",
			s.deps.Box.Digest(string(kind), secret.Reveal()), carried, d.ExpiresAt, by.ID(), s.deps.Clock.Now())
		if err != nil {
			return gone.Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: of, Token: t})
	})
	return t, secret, err
}

// Delete ends a deploy token; no record of it stays but in the trail.
func (s *Service) Delete(ctx context.Context, by access.Actor, of bus.Entity, id int64) error {
	namespaceID, projectID := owner.Keys(of)
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, err := found(postgres.One[Token](ctx, tx, sqlDelete, namespaceID, projectID, id))
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Destroyed, By: by, In: of, Token: *t})
	})
}
