package badge

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a badge.
type Action string

const (
	Created Action = "badge_created"
	Updated Action = "badge_updated"
	Deleted Action = "badge_deleted"
)

// Event is an act on a badge, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	Badge  Badge
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }
