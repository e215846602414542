package issue

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/project"
)

// Action names an act on an issue.
type Action string

const (
	Created Action = "issue_created"
	Updated Action = "issue_updated" // closing and reopening, too
	Moved   Action = "issue_moved"   // and is another issue now
	Cloned  Action = "issue_cloned"
	Linked  Action = "issue_linked"
	Cut     Action = "issue_unlinked"
	Timed   Action = "issue_time_tracked"
	Deleted Action = "issue_deleted"
)

// Event is an act on an issue, published in the transaction that did it. An issue that goes is still there when it is published.
type Event struct {
	Action  Action
	By      access.Actor
	At      time.Time
	Project *project.Project
	Issue   Issue
	Before  Issue            // of Updated and Timed
	Other   *Issue           // of Moved and Cloned: what came of it; of Linked and Cut: the other one; of Updated: what it was found to be a duplicate of
	In      *project.Project // of Other
	Kind    LinkKind         // of Linked and Cut
	Notes   bool             // of Cloned: with what was said
	SpentOn *time.Time       // of Timed: the day of the time that was spent, where it is another than today
	Commit  *Commit          // of Updated: whose message closed it
}

// Commit is a commit of a project.
type Commit struct {
	Project *project.Project
	SHA     string
}

// Reference names a commit in a text of a project.
func (c Commit) Reference(in *project.Project) string {
	if c.Project.ID == in.ID {
		return c.SHA
	}
	return c.Project.FullPath() + "@" + c.SHA
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// MarkEvent says that somebody put an issue on their own to-do list by a quick action, or marked it there as done. It is published in the
// transaction of that command.
type MarkEvent struct {
	By    access.Actor
	At    time.Time
	Issue Issue
	Done  bool
}

// EventName is the act.
func (MarkEvent) EventName() string { return "issue_marked" }
