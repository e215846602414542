package user

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) gpgKeyEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /user/gpg_keys", Needs: access.SignIn, Scopes: readUser,
			Summary: "List the GPG keys of the authenticated user.",
		}, s.handleOwnGPGKeys),
		httpapi.Do(httpapi.Spec{
			Route: "POST /user/gpg_keys", Needs: access.SignIn, Scopes: readUser, Status: http.StatusCreated,
			Summary: "Add a GPG key to the authenticated user.",
		}, s.handleAddOwnGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "GET /user/gpg_keys/{key_id}", Needs: access.SignIn, Scopes: readUser,
			Summary: "Get a GPG key of the authenticated user.",
		}, s.loadOwnGPGKey, handleGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /user/gpg_keys/{key_id}", Needs: access.SignIn, Scopes: readUser,
			Summary: "Remove a GPG key from the authenticated user.",
		}, s.loadOwnGPGKey, s.handleRemoveOwnGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "POST /user/gpg_keys/{key_id}/revoke", Needs: access.SignIn, Scopes: readUser, Status: http.StatusAccepted,
			Summary: "Revoke a GPG key of the authenticated user.",
		}, s.loadOwnGPGKey, s.handleRevokeOwnGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{id:digits}/gpg_keys", Needs: access.Anyone, Scopes: readUser,
			Summary: "List the GPG keys of a user.",
		}, s.loadShown, s.handleGPGKeys),
		On(s, httpapi.Spec{
			Route: "POST /users/{id:digits}/gpg_keys", Needs: access.Administer, AfterParams: true, Scopes: readUser,
			Status: http.StatusCreated, Summary: "Add a GPG key to a user.",
		}, s.handleAddGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{id:digits}/gpg_keys/{key_id}", Needs: access.Anyone, Scopes: readUser,
			Summary: "Get a GPG key of a user.",
		}, s.loadGPGKey, handleUserGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /users/{id:digits}/gpg_keys/{key_id}", Needs: access.Administer, Scopes: readUser,
			Summary: "Remove a GPG key from a user.",
		}, s.loadGPGKey, s.handleRemoveGPGKey),
		httpapi.On(httpapi.Spec{
			Route: "POST /users/{id:digits}/gpg_keys/{key_id}/revoke", Needs: access.Administer, Scopes: readUser,
			Status: http.StatusAccepted, Summary: "Revoke a GPG key of a user.",
		}, s.loadGPGKey, s.handleRevokeGPGKey),
	}
}

type gpgKeyForm struct {
	ID        int64        `json:"id"`
	Key       string       `json:"key"`
	CreatedAt httpapi.Time `json:"created_at"`
}

func presentGPGKey(k GPGKey) gpgKeyForm {
	return gpgKeyForm{ID: k.ID, Key: k.Key, CreatedAt: httpapi.Time(k.CreatedAt)}
}

type newGPGKeyParams struct {
	Key string `param:"key" required:"true" bytes:"1048576" doc:"Armored public key"`
}

type newUserGPGKeyParams struct {
	Ref
	newGPGKeyParams
}

func (s *Service) loadOwnGPGKey(ctx context.Context, a access.Actor, p keyRef) (GPGKey, error) {
	return s.FindGPGKey(ctx, a.ID(), p.KeyID)
}

func (s *Service) loadShown(ctx context.Context, a access.Actor, p refPage) (*User, error) {
	return s.findFor(ctx, a, formatID(p.ID))
}

func (s *Service) loadGPGKey(ctx context.Context, a access.Actor, p userKeyRef) (GPGKey, error) {
	u, err := s.findFor(ctx, a, formatID(p.ID))
	if err != nil {
		return GPGKey{}, err
	}
	return s.FindGPGKey(ctx, u.ID, p.KeyID)
}

func (s *Service) handleOwnGPGKeys(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.Paging]) (httpapi.List[gpgKeyForm], error) {
	return s.gpgKeyPage(ctx, call.Actor.ID(), call.Params)
}

func (s *Service) handleGPGKeys(ctx context.Context, call httpapi.Call[*User, refPage]) (httpapi.List[gpgKeyForm], error) {
	return s.gpgKeyPage(ctx, call.Subject.ID, call.Params.Paging)
}

func (s *Service) gpgKeyPage(ctx context.Context, userID int64, p httpapi.Paging) (httpapi.List[gpgKeyForm], error) {
	req, err := p.Request()
	if err != nil {
		return httpapi.List[gpgKeyForm]{}, err
	}
	page, err := s.GPGKeys(ctx, userID, req)
	return httpapi.ListOf(req, page, presentGPGKey), err
}

func handleGPGKey(_ context.Context, call httpapi.Call[GPGKey, keyRef]) (gpgKeyForm, error) {
	return presentGPGKey(call.Subject), nil
}

func handleUserGPGKey(_ context.Context, call httpapi.Call[GPGKey, userKeyRef]) (gpgKeyForm, error) {
	return presentGPGKey(call.Subject), nil
}

func (s *Service) handleAddOwnGPGKey(ctx context.Context, call httpapi.Call[httpapi.None, newGPGKeyParams]) (gpgKeyForm, error) {
	k, err := s.AddGPGKey(ctx, call.Actor, call.Actor.ID(), call.Params.Key)
	return presentGPGKey(k), err
}

func (s *Service) handleAddGPGKey(ctx context.Context, call httpapi.Call[*User, newUserGPGKeyParams]) (gpgKeyForm, error) {
	k, err := s.AddGPGKey(ctx, call.Actor, call.Subject.ID, call.Params.Key)
	return presentGPGKey(k), err
}

func (s *Service) handleRemoveOwnGPGKey(ctx context.Context, call httpapi.Call[GPGKey, keyRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveGPGKey(ctx, call.Actor, call.Subject)
}

func (s *Service) handleRemoveGPGKey(ctx context.Context, call httpapi.Call[GPGKey, userKeyRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveGPGKey(ctx, call.Actor, call.Subject)
}

func (s *Service) handleRevokeOwnGPGKey(ctx context.Context, call httpapi.Call[GPGKey, keyRef]) (httpapi.Accepted, error) {
	return httpapi.WorkAccepted(), s.RevokeGPGKey(ctx, call.Actor, call.Subject)
}

func (s *Service) handleRevokeGPGKey(ctx context.Context, call httpapi.Call[GPGKey, userKeyRef]) (httpapi.Accepted, error) {
	return httpapi.WorkAccepted(), s.RevokeGPGKey(ctx, call.Actor, call.Subject)
}
