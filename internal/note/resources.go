package note

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Resource says what of an issue changed.
type Resource string

const (
	State     Resource = "state"
	Labels    Resource = "label"
	Milestone Resource = "milestone"
)

// Change is what became of the state, a label or the milestone of an issue.
type Change struct {
	ID          int64
	IssueID     int64
	UserID      *int64
	Kind        Resource
	Action      string // closed or reopened; add or remove
	LabelID     *int64 // nil when it is gone
	MilestoneID *int64
	Closed      bool // the issue, after the change
	CreatedAt   time.Time
}

const (
	closed  = "closed"
	added   = "add"
	removed = "remove"
)

// noteResources keeps what became of the state, the labels and the milestone of an issue.
func (s *Service) noteResources(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	keep := func(kind Resource, action string, milestone *int64) error {
		_, err := tx.Exec(ctx, sqlInsertEvent, e.Issue.ID, actor(e.By), kind, action, nil, milestone, e.Issue.Closed, e.At)
		return err
	}
	var err error
	switch {
	case e.Before.Closed == e.Issue.Closed:
	case e.Commit != nil:
		err = s.noteClosing(ctx, tx, e)
	case e.Issue.Closed:
		err = keep(State, closed, nil)
	default:
		err = keep(State, "reopened", nil)
	}
	if err != nil {
		return err
	}
	for _, c := range []struct {
		action string
		ids    []int64
	}{{added, without(e.Issue.LabelIDs, e.Before.LabelIDs)}, {removed, without(e.Before.LabelIDs, e.Issue.LabelIDs)}} {
		if len(c.ids) == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, sqlInsertLabelEvents, e.Issue.ID, actor(e.By), c.action, c.ids, e.Issue.Closed, e.At); err != nil {
			return err
		}
	}
	if !differ(e.Before.MilestoneID, e.Issue.MilestoneID) {
		return nil
	}
	if e.Issue.MilestoneID == nil {
		return keep(Milestone, removed, e.Before.MilestoneID)
	}
	return keep(Milestone, added, e.Issue.MilestoneID)
}

// Changes reads one page of what became of an issue, the oldest first.
func (s *Service) Changes(ctx context.Context, at issue.Placed, kind Resource, req paging.Request) (paging.Result[Change], error) {
	l := postgres.From("resource_events e").Columns(eventColumns).Where("e.issue_id = ?", at.Issue.ID).Where("e.kind = ?", kind)
	return paging.Fetch[Change](ctx, s.deps.DB, l.Order(postgres.Key{Expr: "e.id"}), req, nil)
}

// FindChange reads one change of an issue.
func (s *Service) FindChange(ctx context.Context, at issue.Placed, kind Resource, id int64) (*Change, error) {
	c, err := postgres.One[Change](ctx, s.deps.DB, sqlFindEvent, id, at.Issue.ID, kind)
	if errors.Is(err, postgres.ErrNoRows) {
		err = fault.WithMessage(fault.NotFound, "404 Not found")
	}
	return &c, err
}
