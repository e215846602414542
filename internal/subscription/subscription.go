// Package subscription owns who wants to hear about what, and who said that they do not: labels, issues, the pipelines of a project, the project
// itself. It does not own the subjects, nor who may see them; a room asks it about subjects that it found. Both go with their subject by a
// trigger of the subject's table.
//
// Tables: subscriptions, unsubscriptions.
package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// Kind says what a subject is.
type Kind string

const (
	Label Kind = "label" // of a group or project
	Issue Kind = "issue"

	// These can be declined only. The subject is the project.
	Pipelines Kind = "pipelines"
	Project   Kind = "project"
	Alerts    Kind = "alerts"
)

// Set gives a person a subscription, and reports whether they had none.
func Set(ctx context.Context, tx pgx.Tx, kind Kind, subjectID, userID int64, now time.Time) (changed bool, err error) {
	if _, err := tx.Exec(ctx, sqlUndecline, kind, subjectID, userID); err != nil {
		return false, err
	}
	return changes(tx.Exec(ctx, sqlSet, kind, subjectID, userID, now))
}

// SetAll gives some people a subscription, but those who said that they want none.
func SetAll(ctx context.Context, tx pgx.Tx, kind Kind, subjectID int64, userIDs []int64, now time.Time) error {
	_, err := tx.Exec(ctx, sqlSetAll, kind, subjectID, userIDs, now)
	return err
}

// Unset takes a person's subscription away, and reports whether they had one. Until they have one again they are told nothing, even if they take
// part in the subject.
func Unset(ctx context.Context, tx pgx.Tx, kind Kind, subjectID, userID int64, now time.Time) (changed bool, err error) {
	if _, err := tx.Exec(ctx, sqlDecline, kind, subjectID, userID, now); err != nil {
		return false, err
	}
	return changes(tx.Exec(ctx, sqlUnset, kind, subjectID, userID))
}

// Undecline takes back that a person wants to hear nothing.
func Undecline(ctx context.Context, q postgres.Querier, kind Kind, subjectID, userID int64) error {
	_, err := q.Exec(ctx, sqlUndecline, kind, subjectID, userID)
	return err
}

// Declined are those of some people who said that they want to hear nothing of a subject.
func Declined(ctx context.Context, q postgres.Querier, kind Kind, subjectID int64, userIDs []int64) ([]int64, error) {
	return postgres.Values[int64](ctx, q, sqlDeclined, kind, subjectID, userIDs)
}

// Merge gives whoever is subscribed to one of some subjects a subscription to the one that takes their place.
func Merge(ctx context.Context, tx pgx.Tx, kind Kind, from []int64, into int64) error {
	_, err := tx.Exec(ctx, sqlMerge, kind, from, into)
	return err
}

func changes(done interface{ RowsAffected() int64 }, err error) (bool, error) {
	return done.RowsAffected() > 0, err
}
