package event

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB       *postgres.DB
	Queue    *jobqueue.Queue
	Settings *setting.Service
	Users    *user.Service
	Projects *project.Service
	Clock    clock.Clock
}

// Service writes and lists activity events.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// insert writes an event, at the time of the instance, and that its project is active.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, e Event) error {
	now := s.deps.Clock.Now()
	if _, err := tx.Exec(ctx, sqlActive, e.ProjectID, now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlInsert, now, e.AuthorID, e.ProjectID, e.Action, e.TargetType, e.TargetID, e.Imported, e.PushAction,
		e.RefType, e.RefCount, e.CommitCount, e.CommitFrom, e.CommitTo, cut(e.Ref, maxRef), cut(e.Title, maxTitle), cut(e.Format, maxFormat))
	return err
}
