package snippet

import (
	"context"
	"strconv"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of snippets. What is zero is not asked for.
type Filter struct {
	AuthorID      int64
	ProjectID     int64
	Public        bool // public ones of people
	CreatedAfter  *time.Time
	CreatedBefore *time.Time
}

// readable is what MayRead says, for lists: of a snippet called s and its project p, if it has one.
const readable = `s.ready and (?::boolean or not exists (select 1 from users u where u.id = s.author_id and u.state = 'banned'))
	and (s.project_id is null or (not p.removal and coalesce(p.features->>'snippets', 'enabled') <> 'disabled' and (?::boolean
		or (p.visibility >= ?::smallint and coalesce(p.features->>'snippets', 'enabled') = 'enabled')
		or p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[]))))
	and (?::boolean or s.visibility >= ?::smallint or s.author_id = ?
		or (s.project_id is not null and (p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[]))))`

// List reads one page of the snippets that an actor may read, the latest first.
func (s *Service) List(ctx context.Context, by access.Actor, f Filter, req paging.Request) (paging.Result[Snippet], error) {
	all, least := by.Admin() || by.Auditor(), access.Public
	if access.Sees(by, access.Target{Visibility: access.Internal}) {
		least = access.Internal
	}
	in, err := s.deps.Projects.StandingFrom(ctx, by, access.Guest)
	if err != nil {
		return paging.Result[Snippet]{}, err
	}
	l := postgres.From("snippets s left join projects p on p.id = s.project_id").Columns("s.id").
		Details("join snippets s on s.id = page.id", columns).Order(postgres.Key{Expr: "s.id", Desc: true})
	l.Where(readable, by.Admin(), all, least, in.Namespaces, in.Projects, all, least, by.ID(), in.Namespaces, in.Projects)
	if f.AuthorID != 0 {
		l.Where("s.author_id = ?", f.AuthorID)
	}
	if f.ProjectID != 0 {
		l.Where("s.project_id = ?", f.ProjectID)
	}
	if f.Public {
		l.Where("s.project_id is null and s.visibility = ?", access.Public)
	}
	if f.CreatedAfter != nil {
		l.Where("s.created_at >= ?", *f.CreatedAfter)
	}
	if f.CreatedBefore != nil {
		l.Where("s.created_at <= ?", *f.CreatedBefore)
	}
	return paging.Fetch(ctx, s.deps.DB, l, req, func(s Snippet) []string { return []string{strconv.FormatInt(s.ID, 10)} })
}
