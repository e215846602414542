package bot

import (
	"context"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// List reads one page of the tokens of an owner, oldest first. Those that were
// replaced or revoked are among them while their bot is a member.
func (s *Service) List(ctx context.Context, of bus.Entity, req paging.Request) (paging.Result[Token], error) {
	l := postgres.From(held).Columns(columns).Order(postgres.Key{Expr: "t.id"})
	return paging.Fetch[Token](ctx, s.deps.DB, owner.Where(l.Where, of, "m.namespace_id = ?", "m.project_id = ?"), req, nil)
}
