package member

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// What names an act on a membership or a share; the audit trail keeps it.
type What string

const (
	Created   What = "member_created"
	Updated   What = "member_updated"
	Destroyed What = "member_destroyed"

	ProjectShared   What = "project_group_link_created"
	ProjectUnshared What = "project_group_link_deleted"
	GroupShared     What = "group_share_with_group_link_created"
	GroupUnshared   What = "group_share_with_group_link_removed"
)

// Event is an act on a membership, published in the transaction that did it.
type Event struct {
	What   What
	By     access.Actor
	Source bus.Entity
	UserID int64  // zero for an invitation
	Name   string // of the person, or the address that was invited
	Level  access.Role
	Change *bus.Change
}

// EventName is the act.
func (e Event) EventName() string { return string(e.What) }

// Deed is the act as the audit trail keeps it.
func (e Event) Deed() bus.Deed {
	d := bus.Deed{
		Type: string(e.What), By: e.By, Entity: e.Source, Change: e.Change,
		Target: bus.Target{Type: "User", ID: e.UserID, Details: e.Name},
	}
	switch e.What {
	case Created:
		d.Add, d.Message = "user_access", "Membership created as "+e.Level.String()
	case Destroyed:
		d.Remove, d.Message = "user_access", "Membership destroyed"
	}
	return d
}

// changeOf says what an update changed, if it changed anything.
func changeOf(before, after Member) *bus.Change {
	if before.AccessLevel != after.AccessLevel {
		return &bus.Change{What: "access_level", From: before.AccessLevel.String(), To: after.AccessLevel.String()}
	}
	if from, to := day(before.ExpiresAt), day(after.ExpiresAt); from != to {
		return &bus.Change{What: "expiry", From: from, To: to}
	}
	return nil
}

func day(t *time.Time) string {
	if t == nil {
		return "never expires"
	}
	return t.Format(time.DateOnly)
}

// ShareEvent is a group let in or kept out, published in the transaction that
// did it.
type ShareEvent struct {
	What    What
	By      access.Actor
	Source  bus.Entity
	GroupID int64
	Name    string
	Level   access.Role // what was given
}

// EventName is the act.
func (e ShareEvent) EventName() string { return string(e.What) }

// Deed is the act as the audit trail keeps it.
func (e ShareEvent) Deed() bus.Deed {
	message := map[What]string{
		ProjectShared: "Added project group link", ProjectUnshared: "Removed project group link",
		GroupShared: "Added group share", GroupUnshared: "Removed group share",
	}[e.What]
	return bus.Deed{
		Type: string(e.What), By: e.By, Entity: e.Source, Message: message,
		Target: bus.Target{Type: "Group", ID: e.GroupID, Details: e.Name},
	}
}
