package signin

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on one's own second factor; the audit trail keeps it.
type Action string

const (
	KeyAdded   Action = "user_add_security_key"
	KeyRemoved Action = "user_remove_security_key"
	AppAdded   Action = "user_add_authenticator_app" // beside a key

	CodesRenewed Action = "user_renew_recovery_codes"
)

// Event is such an act, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	Key    string // the name of the key
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	p := e.By.Person
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: bus.Entity{Kind: bus.OfUser, ID: p.ID, Path: p.Username, Name: p.Name},
		Target: bus.Target{Type: "User", ID: p.ID, Details: p.Name},
	}
	switch e.Action {
	case KeyAdded:
		d.Message = "Registered security key " + e.Key
	case KeyRemoved:
		d.Message = "Removed security key " + e.Key
	case AppAdded:
		d.Message = "Set up an authenticator app"
	case CodesRenewed:
		d.Message = "Made new recovery codes"
	}
	return d
}

// UnknownEntry is a sign-in from a network that the person was not known to use, published in the transaction that let them in.
type UnknownEntry struct {
	By      access.Actor
	Browser string // what it says of itself
	At      time.Time
}

// EventName is what happened.
func (UnknownEntry) EventName() string { return "unknown_sign_in" }
