package deploytoken

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// What names an act on a deploy token; the audit trail keeps it.
type What string

const (
	Created   What = "deploy_token_created"
	Destroyed What = "deploy_token_destroyed"
)

// Event is an act on a deploy token, published in the transaction that did it.
type Event struct {
	What  What
	By    access.Actor
	In    bus.Entity
	Token Token
}

// EventName is the act; groups have names of their own.
func (e Event) EventName() string {
	if e.In.Kind == bus.OfGroup {
		return "group_" + string(e.What)
	}
	return string(e.What)
}

// Deed is the act as the audit trail keeps it.
func (e Event) Deed() bus.Deed {
	message := fmt.Sprintf("Destroyed deploy token with name: %s with token_id: %d", e.Token.Name, e.Token.ID)
	if e.What == Created {
		message = fmt.Sprintf("Created deploy token with name: %s with token_id: %d with scopes: %v.", e.Token.Name, e.Token.ID, e.Token.Scopes)
	}
	return bus.Deed{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: message,
		Target: bus.Target{Type: "DeployToken", ID: e.Token.ID, Details: e.Token.Name},
	}
}
