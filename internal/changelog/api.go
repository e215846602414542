package changelog

import (
	"context"
	"net/http"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// Endpoints lists the REST surface of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/changelog", Needs: access.ReadCode, Summary: "Generate the changelog of a version.",
		}, s.handleSection),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/repository/changelog", Needs: access.PushCode, Summary: "Add the changelog of a version to a file.",
			ExtraRefusals: "whoever may not push to the branch is refused with 403.",
		}, s.handleWrite),
	}
}

type sectionParams struct {
	project.Ref
	Version string                 `param:"version" required:"true" doc:"Version that the section is about; a semantic version"`
	From    string                 `param:"from" doc:"Commit after which the range begins; the tag of the last stable version when empty"`
	To      string                 `param:"to" doc:"Commit with which the range ends; the tip of the branch when empty"`
	Date    httpapi.Opt[time.Time] `param:"date" doc:"Date of the version; now when empty"`
	Trailer string                 `param:"trailer" default:"Changelog" doc:"Trailer of the commits that count"`
	Config  string                 `param:"config_file" doc:"Path of the configuration in the default branch"`
}

// Validate refuses what is no version.
func (p sectionParams) Validate() []string {
	if _, err := parseVersion(p.Version); p.Version != "" && err != nil {
		return []string{"version is invalid"}
	}
	return nil
}

func (p sectionParams) query() Query {
	return Query{Version: p.Version, From: p.From, To: p.To, Date: p.Date.Ptr(), Trailer: p.Trailer, Config: p.Config}
}

// sectionForm is a section.
type sectionForm struct {
	Notes string `json:"notes"`
}

func (s *Service) handleSection(ctx context.Context, call httpapi.Call[*project.Project, sectionParams]) (sectionForm, error) {
	notes, err := s.Section(ctx, call.Actor, call.Subject, call.Params.query())
	return sectionForm{notes}, err
}

type writeParams struct {
	sectionParams
	Branch  string `param:"branch" doc:"Branch that gets the commit; the default branch when empty"`
	File    string `param:"file" default:"CHANGELOG.md" doc:"Path of the file"`
	Message string `param:"message" bytes:"1048576" doc:"Message of the commit"`
}

func (s *Service) handleWrite(ctx context.Context, call httpapi.Call[*project.Project, writeParams]) (int, error) {
	in := call.Params
	err := s.Write(ctx, call.Actor, call.Subject, Entry{Query: in.query(), Branch: in.Branch, File: in.File, Message: in.Message})
	return http.StatusOK, err
}
