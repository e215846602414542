package project

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Star marks a project as a favourite of the actor, Unstar ends that. Either
// answers NotModified when it is so already.
func (s *Service) Star(ctx context.Context, by access.Actor, id int64) (*Project, error) {
	return s.star(ctx, by, id, 1, sqlStar, id, by.ID(), s.deps.Clock.Now())
}

// Unstar undoes Star.
func (s *Service) Unstar(ctx context.Context, by access.Actor, id int64) (*Project, error) {
	return s.star(ctx, by, id, -1, sqlUnstar, id, by.ID())
}

func (s *Service) star(ctx context.Context, by access.Actor, id int64, add int, sql string, args ...any) (*Project, error) {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// A star refers to the project and so locks it against a new name or namespace. Who moves the project holds its row and waits
		// for that lock, so the row comes first.
		if _, err := tx.Exec(ctx, sqlLockStars, id); err != nil {
			return err
		}
		changed, err := tx.Exec(ctx, sql, args...)
		if err != nil {
			return err
		}
		if changed.RowsAffected() == 0 {
			return fault.New(fault.NotModified)
		}
		_, err = tx.Exec(ctx, sqlAddStars, id, add)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, by, id)
}
