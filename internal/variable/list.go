package variable

import (
	"stithy/internal/kit/bus"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// listIn is the variables of a group or project.
func listIn(of bus.Entity) *postgres.List {
	l := postgres.From("variables v").Columns(ownedColumns).Order(postgres.Key{Expr: "v.id"})
	return owner.Where(l.Where, of, "v.namespace_id = ?", "v.project_id = ?")
}
