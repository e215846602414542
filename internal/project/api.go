package project

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

// Ref is the {id} that every project route carries. Embed it in params.
type Ref struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the project"`
}

func (r Ref) project() string { return r.ID }

// On declares an endpoint below /projects/{id} whose handler gets the project
// as the actor stands in it. A former path sends readers to the present one.
func On[P interface{ project() string }, R any](
	s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[*Project, P]) (R, error),
) httpapi.Endpoint {
	return httpapi.On(spec, load[P](s), handle)
}

func load[P interface{ project() string }](s *Service) func(context.Context, access.Actor, P) (*Project, error) {
	return func(ctx context.Context, a access.Actor, in P) (*Project, error) {
		return s.FindPresent(ctx, a, in.project())
	}
}

// FindPresent reads the project that a reference names, for an actor who sees it. A former path sends readers to the present one.
func (s *Service) FindPresent(ctx context.Context, a access.Actor, ref string) (*Project, error) {
	p, moved, err := s.FindByRef(ctx, a, ref)
	if err == nil && moved {
		return nil, &httpapi.MovedError{Param: "id", To: strconv.FormatInt(p.ID, 10)}
	}
	return p, err
}

// Endpoints lists the REST surface of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	own := []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}", Needs: access.ReadProject, Summary: "Get a project.",
		}, s.handleGet),
		httpapi.Do(httpapi.Spec{
			Route: "POST /projects", Needs: access.SignIn, Status: http.StatusCreated, Summary: "Create a project.",
		}, s.handleCreate),
		httpapi.Do(httpapi.Spec{
			Route: "POST /projects/user/{user_id:digits}", Needs: access.Administer, Status: http.StatusCreated,
			Summary: "Create a project for a user.",
		}, s.handleCreateFor),
		On(s, httpapi.Spec{
			Route: "PUT /projects/{id}", Needs: access.UpdateProject, Summary: "Change a project.",
			Note: "A change of visibility needs the owner.",
		}, s.handleUpdate),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/avatar", Needs: access.ReadProject, Summary: "Download the picture of a project.",
		}, s.handleAvatar),
		On(s, httpapi.Spec{
			Route: "DELETE /projects/{id}", Needs: access.DeleteProject, Status: http.StatusAccepted, Summary: "Delete a project.",
		}, s.handleDelete),
		On(s, httpapi.Spec{
			Route: "POST /projects/{id}/archive", Needs: access.ArchiveProject, Status: http.StatusCreated,
			Summary: "Archive a project.",
		}, s.handleArchive),
		On(s, httpapi.Spec{
			Route: "POST /projects/{id}/unarchive", Needs: access.ArchiveProject, Status: http.StatusCreated,
			Summary: "Unarchive a project.",
		}, s.handleUnarchive),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/languages", Needs: access.ReadCode, Summary: "List the languages of a project.",
		}, s.handleLanguages),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/storage", Needs: access.Administer, Summary: "Get where the repository of a project is stored.",
		}, s.handleStorage),
	}
	return slices.Concat(own, s.listEndpoints(), s.peopleEndpoints(), s.starEndpoints(), s.forkEndpoints(), s.transferEndpoints(),
		s.attributeEndpoints())
}

type getParams struct {
	Ref
	Statistics           bool `param:"statistics" doc:"Show statistics"`
	License              bool `param:"license" doc:"Show the license"`
	WithCustomAttributes bool `param:"with_custom_attributes" doc:"Show custom attributes; administrators only"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*Project, getParams]) (eitherForm, error) {
	p := call.Params
	forms, err := s.present(ctx, call.Actor, []Project{*call.Subject}, shape{
		simple: !call.Actor.SignedIn(), single: true, permissions: true, statistics: p.Statistics, license: p.License,
		attributes: p.WithCustomAttributes,
	})
	if err != nil {
		return eitherForm{}, err
	}
	return forms[0], nil
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*Project, Ref]) (httpapi.Accepted, error) {
	return httpapi.WorkAccepted(), s.Remove(ctx, call.Actor, call.Subject.ID)
}

func (s *Service) handleArchive(ctx context.Context, call httpapi.Call[*Project, Ref]) (fullForm, error) {
	p, err := s.SetArchived(ctx, call.Actor, call.Subject.ID, true)
	return s.presentOne(ctx, call.Actor, p, err)
}

func (s *Service) handleUnarchive(ctx context.Context, call httpapi.Call[*Project, Ref]) (fullForm, error) {
	p, err := s.SetArchived(ctx, call.Actor, call.Subject.ID, false)
	return s.presentOne(ctx, call.Actor, p, err)
}
