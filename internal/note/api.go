package note

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/repository"
	"stithy/internal/snippet"
)

// maxRequest is more than a note of the greatest length takes.
const maxRequest = 2 << 20

const (
	ofIssue     = "/projects/{id}/issues/{issue_iid:digits}"
	ofSnippet   = "/projects/{id}/snippets/{snippet_id}"
	ofCommit    = "/projects/{id}/repository/commits/{sha}"
	cutNote     = "Bodies are cut after 65,536 characters, and after 200 when those before them in an answer take two megabytes."
	othersNotes = "403 to who is neither the author nor a maintainer"
)

// parent is a kind of things as routes lead to them. Ref names one in the path.
type parent[Ref any] struct {
	kind
	path    string
	noun    string // {thing} in the summaries
	saying  string // what is to be known by who says something
	refuses string // whom it refuses beyond the abilities
	find    func(context.Context, access.Actor, access.Ability, Ref) (Place, error)
}

// below declares an endpoint below things of a kind. The route of the spec begins there.
func below[Ref, P, R any](of parent[Ref], spec httpapi.Spec, handle func(context.Context, httpapi.Call[Place, P]) (R, error)) httpapi.Endpoint {
	method, path, _ := strings.Cut(spec.Route, " ")
	spec.Route, spec.Summary = method+" "+of.path+path, strings.ReplaceAll(spec.Summary, "{thing}", of.noun)
	return httpapi.Below(spec, func(ctx context.Context, a access.Actor, ref Ref) (Place, error) {
		return of.find(ctx, a, spec.Needs, ref)
	}, handle)
}

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	issues := parent[issue.Ref]{
		kind: AtIssue{}.kind(), path: ofIssue, noun: "an issue", find: s.atIssue, refuses: "403 to who is no member when the discussion is locked",
		saying: "Lines of the text that are commands, like /close, are done with the rights of the caller; 202 when there is nothing else in it.",
	}
	snippets := parent[snippet.Ref]{kind: AtSnippet{}.kind(), path: ofSnippet, noun: "a snippet", find: s.atSnippet}
	commits := parent[repository.CommitRef]{
		kind: AtCommit{}.kind(), path: ofCommit, noun: "a commit",
		find: func(ctx context.Context, a access.Actor, needs access.Ability, ref repository.CommitRef) (Place, error) {
			return s.atCommit(ctx, a, needs, ref)
		},
	}
	return slices.Concat(
		noteEndpoints(s, issues), discussionEndpoints(s, issues), beginEndpoint(s, issues), awardEndpoints(s, issues), s.changeEndpoints(),
		noteEndpoints(s, snippets), discussionEndpoints(s, snippets), beginEndpoint(s, snippets), awardEndpoints(s, snippets),
		discussionEndpoints(s, commits), s.commitEndpoints(),
	)
}

func (s *Service) atIssue(ctx context.Context, a access.Actor, needs access.Ability, ref issue.Ref) (Place, error) {
	at, err := s.deps.Issues.FindBelow(ctx, a, needs, ref.ID, ref.IssueIID)
	return AtIssue{at}, err
}

func (s *Service) atSnippet(ctx context.Context, a access.Actor, needs access.Ability, ref snippet.Ref) (Place, error) {
	at, err := s.deps.Snippets.FindBelow(ctx, a, needs, ref)
	return AtSnippet{basicPlace{at.Project}, at.Snippet}, err
}

func (s *Service) atCommit(ctx context.Context, a access.Actor, needs access.Ability, ref repository.CommitRef) (AtCommit, error) {
	p, c, err := s.deps.Repositories.FindCommitBelow(ctx, a, needs, ref)
	if err != nil {
		return AtCommit{}, err
	}
	return newAtCommit(p, c)
}

func noteEndpoints[Ref any](s *Service, of parent[Ref]) []httpapi.Endpoint {
	const all, one = "/notes", "/notes/{note_id:digits}"
	return []httpapi.Endpoint{
		below(of, httpapi.Spec{Route: "GET " + all, Needs: of.read, Summary: "List the notes about {thing}.", Note: cutNote}, s.handleList),
		below(of, httpapi.Spec{Route: "GET " + one, Needs: of.read, Summary: "Show a note about {thing}."}, s.handleGet),
		below(of, httpapi.Spec{
			Route: "POST " + all, Needs: of.comment, Status: http.StatusCreated, Summary: "Comment on {thing}.", MaxBody: maxRequest,
			Limit: "notes_create", ExtraRefusals: of.refuses, Note: of.saying,
		}, s.handleCreate),
		below(of, httpapi.Spec{
			Route: "PUT " + one, Needs: of.edit, Summary: "Change a comment on {thing}.", MaxBody: maxRequest, ExtraRefusals: othersNotes,
		}, s.handleUpdate),
		below(of, httpapi.Spec{Route: "DELETE " + one, Needs: of.edit, Summary: "Delete a comment on {thing}.", ExtraRefusals: othersNotes}, s.handleDelete),
	}
}

type listParams struct {
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
