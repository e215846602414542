package group

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) namespaceEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{Route: "GET /namespaces", Needs: access.SignIn, Summary: "List your namespaces."}, s.handleNamespaces),
		httpapi.Do(httpapi.Spec{Route: "GET /namespaces/{id}", Needs: access.SignIn, Summary: "Get a namespace."}, s.handleNamespace),
		httpapi.Do(httpapi.Spec{
			Route: "GET /namespaces/{id}/exists", Needs: access.SignIn, Summary: "Tell whether a path is in use.",
		}, s.handleExists),
	}
}

type namespaceForm struct {
	ID        int64   `json:"id"`
	Name      string  `json:"name"`
	Path      string  `json:"path"`
	Kind      Kind    `json:"kind"`
	FullPath  string  `json:"full_path"`
	ParentID  *int64  `json:"parent_id"`
	AvatarURL *string `json:"avatar_url"`
	WebURL    string  `json:"web_url"`
	*governed
}

// governed is what those see who run a group.
type governed struct {
	MembersCountWithDescendants int    `json:"members_count_with_descendants"`
	RootRepositorySize          *int64 `json:"root_repository_size"`
}

// namespaceForms presents namespaces to someone who has a role in them.
func (s *Service) namespaceForms(ctx context.Context, a access.Actor, all []Group) (func(Group) namespaceForm, error) {
	governs := func(g Group) bool { return g.Kind == Shared && access.Holds(a, access.UpdateGroup, g.Target()) }
	var ids []int64
	for _, g := range all {
		if governs(g) {
			ids = append(ids, g.ID)
		}
	}
	members, err := s.MembersBelow(ctx, ids)
	return func(g Group) namespaceForm {
		f := namespaceForm{
			ID: g.ID, Name: g.Name, Path: g.Path, Kind: g.Kind, FullPath: g.FullPath, ParentID: g.ParentID,
			AvatarURL: s.avatarURL(&g), WebURL: s.webURL(&g),
		}
		if governs(g) {
			f.governed = &governed{MembersCountWithDescendants: members[g.ID]}
		}
		return f
	}, err
}

type namespacesParams struct {
	httpapi.Paging
	Search       string `param:"search" doc:"Part of a name or path"`
	OwnedOnly    bool   `param:"owned_only" doc:"Only namespaces that you own"`
	TopLevelOnly bool   `param:"top_level_only" doc:"No subgroups"`
}

func (s *Service) handleNamespaces(ctx context.Context, call httpapi.Call[httpapi.None, namespacesParams]) (httpapi.List[namespaceForm], error) {
	p := call.Params
	req, err := p.Request()
	if err != nil {
		return httpapi.List[namespaceForm]{}, err
	}
	page, err := s.Namespaces(ctx, call.Actor, p.Search, p.OwnedOnly, p.TopLevelOnly, req)
	if err != nil {
		return httpapi.List[namespaceForm]{}, err
	}
	present, err := s.namespaceForms(ctx, call.Actor, page.Items)
	return httpapi.ListOf(req, page, present), err
}

type namespaceRef struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the namespace"`
}

func (s *Service) handleNamespace(ctx context.Context, call httpapi.Call[httpapi.None, namespaceRef]) (namespaceForm, error) {
	g, err := s.Namespace(ctx, call.Actor, call.Params.ID)
	if err != nil {
		return namespaceForm{}, err
	}
	present, err := s.namespaceForms(ctx, call.Actor, []Group{*g})
	return present(*g), err
}

type existsParams struct {
	Path     string `param:"id" doc:"Path of the namespace"`
	ParentID int64  `param:"parent_id" doc:"ID of the group it would be in; absent means the top"`
}

type existence struct {
	Exists   bool     `json:"exists"`
	Suggests []string `json:"suggests"`
}

func (s *Service) handleExists(ctx context.Context, call httpapi.Call[httpapi.None, existsParams]) (existence, error) {
	exists, instead, err := s.Exists(ctx, call.Actor, call.Params.ParentID, call.Params.Path)
	reply := existence{Exists: exists, Suggests: []string{}}
	if instead != "" {
		reply.Suggests = append(reply.Suggests, instead)
	}
	return reply, err
}
