package project

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act on a project; the audit trail keeps it.
type Action string

const (
	Created              Action = "project_created"
	Destroyed            Action = "project_destroyed"
	WasArchived          Action = "project_archived"
	WasUnarchived        Action = "project_unarchived"
	NameChanged          Action = "project_name_updated"
	PathChanged          Action = "project_path_updated"
	VisibilityChanged    Action = "project_visibility_level_updated"
	Moved                Action = "project_namespace_updated"
	DefaultBranchChanged Action = "project_default_branch_updated"
	MergeMethodChanged   Action = "project_merge_method_updated"
	Forked               Action = "project_fork_operation"
	ForkCut              Action = "project_fork_relationship_removed"
	CustomAttributeSet   Action = "project_custom_attribute_updated"
	CustomAttributeCut   Action = "project_custom_attribute_destroyed"
)

// Event is an act on a project, published in the transaction that did it.
type Event struct {
	Action  Action
	By      access.Actor
	Project *Project
	Message string
	Change  *bus.Change
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it. The end of a project stands in
// the trail of its group, which outlives it.
func (e Event) AuditRecord() bus.AuditRecord {
	p := e.Project
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Message: e.Message, Change: e.Change, Entity: p.Entity(),
		Target: bus.Target{Type: "Project", ID: p.ID, Details: p.Name},
	}
	switch e.Action {
	case Created:
		d.Add = "project"
	case Destroyed:
		d.Remove = "project"
		if p.NamespaceKind == string(group.Shared) {
			d.Entity = bus.Entity{Kind: bus.OfGroup, ID: p.NamespaceID, Path: p.NamespaceFullPath, Name: p.NamespaceName}
		}
	}
	return d
}

// Removing tells the rooms above that a project is about to go, in the
// transaction that removes it: delete or hand over what hangs on it and no
// foreign key takes along.
type Removing struct{ ProjectID int64 }

// EventName is for logs.
func (Removing) EventName() string { return "project_removing" }

// ImportAsked tells the rooms above of a project whose repository is to be
// fetched from elsewhere, in the transaction that made it.
type ImportAsked struct {
	Project *Project
	Import  Import
}

// EventName is for logs.
func (ImportAsked) EventName() string { return "project_import_asked" }

// ForkMade tells the rooms above of a fork whose source is to be copied, in
// the transaction that made it.
type ForkMade struct{ Fork *Project }

// EventName is for logs.
func (ForkMade) EventName() string { return "project_fork_made" }

func (s *Service) publishChanges(ctx context.Context, tx pgx.Tx, by access.Actor, before, after *Project) error {
	type change struct {
		what           Action
		name, from, to string
	}
	changes := []change{
		{NameChanged, "name", before.Name, after.Name},
		{PathChanged, "path", before.FullPath(), after.FullPath()},
		{VisibilityChanged, "visibility", visibilityTitle[before.Visibility], visibilityTitle[after.Visibility]},
		{DefaultBranchChanged, "default_branch", s.defaultBranch(before), s.defaultBranch(after)},
		{MergeMethodChanged, "merge_method", before.Settings.MergeMethod, after.Settings.MergeMethod},
	}
	was, is := before.Features.levels(), after.Features.levels()
	for i, level := range is {
		changes = append(changes, change{
			Action("project_feature_" + level.area + "_access_level_updated"), level.area + "_access_level", string(*was[i].level), string(*level.level),
		})
	}
	for _, c := range changes {
		if c.from == c.to {
			continue
		}
		e := Event{Action: c.what, By: by, Project: after, Change: &bus.Change{What: c.name, From: c.from, To: c.to}}
		if err := s.deps.Bus.Publish(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

var visibilityTitle = map[access.Visibility]string{access.Private: "Private", access.Internal: "Internal", access.Public: "Public"}
