package repository

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/project"
)

// What names an administrative act on a rule; the audit trail keeps it.
type RuleAction string

const (
	BranchProtected   RuleAction = "protected_branch_created"
	BranchRuleChanged RuleAction = "protected_branch_updated"
	BranchUnprotected RuleAction = "protected_branch_removed"
	TagProtected      RuleAction = "protected_tag_created"
	TagUnprotected    RuleAction = "protected_tag_removed"
)

// RuleEvent is an act on a rule, published in the transaction that did it.
type RuleEvent struct {
	Action  RuleAction
	By      access.Actor
	Project *project.Project
	ID      int64
	Name    string
}

// EventName is the act.
func (e RuleEvent) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e RuleEvent) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: e.Project.Entity(), Message: messages[e.Action],
		Target: bus.Target{Type: "ProtectedBranch", ID: e.ID, Details: e.Name},
	}
	if e.Action == TagProtected || e.Action == TagUnprotected {
		d.Target.Type = "ProtectedTag"
	}
	return d
}

var messages = map[RuleAction]string{
	BranchProtected: "Added protected branch", BranchRuleChanged: "Changed protected branch", BranchUnprotected: "Unprotected branch",
	TagProtected: "Added protected tag", TagUnprotected: "Unprotected tag",
}
