package snippet

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
	"stithy/internal/repository"
)

const (
	one   = "/snippets/{id:digits}"
	inAll = "/projects/{id}/snippets"
	inOne = inAll + "/{snippet_id}"
)

// maxBody holds what a snippet may hold, written as JSON.
const maxBody = 64 << 20

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return append(s.personal(), s.ofProjects()...)
}

func (s *Service) personal() []httpapi.Endpoint {
	const authors = "whoever is not the author: 404"
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{Route: "GET /snippets", Needs: access.SignIn, Summary: "List one's own snippets, also those in projects."}, s.handleOwn),
		httpapi.Do(httpapi.Spec{Route: "GET /snippets/public", Needs: access.SignIn, Summary: "List the public snippets of all people."}, s.handlePublic),
		httpapi.Do(httpapi.Spec{Route: "GET /snippets/all", Needs: access.SignIn, Summary: "List all snippets that one may read."}, s.handleAll),
		httpapi.Do(httpapi.Spec{
			Route: "POST /snippets", Needs: access.SignIn, Status: http.StatusCreated, MaxBody: maxBody, Limit: "snippets_create", Summary: "Create a snippet of one's own.",
			ExtraRefusals: "external users",
		}, s.handleCreate),
		httpapi.On(httpapi.Spec{Route: "GET " + one, Needs: access.Anyone, Summary: "Show a snippet."}, s.load, s.handleGet),
		httpapi.On(httpapi.Spec{Route: "GET " + one + "/raw", Needs: access.Anyone, Summary: "Read the first file of a snippet."}, s.load, s.handleRaw),
		httpapi.On(httpapi.Spec{
			Route: "GET " + one + "/files/{ref}/{file_path}/raw", Needs: access.Anyone, Summary: "Read a file of a snippet.",
		}, loads(s.load, fileRef.snippet), s.handleFile),
		httpapi.On(httpapi.Spec{
			Route: "PUT " + one, Needs: access.SignIn, MaxBody: maxBody, Summary: "Change a snippet of one's own.", ExtraRefusals: authors,
		}, loads(s.loadOwn, updateParams.snippet), s.handleUpdate),
		httpapi.On(httpapi.Spec{
			Route: "DELETE " + one, Needs: access.SignIn, Summary: "Delete a snippet of one's own.", ExtraRefusals: authors,
		}, s.loadOwn, s.handleDelete),
		httpapi.On(httpapi.Spec{
			Route: "GET " + one + "/user_agent_detail", Needs: access.Administer, Summary: "Show what a snippet was made with.",
		}, s.load, s.handleAgent),
	}
}

func (s *Service) ofProjects() []httpapi.Endpoint {
	const managers = "whoever is neither the author nor a maintainer"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{Route: "GET " + inAll, Needs: access.ListSnippets, Summary: "List the snippets of a project."}, s.handleListIn),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST " + inAll, Needs: access.CreateSnippets, Status: http.StatusCreated, MaxBody: maxBody, Limit: "snippets_create", Summary: "Create a snippet in a project.",
		}, s.handleCreateIn),
		project.On(s.deps.Projects, httpapi.Spec{Route: "GET " + inOne, Needs: access.ReadSnippets, Summary: "Show a snippet of a project."}, s.handleGetIn),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET " + inOne + "/raw", Needs: access.ReadSnippets, Summary: "Read the first file of a snippet of a project.",
		}, s.handleRawIn),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET " + inOne + "/files/{ref}/{file_path}/raw", Needs: access.ReadSnippets, Summary: "Read a file of a snippet of a project.",
		}, s.handleFileIn),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "PUT " + inOne, Needs: access.EditSnippets, MaxBody: maxBody, Summary: "Change a snippet of a project.", ExtraRefusals: managers,
		}, s.handleUpdateIn),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "DELETE " + inOne, Needs: access.EditSnippets, Summary: "Delete a snippet of a project.", ExtraRefusals: managers,
		}, s.handleDeleteIn),
	}
}

type snippetRef struct {
	ID int64 `param:"id" doc:"ID of the snippet"`
}

func (s *Service) load(ctx context.Context, by access.Actor, in snippetRef) (Place, error) {
	return s.Find(ctx, by, in.ID)
}

// loadOwn finds a snippet for its author alone: others are not told that there is one.
func (s *Service) loadOwn(ctx context.Context, by access.Actor, in snippetRef) (Place, error) {
	at, err := s.Find(ctx, by, in.ID)
	if err == nil && (at.AuthorID == nil || !by.Is(*at.AuthorID) || !MayEdit(by, at.Project, at.Snippet)) {
		return Place{}, errMissing
	}
	return at, err
}

// loads is a loader for params that hold more than the reference.
func loads[P any](load func(context.Context, access.Actor, snippetRef) (Place, error), ref func(P) snippetRef) func(context.Context, access.Actor, P) (Place, error) {
	return func(ctx context.Context, by access.Actor, in P) (Place, error) { return load(ctx, by, ref(in)) }
}

type listParams struct {
	CreatedAfter  httpapi.Opt[time.Time] `param:"created_after" doc:"Only snippets that were created at or after this time"`
	CreatedBefore httpapi.Opt[time.Time] `param:"created_before" doc:"Only snippets that were created at or before this time"`
	httpapi.Paging
}

func (s *Service) list(ctx context.Context, by access.Actor, p *project.Project, in listParams, f Filter) (none httpapi.List[snippetForm], err error) {
	req, err := in.Request()
	if err != nil {
		return none, err
	}
	f.CreatedAfter, f.CreatedBefore = in.CreatedAfter.Ptr(), in.CreatedBefore.Ptr()
	page, err := s.List(ctx, by, f, req)
	if err != nil {
		return none, err
	}
	forms, err := s.forms(ctx, by, p, page.Items)
	if err != nil {
		return none, err
	}
	return httpapi.List[snippetForm]{
		Result:  paging.Result[snippetForm]{Items: forms, Total: page.Total, More: page.More, Next: page.Next, Token: page.Token, Last: page.Last},
		Request: req,
	}, nil
}

func (s *Service) handleOwn(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (httpapi.List[snippetForm], error) {
	return s.list(ctx, call.Actor, nil, call.Params, Filter{AuthorID: call.Actor.ID()})
}

func (s *Service) handlePublic(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (httpapi.List[snippetForm], error) {
	return s.list(ctx, call.Actor, nil, call.Params, Filter{Public: true})
}

func (s *Service) handleAll(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (httpapi.List[snippetForm], error) {
	return s.list(ctx, call.Actor, nil, call.Params, Filter{})
}

type listInParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleListIn(ctx context.Context, call httpapi.Call[*project.Project, listInParams]) (httpapi.List[snippetForm], error) {
	return s.list(ctx, call.Actor, call.Subject, listParams{Paging: call.Params.Paging}, Filter{ProjectID: call.Subject.ID})
}

type newFileParams struct {
	FilePath string `param:"file_path" required:"true" doc:"Path of the file"`
	Content  string `param:"content" required:"true" bytes:"52428800" doc:"What it holds"`
}

// contentParams are what a new snippet is made of.
type contentParams struct {
	Title       string              `param:"title" required:"true" blank:"refuse" doc:"Title, 255 characters at the most"`
	Description httpapi.Opt[string] `param:"description" bytes:"1048576" doc:"What it is about, as Markdown"`
	Files       []newFileParams     `param:"files" doc:"Its files, 10 at the most"`
	Content     httpapi.Opt[string] `param:"content" bytes:"52428800" doc:"Deprecated, use files: what its only file holds"`
	FileName    httpapi.Opt[string] `param:"file_name" doc:"Deprecated, use files: the name of its only file"`
}

// Validate checks what one parameter alone cannot tell.
func (p contentParams) Validate() []string {
	switch {
	case len(p.Files) > 0 && p.Content.Given:
		return []string{"files, content are mutually exclusive"}
	case len(p.Files) == 0 && !p.Content.Given:
		return []string{"files, content are missing, exactly one parameter must be provided"}
	case p.Content.Given && !p.FileName.Given:
		return []string{"file_name is missing"}
	case p.Content.Given && strings.TrimSpace(p.Content.Value) == "":
		return []string{"content is empty"}
	}
	return nil
}

func (p contentParams) draft(v string, agent string) (d Draft, err error) {
	d = Draft{Title: p.Title, Description: p.Description.Ptr(), UserAgent: agent}
	if d.Visibility, err = access.ParseVisibility(v); err != nil {
		return d, err
	}
	for _, f := range p.Files {
		d.Files = append(d.Files, File{Action: Create, Path: f.FilePath, Content: &f.Content})
	}
	if p.Content.Given {
		d.Files = []File{{Action: Create, Path: p.FileName.Value, Content: &p.Content.Value}}
	}
	return d, nil
}

type createParams struct {
	contentParams
	Visibility string `param:"visibility" enum:"private,internal,public" default:"internal" doc:"Who may read it"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (snippetForm, error) {
	d, err := call.Params.draft(call.Params.Visibility, call.Header("User-Agent"))
	if err != nil {
		return snippetForm{}, err
	}
	at, err := s.Create(ctx, call.Actor, nil, d)
	return s.present(ctx, at, err)
}

type createInParams struct {
	project.Ref
	contentParams
	Visibility string `param:"visibility" required:"true" enum:"private,internal,public" doc:"Who may read it"`
}

func (s *Service) handleCreateIn(ctx context.Context, call httpapi.Call[*project.Project, createInParams]) (snippetForm, error) {
	d, err := call.Params.draft(call.Params.Visibility, call.Header("User-Agent"))
	if err != nil {
		return snippetForm{}, err
	}
	at, err := s.Create(ctx, call.Actor, call.Subject, d)
	return s.present(ctx, at, err)
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[Place, snippetRef]) (snippetForm, error) {
	return s.present(ctx, call.Subject, nil)
}

// Ref names a snippet of a project in routes.
type Ref struct {
	project.Ref
	SnippetID int64 `param:"snippet_id" doc:"ID of the snippet"`
}

// FindBelow finds the snippet of a project that a route names, for what other rooms keep about it. Who may not do such a thing in the project at all is
// told so before the snippet is looked for.
func (s *Service) FindBelow(ctx context.Context, a access.Actor, needs access.Ability, ref Ref) (Place, error) {
	p, err := s.deps.Projects.FindPresent(ctx, a, ref.ID)
	if err == nil {
		err = access.CheckIn(a, needs, p.Target())
	}
	if err != nil {
		return Place{}, err
	}
	at, err := s.FindIn(ctx, a, p, ref.SnippetID)
	if errors.Is(err, errMissingIn) {
		err = errMissing
	}
	return at, err
}

func (s *Service) handleGetIn(ctx context.Context, call httpapi.Call[*project.Project, Ref]) (snippetForm, error) {
	at, err := s.FindIn(ctx, call.Actor, call.Subject, call.Params.SnippetID)
	return s.present(ctx, at, err)
}

func (s *Service) handleRaw(ctx context.Context, call httpapi.Call[Place, snippetRef]) (httpapi.Stream, error) {
	return s.raw(ctx, call.Subject.Snippet, "", "", call.Has)
}

func (s *Service) handleRawIn(ctx context.Context, call httpapi.Call[*project.Project, Ref]) (httpapi.Stream, error) {
	at, err := s.FindIn(ctx, call.Actor, call.Subject, call.Params.SnippetID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return s.raw(ctx, at.Snippet, "", "", call.Has)
}

type fileRef struct {
	snippetRef
	Revision string `param:"ref" doc:"Branch or commit"`
	FilePath string `param:"file_path" doc:"Path of the file, escaped"`
}

func (r fileRef) snippet() snippetRef { return r.snippetRef }

func (s *Service) handleFile(ctx context.Context, call httpapi.Call[Place, fileRef]) (httpapi.Stream, error) {
	return s.raw(ctx, call.Subject.Snippet, call.Params.Revision, call.Params.FilePath, call.Has)
}

type fileInRef struct {
	Ref
	Revision string `param:"ref" doc:"Branch or commit"`
	FilePath string `param:"file_path" doc:"Path of the file, escaped"`
}

func (s *Service) handleFileIn(ctx context.Context, call httpapi.Call[*project.Project, fileInRef]) (httpapi.Stream, error) {
	at, err := s.FindIn(ctx, call.Actor, call.Subject, call.Params.SnippetID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return s.raw(ctx, at.Snippet, call.Params.Revision, call.Params.FilePath, call.Has)
}

// raw is a file of a snippet as it is; "" is the first one. has reports whether the client holds it already.
func (s *Service) raw(ctx context.Context, at *Snippet, revision, path string, has func(tag string) bool) (httpapi.Stream, error) {
	c, err := s.Open(ctx, at, revision, path)
	if err != nil {
		return httpapi.Stream{}, err
	}
	tag := string(c.Entry.ID)
	if has(tag) {
		return httpapi.Unchanged(tag), nil
	}
	return httpapi.Stream{Name: c.Entry.Name(), Size: c.Size, Tag: tag, Open: c.Read}, nil
}

type editParams struct {
	Action       string              `param:"action" required:"true" enum:"create,update,delete,move" doc:"What to do"`
	FilePath     string              `param:"file_path" doc:"Path of the file"`
	PreviousPath string              `param:"previous_path" doc:"Path that the file had; for move"`
	Content      httpapi.Opt[string] `param:"content" bytes:"52428800" doc:"What it holds; for create and update"`
}

// changeParams are what a snippet becomes.
type changeParams struct {
	Title       httpapi.Opt[string] `param:"title" blank:"refuse" doc:"Title, 255 characters at the most"`
	Description httpapi.Opt[string] `param:"description" bytes:"1048576" doc:"What it is about, as Markdown"`
	Visibility  httpapi.Opt[string] `param:"visibility" enum:"private,internal,public" doc:"Who may read it"`
	Files       []editParams        `param:"files" doc:"Edits of its files, all of which are made or none"`
	Content     httpapi.Opt[string] `param:"content" bytes:"52428800" doc:"Deprecated, use files: what its only file holds"`
	FileName    httpapi.Opt[string] `param:"file_name" doc:"Deprecated, use files: the name of its only file"`
}

// Validate checks what one parameter alone cannot tell.
func (p changeParams) Validate() []string {
	switch {
	case len(p.Files) > 0 && (p.Content.Given || p.FileName.Given):
		return []string{"files, content are mutually exclusive"}
	case !p.Title.Given && !p.Description.Given && !p.Visibility.Given && len(p.Files) == 0 && !p.Content.Given && !p.FileName.Given:
		return []string{"content, description, files, file_name, title, visibility are missing, at least one parameter must be provided"}
	case p.Content.Given && strings.TrimSpace(p.Content.Value) == "":
		return []string{"content is empty"}
	}
	return nil
}

var errSeveral = refused("To update Snippets with multiple files, you must use the `files` parameter")

func (p changeParams) change(of *Snippet) (c Change, err error) {
	c.Title = p.Title.Ptr()
	if p.Description.Given {
		c.Description = new(p.Description.Ptr())
	}
	if p.Visibility.Given {
		v, err := access.ParseVisibility(p.Visibility.Value)
		if err != nil {
			return c, err
		}
		c.Visibility = &v
	}
	for _, f := range p.Files {
		c.Files = append(c.Files, File{Action: f.Action, Path: f.FilePath, PreviousPath: f.PreviousPath, Content: f.Content.Ptr()})
	}
	if !p.Content.Given && !p.FileName.Given {
		return c, nil
	}
	if len(of.Files) != 1 {
		return c, errSeveral
	}
	name := of.Files[0]
	switch {
	case p.FileName.Given && p.FileName.Value != name:
		c.Files = []File{{Action: Move, Path: p.FileName.Value, PreviousPath: name, Content: p.Content.Ptr()}}
	case p.Content.Given:
		c.Files = []File{{Action: Update, Path: name, Content: p.Content.Ptr()}}
	}
	return c, nil
}

type updateParams struct {
	snippetRef
	changeParams
}

func (p updateParams) snippet() snippetRef { return p.snippetRef }

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[Place, updateParams]) (snippetForm, error) {
	return s.update(ctx, call.Actor, call.Subject, call.Params.changeParams)
}

type updateInParams struct {
	Ref
	changeParams
}

func (s *Service) handleUpdateIn(ctx context.Context, call httpapi.Call[*project.Project, updateInParams]) (snippetForm, error) {
	at, err := s.findToEdit(ctx, call.Actor, call.Subject, call.Params.SnippetID)
	if err != nil {
		return snippetForm{}, err
	}
	return s.update(ctx, call.Actor, at, call.Params.changeParams)
}

func (s *Service) update(ctx context.Context, by access.Actor, at Place, in changeParams) (snippetForm, error) {
	c, err := in.change(at.Snippet)
	if err != nil {
		return snippetForm{}, err
	}
	at, err = s.Update(ctx, by, at, c)
	return s.present(ctx, at, err)
}

// findToEdit is FindIn for those who change a snippet.
func (s *Service) findToEdit(ctx context.Context, by access.Actor, p *project.Project, id int64) (Place, error) {
	at, err := s.FindIn(ctx, by, p, id)
	if err == nil && !MayEdit(by, p, at.Snippet) {
		return Place{}, fault.New(fault.Forbidden)
	}
	return at, err
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[Place, snippetRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject)
}

func (s *Service) handleDeleteIn(ctx context.Context, call httpapi.Call[*project.Project, Ref]) (httpapi.NoContent, error) {
	at, err := s.findToEdit(ctx, call.Actor, call.Subject, call.Params.SnippetID)
	if err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, at)
}

type agentForm struct {
	UserAgent     string `json:"user_agent"`
	IPAddress     string `json:"ip_address"`
	AkismetSubmit bool   `json:"akismet_submitted"`
}

func (s *Service) handleAgent(ctx context.Context, call httpapi.Call[Place, snippetRef]) (agentForm, error) {
	a, err := s.Agent(ctx, call.Subject.ID)
	return agentForm{UserAgent: a.UserAgent, IPAddress: a.IPAddress}, err
}

// GitTarget is the repository of a snippet for a git client who may use a service on it.
func (s *Service) GitTarget(ctx context.Context, by access.Actor, id int64, service gitstore.Service) (repository.TextTarget, error) {
	at, err := s.Find(ctx, by, id)
	if err != nil {
		return repository.TextTarget{}, err
	}
	if service == gitstore.ReceivePack && !MayEdit(by, at.Project, at.Snippet) {
		return repository.TextTarget{}, fault.WithMessage(fault.Forbidden, "You are not allowed to update this snippet.")
	}
	return repository.TextTarget{ID: at.RepositoryID, MaxSize: int64(s.deps.Settings.Current().SnippetSizeLimit), Path: Path(at)}, nil
}
