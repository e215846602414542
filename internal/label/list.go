package label

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of labels.
type Filter struct {
	Search      string // in name or description
	Ancestors   bool   // with those of all groups above; without, of the direct group of a project
	Descendants bool   // of a group: with those of groups below
	Projects    bool   // of a group: with those of projects in it, and in groups below where these are asked for
}

// sources are the owners whose labels a list holds.
type sources struct{ projects, groups []int64 }

// List reads one page of the labels that an owner has or inherits, by name.
func (s *Service) List(ctx context.Context, by access.Actor, o *owner.Owner, f Filter, req paging.Request) (paging.Result[Seen], error) {
	from, err := s.sources(ctx, by, o, f)
	if err != nil {
		return paging.Result[Seen]{}, err
	}
	view := viewOf(by, o)
	page, err := paging.FetchOf[Seen](ctx, s.deps.DB, list(view, from, f.Search, req.Offset()+req.PerPage+1), req, 0, nil)
	if err != nil {
		return page, err
	}
	if page.Total = req.Offset() + len(page.Items); page.More || (len(page.Items) == 0 && req.Page > 1) {
		page.Total, err = paging.Count(ctx, s.deps.DB, list(view, from, f.Search, paging.MaxTotal+1))
	}
	return page, err
}

// list is the labels of some owners. No more than most of each are read, in the order of the index: further ones stand on no page that is
// asked for.
func list(view view, from sources, search string, most int) *postgres.List {
	var pattern *string
	if search != "" {
		pattern = new(postgres.LikeContains(search))
	}
	return postgres.From(`(
	select `+columns+` from unnest(?::bigint[]) o(id) cross join lateral (select `+columns+` from labels l
		where l.project_id = o.id and (?::text is null or l.name ilike ? or l.description ilike ?) order by l.name limit ?) l
	union all
	select `+columns+` from unnest(?::bigint[]) o(id) cross join lateral (select `+columns+` from labels l
		where l.namespace_id = o.id and (?::text is null or l.name ilike ? or l.description ilike ?) order by l.name limit ?) l
) l`, from.projects, pattern, pattern, pattern, most, from.groups, pattern, pattern, pattern, most).
		Columns(columns+`,
	exists (select 1 from subscriptions s where s.kind = 'label' and s.subject_id = l.id and s.user_id = ?) as subscribed,
	(select p.priority from label_priorities p where p.label_id = l.id and p.project_id = ?) as priority`, view.userID, view.projectID).
		Order(postgres.Key{Expr: "l.name"}, postgres.Key{Expr: "l.id"})
}

// sources finds whose labels are asked for. Who sees an owner sees what it inherits; what is below a group is shown as far as it is seen.
func (s *Service) sources(ctx context.Context, by access.Actor, o *owner.Owner, f Filter) (from sources, err error) {
	lineage, err := owner.Lineage(ctx, s.deps.DB, o.Entity)
	if err != nil {
		return from, err
	}
	if from.groups = lineage; !f.Ancestors {
		from.groups = lineage[len(lineage)-1:]
	}
	if o.Project != nil {
		from.projects = []int64{o.Project.ID}
		return from, nil
	}
	all := by.Admin() || by.Auditor() || o.Group.Role >= access.Guest
	least := access.Public
	if access.Sees(by, access.Target{Visibility: access.Internal}) {
		least = access.Internal
	}
	seen := []any{by.ID(), s.deps.Clock.Now().UTC(), o.ID, all, least}
	if f.Descendants {
		below, err := postgres.Values[int64](ctx, s.deps.DB, sqlGroupsBelow, seen...)
		if err != nil {
			return from, err
		}
		from.groups = append(from.groups, below...)
	}
	if f.Projects {
		from.projects, err = postgres.Values[int64](ctx, s.deps.DB, sqlProjectsBelow, append(seen, f.Descendants)...)
	}
	return from, err
}
