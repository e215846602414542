package note

import (
	"time"

	"stithy/internal/kit/access"
)

// Action names an act on a comment.
type Action string

const (
	Created Action = "note_created"
	Updated Action = "note_updated"
	Deleted Action = "note_deleted"
)

// Event is an act on a comment, published in the transaction that did it. Notes that the instance adds have none: what they tell has its own.
type Event struct {
	Action Action
	By     access.Actor
	At     time.Time
	Of     Place // what it is about, as the transaction holds it
	Note   Note
	Before string // of Updated: the body that it had
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AwardEvent is that somebody gave an emoji to an issue, a snippet or a note, published in the transaction that did it.
type AwardEvent struct {
	By    access.Actor
	At    time.Time
	To    Subject
	Award Award
}

// EventName is the act.
func (AwardEvent) EventName() string { return "emoji_given" }
