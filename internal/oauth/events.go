package oauth

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/user"
)

// Action names an act on an application or on what people granted it; the
// audit trail keeps it.
type Action string

const (
	Created       Action = "oauth_application_created"
	Updated       Action = "oauth_application_updated"
	SecretRenewed Action = "oauth_application_secret_renewed"
	Deleted       Action = "oauth_application_deleted"
	Authorized    Action = "oauth_application_authorized"
	Withdrawn     Action = "oauth_authorization_revoked"
	CodeReplayed  Action = "oauth_code_replayed"
	RefreshReused Action = "oauth_refresh_token_reused"
)

// Event is an act, published in the transaction that did it.
type Event struct {
	Action      Action
	By          access.Actor
	Application Application
	For         *user.User // who granted; nil where the act is on the application itself
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	entity := bus.Instance()
	switch {
	case e.For != nil:
		entity = bus.Entity{Kind: bus.OfUser, ID: e.For.ID, Path: e.For.Username, Name: e.For.Name}
	case e.Application.OwnerID != nil && e.By.Is(*e.Application.OwnerID):
		entity = bus.Entity{Kind: bus.OfUser, ID: e.By.ID(), Path: e.By.Person.Username, Name: e.By.Person.Name}
	}
	return bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: entity, Message: e.message(),
		Target: bus.Target{Type: "OauthApplication", ID: e.Application.ID, Details: e.Application.Name},
	}
}

func (e Event) message() string {
	a := e.Application
	switch e.Action {
	case Created:
		return fmt.Sprintf("Registered OAuth application %s with scopes: %s", a.Name, joined(a.Scopes))
	case Updated:
		return fmt.Sprintf("Changed OAuth application %s, now with scopes: %s", a.Name, joined(a.Scopes))
	case SecretRenewed:
		return fmt.Sprintf("Renewed the secret of OAuth application %s", a.Name)
	case Deleted:
		return fmt.Sprintf("Deleted OAuth application %s", a.Name)
	case Authorized:
		return fmt.Sprintf("Authorized OAuth application %s", a.Name)
	case Withdrawn:
		return fmt.Sprintf("Revoked the access of OAuth application %s", a.Name)
	case CodeReplayed:
		return fmt.Sprintf("A code of OAuth application %s was used twice; what came of it is revoked", a.Name)
	}
	return fmt.Sprintf("A spent refresh token of OAuth application %s was used again; its line is revoked", a.Name)
}
