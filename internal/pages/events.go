package pages

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act; the audit trail keeps it.
type Action string

const (
	DomainCreated   Action = "pages_domain_created"
	DomainUpdated   Action = "pages_domain_updated"
	DomainDeleted   Action = "pages_domain_deleted"
	DomainVerified  Action = "pages_domain_verified"
	DomainDisabled  Action = "pages_domain_disabled"
	SettingsChanged Action = "pages_settings_updated"

	DeploymentActivated Action = "pages_deployment_activated"
	DeploymentDeleted   Action = "pages_deployment_deleted"
	SiteRemoved         Action = "pages_removed"
)

// Event is an act, published in the transaction that did it. It carries no key.
type Event struct {
	Action Action
	By     access.Actor // nobody where the instance did it
	In     bus.Entity
	State  string

	Domain     *Domain     // of acts on domains
	Deployment *Deployment // of acts on deployments
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	r := bus.AuditRecord{Type: string(e.Action), By: e.By, Entity: e.In, Message: messages[e.Action]}
	if e.Domain != nil {
		r.Target = bus.Target{Type: "PagesDomain", ID: e.Domain.ID, Details: e.Domain.Domain}
	}
	if d := e.Deployment; d != nil {
		r.Target = bus.Target{Type: "PagesDeployment", ID: d.ID, Details: fmt.Sprintf("job #%d", d.JobID)}
	}
	if e.State != "" {
		r.Message += ": " + e.State
	}
	return r
}

var messages = map[Action]string{
	DomainCreated: "Added Pages domain", DomainUpdated: "Changed Pages domain", DomainDeleted: "Removed Pages domain",
	DomainVerified: "Verified Pages domain", DomainDisabled: "Disabled Pages domain that is not verified", SettingsChanged: "Changed Pages settings",
	DeploymentActivated: "Showed Pages deployment", DeploymentDeleted: "Deleted Pages deployment", SiteRemoved: "Removed Pages site",
}
