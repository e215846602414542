package note

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/repository"
	"stithy/internal/user"
)

// commitEndpoints are what is said about commits in ways of their own: at a position of the diff, and as comments, which are older than discussions.
func (s *Service) commitEndpoints() []httpapi.Endpoint {
	const inDiff = "A line is one that the diff of the commit shows."
	of := AtCommit{}.kind()
	return []httpapi.Endpoint{
		onCommit(s, httpapi.Spec{
			Route: "POST " + ofCommit + "/discussions", Needs: of.comment, Status: http.StatusCreated, Summary: "Begin a discussion about a commit.",
			MaxBody: maxRequest, Limit: "notes_create", Note: inDiff,
		}, s.handleDiscuss),
		onCommit(s, httpapi.Spec{
			Route: "GET " + ofCommit + "/comments", Needs: of.see, Summary: "List the comments on a commit.", Note: cutNote,
		}, s.handleComments),
		onCommit(s, httpapi.Spec{
			Route: "POST " + ofCommit + "/comments", Needs: of.comment, Status: http.StatusCreated, Summary: "Comment on a commit.",
			MaxBody: maxRequest, Limit: "notes_create",
		}, s.handleComment),
	}
}

func onCommit[P, R any](s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[AtCommit, P]) (R, error)) httpapi.Endpoint {
	return httpapi.Below(spec, func(ctx context.Context, a access.Actor, ref repository.CommitRef) (AtCommit, error) {
		return s.atCommit(ctx, a, spec.Needs, ref)
	}, handle)
}

// positionParams say what in a diff something is said about.
type positionParams struct {
	BaseSHA  string               `param:"base_sha" doc:"Parent of the commit"`
	StartSHA string               `param:"start_sha" doc:"Parent of the commit"`
	HeadSHA  string               `param:"head_sha" doc:"The commit"`
	Type     string               `param:"position_type" enum:"text,image,file" doc:"What it is: a line, a point of a picture or a file"`
	OldPath  string               `param:"old_path" doc:"Path of the file before the commit"`
	NewPath  string               `param:"new_path" doc:"Path of the file after it"`
	OldLine  httpapi.Opt[int]     `param:"old_line" doc:"Number of a line that went; both numbers of one that stayed"`
	NewLine  httpapi.Opt[int]     `param:"new_line" doc:"Number of a line that came"`
	Width    httpapi.Opt[int]     `param:"width" doc:"Width of the picture"`
	Height   httpapi.Opt[int]     `param:"height" doc:"Height of the picture"`
	X        httpapi.Opt[float64] `param:"x" doc:"Point in the picture, from the left"`
	Y        httpapi.Opt[float64] `param:"y" doc:"Point in the picture, from above"`
}

func (p positionParams) refs() DiffRefs {
	return DiffRefs{Base: p.BaseSHA, Start: p.StartSHA, Head: p.HeadSHA}
}

func (p positionParams) position() *Position {
	at := &Position{Type: PositionType(p.Type), OldPath: p.OldPath, NewPath: p.NewPath}
	switch at.Type {
	case OnText:
		at.OldLine, at.NewLine = p.OldLine.Ptr(), p.NewLine.Ptr()
	case OnImage:
		at.Width, at.Height, at.X, at.Y = p.Width.Ptr(), p.Height.Ptr(), p.X.Ptr(), p.Y.Ptr()
	}
	return at
}

type discussParams struct {
	bodyParams
	Position httpapi.Opt[positionParams] `param:"position" doc:"What in the diff it is about"`
}

// Validate wants a position that is told in full.
func (p discussParams) Validate() (texts []string) {
	if p.Position.Ptr() == nil {
		return nil
	}
	in := p.Position.Value
	for _, part := range []struct{ name, value string }{
		{"base_sha", in.BaseSHA}, {"start_sha", in.StartSHA}, {"head_sha", in.HeadSHA}, {"position_type", in.Type},
	} {
		if part.value == "" {
			texts = append(texts, "position["+part.name+"] is missing")
		}
	}
	return texts
}

func (s *Service) handleDiscuss(ctx context.Context, call httpapi.Call[AtCommit, discussParams]) (discussionForm, error) {
	d := Draft{Body: call.Params.Body, CreatedAt: call.Params.CreatedAt.Ptr(), Thread: true}
	var said *Said
	var err error
	if in := call.Params.Position.Ptr(); in != nil {
		said, err = s.Discuss(ctx, call.Actor, call.Subject, d, in.refs(), in.position())
	} else {
		said, err = s.Create(ctx, call.Actor, call.Subject, d)
	}
	return s.showBegun(ctx, call.Subject, said, err)
}

// positionForm is a position on the wire.
type positionForm struct {
	BaseSHA   string       `json:"base_sha"`
	StartSHA  string       `json:"start_sha"`
	HeadSHA   string       `json:"head_sha"`
	OldPath   string       `json:"old_path"`
	NewPath   string       `json:"new_path"`
	Type      PositionType `json:"position_type"`
	OldLine   *int         `json:"old_line"`
	NewLine   *int         `json:"new_line"`
	LineRange *string      `json:"line_range"` // where it is about several lines, which of a commit it never is
	Width     *int         `json:"width,omitempty"`
	Height    *int         `json:"height,omitempty"`
	X         *float64     `json:"x,omitempty"`
	Y         *float64     `json:"y,omitempty"`
}

func newPositionForm(refs DiffRefs, p *Position) *positionForm {
	return &positionForm{
		BaseSHA: refs.Base, StartSHA: refs.Start, HeadSHA: refs.Head, OldPath: p.OldPath, NewPath: p.NewPath, Type: p.Type, OldLine: p.OldLine, NewLine: p.NewLine,
		Width: p.Width, Height: p.Height, X: p.X, Y: p.Y,
	}
}

// commentForm is a note about a commit in the words of an older API.
type commentForm struct {
	Note      string       `json:"note"`
	Path      *string      `json:"path"`
	Line      *int         `json:"line"`
	LineType  *string      `json:"line_type"`
	Author    *user.Public `json:"author"`
	CreatedAt httpapi.Time `json:"created_at"`
}

func newCommentForm(n Note, author *user.Public) commentForm {
	form := commentForm{Note: n.Body, Author: author, CreatedAt: httpapi.Time(n.CreatedAt)}
	if n.Position != nil {
		form.Path = &n.Position.NewPath
		form.Line, form.LineType = n.Position.line()
	}
	return form
}

func (s *Service) handleComments(ctx context.Context, call httpapi.Call[AtCommit, discussionsParams]) (none httpapi.List[commentForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Actor, call.Subject, Comments, req)
	if err != nil {
		return none, err
	}
	authors := make([]*int64, len(page.Items))
	for n := range page.Items {
		authors[n] = page.Items[n].AuthorID
	}
	person, err := s.deps.Users.PublicForms(ctx, authors...)
	return httpapi.ListOf(req, page, func(n Note) commentForm { return newCommentForm(n, person(n.AuthorID)) }), err
}

type commentParams struct {
	Note     string              `param:"note" required:"true" bytes:"1048576" doc:"Text"`
	Path     httpapi.Opt[string] `param:"path" doc:"File that the comment is about"`
	Line     httpapi.Opt[int]    `param:"line" doc:"Line of the file"`
	LineType httpapi.Opt[string] `param:"line_type" enum:"new,old" doc:"Whether the line is one that came or one that went"`
}

// Validate checks that a place is told in full.
func (p commentParams) Validate() []string {
	if p.Path.Or("") == "" {
		return nil
	}
	var texts []string
	if !p.Line.Given {
		texts = append(texts, "line is missing")
	}
	if !p.LineType.Given {
		texts = append(texts, "line_type is missing")
	}
	return texts
}

// position is the place of the comment, nil where there is none.
func (p commentParams) position() *Position {
	path := p.Path.Or("")
	if path == "" {
		return nil
	}
	at := &Position{Type: OnText, NewPath: path}
	if p.LineType.Or("") == "old" {
		at.OldLine = p.Line.Ptr()
	} else {
		at.NewLine = p.Line.Ptr()
	}
	return at
}

func (s *Service) handleComment(ctx context.Context, call httpapi.Call[AtCommit, commentParams]) (commentForm, error) {
	n, err := s.Comment(ctx, call.Actor, call.Subject, call.Params.Note, call.Params.position())
	if err != nil {
		return commentForm{}, err
	}
	person, err := s.deps.Users.PublicForms(ctx, n.AuthorID)
	return newCommentForm(*n, person(n.AuthorID)), err
}
