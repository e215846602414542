package mention

import (
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/note"
	"stithy/internal/project"
)

// Event is that a text names people who may read it and were not named by it before. It is published in the transaction that writes the text.
type Event struct {
	By      access.Actor
	At      time.Time
	Project *project.Project
	Issue   *issue.Issue
	Note    *note.Note // nil of a description
	People  []Person
}

// EventName is what happened.
func (Event) EventName() string { return "people_mentioned" }
