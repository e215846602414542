package bot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/member"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB       *postgres.DB
	Bus      *bus.Bus
	Settings *setting.Service
	Users    *user.Service
	Tokens   *token.Service
	Owners   *owner.Service
	Clock    clock.Clock
}

// Service is the use cases of project and group tokens.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// Find reads a token of an owner.
func (s *Service) Find(ctx context.Context, of bus.Entity, id int64) (*Token, error) {
	namespaceID, projectID := owner.Keys(of)
	t, err := postgres.One[Token](ctx, s.deps.DB, sqlFind, namespaceID, projectID, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing(of, id)
	}
	return &t, err
}

// offered reports whether this instance has such tokens at all.
func (s *Service) offered() bool {
	i := s.deps.Settings.Instance()
	return !i.Hosted || i.Tier != setting.Free
}

// Create makes a bot, makes it a member of the owner and gives it a token, whose
// secret is not kept.
func (s *Service) Create(ctx context.Context, by access.Actor, o *owner.Owner, d Draft) (t Token, secret secretbox.Secret, err error) {
	if !s.offered() || !mayMake(by, o) {
		return Token{}, "", errMayNotCreate(o.Entity)
	}
	if err := checkLevel(by, o, d.Level); err != nil {
		return Token{}, "", err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, o.Entity); err != nil {
			return err
		}
		u, err := s.deps.Users.CreateBot(ctx, tx, by, user.BotDraft{Username: username(o.Entity), Name: d.Name, External: by.Person.External})
		if err != nil {
			return err
		}
		t = Token{AccessLevel: d.Level, BotName: u.Name}
		t.Token, secret, err = s.deps.Tokens.CreateIn(ctx, tx, by, u, token.Draft{Name: d.Name, Scopes: d.Scopes, ExpiresAt: d.ExpiresAt})
		if err != nil {
			return err
		}
		namespaceID, projectID := owner.Keys(o.Entity)
		if _, err := tx.Exec(ctx, sqlJoin, namespaceID, projectID, u.ID, d.Level, t.ExpiresAt, by.ID(), s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: o.Entity, Token: t})
	})
	return t, secret, err
}

// username is a name that nobody has and nobody can guess.
func username(of bus.Entity) string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails: the process ends first
	return fmt.Sprintf("%s_%d_bot_%s", owner.Noun(of), of.ID, hex.EncodeToString(random))
}

// Rotate puts a new token in the place of an old one, which is revoked. The
// bot stays, for as long as the new token lives.
func (s *Service) Rotate(ctx context.Context, by access.Actor, o *owner.Owner, id int64, expiresAt *time.Time) (Token, secretbox.Secret, error) {
	if !mayMake(by, o) {
		return Token{}, "", fault.New(fault.Unauthenticated)
	}
	t, err := s.Find(ctx, o.Entity, id)
	if err != nil {
		return Token{}, "", err
	}
	if exceeds(t.AccessLevel, by, o) {
		return Token{}, "", fault.WithReason(fault.Rejected, "Not eligible to rotate token with access level higher than the user")
	}
	var secret secretbox.Secret
	t.Token, secret, err = s.deps.Tokens.Rotate(ctx, by, id, expiresAt)
	return *t, secret, err
}

// Revoke ends a token. Its bot goes, and leaves what it made to the ghost,
// unless it has another token: the one that took the place of this one.
//
// Rows are locked in one order here and in the reactions: token, membership,
// account.
func (s *Service) Revoke(ctx context.Context, by access.Actor, of bus.Entity, t *Token) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.deps.Tokens.RevokeIn(ctx, tx, by, t.ID); err != nil {
			return err
		}
		alive, err := postgres.Value[bool](ctx, tx, sqlHasToken, t.UserID, s.deps.Clock.Now().UTC())
		if err != nil {
			return err
		}
		if !alive {
			namespaceID, projectID := owner.Keys(of)
			left, err := tx.Exec(ctx, sqlLeave, namespaceID, projectID, t.UserID)
			if err != nil {
				return err
			}
			if left.RowsAffected() == 0 {
				return fault.WithReason(fault.Rejected, "Failed to find bot user")
			}
			if err := s.end(ctx, tx, by, t.UserID); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, In: of, Token: *t})
	})
}

// end removes bots that are members of nothing any more. Their tokens stop
// working at once.
func (s *Service) end(ctx context.Context, tx pgx.Tx, by access.Actor, ids ...int64) error {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if err := s.deps.Users.RemoveIn(ctx, tx, by, id, false); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// OnToken lets a bot stay for as long as its newest token lives, whoever
// made that.
func (s *Service) OnToken(ctx context.Context, tx pgx.Tx, e token.Event) error {
	if e.Action != token.Created || e.Token.Impersonation {
		return nil
	}
	_, err := tx.Exec(ctx, sqlFollowToken, e.Token.UserID, s.deps.Clock.Now())
	return err
}

// OnMember removes a bot whose membership ended.
func (s *Service) OnMember(ctx context.Context, tx pgx.Tx, e member.Event) error {
	if e.Action != member.Destroyed {
		return nil
	}
	isBot, err := postgres.Value[bool](ctx, tx, sqlIsBot, e.UserID)
	if err != nil || !isBot {
		return err
	}
	return s.end(ctx, tx, e.By, e.UserID)
}

// OnNamespaceRemoving removes the bots of a group with it.
func (s *Service) OnNamespaceRemoving(ctx context.Context, tx pgx.Tx, e group.Removing) error {
	return s.clear(ctx, tx, sqlLeaveGroup, e.NamespaceID)
}

// OnProjectRemoving removes the bots of a project with it.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	return s.clear(ctx, tx, sqlLeaveProject, e.ProjectID)
}

func (s *Service) clear(ctx context.Context, tx pgx.Tx, leave string, id int64) error {
	bots, err := postgres.Values[int64](ctx, tx, leave, id)
	if err != nil {
		return err
	}
	return s.end(ctx, tx, access.Actor{}, bots...)
}
