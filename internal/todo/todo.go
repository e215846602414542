// Package todo owns what people are asked to look at: an issue or an alert that somebody assigned to them, a text that names them, or an issue that they marked
// themselves. A person has at most one pending to-do for an issue or alert; acting on it themselves marks it as done.
//
// It does not own who is named where (mention), nor who may read an issue (issue) or is given an alert (alert): what a person may no longer read is not on
// their list.
//
// Tables: todos.
package todo

import "time"

// Action says why something is to be looked at.
type Action string

const (
	Assigned  Action = "assigned"
	Mentioned Action = "mentioned"
	Addressed Action = "directly_addressed" // a text begins with the person's name
	Marked    Action = "marked"             // by the person, who alone says when it is done
)

// Todo is one of them.
type Todo struct {
	ID        int64
	UserID    int64
	ProjectID int64
	IssueID   int64  // 0 of an alert
	AlertID   *int64 // that was given to the person
	AlertIID  *int   // and its number
	NoteID    *int64 // that names the person
	AuthorID  int64
	Action    Action
	Done      bool
	Body      string // what is said there, or else the title of the issue
	CreatedAt time.Time
	UpdatedAt time.Time
}
