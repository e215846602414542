package repository

import (
	"context"
	"net/http"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

func (s *Service) commitEndpoints() []httpapi.Endpoint {
	const at = " /projects/{id}/repository/commits"
	return append(s.statusEndpoints(),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at, Needs: access.ReadCode, Summary: "List the commits of a project.",
		}, s.handleCommits),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST" + at, Needs: access.PushCode, Status: http.StatusCreated, MaxBody: maxCommitBody,
			Summary: "Create a commit with several edits.", ExtraRefusals: "what protects branches",
		}, s.handleWriteCommit),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{sha}", Needs: access.ReadCode, Summary: "Get a commit.",
		}, s.handleCommit),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{sha}/diff", Needs: access.ReadCode, Summary: "List what a commit changed.",
		}, s.handleCommitDiff),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{sha}/refs", Needs: access.ReadCode, Summary: "List the branches and tags that a commit is in.",
		}, s.handleCommitRefs),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{sha}/sequence", Needs: access.ReadCode, Summary: "Count the commits up to a commit.",
		}, s.handleSequence),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{sha}/merge_requests", Needs: access.ReadCode, Summary: "List the merge requests of a commit.",
		}, s.handleCommitRequests),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{sha}/signature", Needs: access.ReadCode, Summary: "Get the signature of a commit.",
		}, s.handleCommitSignature),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST" + at + "/{sha}/cherry_pick", Needs: access.PushCode, Status: http.StatusCreated,
			Summary: "Repeat a commit on a branch.", ExtraRefusals: "what protects branches",
		}, s.handleCherryPick),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST" + at + "/{sha}/revert", Needs: access.PushCode, Status: http.StatusCreated,
			Summary: "Take a commit back on a branch.", ExtraRefusals: "what protects branches",
		}, s.handleRevert),
	)
}

// maxCommitBody is how much a commit through the API may bring.
const maxCommitBody = 100 << 20

type statsForm struct {
	Additions int `json:"additions"`
	Deletions int `json:"deletions"`
	Total     int `json:"total"`
}

// countedForm is a commit in a list, with its stats where they were asked for.
type countedForm struct {
	CommitForm
	Stats *statsForm `json:"stats,omitempty"`
}

// detailForm is a commit by itself.
type detailForm struct {
	CommitForm
	Stats        *statsForm    `json:"stats,omitempty"`
	Status       *string       `json:"status"`
	ProjectID    int64         `json:"project_id"`
	LastPipeline *pipelineForm `json:"last_pipeline"`
}

// pipelineForm is never there: there are no pipelines yet.
type pipelineForm struct {
	ID int64 `json:"id"`
}

func newStatsForm(s gitstore.Stats) *statsForm {
	return &statsForm{Additions: s.Additions, Deletions: s.Deletions, Total: s.Additions + s.Deletions}
}

func (s *Service) detailForm(ctx context.Context, p *project.Project, repo *gitstore.Repo, c *gitstore.Commit, counted bool) (detailForm, error) {
	form := detailForm{CommitForm: s.CommitForm(p, c), ProjectID: p.ID}
	form.Trailers = trailers(c)
	state, err := s.latestState(ctx, p, c.ID)
	if err != nil {
		return form, err
	}
	if state != "" {
		form.Status = &state
	}
	if counted {
		all, err := stats(ctx, repo, []*gitstore.Commit{c})
		if err != nil {
			return form, err
		}
		form.Stats = newStatsForm(all[0])
	}
	return form, nil
}

func trailers(c *gitstore.Commit) map[string]string {
	all := map[string]string{}
	for _, t := range gitstore.Trailers(c.Message) {
		all[t.Key] = t.Value
	}
	return all
}

type commitListParams struct {
	project.Ref
	httpapi.Paging
	RefName     string    `param:"ref_name" doc:"Branch, tag, commit or range a..b; the default branch when empty"`
	Since       time.Time `param:"since" doc:"Only commits after this"`
	Until       time.Time `param:"until" doc:"Only commits before this"`
	Path        string    `param:"path" doc:"Only commits that touched this path"`
	Author      string    `param:"author" doc:"Only commits of authors whose name or address contains this"`
	All         bool      `param:"all" doc:"Commits of every branch and tag"`
	WithStats   bool      `param:"with_stats" doc:"Show how many lines changed"`
	FirstParent bool      `param:"first_parent" doc:"Follow first parents only"`
	Order       string    `param:"order" enum:"default,topo" default:"default" doc:"Order"`
	Trailers    bool      `param:"trailers" doc:"Show trailers"`
}

func (s *Service) handleCommits(ctx context.Context, call httpapi.Call[*project.Project, commitListParams]) (httpapi.List[countedForm], error) {
	var none httpapi.List[countedForm]
	in := call.Params
	for name, n := range map[string]int{"page": in.Page, "per_page": in.PerPage} {
		if n < 1 {
			return none, fault.WithMessage(fault.BadParams, "%s does not have a valid value", name)
		}
	}
	req, err := in.Request()
	if err != nil {
		return none, err
	}
	res, err := s.Commits(ctx, call.Subject, CommitFilter{
		Revision: in.RefName, Path: in.Path, Author: in.Author, Since: in.Since, Until: in.Until, All: in.All, FirstParent: in.FirstParent,
		Topological: in.Order == "topo",
	}, req)
	if err != nil {
		return none, err
	}
	list := httpapi.ListOf(req, res, func(c *gitstore.Commit) countedForm {
		f := countedForm{CommitForm: s.CommitForm(call.Subject, c)}
		if in.Trailers {
			f.Trailers = trailers(c)
		}
		return f
	})
	if in.WithStats && len(res.Items) > 0 {
		repo, err := s.Open(ctx, call.Subject)
		if err != nil {
			return none, err
		}
		counted, err := stats(ctx, repo, res.Items)
		if err != nil {
			return none, err
		}
		for i := range list.Items {
			list.Items[i].Stats = newStatsForm(counted[i])
		}
	}
	return list, nil
}

// CommitRef names a commit in routes.
type CommitRef struct {
	project.Ref
	SHA string `param:"sha" doc:"Commit, branch or tag"`
}

// FindCommitBelow finds the commit that a route names, for what other rooms keep about it. Who may not do such a thing in the project at all is told so before
// the commit is looked for.
func (s *Service) FindCommitBelow(ctx context.Context, a access.Actor, needs access.Ability, ref CommitRef) (*project.Project, *gitstore.Commit, error) {
	p, err := s.deps.Projects.FindPresent(ctx, a, ref.ID)
	if err == nil {
		err = access.CheckIn(a, needs, p.Target())
	}
	if err != nil {
		return nil, nil, err
	}
	_, c, err := s.commit(ctx, p, ref.SHA)
	return p, c, err
}

type oneCommitParams struct {
	CommitRef
	Stats bool `param:"stats" default:"true" doc:"Show how many lines changed"`
}

func (s *Service) handleCommit(ctx context.Context, call httpapi.Call[*project.Project, oneCommitParams]) (detailForm, error) {
	repo, c, err := s.commit(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return detailForm{}, err
	}
	return s.detailForm(ctx, call.Subject, repo, c, call.Params.Stats)
}

type commitDiffParams struct {
	CommitRef
	httpapi.Paging
	Unidiff bool `param:"unidiff" doc:"Begin each diff with the names of the files"`
}

func (s *Service) handleCommitDiff(ctx context.Context, call httpapi.Call[*project.Project, commitDiffParams]) (httpapi.List[diffForm], error) {
	var none httpapi.List[diffForm]
	repo, c, err := s.commit(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return none, err
	}
	diff, err := commitDiff(ctx, repo, c)
	if err != nil {
		return none, err
	}
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	return httpapi.ListOf(req, paging.Cut(diff.Files, req), func(f gitstore.FileDiff) diffForm {
		return newDiffForm(&f, call.Params.Unidiff)
	}), nil
}

type commitRefsParams struct {
	CommitRef
	httpapi.Paging
	Type string `param:"type" enum:"branch,tag,all" default:"all" doc:"What to list"`
}

type refForm struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// maxRefs is how many refs are looked for.
const maxRefs = 10_000

func (s *Service) handleCommitRefs(ctx context.Context, call httpapi.Call[*project.Project, commitRefsParams]) (httpapi.List[refForm], error) {
	var none httpapi.List[refForm]
	repo, c, err := s.commit(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return none, err
	}
	var forms []refForm
	for _, kind := range []struct{ name, prefix string }{{"branch", gitstore.Branches}, {"tag", gitstore.Tags}} {
		if call.Params.Type != kind.name && call.Params.Type != "all" {
			continue
		}
		refs, err := repo.RefsWith(ctx, c.ID, kind.prefix, maxRefs)
		if err != nil {
			return none, found(err, "Commit")
		}
		for _, r := range refs {
			forms = append(forms, refForm{Type: kind.name, Name: r.Name[len(kind.prefix):]})
		}
	}
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	return httpapi.List[refForm]{Request: req, Result: paging.Cut(forms, req)}, nil
}

type sequenceParams struct {
	CommitRef
	FirstParent bool `param:"first_parent" doc:"Follow first parents only"`
}

type sequenceForm struct {
	Count int `json:"count"`
}

// maxCount is how far a history is counted.
const maxCount = 10_000_000

func (s *Service) handleSequence(ctx context.Context, call httpapi.Call[*project.Project, sequenceParams]) (sequenceForm, error) {
	repo, c, err := s.commit(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return sequenceForm{}, err
	}
	n, err := repo.Count(ctx, gitstore.LogQuery{From: []gitstore.OID{c.ID}, FirstParent: call.Params.FirstParent}, maxCount)
	return sequenceForm{Count: n}, found(err, "Commit")
}

type commitPageParams struct {
	CommitRef
	httpapi.Paging
}

type requestForm struct {
	ID int64 `json:"id"`
}

// handleCommitRequests finds none: there are no merge requests yet.
func (s *Service) handleCommitRequests(ctx context.Context, call httpapi.Call[*project.Project, commitPageParams]) (httpapi.List[requestForm], error) {
	if _, _, err := s.commit(ctx, call.Subject, call.Params.SHA); err != nil {
		return httpapi.List[requestForm]{}, err
	}
	req, err := call.Params.Request()
	return httpapi.List[requestForm]{Request: req, Result: paging.Result[requestForm]{}}, err
}

// handleCommitSignature knows no signature yet: nobody checks them.
func (s *Service) handleCommitSignature(ctx context.Context, call httpapi.Call[*project.Project, CommitRef]) (httpapi.NoContent, error) {
	if _, _, err := s.commit(ctx, call.Subject, call.Params.SHA); err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, fault.NotFoundf("Signature")
}

type pickParams struct {
	CommitRef
	Branch string `param:"branch" required:"true" blank:"refuse" doc:"Branch to commit to"`
	DryRun bool   `param:"dry_run" doc:"Only try"`
}

type cherryPickParams struct {
	pickParams
	Message string `param:"message" bytes:"1048576" doc:"Message in place of the usual one"`
}

type dryRunForm struct {
	DryRun string `json:"dry_run"`
}

// pickReply is the commit that was made, or that it could be.
type pickReply = httpapi.Either[CommitForm, httpapi.DryRun[dryRunForm]]

func (s *Service) handleCherryPick(ctx context.Context, call httpapi.Call[*project.Project, cherryPickParams]) (pickReply, error) {
	in := call.Params
	return s.pick(ctx, call.Actor, call.Subject, Pick{Revision: in.SHA, Branch: in.Branch, Message: in.Message, DryRun: in.DryRun})
}

func (s *Service) handleRevert(ctx context.Context, call httpapi.Call[*project.Project, pickParams]) (pickReply, error) {
	in := call.Params
	return s.pick(ctx, call.Actor, call.Subject, Pick{Revision: in.SHA, Branch: in.Branch, DryRun: in.DryRun, Back: true})
}

func (s *Service) pick(ctx context.Context, by access.Actor, p *project.Project, k Pick) (reply pickReply, _ error) {
	c, err := s.PickOnto(ctx, by, p, k)
	switch {
	case err != nil:
		return reply, err
	case c == nil:
		return reply.Other(httpapi.DryRun[dryRunForm]{Body: dryRunForm{DryRun: "success"}}), nil
	}
	return reply.One(s.CommitForm(p, c)), nil
}

type actionParams struct {
	Action       string              `param:"action" required:"true" enum:"create,update,move,delete,chmod" doc:"What to do"`
	FilePath     string              `param:"file_path" required:"true" doc:"Path of the file"`
	PreviousPath string              `param:"previous_path" doc:"Path that the file had; for move"`
	Content      httpapi.Opt[string] `param:"content" bytes:"104857600" doc:"Content; for create, update and move"`
	Encoding     string              `param:"encoding" enum:"text,base64" default:"text" doc:"How the content is written"`
	LastCommitID string              `param:"last_commit_id" doc:"Last commit of the file that the client knows"`
	Exec         httpapi.Opt[bool]   `param:"execute_filemode" doc:"Whether the file is a program"`
}

type writeCommitParams struct {
	project.Ref
	Branch        string            `param:"branch" required:"true" blank:"refuse" doc:"Branch to commit to"`
	CommitMessage string            `param:"commit_message" required:"true" blank:"refuse" bytes:"1048576" doc:"Message"`
	Actions       []actionParams    `param:"actions" required:"true" doc:"Edits, all of which are made or none"`
	StartBranch   string            `param:"start_branch" doc:"Branch that a new branch begins at"`
	StartSHA      string            `param:"start_sha" doc:"Commit that a new branch begins at"`
	StartProject  string            `param:"start_project" doc:"ID or path of the project that the new branch begins in"`
	AuthorName    string            `param:"author_name" doc:"Name of the author"`
	AuthorEmail   string            `param:"author_email" doc:"Address of the author"`
	Stats         httpapi.Opt[bool] `param:"stats" doc:"Show how many lines changed; true when absent"`
	Force         bool              `param:"force" doc:"Let the branch begin anew at its start"`
}

// Validate checks what one parameter alone cannot tell.
func (p writeCommitParams) Validate() []string {
	var texts []string
	if p.StartBranch != "" && p.StartSHA != "" {
		texts = append(texts, "start_branch, start_sha are mutually exclusive")
	}
	for _, a := range p.Actions {
		switch {
		case a.Action == "update" && !a.Content.Given:
			texts = append(texts, "actions[content] is missing")
		case a.Action == "move" && a.PreviousPath == "":
			texts = append(texts, "actions[previous_path] is missing")
		default:
			continue
		}
		break
	}
	return texts
}

func (s *Service) handleWriteCommit(ctx context.Context, call httpapi.Call[*project.Project, writeCommitParams]) (detailForm, error) {
	in, p := call.Params, call.Subject
	d := CommitDraft{
		Branch: in.Branch, StartBranch: in.StartBranch, StartSHA: in.StartSHA, Force: in.Force, Message: in.CommitMessage,
		AuthorName: in.AuthorName, AuthorEmail: in.AuthorEmail,
	}
	for _, a := range in.Actions {
		d.Actions = append(d.Actions, Action{
			Do: a.Action, Path: a.FilePath, PreviousPath: a.PreviousPath, Content: a.Content.Ptr(), Base64: a.Encoding == "base64",
			LastCommit: a.LastCommitID, Exec: a.Exec.Ptr(),
		})
	}
	if in.StartProject != "" {
		start, _, err := s.deps.Projects.FindByRef(ctx, call.Actor, in.StartProject)
		if err != nil {
			return detailForm{}, err
		}
		if d.StartProject, err = s.inNetwork(ctx, call.Actor, p, start); err != nil {
			return detailForm{}, err
		}
	}
	c, err := s.WriteCommit(ctx, call.Actor, p, d)
	if err != nil {
		return detailForm{}, err
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return detailForm{}, err
	}
	return s.detailForm(ctx, p, repo, c, in.Stats.Or(true))
}

// inNetwork refuses to build on what has nothing to do with the project.
func (s *Service) inNetwork(ctx context.Context, by access.Actor, p, start *project.Project) (*project.Project, error) {
	same, err := s.sameNetwork(ctx, p.ID, start.ID)
	switch {
	case err != nil:
		return nil, err
	case !same:
		return nil, fault.WithReason(fault.Forbidden, "Project is not included in the fork network for %s", p.FullName())
	case !start.MayReadCode(by):
		return nil, fault.New(fault.Forbidden)
	}
	return start, nil
}
