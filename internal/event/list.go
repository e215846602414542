package event

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Filter narrows a list of events. What is zero is not asked for.
type Filter struct {
	Action Action
	Target string    // a key of targets
	Before time.Time // this day begins after the event
	After  time.Time // this day ends before the event
}

// What a list looks at, at the most.
const (
	maxProjects = 500     // of all that somebody is a member of: those in which something happened last
	fewProjects = 20      // of so many, events are counted
	maxPassed   = 10_000  // events, to find those of a page
	maxStrange  = 1_000   // the same, for strangers: what is closed to them is passed at the cost of others
	maxCounted  = 1_000   // events, to find out how many there are
	maxFiltered = 100_000 // events that a filter by action or target passes, from where it begins
	minFiltered = 100     // of each project, where these are many
	part        = 250     // events that are read at once
)

// OfAuthor lists what somebody did, as far as an actor may read it now. Of people who keep their profile to themselves nothing is shown.
func (s *Service) OfAuthor(ctx context.Context, by access.Actor, of *user.User, f Filter, req paging.Request) (paging.Result[Shown], error) {
	if !of.ShowsProfile(by) {
		return paging.Result[Shown]{}, nil
	}
	return s.list(ctx, by, listing{Filter: f, author: of.ID}, req)
}

// OfProject lists what was done in a project that the actor sees.
func (s *Service) OfProject(ctx context.Context, by access.Actor, p *project.Project, f Filter, req paging.Request) (paging.Result[Shown], error) {
	return s.list(ctx, by, listing{Filter: f, project: p.ID}, req)
}

// OfProjects lists what was done in the projects that an actor is a member of.
func (s *Service) OfProjects(ctx context.Context, by access.Actor, f Filter, req paging.Request) (paging.Result[Shown], error) {
	standing, err := s.deps.Projects.StandingFrom(ctx, by, access.Guest)
	if err != nil {
		return paging.Result[Shown]{}, err
	}
	ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlProjectsOf, standing.Namespaces, standing.Projects, maxProjects)
	if err != nil || len(ids) == 0 {
		return paging.Result[Shown]{}, err
	}
	return s.list(ctx, by, listing{Filter: f, projects: ids}, req)
}

// OfGroup lists what was done in those projects of a group, and of groups below it, that an actor sees.
func (s *Service) OfGroup(ctx context.Context, by access.Actor, g *group.Group, f Filter, req paging.Request) (paging.Result[Shown], error) {
	found, err := s.deps.Projects.List(ctx, by, project.Filter{Group: &project.GroupScope{ID: g.ID, Own: true, Below: true}},
		paging.Request{Page: 1, PerPage: maxProjects, Keyset: true, OrderBy: "last_activity_at", Desc: true})
	if err != nil || len(found.Items) == 0 {
		return paging.Result[Shown]{}, err
	}
	ids := make([]int64, len(found.Items))
	for n := range found.Items {
		ids[n] = found.Items[n].ID
	}
	return s.list(ctx, by, listing{Filter: f, projects: ids}, req)
}

// KnowsPeople reports whether accounts exist for an actor. Where the public level is restricted, none does for strangers.
func (s *Service) KnowsPeople(by access.Actor) bool {
	return by.SignedIn() || !slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, access.Public.String())
}

// listing is one list: of an author, of a project, or of several projects.
type listing struct {
	Filter
	author, project int64
	projects        []int64
	begin           *place // nil: at the beginning
}

// place is that of an event in a list, the newest first.
type place struct {
	at time.Time
	id int64
}

// byTime is what cursors of events are ordered by.
const byTime = "created_at"

func (p place) cursor() *paging.Cursor {
	return &paging.Cursor{OrderBy: byTime, Desc: true, After: []string{p.at.UTC().Format(time.RFC3339Nano), strconv.FormatInt(p.id, 10)}}
}

// placeOf reads a cursor.
func placeOf(c *paging.Cursor) (p place, err error) {
	wrong := fault.WithMessage(fault.BadParams, "cursor is invalid")
	if c.OrderBy != byTime || len(c.After) != 2 {
		return p, wrong
	}
	if p.at, err = time.Parse(time.RFC3339Nano, c.After[0]); err != nil {
		return p, wrong
	}
	if p.id, err = strconv.ParseInt(c.After[1], 10, 64); err != nil {
		return p, wrong
	}
	return p, nil
}

// span is a time from which events are read: from its beginning on and before its end.
type span struct{ from, to time.Time }

// always is longer than there are events.
var always = span{time.Unix(0, 0).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// whole is the span that the filter asks for.
func (f Filter) whole() span {
	all := always
	if !f.After.IsZero() {
		all.from = f.After.AddDate(0, 0, 1)
	}
	if !f.Before.IsZero() && f.Before.Before(all.to) {
		all.to = f.Before
	}
	return all
}

// list reads one page of the events that an actor may read now. Rights are asked for of parts of the list, with a few queries for each. Events that
// nobody may know of neither shorten a page nor count: that something happened is a secret as much as what it was.
func (s *Service) list(ctx context.Context, by access.Actor, l listing, req paging.Request) (paging.Result[Shown], error) {
	page := paging.Result[Shown]{Items: []Shown{}, Total: paging.MaxTotal + 1}
	if req.Keyset {
		return s.follow(ctx, by, l, req)
	}
	begin, end := req.Offset(), req.Offset()+req.PerPage
	most := passes(by)
	if begin >= most {
		return page, nil
	}
	if l.Target != "" && len(targets[l.Target]) == 0 {
		page.Total = 0
		return page, nil // there are no events of such
	}
	w, err := s.walk(ctx, l, req.Desc)
	if err != nil {
		return page, err
	}
	counted := maxCounted
	if len(l.projects) > fewProjects {
		counted = 0
	}
	seen := 0
	for passed := 0; seen <= max(end, counted) && passed < most; {
		rows, err := w.next(ctx, s)
		if err != nil {
			return page, err
		}
		if len(rows) == 0 {
			page.Total = seen
			return page, nil
		}
		shown, err := s.readable(ctx, by, rows)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, between(shown, begin-seen, end-seen)...)
		seen, passed = seen+len(shown), passed+len(rows)
		page.More = seen > end
	}
	if seen <= counted {
		page.Total = seen // here the list ends, and how much was passed that nobody may know of is not to be seen from the total
	}
	return page, nil
}

// passes is how many events a list for somebody passes.
func passes(by access.Actor) int {
	if !by.SignedIn() {
		return maxStrange
	}
	return maxPassed
}

// follow reads the page behind a cursor, the newest first. Nothing is counted, and what came meanwhile moves nothing.
func (s *Service) follow(ctx context.Context, by access.Actor, l listing, req paging.Request) (page paging.Result[Shown], err error) {
	if req.Cursor != nil {
		begin, err := placeOf(req.Cursor)
		if err != nil {
			return page, err
		}
		l.begin = &begin
	}
	w, err := s.walk(ctx, l, true)
	if err != nil {
		return page, err
	}
	for passed, most := 0, passes(by); len(page.Items) <= req.PerPage && passed < most; {
		rows, err := w.next(ctx, s)
		if err != nil {
			return page, err
		}
		if len(rows) == 0 {
			break
		}
		shown, err := s.readable(ctx, by, rows)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, shown...)
		passed += len(rows)
	}
	if page.More = len(page.Items) > req.PerPage; page.More {
		page.Items = page.Items[:req.PerPage]
		last := page.Items[req.PerPage-1]
		page.Next = place{last.CreatedAt, last.ID}.cursor()
	}
	return page, nil
}

// between are the items from one on and before another, as far as there are such.
func between(all []Shown, from, to int) []Shown {
	from, to = min(max(from, 0), len(all)), min(max(to, 0), len(all))
	return all[from:to]
}

// walk goes through a list in its order.
type walk struct {
	listing
	newest bool
	spans  []span // that are to come, one after the other
	after  time.Time
	id     int64 // the last event that was met, at that time
}

const day = 24 * time.Hour

// walk begins with a short time and goes on to longer ones. So it opens the partitions of few months, and of many projects it reads little more than
// is looked for.
func (s *Service) walk(ctx context.Context, l listing, newest bool) (*walk, error) {
	whole, lengths := l.whole(), []time.Duration{60 * day}
	if l.projects != nil {
		lengths = []time.Duration{day, 8 * day, 64 * day, 400 * day}
	}
	if newest {
		w := &walk{listing: l, newest: true, after: whole.to, id: math.MaxInt64}
		if b := l.begin; b != nil && b.at.Before(whole.to) {
			w.after, w.id, whole.to = b.at, b.id, b.at.Add(time.Microsecond)
		}
		end := whole.to
		if now := s.deps.Clock.Now(); now.Before(end) {
			end = now
		}
		for _, length := range lengths {
			if from := end.Add(-length); from.After(whole.from) {
				w.spans = append(w.spans, span{from, whole.to})
				whole.to = from
			}
		}
		w.spans = append(w.spans, whole)
		return w, nil
	}
	w := &walk{listing: l, after: whole.from}
	if l.projects != nil {
		first, err := postgres.Value[*time.Time](ctx, s.deps.DB, sqlFirstOf, l.projects, whole.from, whole.to)
		if err != nil || first == nil {
			return w, err
		}
		for _, length := range lengths {
			if to := first.Add(length); to.Before(whole.to) {
				w.spans = append(w.spans, span{whole.from, to})
				whole.from = to
			}
		}
	}
	w.spans = append(w.spans, whole)
	return w, nil
}

// next reads the next part, which is empty at the end.
func (w *walk) next(ctx context.Context, s *Service) (rows []Event, err error) {
	for len(w.spans) > 0 && len(rows) == 0 {
		sql, args := w.rows(w.spans[0]).SQL()
		if rows, err = postgres.All[Event](ctx, s.deps.DB, sql, args...); err != nil {
			return nil, err
		}
		if n := len(rows); n > 0 {
			w.after, w.id = rows[n-1].CreatedAt, rows[n-1].ID
		}
		if len(rows) < part {
			w.spans = w.spans[1:]
		}
	}
	return rows, nil
}

// rows are the next events within a time. They are planned each time: to a plan for any author, one who did a thousand times as much as others is one
// whose events can all be sorted.
func (w *walk) rows(within span) *postgres.List {
	order := []postgres.Key{{Expr: "e.created_at", Desc: w.newest}, {Expr: "e.id", Desc: w.newest}}
	found := postgres.From("events e").Columns(columns).Order(order...).After(w.after, w.id).Limit(part)
	found.Where("e.created_at >= ? and e.created_at < ?", within.from, within.to)
	switch {
	case w.author != 0:
		return w.narrow(found.Where("e.author_id = ?", w.author), maxFiltered).Order(order...).Limit(part).Replan()
	case w.project != 0:
		return w.narrow(found.Where("e.project_id = ?", w.project), maxFiltered).Order(order...).Limit(part).Replan()
	}
	each := w.narrow(found.Where("e.project_id = p.id"), max(maxFiltered/len(w.projects), minFiltered)).Order(order...).Limit(part)
	return postgres.From("unnest(?::bigint[]) p(id)", w.projects).Each(each, "e").Columns("e.*").Order(order...).Limit(part).Replan()
}

// narrow leaves what is done to something, of the first events that are found. No index knows what was done: each would cost every push.
func (l listing) narrow(found *postgres.List, most int) *postgres.List {
	if l.Action == "" && l.Target == "" {
		return found
	}
	among := postgres.Among(found.Limit(rounded(most)), "e").Columns("e.*")
	if l.Action != "" {
		among.Where("e.action = ?", l.Action)
	}
	if l.Target != "" {
		among.Where("e.target_type = any(?::text[])", targets[l.Target])
	}
	return among
}

// rounded is the next power of two, so that lists of many lengths are few statements.
func rounded(n int) int {
	to := 128
	for to < n {
		to *= 2
	}
	return to
}
