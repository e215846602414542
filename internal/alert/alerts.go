package alert

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/grant"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Find reads an alert of a project by its number there.
func (s *Service) Find(ctx context.Context, projectID, iid int64) (*Alert, error) {
	return found(postgres.One[Alert](ctx, s.deps.DB, sqlAlert, projectID, iid))
}

// Payload is all that was sent when the alert came to be, as JSON.
func (s *Service) Payload(ctx context.Context, a *Alert) (string, error) {
	return postgres.Value[string](ctx, s.deps.DB, sqlPayload, a.ID)
}

// Past is a change of an alert's status.
type Past struct {
	UserID    *int64 // nobody where the sender resolved it
	OldStatus Status
	NewStatus Status
	CreatedAt time.Time
}

// History is how the status of an alert changed, the newest first.
func (s *Service) History(ctx context.Context, a *Alert) ([]Past, error) {
	return postgres.All[Past](ctx, s.deps.DB, sqlChanges, a.ID)
}

// Assignees are the people whom some alerts are given to, by the id of the alert.
func (s *Service) Assignees(ctx context.Context, alerts ...Alert) (map[int64][]int64, error) {
	ids := make([]int64, len(alerts))
	for i, a := range alerts {
		ids[i] = a.ID
	}
	rows, err := postgres.All[struct{ AlertID, UserID int64 }](ctx, s.deps.DB, sqlAssignees, ids)
	byAlert := map[int64][]int64{}
	for _, r := range rows {
		byAlert[r.AlertID] = append(byAlert[r.AlertID], r.UserID)
	}
	return byAlert, err
}

// Decision is what people make of an alert. What is nil stays.
type Decision struct {
	Status    *Status
	Assignees *[]int64
}

const maxAssignees = 20

var (
	errOpenAlready   = fault.WithMessage(fault.Rejected, "Cannot have multiple unresolved alerts")
	errNotAssignable = fault.Field("assignee_ids", "must be of people who have at least the Developer role in the project")
)

// Decide changes what people say about an alert.
func (s *Service) Decide(ctx context.Context, by access.Actor, p *project.Project, iid int64, d Decision) (a *Alert, err error) {
	if d.Assignees != nil && len(*d.Assignees) > maxAssignees {
		return nil, fault.Field("assignee_ids", "has too many people (maximum is %d)", maxAssignees)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if a, err = found(postgres.One[Alert](ctx, tx, sqlLockAlert, p.ID, iid)); err != nil {
			return err
		}
		if d.Status != nil && *d.Status != a.Status {
			if a, err = s.setStatus(ctx, tx, by, a, *d.Status); err != nil {
				return err
			}
		}
		if d.Assignees != nil {
			a, err = s.assign(ctx, tx, by, p, a, *d.Assignees)
		}
		return err
	})
	return a, err
}

// setStatus moves an alert. When it ends is known while it is resolved.
func (s *Service) setStatus(ctx context.Context, tx pgx.Tx, by access.Actor, a *Alert, to Status) (*Alert, error) {
	now := s.deps.Clock.Now()
	var endedAt *time.Time
	if to == Resolved {
		endedAt = &now
	}
	was := a.Status
	changed, err := found(postgres.One[Alert](ctx, tx, sqlSetStatus, a.ID, to, endedAt, now))
	if err != nil {
		return nil, postgres.Faults{"alerts_open": errOpenAlready}.Translate(err)
	}
	if _, err = tx.Exec(ctx, sqlChange, a.ID, by.ID(), was, to, now); err != nil {
		return nil, err
	}
	if to == Resolved {
		return changed, s.deps.Todos.EndAlert(ctx, tx, a.ID, now)
	}
	return changed, s.deps.Todos.ActAtAlert(ctx, tx, by, a.ID, now)
}

// assign gives an alert to some people and to nobody else. Those who did not have it find it on their lists.
func (s *Service) assign(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, a *Alert, ids []int64) (*Alert, error) {
	now := s.deps.Clock.Now()
	roles, err := grant.RolesOnProject(ctx, tx, ids, p.ID, now)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ids, func(id int64) bool { return roles[id] < access.Developer }) {
		return nil, errNotAssignable
	}
	taken, err := postgres.Values[int64](ctx, tx, sqlUnassign, a.ID, ids)
	if err != nil {
		return nil, err
	}
	given, err := postgres.Values[int64](ctx, tx, sqlAssign, a.ID, ids)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Todos.GiveAlert(ctx, tx, by, p.ID, a.ID, given, taken, now); err != nil {
		return nil, err
	}
	return found(postgres.One[Alert](ctx, tx, sqlTouch, a.ID, now))
}
