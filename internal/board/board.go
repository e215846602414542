// Package board owns the issue boards of projects and groups. A board has lists, side by side. Each stands for a label, a milestone or a person and
// shows the issues that have it; before them is a list of open issues that are in no other list, and after them one of closed issues.
//
// It does not own issues, nor what they are sorted by (issue, label, milestone, user). No table says which issue is in which list: that follows from
// the labels, milestone and assignees of the issue, and moving it to another list changes those.
//
// Tables: boards, board_lists.
package board

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
)

// Board is a board of a group or project.
type Board struct {
	ID              int64
	NamespaceID     *int64 // one of the two is nil
	ProjectID       *int64
	Name            string
	HideBacklogList bool
	HideClosedList  bool
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// DefaultName is the name of the board that every owner has from the beginning.
const DefaultName = "Development"

const (
	maxName   = 255
	maxBoards = 100 // of an owner
	maxLists  = 100 // of a board
)

// check refuses what no board can be.
func (b *Board) check() error {
	switch {
	case len(b.Name) > maxName*utf8.UTFMax || utf8.RuneCountInString(b.Name) > maxName:
		return unsaved("name", fmt.Sprintf("is too long (maximum is %d characters)", maxName))
	case strings.TrimSpace(b.Name) == "":
		return unsaved("name", "can't be blank")
	}
	return nil
}

// unsaved is a refusal in the form that clients of this API parse.
func unsaved(attribute, text string) error {
	return fault.WithReason(fault.Rejected, "Failed to save board {:%s=>[%q]}", attribute, text)
}

// Change is what a board becomes. What is nil stays.
type Change struct {
	Name            *string
	HideBacklogList *bool
	HideClosedList  *bool
}

func (c Change) apply(b *Board) {
	if c.Name != nil {
		b.Name = *c.Name
	}
	if c.HideBacklogList != nil {
		b.HideBacklogList = *c.HideBacklogList
	}
	if c.HideClosedList != nil {
		b.HideClosedList = *c.HideClosedList
	}
}

// Subject is what a list of a board stands for: one of the three.
type Subject struct {
	LabelID     *int64
	MilestoneID *int64
	UserID      *int64
}

// marks is what puts an issue into the list: its label, milestone or assignee.
func (s Subject) marks() (m issue.Marks) {
	switch {
	case s.LabelID != nil:
		m.LabelIDs = []int64{*s.LabelID}
	case s.MilestoneID != nil:
		m.MilestoneIDs = []int64{*s.MilestoneID}
	case s.UserID != nil:
		m.AssigneeIDs = []int64{*s.UserID}
	}
	return m
}

// sameKind reports whether two lists sort by the same thing.
func (s Subject) sameKind(other Subject) bool {
	return (s.LabelID != nil) == (other.LabelID != nil) && (s.MilestoneID != nil) == (other.MilestoneID != nil) && (s.UserID != nil) == (other.UserID != nil)
}

// List is a list of a board.
type List struct {
	ID       int64
	BoardID  int64
	Position int // from 0
	Subject
}

// marksOf is the marks of several lists together.
func marksOf(lists []List) (m issue.Marks) {
	for _, l := range lists {
		one := l.marks()
		m.LabelIDs = append(m.LabelIDs, one.LabelIDs...)
		m.MilestoneIDs = append(m.MilestoneIDs, one.MilestoneIDs...)
		m.AssigneeIDs = append(m.AssigneeIDs, one.AssigneeIDs...)
	}
	return m
}

// Column is a column of a board as people see it: a list by its id, or Open or Closed, which every board has.
type Column int64

const (
	Open   Column = 0 // what is open and in no list of the board
	Closed Column = -1
)

// find is the list of a column; nil for Open and Closed.
func (c Column) find(lists []List) (*List, error) {
	if c == Open || c == Closed {
		return nil, nil
	}
	for n := range lists {
		if lists[n].ID == int64(c) {
			return &lists[n], nil
		}
	}
	return nil, errMissing
}

// Drop is a request to move an issue from one column of a board to another, or within one.
type Drop struct {
	IssueID       int64
	From, To      Column
	After, Before int64 // issues that it comes to stand between; 0 for none
}

// sorting is what a drop changes about the issue. Moved to Open, it loses everything that the board sorts by; moved to Closed, the labels among that.
// Moved to a list, it gets what that list stands for, and loses what the list that it came from stands for if both are labels, milestones or people.
func (d Drop) sorting(lists []List) (c issue.Sorting, err error) {
	c.After, c.Before = d.After, d.Before
	from, err := d.From.find(lists)
	if err != nil {
		return c, err
	}
	to, err := d.To.find(lists)
	if err != nil || d.From == d.To {
		return c, err
	}
	c.Close = new(d.To == Closed)
	switch d.To {
	case Open:
		c.Take = marksOf(lists)
	case Closed:
		c.Take.LabelIDs = marksOf(lists).LabelIDs
	default:
		c.Put = to.marks()
		if from != nil && from.sameKind(to.Subject) {
			c.Take = from.marks()
		}
	}
	return c, nil
}
