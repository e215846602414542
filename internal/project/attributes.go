package project

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

// CustomAttribute is what administrators note down about a project, under a
// key of their choice.
type CustomAttribute struct {
	ProjectID int64
	Key       string
	Value     string
	UpdatedAt time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (a CustomAttribute) ModifiedAt() time.Time { return a.UpdatedAt }

var errNoAttribute = fault.WithMessage(fault.NotFound, "404 Not found")

// CustomAttributes lists all of a project's attributes.
func (s *Service) CustomAttributes(ctx context.Context, projectID int64) ([]CustomAttribute, error) {
	return postgres.All[CustomAttribute](ctx, s.deps.DB, sqlAttributes, projectID, user.MaxCustomAttributes)
}

// FindCustomAttribute reads one attribute of a project.
func (s *Service) FindCustomAttribute(ctx context.Context, projectID int64, key string) (CustomAttribute, error) {
	a, err := postgres.One[CustomAttribute](ctx, s.deps.DB, sqlAttribute, projectID, key)
	if errors.Is(err, postgres.ErrNoRows) {
		return CustomAttribute{}, errNoAttribute
	}
	return a, err
}

// SetCustomAttribute adds an attribute to a project, or changes it.
func (s *Service) SetCustomAttribute(ctx context.Context, by access.Actor, projectID int64, key, value string) error {
	if err := user.CheckCustomAttribute(key, value); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, projectID)
		if err != nil {
			return err
		}
		others, err := postgres.Value[int](ctx, tx, sqlCountAttributes, p.ID, key)
		if err != nil {
			return err
		}
		if others >= user.MaxCustomAttributes {
			return fault.Field("base", "Maximum number of custom attributes (%d) exceeded", user.MaxCustomAttributes)
		}
		if _, err := tx.Exec(ctx, sqlPutAttribute, p.ID, key, value, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: AttributeSet, By: by, Project: p.Project, Message: "Set custom attribute " + key})
	})
}

// RemoveCustomAttribute takes an attribute from its project.
func (s *Service) RemoveCustomAttribute(ctx context.Context, by access.Actor, a CustomAttribute) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, a.ProjectID)
		if err != nil {
			return err
		}
		cut, err := tx.Exec(ctx, sqlDeleteAttribute, p.ID, a.Key)
		if err != nil {
			return err
		}
		if cut.RowsAffected() == 0 {
			return errNoAttribute
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: AttributeCut, By: by, Project: p.Project, Message: "Removed custom attribute " + a.Key})
	})
}
