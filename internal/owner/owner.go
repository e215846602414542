// Package owner says once what rooms need of "a group or a project": whatever belongs to either of them (members, tokens, variables, labels)
// is found, admitted, stored and declared in the same way. It does not own groups and projects (group, project), nor anything of theirs.
//
// Tables: none. A table of what belongs to either has the columns namespace_id and project_id, one of which is null.
package owner

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Owner is a group or project, as an actor found it.
type Owner struct {
	bus.Entity
	Group   *group.Group     // nil for a project
	Project *project.Project // nil for a group
}

// OfGroup is a group as an owner.
func OfGroup(g *group.Group) *Owner { return &Owner{Entity: g.Entity(), Group: g} }

// OfProject is a project as an owner.
func OfProject(p *project.Project) *Owner { return &Owner{Entity: p.Entity(), Project: p} }

// Target is the owner as the actor stands in it.
func (o *Owner) Target() access.Target {
	if o.Group != nil {
		return o.Group.Target()
	}
	return o.Project.Target()
}

// NamespaceID is the group itself, or what the project stands in.
func (o *Owner) NamespaceID() int64 {
	if o.Group != nil {
		return o.Group.ID
	}
	return o.Project.NamespaceID
}

// Noun is what the owner is called in texts and routes.
func Noun(of bus.Entity) string {
	if of.Kind == bus.OfGroup {
		return "group"
	}
	return "project"
}

// Keys are the columns that say whose a row is. Both are nil for the instance.
func Keys(of bus.Entity) (namespaceID, projectID *int64) {
	switch of.Kind {
	case bus.OfGroup:
		return &of.ID, nil
	case bus.OfProject:
		return nil, &of.ID
	}
	return nil, nil
}

// OfKeys is the owner that the columns of a row name: the instance if both are null.
func OfKeys(namespaceID, projectID *int64) bus.Entity {
	switch {
	case namespaceID != nil:
		return bus.Entity{Kind: bus.OfGroup, ID: *namespaceID}
	case projectID != nil:
		return bus.Entity{Kind: bus.OfProject, ID: *projectID}
	}
	return bus.Instance()
}

// Where keeps a list to the rows of an owner: where is the Where of the list, group and project are its conditions, constants like all
// text of a list.
func Where[F ~string](where func(F, ...any) *postgres.List, of bus.Entity, group, project F) *postgres.List {
	if of.Kind == bus.OfGroup {
		return where(group, of.ID)
	}
	return where(project, of.ID)
}

// Gone are the faults of a table whose foreign keys find that the owner went while something was to come to be in it.
func Gone(table string) postgres.Faults {
	return postgres.Faults{
		table + "_namespace_id_fkey": fault.NotFoundf("Group"), table + "_project_id_fkey": fault.NotFoundf("Project"),
	}
}

// Hold keeps an owner from going while something comes to be in it. One that is about to go is gone.
func Hold(ctx context.Context, tx pgx.Tx, of bus.Entity) error {
	sql := sqlHoldProject
	if of.Kind == bus.OfGroup {
		sql = sqlHoldGroup
	}
	_, err := postgres.Value[int](ctx, tx, sql, of.ID)
	if errors.Is(err, postgres.ErrNoRows) {
		return fault.NotFoundf("%s", of.Kind)
	}
	return err
}

// Lineage are the namespaces along which an owner inherits, from the top one to the group itself, or to what the project stands in.
func Lineage(ctx context.Context, q postgres.Querier, of bus.Entity) ([]int64, error) {
	sql := sqlLineageOfProject
	if of.Kind == bus.OfGroup {
		sql = sqlLineageOfGroup
	}
	lineage, err := postgres.Value[[]int64](ctx, q, sql, of.ID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.NotFoundf("%s", of.Kind)
	}
	return lineage, err
}

// Lineages are those of some projects, by id.
func Lineages(ctx context.Context, q postgres.Querier, projectIDs []int64) (map[int64][]int64, error) {
	rows, err := postgres.All[struct {
		ID      int64
		Lineage []int64
	}](ctx, q, sqlLineagesOfProjects, projectIDs)
	all := make(map[int64][]int64, len(rows))
	for _, r := range rows {
		all[r.ID] = r.Lineage
	}
	return all, err
}

// LockNames holds an owner and lets one at a time give names in the tree that it stands in, until the transaction ends. It returns the
// lineage of the owner.
//
// A name that is unique along a lineage is compared with rows of other owners, which no index does, and some of these rows may not
// be there yet. So there is one lock for all of a tree; nobody outside of that tree waits for it. A transfer does not take it: owners that
// it brings together keep the names that they have.
func LockNames(ctx context.Context, tx pgx.Tx, of bus.Entity) ([]int64, error) {
	before, err := Lineage(ctx, tx, of)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, sqlLockNames, before[0]); err != nil {
		return nil, err
	}
	if err := Hold(ctx, tx, of); err != nil {
		return nil, err
	}
	lineage, err := Lineage(ctx, tx, of)
	if err == nil && lineage[0] != before[0] {
		err = fault.WithMessage(fault.Conflict, "409 Conflict: Resource lock") // it went to another tree meanwhile
	}
	return lineage, err
}
