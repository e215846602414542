package project

import (
	"context"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
)

func (s *Service) peopleEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/users", Needs: access.ReadProjectMembers, Summary: "List the users of a project.",
		}, s.handleUsers),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/groups", Needs: access.ReadProject, Summary: "List the groups of a project.",
		}, s.handleGroups),
	}
}

type usersParams struct {
	Ref
	httpapi.Paging
	Search    string  `param:"search" doc:"Part of a name or username"`
	SkipUsers []int64 `param:"skip_users" split:"comma" doc:"IDs of users to leave out"`
}

func (s *Service) handleUsers(ctx context.Context, call httpapi.Call[*Project, usersParams]) (httpapi.List[user.Public], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[user.Public]{}, err
	}
	page, err := s.People(ctx, call.Actor, call.Subject.ID, call.Params.Search, call.Params.SkipUsers, req)
	return httpapi.ListOf(req, page, s.deps.Users.PublicForm), err
}

type groupsParams struct {
	Ref
	httpapi.Paging
	Search               string  `param:"search" doc:"Part of a name or path"`
	WithShared           bool    `param:"with_shared" doc:"Also groups that the project is shared with"`
	SharedMinAccessLevel int     `param:"shared_min_access_level" doc:"Of those only the ones with this role or a higher one"`
	SharedVisibleOnly    bool    `param:"shared_visible_only" doc:"Has no effect: groups that the caller may not see are never shown"`
	SkipGroups           []int64 `param:"skip_groups" split:"comma" doc:"IDs of groups to leave out"`
}

func (s *Service) handleGroups(ctx context.Context, call httpapi.Call[*Project, groupsParams]) (httpapi.List[groupForm], error) {
	p := call.Params
	req, err := p.Request()
	if err != nil {
		return httpapi.List[groupForm]{}, err
	}
	groups, err := s.ancestors(ctx, call.Actor, call.Subject.ID)
	if err == nil && p.WithShared {
		var invited []relative
		invited, err = s.invited(ctx, call.Actor, call.Subject.ID, access.Role(p.SharedMinAccessLevel), false)
		groups = append(groups, invited...)
	}
	groups = slices.DeleteFunc(groups, func(r relative) bool {
		return slices.Contains(p.SkipGroups, r.ID) || !matches(p.Search, r.Name, r.FullPath)
	})
	return httpapi.ListOf(req, pageOf(groups, req), s.groupForm), err
}

// pageOf is a page of a list that is short enough to be read whole.
func pageOf[T any](all []T, req paging.Request) paging.Result[T] {
	from := min(req.Offset(), len(all))
	to := min(from+req.PerPage, len(all))
	return paging.Result[T]{Items: all[from:to], Total: len(all), More: to < len(all)}
}
