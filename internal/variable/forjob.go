package variable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
)

// Query says which job asks for variables.
type Query struct {
	ProjectID   int64
	GroupIDs    []int64 // the line of groups above the project, from the top
	Protected   bool    // it is of a protected ref
	Environment string  // "" for none
}

// covers reports whether a scope, in which * stands for any text, means an
// environment. A job without one has what is for all.
func covers(scope, environment string) bool {
	if scope == everywhere || environment == "" {
		return scope == everywhere
	}
	parts := strings.Split(scope, "*")
	if len(parts) == 1 {
		return scope == environment
	}
	rest, ok := strings.CutPrefix(environment, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

// weight says how much a scope says about the environments it covers: a name
// more than a pattern, a long pattern more than a short one, all say nothing.
func weight(scope string) int {
	switch {
	case scope == everywhere:
		return 0
	case strings.Contains(scope, "*"):
		return len(scope)
	}
	return maxScope + len(scope) + 1
}

// candidate is a variable that a job may be given: how near it is, and what
// its scope says.
type candidate struct {
	near, weight int
	id           int64
	open         func() (*Variable, error)
}

// ForJob reads what a job is given: of each key the one that counts, from the
// project before its groups, the nearest first, before the instance; within
// one place that whose scope says most about the environment. Values are not
// expanded. They are sorted by key.
func (s *Service) ForJob(ctx context.Context, db postgres.Querier, q Query) ([]Variable, error) {
	best := map[string]candidate{}
	consider := func(key string, c candidate) {
		have, known := best[key]
		if !known || cmp.Or(cmp.Compare(c.near, have.near), cmp.Compare(c.weight, have.weight), cmp.Compare(c.id, have.id)) > 0 {
			best[key] = c
		}
	}
	var b pgx.Batch
	var shared []row
	var groups, own []ownedRow
	postgres.Queue(&b, &shared, sqlOfInstance, q.Protected)
	postgres.Queue(&b, &groups, sqlOfGroups, q.GroupIDs, q.Protected)
	postgres.Queue(&b, &own, sqlOfProject, q.ProjectID, q.Protected)
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("reading the variables of a job: %w", err)
	}
	for _, r := range shared {
		consider(r.Key, candidate{id: r.ID, open: func() (*Variable, error) { return s.open(r) }})
	}
	for _, r := range slices.Concat(groups, own) {
		if !covers(r.EnvironmentScope, q.Environment) {
			continue
		}
		near := len(q.GroupIDs) + 1
		if r.NamespaceID != nil {
			near = slices.Index(q.GroupIDs, *r.NamespaceID) + 1
		}
		consider(r.Key, candidate{near: near, weight: weight(r.EnvironmentScope), id: r.ID, open: func() (*Variable, error) { return s.openIn(r) }})
	}
	given := make([]Variable, 0, len(best))
	for _, c := range best {
		v, err := c.open()
		if err != nil {
			return nil, err
		}
		given = append(given, *v)
	}
	sorting.By(given, func(a, b Variable) int { return strings.Compare(a.Key, b.Key) })
	return given, nil
}
