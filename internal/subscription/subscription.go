// Package subscription owns who wants to hear about what: a label now, issues and merge requests when there are any. It does not own the
// subjects, nor who may see them; a room asks it about subjects that it found. Subscriptions go with their subject by a trigger of the
// subject's table.
//
// Tables: subscriptions.
package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kind says what a subject is.
type Kind string

const (
	Label Kind = "label" // of a group or project
	Issue Kind = "issue"
)

// Set gives a person a subscription, and reports whether they had none.
func Set(ctx context.Context, tx pgx.Tx, kind Kind, subjectID, userID int64, now time.Time) (changed bool, err error) {
	return changes(tx.Exec(ctx, sqlSet, kind, subjectID, userID, now))
}

// SetAll gives some people a subscription.
func SetAll(ctx context.Context, tx pgx.Tx, kind Kind, subjectID int64, userIDs []int64, now time.Time) error {
	_, err := tx.Exec(ctx, sqlSetAll, kind, subjectID, userIDs, now)
	return err
}

// Unset takes a person's subscription away, and reports whether they had one.
func Unset(ctx context.Context, tx pgx.Tx, kind Kind, subjectID, userID int64) (changed bool, err error) {
	return changes(tx.Exec(ctx, sqlUnset, kind, subjectID, userID))
}

// Merge gives whoever is subscribed to one of some subjects a subscription to the one that takes their place.
func Merge(ctx context.Context, tx pgx.Tx, kind Kind, from []int64, into int64) error {
	_, err := tx.Exec(ctx, sqlMerge, kind, from, into)
	return err
}

func changes(done interface{ RowsAffected() int64 }, err error) (bool, error) {
	return done.RowsAffected() > 0, err
}
