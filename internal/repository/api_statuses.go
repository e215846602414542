package repository

import (
	"context"
	"net/http"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/user"
)

func (s *Service) statusEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/commits/{sha}/statuses", Needs: access.ReadCode,
			Summary: "List what was reported about a commit.",
		}, s.handleStatuses),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/statuses/{sha}", Needs: access.SetCommitStatus, Status: http.StatusCreated,
			Summary: "Report how a commit fares.", ExtraRefusals: "what protects branches",
		}, s.handleSetStatus),
	}
}

type statusForm struct {
	ID           int64         `json:"id"`
	SHA          gitstore.OID  `json:"sha"`
	Ref          string        `json:"ref"`
	Status       Verdict       `json:"status"`
	Name         string        `json:"name"`
	TargetURL    *string       `json:"target_url"`
	Description  *string       `json:"description"`
	CreatedAt    httpapi.Time  `json:"created_at"`
	StartedAt    *httpapi.Time `json:"started_at"`
	FinishedAt   *httpapi.Time `json:"finished_at"`
	AllowFailure bool          `json:"allow_failure"`
	Coverage     *float64      `json:"coverage"`
	PipelineID   *int64        `json:"pipeline_id"` // there are no pipelines yet
	Author       *user.Public  `json:"author"`
}

func newStatusForm(st Status, author *user.Public) statusForm {
	return statusForm{
		ID: st.ID, SHA: st.SHA, Ref: st.Ref, Status: st.State, Name: st.Name, TargetURL: st.TargetURL, Description: st.Description,
		CreatedAt: httpapi.Time(st.CreatedAt), StartedAt: httpapi.At(st.StartedAt), FinishedAt: httpapi.At(st.FinishedAt),
		Coverage: st.Coverage, Author: author,
	}
}

type statusListParams struct {
	commitPageParams
	RefName string `param:"ref" doc:"Only of this branch or tag"`
	Stage   string `param:"stage" doc:"Only of this stage; reports have none but external"`
	Name    string `param:"name" doc:"Only of this name"`
	All     bool   `param:"all" doc:"Also those that a later one of the same name replaced"`
}

func (s *Service) handleStatuses(ctx context.Context, call httpapi.Call[*project.Project, statusListParams]) (httpapi.List[statusForm], error) {
	var none httpapi.List[statusForm]
	in := call.Params
	req, err := in.Request()
	if err != nil {
		return none, err
	}
	_, c, err := s.commit(ctx, call.Subject, in.SHA)
	if err != nil {
		return none, err
	}
	if in.Stage != "" && in.Stage != "external" {
		return httpapi.List[statusForm]{Request: req}, nil
	}
	res, err := s.Statuses(ctx, call.Subject, c.ID, StatusFilter{Ref: in.RefName, Name: in.Name, All: in.All}, req)
	if err != nil {
		return none, err
	}
	ids := make([]*int64, len(res.Items))
	for n := range res.Items {
		ids[n] = res.Items[n].AuthorID
	}
	author, err := s.deps.Users.PublicForms(ctx, ids...)
	return httpapi.ListOf(req, res, func(st Status) statusForm { return newStatusForm(st, author(st.AuthorID)) }), err
}

type setStatusParams struct {
	CommitRef
	State       Verdict              `param:"state" required:"true" enum:"pending,running,success,failed,canceled" doc:"How the commit fares"`
	RefName     string               `param:"ref" doc:"Branch or tag; the first branch with the commit when empty"`
	Name        string               `param:"name" doc:"What was looked at"`
	Context     string               `param:"context" doc:"Same as name"`
	TargetURL   httpapi.Opt[string]  `param:"target_url" doc:"Address that tells more"`
	Description httpapi.Opt[string]  `param:"description" doc:"Short description"`
	Coverage    httpapi.Opt[float64] `param:"coverage" doc:"Share of the code that tests cover, in percent"`
	PipelineID  httpapi.Opt[int64]   `param:"pipeline_id" doc:"Pipeline; there are none yet"`
}

func (s *Service) handleSetStatus(ctx context.Context, call httpapi.Call[*project.Project, setStatusParams]) (statusForm, error) {
	in := call.Params
	name := in.Name
	if name == "" {
		name = in.Context
	}
	if name == "" {
		name = "default"
	}
	st, err := s.SetStatus(ctx, call.Actor, call.Subject, Report{
		Revision: in.SHA, Ref: in.RefName, Name: name, State: in.State, TargetURL: filled(in.TargetURL), Description: filled(in.Description),
		Coverage: in.Coverage.Ptr(),
	})
	if err != nil {
		return statusForm{}, err
	}
	author, err := s.deps.Users.PublicForms(ctx, st.AuthorID)
	return newStatusForm(st, author(st.AuthorID)), err
}

// filled takes empty as absent.
func filled(o httpapi.Opt[string]) *string {
	if o.Value == "" {
		return nil
	}
	return o.Ptr()
}
