package user

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

// MaxCustomAttributes keeps the list of one account, group or project to a size
// that is read at once.
const MaxCustomAttributes = 1000

// CustomAttribute is what administrators note down about an account, under a
// key of their choice.
type CustomAttribute struct {
	UserID    int64
	Key       string
	Value     string
	UpdatedAt time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (a CustomAttribute) ModifiedAt() time.Time { return a.UpdatedAt }

var errNoAttribute = fault.WithMessage(fault.NotFound, "404 Not found")

// CustomAttributes lists all of an account's attributes.
func (s *Service) CustomAttributes(ctx context.Context, userID int64) ([]CustomAttribute, error) {
	return postgres.All[CustomAttribute](ctx, s.deps.DB, sqlAttributes, userID, MaxCustomAttributes)
}

// FindCustomAttribute reads one attribute of an account.
func (s *Service) FindCustomAttribute(ctx context.Context, userID int64, key string) (CustomAttribute, error) {
	a, err := postgres.One[CustomAttribute](ctx, s.deps.DB, sqlAttribute, userID, key)
	if errors.Is(err, postgres.ErrNoRows) {
		return CustomAttribute{}, errNoAttribute
	}
	return a, err
}

// SetCustomAttribute adds an attribute to an account, or changes it.
func (s *Service) SetCustomAttribute(ctx context.Context, by access.Actor, userID int64, key, value string) error {
	if err := CheckCustomAttribute(key, value); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, userID)
		if err != nil {
			return err
		}
		others, err := postgres.Value[int](ctx, tx, sqlCountAttributes, u.ID, key)
		if err != nil {
			return err
		}
		if others >= MaxCustomAttributes {
			return fault.Field("base", "Maximum number of custom attributes (%d) exceeded", MaxCustomAttributes)
		}
		if err := s.setAttribute(ctx, tx, u.ID, key, value); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: CustomAttributeSet, By: by, User: u, Message: "Set custom attribute " + key})
	})
}

// CheckCustomAttribute says what is wrong with an attribute, whatever it is
// about.
func CheckCustomAttribute(key, value string) error {
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
	return f.Err()
}

// setAttribute writes an attribute that obeys the rules.
func (s *Service) setAttribute(ctx context.Context, tx pgx.Tx, userID int64, key, value string) error {
	_, err := tx.Exec(ctx, sqlPutAttribute, userID, key, value, s.deps.Clock.Now())
	return err
}

// RemoveCustomAttribute takes an attribute from its account.
func (s *Service) RemoveCustomAttribute(ctx context.Context, by access.Actor, a CustomAttribute) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, a.UserID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlDeleteAttribute, u.ID, a.Key)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoAttribute
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: CustomAttributeCut, By: by, User: u, Message: "Removed custom attribute " + a.Key})
	})
}
