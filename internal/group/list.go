package group

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of groups.
type Filter struct {
	Search     string
	Skip       []int64
	Below      *Group // only what is below this group
	Direct     bool   // and of that only its children
	TopLevel   bool
	Owned      bool        // only those that the actor owns by a membership of their own
	MinRole    access.Role // only those where the actor has this role or a higher one
	All        bool        // all that the actor may see, not only their own
	Attributes map[string]string
}

// Each of these is a condition on a namespace called n. They start from the
// memberships of one person, which are few, and never look at every group.
const (
	// live is the condition that a membership called m counts.
	live = `m.requested_at is null and (m.expires_at is null or m.expires_at > ?::date)`

	// held is that a person has a role there, of their own, from above or
	// through a group that was let in. Minimal access is not passed on.
	held = `n.lineage && array(
	select m.namespace_id from members m
	where m.user_id = ? and m.namespace_id is not null and m.access_level >= ? and ` + live + `
	union all
	select s.namespace_id from shares s join namespaces g on g.id = s.group_id
	where s.namespace_id is not null and s.access_level >= ? and (s.expires_at is null or s.expires_at > ?::date) and g.lineage && array(
		select m.namespace_id from members m
		where m.user_id = ? and m.namespace_id is not null and m.access_level >= ? and ` + live + `))`

	// onTheWay is that it stands above something that a person is a member of.
	onTheWay = `n.id = any(array(
	select unnest(d.lineage) from members m join namespaces d on d.id = m.namespace_id where m.user_id = ? and ` + live + `
	union all
	select unnest(d.lineage) from members m join projects p on p.id = m.project_id join namespaces d on d.id = p.namespace_id
	where m.user_id = ? and ` + live + `))`

	// owned is that a person owns it by a membership of their own.
	owned = `n.id = any(array(
	select m.namespace_id from members m where m.user_id = ? and m.namespace_id is not null and m.access_level = 50 and ` + live + `))`
)

// heldArgs are the arguments of held for a role.
func (s *Service) heldArgs(a access.Actor, role access.Role) []any {
	role = max(role, access.Guest)
	return []any{a.ID(), role, s.today(), role, s.today(), a.ID(), role, s.today()}
}

func (s *Service) onTheWayArgs(a access.Actor) []any {
	return []any{a.ID(), s.today(), a.ID(), s.today()}
}

// List is one page of groups that the actor may see.
func (s *Service) List(ctx context.Context, a access.Actor, f Filter, req paging.Request) (paging.Result[Group], error) {
	if err := attribute.CheckFilter(f.Attributes); err != nil {
		return paging.Result[Group]{}, err
	}
	l := groups()
	s.whereSeen(l, a, f)
	f.where(l)
	id := postgres.Key{Expr: "n.id", Desc: req.Desc}
	switch {
	case req.OrderBy == "path":
		l.Order(postgres.Key{Expr: "n.path", Desc: req.Desc}, id)
	case req.OrderBy == "id":
		l.Order(id)
	case req.OrderBy == "similarity" && f.Search != "":
		l.Join("cross join lateral (select greatest(similarity(n.name, ?), similarity(n.path, ?)) as score) alike", f.Search, f.Search)
		l.Order(postgres.Key{Expr: "alike.score", Desc: true}, postgres.Key{Expr: "n.id"})
	default:
		l.Order(postgres.Key{Expr: "n.name", Desc: req.Desc}, id)
	}
	return paging.Fetch(ctx, s.deps.DB, l, req, func(g Group) []string { return []string{g.Name, strconv.FormatInt(g.ID, 10)} })
}

// groups starts a list. Its rows say nothing of the actor's role.
func groups() *postgres.List {
	return postgres.From("namespaces n").Columns(Columns + ", 0 as role").Where("n.kind = 'group' and not n.removal")
}

// whereSeen leaves out what the actor may not see, or did not ask for.
func (s *Service) whereSeen(l *postgres.List, a access.Actor, f Filter) {
	known := a.SignedIn()
	switch {
	case f.Owned:
		l.Where(owned, a.ID(), s.today())
		return
	case known && f.MinRole > access.NoRole:
		l.Where(held, s.heldArgs(a, f.MinRole)...)
		return
	case !known:
		l.Where("n.visibility = 20")
		return
	}
	own := append(s.heldArgs(a, access.Guest), s.onTheWayArgs(a)...)
	switch {
	case !f.All:
		l.Where(held+" or "+onTheWay, own...)
	case a.Admin(), a.Auditor():
	case a.Person.External:
		l.Where("n.visibility = 20 or "+held+" or "+onTheWay, own...)
	default:
		l.Where("n.visibility >= 10 or "+held+" or "+onTheWay, own...)
	}
}

func (f Filter) where(l *postgres.List) {
	if f.Search != "" {
		whereMatches(l, f.Search)
	}
	if len(f.Skip) > 0 {
		l.Where("n.id <> all(?::bigint[])", f.Skip)
	}
	if f.TopLevel {
		l.Where("n.parent_id is null")
	}
	if f.Below != nil {
		if f.Direct {
			l.Where("n.parent_id = ?", f.Below.ID)
		} else {
			l.Where("n.lineage @> array[?::bigint] and n.id <> ?", f.Below.ID, f.Below.ID)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Attributes)) {
		l.Where("n.id in (select namespace_id from namespace_custom_attributes where key = ? and value = ?)", key, f.Attributes[key])
	}
}

// whereMatches finds the term inside a name or path, or as the whole of one
// where it is too short for the index.
func whereMatches(l *postgres.List, term string) {
	pattern := postgres.LikeContains(term)
	if utf8.RuneCountInString(term) < 3 {
		pattern = pattern[1 : len(pattern)-1]
	}
	l.Where("n.name ilike ? or n.path ilike ?", pattern, pattern)
}

// TransferLocations lists where the actor may move a group to.
func (s *Service) TransferLocations(ctx context.Context, a access.Actor, g *Group, search string, req paging.Request) (paging.Result[Group], error) {
	l := groups().Where("not n.lineage @> array[?::bigint] and n.id <> ?", g.ID, parentOf(g))
	if !a.Admin() {
		l.Where(held+" or (coalesce(n.settings->>'subgroup_creation_level', 'maintainer') = 'maintainer' and "+held+")",
			append(s.heldArgs(a, access.Owner), s.heldArgs(a, access.Maintainer)...)...)
	}
	if search != "" {
		whereMatches(l, search)
	}
	l.Order(postgres.Key{Expr: "n.name"}, postgres.Key{Expr: "n.id"})
	return paging.Fetch[Group](ctx, s.deps.DB, l, req, nil)
}
