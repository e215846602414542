package milestone

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a milestone.
type Action string

const (
	Created     Action = "milestone_created"
	Updated     Action = "milestone_updated"
	WasClosed   Action = "milestone_closed"
	WasReopened Action = "milestone_reopened"
	Deleted     Action = "milestone_deleted"
	Promoted    Action = "milestone_promoted"
)

// Event is an act on a milestone, published in the transaction that did it. Milestones that go are still there when it is published, so that
// whoever has them can let go.
type Event struct {
	Action    Action
	By        access.Actor
	In        bus.Entity // through which it was done
	Milestone Milestone
	Merged    []int64 // of Promoted: milestones that become this one
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }
