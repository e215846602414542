package group

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// CustomAttribute is what administrators note down about a group, under a key
// of their choice.
type CustomAttribute struct {
	NamespaceID int64
	Key         string
	Value       string
	UpdatedAt   time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (a CustomAttribute) ModifiedAt() time.Time { return a.UpdatedAt }

var errNoAttribute = fault.WithMessage(fault.NotFound, "404 Not found")

// CustomAttributes lists the attributes of some groups, by group and key.
func (s *Service) CustomAttributes(ctx context.Context, ids ...int64) ([]CustomAttribute, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return postgres.All[CustomAttribute](ctx, s.deps.DB, sqlAttributes, ids, user.MaxCustomAttributes*len(ids))
}

// FindCustomAttribute reads one attribute of a group.
func (s *Service) FindCustomAttribute(ctx context.Context, groupID int64, key string) (CustomAttribute, error) {
	a, err := postgres.One[CustomAttribute](ctx, s.deps.DB, sqlAttribute, groupID, key)
	if errors.Is(err, postgres.ErrNoRows) {
		return CustomAttribute{}, errNoAttribute
	}
	return a, err
}

// SetCustomAttribute adds an attribute to a group, or changes it.
func (s *Service) SetCustomAttribute(ctx context.Context, by access.Actor, groupID int64, key, value string) error {
	if err := user.CheckCustomAttribute(key, value); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		g, err := s.lock(ctx, tx, groupID)
		if err != nil {
			return err
		}
		others, err := postgres.Value[int](ctx, tx, sqlCountAttributes, g.ID, key)
		if err != nil {
			return err
		}
		if others >= user.MaxCustomAttributes {
			return fault.Field("base", "Maximum number of custom attributes (%d) exceeded", user.MaxCustomAttributes)
		}
		if _, err := tx.Exec(ctx, sqlPutAttribute, g.ID, key, value, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: CustomAttributeSet, By: by, Group: g, Message: "Set custom attribute " + key})
	})
}

// RemoveCustomAttribute takes an attribute from its group.
func (s *Service) RemoveCustomAttribute(ctx context.Context, by access.Actor, a CustomAttribute) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		g, err := s.lock(ctx, tx, a.NamespaceID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlDeleteAttribute, g.ID, a.Key)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoAttribute
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: CustomAttributeCut, By: by, Group: g, Message: "Removed custom attribute " + a.Key})
	})
}

// lock keeps others from changing one group until the transaction ends.
func (s *Service) lock(ctx context.Context, tx pgx.Tx, id int64) (*Group, error) {
	return found(postgres.One[Group](ctx, tx, sqlLock, id))
}
