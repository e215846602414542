package bot

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/owner"
)

// Action names an act on a token of a project or group; the audit trail keeps
// it, after the kind of owner.
type Action string

const (
	Created Action = "access_token_created"
	Deleted Action = "access_token_deleted"
)

// Event is an act on a token, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	Token  Token
}

// EventName is the act.
func (e Event) EventName() string { return owner.Noun(e.In) + "_" + string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	message := fmt.Sprintf("Revoked %s access token with token_id: %d", owner.Noun(e.In), e.Token.ID)
	if e.Action == Created {
		message = fmt.Sprintf("Created %s access token with token_id: %d with scopes: %v and %s access level.",
			owner.Noun(e.In), e.Token.ID, e.Token.Scopes, e.Token.AccessLevel)
	}
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: message,
		Target: bus.Target{Type: "User", ID: e.Token.UserID, Details: e.Token.BotName},
	}
}
