package todo

import (
	"context"
	"fmt"
	"net/http"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /todos", Needs: access.SignIn, Summary: "List one's own to-dos.",
			Note: "What one may no longer read is left out. Bodies are cut after 4,000 characters, descriptions as in lists of issues.",
		}, s.handleList),
		httpapi.Do(httpapi.Spec{
			Route: "POST /todos/{id:digits}/mark_as_done", Needs: access.SignIn, Status: http.StatusCreated, Summary: "Settle one of one's own to-dos.",
		}, s.handleDone),
		httpapi.Do(httpapi.Spec{
			Route: "POST /todos/mark_as_done", Needs: access.SignIn, Summary: "Settle all of one's own to-dos.",
		}, s.handleDoneAll),
		issue.Below(s.deps.Issues, httpapi.Spec{
			Route: "POST /projects/{id}/issues/{issue_iid:digits}/todo", Needs: access.MarkIssues, Status: http.StatusCreated,
			Summary: "Put an issue on one's own list of to-dos.", Note: "304 when a to-do for it is pending.",
		}, s.handleMark),
	}
}

// todoForm is a to-do on the wire.
type todoForm struct {
	ID         int64                 `json:"id"`
	Project    *project.IdentityForm `json:"project,omitempty"`
	Author     *user.Public          `json:"author"`
	ActionName Action                `json:"action_name"`
	TargetType Target                `json:"target_type"`
	Target     any                   `json:"target"`
	TargetURL  string                `json:"target_url"`
	Body       string                `json:"body"`
	State      string                `json:"state"`
	CreatedAt  httpapi.Time          `json:"created_at"`
	UpdatedAt  httpapi.Time          `json:"updated_at"`
}

// presenter presents to-dos of an actor, of which it is told before.
func (s *Service) presenter(ctx context.Context, a access.Actor, all ...Todo) (func(Todo) todoForm, error) {
	var people, projects, issues []int64
	for _, t := range all {
		people, projects, issues = append(people, t.AuthorID), append(projects, t.ProjectID), append(issues, t.IssueID)
	}
	briefs, err := s.deps.Users.Briefs(ctx, people...)
	if err != nil {
		return nil, err
	}
	places, err := s.deps.Projects.Among(ctx, a, projects)
	if err != nil {
		return nil, err
	}
	targets, err := s.deps.Issues.Forms(ctx, a, issues)
	return func(t Todo) todoForm {
		form := todoForm{
			ID: t.ID, ActionName: t.Action, TargetType: Issues, Body: t.Body, State: "pending", CreatedAt: httpapi.Time(t.CreatedAt),
			UpdatedAt: httpapi.Time(t.UpdatedAt),
		}
		if t.Done {
			form.State = "done"
		}
		if b, known := briefs[t.AuthorID]; known {
			form.Author = new(s.deps.Users.PublicForm(b))
		}
		if p := places[t.ProjectID]; p != nil {
			form.Project = new(s.deps.Projects.IdentityForm(p))
		}
		if t.AlertIID != nil && form.Project != nil {
			form.TargetType, form.Target = Alerts, alertForm{IID: *t.AlertIID, Title: t.Body}
			form.TargetURL = s.deps.ExternalURL + "/" + places[t.ProjectID].FullPath() + fmt.Sprintf(AlertPath, *t.AlertIID)
		} else if target, known := targets[t.IssueID]; known {
			if form.Target, form.TargetURL = &target, target.WebURL; t.NoteID != nil {
				form.TargetURL += fmt.Sprintf("#note_%d", *t.NoteID)
			}
		}
		return form
	}, err
}

func (s *Service) show(ctx context.Context, a access.Actor, t *Todo, err error) (todoForm, error) {
	if err != nil {
		return todoForm{}, err
	}
	present, err := s.presenter(ctx, a, *t)
	if err != nil {
		return todoForm{}, err
	}
	return present(*t), nil
}

type listParams struct {
	Action    string `param:"action" enum:"assigned,review_requested,mentioned,build_failed,marked,approval_required,unmergeable,directly_addressed,merge_train_removed,member_access_requested,review_submitted" doc:"Only to-dos for this reason"`
	AuthorID  int64  `param:"author_id" doc:"Only to-dos that this person gave reason for, by ID"`
	ProjectID int64  `param:"project_id" doc:"Only to-dos of this project, by ID"`
	GroupID   int64  `param:"group_id" doc:"Only to-dos of the projects of this group and of those below it, by ID"`
	State     string `param:"state" enum:"pending,done" default:"pending" doc:"Only to-dos in this state"`
	Type      string `param:"type" enum:"Issue,WorkItem,MergeRequest,DesignManagement::Design,AlertManagement::Alert,Namespace,Project,Commit,Epic" doc:"Only to-dos about such things"`
	httpapi.KeysetPaging
}

// offer is that pages can be turned by cursor.
var offer = httpapi.Offer{Model: "Todo", OrderBy: []string{"id"}}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (none httpapi.List[todoForm], err error) {
	p := call.Params
	req, err := p.Request("id", "desc", offer)
	if err != nil {
		return none, err
	}
	f := Filter{
		Done: p.State == "done", Action: Action(p.Action), AuthorID: p.AuthorID, ProjectID: p.ProjectID, GroupID: p.GroupID,
		Nothing: p.Type != "" && p.Type != string(Issues) && p.Type != string(Alerts), Target: Target(p.Type),
	}
	page, err := s.List(ctx, call.Actor, f, req)
	if err != nil {
		return none, err
	}
	present, err := s.presenter(ctx, call.Actor, page.Items...)
	if err != nil {
		return none, err
	}
	return httpapi.ListOf(req, page, present), nil
}

type todoRef struct {
	ID int64 `param:"id" doc:"ID of the to-do"`
}

func (s *Service) handleDone(ctx context.Context, call httpapi.Call[httpapi.None, todoRef]) (todoForm, error) {
	t, err := s.Done(ctx, call.Actor, call.Params.ID)
	return s.show(ctx, call.Actor, t, err)
}

func (s *Service) handleDoneAll(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.DoneAll(ctx, call.Actor)
}

func (s *Service) handleMark(ctx context.Context, call httpapi.Call[issue.Placed, issue.Ref]) (todoForm, error) {
	t, err := s.Mark(ctx, call.Actor, call.Subject.Project, call.Subject.Issue.IID)
	return s.show(ctx, call.Actor, t, err)
}
