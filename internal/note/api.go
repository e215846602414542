package note

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

// maxRequest is more than a note of the greatest length takes.
const maxRequest = 2 << 20

const (
	ofIssue     = "/projects/{id}/issues/{issue_iid:digits}"
	cutNote     = "Bodies are cut after 65,536 characters, and after 200 when those before them in an answer take two megabytes."
	lockedOut   = "403 to who is no member when the discussion is locked"
	commands    = "Lines of the text that are commands, like /close, are done with the rights of the caller; 202 when there is nothing else in it."
	othersNotes = "403 to who is neither the author nor a maintainer"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.noteEndpoints(), s.discussionEndpoints(), s.awardEndpoints(), s.changeEndpoints())
}

func (s *Service) noteEndpoints() []httpapi.Endpoint {
	const all, one = ofIssue + "/notes", ofIssue + "/notes/{note_id:digits}"
	issues := s.deps.Issues
	return []httpapi.Endpoint{
		issue.Below(issues, httpapi.Spec{Route: "GET " + all, Needs: access.ReadNotes, Summary: "List the notes about an issue.", Note: cutNote}, s.handleList),
		issue.Below(issues, httpapi.Spec{Route: "GET " + one, Needs: access.ReadNotes, Summary: "Show a note about an issue."}, s.handleGet),
		issue.Below(issues, httpapi.Spec{
			Route: "POST " + all, Needs: access.CreateNotes, Status: http.StatusCreated, Summary: "Comment on an issue.", MaxBody: maxRequest,
			Limit: "notes_create", ExtraRefusals: lockedOut, Note: commands,
		}, s.handleCreate),
		issue.Below(issues, httpapi.Spec{
			Route: "PUT " + one, Needs: access.EditNotes, Summary: "Change a comment on an issue.", MaxBody: maxRequest, ExtraRefusals: othersNotes,
		}, s.handleUpdate),
		issue.Below(issues, httpapi.Spec{Route: "DELETE " + one, Needs: access.EditNotes, Summary: "Delete a comment on an issue.", ExtraRefusals: othersNotes}, s.handleDelete),
	}
}

type listParams struct {
	issue.Ref
	OrderBy string `param:"order_by" enum:"created_at,updated_at" default:"created_at" doc:"What the list is ordered by"`
	Sort    string `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction of the order"`
	Filter  string `param:"activity_filter" enum:"all_notes,only_comments,only_activity" default:"all_notes" doc:"What is listed"`
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[Place, listParams]) (none httpapi.List[noteForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	req.OrderBy, req.Desc = call.Params.OrderBy, call.Params.Sort != "asc"
	page, err := s.List(ctx, call.Actor, call.Subject, Which(call.Params.Filter), req)
	if err != nil {
		return none, err
	}
	present, err := s.presenter(ctx, call.Subject, page.Items...)
	return httpapi.ListOf(req, page, present), err
}

type noteRef struct {
	issue.Ref
	NoteID int64 `param:"note_id" doc:"ID of the note"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[Place, noteRef]) (noteForm, error) {
	n, err := s.Find(ctx, call.Actor, call.Subject, call.Params.NoteID)
	return s.show(ctx, call.Subject, n, err)
}

// bodyParams are what is said.
type bodyParams struct {
	Body      string                 `param:"body" required:"true" bytes:"1048576" doc:"What is said, in Markdown"`
	CreatedAt httpapi.Opt[time.Time] `param:"created_at" doc:"When it was said; for owners of the project"`
}

type createParams struct {
	issue.Ref
	bodyParams
	Internal     httpapi.Opt[bool] `param:"internal" doc:"Whether reporters alone may read it"`
	Confidential httpapi.Opt[bool] `param:"confidential" doc:"An older name of internal"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[Place, createParams]) (noteReply, error) {
	p := call.Params
	d := Draft{Body: p.Body, CreatedAt: p.CreatedAt.Ptr(), Internal: p.Internal.Or(false) || p.Confidential.Or(false)}
	said, err := s.Create(ctx, call.Actor, call.Subject, d)
	return s.showSaid(ctx, call.Subject, said, err)
}

type updateParams struct {
	noteRef
	Body         httpapi.Opt[string] `param:"body" bytes:"1048576" doc:"What is said, in Markdown"`
	Confidential httpapi.Opt[bool]   `param:"confidential" doc:"Is not changed"`
}

// Validate wants something to be said.
func (p updateParams) Validate() []string {
	if p.Body.Or("") == "" {
		return []string{"body is empty"}
	}
	return nil
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[Place, updateParams]) (noteForm, error) {
	n, err := s.Update(ctx, call.Actor, call.Subject, call.Params.NoteID, call.Params.Body.Or(""))
	return s.show(ctx, call.Subject, n, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[Place, noteRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject, call.Params.NoteID)
}

func (s *Service) discussionEndpoints() []httpapi.Endpoint {
	const (
		all   = ofIssue + "/discussions"
		one   = all + "/{discussion_id}"
		notes = one + "/notes"
		note  = notes + "/{note_id:digits}"
	)
	issues := s.deps.Issues
	return []httpapi.Endpoint{
		issue.Below(issues, httpapi.Spec{Route: "GET " + all, Needs: access.ReadNotes, Summary: "List the discussions about an issue.", Note: cutNote}, s.handleDiscussions),
		issue.Below(issues, httpapi.Spec{Route: "GET " + one, Needs: access.ReadNotes, Summary: "Show a discussion about an issue.", Note: cutNote}, s.handleDiscussion),
		issue.Below(issues, httpapi.Spec{
			Route: "POST " + all, Needs: access.CreateNotes, Status: http.StatusCreated, Summary: "Begin a discussion about an issue.", MaxBody: maxRequest,
			Limit: "notes_create", ExtraRefusals: lockedOut, Note: commands,
		}, s.handleBegin),
		issue.Below(issues, httpapi.Spec{Route: "GET " + notes, Needs: access.ReadNotes, Summary: "List the notes of a discussion about an issue.", Note: cutNote}, s.handleSaid),
		issue.Below(issues, httpapi.Spec{
			Route: "POST " + notes, Needs: access.CreateNotes, Status: http.StatusCreated, Summary: "Reply to a discussion about an issue.", MaxBody: maxRequest,
			Limit: "notes_create", ExtraRefusals: lockedOut, Note: commands,
		}, s.handleReply),
		issue.Below(issues, httpapi.Spec{Route: "GET " + note, Needs: access.ReadNotes, Summary: "Show a note of a discussion about an issue."}, s.handleSaidNote),
		issue.Below(issues, httpapi.Spec{
			Route: "PUT " + note, Needs: access.EditNotes, Summary: "Change a note of a discussion about an issue.", MaxBody: maxRequest, ExtraRefusals: othersNotes,
		}, s.handleChangeSaid),
		issue.Below(issues, httpapi.Spec{
			Route: "DELETE " + note, Needs: access.EditNotes, Summary: "Delete a note of a discussion about an issue.", ExtraRefusals: othersNotes,
		}, s.handleDeleteSaid),
	}
}

type discussionsParams struct {
	issue.Ref
	httpapi.Paging
}

func (s *Service) handleDiscussions(ctx context.Context, call httpapi.Call[Place, discussionsParams]) (none httpapi.List[discussionForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.Discussions(ctx, call.Actor, call.Subject, req)
	if err != nil {
		return none, err
	}
	present, err := s.presenter(ctx, call.Subject, slices.Concat(page.Items...)...)
	return httpapi.ListOf(req, page, func(d Discussion) discussionForm { return formOf(d, present) }), err
}

type discussionRef struct {
	issue.Ref
	DiscussionID string `param:"discussion_id" doc:"ID of the discussion"`
}

func (s *Service) handleDiscussion(ctx context.Context, call httpapi.Call[Place, discussionRef]) (discussionForm, error) {
	d, err := s.FindDiscussion(ctx, call.Actor, call.Subject, call.Params.DiscussionID)
	return s.showDiscussion(ctx, call.Subject, d, err)
}

type beginParams struct {
	issue.Ref
	bodyParams
}

func (s *Service) handleBegin(ctx context.Context, call httpapi.Call[Place, beginParams]) (reply discussionReply, _ error) {
	said, err := s.Create(ctx, call.Actor, call.Subject, Draft{Body: call.Params.Body, CreatedAt: call.Params.CreatedAt.Ptr(), Thread: true})
	switch {
	case err != nil:
		return reply, err
	case said.Note == nil:
		return reply.Other(obeyed(said)), nil
	}
	form, err := s.showDiscussion(ctx, call.Subject, Discussion{*said.Note}, nil)
	if err == nil {
		form.Notes[0].CommandsChanges = said.Commands.Changes
	}
	return reply.One(form), err
}

func (s *Service) handleSaid(ctx context.Context, call httpapi.Call[Place, discussionRef]) ([]noteForm, error) {
	d, err := s.FindDiscussion(ctx, call.Actor, call.Subject, call.Params.DiscussionID)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.WithMessage(fault.NotFound, "404 Notes Not Found")
	}
	form, err := s.showDiscussion(ctx, call.Subject, d, err)
	return form.Notes, err
}

type replyParams struct {
	discussionRef
	bodyParams
}

func (s *Service) handleReply(ctx context.Context, call httpapi.Call[Place, replyParams]) (reply noteReply, _ error) {
	p := call.Params
	id, ok := parseDiscussion(p.DiscussionID)
	if !ok {
		return reply, errNoDiscussion
	}
	said, err := s.Create(ctx, call.Actor, call.Subject, Draft{Body: p.Body, CreatedAt: p.CreatedAt.Ptr(), Discussion: id})
	return s.showSaid(ctx, call.Subject, said, err)
}

type saidRef struct {
	discussionRef
	NoteID int64 `param:"note_id" doc:"ID of the note"`
}

// findSaid reads a note of a discussion.
func (s *Service) findSaid(ctx context.Context, a access.Actor, at Place, ref saidRef) (*Note, error) {
	n, err := s.Find(ctx, a, at, ref.NoteID)
	if err == nil && n.Discussion() != ref.DiscussionID {
		err = errNoNote
	}
	return n, err
}

func (s *Service) handleSaidNote(ctx context.Context, call httpapi.Call[Place, saidRef]) (noteForm, error) {
	n, err := s.findSaid(ctx, call.Actor, call.Subject, call.Params)
	return s.show(ctx, call.Subject, n, err)
}

type changeSaidParams struct {
	saidRef
	Body     httpapi.Opt[string] `param:"body" bytes:"1048576" doc:"What is said, in Markdown"`
	Resolved httpapi.Opt[bool]   `param:"resolved" doc:"Whether it is settled; discussions about issues are not"`
}

// Validate wants one of the two.
func (p changeSaidParams) Validate() []string {
	switch {
	case !p.Body.Given && !p.Resolved.Given:
		return []string{"body, resolved are missing, exactly one parameter must be provided"}
	case p.Body.Given && p.Resolved.Given:
		return []string{"body, resolved are mutually exclusive"}
	case p.Body.Given && p.Body.Or("") == "":
		return []string{"body is empty"}
	}
	return nil
}

func (s *Service) handleChangeSaid(ctx context.Context, call httpapi.Call[Place, changeSaidParams]) (noteForm, error) {
	n, err := s.findSaid(ctx, call.Actor, call.Subject, call.Params.saidRef)
	switch {
	case err != nil:
	case call.Params.Resolved.Given:
		err = fault.WithMessage(fault.Rejected, "400 Bad request - Note is not resolvable")
	default:
		n, err = s.Update(ctx, call.Actor, call.Subject, n.ID, call.Params.Body.Or(""))
	}
	return s.show(ctx, call.Subject, n, err)
}

func (s *Service) handleDeleteSaid(ctx context.Context, call httpapi.Call[Place, saidRef]) (httpapi.NoContent, error) {
	n, err := s.findSaid(ctx, call.Actor, call.Subject, call.Params)
	if err == nil {
		err = s.Delete(ctx, call.Actor, call.Subject, n.ID)
	}
	return httpapi.NoContent{}, err
}
