package repository

import (
	"context"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Comment is what somebody said about a commit, or about a line of it.
type Comment struct {
	ID        int64
	Note      string
	Path      *string
	Line      *int
	LineType  *string // "new" or "old"
	AuthorID  *int64
	CreatedAt time.Time
}

// maxNote is how long a comment may be, in bytes.
const maxNote = 1_000_000

// AddComment keeps a comment.
func (s *Service) AddComment(ctx context.Context, by access.Actor, p *project.Project, commit gitstore.OID, c Comment) (Comment, error) {
	switch {
	case strings.TrimSpace(c.Note) == "":
		return c, fault.Field("note", "can't be blank")
	case len(c.Note) > maxNote:
		return c, fault.Field("note", "is too long (maximum is %d characters)", maxNote)
	case c.Path != nil && gitstore.CheckPath(*c.Path) != nil:
		return c, fault.WithMessage(fault.BadParams, "path should be a valid file path")
	}
	c, err := postgres.One[Comment](ctx, s.deps.DB, sqlInsertComment,
		p.ID, commit, c.Note, c.Path, c.Line, c.LineType, by.ID(), s.deps.Clock.Now())
	return c, postgres.Faults{"commit_comments_project_id_fkey": fault.NotFoundf("Project")}.Translate(err)
}
