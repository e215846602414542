package deploytoken

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/platform/secretbox"
)

var toManage = owner.Needs{Group: access.AdminGroupDeploys, Project: access.AdminProjectDeploys}

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		[]httpapi.Endpoint{httpapi.Do(httpapi.Spec{
			Route: "GET /deploy_tokens", Needs: access.Administer, Summary: "List the deploy tokens of the instance.",
		}, s.handleListAll)},
		owner.On(in, httpapi.Spec{Route: "GET /deploy_tokens", Summary: "List the deploy tokens of a {owner}."}, toManage, s.handleList),
		owner.On(in, httpapi.Spec{
			Route: "POST /deploy_tokens", Status: http.StatusCreated, Summary: "Create a deploy token of a {owner}.",
			Note: "It opens repositories and registries, never this API.",
		}, toManage, s.handleCreate),
		owner.On(in, httpapi.Spec{Route: "GET /deploy_tokens/{token_id}", Summary: "Show a deploy token of a {owner}."}, toManage, s.handleGet),
		owner.On(in, httpapi.Spec{Route: "DELETE /deploy_tokens/{token_id}", Summary: "Delete a deploy token of a {owner}."}, toManage, s.handleDelete),
	)
}

// tokenForm is a deploy token on the wire.
type tokenForm struct {
	ID        int64         `json:"id"`
	Name      string        `json:"name"`
	Username  string        `json:"username"`
	ExpiresAt *httpapi.Time `json:"expires_at"`
	Scopes    []string      `json:"scopes"`
	Revoked   bool          `json:"revoked"`
	Expired   bool          `json:"expired"`
}

// newTokenForm is a token as its maker sees it, this one time.
type newTokenForm struct {
	tokenForm
	Token string `json:"token"`
}

func (s *Service) present(t Token) tokenForm {
	return tokenForm{
		ID: t.ID, Name: t.Name, Username: t.Username, ExpiresAt: httpapi.At(t.ExpiresAt), Scopes: t.Scopes,
		Revoked: t.RevokedAt != nil, Expired: t.Expired(s.deps.Clock.Now()),
	}
}

func (s *Service) presentOnce(t Token, secret secretbox.Secret, err error) (newTokenForm, error) {
	return newTokenForm{tokenForm: s.present(t), Token: secret.Reveal()}, err
}

type filter struct {
	Active bool `param:"active" doc:"Only tokens that work"`
	httpapi.Paging
}

func (s *Service) list(ctx context.Context, of *bus.Entity, f filter) (httpapi.List[tokenForm], error) {
	req, err := f.Request()
	if err != nil {
		return httpapi.List[tokenForm]{}, err
	}
	res, err := s.List(ctx, of, f.Active, req)
	return httpapi.ListOf(req, res, s.present), err
}

func (s *Service) handleListAll(ctx context.Context, call httpapi.Call[httpapi.None, filter]) (httpapi.List[tokenForm], error) {
	return s.list(ctx, nil, call.Params)
}

type listParams struct {
	owner.Ref
	filter
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (httpapi.List[tokenForm], error) {
	return s.list(ctx, &call.Subject.Entity, call.Params.filter)
}

type tokenRef struct {
	owner.Ref
	TokenID int64 `param:"token_id" doc:"ID of the deploy token"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, tokenRef]) (tokenForm, error) {
	t, err := s.Find(ctx, call.Subject.Entity, call.Params.TokenID)
	if err != nil {
		return tokenForm{}, err
	}
	return s.present(*t), nil
}

type createParams struct {
	owner.Ref
	Name      string                 `param:"name" required:"true" doc:"Name of the deploy token"`
	Scopes    []string               `param:"scopes" required:"true" split:"comma" enum:"read_repository,read_registry,write_registry,read_package_registry,write_package_registry" doc:"What the deploy token may be used for"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" doc:"When the deploy token stops working; never when absent"`
	Username  string                 `param:"username" doc:"Username of the deploy token; one that ends in its ID when absent"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (newTokenForm, error) {
	p := call.Params
	return s.presentOnce(s.Create(ctx, call.Actor, call.Subject.Entity, Draft{
		Name: p.Name, Username: p.Username, Scopes: p.Scopes, ExpiresAt: p.ExpiresAt.Ptr(),
	}))
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*owner.Owner, tokenRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Entity, call.Params.TokenID)
}
