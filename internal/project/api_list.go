package project

import (
	"context"
	"slices"
	"strings"
	"time"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
)

func (s *Service) listEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /projects", Needs: access.Anyone, Limit: "projects_api_rate_limit_unauthenticated", Summary: "List projects.",
		}, s.handleList),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{user_id}/projects", Needs: access.Anyone, Summary: "List the projects in a user's namespace.",
		}, s.loadUser, s.handleOfUser),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{user_id}/starred_projects", Needs: access.Anyone, Summary: "List the projects that a user starred.",
		}, s.loadUser, s.handleStarredBy),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{user_id}/contributed_projects", Needs: access.Anyone,
			Summary: "List the projects that a user contributed to.",
		}, s.loadUser, s.handleContributed),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/forks", Needs: access.ReadProject, Summary: "List the forks of a project.",
		}, s.handleForks),
		group.On(s.deps.Groups, httpapi.Spec{
			Route: "GET /groups/{id}/projects", Needs: access.ReadGroup, Summary: "List the projects of a group.",
		}, s.handleOfGroup),
		group.On(s.deps.Groups, httpapi.Spec{
			Route: "GET /groups/{id}/projects/shared", Needs: access.ReadGroup, Summary: "List the projects that were shared with a group.",
		}, s.handleSharedWith),
	}
}

// filterParams are what every list of projects takes.
type filterParams struct {
	OrderBy                 httpapi.Opt[string] `param:"order_by" enum:"id,name,path,created_at,updated_at,last_activity_at,similarity,storage_size,repository_size,wiki_size,packages_size" doc:"Order of the list; sizes for administrators only"`
	Sort                    string              `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction of the order"`
	Search                  string              `param:"search" doc:"Part of a name, path or description; all of it when shorter than 3 characters"`
	SearchNamespaces        bool                `param:"search_namespaces" doc:"Search in the names and paths of groups too"`
	Archived                httpapi.Opt[bool]   `param:"archived" doc:"Only archived projects, or none"`
	Visibility              httpapi.Opt[string] `param:"visibility" enum:"private,internal,public" doc:"Only projects of this visibility"`
	Owned                   bool                `param:"owned" doc:"Only projects that the caller owns"`
	Starred                 bool                `param:"starred" doc:"Only projects that the caller starred"`
	MinAccessLevel          httpapi.Opt[int]    `param:"min_access_level" enum:"10,20,30,40,50" doc:"Only projects where the caller has this role or a higher one"`
	WithIssuesEnabled       bool                `param:"with_issues_enabled" doc:"Only projects with issues"`
	WithMergeRequests       bool                `param:"with_merge_requests_enabled" doc:"Only projects with merge requests"`
	WithProgrammingLanguage string              `param:"with_programming_language" doc:"Only projects that use this language"`
	Topic                   []string            `param:"topic" split:"comma" doc:"Only projects with all of these topics"`
	TopicID                 httpapi.Opt[int64]  `param:"topic_id" doc:"Only projects with this topic"`
	CustomAttributes        map[string]string   `param:"custom_attributes" doc:"Custom attributes that must match; administrators only"`
	Simple                  bool                `param:"simple" doc:"Show the basic form"`
	WithCustomAttributes    bool                `param:"with_custom_attributes" doc:"Show custom attributes; administrators only"`
}

// filter has no answer yet to questions about languages and the ids of topics:
// no project has either.
func (p filterParams) filter() Filter {
	return Filter{
		Search: p.Search, SearchNamespaces: p.SearchNamespaces, Archived: p.Archived.Ptr(), Visibility: visibility(p.Visibility),
		Owned: p.Owned, Starred: p.Starred, MinRole: access.Role(p.MinAccessLevel.Or(0)), WithIssues: p.WithIssuesEnabled,
		WithMergeRequests: p.WithMergeRequests, Topics: p.Topic, Attributes: p.CustomAttributes,
		Nothing: p.WithProgrammingLanguage != "" || p.TopicID.Ptr() != nil,
	}
}

// wholeFilter is what lists beyond a group take as well.
type wholeFilter struct {
	httpapi.KeysetPaging
	filterParams
	Membership         bool      `param:"membership" doc:"Only projects that the caller is a member of"`
	Imported           bool      `param:"imported" doc:"Only projects that the caller imported"`
	IDAfter            int64     `param:"id_after" doc:"Only projects with a greater ID"`
	IDBefore           int64     `param:"id_before" doc:"Only projects with a smaller ID"`
	LastActivityAfter  time.Time `param:"last_activity_after" doc:"Active at this time or later"`
	LastActivityBefore time.Time `param:"last_activity_before" doc:"Last active at this time or earlier"`
	UpdatedAfter       time.Time `param:"updated_after" doc:"Changed at this time or later"`
	UpdatedBefore      time.Time `param:"updated_before" doc:"Last changed at this time or earlier"`
	RepositoryStorage  string    `param:"repository_storage" doc:"Only projects on this storage; administrators only"`
	Statistics         bool      `param:"statistics" doc:"Show statistics"`
}

func (p wholeFilter) filter() Filter {
	f := p.filterParams.filter()
	f.Membership, f.Imported, f.IDAfter, f.IDBefore = p.Membership, p.Imported, p.IDAfter, p.IDBefore
	f.LastActivityAfter, f.LastActivityBefore = p.LastActivityAfter, p.LastActivityBefore
	f.UpdatedAfter, f.UpdatedBefore, f.Storage = p.UpdatedAfter, p.UpdatedBefore, p.RepositoryStorage
	return f
}

// request is the page that was asked for. Pages by cursor are turned by id.
func (p wholeFilter) request() (paging.Request, error) {
	orderBy := p.OrderBy.Or("created_at")
	if p.OrderBy.Ptr() != nil && orderBy != "updated_at" && !(p.UpdatedAfter.IsZero() && p.UpdatedBefore.IsZero()) {
		return paging.Request{}, fault.WithReason(fault.Rejected, "`updated_at` filter and `updated_at` sorting must be paired")
	}
	req, err := p.KeysetPaging.Request(orderBy, p.Sort, httpapi.Offer{Model: "Project", OrderBy: []string{"id"}})
	req.ByID = true
	if req.Keyset {
		req.Page = 1
	}
	return req, err
}

type projectList = httpapi.List[eitherForm]

// list reads and presents a page.
func (s *Service) list(ctx context.Context, to access.Actor, f Filter, req paging.Request, form shape) (projectList, error) {
	page, err := s.List(ctx, to, f, req)
	if err != nil {
		return projectList{}, err
	}
	forms, err := s.present(ctx, to, page.Items, form)
	return projectList{
		Result: paging.Result[eitherForm]{Items: forms, Total: page.Total, More: page.More, Last: page.Last}, Request: req,
	}, err
}

func (s *Service) listWhole(ctx context.Context, to access.Actor, p wholeFilter, f Filter) (projectList, error) {
	req, err := p.request()
	if err != nil {
		return projectList{}, err
	}
	return s.list(ctx, to, f, req, shape{
		simple: p.Simple || !to.SignedIn(), permissions: true, statistics: p.Statistics, attributes: p.WithCustomAttributes,
	})
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[httpapi.None, wholeFilter]) (projectList, error) {
	return s.listWhole(ctx, call.Actor, call.Params, call.Params.filter())
}

type ofUserParams struct {
	UserID string `param:"user_id" doc:"ID or username of the user"`
	wholeFilter
}

// loadUser finds the account that a list is about. Where the public level is
// restricted, no account exists for strangers.
func (s *Service) loadUser(ctx context.Context, a access.Actor, p ofUserParams) (*user.User, error) {
	if !a.SignedIn() && slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, access.Public.String()) {
		return nil, fault.NotFoundf("User")
	}
	return s.deps.Users.FindByRef(ctx, p.UserID)
}

func (s *Service) handleOfUser(ctx context.Context, call httpapi.Call[*user.User, ofUserParams]) (projectList, error) {
	f := call.Params.filter()
	f.NamespaceID = call.Subject.NamespaceID
	return s.listWhole(ctx, call.Actor, call.Params.wholeFilter, f)
}

// handleStarredBy shows nothing of people who keep their profile to
// themselves.
func (s *Service) handleStarredBy(ctx context.Context, call httpapi.Call[*user.User, ofUserParams]) (projectList, error) {
	f := call.Params.filter()
	f.StarredBy, f.Nothing = call.Subject.ID, f.Nothing || !call.Subject.ShowsProfile(call.Actor)
	return s.listWhole(ctx, call.Actor, call.Params.wholeFilter, f)
}

// handleContributed takes what someone created for what they contributed to,
// as long as nothing else is known of contributions.
func (s *Service) handleContributed(ctx context.Context, call httpapi.Call[*user.User, ofUserParams]) (projectList, error) {
	f := call.Params.filter()
	f.CreatorID, f.Nothing = call.Subject.ID, f.Nothing || !call.Subject.ShowsProfile(call.Actor)
	return s.listWhole(ctx, call.Actor, call.Params.wholeFilter, f)
}

type forksParams struct {
	Ref
	wholeFilter
}

func (s *Service) handleForks(ctx context.Context, call httpapi.Call[*Project, forksParams]) (projectList, error) {
	f := call.Params.filter()
	f.ForksOf = call.Subject.ID
	return s.listWhole(ctx, call.Actor, call.Params.wholeFilter, f)
}

type sharedParams struct {
	group.Ref
	httpapi.Paging
	filterParams
}

func (s *Service) listOfGroup(ctx context.Context, to access.Actor, p sharedParams, scope GroupScope) (projectList, error) {
	req, err := p.Request()
	if err != nil {
		return projectList{}, err
	}
	req.OrderBy, req.Desc = p.OrderBy.Or("created_at"), p.Sort != "asc"
	f := p.filter()
	f.Group = &scope
	return s.list(ctx, to, f, req, shape{simple: p.Simple, attributes: p.WithCustomAttributes})
}

type ofGroupParams struct {
	sharedParams
	IncludeSubgroups      bool `param:"include_subgroups" doc:"Also projects of groups below"`
	IncludeAncestorGroups bool `param:"include_ancestor_groups" doc:"Also projects of groups above"`
	WithShared            bool `param:"with_shared" default:"true" doc:"Also projects that were shared with the group"`
}

func (s *Service) handleOfGroup(ctx context.Context, call httpapi.Call[*group.Group, ofGroupParams]) (projectList, error) {
	p := call.Params
	return s.listOfGroup(ctx, call.Actor, p.sharedParams, GroupScope{
		ID: call.Subject.ID, Own: true, Below: p.IncludeSubgroups, Above: p.IncludeAncestorGroups, Shared: p.WithShared,
	})
}

func (s *Service) handleSharedWith(ctx context.Context, call httpapi.Call[*group.Group, sharedParams]) (projectList, error) {
	return s.listOfGroup(ctx, call.Actor, call.Params, GroupScope{ID: call.Subject.ID, Shared: true})
}

// maxOfGroup is how many projects a group shows of each kind.
const maxOfGroup = 100

// OfGroup is the projects that a group shows: its own, and those that were
// shared with it.
func (s *Service) OfGroup(ctx context.Context, to access.Actor, g *group.Group) (projects, shared []any, err error) {
	req := paging.Request{Page: 1, PerPage: maxOfGroup, Desc: true, OrderBy: "id", Keyset: true}
	own, err := s.list(ctx, to, Filter{Group: &GroupScope{ID: g.ID, Own: true}}, req, shape{})
	if err != nil {
		return nil, nil, err
	}
	others, err := s.list(ctx, to, Filter{Group: &GroupScope{ID: g.ID, Shared: true}}, req, shape{})
	return untyped(own.Items), untyped(others.Items), err
}

// untyped are forms for a room below this one, which cannot know their type.
func untyped(forms []eitherForm) []any {
	all := make([]any, len(forms))
	for i, form := range forms {
		all[i] = form
	}
	return all
}

// matches reports whether a name holds a search, in any case.
func matches(search string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.Contains(strings.ToLower(name), strings.ToLower(search))
	})
}
