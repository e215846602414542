package token

import (
	"context"
	"net/http"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	// Tokens below /users belong to that area: its scopes, and its order of
	// checks, where the parameters come before the rank of the caller.
	ofUsers := []access.Scope{access.ScopeReadUser}
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /personal_access_tokens", Needs: access.SignIn,
			Summary: "List personal access tokens: one's own, or for administrators those of everyone.",
		}, s.handleList),
		httpapi.Do(httpapi.Spec{
			Route: "GET /personal_access_tokens/self", Needs: access.SignIn, AnyScope: true,
			Summary: "Show the token that makes the call.",
		}, s.handleSelf),
		httpapi.Do(httpapi.Spec{
			Route: "GET /personal_access_tokens/{id}", Needs: access.SignIn,
			Summary: "Show a personal access token.",
		}, s.handleGet),
		httpapi.Do(httpapi.Spec{
			Route: "POST /personal_access_tokens/self/rotate", Needs: access.SignIn,
			Summary: "Replace the token that makes the call by a new one.",
			Note:    "The old token stops working. To present it to a rotation again revokes the new one, too.",
		}, s.handleRotateSelf),
		httpapi.Do(httpapi.Spec{
			Route: "POST /personal_access_tokens/{id}/rotate", Needs: access.SignIn,
			Summary: "Replace a personal access token by a new one.",
			Note:    "The old token stops working. To present it to a rotation again revokes the new one, too.",
		}, s.handleRotate),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /personal_access_tokens/self", Needs: access.SignIn, AnyScope: true,
			Summary: "Revoke the token that makes the call.",
		}, s.loadOwn, s.handleRevoke),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /personal_access_tokens/{id}", Needs: access.SignIn,
			Summary: "Revoke a personal access token.",
		}, s.loadManaged, s.handleRevokeByID),

		httpapi.Do(httpapi.Spec{
			Route: "POST /users/{user_id:digits}/personal_access_tokens", Needs: access.Administer, AfterParams: true,
			Scopes: ofUsers, Status: http.StatusCreated,
			Summary: "Create a personal access token for someone.",
		}, s.handleCreate),
		httpapi.On(httpapi.Spec{
			Route: "POST /user/personal_access_tokens", Needs: access.SignIn, Scopes: ofUsers, Status: http.StatusCreated,
			Summary: "Create a personal access token of limited scope for oneself.",
		}, s.selfManaged, s.handleCreateLimited),

		httpapi.Do(httpapi.Spec{
			Route: "GET /users/{user_id:digits}/impersonation_tokens", Needs: access.Administer, AfterParams: true, Scopes: ofUsers,
			Summary: "List the impersonation tokens of someone.",
		}, s.handleListImpersonation),
		httpapi.Do(httpapi.Spec{
			Route: "GET /users/{user_id:digits}/impersonation_tokens/{impersonation_token_id}", Needs: access.Administer,
			AfterParams: true, Scopes: ofUsers,
			Summary: "Show an impersonation token.",
		}, s.handleGetImpersonation),
		httpapi.Do(httpapi.Spec{
			Route: "POST /users/{user_id:digits}/impersonation_tokens", Needs: access.Administer, AfterParams: true,
			Scopes: ofUsers, Status: http.StatusCreated,
			Summary: "Create an impersonation token for someone.",
		}, s.handleCreateImpersonation),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /users/{user_id:digits}/impersonation_tokens/{impersonation_token_id}", Needs: access.Administer,
			Scopes:  ofUsers,
			Summary: "Revoke an impersonation token.",
		}, s.loadImpersonation, s.handleRevokeImpersonation),
	}
}

// Form is a token on the wire.
type Form struct {
	ID         int64         `json:"id"`
	Name       string        `json:"name"`
	Revoked    bool          `json:"revoked"`
	CreatedAt  httpapi.Time  `json:"created_at"`
	Scopes     access.Scopes `json:"scopes"`
	UserID     int64         `json:"user_id"`
	LastUsedAt *httpapi.Time `json:"last_used_at"`
	Active     bool          `json:"active"`
	ExpiresAt  *httpapi.Date `json:"expires_at"`
}

// newForm is a token as its maker sees it, this one time.
type newForm struct {
	Form
	Token string `json:"token"`
}

// impersonationForm is a token that an administrator made in someone's name.
type impersonationForm struct {
	Form
	Impersonation bool `json:"impersonation"`
}

type newImpersonationForm struct {
	impersonationForm
	Token string `json:"token"`
}

// Form presents a token.
func (s *Service) Form(t Token) Form {
	return Form{
		ID: t.ID, Name: t.Name, Revoked: t.RevokedAt != nil, CreatedAt: httpapi.Time(t.CreatedAt), Scopes: t.Scopes,
		UserID: t.UserID, LastUsedAt: httpapi.At(t.LastUsedAt), Active: t.Active(s.deps.Clock.Now()), ExpiresAt: httpapi.Day(t.ExpiresAt),
	}
}

func (s *Service) presentImpersonation(t Token) impersonationForm {
	return impersonationForm{Form: s.Form(t), Impersonation: t.Impersonation}
}

func (s *Service) presentOnce(t Token, secret secretbox.Secret) newForm {
	return newForm{Form: s.Form(t), Token: secret.Reveal()}
}

type listParams struct {
	UserID         httpapi.Opt[int64] `param:"user_id" doc:"Only tokens of this person"`
	Revoked        httpapi.Opt[bool]  `param:"revoked" doc:"Only tokens that are, or are not, revoked"`
	State          string             `param:"state" enum:"active,inactive" doc:"Only tokens that work, or do not"`
	CreatedBefore  time.Time          `param:"created_before" doc:"Only tokens created until then"`
	CreatedAfter   time.Time          `param:"created_after" doc:"Only tokens created since then"`
	LastUsedBefore time.Time          `param:"last_used_before" doc:"Only tokens last used until then"`
	LastUsedAfter  time.Time          `param:"last_used_after" doc:"Only tokens used since then"`
	Search         string             `param:"search" doc:"Only tokens whose name contains this"`
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (httpapi.List[Form], error) {
	p := call.Params
	req, err := p.Request()
	if err != nil {
		return httpapi.List[Form]{}, err
	}
	f := Filter{
		UserID: p.UserID.Ptr(), Revoked: p.Revoked.Ptr(), Active: isActive(p.State), Search: p.Search,
		CreatedBefore: p.CreatedBefore, CreatedAfter: p.CreatedAfter,
		LastUsedBefore: p.LastUsedBefore, LastUsedAfter: p.LastUsedAfter,
	}
	if !call.Actor.Admin() {
		if f.UserID != nil && !call.Actor.Is(*f.UserID) {
			return httpapi.List[Form]{}, fault.New(fault.Unauthenticated)
		}
		f.UserID, f.Impersonation = new(call.Actor.ID()), new(false)
	}
	res, err := s.List(ctx, f, req)
	return httpapi.ListOf(req, res, s.Form), err
}

// isActive reads the parameter state; nil takes both.
func isActive(state string) *bool {
	switch state {
	case "active":
		return new(true)
	case "inactive":
		return new(false)
	}
	return nil
}

type idParams struct {
	ID int64 `param:"id" doc:"ID of the token"`
}

// managed reads a token that the actor may manage. Who may not does not learn
// whether there is one.
func (s *Service) managed(ctx context.Context, a access.Actor, id int64) (Token, error) {
	t, err := s.Find(ctx, id)
	hidden := fault.Is(err, fault.NotFound) || (err == nil && !t.managedBy(a))
	if hidden && !a.Admin() {
		err = fault.New(fault.Unauthenticated)
	}
	return t, err
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[httpapi.None, idParams]) (Form, error) {
	t, err := s.managed(ctx, call.Actor, call.Params.ID)
	return s.Form(t), err
}

func (s *Service) handleSelf(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (Form, error) {
	if call.Actor.Credential.Kind != access.PersonalToken {
		return Form{}, fault.New(fault.NotFound)
	}
	t, err := s.Find(ctx, call.Actor.Credential.ID)
	return s.Form(t), err
}

type rotateParams struct {
	idParams
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the new token stops working; a week ahead when absent"`
}

func (s *Service) handleRotate(ctx context.Context, call httpapi.Call[httpapi.None, rotateParams]) (newForm, error) {
	if user.ActsAsBot(call.Actor) {
		return newForm{}, fault.New(fault.Forbidden)
	}
	if _, err := s.managed(ctx, call.Actor, call.Params.ID); err != nil {
		return newForm{}, err
	}
	return s.rotate(ctx, call.Actor, call.Params.ID, call.Params.ExpiresAt)
}

type rotateSelfParams struct {
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the new token stops working; a week ahead when absent"`
}

func (s *Service) handleRotateSelf(ctx context.Context, call httpapi.Call[httpapi.None, rotateSelfParams]) (newForm, error) {
	if call.Actor.Credential.Kind != access.PersonalToken {
		return newForm{}, fault.New(fault.NotAllowed)
	}
	t, err := s.Find(ctx, call.Actor.Credential.ID)
	if err != nil {
		return newForm{}, err
	}
	// An impersonation token lives as long as the administrator said.
	if !t.managedBy(call.Actor) || user.ActsAsBot(call.Actor) {
		return newForm{}, fault.New(fault.Forbidden)
	}
	return s.rotate(ctx, call.Actor, t.ID, call.Params.ExpiresAt)
}

func (s *Service) rotate(ctx context.Context, by access.Actor, id int64, expiresAt httpapi.Opt[time.Time]) (newForm, error) {
	t, secret, err := s.Rotate(ctx, by, id, expiresAt.Ptr())
	if text, ok := Sentence(err); ok {
		err = fault.WithReason(fault.Rejected, "%s", text)
	}
	return s.presentOnce(t, secret), err
}

// loadOwn finds the token that makes the call.
func (s *Service) loadOwn(ctx context.Context, a access.Actor, _ httpapi.None) (*Token, error) {
	if a.Credential.Kind != access.PersonalToken || a.Sudoer != nil {
		return nil, fault.New(fault.Rejected)
	}
	t, err := s.Find(ctx, a.Credential.ID)
	return &t, err
}

func (s *Service) handleRevoke(ctx context.Context, call httpapi.Call[*Token, httpapi.None]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Revoke(ctx, call.Actor, call.Subject.ID)
}

// loadManaged finds a token to revoke.
func (s *Service) loadManaged(ctx context.Context, a access.Actor, p idParams) (*Token, error) {
	t, err := s.Find(ctx, p.ID)
	switch {
	case fault.Is(err, fault.NotFound):
		err = fault.WithMessage(fault.NotFound, "404 Not found")
	case err == nil && !t.managedBy(a):
		err = fault.New(fault.Rejected)
	}
	return &t, err
}

func (s *Service) handleRevokeByID(ctx context.Context, call httpapi.Call[*Token, idParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Revoke(ctx, call.Actor, call.Subject.ID)
}

type createParams struct {
	UserID    int64                  `param:"user_id" doc:"ID of the person"`
	Name      string                 `param:"name" required:"true" doc:"Name of the token"`
	Scopes    []string               `param:"scopes" required:"true" split:"comma" enum:"api,read_api,read_user,create_runner,k8s_proxy,read_repository,write_repository,read_registry,write_registry,ai_features,sudo,admin_mode,read_service_ping" doc:"What the token may be used for"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the token stops working; as late as possible when absent"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (newForm, error) {
	p := call.Params
	return s.create(ctx, call.Actor, p.UserID, Draft{Name: p.Name, Scopes: scopesOf(p.Scopes), ExpiresAt: p.ExpiresAt.Ptr()})
}

type createLimitedParams struct {
	Name      string                 `param:"name" required:"true" doc:"Name of the token"`
	Scopes    []string               `param:"scopes" required:"true" split:"comma" enum:"k8s_proxy" doc:"What the token may be used for"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the token stops working; at the end of today when absent"`
}

// selfManaged hides what only a self-managed instance has.
func (s *Service) selfManaged(context.Context, access.Actor, createLimitedParams) (none httpapi.None, err error) {
	if s.deps.Settings.Instance().Hosted {
		err = fault.New(fault.NotFound)
	}
	return none, err
}

func (s *Service) handleCreateLimited(ctx context.Context, call httpapi.Call[httpapi.None, createLimitedParams]) (newForm, error) {
	p := call.Params
	tomorrow := midnight(s.deps.Clock.Now()).Add(day)
	return s.create(ctx, call.Actor, call.Actor.ID(), Draft{Name: p.Name, Scopes: scopesOf(p.Scopes), ExpiresAt: new(p.ExpiresAt.Or(tomorrow))})
}

func (s *Service) create(ctx context.Context, by access.Actor, userID int64, d Draft) (newForm, error) {
	t, secret, err := s.Create(ctx, by, userID, d)
	if text, ok := Sentence(err); ok {
		err = fault.WithMessage(fault.Unprocessable, "%s", text)
	}
	return s.presentOnce(t, secret), err
}

func scopesOf(names []string) access.Scopes {
	scopes := make(access.Scopes, len(names))
	for i, name := range names {
		scopes[i] = access.Scope(name)
	}
	return scopes
}

// Sentence says in words what is wrong with the attributes of a token.
func Sentence(err error) (text string, ok bool) {
	f, isFault := fault.Of(err)
	if !isFault || len(f.Fields) == 0 {
		return "", false
	}
	var parts []string
	for _, attribute := range []struct{ name, said string }{
		{"name", "Name"}, {"scopes", "Scopes"}, {"expires_at", "Expires at"},
	} {
		for _, problem := range f.Fields[attribute.name] {
			parts = append(parts, attribute.said+" "+problem)
		}
	}
	if last := len(parts) - 1; last > 1 {
		return strings.Join(parts[:last], ", ") + ", and " + parts[last], true
	}
	return strings.Join(parts, " and "), true
}

type impersonationListParams struct {
	UserID int64  `param:"user_id" doc:"ID of the person"`
	State  string `param:"state" enum:"all,active,inactive" default:"all" doc:"Only tokens that work, or do not"`
	httpapi.Paging
}

func (s *Service) handleListImpersonation(ctx context.Context, call httpapi.Call[httpapi.None, impersonationListParams]) (httpapi.List[impersonationForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[impersonationForm]{}, err
	}
	u, err := s.deps.Users.Find(ctx, call.Params.UserID)
	if err != nil {
		return httpapi.List[impersonationForm]{}, err
	}
	res, err := s.List(ctx, Filter{UserID: &u.ID, Impersonation: new(true), Active: isActive(call.Params.State)}, req)
	return httpapi.ListOf(req, res, s.presentImpersonation), err
}

type impersonationParams struct {
	UserID  int64 `param:"user_id" doc:"ID of the person"`
	TokenID int64 `param:"impersonation_token_id" doc:"ID of the token"`
}

// loadImpersonation finds an impersonation token of one person.
func (s *Service) loadImpersonation(ctx context.Context, _ access.Actor, p impersonationParams) (*Token, error) {
	u, err := s.deps.Users.Find(ctx, p.UserID)
	if err != nil {
		return nil, err
	}
	t, err := s.Find(ctx, p.TokenID)
	if fault.Is(err, fault.NotFound) || (err == nil && (t.UserID != u.ID || !t.Impersonation)) {
		return nil, fault.NotFoundf("Impersonation Token")
	}
	return &t, err
}

func (s *Service) handleGetImpersonation(ctx context.Context, call httpapi.Call[httpapi.None, impersonationParams]) (impersonationForm, error) {
	t, err := s.loadImpersonation(ctx, call.Actor, call.Params)
	if err != nil {
		return impersonationForm{}, err
	}
	return s.presentImpersonation(*t), nil
}

type createImpersonationParams struct {
	UserID    int64                  `param:"user_id" doc:"ID of the person"`
	Name      string                 `param:"name" required:"true" doc:"Name of the token"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day on which the token stops working"`
	Scopes    []string               `param:"scopes" split:"comma" doc:"What the token may be used for"`
}

func (s *Service) handleCreateImpersonation(ctx context.Context, call httpapi.Call[httpapi.None, createImpersonationParams]) (newImpersonationForm, error) {
	p := call.Params
	t, secret, err := s.Create(ctx, call.Actor, p.UserID, Draft{
		Name: p.Name, Scopes: scopesOf(p.Scopes), ExpiresAt: p.ExpiresAt.Ptr(), Impersonation: true,
	})
	return newImpersonationForm{impersonationForm: s.presentImpersonation(t), Token: secret.Reveal()}, err
}

func (s *Service) handleRevokeImpersonation(ctx context.Context, call httpapi.Call[*Token, impersonationParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Revoke(ctx, call.Actor, call.Subject.ID)
}
