package token

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a token; the audit trail keeps it.
type Action string

const (
	Created Action = "personal_access_token_created"
	Revoked Action = "personal_access_token_revoked"
)

// Event is an act on a token, published in the transaction that did it.
type Event struct {
	Action   Action
	By       access.Actor
	Token    Token
	Username string // of the owner
	Name     string // of the owner
	Why      string // ends the message, if there is more to say
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	verb, noun := "Created", "personal access token"
	if e.Action == Revoked {
		verb = "Revoked"
	}
	if e.Token.Impersonation {
		noun = "impersonation token"
	}
	return bus.AuditRecord{
		Type: string(e.Action), By: e.By,
		Entity:  bus.Entity{Kind: bus.OfUser, ID: e.Token.UserID, Path: e.Username, Name: e.Name},
		Target:  bus.Target{Type: "PersonalAccessToken", ID: e.Token.ID, Details: e.Token.Name},
		Message: fmt.Sprintf("%s %s with id %d%s", verb, noun, e.Token.ID, e.Why),
	}
}
