package milestone

import (
	"context"
	"time"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of milestones.
type Filter struct {
	IIDs          []int // of the owner itself; they say nothing where those of groups above are listed, too
	State         State // any when empty
	Title         *string
	Search        string // in title or description
	Ancestors     bool   // with those of groups above
	UpdatedAfter  *time.Time
	UpdatedBefore *time.Time
}

// List reads one page of the milestones of an owner, in the order in which they are due.
func (s *Service) List(ctx context.Context, of bus.Entity, f Filter, req paging.Request) (paging.Result[Milestone], error) {
	var groups []int64
	switch {
	case f.Ancestors:
		lineage, err := owner.Lineage(ctx, s.deps.DB, of)
		if err != nil {
			return paging.Result[Milestone]{}, err
		}
		groups = lineage // a group is the last of its own line
	case of.Kind == bus.OfGroup:
		groups = []int64{of.ID}
	}
	page, err := paging.FetchOf[Milestone](ctx, s.deps.DB, list(of, groups, f, req.Offset()+req.PerPage+1), req, 0, nil)
	if err != nil {
		return page, err
	}
	if page.Total = req.Offset() + len(page.Items); page.More || (len(page.Items) == 0 && req.Page > 1) {
		page.Total, err = paging.Count(ctx, s.deps.DB, list(of, groups, f, paging.MaxTotal+1))
	}
	return page, err
}

// list is the milestones of a project and of groups. No more than most of each are read, in the order of the index: further ones stand on no page
// that is asked for.
func list(of bus.Entity, groups []int64, f Filter, most int) *postgres.List {
	l := postgres.From("(")
	part := func() {
		f.where(l)
		l.Join("order by coalesce(m.due_date, 'infinity'::date), m.id limit ?)", most)
	}
	if of.Kind == bus.OfProject {
		l.Join("(select "+columns+" from milestones m where m.project_id = ?", of.ID)
		part()
	}
	for i, id := range groups {
		if i > 0 || of.Kind == bus.OfProject {
			l.Join("union all")
		}
		l.Join("(select "+columns+" from milestones m where m.namespace_id = ?", id)
		part()
	}
	return l.Join(") m").Columns(columns).Order(postgres.Key{Expr: "coalesce(m.due_date, 'infinity'::date)"}, postgres.Key{Expr: "m.id"})
}

// where narrows a part of a list.
func (f Filter) where(l *postgres.List) {
	if f.IIDs != nil && !f.Ancestors {
		l.Join("and m.iid = any(?::bigint[])", f.IIDs)
	}
	if f.State != "" {
		l.Join("and m.state = ?", f.State)
	}
	if f.Title != nil {
		l.Join("and m.title = ?", *f.Title)
	}
	if f.Search != "" {
		pattern := postgres.LikeContains(f.Search)
		l.Join("and (m.title ilike ? or m.description ilike ?)", pattern, pattern)
	}
	if f.UpdatedAfter != nil {
		l.Join("and m.updated_at >= ?", *f.UpdatedAfter)
	}
	if f.UpdatedBefore != nil {
		l.Join("and m.updated_at <= ?", *f.UpdatedBefore)
	}
}
