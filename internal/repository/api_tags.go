package repository

import (
	"context"
	"net/http"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

func (s *Service) tagEndpoints() []httpapi.Endpoint {
	const at = " /projects/{id}/repository/tags"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at, Needs: access.ReadCode, Summary: "List the tags of a project.",
		}, s.handleTags),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{tag_name}", Needs: access.ReadCode, Summary: "Get a tag.",
		}, s.handleTag),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST" + at, Needs: access.PushCode, Status: http.StatusCreated, Summary: "Create a tag.", ExtraRefusals: "what protects tags",
		}, s.handleCreateTag),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "DELETE" + at + "/{tag_name}", Needs: access.PushCode, Summary: "Delete a tag.", ExtraRefusals: "what protects tags",
		}, s.handleDeleteTag),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{tag_name}/signature", Needs: access.ReadCode, Summary: "Get the signature of a tag.",
		}, s.handleTagSignature),
	}
}

type tagForm struct {
	Name      string       `json:"name"`
	Message   string       `json:"message"`
	Target    gitstore.OID `json:"target"`
	Commit    *CommitForm  `json:"commit"`
	Release   *releaseForm `json:"release"`
	Protected bool         `json:"protected"`
	CreatedAt *zoned       `json:"created_at"`
}

// releaseForm is what a tag says about its release.
type releaseForm struct {
	TagName     string `json:"tag_name"`
	Description string `json:"description"`
}

func (s *Service) tagForm(p *project.Project, t Tag) tagForm {
	f := tagForm{Name: t.Name, Target: t.Target, Protected: t.Protected}
	if t.Commit != nil {
		f.Commit = new(s.CommitForm(p, t.Commit))
	}
	if t.Annotated != nil {
		f.Message = strings.TrimRight(t.Annotated.Message, "\n")
		if !t.Annotated.Tagger.When.Equal(time.Time{}) {
			f.CreatedAt = new(zoned(t.Annotated.Tagger.When))
		}
	}
	return f
}

type tagListParams struct {
	project.Ref
	httpapi.TokenPaging
	OrderBy string `param:"order_by" enum:"name,updated,version" default:"updated" doc:"What to order by"`
	Sort    string `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction"`
	Search  string `param:"search" doc:"Part of the name; ^ binds it to the beginning, $ to the end"`
}

func (s *Service) handleTags(ctx context.Context, call httpapi.Call[*project.Project, tagListParams]) (httpapi.List[tagForm], error) {
	p := call.Params
	req, err := p.Request()
	if err != nil {
		return httpapi.List[tagForm]{}, err
	}
	res, err := s.Tags(ctx, call.Subject, RefFilter{
		Search: p.Search, After: p.PageToken, Order: Order{By: p.OrderBy, Desc: p.Sort == "desc"},
	}, req)
	return httpapi.ListOf(req, res, func(t Tag) tagForm { return s.tagForm(call.Subject, t) }), err
}

type tagParams struct {
	project.Ref
	TagName string `param:"tag_name" doc:"Name of the tag"`
}

func (s *Service) handleTag(ctx context.Context, call httpapi.Call[*project.Project, tagParams]) (tagForm, error) {
	t, err := s.Tag(ctx, call.Subject, call.Params.TagName)
	if err != nil {
		return tagForm{}, err
	}
	return s.tagForm(call.Subject, *t), nil
}

type createTagParams struct {
	project.Ref
	TagName string `param:"tag_name" required:"true" doc:"Name of the tag"`
	At      string `param:"ref" required:"true" doc:"Branch, tag or commit that it names"`
	Message string `param:"message" bytes:"1048576" doc:"Message; with one the tag is annotated"`
}

func (s *Service) handleCreateTag(ctx context.Context, call httpapi.Call[*project.Project, createTagParams]) (tagForm, error) {
	p := call.Params
	t, err := s.CreateTag(ctx, call.Actor, call.Subject, p.TagName, p.At, p.Message)
	if err != nil {
		return tagForm{}, err
	}
	return s.tagForm(call.Subject, *t), nil
}

func (s *Service) handleDeleteTag(ctx context.Context, call httpapi.Call[*project.Project, tagParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.DeleteTag(ctx, call.Actor, call.Subject, call.Params.TagName)
}

// handleTagSignature knows no signature yet: nobody checks them.
func (s *Service) handleTagSignature(ctx context.Context, call httpapi.Call[*project.Project, tagParams]) (httpapi.NoContent, error) {
	if _, err := s.Tag(ctx, call.Subject, call.Params.TagName); err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, fault.NotFoundf("Signature")
}
