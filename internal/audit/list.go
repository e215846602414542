package audit

import (
	"context"
	"errors"
	"strconv"
	"time"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of events. What is zero is not asked for.
type Filter struct {
	EntityType bus.EntityKind
	EntityID   int64
	AuthorID   int64     // with an entity
	After      time.Time // that moment counts
	Before     time.Time // that moment counts
}

// apart is how far the clocks of nodes may be from each other. Events are listed by id, and have their ids in the order of time but for that.
const apart = 5 * time.Minute

// List reads one page of the trail, the newest first. Each filter has an index that ends in the id: what a page costs does not depend on how deep it is.
func (s *Service) List(ctx context.Context, f Filter, req paging.Request) (paging.Result[Event], error) {
	l := postgres.From("audit_events e").Columns(columns).Order(postgres.Key{Expr: "e.id", Desc: true})
	if f.EntityType == bus.OfInstance {
		f.EntityID = bus.Instance().ID // there is one
	}
	if f.EntityType != "" {
		l.Where("e.entity_type = ?", f.EntityType)
	}
	if f.EntityID != 0 {
		l.Where("e.entity_id = ?", f.EntityID)
	}
	if f.AuthorID != 0 {
		l.Where("e.author_id = ?", f.AuthorID)
	}
	if err := s.within(ctx, l, f.After, f.Before); err != nil {
		return paging.Result[Event]{}, err
	}
	return paging.Fetch(ctx, s.deps.DB, l, req, func(e Event) []string { return []string{strconv.FormatInt(e.ID, 10)} })
}

// within keeps a list to a time. The ids around it are looked up, so that an index that ends in the id begins there and not at the newest event.
func (s *Service) within(ctx context.Context, l *postgres.List, after, before time.Time) error {
	if after.IsZero() && before.IsZero() {
		return nil
	}
	l.Replan() // for the months that the time is in
	if !after.IsZero() {
		l.Where("e.created_at >= ?", after)
		id, err := postgres.Value[int64](ctx, s.deps.DB, sqlLastBefore, after.Add(-apart))
		if err != nil && !errors.Is(err, postgres.ErrNoRows) {
			return err
		}
		if err == nil {
			l.Where("e.id > ?", id)
		}
	}
	if !before.IsZero() {
		l.Where("e.created_at <= ?", before)
		id, err := postgres.Value[int64](ctx, s.deps.DB, sqlFirstAfter, before.Add(apart))
		if err != nil && !errors.Is(err, postgres.ErrNoRows) {
			return err
		}
		if err == nil {
			l.Where("e.id < ?", id)
		}
	}
	return nil
}
