package board

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Settings    *setting.Service
	Users       *user.Service
	Projects    *project.Service
	Owners      *owner.Service
	Labels      *label.Service
	Milestones  *milestone.Service
	Issues      *issue.Service
	Clock       clock.Clock
	ExternalURL string
}

// Service is the use cases of boards.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var errMissing = fault.WithMessage(fault.NotFound, "404 Not found")

// enterprise reports whether lists may stand for milestones and people, and groups have several boards.
func (s *Service) enterprise() bool { return s.deps.Settings.Instance().Enterprise() }

// Several reports whether an owner may have more than one board.
func (s *Service) Several(of bus.Entity) bool { return of.Kind == bus.OfProject || s.enterprise() }

// ByMoreThanLabels reports whether lists may stand for milestones and people.
func (s *Service) ByMoreThanLabels() bool { return s.enterprise() }

// Find reads a board of an owner.
func (s *Service) Find(ctx context.Context, of bus.Entity, id int64) (*Board, error) {
	namespaceID, projectID := owner.Keys(of)
	return found(postgres.One[Board](ctx, s.deps.DB, sqlFind, namespaceID, projectID, id))
}

func found(b Board, err error) (*Board, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &b, err
}

// List reads one page of the boards of an owner, the oldest first.
func (s *Service) List(ctx context.Context, of bus.Entity, req paging.Request) (paging.Result[Board], error) {
	l := postgres.From("boards b").Columns(columns).Order(postgres.Key{Expr: "b.id"})
	owner.Where(l.Where, of, "b.namespace_id = ?", "b.project_id = ?")
	return paging.Fetch[Board](ctx, s.deps.DB, l, req, nil)
}

// First reads the oldest board of an owner. If there is none, it returns an unsaved default board with ID 0.
func (s *Service) First(ctx context.Context, of bus.Entity) (*Board, error) {
	namespaceID, projectID := owner.Keys(of)
	b, err := found(postgres.One[Board](ctx, s.deps.DB, sqlFirst, namespaceID, projectID))
	if errors.Is(err, errMissing) {
		return &Board{NamespaceID: namespaceID, ProjectID: projectID, Name: DefaultName}, nil
	}
	return b, err
}

// Ensure makes the first board of an owner that has none yet.
func (s *Service) Ensure(ctx context.Context, by access.Actor, of bus.Entity) (*Board, error) {
	return s.create(ctx, by, of, DefaultName, func(tx pgx.Tx) (*Board, error) {
		namespaceID, projectID := owner.Keys(of)
		b, err := found(postgres.One[Board](ctx, tx, sqlFirst, namespaceID, projectID))
		if errors.Is(err, errMissing) {
			return nil, nil
		}
		return b, err
	})
}

// Create makes a board of an owner.
func (s *Service) Create(ctx context.Context, by access.Actor, of bus.Entity, name string) (*Board, error) {
	return s.create(ctx, by, of, name, func(pgx.Tx) (*Board, error) { return nil, nil })
}

// create inserts a board, unless existing returns one to use. The lock on the top-level group's names makes counting against maxBoards safe.
func (s *Service) create(
	ctx context.Context, by access.Actor, of bus.Entity, name string, existing func(pgx.Tx) (*Board, error),
) (*Board, error) {
	b := &Board{Name: name}
	if err := b.check(); err != nil {
		return nil, err
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := owner.LockNames(ctx, tx, of); err != nil {
			return err
		}
		there, err := existing(tx)
		if err != nil || there != nil {
			b = there
			return err
		}
		return s.insert(ctx, tx, by, of, b)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (s *Service) insert(ctx context.Context, tx pgx.Tx, by access.Actor, of bus.Entity, b *Board) error {
	namespaceID, projectID := owner.Keys(of)
	count, err := postgres.Value[int](ctx, tx, sqlCount, namespaceID, projectID)
	if err != nil {
		return err
	}
	if count >= maxBoards {
		return unsaved("base", fmt.Sprintf("a %s has %d boards at the most: delete one first", owner.Noun(of), maxBoards))
	}
	if *b, err = postgres.One[Board](ctx, tx, sqlInsert, namespaceID, projectID, b.Name, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.publish(ctx, tx, Created, by, of, b)
}

func (s *Service) publish(ctx context.Context, tx pgx.Tx, act Action, by access.Actor, of bus.Entity, b *Board) error {
	return s.deps.Bus.Publish(ctx, tx, Event{Action: act, By: by, In: of, Board: *b})
}

// lock reads a board of an owner that nobody else changes from now on, nor its lists.
func lock(ctx context.Context, tx pgx.Tx, of bus.Entity, id int64) (*Board, error) {
	namespaceID, projectID := owner.Keys(of)
	return found(postgres.One[Board](ctx, tx, sqlLock, namespaceID, projectID, id))
}

// Update changes a board of an owner.
func (s *Service) Update(ctx context.Context, by access.Actor, of bus.Entity, id int64, c Change) (*Board, error) {
	var b *Board
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		var err error
		if b, err = lock(ctx, tx, of, id); err != nil {
			return err
		}
		c.apply(b)
		if err := b.check(); err != nil {
			return err
		}
		b.UpdatedAt = s.deps.Clock.Now()
		if _, err := tx.Exec(ctx, sqlUpdate, b.ID, b.Name, b.HideBacklogList, b.HideClosedList, b.UpdatedAt); err != nil {
			return err
		}
		return s.publish(ctx, tx, Updated, by, of, b)
	})
	return b, err
}

// Delete removes a board of an owner with its lists.
func (s *Service) Delete(ctx context.Context, by access.Actor, of bus.Entity, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		b, err := lock(ctx, tx, of, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDelete, b.ID); err != nil {
			return err
		}
		return s.publish(ctx, tx, Deleted, by, of, b)
	})
}
