package token

import (
	"context"
	"time"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Filter chooses among tokens. The zero Filter takes them all.
type Filter struct {
	UserID         *int64
	Impersonation  *bool
	Revoked        *bool
	Active         *bool
	CreatedAfter   time.Time // zero sets no bound, here and below
	CreatedBefore  time.Time
	LastUsedAfter  time.Time
	LastUsedBefore time.Time
	Search         string // part of the name
}

// List reads one page of tokens, oldest first.
func (s *Service) List(ctx context.Context, f Filter, req paging.Request) (paging.Result[Token], error) {
	l := postgres.From("personal_access_tokens t").Columns(Columns).Order(postgres.Key{Expr: "t.id"})
	if f.UserID != nil {
		l.Where("t.user_id = ?", *f.UserID)
	}
	if f.Impersonation != nil {
		l.Where("t.impersonation = ?", *f.Impersonation)
	}
	if f.Revoked != nil && *f.Revoked {
		l.Where("t.revoked_at is not null")
	}
	if f.Revoked != nil && !*f.Revoked {
		l.Where("t.revoked_at is null")
	}
	if f.Active != nil && *f.Active {
		l.Where("t.revoked_at is null")
		l.Where("t.expires_at is null or t.expires_at > ?", midnight(s.deps.Clock.Now()))
	}
	if f.Active != nil && !*f.Active {
		l.Where("t.revoked_at is not null or t.expires_at <= ?", midnight(s.deps.Clock.Now()))
	}
	if !f.CreatedAfter.IsZero() {
		l.Where("t.created_at >= ?", f.CreatedAfter)
	}
	if !f.CreatedBefore.IsZero() {
		l.Where("t.created_at <= ?", f.CreatedBefore)
	}
	if !f.LastUsedAfter.IsZero() {
		l.Where("t.last_used_at >= ?", f.LastUsedAfter)
	}
	if !f.LastUsedBefore.IsZero() {
		l.Where("t.last_used_at <= ?", f.LastUsedBefore)
	}
	if f.Search != "" {
		l.Where("t.name ilike ?", postgres.LikeContains(f.Search))
	}
	return paging.Fetch[Token](ctx, s.deps.DB, l, req, nil)
}
