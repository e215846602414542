package repository

import (
	"context"

	"stithy/internal/gitstore"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// StatusFilter says which statuses of a commit are wanted.
type StatusFilter struct {
	Ref, Name string
	All       bool // also those that a later one of the same name replaced
}

// Statuses lists what was reported about a commit, oldest first.
func (s *Service) Statuses(ctx context.Context, p *project.Project, commit gitstore.OID, f StatusFilter, req paging.Request) (paging.Result[Status], error) {
	l := postgres.From("commit_statuses s").Columns(statusColumns).Where("s.project_id = ?", p.ID).Where("s.sha = ?", commit).
		Order(postgres.Key{Expr: "s.id"})
	if f.Ref != "" {
		l.Where("s.ref = ?", f.Ref)
	}
	if f.Name != "" {
		l.Where("s.name = ?", f.Name)
	}
	if !f.All {
		l.Where(`not exists (select 1 from commit_statuses n where n.project_id = s.project_id and n.sha = s.sha and n.ref = s.ref
			and n.name = s.name and n.id > s.id)`)
	}
	return paging.Fetch[Status](ctx, s.deps.DB, l, req, nil)
}
