package deploytoken

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a deploy token; the audit trail keeps it.
type Action string

const (
	Created   Action = "deploy_token_created"
	Destroyed Action = "deploy_token_destroyed"
)

// Event is an act on a deploy token, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	Token  Token
}

// EventName is the act; groups have names of their own.
func (e Event) EventName() string {
	if e.In.Kind == bus.OfGroup {
		return "group_" + string(e.Action)
	}
	return string(e.Action)
}

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	message := fmt.Sprintf("Destroyed deploy token with name: %s with token_id: %d", e.Token.Name, e.Token.ID)
	if e.Action == Created {
		message = fmt.Sprintf("Created deploy token with name: %s with token_id: %d with scopes: %v.", e.Token.Name, e.Token.ID, e.Token.Scopes)
	}
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: message,
		Target: bus.Target{Type: "DeployToken", ID: e.Token.ID, Details: e.Token.Name},
	}
}
