package user

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) emailEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /user/emails", Needs: access.SignIn, Scopes: readUser,
			Summary: "List the secondary email addresses of the authenticated user.",
		}, s.handleOwnEmails),
		httpapi.Do(httpapi.Spec{
			Route: "POST /user/emails", Needs: access.SignIn, Scopes: readUser, Status: http.StatusCreated,
			Summary: "Add a secondary email address to the authenticated user.",
		}, s.handleAddOwnEmail),
		httpapi.On(httpapi.Spec{
			Route: "GET /user/emails/{email_id}", Needs: access.SignIn, Scopes: readUser,
			Summary: "Get a secondary email address of the authenticated user.",
		}, s.loadOwnEmail, handleEmail),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /user/emails/{email_id}", Needs: access.SignIn, Scopes: readUser,
			Summary: "Remove a secondary email address from the authenticated user.",
		}, s.loadOwnEmail, s.handleRemoveOwnEmail),
		On(s, httpapi.Spec{
			Route: "GET /users/{id:digits}/emails", Needs: access.Administer, AfterParams: true, Scopes: readUser,
			Summary: "List the secondary email addresses of a user.",
		}, s.handleEmails),
		On(s, httpapi.Spec{
			Route: "POST /users/{id:digits}/emails", Needs: access.Administer, AfterParams: true, Scopes: readUser,
			Status: http.StatusCreated, Summary: "Add a secondary email address to a user.",
		}, s.handleAddEmail),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /users/{id:digits}/emails/{email_id}", Needs: access.Administer, Scopes: readUser,
			Summary: "Remove a secondary email address from a user.",
		}, s.loadEmail, s.handleRemoveEmail),
	}
}

type emailForm struct {
	ID          int64         `json:"id"`
	Email       string        `json:"email"`
	ConfirmedAt *httpapi.Time `json:"confirmed_at"`
}

func presentEmail(e Email) emailForm {
	return emailForm{ID: e.ID, Email: e.Email, ConfirmedAt: httpapi.At(e.ConfirmedAt)}
}

// refPage asks for a page of what belongs to an account.
type refPage struct {
	Ref
	httpapi.Paging
}

type emailRef struct {
	EmailID int64 `param:"email_id" doc:"ID of the email address"`
}

type userEmailRef struct {
	Ref
	emailRef
}

type newEmailParams struct {
	Email string `param:"email" required:"true" doc:"Email address"`
}

type newUserEmailParams struct {
	Ref
	newEmailParams
	SkipConfirmation bool `param:"skip_confirmation" doc:"Take the address as confirmed"`
}

func (s *Service) loadOwnEmail(ctx context.Context, a access.Actor, p emailRef) (Email, error) {
	return s.FindEmail(ctx, a.ID(), p.EmailID)
}

func (s *Service) loadEmail(ctx context.Context, _ access.Actor, p userEmailRef) (Email, error) {
	u, err := s.Find(ctx, p.ID)
	if err != nil {
		return Email{}, err
	}
	return s.FindEmail(ctx, u.ID, p.EmailID)
}

func (s *Service) handleOwnEmails(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.Paging]) (httpapi.List[emailForm], error) {
	return s.emailPage(ctx, call.Actor.ID(), call.Params)
}

func (s *Service) handleEmails(ctx context.Context, call httpapi.Call[*User, refPage]) (httpapi.List[emailForm], error) {
	return s.emailPage(ctx, call.Subject.ID, call.Params.Paging)
}

func (s *Service) emailPage(ctx context.Context, userID int64, p httpapi.Paging) (httpapi.List[emailForm], error) {
	req, err := p.Request()
	if err != nil {
		return httpapi.List[emailForm]{}, err
	}
	page, err := s.Emails(ctx, userID, req)
	return httpapi.ListOf(req, page, presentEmail), err
}

func handleEmail(_ context.Context, call httpapi.Call[Email, emailRef]) (emailForm, error) {
	return presentEmail(call.Subject), nil
}

func (s *Service) handleAddOwnEmail(ctx context.Context, call httpapi.Call[httpapi.None, newEmailParams]) (emailForm, error) {
	e, err := s.AddEmail(ctx, call.Actor, call.Actor.ID(), call.Params.Email, false)
	return presentEmail(e), err
}

func (s *Service) handleAddEmail(ctx context.Context, call httpapi.Call[*User, newUserEmailParams]) (emailForm, error) {
	e, err := s.AddEmail(ctx, call.Actor, call.Subject.ID, call.Params.Email, call.Params.SkipConfirmation)
	return presentEmail(e), err
}

func (s *Service) handleRemoveOwnEmail(ctx context.Context, call httpapi.Call[Email, emailRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveEmail(ctx, call.Actor, call.Subject.UserID, call.Subject.ID)
}

func (s *Service) handleRemoveEmail(ctx context.Context, call httpapi.Call[Email, userEmailRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveEmail(ctx, call.Actor, call.Subject.UserID, call.Subject.ID)
}
