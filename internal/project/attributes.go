package project

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// maxAttributes keeps the list of one project to a size that is read at once.
const maxAttributes = 1000

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

var errNoAttribute = fault.Say(fault.NotFound, "404 Not found")

// CustomAttributes lists all of a project's attributes.
func (s *Service) CustomAttributes(ctx context.Context, projectID int64) ([]CustomAttribute, error) {
	return postgres.All[CustomAttribute](ctx, s.DB, sqlAttributes, projectID, maxAttributes)
}

// FindCustomAttribute reads one attribute of a project.
func (s *Service) FindCustomAttribute(ctx context.Context, projectID int64, key string) (CustomAttribute, error) {
	a, err := postgres.One[CustomAttribute](ctx, s.DB, sqlAttribute, projectID, key)
	if errors.Is(err, postgres.ErrNoRows) {
		return CustomAttribute{}, errNoAttribute
	}
	return a, err
}

// SetCustomAttribute adds an attribute to a project, or changes it.
func (s *Service) SetCustomAttribute(ctx context.Context, by access.Actor, projectID int64, key, value string) error {
	var f fault.Fields
	if utf8.RuneCountInString(key) > 255 {
		f.Add("key", "is too long (maximum is 255 characters)")
	}
	switch {
	case strings.TrimSpace(value) == "":
		f.Add("value", "can't be blank")
	case utf8.RuneCountInString(value) > 255:
		f.Add("value", "is too long (maximum is 255 characters)")
	}
	if err := f.Err(); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, projectID)
		if err != nil {
			return err
		}
		others, err := postgres.Value[int](ctx, tx, sqlCountAttributes, p.ID, key)
		if err != nil {
			return err
		}
		if others >= maxAttributes {
			return fault.Field("base", "Maximum number of custom attributes (%d) exceeded", maxAttributes)
		}
		if _, err := tx.Exec(ctx, sqlPutAttribute, p.ID, key, value, s.Clock.Now()); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, tx, Event{What: AttributeSet, By: by, Project: p.Project, Message: "Set custom attribute " + key})
	})
}

// RemoveCustomAttribute takes an attribute from its project.
func (s *Service) RemoveCustomAttribute(ctx context.Context, by access.Actor, a CustomAttribute) error {
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
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
		return s.Bus.Publish(ctx, tx, Event{What: AttributeCut, By: by, Project: p.Project, Message: "Removed custom attribute " + a.Key})
	})
}
