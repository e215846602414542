package protection

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/project"
)

// Action names an administrative act on a rule; the audit trail keeps it.
type Action string

const (
	BranchProtected   Action = "protected_branch_created"
	BranchRuleChanged Action = "protected_branch_updated"
	BranchUnprotected Action = "protected_branch_removed"
	TagProtected      Action = "protected_tag_created"
	TagUnprotected    Action = "protected_tag_removed"
)

// Event is an act on a rule, published in the transaction that did it.
type Event struct {
	Action  Action
	By      access.Actor
	Project *project.Project
	ID      int64
	Name    string
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: e.Project.Entity(), Message: messages[e.Action],
		Target: bus.Target{Type: "ProtectedBranch", ID: e.ID, Details: e.Name},
	}
	if e.Action == TagProtected || e.Action == TagUnprotected {
		d.Target.Type = "ProtectedTag"
	}
	return d
}

var messages = map[Action]string{
	BranchProtected: "Added protected branch", BranchRuleChanged: "Changed protected branch", BranchUnprotected: "Unprotected branch",
	TagProtected: "Added protected tag", TagUnprotected: "Unprotected tag",
}
