package issue

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/setting"
)

// Change is what an issue becomes. What is nil stays; a pointer to nil clears.
type Change struct {
	Title       *string
	Description **string
	Close       *bool // or reopen

	// The rest takes Rights.Plan.
	Type             *Type
	Severity         *Severity
	Confidential     *bool
	DiscussionLocked *bool
	AssigneeIDs      *[]int64
	Labels           *[]string
	AddLabels        []string
	RemoveLabels     []string
	MilestoneID      **int64
	DueDate          **time.Time
	Weight           **int
	HealthStatus     **string

	assign, unassign []int64     // from quick actions; already checked by assignable
	labels           labelChange // labels from quick actions, already resolved to ids

	UpdatedAt *time.Time // for owners
}

// Update changes an issue. What the actor may not change stays as it is.
func (s *Service) Update(ctx context.Context, by access.Actor, p *project.Project, iid int, c Change) (*Issue, error) {
	if c.AssigneeIDs != nil {
		assignees, err := s.assignable(ctx, p, *c.AssigneeIDs)
		if err != nil {
			return nil, err
		}
		c.AssigneeIDs = &assignees
	}
	var i *Issue
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		i, err = s.update(ctx, tx, by, p, iid, c)
		return err
	})
	return i, err
}

// update is Update in a transaction, for a change whose assignees were checked by assignable.
func (s *Service) update(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, iid int, c Change) (*Issue, error) {
	var labels labelChange
	if access.Holds(by, access.PlanIssues, p.Target()) {
		var err error
		if labels, err = s.changedLabels(ctx, tx, by, p, c); err != nil { // names are locked before issues, by everyone
			return nil, err
		}
	}
	i, err := Lock(ctx, tx, by, p, iid)
	if err != nil {
		return nil, err
	}
	rights := RightsOf(by, p, i)
	if !rights.Edit {
		return nil, fault.New(fault.Forbidden)
	}
	before := *i
	if err := s.apply(ctx, tx, by, p, i, c, labels, rights.Plan); err != nil {
		return nil, err
	}
	return i, s.save(ctx, tx, Event{Action: Updated, By: by, Project: p, Issue: *i, Before: before}, i, c.UpdatedAt)
}

// SetClosed closes or reopens an issue in a transaction, for an actor who may.
func (s *Service) SetClosed(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, iid int, closed bool) error {
	_, err := s.update(ctx, tx, by, p, iid, Change{Close: &closed})
	return err
}

// CloseByCommit closes a locked issue, for an actor who may edit it, because the message of a commit says so. One that is closed stays as it is.
func (s *Service) CloseByCommit(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, i *Issue, c Commit) error {
	before := *i
	i.setClosed(true, by.ID(), s.deps.Clock.Now())
	return s.save(ctx, tx, Event{Action: Updated, By: by, Project: p, Before: before, Commit: &c}, i, nil)
}

// apply makes the changes to an issue in memory. plans says whether the actor may change more than its text and state.
func (s *Service) apply(
	ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, i *Issue, c Change, labels labelChange, plans bool,
) error {
	if c.Title != nil {
		i.Title = *c.Title
	}
	if c.Description != nil {
		i.Description = *c.Description
	}
	if c.Close != nil {
		i.setClosed(*c.Close, by.ID(), s.deps.Clock.Now())
	}
	if plans {
		i.AssigneeIDs = s.assigneesAfter(i.AssigneeIDs, c)
		i.LabelIDs = labels.of(i.LabelIDs)
		if err := s.plan(ctx, tx, p, i, c); err != nil {
			return err
		}
	}
	return i.check()
}

// assigneesAfter returns whom an issue is assigned to after a change. On the free tier an issue has one assignee: of several quick actions that assign, the
// last one counts.
func (s *Service) assigneesAfter(now []int64, c Change) []int64 {
	if c.AssigneeIDs != nil {
		now = *c.AssigneeIDs
	}
	now = without(now, c.unassign)
	if len(c.assign) == 0 {
		return now
	}
	if !s.enterprise() {
		return c.assign[len(c.assign)-1:]
	}
	all := slices.Concat(now, c.assign)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxAssignees)]
}

// plan applies what takes Rights.Plan. What the tier of the instance does not have, and types that people do not choose, stay as they are.
func (s *Service) plan(ctx context.Context, tx pgx.Tx, p *project.Project, i *Issue, c Change) (err error) {
	if c.Type != nil && i.Type != Task && (*c.Type == Plain || *c.Type == Incident || (*c.Type == TestCase && s.deps.Settings.Instance().Tier == setting.Ultimate)) {
		i.Type = *c.Type
	}
	if c.Severity != nil && i.Type == Incident {
		i.Severity = *c.Severity
	}
	if c.Confidential != nil {
		i.Confidential = *c.Confidential
	}
	if c.DiscussionLocked != nil {
		i.DiscussionLocked = c.DiscussionLocked
	}
	if c.DueDate != nil {
		i.DueDate = *c.DueDate
	}
	if c.Weight != nil && s.enterprise() {
		i.Weight = *c.Weight
	}
	if c.HealthStatus != nil && s.enterprise() {
		i.HealthStatus = *c.HealthStatus
	}
	if c.MilestoneID != nil {
		i.MilestoneID, err = s.milestone(ctx, tx, p, *c.MilestoneID)
	}
	return err
}

// setClosed closes or reopens an issue. One whose discussion is locked stays closed.
func (i *Issue) setClosed(closed bool, byID int64, now time.Time) {
	switch {
	case closed == i.Closed:
	case closed:
		i.Closed, i.ClosedAt, i.ClosedByID = true, &now, &byID
	case i.DiscussionLocked == nil || !*i.DiscussionLocked:
		i.Closed, i.ClosedAt, i.ClosedByID, i.MovedToID, i.DuplicateOfID = false, nil, nil, nil, nil
	}
}

// labelChange is what becomes of the labels of an issue.
type labelChange struct {
	set         *[]int64 // nil leaves them
	add, remove []int64
}

// of is which labels an issue has after the change.
func (c labelChange) of(now []int64) []int64 {
	if c.set != nil {
		now = *c.set
	}
	all := without(slices.Concat(now, c.add), c.remove)
	slices.Sort(all)
	return slices.Compact(all)
}

// changedLabels finds the labels that a change names. New names become labels of the project, for an actor who may make labels.
func (s *Service) changedLabels(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, c Change) (l labelChange, err error) {
	l = c.labels
	if c.Labels != nil {
		set, err := s.findOrCreateLabels(ctx, tx, by, p, *c.Labels)
		if err != nil {
			return l, err
		}
		l.set = &set
	}
	add, err := s.findOrCreateLabels(ctx, tx, by, p, c.AddLabels)
	if err != nil {
		return l, err
	}
	l.add = slices.Concat(l.add, add)
	if len(c.RemoveLabels) > 0 {
		remove, err := s.findLabels(ctx, tx, p, c.RemoveLabels)
		if err != nil {
			return l, err
		}
		l.remove = slices.Concat(l.remove, remove)
	}
	return l, nil
}

// save writes a locked issue if it differs from e.Before, and publishes the event with the issue as it is now.
func (s *Service) save(ctx context.Context, tx pgx.Tx, e Event, i *Issue, updatedAt *time.Time) error {
	if len(i.LabelIDs) > maxLabels {
		return fault.Field("labels", "are too many (maximum is %d)", maxLabels)
	}
	if i.equal(&e.Before) && (updatedAt == nil || !maySetTimes(e.By, e.Project)) {
		return nil
	}
	e.At = s.deps.Clock.Now()
	i.UpdatedAt = e.At
	if updatedAt != nil && maySetTimes(e.By, e.Project) {
		i.UpdatedAt = *updatedAt
	}
	if _, err := tx.Exec(ctx, sqlUpdate, i.ID, i.Title, i.Description, i.Type, i.Severity, i.Closed, i.ClosedAt, i.ClosedByID, i.Confidential,
		i.DiscussionLocked, i.MilestoneID, i.DueDate, i.Weight, i.HealthStatus, i.TimeEstimate, i.TimeSpent, i.Tasks, i.TasksDone, i.MovedToID,
		i.DuplicateOfID, i.UpdatedAt); err != nil {
		return faults.Translate(err)
	}
	if err := saveIDs(ctx, tx, i.ID, e.Before.AssigneeIDs, i.AssigneeIDs, sqlAssign, sqlUnassign); err != nil {
		return err
	}
	if err := saveLabels(ctx, tx, i, e.Before.LabelIDs); err != nil {
		return err
	}
	e.Issue = *i
	return s.deps.Bus.Publish(ctx, tx, e)
}

// equal reports whether two versions of an issue are the same. Due dates are compared as instants, which DeepEqual does not do.
func (i *Issue) equal(other *Issue) bool {
	a, b := *i, *other
	sameDay := a.DueDate == b.DueDate || (a.DueDate != nil && b.DueDate != nil && a.DueDate.Equal(*b.DueDate))
	same := sameDay && slices.Equal(a.AssigneeIDs, b.AssigneeIDs) && slices.Equal(a.LabelIDs, b.LabelIDs)
	a.DueDate, a.AssigneeIDs, a.LabelIDs = b.DueDate, b.AssigneeIDs, b.LabelIDs
	return same && reflect.DeepEqual(a, b)
}

// changeTimes locks an issue, applies change and saves it. The caller has checked that the actor holds PlanIssues.
func (s *Service) changeTimes(ctx context.Context, tx pgx.Tx, e Event, iid int, change func(i *Issue) error) (*Issue, error) {
	i, err := Lock(ctx, tx, e.By, e.Project, iid)
	if err != nil {
		return nil, err
	}
	e.Before = *i
	if err := change(i); err != nil {
		return nil, err
	}
	return i, s.save(ctx, tx, e, i, nil)
}
