package deploykey

import (
	"context"
	"net/http"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	spec := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/deploy_keys" + below, Needs: access.AdminDeployKeys, Summary: summary}
	}
	created := func(spec httpapi.Spec) httpapi.Spec {
		spec.Status = http.StatusCreated
		return spec
	}
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /deploy_keys", Needs: access.Administer, Summary: "List the deploy keys of the instance.",
		}, s.handleListAll),
		project.On(s.deps.Projects, spec("GET", "", "List the deploy keys of a project."), s.handleList),
		project.On(s.deps.Projects, spec("GET", "/{key_id}", "Get a deploy key of a project."), s.handleGet),
		project.On(s.deps.Projects, created(spec("POST", "", "Add a deploy key to a project.")), s.handleAdd),
		project.On(s.deps.Projects, spec("PUT", "/{key_id}", "Change a deploy key of a project."), s.handleChange),
		project.On(s.deps.Projects, spec("DELETE", "/{key_id}", "Take a deploy key from a project."), s.handleRemove),
		project.On(s.deps.Projects, created(spec("POST", "/{key_id}/enable", "Give a project a deploy key that another project has.")), s.handleEnable),
	}
}

// keyForm is a deploy key on the wire.
type keyForm struct {
	ID                int64         `json:"id"`
	Title             string        `json:"title"`
	Key               string        `json:"key"`
	Fingerprint       string        `json:"fingerprint"`
	FingerprintSHA256 string        `json:"fingerprint_sha256"`
	CreatedAt         httpapi.Time  `json:"created_at"`
	ExpiresAt         *httpapi.Time `json:"expires_at"`
	CanPush           bool          `json:"can_push"`
}

func present(k Key) keyForm {
	return keyForm{
		ID: k.ID, Title: k.Title, Key: k.Key, Fingerprint: k.FingerprintMD5, FingerprintSHA256: k.FingerprintSHA256,
		CreatedAt: httpapi.Time(k.CreatedAt), ExpiresAt: httpapi.At(k.ExpiresAt), CanPush: k.CanPush,
	}
}

func presentOne(k *Key, err error) (keyForm, error) {
	if err != nil {
		return keyForm{}, err
	}
	return present(*k), nil
}

type allParams struct {
	Public bool `param:"public" doc:"Only keys that every maintainer may take"`
	httpapi.Paging
}

func (s *Service) handleListAll(ctx context.Context, call httpapi.Call[httpapi.None, allParams]) (httpapi.List[keyForm], error) {
	return s.list(ctx, 0, call.Params.Public, call.Params.Paging)
}

type listParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*project.Project, listParams]) (httpapi.List[keyForm], error) {
	return s.list(ctx, call.Subject.ID, false, call.Params.Paging)
}

func (s *Service) list(ctx context.Context, projectID int64, openOnly bool, page httpapi.Paging) (httpapi.List[keyForm], error) {
	req, err := page.Request()
	if err != nil {
		return httpapi.List[keyForm]{}, err
	}
	res, err := s.List(ctx, projectID, openOnly, req)
	return httpapi.ListOf(req, res, present), err
}

type keyRef struct {
	project.Ref
	KeyID int64 `param:"key_id" doc:"ID of the deploy key"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*project.Project, keyRef]) (keyForm, error) {
	return presentOne(s.Find(ctx, call.Subject.ID, call.Params.KeyID))
}

type addParams struct {
	project.Ref
	Key       string                 `param:"key" required:"true" doc:"The public key"`
	Title     string                 `param:"title" required:"true" doc:"Name of the key"`
	CanPush   bool                   `param:"can_push" doc:"Whether the key may push"`
	ExpiresAt httpapi.Opt[time.Time] `param:"expires_at" doc:"When the key stops working; never when absent"`
}

func (s *Service) handleAdd(ctx context.Context, call httpapi.Call[*project.Project, addParams]) (keyForm, error) {
	p := call.Params
	k, err := s.Add(ctx, call.Actor, call.Subject, Draft{Title: p.Title, Key: p.Key, CanPush: p.CanPush, ExpiresAt: p.ExpiresAt.Ptr()})
	return presentOne(&k, err)
}

type changeParams struct {
	keyRef
	Title   httpapi.Opt[string] `param:"title" doc:"Name of the key"`
	CanPush httpapi.Opt[bool]   `param:"can_push" doc:"Whether the key may push"`
}

func (s *Service) handleChange(ctx context.Context, call httpapi.Call[*project.Project, changeParams]) (keyForm, error) {
	p := call.Params
	return presentOne(s.Change(ctx, call.Actor, call.Subject, p.KeyID, p.Title.Ptr(), p.CanPush.Ptr()))
}

func (s *Service) handleRemove(ctx context.Context, call httpapi.Call[*project.Project, keyRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Remove(ctx, call.Actor, call.Subject, call.Params.KeyID)
}

func (s *Service) handleEnable(ctx context.Context, call httpapi.Call[*project.Project, keyRef]) (keyForm, error) {
	return presentOne(s.Enable(ctx, call.Actor, call.Subject, call.Params.KeyID))
}
