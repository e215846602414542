package group

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act on a group; the audit trail keeps it.
type Action string

const (
	Created           Action = "group_created"
	Destroyed         Action = "group_destroyed"
	NameChanged       Action = "group_name_updated"
	PathChanged       Action = "group_path_updated"
	VisibilityChanged Action = "group_visibility_level_updated"
	Moved             Action = "group_namespace_updated"

	CustomAttributeSet Action = "group_custom_attribute_updated"
	CustomAttributeCut Action = "group_custom_attribute_destroyed"
)

// settingChanged is the act of changing one setting.
func settingChanged(name string) Action { return Action("group_" + name + "_updated") }

// Event is an act on a group, published in the transaction that did it.
type Event struct {
	Action  Action
	By      access.Actor
	Group   *Group
	Message string
	Change  *bus.Change
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{
		Type: string(e.Action), By: e.By, Message: e.Message, Change: e.Change, Entity: e.Group.Entity(),
		Target: bus.Target{Type: "Group", ID: e.Group.ID, Details: e.Group.Name},
	}
	switch e.Action {
	case Created:
		d.Add = "group"
	case Destroyed:
		d.Remove = "group"
	}
	return d
}

// Entity is the owner of the group's trail.
func (g *Group) Entity() bus.Entity {
	return bus.Entity{Kind: bus.OfGroup, ID: g.ID, Path: g.FullPath, Name: g.Name}
}

// Marked tells the rooms above that a group and all below it is no longer to
// be found.
type Marked struct {
	GroupID int64
	At      time.Time
}

// EventName is for logs.
func (Marked) EventName() string { return "group_marked" }

// Lowering tells the rooms above that nothing in a group and below it may be
// more open than this any longer: close what is yours first.
type Lowering struct {
	GroupID int64
	To      access.Visibility
}

// EventName is for logs.
func (Lowering) EventName() string { return "group_lowering" }

// Removing tells the rooms above that a namespace is about to go, in the
// transaction that removes it: delete what stands in it.
type Removing struct{ NamespaceID int64 }

// EventName is for logs.
func (Removing) EventName() string { return "namespace_removing" }

func (s *Service) publishChanges(ctx context.Context, tx pgx.Tx, by access.Actor, before, after *Group) error {
	publish := func(what Action, name, from, to string) error {
		if from == to {
			return nil
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: what, By: by, Group: after, Change: &bus.Change{What: name, From: from, To: to}})
	}
	err := publish(NameChanged, "name", before.Name, after.Name)
	if err == nil {
		err = publish(PathChanged, "path", before.Path, after.Path)
	}
	if err == nil {
		err = publish(VisibilityChanged, "visibility", before.Visibility.String(), after.Visibility.String())
	}
	was, is := reflect.ValueOf(before.Settings), reflect.ValueOf(after.Settings)
	for i := 0; err == nil && i < was.NumField(); i++ {
		name := was.Type().Field(i).Tag.Get("json")
		err = publish(settingChanged(name), name, settingText(was.Field(i)), settingText(is.Field(i)))
	}
	return err
}

func settingText(v reflect.Value) string {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer {
		return ""
	}
	return fmt.Sprint(v.Interface())
}
