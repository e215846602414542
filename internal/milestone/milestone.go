// Package milestone owns the milestones of projects and groups: what is to be done until when. A project takes part in its own milestones
// and in those of all groups above it, so a title is given once along that line.
//
// It does not own what is to be done; whoever does hears of a milestone that goes, or that others become, by its events.
//
// Tables: milestones, milestone_counters.
package milestone

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
)

// State says whether a milestone is still worked for.
type State string

const (
	Active State = "active"
	Closed State = "closed"
)

// Milestone is a milestone of a group or project.
type Milestone struct {
	ID          int64
	NamespaceID *int64 // one of the two is nil
	ProjectID   *int64
	IID         int // within its owner
	Title       string
	Description *string
	State       State
	StartDate   *time.Time
	DueDate     *time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Owner is the group or project that the milestone belongs to, by its kind and id.
func (m *Milestone) Owner() bus.Entity { return owner.OfKeys(m.NamespaceID, m.ProjectID) }

// Expired reports whether the milestone was due before a day.
func (m *Milestone) Expired(today time.Time) bool {
	return m.DueDate != nil && m.DueDate.Format(time.DateOnly) < today.Format(time.DateOnly)
}

// Draft is what a milestone is made of.
type Draft struct {
	Title       string
	Description *string
	StartDate   *time.Time
	DueDate     *time.Time
}

// Change is what a milestone becomes. What is nil stays.
type Change struct {
	Title       *string
	Description **string
	StartDate   **time.Time
	DueDate     **time.Time
	State       *State
}

func (c Change) apply(m *Milestone) {
	if c.Title != nil {
		m.Title = *c.Title
	}
	if c.Description != nil {
		m.Description = *c.Description
	}
	if c.StartDate != nil {
		m.StartDate = *c.StartDate
	}
	if c.DueDate != nil {
		m.DueDate = *c.DueDate
	}
	if c.State != nil {
		m.State = *c.State
	}
}

const (
	maxTitle       = 255
	maxDescription = 65_536
)

// lastDay is the last one of the calendar that clients have.
var lastDay = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// flaws are what is wrong with a milestone, in the order in which they are told.
type flaws []struct{ attribute, text string }

func (f *flaws) add(attribute, text string) {
	*f = append(*f, struct{ attribute, text string }{attribute, text})
}

// err tells what is wrong, in the form that clients of this API look for and by field. act is what failed: create or update.
func (f flaws) err(act string) error {
	if len(f) == 0 {
		return nil
	}
	parts, fields := make([]string, len(f)), fault.Fields{}
	for i, flaw := range f {
		parts[i] = fmt.Sprintf(":%s=>[%q]", flaw.attribute, flaw.text)
		fields.Add(flaw.attribute, "%s", flaw.text)
	}
	return &fault.Error{Kind: fault.Rejected, Text: fmt.Sprintf("Failed to %s milestone {%s}", act, strings.Join(parts, ", ")), Fields: fields}
}

const taken = "already being used for another group or project milestone."

// check brings a milestone into the form that is kept, and finds what is wrong with it. Lengths are looked at first: nothing reads a text that
// is too long.
func (m *Milestone) check() (f flaws) {
	if len(m.Title) > maxTitle*utf8.UTFMax || utf8.RuneCountInString(m.Title) > maxTitle {
		f.add("title", fmt.Sprintf("is too long (maximum is %d characters)", maxTitle))
	} else if m.Title = strings.TrimSpace(m.Title); m.Title == "" {
		f.add("title", "can't be blank")
	}
	if m.Description != nil && len(*m.Description) > maxDescription {
		f.add("description", fmt.Sprintf("is too long (maximum is %d bytes)", maxDescription))
	}
	for _, date := range []struct {
		attribute string
		day       *time.Time
	}{{"start_date", m.StartDate}, {"due_date", m.DueDate}} {
		if date.day != nil && date.day.After(lastDay) {
			f.add(date.attribute, "date must not be after 9999-12-31")
		}
	}
	if m.StartDate != nil && m.DueDate != nil && !m.DueDate.After(*m.StartDate) {
		f.add("due_date", "must be greater than start date")
	}
	return f
}
