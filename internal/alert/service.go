package alert

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/batch"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/template"
	"stithy/internal/todo"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Blobs       blob.Store
	Box         *secretbox.Box
	Settings    *setting.Service
	Users       *user.Service
	Projects    *project.Service
	Templates   *template.Service
	Issues      *issue.Service
	Todos       *todo.Service
	Clock       clock.Clock
	ExternalURL string
}

// Service is the use cases of alerts.
type Service struct {
	deps    Deps
	dialect dialect
	finding *batch.Batcher[address, struct{}, *Integration]
	storing *batch.Batcher[int64, delivery, outcome]
	reading *fairshare.Slots // for large payloads that come
	large   *fairshare.Slots // for large payloads that are read and stored, which takes many times their size
}

// Bounds of what waits. Whoever looks for an integration or stores alerts shares the work of others who do so at the same time.
var (
	findingLimits = batch.Limits{Most: 1000, Waiting: 10_000, Time: 10 * time.Second}
	storingLimits = batch.Limits{Most: 100, Waiting: 2_000, Time: 30 * time.Second}
)

const (
	largePayload  = 64 << 10
	largePayloads = 8
	largeBodies   = 64 // which are at most that many MB
)

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d), reading: fairshare.New(largeBodies, largeBodies/4), large: fairshare.New(largePayloads, largePayloads)}
	s.dialect = s.newDialect()
	s.finding = batch.New(findingLimits, s.find)
	s.storing = batch.New(storingLimits, s.store)
	return s
}

const keyDigest = "alert_key"

func found[T any](row T, err error) (*T, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.New(fault.NotFound)
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// gone is a project that went while something was to come to be in it.
var gone = postgres.Faults{
	"alert_integrations_project_id_fkey": fault.NotFoundf("Project"), "alert_counters_project_id_fkey": fault.NotFoundf("Project"),
}

// Integration reads an integration of a project.
func (s *Service) Integration(ctx context.Context, projectID, id int64) (*Integration, error) {
	return found(postgres.One[Integration](ctx, s.deps.DB, sqlIntegration, projectID, id))
}

// Create makes an integration, with an address and a key of its own.
func (s *Service) Create(ctx context.Context, by access.Actor, p *project.Project, in Integration) (made *Integration, err error) {
	in.Endpoint = digits(8)
	if err := in.check(); err != nil {
		return nil, err
	}
	key := newKey()
	sealed, err := s.deps.Box.Seal([]byte(key.Reveal()), in.place())
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockIntegrations, p.ID); err != nil {
			return err
		}
		count, err := postgres.Value[int](ctx, tx, sqlCountIntegrations, p.ID)
		if err != nil {
			return err
		}
		if count >= maxIntegrations {
			return fault.WithMessage(fault.Rejected, "A project has %d alert integrations at the most. Delete one first.", maxIntegrations)
		}
		made, err = found(postgres.One[Integration](ctx, tx, sqlInsertIntegration, p.ID, in.Kind, in.Name, in.Endpoint, sealed,
			s.deps.Box.Digest(keyDigest, key.Reveal()), in.Active, in.Mapping, in.Example, s.deps.Clock.Now()))
		if err != nil {
			return gone.Translate(err)
		}
		return s.publish(ctx, tx, Created, by, p, made)
	})
	return made, err
}

func (s *Service) publish(ctx context.Context, tx pgx.Tx, did Action, by access.Actor, p *project.Project, in *Integration) error {
	return s.deps.Bus.Publish(ctx, tx, Event{Action: did, By: by, In: p.Entity(), ID: in.ID, Name: in.Name})
}

// Update changes an integration of a project.
func (s *Service) Update(ctx context.Context, by access.Actor, p *project.Project, id int64, c Change) (*Integration, error) {
	return s.change(ctx, by, p, id, Updated, func(tx pgx.Tx, in *Integration) (Integration, error) {
		c.apply(in)
		if err := in.check(); err != nil {
			return *in, err
		}
		return postgres.One[Integration](ctx, tx, sqlUpdateIntegration, in.ID, in.Name, in.Active, in.Mapping, in.Example, s.deps.Clock.Now())
	})
}

// ReplaceKey gives an integration another key. The one before is refused from the commit on.
func (s *Service) ReplaceKey(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Integration, error) {
	key := newKey()
	return s.change(ctx, by, p, id, KeyReplaced, func(tx pgx.Tx, in *Integration) (Integration, error) {
		sealed, err := s.deps.Box.Seal([]byte(key.Reveal()), in.place())
		if err != nil {
			return *in, err
		}
		return postgres.One[Integration](ctx, tx, sqlReplaceKey, in.ID, sealed, s.deps.Box.Digest(keyDigest, key.Reveal()), s.deps.Clock.Now())
	})
}

// change does something to a locked integration and tells of it.
func (s *Service) change(
	ctx context.Context, by access.Actor, p *project.Project, id int64, did Action, do func(pgx.Tx, *Integration) (Integration, error),
) (changed *Integration, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		in, err := found(postgres.One[Integration](ctx, tx, sqlLockIntegration, p.ID, id))
		if err != nil {
			return err
		}
		if changed, err = found(do(tx, in)); err != nil {
			return err
		}
		return s.publish(ctx, tx, did, by, p, changed)
	})
	return changed, err
}

// Delete ends an integration. Its alerts stay.
func (s *Service) Delete(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		in, err := found(postgres.One[Integration](ctx, tx, sqlDeleteIntegration, p.ID, id))
		if err != nil {
			return err
		}
		return s.publish(ctx, tx, Deleted, by, p, in)
	})
}

// Key is what senders show to an integration.
func (s *Service) Key(in *Integration) (secretbox.Secret, error) {
	plain, err := s.deps.Box.Open(in.KeySealed, in.place())
	return secretbox.Secret(plain), err
}

// URL is where senders send alerts of an integration.
func (s *Service) URL(p *project.Project, in *Integration) string {
	return s.deps.ExternalURL + "/" + p.FullPath() + notifyPath + "/" + in.slug() + "/" + in.Endpoint + ".json"
}
