package errortracking

import "stithy/internal/platform/postgres"

// listKeys is the keys of a project, oldest first.
func listKeys(projectID int64) *postgres.List {
	return postgres.From("error_client_keys").Columns(keyColumns).Where("project_id = ?", projectID).Order(postgres.Key{Expr: "id"})
}

// listErrors is errors of a project. It has no more than maxErrors, which is how many rows a search passes.
func listErrors(projectID int64, f Filter) *postgres.List {
	l := postgres.From("tracked_errors e").Columns(errorColumns).Where("e.project_id = ?", projectID)
	if f.Status != "" {
		l.Where("e.status = ?", f.Status)
	}
	if f.Environment != "" {
		l.Where("exists (select from error_places p where p.error_id = e.id and p.kind = 'environment' and p.value = ?)", f.Environment)
	}
	if f.Release != "" {
		l.Where("exists (select from error_places p where p.error_id = e.id and p.kind = 'release' and p.value = ?)", f.Release)
	}
	if f.Query != "" {
		like := postgres.LikeContains(f.Query)
		l.Where("(e.name ilike ? or e.message ilike ? or e.culprit ilike ?)", like, like, like)
	}
	switch f.Sort {
	case ByFirstSeen:
		l.Order(postgres.Key{Expr: "e.first_seen", Desc: true}, postgres.Key{Expr: "e.id", Desc: true})
	case ByFrequency:
		l.Order(postgres.Key{Expr: "e.events", Desc: true}, postgres.Key{Expr: "e.id", Desc: true})
	default:
		l.Order(postgres.Key{Expr: "e.last_seen", Desc: true}, postgres.Key{Expr: "e.id", Desc: true})
	}
	return l
}

// listStored is the events of an error that were kept, the latest first.
func listStored(errorID int64) *postgres.List {
	return postgres.From("error_events").Columns(storedColumns).Where("error_id = ?", errorID).Order(postgres.Key{Expr: "id", Desc: true})
}
