// Package attribute keeps custom attributes: what administrators note down about accounts, groups and projects, under keys of their
// choice. The rooms of those things own the tables and say what follows from a change.
package attribute

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
)

// Max keeps the attributes of one thing to a number that is read at once.
const Max = 1000

const maxLength = 255

// Attribute is one note about one thing.
type Attribute struct {
	OwnerID   int64 // the thing that it is about
	Key       string
	Value     string
	UpdatedAt time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (a Attribute) ModifiedAt() time.Time { return a.UpdatedAt }

// Statements are the SQL for one table.
type Statements struct {
	Among  string // of the things $1, at most $2, by thing and key: owner_id, key, value, updated_at
	Find   string // of the thing $1 with the key $2: the same columns
	Others string // how many the thing $1 has beside the key $2
	Put    string // on the thing $1 under the key $2 the value $3, at the time $4
	Delete string // from the thing $1 the key $2
}

// Store keeps the attributes of one kind of thing. Lock keeps others from changing a thing until the transaction ends; Changed
// is told, in that transaction, what happened to it.
type Store[T any] struct {
	DB      *postgres.DB
	Clock   clock.Clock
	SQL     Statements
	ID      func(T) int64
	Lock    func(ctx context.Context, tx pgx.Tx, id int64) (T, error)
	Changed func(ctx context.Context, tx pgx.Tx, by access.Actor, thing T, c Change) error
}

// Change is what happened to an attribute.
type Change struct {
	Key     string
	Removed bool
}

// Message is the change in words.
func (c Change) Message() string {
	if c.Removed {
		return "Removed custom attribute " + c.Key
	}
	return "Set custom attribute " + c.Key
}

var errMissing = fault.WithMessage(fault.NotFound, "404 Not found")

// Among reads the attributes of some things, by thing, in the order of their keys.
func (s *Store[T]) Among(ctx context.Context, ids ...int64) (map[int64][]Attribute, error) {
	byThing := make(map[int64][]Attribute, len(ids))
	if len(ids) == 0 {
		return byThing, nil
	}
	all, err := postgres.All[Attribute](ctx, s.DB, s.SQL.Among, ids, Max*len(ids))
	for _, a := range all {
		byThing[a.OwnerID] = append(byThing[a.OwnerID], a)
	}
	return byThing, err
}

// Find reads one attribute of a thing.
func (s *Store[T]) Find(ctx context.Context, id int64, key string) (Attribute, error) {
	a, err := postgres.One[Attribute](ctx, s.DB, s.SQL.Find, id, key)
	if errors.Is(err, postgres.ErrNoRows) {
		err = errMissing
	}
	return a, err
}

// Set gives a thing an attribute, or changes it.
func (s *Store[T]) Set(ctx context.Context, by access.Actor, id int64, key, value string) error {
	if err := check(key, value); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
		thing, err := s.Lock(ctx, tx, id)
		if err != nil {
			return err
		}
		others, err := postgres.Value[int](ctx, tx, s.SQL.Others, id, key)
		if err != nil {
			return err
		}
		if others >= Max {
			return fault.Field("base", "Maximum number of custom attributes (%d) exceeded", Max)
		}
		if err := s.Put(ctx, tx, id, key, value); err != nil {
			return err
		}
		return s.Changed(ctx, tx, by, thing, Change{Key: key})
	})
}

// Put writes an attribute that obeys the rules, of a thing that is locked, and tells nobody.
func (s *Store[T]) Put(ctx context.Context, tx pgx.Tx, id int64, key, value string) error {
	_, err := tx.Exec(ctx, s.SQL.Put, id, key, value, s.Clock.Now())
	return err
}

// Remove takes an attribute from its thing.
func (s *Store[T]) Remove(ctx context.Context, by access.Actor, a Attribute) error {
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
		thing, err := s.Lock(ctx, tx, a.OwnerID)
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, s.SQL.Delete, a.OwnerID, a.Key)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errMissing
		}
		return s.Changed(ctx, tx, by, thing, Change{Key: a.Key, Removed: true})
	})
}

// maxFilter is by how many attributes a list is filtered: each is one more table for the planner.
const maxFilter = 10

// CheckFilter refuses a filter of a list that asks for too many attributes.
func CheckFilter(wanted map[string]string) error {
	if len(wanted) > maxFilter {
		return fault.WithReason(fault.Rejected, "custom_attributes: at most %d can be asked for at once", maxFilter)
	}
	return nil
}

func check(key, value string) error {
	var f fault.Fields
	if utf8.RuneCountInString(key) > maxLength {
		f.Add("key", "is too long (maximum is %d characters)", maxLength)
	}
	switch {
	case strings.TrimSpace(value) == "":
		f.Add("value", "can't be blank")
	case utf8.RuneCountInString(value) > maxLength:
		f.Add("value", "is too long (maximum is %d characters)", maxLength)
	}
	return f.Err()
}
