package label

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a label.
type Action string

const (
	Created  Action = "label_created"
	Updated  Action = "label_updated"
	Deleted  Action = "label_deleted"
	Promoted Action = "label_promoted"
)

// Event is an act on a label, published in the transaction that did it. Labels that go are still there when it is published, so that whoever
// has them can let go.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity // through which it was done
	Label  Label
	Merged []int64 // of Promoted: labels that become this one
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }
