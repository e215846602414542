package repository

import (
	"context"

	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/user"
)

type commentForm struct {
	Note      string       `json:"note"`
	Path      *string      `json:"path"`
	Line      *int         `json:"line"`
	LineType  *string      `json:"line_type"`
	Author    *user.Public `json:"author"`
	CreatedAt httpapi.Time `json:"created_at"`
}

// authors reads the accounts behind a page.
func authors[T any](ctx context.Context, s *Service, page []T, of func(T) *int64) (func(*int64) *user.Public, error) {
	var ids []int64
	for _, item := range page {
		if id := of(item); id != nil {
			ids = append(ids, *id)
		}
	}
	briefs, err := s.deps.Users.Briefs(ctx, ids...)
	return func(id *int64) *user.Public {
		if id == nil {
			return nil
		}
		brief, ok := briefs[*id]
		if !ok {
			return nil
		}
		return new(s.deps.Users.PublicForm(brief))
	}, err
}

func newCommentForm(c Comment, author *user.Public) commentForm {
	return commentForm{Note: c.Note, Path: c.Path, Line: c.Line, LineType: c.LineType, Author: author, CreatedAt: httpapi.Time(c.CreatedAt)}
}

func (s *Service) handleComments(ctx context.Context, call httpapi.Call[*project.Project, commitPageParams]) (httpapi.List[commentForm], error) {
	var none httpapi.List[commentForm]
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	_, c, err := s.commit(ctx, call.Subject, call.Params.SHA)
	if err != nil {
		return none, err
	}
	res, err := s.Comments(ctx, call.Subject, c.ID, req)
	if err != nil {
		return none, err
	}
	author, err := authors(ctx, s, res.Items, func(c Comment) *int64 { return c.AuthorID })
	return httpapi.ListOf(req, res, func(c Comment) commentForm { return newCommentForm(c, author(c.AuthorID)) }), err
}

type commentParams struct {
	commitParams
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

func (s *Service) handleComment(ctx context.Context, call httpapi.Call[*project.Project, commentParams]) (commentForm, error) {
	in := call.Params
	_, c, err := s.commit(ctx, call.Subject, in.SHA)
	if err != nil {
		return commentForm{}, err
	}
	draft := Comment{Note: in.Note}
	if in.Path.Or("") != "" {
		draft.Path, draft.Line, draft.LineType = in.Path.Ptr(), in.Line.Ptr(), in.LineType.Ptr()
	}
	made, err := s.AddComment(ctx, call.Actor, call.Subject, c.ID, draft)
	if err != nil {
		return commentForm{}, err
	}
	author, err := authors(ctx, s, []Comment{made}, func(c Comment) *int64 { return c.AuthorID })
	return newCommentForm(made, author(made.AuthorID)), err
}
