package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"stithy/internal/gitstore"
	"stithy/internal/platform/postgres"
)

// Checked is a repository that was read from end to end.
type Checked struct {
	Repository
	Path   string // of its project
	Damage error  // nil where there is none
}

// toCheck is what is known of a repository before it is read.
type toCheck struct {
	Repository
	Path string
}

// checkers is how many repositories are read at a time: as many as gitstore
// gives to upkeep, so that people who work notice nothing.
const checkers = 2

// CheckAll reads every repository and reports each, one call at a time. It
// changes nothing. all is how many there were at the beginning.
func (s *Service) CheckAll(ctx context.Context, report func(c Checked, all int64)) error {
	all, err := postgres.Value[int64](ctx, s.deps.DB, sqlCountToCheck)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan Checked)
	var busy sync.WaitGroup
	var mu sync.Mutex
	for range checkers {
		busy.Go(func() {
			for c := range todo {
				there, err := s.check(ctx, &c)
				mu.Lock()
				switch {
				case err != nil:
					stop(err)
				case there:
					report(c, all)
				}
				mu.Unlock()
			}
		})
	}
	err = s.eachToCheck(ctx, func(c Checked) error {
		select {
		case todo <- c:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(todo)
	busy.Wait()
	return errors.Join(err, context.Cause(ctx))
}

// eachToCheck walks the rows, page by page.
func (s *Service) eachToCheck(ctx context.Context, visit func(Checked) error) error {
	const page = 100
	for after := int64(0); ; {
		rows, err := postgres.All[toCheck](ctx, s.deps.DB, sqlToCheck, after, page)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := visit(Checked{Repository: row.Repository, Path: row.Path}); err != nil {
				return err
			}
		}
		after = rows[len(rows)-1].ProjectID
	}
}

// check fills in what is wrong. A repository that was removed or moved meanwhile
// is not there. One that looks damaged is read again: a repack may have gone on.
func (s *Service) check(ctx context.Context, c *Checked) (there bool, err error) {
	for range 2 {
		if c.Damage, err = s.damage(ctx, &c.Repository); c.Damage == nil || err != nil {
			return true, err
		}
		if there, err = postgres.Value[bool](ctx, s.deps.DB, sqlStillThere, c.ProjectID, c.Storage, c.Generation); !there || err != nil {
			return there, err
		}
	}
	return true, nil
}

// damage is what is wrong with a repository; err says that nobody can tell.
func (s *Service) damage(ctx context.Context, r *Repository) (damage, err error) {
	repo := s.deps.Store.Repo(r.Key())
	switch err := repo.Check(ctx); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, gitstore.ErrNoRepo):
		return fmt.Errorf("%w: its folder, HEAD or refs are missing", gitstore.ErrCorrupt), nil
	case err != nil || r.Empty:
		return err, nil
	}
	refs, _, err := repo.Refs(ctx, gitstore.RefQuery{Limit: 1})
	if err != nil || len(refs) > 0 {
		return err, nil
	}
	// Somebody may have deleted the last branch.
	updates, err := postgres.Value[[]gitstore.RefUpdate](ctx, s.deps.DB, sqlLatestPush, r.ProjectID)
	if err != nil && !errors.Is(err, postgres.ErrNoRows) {
		return nil, err
	}
	kept := func(u gitstore.RefUpdate) bool { return u.New != gitstore.Zero }
	if errors.Is(err, postgres.ErrNoRows) || slices.ContainsFunc(updates, kept) {
		return fmt.Errorf("%w: it was pushed to, and no branch or tag is left", gitstore.ErrCorrupt), nil
	}
	return nil, nil
}
