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
	AuthorID   int64
	EventType  string
	After      time.Time // that moment counts
	Before     time.Time // that moment counts
}

// searched reports whether no index finds what is asked for: then events are looked at one by one.
func (f Filter) searched() bool { return f.EventType != "" || (f.AuthorID != 0 && f.EntityID == 0) }

// apart is how far the clocks of nodes may be from each other. Events are listed by id, and have their ids in the order of time but for that.
const apart = 5 * time.Minute

// SearchSpan is how many events one page looks at in search of those that no index finds.
const SearchSpan = 10_000

// List reads one page of the trail, the newest first. Each filter has an index that ends in the id: what a page costs does not depend on how deep it
// is. A type of event has none, nor has a person without an entity: there a page looks at so many events, ends early if they hold too
// few that match, and still leads on.
func (s *Service) List(ctx context.Context, f Filter, req paging.Request) (paging.Result[Event], error) {
	if f.EntityType == bus.OfInstance {
		f.EntityID = bus.Instance().ID // there is one
	}
	l, err := s.indexed(ctx, f)
	if err != nil {
		return paging.Result[Event]{}, err
	}
	var end int64
	if f.searched() {
		if end, err = s.endOfSearch(ctx, f, req); err != nil {
			return paging.Result[Event]{}, err
		}
		if l.Where("e.id > ?", end); f.EventType != "" {
			l.Where("e.event_type = ?", f.EventType)
		}
		if f.AuthorID != 0 {
			l.Where("e.author_id = ?", f.AuthorID)
		}
	}
	res, err := paging.Fetch(ctx, s.deps.DB, l.Columns(columns), req, func(e Event) []string { return position(e.ID) })
	if err == nil && end != 0 && !res.More && req.Keyset {
		res.More, res.Next = true, &paging.Cursor{OrderBy: req.OrderBy, Desc: req.Desc, After: position(end + 1)}
	}
	return res, err
}

// position is where a list by id stands.
func position(id int64) []string { return []string{strconv.FormatInt(id, 10)} }

// indexed is the part of a filter that indexes serve.
func (s *Service) indexed(ctx context.Context, f Filter) (*postgres.List, error) {
	l := postgres.From("audit_events e").Order(postgres.Key{Expr: "e.id", Desc: true})
	if f.EntityType != "" {
		l.Where("e.entity_type = ?", f.EntityType)
	}
	if f.EntityID != 0 {
		l.Where("e.entity_id = ?", f.EntityID)
	}
	if f.AuthorID != 0 && f.EntityID != 0 {
		l.Where("e.author_id = ?", f.AuthorID)
	}
	return l, s.within(ctx, l, f.After, f.Before)
}

// endOfSearch is the newest event that a page does not look at any more, or 0 when it comes to the last.
func (s *Service) endOfSearch(ctx context.Context, f Filter, req paging.Request) (int64, error) {
	l, err := s.indexed(ctx, f)
	if err != nil {
		return 0, err
	}
	if req.Cursor != nil {
		if !l.AfterFits(len(req.Cursor.After)) {
			return 0, nil // the list itself refuses it
		}
		past, err := strconv.ParseInt(req.Cursor.After[0], 10, 64)
		if err != nil {
			return 0, nil // the same
		}
		l.After(past)
	}
	sql, args := l.Columns("e.id").Offset(SearchSpan).Limit(1).SQL()
	end, err := postgres.Value[int64](ctx, s.deps.DB, sql, args...)
	if errors.Is(err, postgres.ErrNoRows) {
		return 0, nil
	}
	return end, err
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
