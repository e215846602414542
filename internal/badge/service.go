package badge

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/repository"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Projects     *project.Service
	Owners       *owner.Service
	Repositories *repository.Service
	Clock        clock.Clock
}

// Service is the use cases of badges.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var errMissing = fault.WithMessage(fault.NotFound, "404 Not found")

// gone is an owner that went while something was to come to be in it.
var gone = owner.Gone("badges")

// Find reads a badge of an owner itself.
func (s *Service) Find(ctx context.Context, of bus.Entity, id int64) (*Badge, error) {
	namespaceID, projectID := owner.Keys(of)
	return found(postgres.One[Badge](ctx, s.deps.DB, sqlFind, namespaceID, projectID, id))
}

func found(b Badge, err error) (*Badge, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &b, err
}

// Create makes a badge of an owner.
func (s *Service) Create(ctx context.Context, by access.Actor, of bus.Entity, b Badge) (*Badge, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	namespaceID, projectID := owner.Keys(of)
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		b, err = postgres.One[Badge](ctx, tx, sqlInsert, namespaceID, projectID, b.Name, b.LinkURL, b.ImageURL, s.deps.Clock.Now())
		if err != nil {
			return gone.Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: of, Badge: b})
	})
	return &b, err
}

// Update changes a badge of an owner.
func (s *Service) Update(ctx context.Context, by access.Actor, of bus.Entity, id int64, c Change) (b *Badge, err error) {
	namespaceID, projectID := owner.Keys(of)
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if b, err = found(postgres.One[Badge](ctx, tx, sqlLock, namespaceID, projectID, id)); err != nil {
			return err
		}
		c.apply(b)
		if err := b.check(); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUpdate, b.ID, b.Name, b.LinkURL, b.ImageURL, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, In: of, Badge: *b})
	})
	return b, err
}

// Delete removes a badge of an owner.
func (s *Service) Delete(ctx context.Context, by access.Actor, of bus.Entity, id int64) error {
	namespaceID, projectID := owner.Keys(of)
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		b, err := found(postgres.One[Badge](ctx, tx, sqlDelete, namespaceID, projectID, id))
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, In: of, Badge: *b})
	})
}

// Values are what the placeholders of some badges stand for where a viewer looks at them: in a project, or in a group in the first of its projects
// that they see. What they may not read has no value.
func (s *Service) Values(ctx context.Context, viewer access.Actor, o *owner.Owner, badges ...Badge) (map[string]string, error) {
	p := o.Project
	if p == nil {
		first, err := s.deps.Projects.List(ctx, viewer, project.Filter{NamespaceID: o.Group.ID}, paging.Request{Page: 1, PerPage: 1})
		if err != nil || len(first.Items) == 0 {
			return nil, err
		}
		p = &first.Items[0]
	}
	values := map[string]string{"project_path": p.FullPath(), "project_title": p.Name, "project_name": p.Path, "project_id": strconv.FormatInt(p.ID, 10)}
	if !p.MayReadCode(viewer) {
		return values, nil
	}
	values["default_branch"] = s.deps.Projects.BranchOf(p)
	if !needs(CommitSHA, badges) {
		return values, nil
	}
	tip, err := s.tip(ctx, p)
	if tip != "" {
		values[CommitSHA] = tip
	}
	return values, err
}

// tip is the commit that the default branch of a project is at; none where there is no such branch, or no repository at the moment.
func (s *Service) tip(ctx context.Context, p *project.Project) (string, error) {
	empty, err := s.deps.Repositories.Empty(ctx, p)
	if err != nil || empty {
		return "", err
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if _, told := fault.Of(err); told {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	ref, err := repo.Ref(ctx, gitstore.Branches+s.deps.Projects.BranchOf(p))
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) {
		return "", nil
	}
	return string(ref.Target), err
}
