package badge

import (
	"context"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// List reads one page of the badges that a project shows, its own and those of groups above it, or of those that a group has itself, oldest
// first. name, if there is one, is that of all of them.
func (s *Service) List(ctx context.Context, of bus.Entity, name *string, req paging.Request) (paging.Result[Badge], error) {
	groups := []int64{of.ID}
	if of.Kind == bus.OfProject {
		var err error
		if groups, err = owner.Lineage(ctx, s.deps.DB, of); err != nil {
			return paging.Result[Badge]{}, err
		}
	}
	page, err := paging.FetchOf[Badge](ctx, s.deps.DB, list(of, groups, name, req.Offset()+req.PerPage+1), req, 0, nil)
	if err != nil {
		return page, err
	}
	if page.Total = req.Offset() + len(page.Items); page.More || (len(page.Items) == 0 && req.Page > 1) {
		page.Total, err = paging.Count(ctx, s.deps.DB, list(of, groups, name, paging.MaxTotal+1))
	}
	return page, err
}

// list is the badges of a project and of groups. No more than most of each are read, in the order of the index: further ones stand on no page
// that is asked for.
func list(of bus.Entity, groups []int64, name *string, most int) *postgres.List {
	l := postgres.From("(")
	part := func() {
		if name != nil {
			l.Join("and b.name = ?", *name)
		}
		l.Join("order by b.id limit ?)", most)
	}
	if of.Kind == bus.OfProject {
		l.Join("(select "+columns+" from badges b where b.project_id = ?", of.ID)
		part()
	}
	for i, id := range groups {
		if i > 0 || of.Kind == bus.OfProject {
			l.Join("union all")
		}
		l.Join("(select "+columns+" from badges b where b.namespace_id = ?", id)
		part()
	}
	return l.Join(") b").Columns(columns).Order(postgres.Key{Expr: "b.id"})
}
