package snippet

import "stithy/internal/kit/access"

// Action names an act on a snippet.
type Action string

const (
	Created Action = "snippet_created"
	Updated Action = "snippet_updated"
	Deleted Action = "snippet_deleted"
)

// Event is an act on a snippet, published in the transaction that did it.
type Event struct {
	Action  Action
	By      access.Actor
	Snippet Snippet
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }
