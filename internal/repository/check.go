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
	Key    gitstore.Key
	Path   string // of its project; of a repository of texts its number
	Damage error  // nil where there is none
}

// toCheck is what is known of a repository before it is read.
type toCheck struct {
	ID         int64 // of its project, or its own
	Storage    string
	Generation int64
	Empty      bool
	Path       string
	of         *checkable
}

// checkable is one of the two kinds of repositories.
type checkable struct {
	count, page, stillThere, latestPush string // statements
	key                                 func(toCheck) gitstore.Key
}

var checkables = []checkable{
	{
		sqlCountToCheck, sqlToCheck, sqlStillThere, sqlLatestPush,
		func(c toCheck) gitstore.Key { return gitstore.KeyOf(c.Storage, c.ID, c.Generation) },
	},
	{
		sqlCountTextsToCheck, sqlTextsToCheck, sqlTextStillThere, sqlLatestTextPush,
		func(c toCheck) gitstore.Key { return gitstore.TextKeyOf(c.Storage, c.ID) },
	},
}

// checkers is how many repositories are read at a time: as many as gitstore
// gives to upkeep, so that people who work notice nothing.
const checkers = 2

// CheckAll reads every repository and reports each, one call at a time. It
// changes nothing. all is how many there were at the beginning.
func (s *Service) CheckAll(ctx context.Context, report func(c Checked, all int64)) error {
	var all int64
	for _, kind := range checkables {
		count, err := postgres.Value[int64](ctx, s.deps.DB, kind.count)
		if err != nil {
			return err
		}
		all += count
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan toCheck)
	var busy sync.WaitGroup
	var mu sync.Mutex
	for range checkers {
		busy.Go(func() {
			for c := range todo {
				damage, there, err := s.check(ctx, c)
				mu.Lock()
				switch {
				case err != nil:
					stop(err)
				case there:
					report(Checked{Key: c.of.key(c), Path: c.Path, Damage: damage}, all)
				}
				mu.Unlock()
			}
		})
	}
	err := s.eachToCheck(ctx, func(c toCheck) error {
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
func (s *Service) eachToCheck(ctx context.Context, visit func(toCheck) error) error {
	const page = 100
	for n := range checkables {
		for after := int64(0); ; {
			rows, err := postgres.All[toCheck](ctx, s.deps.DB, checkables[n].page, after, page)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				row.of = &checkables[n]
				if err := visit(row); err != nil {
					return err
				}
			}
			after = rows[len(rows)-1].ID
		}
	}
	return nil
}

// check finds what is wrong. A repository that was removed or moved meanwhile
// is not there. One that looks damaged is read again: a repack may have gone on.
func (s *Service) check(ctx context.Context, c toCheck) (damage error, there bool, err error) {
	for range 2 {
		if damage, err = s.damage(ctx, c); damage == nil || err != nil {
			return damage, true, err
		}
		if there, err = postgres.Value[bool](ctx, s.deps.DB, c.of.stillThere, c.ID, c.Storage, c.Generation); !there || err != nil {
			return damage, there, err
		}
	}
	return damage, true, nil
}

// damage is what is wrong with a repository; err says that nobody can tell.
func (s *Service) damage(ctx context.Context, c toCheck) (damage, err error) {
	repo := s.deps.Store.Repo(c.of.key(c))
	switch err := repo.Check(ctx); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, gitstore.ErrNoRepo):
		return fmt.Errorf("%w: its folder, HEAD or refs are missing", gitstore.ErrCorrupt), nil
	case err != nil || c.Empty:
		return err, nil
	}
	refs, _, err := repo.Refs(ctx, gitstore.RefQuery{Limit: 1})
	if err != nil || len(refs) > 0 {
		return err, nil
	}
	// Somebody may have deleted the last branch.
	updates, err := postgres.Value[[]gitstore.RefUpdate](ctx, s.deps.DB, c.of.latestPush, c.ID)
	if err != nil && !errors.Is(err, postgres.ErrNoRows) {
		return nil, err
	}
	kept := func(u gitstore.RefUpdate) bool { return u.New != gitstore.Zero }
	if errors.Is(err, postgres.ErrNoRows) || slices.ContainsFunc(updates, kept) {
		return fmt.Errorf("%w: it was pushed to, and no branch or tag is left", gitstore.ErrCorrupt), nil
	}
	return nil, nil
}
