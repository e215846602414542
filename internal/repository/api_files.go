package repository

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

func (s *Service) fileEndpoints() []httpapi.Endpoint {
	const at = " /projects/{id}/repository/files/{file_path}"
	reading := []access.Scope{access.ScopeReadRepository}
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at, Needs: access.ReadCode, Scopes: reading, Summary: "Get a file.",
		}, s.handleFile),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "HEAD" + at, Needs: access.ReadCode, Scopes: reading, Summary: "Get what there is to know about a file, as headers.",
		}, s.handleFileHead),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/raw", Needs: access.ReadCode, Scopes: reading, Summary: "Get the content of a file.",
		}, s.handleRawFile),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/blame", Needs: access.ReadCode, Scopes: reading, Summary: "Get the commits that the lines of a file came with.",
		}, s.handleBlame),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "HEAD" + at + "/blame", Needs: access.ReadCode, Scopes: reading, Summary: "Get what there is to know about a file, as headers.",
		}, s.handleFileHead),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST" + at, Needs: access.PushCode, Status: http.StatusCreated, MaxBody: maxCommitBody, Summary: "Create a file.",
			ExtraRefusals: "what protects branches",
		}, s.handleCreateFile),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "PUT" + at, Needs: access.PushCode, MaxBody: maxCommitBody, Summary: "Change a file.", ExtraRefusals: "what protects branches",
		}, s.handleUpdateFile),
		httpapi.On(httpapi.Spec{
			Route: "DELETE" + at, Needs: access.PushCode, Summary: "Delete a file.", ExtraRefusals: "what protects branches",
		}, s.loadUndated, s.handleDeleteFile),
	}
}

type fileParams struct {
	project.Ref
	FilePath string `param:"file_path" doc:"URL-encoded path of the file"`
	Revision string `param:"ref" required:"true" blank:"refuse" doc:"Branch, tag or commit"`
}

type rawParams struct {
	project.Ref
	FilePath string `param:"file_path" doc:"URL-encoded path of the file"`
	Revision string `param:"ref" doc:"Branch, tag or commit; the default branch when empty"`
	LFS      bool   `param:"lfs" doc:"Get the large file in place of its pointer"`
}

// fileForm is a file with its content.
type fileForm struct {
	FileName      string       `json:"file_name"`
	FilePath      string       `json:"file_path"`
	Size          int64        `json:"size"`
	Encoding      string       `json:"encoding"`
	ContentSHA256 string       `json:"content_sha256"`
	Ref           string       `json:"ref"`
	BlobID        gitstore.OID `json:"blob_id"`
	CommitID      gitstore.OID `json:"commit_id"`
	LastCommitID  gitstore.OID `json:"last_commit_id"`
	Executable    bool         `json:"execute_filemode"`
	Content       string       `json:"content"`
}

// about is all but the content, which is only read for its digest when that
// is not known.
func (s *Service) about(ctx context.Context, f *File, digest string) (form fileForm, err error) {
	form = fileForm{
		FileName: f.Entry.Name(), FilePath: f.Entry.Path, Size: f.Size, Encoding: "base64", ContentSHA256: digest, Ref: f.Revision,
		BlobID: f.Entry.ID, CommitID: f.Commit, Executable: f.Entry.Mode == gitstore.ExecMode,
	}
	if digest == "" {
		if form.ContentSHA256, err = f.digest(ctx); err != nil {
			return form, err
		}
	}
	form.LastCommitID, err = f.last(ctx)
	return form, err
}

// headers are the same as headers. Some clients know them by one literal
// name, whatever the service calls itself.
func (s *Service) headers(f fileForm) map[string]string {
	all := map[string]string{}
	for name, value := range map[string]string{
		"File-Name": f.FileName, "File-Path": f.FilePath, "Size": strconv.FormatInt(f.Size, 10), "Encoding": f.Encoding,
		"Content-Sha256": f.ContentSHA256, "Ref": f.Ref, "Blob-Id": string(f.BlobID), "Commit-Id": string(f.CommitID),
		"Last-Commit-Id": string(f.LastCommitID), "Execute-Filemode": strconv.FormatBool(f.Executable),
	} {
		all[s.deps.Names.Header(name)] = value
		all["X-Gitlab-"+name] = value
	}
	return all
}

func (s *Service) handleFile(ctx context.Context, call httpapi.Call[*project.Project, fileParams]) (reply httpapi.WithHeaders[fileForm], _ error) {
	f, err := s.FindFile(ctx, call.Subject, call.Params.Revision, call.Params.FilePath)
	if err != nil {
		return reply, err
	}
	if f.Size > maxFileDocument {
		return reply, fault.New(fault.TooLarge)
	}
	content, err := f.Repo.Blob(ctx, f.Entry.ID, maxFileDocument)
	if err != nil {
		return reply, found(err, "File")
	}
	form, err := s.about(ctx, f, digestOf(content))
	if err != nil {
		return reply, err
	}
	form.Content = base64.StdEncoding.EncodeToString(content)
	return httpapi.WithHeaders[fileForm]{Body: form, Header: s.headers(form)}, nil
}

// maxFileDocument is how large a file may be that is shown inside of a
// document; larger ones are there raw.
const maxFileDocument = 50 << 20

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (s *Service) handleFileHead(ctx context.Context, call httpapi.Call[*project.Project, fileParams]) (httpapi.WithHeaders[httpapi.EmptyBody], error) {
	var none httpapi.WithHeaders[httpapi.EmptyBody]
	f, err := s.FindFile(ctx, call.Subject, call.Params.Revision, call.Params.FilePath)
	if err != nil {
		return none, err
	}
	form, err := s.about(ctx, f, "")
	none.Header = s.headers(form)
	return none, err
}

func (s *Service) handleRawFile(ctx context.Context, call httpapi.Call[*project.Project, rawParams]) (httpapi.Stream, error) {
	f, err := s.locate(ctx, call.Subject, call.Params.Revision, call.Params.FilePath)
	if err != nil {
		return httpapi.Stream{}, err
	}
	tag := string(f.Entry.ID)
	if call.Params.LFS {
		large, err := s.LargeFile(ctx, call.Subject, f)
		switch {
		case err != nil:
			return httpapi.Stream{}, err
		case large != nil && call.Has(large.OID):
			return httpapi.Unchanged(large.OID), nil
		case large != nil:
			return httpapi.Stream{Name: f.Entry.Name(), Size: large.Size, Tag: large.OID, Open: large.Open}, nil
		}
	}
	if call.Has(tag) {
		return httpapi.Unchanged(tag), nil
	}
	if err := f.measure(ctx); err != nil {
		return httpapi.Stream{}, err
	}
	reply := httpapi.Stream{Name: f.Entry.Name(), Size: f.Size, Tag: tag}
	digest := ""
	if f.Size <= smallBlob {
		content, err := f.Repo.Blob(ctx, f.Entry.ID, smallBlob)
		if err != nil {
			return reply, found(err, "File")
		}
		digest = digestOf(content)
		reply.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	} else {
		reply.Open = func(ctx context.Context) (io.ReadCloser, error) {
			_, body, err := f.Repo.OpenBlob(ctx, f.Entry.ID)
			return body, found(err, "File")
		}
	}
	form, err := s.about(ctx, f, digest)
	reply.Header = s.headers(form)
	return reply, err
}

type blameParams struct {
	fileParams
	Range httpapi.Opt[rangeParams] `param:"range" doc:"Lines to look at"`
}

type rangeParams struct {
	Start httpapi.Opt[int] `param:"start" doc:"First line, from 1"`
	End   httpapi.Opt[int] `param:"end" doc:"Last line"`
}

// Validate checks that a range has both ends in order.
func (p blameParams) Validate() []string {
	if !p.Range.Given {
		return nil
	}
	var texts []string
	start, end := p.Range.Value.Start.Ptr(), p.Range.Value.End.Ptr()
	for i, line := range []*int{start, end} {
		name := []string{"range[start]", "range[end]"}[i]
		switch {
		case line == nil:
			texts = append(texts, name+" is missing", name+" is empty")
		case *line < 1:
			texts = append(texts, name+" does not have a valid value")
		}
	}
	if len(texts) == 0 && *start > *end {
		texts = append(texts, "range[start] must be less than or equal to range[end]")
	}
	return texts
}

type blameForm struct {
	Commit CommitForm `json:"commit"`
	Lines  []string   `json:"lines"`
}

func (s *Service) handleBlame(ctx context.Context, call httpapi.Call[*project.Project, blameParams]) ([]blameForm, error) {
	in := call.Params
	f, err := s.FindFile(ctx, call.Subject, in.Revision, in.FilePath)
	if err != nil {
		return nil, err
	}
	lines := in.Range.Value
	hunks, err := f.Repo.Blame(ctx, f.Commit, f.Entry.Path, lines.Start.Or(0), lines.End.Or(0))
	if err != nil {
		return nil, found(err, "File")
	}
	var ids []gitstore.OID
	at := map[gitstore.OID]int{}
	for _, h := range hunks {
		if _, known := at[h.Commit]; !known {
			at[h.Commit] = len(ids)
			ids = append(ids, h.Commit)
		}
	}
	commits, err := f.Repo.Commits(ctx, ids)
	if err != nil {
		return nil, found(err, "Commit")
	}
	forms := make([]blameForm, len(hunks))
	for i, h := range hunks {
		forms[i] = blameForm{Commit: s.CommitForm(call.Subject, commits[at[h.Commit]]), Lines: h.Lines}
	}
	return forms, nil
}

// editParams are what every change of a file takes.
type editParams struct {
	project.Ref
	FilePath      string            `param:"file_path" doc:"URL-encoded path of the file"`
	Branch        string            `param:"branch" required:"true" blank:"refuse" doc:"Branch to commit to"`
	CommitMessage string            `param:"commit_message" required:"true" blank:"refuse" bytes:"1048576" doc:"Message"`
	StartBranch   string            `param:"start_branch" doc:"Branch that a new branch begins at"`
	AuthorName    string            `param:"author_name" doc:"Name of the author"`
	AuthorEmail   string            `param:"author_email" doc:"Address of the author"`
	LastCommitID  string            `param:"last_commit_id" doc:"Last commit of the file that the client knows"`
	Exec          httpapi.Opt[bool] `param:"execute_filemode" doc:"Whether the file is a program"`
}

func (p editParams) check() error {
	if gitstore.CheckPath(strings.Trim(p.FilePath, "/")) != nil {
		return errFilePath
	}
	return nil
}

func (p editParams) draft(do string) CommitDraft {
	return CommitDraft{
		Branch: p.Branch, StartBranch: p.StartBranch, Message: p.CommitMessage, AuthorName: p.AuthorName, AuthorEmail: p.AuthorEmail,
		Actions: []Action{{Do: do, Path: p.FilePath, LastCommit: p.LastCommitID, Exec: p.Exec.Ptr()}},
	}
}

type contentParams struct {
	editParams
	Content  string `param:"content" required:"true" bytes:"104857600" doc:"Content"`
	Encoding string `param:"encoding" enum:"text,base64" default:"text" doc:"How the content is written"`
}

type editForm struct {
	FilePath string `json:"file_path"`
	Branch   string `json:"branch"`
}

func (s *Service) edit(ctx context.Context, by access.Actor, p *project.Project, in contentParams, d CommitDraft) (editForm, error) {
	if err := in.check(); err != nil {
		return editForm{}, err
	}
	d.Actions[0].Content, d.Actions[0].Base64 = &in.Content, in.Encoding == "base64"
	_, err := s.WriteCommit(ctx, by, p, d)
	return editForm{FilePath: strings.Trim(in.FilePath, "/"), Branch: in.Branch}, err
}

func (s *Service) handleCreateFile(ctx context.Context, call httpapi.Call[*project.Project, contentParams]) (editForm, error) {
	return s.edit(ctx, call.Actor, call.Subject, call.Params, call.Params.draft("create"))
}

func (s *Service) handleUpdateFile(ctx context.Context, call httpapi.Call[*project.Project, contentParams]) (editForm, error) {
	d := call.Params.draft("update")
	d.Stale = "You are attempting to update a file that has changed since you started editing it."
	return s.edit(ctx, call.Actor, call.Subject, call.Params, d)
}

// undated is a project whose own date says nothing about what is deleted.
type undated struct{ project *project.Project }

// Target is that of the project.
func (u undated) Target() access.Target { return u.project.Target() }

func (s *Service) loadUndated(ctx context.Context, a access.Actor, in editParams) (undated, error) {
	p, moved, err := s.deps.Projects.FindByRef(ctx, a, in.ID)
	if err == nil && moved {
		err = &httpapi.MovedError{Param: "id", To: strconv.FormatInt(p.ID, 10)}
	}
	return undated{p}, err
}

func (s *Service) handleDeleteFile(ctx context.Context, call httpapi.Call[undated, editParams]) (httpapi.NoContent, error) {
	if err := call.Params.check(); err != nil {
		return httpapi.NoContent{}, err
	}
	d := call.Params.draft("delete")
	d.Stale = "You are attempting to delete a file that has been previously updated."
	_, err := s.WriteCommit(ctx, call.Actor, call.Subject.project, d)
	return httpapi.NoContent{}, err
}
