package bot

import (
	"context"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// List reads one page of the tokens of a place, oldest first. Those that were
// replaced or revoked are among them while their bot is a member.
func (s *Service) List(ctx context.Context, of bus.Entity, req paging.Request) (paging.Result[Token], error) {
	l := postgres.From(held).Columns(columns).Order(postgres.Key{Expr: "t.id"})
	if of.Kind == bus.OfGroup {
		l.Where("m.namespace_id = ?", of.ID)
	} else {
		l.Where("m.project_id = ?", of.ID)
	}
	return paging.Fetch[Token](ctx, s.deps.DB, l, req, nil)
}
