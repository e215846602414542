package todo

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
)

// Target is what a to-do is about.
type Target string

const (
	Issues Target = "Issue"
	Alerts Target = "AlertManagement::Alert"
)

// alertForm is an alert as a to-do about it shows it.
type alertForm struct {
	IID   int    `json:"iid"`
	Title string `json:"title"`
}

// GiveAlert adds a to-do for each of some people whom an actor gives an alert to, except the actor, and marks those of others as done whom it was taken from. It is
// called in the transaction that does so, for people who may read the alert.
func (s *Service) GiveAlert(ctx context.Context, tx pgx.Tx, by access.Actor, projectID, alertID int64, given, taken []int64, now time.Time) error {
	if len(taken) > 0 {
		if _, err := tx.Exec(ctx, sqlFinishAlert, alertID, taken, now); err != nil {
			return err
		}
	}
	if given = without(given, []int64{by.ID()}); len(given) == 0 || !by.SignedIn() {
		return nil
	}
	_, err := tx.Exec(ctx, sqlAddAlert, given, projectID, alertID, by.ID(), Assigned, now)
	return err
}

// ActAtAlert marks the to-dos of an actor for an alert as done, because they did something about it.
func (s *Service) ActAtAlert(ctx context.Context, tx pgx.Tx, by access.Actor, alertID int64, now time.Time) error {
	_, err := tx.Exec(ctx, sqlFinishAlert, alertID, []int64{by.ID()}, now)
	return err
}

// EndAlert marks all to-dos for an alert as done: it is over.
func (s *Service) EndAlert(ctx context.Context, tx pgx.Tx, alertID int64, now time.Time) error {
	_, err := tx.Exec(ctx, sqlEndAlert, alertID, now)
	return err
}

// ofAlert is the condition that a to-do called t is about an alert that somebody may read: what access.Holds says of ReadAlerts.
const ofAlert = `t.alert_id is not null and exists (select 1 from projects q where q.id = t.project_id and not q.removal
	and (?::boolean or q.namespace_id = any(?::bigint[]) or q.id = any(?::bigint[])))`

// ofAlerts are its arguments.
func (s *Service) ofAlerts(ctx context.Context, by access.Actor) ([]any, error) {
	in, err := s.deps.Projects.StandingFrom(ctx, by, access.Developer)
	return []any{by.Admin() || by.Auditor(), in.Namespaces, in.Projects}, err
}

// AlertPath is where people read an alert, below its project.
const AlertPath = "/-/alert_management/%d/details"
