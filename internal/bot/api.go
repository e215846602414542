package bot

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(
		on(s, httpapi.Spec{Route: "GET /access_tokens", Summary: "List the access tokens of a {owner}."}, unauthorized, s.handleList),
		on(s, httpapi.Spec{
			Route: "POST /access_tokens", Status: http.StatusCreated, Summary: "Create an access token of a {owner}.",
			Note:          "A bot is created with the token, and is a member with the access level of the token.",
			ExtraRefusals: "who may not is answered with status 400",
		}, errMayNotCreate, s.handleCreate),
		on(s, httpapi.Spec{Route: "GET /access_tokens/{token_id}", Summary: "Show an access token of a {owner}."}, unauthorized, s.handleGet),
		on(s, httpapi.Spec{
			Route: "POST /access_tokens/{token_id}/rotate", Summary: "Replace an access token of a {owner}.",
			Note:          "The old token stops working. To present it to a rotation again revokes the new one, too.",
			ExtraRefusals: "a token that does not exist is answered with status 401, administrators aside",
		}, unauthorized, s.handleRotate),
		owner.With(s.deps.Owners, httpapi.Spec{
			Route: "DELETE /access_tokens/{token_id}", Summary: "Revoke an access token of a {owner}.",
			ExtraRefusals: "a token that does not exist is answered with status 404, and who may not revoke one that does with status 400",
		}, toManage, s.loadToken, s.handleRevoke),
	)
}

// on declares an endpoint below groups and below projects. Who does not manage their tokens is told so in the words of the
// endpoint.
func on[P owner.Params, R any](
	s *Service, spec httpapi.Spec, refusal func(bus.Entity) error, handle func(context.Context, httpapi.Call[*owner.Owner, P]) (R, error),
) []httpapi.Endpoint {
	return owner.With(s.deps.Owners, spec, toManage, func(_ context.Context, a access.Actor, o *owner.Owner, _ P) (*owner.Owner, error) {
		if !toManage.Held(a, o) {
			return nil, refusal(o.Entity)
		}
		return o, nil
	}, handle)
}

func unauthorized(bus.Entity) error { return fault.New(fault.Unauthenticated) }

// owned is a token with its owner.
type owned struct {
	owner *owner.Owner
	*Token
}

// Target is where the token is good for.
func (o *owned) Target() access.Target { return o.owner.Target() }

// loadToken finds a token to revoke.
func (s *Service) loadToken(ctx context.Context, a access.Actor, o *owner.Owner, p tokenRef) (*owned, error) {
	t, err := s.Find(ctx, o.Entity, p.TokenID)
	if err == nil && !toManage.Held(a, o) {
		err = fault.WithReason(fault.Rejected, "%s cannot delete %s", a.Person.Name, t.BotName)
	}
	return &owned{o, t}, err
}

// tokenForm is a token on the wire.
type tokenForm struct {
	token.Form
	AccessLevel access.Role `json:"access_level"`
}

// newTokenForm is a token as its maker sees it, this one time.
type newTokenForm struct {
	tokenForm
	Token string `json:"token"`
}

func (s *Service) present(t Token) tokenForm {
	return tokenForm{Form: s.deps.Tokens.Form(t.Token), AccessLevel: t.AccessLevel}
}

// presentOnce shows a new token, or says in a sentence what is wrong with it.
func (s *Service) presentOnce(t Token, secret secretbox.Secret, err error) (newTokenForm, error) {
	if text, ok := token.Sentence(err); ok {
		err = fault.WithReason(fault.Rejected, "%s", text)
	}
	return newTokenForm{tokenForm: s.present(t), Token: secret.Reveal()}, err
}

type listParams struct {
	owner.Ref
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (httpapi.List[tokenForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[tokenForm]{}, err
	}
	res, err := s.List(ctx, call.Subject.Entity, req)
	return httpapi.ListOf(req, res, s.present), err
}

type tokenRef struct {
	owner.Ref
	TokenID int64 `param:"token_id" doc:"ID of the token"`
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
	Name      string                 `param:"name" required:"true" doc:"Name of the token, and of its bot"`
	Scopes    []string               `param:"scopes" required:"true" split:"comma" enum:"api,read_api,create_runner,k8s_proxy,read_repository,write_repository,read_registry,write_registry,ai_features" doc:"What the token may be used for"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the token stops working; as late as possible when absent"`
	Level     int64                  `param:"access_level" enum:"10,20,30,40,50" default:"40" doc:"Role of the bot: 10 Guest, 20 Reporter, 30 Developer, 40 Maintainer, 50 Owner"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (newTokenForm, error) {
	p := call.Params
	scopes := make(access.Scopes, len(p.Scopes))
	for i, name := range p.Scopes {
		scopes[i] = access.Scope(name)
	}
	return s.presentOnce(s.Create(ctx, call.Actor, call.Subject, Draft{
		Name: p.Name, Scopes: scopes, ExpiresAt: p.ExpiresAt.Ptr(), Level: access.Role(p.Level),
	}))
}

type rotateParams struct {
	tokenRef
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the new token stops working; a week ahead when absent"`
}

func (s *Service) handleRotate(ctx context.Context, call httpapi.Call[*owner.Owner, rotateParams]) (newTokenForm, error) {
	t, secret, err := s.Rotate(ctx, call.Actor, call.Subject, call.Params.TokenID, call.Params.ExpiresAt.Ptr())
	if fault.Is(err, fault.NotFound) {
		// Only administrators learn that there is no such token.
		err = fault.New(fault.Unauthenticated)
		if call.Actor.Admin() {
			err = fault.New(fault.NotFound)
		}
	}
	return s.presentOnce(t, secret, err)
}

func (s *Service) handleRevoke(ctx context.Context, call httpapi.Call[*owned, tokenRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Revoke(ctx, call.Actor, call.Subject.owner.Entity, call.Subject.Token)
}
