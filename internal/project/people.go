package project

import (
	"context"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// ancestors are the groups above a project, as far as the actor sees them.
func (s *Service) ancestors(ctx context.Context, a access.Actor, id int64) ([]relative, error) {
	return s.seen(ctx, a, sqlRelatives, a.ID(), s.today(), id)
}

// invited are the groups that a project is shared with, with at least a role, or
// with above also a group above it, as far as the actor sees them.
func (s *Service) invited(ctx context.Context, a access.Actor, id int64, least access.Role, above bool) ([]relative, error) {
	return s.seen(ctx, a, sqlInvited, a.ID(), s.today(), id, least, above)
}

func (s *Service) seen(ctx context.Context, a access.Actor, sql string, args ...any) ([]relative, error) {
	all, err := postgres.All[relative](ctx, s.deps.DB, sql, args...)
	return slices.DeleteFunc(all, func(r relative) bool { return !r.seenBy(a) }), err
}

// People are those who have a role in a project, by name. Who has it through a
// group that the actor does not see is not shown.
func (s *Service) People(ctx context.Context, a access.Actor, id int64, search string, skip []int64, req paging.Request) (paging.Result[user.Brief], error) {
	groups, err := s.invited(ctx, a, id, access.Guest, true)
	if err != nil {
		return paging.Result[user.Brief]{}, err
	}
	var doors []int64
	for _, g := range groups {
		doors = append(doors, g.Lineage...)
	}
	l := postgres.From("users u").Columns("u.id").Where("u.removal is null and u.kind <> 'ghost'").
		Where(`u.id = any(array(
			select m.user_id from members m
			where m.user_id is not null and m.requested_at is null and (m.expires_at is null or m.expires_at > ?::date) and m.access_level > 5
				and (m.project_id = ? or m.namespace_id = any(?::bigint[])
					or m.namespace_id = any((select n.lineage from projects p join namespaces n on n.id = p.namespace_id where p.id = ?)::bigint[]))
			union all
			select n.owner_id from projects p join namespaces n on n.id = p.namespace_id where p.id = ? and n.owner_id is not null))`,
			s.today(), id, doors, id, id)
	if search != "" {
		pattern := postgres.LikeContains(search)
		l.Where("u.name ilike ? or u.username ilike ?", pattern, pattern)
	}
	if len(skip) > 0 {
		l.Where("u.id <> all(?::bigint[])", skip)
	}
	l.Order(postgres.Key{Expr: "u.id", Desc: true})
	page, err := paging.Fetch[struct{ ID int64 }](ctx, s.deps.DB, l, req, nil)
	if err != nil {
		return paging.Result[user.Brief]{}, err
	}
	ids := make([]int64, len(page.Items))
	for i, row := range page.Items {
		ids[i] = row.ID
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	return paging.Map(page, func(row struct{ ID int64 }) user.Brief { return people[row.ID] }), err
}

// Starrer is someone who starred a project.
type Starrer struct {
	User  user.Brief
	Since time.Time
}

type star struct {
	UserID    int64
	CreatedAt time.Time
}

// Starrers lists who starred a project. Those who keep their profile to
// themselves are shown to themselves alone, and to administrators.
func (s *Service) Starrers(ctx context.Context, a access.Actor, id int64, search string, req paging.Request) (paging.Result[Starrer], error) {
	l := postgres.From("project_stars st join users u on u.id = st.user_id").Columns("st.user_id, st.created_at").
		Where("st.project_id = ?", id).Where("u.removal is null")
	if !a.Admin() {
		l.Where("u.id = ? or (not u.private_profile and u.state in ('active', 'deactivated') and u.confirmed_at is not null)", a.ID())
	}
	if search != "" {
		pattern := postgres.LikeContains(search)
		l.Where("u.name ilike ? or u.username ilike ?", pattern, pattern)
	}
	l.Order(postgres.Key{Expr: "st.user_id"})
	page, err := paging.Fetch[star](ctx, s.deps.DB, l, req, nil)
	if err != nil {
		return paging.Result[Starrer]{}, err
	}
	ids := make([]int64, len(page.Items))
	for i, row := range page.Items {
		ids[i] = row.UserID
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	return paging.Map(page, func(row star) Starrer { return Starrer{User: people[row.UserID], Since: row.CreatedAt} }), err
}
