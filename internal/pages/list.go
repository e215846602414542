package pages

import (
	"context"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// List reads one page of the domains of a project, by name.
func (s *Service) List(ctx context.Context, projectID int64, req paging.Request) (none paging.Result[Domain], err error) {
	if err := s.on(); err != nil {
		return none, err
	}
	l := postgres.From("pages_domains d").Columns(domainColumns).Where("d.project_id = ?", projectID).
		Order(postgres.Key{Expr: "d.domain"}, postgres.Key{Expr: "d.id"})
	return paging.Fetch[Domain](ctx, s.deps.DB, l, req, nil)
}

// ListAll reads one page of the domains of the instance, the newest first.
func (s *Service) ListAll(ctx context.Context, req paging.Request) (none paging.Result[Domain], err error) {
	if err := s.on(); err != nil {
		return none, err
	}
	l := postgres.From("pages_domains d").Columns(domainColumns).Order(postgres.Key{Expr: "d.id", Desc: true})
	return paging.Fetch[Domain](ctx, s.deps.DB, l, req, nil)
}
