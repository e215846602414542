package event

import (
	"context"
	"encoding/hex"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
	"stithy/internal/user"
)

const limits = "What one may not read now is left out, and does not count. Pages reach 10,000 events deep, 1,000 for strangers, totals 1,000. A filter by action or target " +
	"looks at the first 100,000 events. Comments are cut after 4,000 characters."

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	readUser := []access.Scope{access.ScopeReadUser}
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /events", Needs: access.SignIn, Scopes: readUser, Summary: "List what one did oneself, or what was done in one's projects.",
			Note: limits + " Of one's projects, those 500 are looked at in which something happened last; of more than 20, totals are not told.",
		}, s.handleOwn),
		httpapi.On(httpapi.Spec{
			Route: "GET /users/{id}/events", Needs: access.Anyone, Scopes: readUser, Summary: "List what a user did.", Note: limits,
		}, s.loadUser, s.handleOfUser),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/events", Needs: access.ReadProject, Summary: "List what was done in a project.", Note: limits,
		}, s.handleOfProject),
	}
}

type filterParams struct {
	Action     string    `param:"action" enum:"created,updated,closed,reopened,pushed,commented,merged,joined,left,destroyed,expired,approved" doc:"Only events of this kind"`
	TargetType string    `param:"target_type" enum:"issue,milestone,merge_request,note,project,snippet,user,wiki,design" doc:"Only events about such things"`
	Before     time.Time `param:"before" format:"date" doc:"Only events before this day"`
	After      time.Time `param:"after" format:"date" doc:"Only events after this day"`
	Sort       string    `param:"sort" enum:"asc,desc" default:"desc" doc:"Order by time"`
	httpapi.Paging
}

func (p filterParams) read() (Filter, paging.Request, error) {
	req, err := p.Request()
	req.Desc = p.Sort != "asc"
	return Filter{Action: Action(p.Action), Target: p.TargetType, Before: p.Before, After: p.After}, req, err
}

type ownParams struct {
	filterParams
	Scope string `param:"scope" doc:"all lists the events of all projects that one is a member of"`
}

type userParams struct {
	ID string `param:"id" doc:"ID or username of the user"`
	filterParams
}

type projectParams struct {
	project.Ref
	filterParams
}

type list = httpapi.List[eventForm]

func (s *Service) handleOwn(ctx context.Context, call httpapi.Call[httpapi.None, ownParams]) (none list, err error) {
	f, req, err := call.Params.read()
	if err != nil {
		return none, err
	}
	if call.Params.Scope == "all" {
		page, err := s.OfProjects(ctx, call.Actor, f, req)
		return httpapi.ListOf(req, page, s.form), err
	}
	me, err := s.deps.Users.Find(ctx, call.Actor.ID())
	if err != nil {
		return none, err
	}
	page, err := s.OfAuthor(ctx, call.Actor, me, f, req)
	return httpapi.ListOf(req, page, s.form), err
}

func (s *Service) loadUser(ctx context.Context, a access.Actor, p userParams) (*user.User, error) {
	if !s.KnowsPeople(a) {
		return nil, fault.NotFoundf("User")
	}
	return s.deps.Users.FindByRef(ctx, p.ID)
}

func (s *Service) handleOfUser(ctx context.Context, call httpapi.Call[*user.User, userParams]) (none list, err error) {
	f, req, err := call.Params.read()
	if err != nil {
		return none, err
	}
	page, err := s.OfAuthor(ctx, call.Actor, call.Subject, f, req)
	return httpapi.ListOf(req, page, s.form), err
}

func (s *Service) handleOfProject(ctx context.Context, call httpapi.Call[*project.Project, projectParams]) (none list, err error) {
	f, req, err := call.Params.read()
	if err != nil {
		return none, err
	}
	page, err := s.OfProject(ctx, call.Actor, call.Subject, f, req)
	return httpapi.ListOf(req, page, s.form), err
}

// eventForm is an event on the wire. Title and data are always null: clients know them from events that were kept otherwise.
type eventForm struct {
	ID             int64        `json:"id"`
	Title          *string      `json:"title"`
	ProjectID      int64        `json:"project_id"`
	ActionName     string       `json:"action_name"`
	TargetID       *int64       `json:"target_id"`
	TargetIID      *int64       `json:"target_iid"`
	TargetType     *string      `json:"target_type"`
	AuthorID       int64        `json:"author_id"`
	TargetTitle    *string      `json:"target_title"`
	CreatedAt      httpapi.Time `json:"created_at"`
	Note           *noteForm    `json:"note,omitempty"` // of comments
	Author         user.Public  `json:"author"`
	WikiPage       *pageForm    `json:"wiki_page,omitempty"` // of pages of wikis
	PushData       *pushForm    `json:"push_data,omitempty"` // of pushes
	AuthorUsername string       `json:"author_username"`
	Data           *string      `json:"data"`
}

type pushForm struct {
	CommitCount int     `json:"commit_count"`
	Action      string  `json:"action"`
	RefType     string  `json:"ref_type"`
	CommitFrom  *string `json:"commit_from"`
	CommitTo    *string `json:"commit_to"`
	Ref         *string `json:"ref"`
	CommitTitle *string `json:"commit_title"`
	RefCount    *int    `json:"ref_count"`
}

type pageForm struct {
	Format string `json:"format"`
	Slug   string `json:"slug"`
	Title  string `json:"title"`
}

type noteForm struct {
	ID           int64        `json:"id"`
	Type         *string      `json:"type"`
	Body         string       `json:"body"`
	Attachment   *string      `json:"attachment"`
	Author       *user.Public `json:"author"`
	CreatedAt    httpapi.Time `json:"created_at"`
	UpdatedAt    httpapi.Time `json:"updated_at"`
	System       bool         `json:"system"`
	NoteableID   *int64       `json:"noteable_id"` // null of a commit
	NoteableType string       `json:"noteable_type"`
	ProjectID    int64        `json:"project_id"`
	Resolvable   bool         `json:"resolvable"`
	Confidential bool         `json:"confidential"`
	Internal     bool         `json:"internal"`
	NoteableIID  *int64       `json:"noteable_iid"` // of an issue
}

func (s *Service) form(e Shown) eventForm {
	form := eventForm{
		ID: e.ID, ProjectID: e.ProjectID, ActionName: e.Name(), TargetID: e.TargetID, TargetIID: e.TargetIID, TargetType: text(e.TargetType),
		AuthorID: e.AuthorID, TargetTitle: e.TargetTitle, CreatedAt: httpapi.Time(e.CreatedAt), Author: s.deps.Users.PublicForm(e.Author),
		AuthorUsername: e.Author.Username,
	}
	if e.Action == Pushed {
		form.PushData = &pushForm{
			CommitCount: e.CommitCount, Action: e.PushAction, RefType: e.RefType, CommitFrom: text(hex.EncodeToString(e.CommitFrom)),
			CommitTo: text(hex.EncodeToString(e.CommitTo)), Ref: text(e.Ref), CommitTitle: text(e.Title), RefCount: e.RefCount,
		}
	}
	if e.TargetType == OfWikiPage {
		form.WikiPage = &pageForm{Format: e.Format, Slug: e.Ref, Title: e.Title}
	}
	if e.Note != nil {
		form.Note = s.noteForm(e)
	}
	return form
}

func (s *Service) noteForm(e Shown) *noteForm {
	n := e.Note
	form := &noteForm{
		ID: n.ID, Body: n.Body, CreatedAt: httpapi.Time(n.CreatedAt), UpdatedAt: httpapi.Time(n.UpdatedAt), System: n.System, ProjectID: e.ProjectID,
		Confidential: n.Internal, Internal: n.Internal, NoteableIID: n.AboutIID,
	}
	if e.TargetType != ofNote {
		form.Type = &e.TargetType
	}
	if n.Author != nil {
		form.Author = new(s.deps.Users.PublicForm(*n.Author))
	}
	switch {
	case n.IssueID != nil:
		form.NoteableID, form.NoteableType = n.IssueID, "Issue"
	case n.SnippetID != nil:
		form.NoteableID, form.NoteableType = n.SnippetID, "Snippet"
	default:
		form.NoteableType = "Commit"
	}
	return form
}

// text is a text that may be missing.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
