package member

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a membership or a share; the audit trail keeps it.
type Action string

const (
	Created   Action = "member_created"
	Updated   Action = "member_updated"
	Destroyed Action = "member_destroyed"

	ProjectShared   Action = "project_group_link_created"
	ProjectUnshared Action = "project_group_link_deleted"
	GroupShared     Action = "group_share_with_group_link_created"
	GroupUnshared   Action = "group_share_with_group_link_removed"
)

// Event is an act on a membership, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	Source bus.Entity
	UserID int64  // zero for an invitation
	Name   string // of the person, or the address that was invited
	Level  access.Role
	Change *bus.Change

	Expired bool // of Destroyed: nobody ended it, its day came
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: e.Source, Change: e.Change,
		Target: bus.Target{Type: "User", ID: e.UserID, Details: e.Name},
	}
	switch e.Action {
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
	Action  Action
	By      access.Actor
	Source  bus.Entity
	GroupID int64
	Name    string
	Level   access.Role // what was given
}

// EventName is the act.
func (e ShareEvent) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e ShareEvent) AuditRecord() bus.AuditRecord {
	message := map[Action]string{
		ProjectShared: "Added project group link", ProjectUnshared: "Removed project group link",
		GroupShared: "Added group share", GroupUnshared: "Removed group share",
	}[e.Action]
	return bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: e.Source, Message: message,
		Target: bus.Target{Type: "Group", ID: e.GroupID, Details: e.Name},
	}
}

// RequestAction is what became of an access request.
type RequestAction string

// The acts.
const (
	Asked   RequestAction = "access_requested"
	Granted RequestAction = "access_granted"
	Denied  RequestAction = "access_denied"
)

// Request is an act on an access request, published in the transaction that did it. The trail keeps the membership that it ends in.
type Request struct {
	Action RequestAction
	By     access.Actor
	Source bus.Entity
	UserID int64 // who asks
	At     time.Time
}

// EventName is the act.
func (e Request) EventName() string { return string(e.Action) }
