package badge

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

var (
	toRead   = owner.Needs{Group: access.ReadGroup, Project: access.ReadProject}
	toManage = owner.Needs{Group: access.AdminGroupBadges, Project: access.AdminProjectBadges}
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		owner.On(in, httpapi.Spec{Route: "GET /badges", Summary: "List the badges of a {owner}."}, toRead, s.handleList),
		owner.On(in, httpapi.Spec{Route: "POST /badges", Status: http.StatusCreated, Summary: "Create a badge of a {owner}."}, toManage, s.handleCreate),
		owner.On(in, httpapi.Spec{Route: "GET /badges/render", Summary: "Show how a badge of a {owner} would look."}, toRead, s.handleRender),
		owner.On(in, httpapi.Spec{Route: "GET /badges/{badge_id}", Summary: "Show a badge of a {owner}."}, toRead, s.handleGet),
		owner.On(in, httpapi.Spec{Route: "PUT /badges/{badge_id}", Summary: "Change a badge of a {owner}."}, toManage, s.handleUpdate),
		owner.On(in, httpapi.Spec{Route: "DELETE /badges/{badge_id}", Summary: "Delete a badge of a {owner}."}, toManage, s.handleDelete),
	)
}

// renderedForm is how a badge looks.
type renderedForm struct {
	Name             *string `json:"name"`
	LinkURL          string  `json:"link_url"`
	ImageURL         string  `json:"image_url"`
	RenderedLinkURL  string  `json:"rendered_link_url"`
	RenderedImageURL string  `json:"rendered_image_url"`
}

// badgeForm is a badge on the wire.
type badgeForm struct {
	renderedForm
	ID   int64  `json:"id"`
	Kind string `json:"kind"`
}

func render(b Badge, values map[string]string) renderedForm {
	return renderedForm{
		Name: b.Name, LinkURL: b.LinkURL, ImageURL: b.ImageURL, RenderedLinkURL: Render(b.LinkURL, values), RenderedImageURL: Render(b.ImageURL, values),
	}
}

// forms shows badges as a viewer sees them in an owner.
func (s *Service) forms(ctx context.Context, viewer access.Actor, o *owner.Owner, all ...Badge) (func(Badge) badgeForm, error) {
	values, err := s.Values(ctx, viewer, o, all...)
	return func(b Badge) badgeForm {
		return badgeForm{renderedForm: render(b, values), ID: b.ID, Kind: owner.Noun(owner.OfKeys(b.NamespaceID, b.ProjectID))}
	}, err
}

func (s *Service) present(ctx context.Context, viewer access.Actor, o *owner.Owner, b *Badge, err error) (badgeForm, error) {
	if err != nil {
		return badgeForm{}, err
	}
	form, err := s.forms(ctx, viewer, o, *b)
	return form(*b), err
}

type listParams struct {
	owner.Ref
	Name httpapi.Opt[string] `param:"name" doc:"Only badges with exactly this name"`
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (none httpapi.List[badgeForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Subject.Entity, call.Params.Name.Ptr(), req)
	if err != nil {
		return none, err
	}
	form, err := s.forms(ctx, call.Actor, call.Subject, page.Items...)
	return httpapi.ListOf(req, page, form), err
}

type badgeRef struct {
	owner.Ref
	BadgeID int64 `param:"badge_id" doc:"ID of the badge"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, badgeRef]) (badgeForm, error) {
	b, err := s.Find(ctx, call.Subject.Entity, call.Params.BadgeID)
	return s.present(ctx, call.Actor, call.Subject, b, err)
}

// addresses are those of a new badge.
type addresses struct {
	owner.Ref
	LinkURL  string `param:"link_url" required:"true" doc:"Address that the badge leads to; %{project_path} and the like stand for the project's own"`
	ImageURL string `param:"image_url" required:"true" doc:"Address of the picture; %{project_path} and the like stand for the project's own"`
}

func (s *Service) handleRender(ctx context.Context, call httpapi.Call[*owner.Owner, addresses]) (renderedForm, error) {
	b := Badge{LinkURL: call.Params.LinkURL, ImageURL: call.Params.ImageURL}
	if err := b.check(); err != nil {
		return renderedForm{}, err
	}
	values, err := s.Values(ctx, call.Actor, call.Subject, b)
	return render(b, values), err
}

type createParams struct {
	addresses
	Name httpapi.Opt[string] `param:"name" doc:"Name of the badge, 255 characters at the most"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (badgeForm, error) {
	p := call.Params
	b, err := s.Create(ctx, call.Actor, call.Subject.Entity, Badge{Name: p.Name.Ptr(), LinkURL: p.LinkURL, ImageURL: p.ImageURL})
	return s.present(ctx, call.Actor, call.Subject, b, err)
}

type updateParams struct {
	badgeRef
	LinkURL  httpapi.Opt[string] `param:"link_url" doc:"Address that the badge leads to"`
	ImageURL httpapi.Opt[string] `param:"image_url" doc:"Address of the picture"`
	Name     httpapi.Opt[string] `param:"name" doc:"Name of the badge, 255 characters at the most"`
}

func (p updateParams) change() (c Change) {
	if p.LinkURL.Given {
		c.LinkURL = &p.LinkURL.Value
	}
	if p.ImageURL.Given {
		c.ImageURL = &p.ImageURL.Value
	}
	if p.Name.Given {
		c.Name = new(p.Name.Ptr())
	}
	return c
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*owner.Owner, updateParams]) (badgeForm, error) {
	b, err := s.Update(ctx, call.Actor, call.Subject.Entity, call.Params.BadgeID, call.Params.change())
	return s.present(ctx, call.Actor, call.Subject, b, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*owner.Owner, badgeRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Entity, call.Params.BadgeID)
}
