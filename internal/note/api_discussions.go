package note

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

func discussionEndpoints[Ref any](s *Service, of parent[Ref]) []httpapi.Endpoint {
	const (
		all   = "/discussions"
		one   = all + "/{discussion_id}"
		notes = one + "/notes"
		note  = notes + "/{note_id:digits}"
	)
	return []httpapi.Endpoint{
		below(of, httpapi.Spec{Route: "GET " + all, Needs: of.read, Summary: "List the discussions about {thing}.", Note: cutNote}, s.handleDiscussions),
		below(of, httpapi.Spec{Route: "GET " + one, Needs: of.read, Summary: "Show a discussion about {thing}.", Note: cutNote}, s.handleDiscussion),
		below(of, httpapi.Spec{Route: "GET " + notes, Needs: of.read, Summary: "List the notes of a discussion about {thing}.", Note: cutNote}, s.handleSaid),
		below(of, httpapi.Spec{
			Route: "POST " + notes, Needs: of.comment, Status: http.StatusCreated, Summary: "Reply to a discussion about {thing}.", MaxBody: maxRequest,
			Limit: "notes_create", ExtraRefusals: of.refuses, Note: of.saying,
		}, s.handleReply),
		below(of, httpapi.Spec{Route: "GET " + note, Needs: of.read, Summary: "Show a note of a discussion about {thing}."}, s.handleSaidNote),
		below(of, httpapi.Spec{
			Route: "PUT " + note, Needs: of.edit, Summary: "Change a note of a discussion about {thing}.", MaxBody: maxRequest, ExtraRefusals: othersNotes,
		}, s.handleChangeSaid),
		below(of, httpapi.Spec{
			Route: "DELETE " + note, Needs: of.edit, Summary: "Delete a note of a discussion about {thing}.", ExtraRefusals: othersNotes,
		}, s.handleDeleteSaid),
	}
}

// beginEndpoint is where a discussion begins that has no position.
func beginEndpoint[Ref any](s *Service, of parent[Ref]) []httpapi.Endpoint {
	return []httpapi.Endpoint{below(of, httpapi.Spec{
		Route: "POST /discussions", Needs: of.comment, Status: http.StatusCreated, Summary: "Begin a discussion about {thing}.", MaxBody: maxRequest,
		Limit: "notes_create", ExtraRefusals: of.refuses, Note: of.saying,
	}, s.handleBegin)}
}

type discussionsParams struct{ httpapi.Paging }

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
	DiscussionID string `param:"discussion_id" doc:"ID of the discussion"`
}

func (s *Service) handleDiscussion(ctx context.Context, call httpapi.Call[Place, discussionRef]) (discussionForm, error) {
	d, err := s.FindDiscussion(ctx, call.Actor, call.Subject, call.Params.DiscussionID)
	return s.showDiscussion(ctx, call.Subject, d, err)
}

func (s *Service) handleBegin(ctx context.Context, call httpapi.Call[Place, bodyParams]) (reply discussionReply, _ error) {
	said, err := s.Create(ctx, call.Actor, call.Subject, Draft{Body: call.Params.Body, CreatedAt: call.Params.CreatedAt.Ptr(), Thread: true})
	switch {
	case err != nil:
		return reply, err
	case said.Note == nil:
		return reply.Other(obeyed(said)), nil
	}
	form, err := s.showBegun(ctx, call.Subject, said, nil)
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
	Resolved httpapi.Opt[bool]   `param:"resolved" doc:"Whether it is settled; these discussions are not"`
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
