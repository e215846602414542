package project

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// held is a project that nobody else changes until the transaction ends, in a
// namespace that stays where it is.
type held struct {
	*Project
	home   *group.Group
	source *access.Visibility // of the project that it was forked from, if any
}

// hold locks a project, with those of its forks that are more open than it is
// to be.
func (s *Service) hold(ctx context.Context, tx pgx.Tx, id int64, to access.Visibility) (held, error) {
	for range 5 {
		namespace, err := postgres.Value[int64](ctx, tx, sqlNamespaceOf, id)
		if err != nil {
			return held{}, missing(err)
		}
		home, err := s.deps.Groups.Parent(ctx, tx, namespace)
		if fault.Is(err, fault.NotFound) {
			return held{}, fault.NotFoundf("Project")
		}
		if err != nil {
			return held{}, err
		}
		h, err := s.lockWithForks(ctx, tx, id, to)
		if h.home = home; err != nil || h.NamespaceID == home.ID {
			return h, err
		}
		// It was transferred in between.
	}
	return held{}, errHeld
}

// lock keeps others from changing a project, wherever it stands, and its
// source.
func (s *Service) lock(ctx context.Context, tx pgx.Tx, id int64) (held, error) {
	return s.lockWithForks(ctx, tx, id, access.Public)
}

func (s *Service) lockWithForks(ctx context.Context, tx pgx.Tx, id int64, to access.Visibility) (held, error) {
	if err := lockTied(ctx, tx, sqlLockTied, sqlTied, []int64{id}, to); err != nil {
		return held{}, err
	}
	p, err := postgres.One[Project](ctx, tx, sqlKnown, id)
	h := held{Project: &p}
	if err != nil || p.ForkedFromID == nil {
		return h, missing(err)
	}
	source, err := postgres.Value[access.Visibility](ctx, tx, sqlSourceOpenness, *p.ForkedFromID)
	switch {
	case err == nil:
		h.source = &source
	case !errors.Is(err, postgres.ErrNoRows):
		return h, err
	}
	return h, nil
}

var errHeld = fault.WithMessage(fault.Conflict, "409 Conflict: Resource lock")

// lockTied locks projects, their sources, and those of their forks that are
// more open than to. Every transaction locks in one order: the tree, all rows of
// projects that it needs by their ids, and last those of marked projects, which
// only removals touch.
func lockTied(ctx context.Context, tx pgx.Tx, lock, list string, of any, to access.Visibility) error {
	for range 5 {
		err := pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
			locked, err := postgres.Values[int64](ctx, sp, lock, of, to)
			if err != nil {
				return err
			}
			now, err := postgres.Values[int64](ctx, sp, list, of, to)
			for _, id := range now {
				if _, found := slices.BinarySearch(locked, id); !found {
					return errTiedAnew // in between
				}
			}
			return err
		})
		if !errors.Is(err, errTiedAnew) {
			return err
		}
	}
	return errHeld
}

var errTiedAnew = errors.New("a project got a source or a fork while it was locked")

func missing(err error) error {
	if errors.Is(err, postgres.ErrNoRows) {
		return fault.NotFoundf("Project")
	}
	return err
}

// Update changes a project. Who may change which attribute is for the caller
// to check.
func (s *Service) Update(ctx context.Context, by access.Actor, id int64, a Attributes) (*Project, error) {
	moved := false // the default branch
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		to := access.Public
		set(&to, a.Visibility)
		p, err := s.hold(ctx, tx, id, to)
		if err != nil {
			return err
		}
		before := *p.Project
		a.apply(p.Project)
		set(&p.Visibility, a.Visibility)
		var f fault.Fields
		if p.Name != before.Name || p.Path != before.Path {
			checkNames(p.Project, &f)
		}
		checkSettings(p.Project, &f)
		checkFeatures(p.Project, a.Features, &f)
		if p.Visibility != before.Visibility {
			s.checkVisibility(by, p, &f)
		}
		if s.defaultBranch(p.Project) != s.defaultBranch(&before) {
			if err := s.checkBranch(ctx, p.Project, &f); err != nil {
				return err
			}
			moved = true
		}
		if err := f.Err(); err != nil {
			return err
		}
		if p.Name != before.Name || p.Path != before.Path {
			if err := s.checkTaken(ctx, tx, p.home, p.Project); err != nil {
				return err
			}
		}
		if err := s.write(ctx, tx, by, &before, p.Project); err != nil {
			return err
		}
		if err := setAvatar(ctx, tx, p.Project, a.Avatar); err != nil {
			return err
		}
		return s.publishChanges(ctx, tx, by, &before, p.Project)
	})
	if err != nil {
		return nil, err
	}
	p, err := s.Find(ctx, by, id)
	if err == nil && moved {
		// A job does it if this does not.
		if err := s.deps.Code.FollowHead(ctx, p); err != nil {
			s.deps.Log.Warn("changing the default branch", "project_id", id, "error", err)
		}
	}
	return p, err
}

func (s *Service) checkVisibility(by access.Actor, p held, f *fault.Fields) {
	if p.Visibility > p.home.Visibility {
		f.Add("visibility_level", "%s is not allowed in a %s group.", p.Visibility, p.home.Visibility)
	}
	if p.source != nil && p.Visibility > *p.source {
		f.Add("visibility_level", "%s is not allowed since the fork source project has lower visibility.", p.Visibility)
	}
	s.checkRestricted(by, p.Visibility, f)
}

// write stores a changed project, with its path where that changed. Forks
// that are now more open than their source are cut from it.
func (s *Service) write(ctx context.Context, tx pgx.Tx, by access.Actor, before, p *Project) error {
	p.UpdatedAt = s.deps.Clock.Now()
	_, err := tx.Exec(ctx, sqlUpdate, p.ID, p.NamespaceID, p.Name, p.Path, p.Description, p.Visibility, p.DefaultBranch, p.Topics,
		p.Features, p.Settings, p.UpdatedAt)
	if err != nil {
		return postgres.Faults{"projects_name_key": errNameTaken}.Translate(err)
	}
	if before.NamespaceID != p.NamespaceID || !strings.EqualFold(before.Path, p.Path) {
		if err := s.deps.Groups.Retire(ctx, tx, nil, &p.ID); err != nil {
			return err
		}
		if err := s.deps.Groups.Claim(ctx, tx, by, p.NamespaceID, p.Path, nil, &p.ID); err != nil {
			return err
		}
	}
	if p.Visibility >= before.Visibility {
		return nil
	}
	cut, err := tx.Exec(ctx, sqlCutForks, p.ID, p.Visibility)
	if err != nil || cut.RowsAffected() == 0 {
		return err
	}
	_, err = tx.Exec(ctx, sqlAddForks, p.ID, -cut.RowsAffected())
	return err
}

// SetArchived makes a project read-only, or lets it change again. Saying so
// twice is no error.
func (s *Service) SetArchived(ctx context.Context, by access.Actor, id int64, archived bool) (*Project, error) {
	e := Event{Action: WasUnarchived, By: by, Message: "Project unarchived"}
	if archived {
		e.Action, e.Message = WasArchived, "Project archived"
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, id)
		if err != nil || p.Archived == archived {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSetArchived, id, archived, s.deps.Clock.Now()); err != nil {
			return err
		}
		e.Project = p.Project
		return s.deps.Bus.Publish(ctx, tx, e)
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, by, id)
}
