package oauth

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/secretbox"
)

// Endpoints of the room: those of v4, which are about applications, and those of the protocol.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return append(s.protocol(), []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "POST /applications", Needs: access.Administer, Status: http.StatusCreated,
			Summary: "Register an OAuth application of the instance.",
		}, s.handleCreate),
		httpapi.Do(httpapi.Spec{
			Route: "GET /applications", Needs: access.Administer,
			Summary: "List the OAuth applications of the instance.",
		}, s.handleList),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /applications/{id}", Needs: access.Administer,
			Summary: "Delete an OAuth application, and end what people granted it.",
		}, s.load, s.handleDelete),
		httpapi.On(httpapi.Spec{
			Route: "POST /applications/{id}/renew-secret", Needs: access.Administer, Status: http.StatusCreated,
			Summary: "Give an OAuth application a new secret.",
		}, s.load, s.handleRenew),
	}...)
}

// applicationForm is an application on the wire.
type applicationForm struct {
	ID           int64  `json:"id"`
	UID          string `json:"application_id"`
	Name         string `json:"application_name"`
	CallbackURL  string `json:"callback_url"`
	Confidential bool   `json:"confidential"`
}

// newApplicationForm is an application as its maker sees it, this one time.
type newApplicationForm struct {
	applicationForm
	Secret string `json:"secret"`
}

func present(a Application) applicationForm {
	return applicationForm{ID: a.ID, UID: a.UID, Name: a.Name, CallbackURL: a.RedirectURI, Confidential: a.Confidential}
}

func presentOnce(a *Application, secret secretbox.Secret, err error) (newApplicationForm, error) {
	if err != nil {
		return newApplicationForm{}, err
	}
	return newApplicationForm{applicationForm: present(*a), Secret: secret.Reveal()}, nil
}

type createParams struct {
	Name         string `param:"name" required:"true" doc:"Name of the application"`
	RedirectURI  string `param:"redirect_uri" required:"true" doc:"Where answers are sent to; several are separated by white space"`
	Scopes       string `param:"scopes" required:"true" blank:"refuse" doc:"What the application may ask for, separated by spaces"`
	Confidential bool   `param:"confidential" default:"true" doc:"The application can keep its secret"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (newApplicationForm, error) {
	p := call.Params
	return presentOnce(s.Create(ctx, call.Actor, nil, Draft{
		Name: p.Name, RedirectURI: p.RedirectURI, Scopes: parseScopes(p.Scopes), Confidential: p.Confidential,
	}))
}

func (s *Service) handleList(ctx context.Context, _ httpapi.Call[httpapi.None, httpapi.None]) ([]applicationForm, error) {
	all, err := s.OfInstance(ctx)
	list := make([]applicationForm, 0, len(all))
	for _, a := range all {
		list = append(list, present(a))
	}
	return list, err
}

type ref struct {
	ID int64 `param:"id" doc:"ID of the application, which is not its application_id"`
}

func (s *Service) load(ctx context.Context, by access.Actor, p ref) (*Application, error) {
	return s.Find(ctx, by, p.ID)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*Application, ref]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.ID)
}

func (s *Service) handleRenew(ctx context.Context, call httpapi.Call[*Application, ref]) (newApplicationForm, error) {
	return presentOnce(s.RenewSecret(ctx, call.Actor, call.Subject.ID))
}
