package issue

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Marks are labels, people and milestones by which a board sorts issues into lists.
type Marks struct{ LabelIDs, AssigneeIDs, MilestoneIDs []int64 }

func (m Marks) any() bool { return len(m.LabelIDs)+len(m.AssigneeIDs)+len(m.MilestoneIDs) > 0 }

// Sorting is what becomes of an issue that is put into a list of a board.
type Sorting struct {
	Close         *bool // or reopen
	Put, Take     Marks
	After, Before int64 // issues that it comes to stand between; 0 for none
}

var (
	errLocked  = fault.WithMessage(fault.Unprocessable, "The issue is closed and its discussion is locked: unlock it before it is reopened")
	errForeign = fault.WithMessage(fault.Unprocessable, "The list stands for what an issue of this project cannot have")
)

// Sort changes what a board sorts an issue by, and where it stands, in one transaction.
func (s *Service) Sort(ctx context.Context, by access.Actor, p *project.Project, iid int, c Sorting) (*Issue, error) {
	assignees, err := s.assignable(ctx, p, c.Put.AssigneeIDs)
	if err == nil && len(assignees) < len(c.Put.AssigneeIDs) {
		err = errForeign
	}
	if err == nil {
		err = s.checkNeighbours(ctx, by, c)
	}
	if err != nil {
		return nil, err
	}
	var i *Issue
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if err := s.checkFits(ctx, tx, p, c.Put); err != nil {
			return err
		}
		// Positions of a project are given by one at a time: the counter stands for them.
		if _, err := tx.Exec(ctx, sqlAtLeast, p.ID, 0); err != nil {
			return faults.Translate(err)
		}
		if i, err = Lock(ctx, tx, by, p, iid); err != nil {
			return err
		}
		if !RightsOf(by, p, i).Plan {
			return fault.New(fault.Forbidden)
		}
		before := *i
		if err := i.sort(c, by.ID(), s.deps.Clock.Now()); err != nil {
			return err
		}
		if err := s.save(ctx, tx, Event{Action: Updated, By: by, Project: p, Before: before}, i, nil); err != nil {
			return err
		}
		return settle(ctx, tx, i, c.After, c.Before)
	})
	return i, err
}

// sort applies what a list of a board stands for.
func (i *Issue) sort(c Sorting, byID int64, now time.Time) error {
	i.LabelIDs = labelChange{add: c.Put.LabelIDs, remove: c.Take.LabelIDs}.of(i.LabelIDs)
	i.AssigneeIDs = labelChange{add: c.Put.AssigneeIDs, remove: c.Take.AssigneeIDs}.of(i.AssigneeIDs)
	if len(i.AssigneeIDs) > maxAssignees {
		return fault.Field("assignees", "are too many (maximum is %d)", maxAssignees)
	}
	if i.MilestoneID != nil && slices.Contains(c.Take.MilestoneIDs, *i.MilestoneID) {
		i.MilestoneID = nil
	}
	if len(c.Put.MilestoneIDs) > 0 {
		i.MilestoneID = &c.Put.MilestoneIDs[0]
	}
	if c.Close != nil {
		if i.setClosed(*c.Close, byID, now); i.Closed != *c.Close {
			return errLocked
		}
	}
	return nil
}

// checkNeighbours refuses to put an issue beside one that the actor may not read: that is as good as missing.
func (s *Service) checkNeighbours(ctx context.Context, by access.Actor, c Sorting) error {
	ids := slices.DeleteFunc([]int64{c.After, c.Before}, func(id int64) bool { return id == 0 })
	if len(ids) == 0 {
		return nil
	}
	read, err := s.ReadableAmong(ctx, by, ids)
	if err == nil && len(read) < len(ids) {
		err = ErrPlace
	}
	return err
}

// checkFits refuses labels and milestones that a project neither has nor inherits.
func (s *Service) checkFits(ctx context.Context, tx pgx.Tx, p *project.Project, m Marks) error {
	lineage, err := owner.Lineage(ctx, tx, bus.Entity{Kind: bus.OfProject, ID: p.ID})
	if err != nil {
		return err
	}
	labels, err := s.deps.Labels.Among(ctx, tx, m.LabelIDs)
	if err != nil {
		return err
	}
	for _, id := range m.LabelIDs {
		l, there := labels[id]
		if !there || (l.ProjectID != nil && *l.ProjectID != p.ID) || (l.NamespaceID != nil && !slices.Contains(lineage, *l.NamespaceID)) {
			return errForeign
		}
	}
	for _, id := range m.MilestoneIDs {
		if _, err := s.deps.Milestones.FindFor(ctx, tx, p.ID, id); fault.Is(err, fault.NotFound) {
			return errForeign
		} else if err != nil {
			return err
		}
	}
	return nil
}

// settle puts a locked issue between others, which may be of other projects where a board shows those of a group.
func settle(ctx context.Context, tx pgx.Tx, i *Issue, after, before int64) error {
	if after == 0 && before == 0 {
		return nil
	}
	across, err := postgres.Value[bool](ctx, tx, sqlAcross, []int64{after, before}, i.ProjectID)
	if err != nil {
		return err
	}
	if across {
		return putAcross(ctx, tx, i, after, before)
	}
	return put(ctx, tx, i, after, before, true)
}

// putAcross gives a locked issue a position between issues of several projects, whose positions are compared as they are. Where there is no room
// between two, it shares the place of one: what is equal is ordered by id. Nobody moves the issues of other projects.
func putAcross(ctx context.Context, tx pgx.Tx, i *Issue, after, before int64) (err error) {
	var low, high int64
	if after != 0 {
		if low, err = positionOf(ctx, tx, after); err != nil {
			return err
		}
		high = low + 2
	}
	if before != 0 {
		if high, err = positionOf(ctx, tx, before); err != nil {
			return err
		}
		if after == 0 {
			low = high - 2
		}
	}
	if low > high {
		return ErrPlace
	}
	_, err = tx.Exec(ctx, sqlPlace, i.ID, low+(high-low)/2)
	return err
}
