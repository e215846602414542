package member

import (
	"context"
	"errors"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// Filter chooses among the members of a source.
type Filter struct {
	All       bool // those of groups above, and of groups that it is shared with, too
	Query     string
	UserIDs   []int64 // only these, unless nil
	SkipUsers []int64
}

// List reads one page of members, each once, with their highest role.
func (s *Service) List(ctx context.Context, viewer access.Actor, src *Source, f Filter, req paging.Request) (paging.Result[Member], error) {
	args := s.originArgs(viewer, src, f.All)
	pattern, holder := "", int64(0)
	if f.Query != "" {
		pattern = postgres.LikeContains(f.Query)
		if viewer.Admin() {
			if _, u, err := s.deps.Users.Holder(ctx, f.Query); err == nil && u != nil {
				holder = u.ID
			}
		}
	}
	skip := f.SkipUsers
	if skip == nil {
		skip = []int64{}
	}
	args = append(args, pattern, f.Query, holder, f.UserIDs, skip)

	upTo := req.Offset() + req.PerPage + 1
	items, err := postgres.All[Member](ctx, s.deps.DB, sqlList, append(args, upTo, req.PerPage+1, req.Offset())...)
	if err != nil {
		return paging.Result[Member]{}, err
	}
	res := paging.Result[Member]{Items: items, Total: req.Offset() + len(items), More: len(items) > req.PerPage}
	if res.More {
		res.Items = items[:req.PerPage]
	}
	if res.More || (len(items) == 0 && req.Page > 1) {
		res.Total, err = postgres.Value[int](ctx, s.deps.DB, sqlCount, append(args, paging.MaxTotal+1)...)
	}
	return res, err
}

// Find reads one member.
func (s *Service) Find(ctx context.Context, viewer access.Actor, src *Source, userID int64, all bool) (Member, error) {
	m, err := postgres.One[Member](ctx, s.deps.DB, sqlOne, append(s.originArgs(viewer, src, all), userID)...)
	if errors.Is(err, postgres.ErrNoRows) {
		err = errNotMember
	}
	return m, err
}

// originArgs are the arguments of origins: which origins of memberships count
// for the viewer. Strangers do not learn who is in a group that they do not see.
func (s *Service) originArgs(viewer access.Actor, src *Source, all bool) []any {
	least := access.Private
	if src.At.Role < access.Guest && !viewer.Admin() && !viewer.Auditor() {
		if least = access.Public; access.Sees(viewer, access.Target{Visibility: access.Internal}) {
			least = access.Internal
		}
	}
	_, projectID := owner.Keys(src.Entity)
	return []any{src.NamespaceID, s.today(), projectID, all, least}
}

// Membership is what a person was given somewhere.
type Membership struct {
	ID          int64
	SourceID    int64
	SourceName  string
	SourceType  string // "Project" or "Namespace"
	AccessLevel access.Role
}

// OfUser lists what a person was given, in sources of a type or of both.
func (s *Service) OfUser(ctx context.Context, userID int64, sourceType string, req paging.Request) (paging.Result[Membership], error) {
	l := postgres.From("members m left join projects p on p.id = m.project_id left join namespaces n on n.id = m.namespace_id").
		Columns("m.id, coalesce(m.project_id, m.namespace_id) as source_id, coalesce(p.name, n.name) as source_name, "+
			"case when m.project_id is null then 'Namespace' else 'Project' end as source_type, m.access_level").
		Where("m.user_id = ?", userID).Where("m.requested_at is null").Where("m.expires_at is null or m.expires_at > ?::date", s.today()).
		Where("not coalesce(p.removal, n.removal)").Order(postgres.Key{Expr: "m.id"})
	switch sourceType {
	case "Project":
		l.Where("m.project_id is not null")
	case "Namespace":
		l.Where("m.namespace_id is not null")
	}
	return paging.Fetch[Membership](ctx, s.deps.DB, l, req, nil)
}

// Associations counts what ties a person to the instance.
type Associations struct {
	GroupsCount        int `json:"groups_count"`
	ProjectsCount      int `json:"projects_count"`
	IssuesCount        int `json:"issues_count"`
	MergeRequestsCount int `json:"merge_requests_count"`
}

// AssociationsOf counts the groups and projects that a person is a direct
// member of, and those in their own namespace. Nothing is written yet in
// issues and merge requests.
func (s *Service) AssociationsOf(ctx context.Context, userID int64) (Associations, error) {
	var a Associations
	err := s.deps.DB.QueryRow(ctx, sqlAssociations, userID, s.today()).Scan(&a.GroupsCount, &a.ProjectsCount)
	return a, err
}
