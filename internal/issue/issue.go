// Package issue owns issues: what is to be done in a project, by whom and until when, how much time it takes, what it has to do with
// other issues, and who may see it. An issue has a number in its project, which counts without gaps and never comes twice.
//
// It does not own what is said about an issue (note), nor its labels and milestones (label, milestone) or who wants to hear of it
// (subscription). Whoever keeps something about issues hears of every change by its events, in the transaction that makes it.
//
// Tables: issues, issue_counters, issue_assignees, issue_labels, issue_links, issue_time_logs, issue_agents.
package issue

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/fault"
)

// Type says what an issue is.
type Type string

const (
	Plain    Type = "issue"
	Incident Type = "incident"
	Task     Type = "task"
	TestCase Type = "test_case"
)

// Severity says how bad an incident is.
type Severity string

// Unknown is the severity of what is no incident, and of an incident of which nobody said it.
const Unknown Severity = "unknown"

// Issue is an issue with its assignees and labels.
type Issue struct {
	ID               int64
	ProjectID        int64
	IID              int // within the project
	AuthorID         *int64
	Title            string
	Description      *string
	Type             Type
	Severity         Severity
	Closed           bool
	ClosedAt         *time.Time
	ClosedByID       *int64
	Confidential     bool
	DiscussionLocked *bool // nil until somebody locks or unlocks it
	MilestoneID      *int64
	DueDate          *time.Time
	Weight           *int
	HealthStatus     *string
	TimeEstimate     int // seconds, like TimeSpent
	TimeSpent        int
	Tasks            int // check boxes in the description
	TasksDone        int
	NotesCount       int // comments that whoever reads the issue reads
	Upvotes          int
	Downvotes        int
	MovedToID        *int64
	DuplicateOfID    *int64
	CreatedAt        time.Time
	UpdatedAt        time.Time

	Hidden      bool // its author is banned
	AssigneeIDs []int64
	LabelIDs    []int64
}

const (
	maxTitle       = 255
	maxDescription = 1 << 20 // bytes
	maxAssignees   = 200
	maxLabels      = 100
	maxIID         = 1 << 30 // that somebody chooses; the next ones need room
	maxLinks       = 100
)

// check brings an issue into the form that is kept, and says what is wrong with it. Lengths are looked at first: nothing reads a text that
// is too long.
func (i *Issue) check() error {
	var f fault.Fields
	if len(i.Title) > maxTitle*utf8.UTFMax || utf8.RuneCountInString(i.Title) > maxTitle {
		f.Add("title", "is too long (maximum is %d characters)", maxTitle)
	} else if i.Title = strings.TrimSpace(i.Title); i.Title == "" {
		f.Add("title", "can't be blank")
	}
	if i.Description != nil && len(*i.Description) > maxDescription {
		f.Add("description", "is too long (maximum is %d bytes)", maxDescription)
	}
	switch {
	case i.Weight == nil:
	case *i.Weight < 0:
		f.Add("weight", "must be greater than or equal to 0")
	case *i.Weight > math.MaxInt32:
		f.Add("weight", "must be less than or equal to %d", math.MaxInt32)
	}
	if i.IID > maxIID {
		f.Add("iid", "must be less than or equal to %d", maxIID)
	}
	if err := f.Err(); err != nil {
		return err
	}
	i.Tasks, i.TasksDone = countTasks(i.Description)
	return nil
}

// countTasks counts the check boxes of a description, and those that are checked.
func countTasks(description *string) (all, done int) {
	for _, t := range TasksIn(description) {
		all++
		if t.Done {
			done++
		}
	}
	return all, done
}

// fenceOf is the mark that begins or ends a block of code.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// boxOf is what stands in the check box that an item of a list begins with.
func boxOf(line string) (rune, bool) {
	rest := strings.TrimLeft(line, "0123456789")
	switch {
	case len(rest) < len(line) && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")):
		rest = rest[2:]
	case len(rest) == len(line) && (strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "* ") || strings.HasPrefix(rest, "+ ")):
		rest = rest[2:]
	default:
		return 0, false
	}
	rest = strings.TrimLeft(rest, " ")
	if len(rest) < 4 || rest[0] != '[' || rest[2] != ']' || rest[3] != ' ' {
		return 0, false
	}
	switch box := rune(rest[1]); box {
	case ' ', 'x', 'X':
		return box, true
	}
	return 0, false
}
