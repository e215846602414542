package deploytoken

import (
	"context"
	"net/http"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/member"
	"stithy/internal/platform/secretbox"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	all := []httpapi.Endpoint{httpapi.Do(httpapi.Spec{
		Route: "GET /deploy_tokens", Needs: access.Administer,
		Summary: "List the deploy tokens of the instance.",
	}, s.handleListAll)}
	all = append(all, s.endpoints("project", access.AdminProjectDeploys, member.InProjects(s.deps.Projects))...)
	return append(all, s.endpoints("group", access.AdminGroupDeploys, member.InGroups(s.deps.Groups))...)
}

func (s *Service) endpoints(noun string, needs access.Ability, find member.Finder) []httpapi.Endpoint {
	spec := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: method + " /" + noun + "s/{id}/deploy_tokens" + below, Needs: needs, Summary: summary + " of a " + noun + ".",
		}
	}
	create := spec("POST", "", "Create a deploy token")
	create.Status = http.StatusCreated
	create.Note = "It opens repositories and registries, never this API."
	return []httpapi.Endpoint{
		httpapi.On(spec("GET", "", "List the deploy tokens"), load[listParams](find), s.handleList),
		httpapi.On(create, load[createParams](find), s.handleCreate),
		httpapi.On(spec("GET", "/{token_id}", "Show a deploy token"), load[tokenRef](find), s.handleGet),
		httpapi.On(spec("DELETE", "/{token_id}", "Delete a deploy token"), load[tokenRef](find), s.handleDelete),
	}
}

type ref struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
}

func (r ref) place() string { return r.ID }

func load[P interface{ place() string }](find member.Finder) func(context.Context, access.Actor, P) (*member.Source, error) {
	return func(ctx context.Context, a access.Actor, p P) (*member.Source, error) { return find(ctx, a, p.place()) }
}

// entity is a deploy token on the wire.
type entity struct {
	ID        int64         `json:"id"`
	Name      string        `json:"name"`
	Username  string        `json:"username"`
	ExpiresAt *httpapi.Time `json:"expires_at"`
	Scopes    []string      `json:"scopes"`
	Revoked   bool          `json:"revoked"`
	Expired   bool          `json:"expired"`
}

// entityOnce is a token as its maker sees it, this one time.
type entityOnce struct {
	entity
	Token string `json:"token"`
}

func (s *Service) present(t Token) entity {
	return entity{
		ID: t.ID, Name: t.Name, Username: t.Username, ExpiresAt: httpapi.At(t.ExpiresAt), Scopes: t.Scopes,
		Revoked: t.RevokedAt != nil, Expired: t.Expired(s.deps.Clock.Now()),
	}
}

func (s *Service) presentOnce(t Token, secret secretbox.Secret, err error) (entityOnce, error) {
	return entityOnce{entity: s.present(t), Token: secret.Reveal()}, err
}

type filter struct {
	Active bool `param:"active" doc:"Only tokens that work"`
	httpapi.Paging
}

func (s *Service) list(ctx context.Context, of *bus.Entity, f filter) (httpapi.List[entity], error) {
	req, err := f.Request()
	if err != nil {
		return httpapi.List[entity]{}, err
	}
	res, err := s.List(ctx, of, f.Active, req)
	return httpapi.ListOf(req, res, s.present), err
}

func (s *Service) handleListAll(ctx context.Context, call httpapi.Call[httpapi.None, filter]) (httpapi.List[entity], error) {
	return s.list(ctx, nil, call.Params)
}

type listParams struct {
	ref
	filter
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*member.Source, listParams]) (httpapi.List[entity], error) {
	return s.list(ctx, &call.Subject.Entity, call.Params.filter)
}

type tokenRef struct {
	ref
	TokenID int64 `param:"token_id" doc:"ID of the deploy token"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*member.Source, tokenRef]) (entity, error) {
	t, err := s.Find(ctx, call.Subject.Entity, call.Params.TokenID)
	if err != nil {
		return entity{}, err
	}
	return s.present(*t), nil
}

type createParams struct {
	ref
	Name      string                 `param:"name" required:"true" doc:"Name of the deploy token"`
	Scopes    []string               `param:"scopes" required:"true" split:"comma" enum:"read_repository,read_registry,write_registry,read_package_registry,write_package_registry" doc:"What the deploy token may be used for"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" doc:"When the deploy token stops working; never when absent"`
	Username  string                 `param:"username" doc:"Username of the deploy token; one that ends in its ID when absent"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*member.Source, createParams]) (entityOnce, error) {
	p := call.Params
	return s.presentOnce(s.Create(ctx, call.Actor, call.Subject.Entity, Draft{
		Name: p.Name, Username: p.Username, Scopes: p.Scopes, ExpiresAt: p.ExpiresAt.Ptr(),
	}))
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*member.Source, tokenRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Entity, call.Params.TokenID)
}
