package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of runners.
type Filter struct {
	Type   Type
	Status Status
	Paused *bool
	Tags   []string // all of them
}

// maxOwned is how many runners of one person are listed.
const maxOwned = 10_000

// ListAll is one page of all runners.
func (s *Service) ListAll(ctx context.Context, f Filter, req paging.Request) (paging.Result[Runner], error) {
	return s.fetch(ctx, postgres.From("runners r"), f, req)
}

// ListOwned is one page of the runners that a person manages by their roles.
func (s *Service) ListOwned(ctx context.Context, by access.Actor, f Filter, req paging.Request) (paging.Result[Runner], error) {
	today := s.deps.Clock.Now().UTC()
	ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlOwnedOfGroups, by.ID(), today, access.Owner, maxOwned)
	if err != nil {
		return paging.Result[Runner]{}, err
	}
	more, err := postgres.Values[int64](ctx, s.deps.DB, sqlOwnedOfProjects, by.ID(), today, access.Maintainer, maxOwned)
	if err != nil {
		return paging.Result[Runner]{}, err
	}
	return s.fetch(ctx, postgres.From("runners r").Where("r.id = any(?)", slices.Concat(ids, more)), f, req)
}

// ListFor is one page of the runners that serve a place: its own, those of the
// groups above, and those of the instance.
func (s *Service) ListFor(ctx context.Context, of bus.Entity, namespaceID int64, f Filter, req paging.Request) (paging.Result[Runner], error) {
	line, err := s.lineage(ctx, namespaceID)
	if err != nil {
		return paging.Result[Runner]{}, err
	}
	l := postgres.From("runners r")
	if of.Kind == bus.OfProject {
		l.Where("r.runner_type = 'instance_type' or r.namespace_id = any(?) or r.id in (select p.runner_id from runner_projects p where p.project_id = ?)", line, of.ID)
	} else {
		l.Where("r.runner_type = 'instance_type' or r.namespace_id = any(?)", line)
	}
	return s.fetch(ctx, l, f, req)
}

func (s *Service) fetch(ctx context.Context, l *postgres.List, f Filter, req paging.Request) (paging.Result[Runner], error) {
	now := s.deps.Clock.Now()
	long := now.AddDate(0, -staleIn, 0)
	if f.Type != "" {
		l.Where("r.runner_type = ?", f.Type)
	}
	if f.Paused != nil {
		l.Where("r.paused = ?", *f.Paused)
	}
	if len(f.Tags) > 0 {
		l.Where("r.tags @> ?", f.Tags)
	}
	switch f.Status {
	case Active:
		l.Where("not r.paused")
	case Paused:
		l.Where("r.paused")
	case Online:
		l.Where("r.contacted_at > ?", now.Add(-onlineFor))
	case Offline:
		l.Where("r.contacted_at <= ?", now.Add(-onlineFor))
	case NeverContacted:
		l.Where("r.contacted_at is null")
	case Stale:
		l.Where("r.created_at <= ?", long).Where("r.contacted_at is null or r.contacted_at <= ?", long)
	}
	l.Columns(columns).Order(postgres.Key{Expr: "r.id"})
	rows, err := paging.Fetch[row](ctx, s.deps.DB, l, req, nil)
	return paging.Map(rows, row.runner), err
}

// addresses are where some runners were seen last.
func (s *Service) addresses(ctx context.Context, ids []int64) (map[int64]string, error) {
	rows, err := postgres.All[struct {
		RunnerID int64
		Address  string
	}](ctx, s.deps.DB, sqlAddresses, ids)
	at := make(map[int64]string, len(rows))
	for _, r := range rows {
		at[r.RunnerID] = r.Address
	}
	return at, err
}

// machine is the one of a runner's machines that was seen last.
func (s *Service) machine(ctx context.Context, id int64) (Manager, bool, error) {
	type machine struct {
		ID, RunnerID                                                 int64
		SystemID                                                     string
		Version, Revision, Platform, Architecture, Executor, Address string
		ContactedAt, CreatedAt                                       time.Time
	}
	m, err := postgres.One[machine](ctx, s.deps.DB, sqlMachine, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return Manager{}, false, nil
	}
	return Manager{
		ID: m.ID, RunnerID: m.RunnerID, SystemID: m.SystemID, ContactedAt: m.ContactedAt, CreatedAt: m.CreatedAt,
		Info: Info{
			Version: m.Version, Revision: m.Revision, Platform: m.Platform, Architecture: m.Architecture, Executor: m.Executor, Address: m.Address,
		},
	}, err == nil, err
}

// served is a project that a runner works for.
type served struct {
	ID                int64
	Name              string
	NameWithNamespace string
	Path              string
	PathWithNamespace string
	CreatedAt         time.Time
}

// projectsOf are the projects of a runner that the actor has a role in.
func (s *Service) projectsOf(ctx context.Context, by access.Actor, id int64) ([]served, error) {
	return postgres.All[served](ctx, s.deps.DB, sqlProjectsOf, by.ID(), s.deps.Clock.Now().UTC(), id, by.Admin())
}

type servedGroup struct {
	ID       int64
	Name     string
	FullPath string
}

func (s *Service) groupOf(ctx context.Context, id int64) (servedGroup, error) {
	return postgres.One[servedGroup](ctx, s.deps.DB, sqlGroupOf, id)
}
