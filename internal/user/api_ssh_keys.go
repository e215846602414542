package user

import (
	"context"
	"net/http"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) sshKeyEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /user/keys", Needs: access.SignIn, Scopes: readUser,
			Summary: "List the SSH keys of the authenticated user.",
		}, s.handleOwnSSHKeys),
		httpapi.Do(httpapi.Spec{
			Route: "POST /user/keys", Needs: access.SignIn, Scopes: readUser, Status: http.StatusCreated,
			Summary: "Add an SSH key to the authenticated user.",
		}, s.handleAddOwnSSHKey),
		httpapi.On(httpapi.Spec{
			Route: "GET /user/keys/{key_id}", Needs: access.SignIn, Scopes: readUser,
			Summary: "Get an SSH key of the authenticated user.",
		}, s.loadOwnSSHKey, s.handleOwnSSHKey),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /user/keys/{key_id}", Needs: access.SignIn, Scopes: readUser,
			Summary: "Remove an SSH key from the authenticated user.",
		}, s.loadOwnSSHKey, s.handleRemoveOwnSSHKey),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{id_or_username}/keys", Needs: access.Anyone, Scopes: readUser,
			Summary: "List the SSH keys of a user.",
		}, s.loadNamed, s.handleSSHKeys),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{id:digits}/keys/{key_id}", Needs: access.Anyone, Scopes: readUser,
			Summary: "Get an SSH key of a user.",
		}, s.loadSSHKey, s.handleSSHKey),
		On(s, httpapi.Spec{
			Route: "POST /users/{user_id}/keys", Needs: access.Administer, AfterParams: true, Scopes: readUser,
			Status: http.StatusCreated, Summary: "Add an SSH key to a user.",
		}, s.handleAddSSHKey),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /users/{id:digits}/keys/{key_id}", Needs: access.Administer, Scopes: readUser,
			Summary: "Remove an SSH key from a user.",
		}, s.loadSSHKey, s.handleRemoveSSHKey),
		httpapi.Do(httpapi.Spec{
			Route: "GET /keys/{id}", Needs: access.Administer, AfterParams: true,
			Summary: "Get an SSH key and its user.",
		}, s.handleAnySSHKey),
		httpapi.Do(httpapi.Spec{
			Route: "GET /keys", Needs: access.Administer, AfterParams: true,
			Summary: "Find an SSH key and its user by the key's fingerprint.",
		}, s.handleSSHKeyByFingerprint),
	}
}

type sshKeyForm struct {
	ID        int64         `json:"id"`
	Title     string        `json:"title"`
	CreatedAt httpapi.Time  `json:"created_at"`
	ExpiresAt *httpapi.Time `json:"expires_at"`
	Key       string        `json:"key"`
	UsageType string        `json:"usage_type"`
}

type ownedSSHKeyForm struct {
	sshKeyForm
	User publicForm `json:"user"`
}

// sshKeyForm presents a key whose comment says whose it is. The key may end up
// in an authorized_keys file, where a line break in a name would begin a key
// of its own.
func (s *Service) sshKeyForm(k SSHKey) sshKeyForm {
	owner := strings.Join(strings.Fields(k.OwnerName), " ")
	return sshKeyForm{
		ID: k.ID, Title: k.Title, CreatedAt: httpapi.Time(k.CreatedAt), ExpiresAt: httpapi.At(k.ExpiresAt),
		Key: k.Key + " " + owner + " (" + s.host + ")", UsageType: k.UsageType,
	}
}

type keyRef struct {
	KeyID int64 `param:"key_id" doc:"ID of the key"`
}

type userKeyRef struct {
	Ref
	keyRef
}

// namedRef is an account by its id or username.
type namedRef struct {
	Name string `param:"id_or_username" doc:"ID or username of the user"`
}

type namedPage struct {
	namedRef
	httpapi.Paging
}

type newSSHKeyParams struct {
	Title     string    `param:"title" required:"true" doc:"Name of the key"`
	Key       string    `param:"key" required:"true" doc:"Public key, as in an authorized_keys file"`
	ExpiresAt time.Time `param:"expires_at" doc:"When the key stops working"`
	UsageType string    `param:"usage_type" enum:"auth_and_signing,auth,signing" default:"auth_and_signing" doc:"What the key is for"`
}

func (p newSSHKeyParams) key() NewSSHKey {
	n := NewSSHKey{Title: p.Title, Key: p.Key, UsageType: p.UsageType}
	if !p.ExpiresAt.IsZero() {
		n.ExpiresAt = &p.ExpiresAt
	}
	return n
}

type newUserSSHKeyParams struct {
	UserID int64 `param:"user_id" doc:"ID of the user"`
	newSSHKeyParams
}

func (p newUserSSHKeyParams) user() int64 { return p.UserID }

func (s *Service) loadNamed(ctx context.Context, a access.Actor, p namedPage) (*User, error) {
	return s.findFor(ctx, a, p.Name)
}

func (s *Service) loadOwnSSHKey(ctx context.Context, a access.Actor, p keyRef) (SSHKey, error) {
	return s.FindSSHKeyOf(ctx, a.ID(), p.KeyID)
}

func (s *Service) loadSSHKey(ctx context.Context, a access.Actor, p userKeyRef) (SSHKey, error) {
	u, err := s.findFor(ctx, a, formatID(p.ID))
	if err != nil {
		return SSHKey{}, err
	}
	return s.FindSSHKeyOf(ctx, u.ID, p.KeyID)
}

func (s *Service) handleOwnSSHKeys(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.Paging]) (httpapi.List[sshKeyForm], error) {
	return s.sshKeyPage(ctx, call.Actor.ID(), call.Params)
}

func (s *Service) handleSSHKeys(ctx context.Context, call httpapi.Call[*User, namedPage]) (httpapi.List[sshKeyForm], error) {
	return s.sshKeyPage(ctx, call.Subject.ID, call.Params.Paging)
}

func (s *Service) sshKeyPage(ctx context.Context, userID int64, p httpapi.Paging) (httpapi.List[sshKeyForm], error) {
	req, err := p.Request()
	if err != nil {
		return httpapi.List[sshKeyForm]{}, err
	}
	page, err := s.SSHKeys(ctx, userID, req)
	return httpapi.ListOf(req, page, s.sshKeyForm), err
}

func (s *Service) handleOwnSSHKey(_ context.Context, call httpapi.Call[SSHKey, keyRef]) (sshKeyForm, error) {
	return s.sshKeyForm(call.Subject), nil
}

func (s *Service) handleSSHKey(_ context.Context, call httpapi.Call[SSHKey, userKeyRef]) (sshKeyForm, error) {
	return s.sshKeyForm(call.Subject), nil
}

func (s *Service) handleAddOwnSSHKey(ctx context.Context, call httpapi.Call[httpapi.None, newSSHKeyParams]) (sshKeyForm, error) {
	k, err := s.AddSSHKey(ctx, call.Actor, call.Actor.ID(), call.Params.key())
	return s.sshKeyForm(k), err
}

func (s *Service) handleAddSSHKey(ctx context.Context, call httpapi.Call[*User, newUserSSHKeyParams]) (sshKeyForm, error) {
	k, err := s.AddSSHKey(ctx, call.Actor, call.Subject.ID, call.Params.key())
	return s.sshKeyForm(k), err
}

func (s *Service) handleRemoveOwnSSHKey(ctx context.Context, call httpapi.Call[SSHKey, keyRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveSSHKey(ctx, call.Actor, call.Subject)
}

func (s *Service) handleRemoveSSHKey(ctx context.Context, call httpapi.Call[SSHKey, userKeyRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveSSHKey(ctx, call.Actor, call.Subject)
}

type anyKeyRef struct {
	ID int64 `param:"id" doc:"ID of the key"`
}

func (s *Service) handleAnySSHKey(ctx context.Context, call httpapi.Call[httpapi.None, anyKeyRef]) (ownedSSHKeyForm, error) {
	k, err := s.FindSSHKey(ctx, call.Params.ID)
	if err != nil {
		return ownedSSHKeyForm{}, err
	}
	return s.ownedSSHKey(ctx, k)
}

type fingerprintParams struct {
	Fingerprint string `param:"fingerprint" required:"true" doc:"Fingerprint of the key, SHA256 or MD5"`
}

func (s *Service) handleSSHKeyByFingerprint(ctx context.Context, call httpapi.Call[httpapi.None, fingerprintParams]) (ownedSSHKeyForm, error) {
	k, err := s.FindSSHKeyByFingerprint(ctx, call.Params.Fingerprint)
	if err != nil {
		return ownedSSHKeyForm{}, err
	}
	return s.ownedSSHKey(ctx, k)
}

func (s *Service) ownedSSHKey(ctx context.Context, k SSHKey) (ownedSSHKeyForm, error) {
	u, err := s.Find(ctx, k.UserID)
	if err != nil {
		return ownedSSHKeyForm{}, err
	}
	return ownedSSHKeyForm{sshKeyForm: s.sshKeyForm(k), User: s.publicForm(u)}, nil
}
