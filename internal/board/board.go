// Package board owns the issue boards of projects and groups: lists side by side that sort issues by label, milestone or person, between the list
// of what is open and in no other one, and the list of what is closed.
//
// It does not own issues, nor what they are sorted by (issue, label, milestone, user): what stands in a list follows from what an issue has, and
// moving an issue changes that.
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

// DefaultName is that of the board that an owner has before anybody made one.
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

// unsaved tells what is wrong with a board in the form that clients of this API look for.
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

// marks are what an issue has that stands in the list.
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

// marksOf are what an issue has that stands in one of some lists.
func marksOf(lists []List) (m issue.Marks) {
	for _, l := range lists {
		one := l.marks()
		m.LabelIDs = append(m.LabelIDs, one.LabelIDs...)
		m.MilestoneIDs = append(m.MilestoneIDs, one.MilestoneIDs...)
		m.AssigneeIDs = append(m.AssigneeIDs, one.AssigneeIDs...)
	}
	return m
}

// Column names a list as people see a board: one of its own by id, or one of the two that every board has.
type Column int64

const (
	Open   Column = 0 // what is open and in no list of the board
	Closed Column = -1
)

// find is the list of a column; nil for the two that every board has.
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

// Drop is an issue that somebody puts into a list of a board.
type Drop struct {
	IssueID       int64
	From, To      Column
	After, Before int64 // issues that it comes to stand between; 0 for none
}

// sorting is what becomes of the issue. In the open list an issue has nothing that the board sorts by, and in the closed one no label; to another
// list it goes with what it has, except for what that list is an alternative to.
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
