package deploykey

import (
	"context"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// List reads one page of the keys of a project, or without one of the whole
// instance, oldest first.
func (s *Service) List(ctx context.Context, projectID int64, openOnly bool, req paging.Request) (paging.Result[Key], error) {
	l := postgres.From("deploy_key_projects p join deploy_keys k on k.id = p.deploy_key_id").Columns(columns)
	if projectID == 0 {
		l = postgres.From("deploy_keys k cross join (select false as can_push) p").Columns(columns)
	} else {
		l.Where("p.project_id = ?", projectID)
	}
	if openOnly {
		l.Where("k.open")
	}
	return paging.Fetch[Key](ctx, s.deps.DB, l.Order(postgres.Key{Expr: "k.id"}), req, nil)
}
