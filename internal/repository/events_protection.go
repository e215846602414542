package repository

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/project"
)

// What names an administrative act on a rule; the audit trail keeps it.
type What string

const (
	BranchProtected   What = "protected_branch_created"
	BranchRuleChanged What = "protected_branch_updated"
	BranchUnprotected What = "protected_branch_removed"
	TagProtected      What = "protected_tag_created"
	TagUnprotected    What = "protected_tag_removed"
)

// RuleEvent is an act on a rule, published in the transaction that did it.
type RuleEvent struct {
	What    What
	By      access.Actor
	Project *project.Project
	ID      int64
	Name    string
}

// EventName is the act.
func (e RuleEvent) EventName() string { return string(e.What) }

// Deed is the act as the audit trail keeps it.
func (e RuleEvent) Deed() bus.Deed {
	d := bus.Deed{
		Type: string(e.What), By: e.By, Entity: e.Project.Entity(), Message: messages[e.What],
		Target: bus.Target{Type: "ProtectedBranch", ID: e.ID, Details: e.Name},
	}
	if e.What == TagProtected || e.What == TagUnprotected {
		d.Target.Type = "ProtectedTag"
	}
	return d
}

var messages = map[What]string{
	BranchProtected: "Added protected branch", BranchRuleChanged: "Changed protected branch", BranchUnprotected: "Unprotected branch",
	TagProtected: "Added protected tag", TagUnprotected: "Unprotected tag",
}
