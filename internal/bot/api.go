package bot

import (
	"context"
	"net/http"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/member"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return append(
		s.endpoints("project", access.AdminProjectTokens, member.InProjects(s.deps.Projects)),
		s.endpoints("group", access.AdminGroupTokens, member.InGroups(s.deps.Groups))...,
	)
}

func (s *Service) endpoints(noun string, needs access.Ability, find member.Finder) []httpapi.Endpoint {
	spec := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: method + " /" + noun + "s/{id}/access_tokens" + below, Needs: needs, Summary: summary + " of a " + noun + ".",
		}
	}
	create := spec("POST", "", "Create an access token")
	create.Status = http.StatusCreated
	create.Note = "A bot is created with the token, and is a member with the access level of the token."
	rotate := spec("POST", "/{token_id}/rotate", "Replace an access token")
	create.ExtraRefusals = "who may not is answered with status 400"
	rotate.ExtraRefusals = "a token that does not exist is answered with status 401, administrators aside"
	rotate.Note = "The old token stops working. To present it to a rotation again revokes the new one, too."
	revoke := spec("DELETE", "/{token_id}", "Revoke an access token")
	revoke.ExtraRefusals = "a token that does not exist is answered with status 404, and who may not revoke one that does with status 400"
	return []httpapi.Endpoint{
		httpapi.On(spec("GET", "", "List the access tokens"), load[listParams](find, unauthorized), s.handleList),
		httpapi.On(create, load[createParams](find, errMayNotCreate), s.handleCreate),
		httpapi.On(spec("GET", "/{token_id}", "Show an access token"), load[tokenRef](find, unauthorized), s.handleGet),
		httpapi.On(rotate, load[rotateParams](find, unauthorized), s.handleRotate),
		httpapi.On(revoke, s.loadToken(find), s.handleRevoke),
	}
}

type ref struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
}

func (r ref) place() string { return r.ID }

// load finds the place. Who does not manage its tokens is told so in the words
// of the endpoint.
func load[P interface{ place() string }](find member.Finder, refusal func(bus.Entity) error) func(context.Context, access.Actor, P) (*member.Source, error) {
	return func(ctx context.Context, a access.Actor, p P) (*member.Source, error) {
		src, err := find(ctx, a, p.place())
		if err == nil && !manages(a, src) {
			err = refusal(src.Entity)
		}
		return src, err
	}
}

func unauthorized(bus.Entity) error { return fault.New(fault.Unauthenticated) }

// owned is a token in its place.
type owned struct {
	src *member.Source
	*Token
}

// Place is where the token is good for.
func (o *owned) Target() access.Target { return o.src.At }

// loadToken finds a token to revoke.
func (s *Service) loadToken(find member.Finder) func(context.Context, access.Actor, tokenRef) (*owned, error) {
	return func(ctx context.Context, a access.Actor, p tokenRef) (*owned, error) {
		src, err := find(ctx, a, p.ID)
		if err != nil {
			return nil, err
		}
		t, err := s.Find(ctx, src.Entity, p.TokenID)
		if err == nil && !manages(a, src) {
			err = fault.WithReason(fault.Rejected, "%s cannot delete %s", a.Person.Name, t.BotName)
		}
		return &owned{src, t}, err
	}
}

// entity is a token on the wire.
type entity struct {
	ID          int64         `json:"id"`
	Name        string        `json:"name"`
	Revoked     bool          `json:"revoked"`
	CreatedAt   httpapi.Time  `json:"created_at"`
	Scopes      access.Scopes `json:"scopes"`
	UserID      int64         `json:"user_id"`
	LastUsedAt  *httpapi.Time `json:"last_used_at"`
	Active      bool          `json:"active"`
	ExpiresAt   *httpapi.Date `json:"expires_at"`
	AccessLevel access.Role   `json:"access_level"`
}

// entityOnce is a token as its maker sees it, this one time.
type entityOnce struct {
	entity
	Token string `json:"token"`
}

func (s *Service) present(t Token) entity {
	return entity{
		ID: t.ID, Name: t.Name, Revoked: t.RevokedAt != nil, CreatedAt: httpapi.Time(t.CreatedAt), Scopes: t.Scopes,
		UserID: t.UserID, LastUsedAt: httpapi.At(t.LastUsedAt), Active: t.Active(s.deps.Clock.Now()), ExpiresAt: httpapi.Day(t.ExpiresAt),
		AccessLevel: t.AccessLevel,
	}
}

// presentOnce shows a new token, or says in a sentence what is wrong with it.
func (s *Service) presentOnce(t Token, secret secretbox.Secret, err error) (entityOnce, error) {
	if text, ok := token.Sentence(err); ok {
		err = fault.WithReason(fault.Rejected, "%s", text)
	}
	return entityOnce{entity: s.present(t), Token: secret.Reveal()}, err
}

type listParams struct {
	ref
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*member.Source, listParams]) (httpapi.List[entity], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[entity]{}, err
	}
	res, err := s.List(ctx, call.Subject.Entity, req)
	return httpapi.ListOf(req, res, s.present), err
}

type tokenRef struct {
	ref
	TokenID int64 `param:"token_id" doc:"ID of the token"`
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
	Name      string                 `param:"name" required:"true" doc:"Name of the token, and of its bot"`
	Scopes    []string               `param:"scopes" required:"true" split:"comma" enum:"api,read_api,create_runner,k8s_proxy,read_repository,write_repository,read_registry,write_registry,ai_features" doc:"What the token may be used for"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the token stops working; as late as possible when absent"`
	Level     int64                  `param:"access_level" enum:"10,20,30,40,50" default:"40" doc:"Role of the bot: 10 Guest, 20 Reporter, 30 Developer, 40 Maintainer, 50 Owner"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*member.Source, createParams]) (entityOnce, error) {
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

func (s *Service) handleRotate(ctx context.Context, call httpapi.Call[*member.Source, rotateParams]) (entityOnce, error) {
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
	return httpapi.NoContent{}, s.Revoke(ctx, call.Actor, call.Subject.src.Entity, call.Subject.Token)
}
