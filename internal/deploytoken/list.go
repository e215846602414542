package deploytoken

import (
	"context"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// List reads one page of the deploy tokens of an owner, or without one of the
// whole instance, oldest first.
func (s *Service) List(ctx context.Context, of *bus.Entity, activeOnly bool, req paging.Request) (paging.Result[Token], error) {
	l := postgres.From("deploy_tokens t").Columns(columns).Order(postgres.Key{Expr: "t.id"})
	if of != nil {
		owner.Where(l.Where, *of, "t.namespace_id = ?", "t.project_id = ?")
	}
	if activeOnly {
		l.Where("t.revoked_at is null")
		l.Where("t.expires_at is null or t.expires_at > ?", s.deps.Clock.Now())
	}
	return paging.Fetch[Token](ctx, s.deps.DB, l, req, nil)
}
