package variable

import (
	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
)

// listIn is the variables of a group or project.
func listIn(of bus.Entity) *postgres.List {
	l := postgres.From("variables v").Columns(placeColumns).Order(postgres.Key{Expr: "v.id"})
	if of.Kind == bus.OfGroup {
		return l.Where("v.namespace_id = ?", of.ID)
	}
	return l.Where("v.project_id = ?", of.ID)
}
