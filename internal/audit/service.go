package audit

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
)

// Deps is what the room needs.
type Deps struct {
	DB       *postgres.DB
	Bus      *bus.Bus
	Queue    *jobqueue.Queue
	Box      *secretbox.Box
	Outbound *outbound.Guard // where destinations are
	Settings *setting.Service
	Owners   *owner.Service
	Clock    clock.Clock
	Log      *slog.Logger
}

// Service writes the trail, shows it and keeps watch over it.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// Record writes down every event that says what was done. It runs in the
// transaction of the act.
func (s *Service) Record(ctx context.Context, tx pgx.Tx, e bus.Event) error {
	audited, ok := e.(bus.Audited)
	if !ok {
		return nil
	}
	r, err := newEvent(audited.AuditRecord(), s.deps.Settings.Instance().Names, s.deps.Clock.Now())
	if err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, sqlNextID, r.EntityType, r.EntityID, above(r.EntityPath)).Scan(&r.ID, &r.TopID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlInsert, r.ID, r.CreatedAt, r.EventType, r.AuthorID, r.AuthorName, r.EntityType, r.EntityID,
		r.EntityPath, r.TargetType, r.TargetID, r.TargetDetails, r.IPAddress, r.Details, s.sign(ofEvent, r.whole()), r.TopID)
	return err
}

// above is the path of the group at the top of what stands in one, else empty.
func above(path string) string {
	if top, _, below := strings.Cut(path, "/"); below {
		return strings.ToLower(top)
	}
	return ""
}

// Kept reports whether the instance shows its trail.
func (s *Service) Kept() bool { return s.deps.Settings.Instance().Enterprise() }

// Readable is what somebody may read of the trail of a group or project, or of all trails when of is nil. It is what the endpoints and the pages
// are admitted by.
func (s *Service) Readable(by access.Actor, of *owner.Owner) (Filter, error) {
	switch {
	case !s.Kept(), of == nil && !by.Admin(), of != nil && !toList.Held(by, of):
		return Filter{}, fault.New(fault.Forbidden)
	case of == nil:
		return Filter{}, nil
	}
	f := Filter{EntityType: of.Kind, EntityID: of.ID}
	if !toRead.Held(by, of) {
		f.AuthorID = by.ID()
	}
	return f, nil
}

// FindFor is one event of the trail of a group or project, or of any trail when of is nil, for somebody who may read all of it.
func (s *Service) FindFor(ctx context.Context, by access.Actor, of *owner.Owner, id int64) (*Event, error) {
	if _, err := s.Readable(by, of); err != nil {
		return nil, err
	}
	if of == nil {
		return s.Find(ctx, id)
	}
	if !toRead.Held(by, of) {
		return nil, fault.New(fault.Forbidden)
	}
	return s.FindOf(ctx, of.Entity, id)
}

// Find is one event of the trail.
func (s *Service) Find(ctx context.Context, id int64) (*Event, error) {
	e, err := postgres.One[Event](ctx, s.deps.DB, sqlFind, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.NotFoundf("Audit Event")
	}
	return &e, err
}

// FindOf is one event of the trail of an entity.
func (s *Service) FindOf(ctx context.Context, of bus.Entity, id int64) (*Event, error) {
	e, err := s.Find(ctx, id)
	if err == nil && (e.EntityType != of.Kind || e.EntityID != of.ID) {
		return nil, fault.NotFoundf("Audit Event")
	}
	return e, err
}
