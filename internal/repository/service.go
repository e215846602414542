package repository

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"stithy/internal/gitstore"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/protection"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Settings    *setting.Service
	Users       *user.Service
	Tokens      *token.Service
	Projects    *project.Service
	Protection  *protection.Service
	Box         *secretbox.Box
	Outbound    *outbound.Guard // where imports come from
	Store       *gitstore.Store
	Storages    []string // names, of which the first takes what no weight decides
	Clock       clock.Clock
	Log         *slog.Logger
	ExternalURL string
	Names       wire.Names
	LargeFiles  LargeFiles
}

// Service is the use cases of repositories.
type Service struct {
	deps      Deps
	languages func() *languages
}

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d), languages: readLanguages()} }

// Find reads the row of a project's repository. A project that nobody asked
// for its repository before gets one, on a storage that the instance's weights
// choose.
func (s *Service) Find(ctx context.Context, p *project.Project) (*Repository, error) {
	for {
		r, err := postgres.One[Repository](ctx, s.deps.DB, sqlFind, p.ID)
		if !errors.Is(err, postgres.ErrNoRows) {
			return &r, err
		}
		_, err = s.deps.DB.Exec(ctx, sqlPlan, p.ID, s.storage(), Planned, s.deps.Clock.Now())
		if err != nil {
			return nil, goneProject.Translate(err)
		}
	}
}

// Empty reports whether nothing was ever pushed to the repository of a project.
func (s *Service) Empty(ctx context.Context, p *project.Project) (bool, error) {
	r, err := s.Find(ctx, p)
	return err == nil && r.Empty, err
}

// HasCode reports whether something was pushed to a project, and can be read. It plans no repository for one that has none.
func (s *Service) HasCode(ctx context.Context, p *project.Project) (bool, error) {
	return postgres.Value[bool](ctx, s.deps.DB, sqlHasCode, p.ID)
}

var goneProject = postgres.Faults{
	"repositories_project_id_fkey": fault.NotFoundf("Project"), "pushes_project_id_fkey": fault.NotFoundf("Project"),
}

// storage chooses where a new repository goes.
func (s *Service) storage() string {
	weights := s.deps.Settings.Current().RepositoryStoragesWeighted
	total := 0
	for _, name := range s.deps.Storages {
		total += weights[name]
	}
	if total > 0 {
		at := rand.IntN(total)
		for _, name := range s.deps.Storages {
			if at -= weights[name]; at < 0 {
				return name
			}
		}
	}
	return s.deps.Storages[0]
}

var (
	errFilling = fault.WithMessage(fault.Unavailable, "The repository is being prepared. Please try again later.")
	errFailed  = fault.WithMessage(fault.NotFound, "A repository for this project does not exist yet.")
)

// Open is the repository of a project that the caller already found to be
// readable by the actor. A new one is made on its storage first; one that is
// being filled by a job is Unavailable.
func (s *Service) Open(ctx context.Context, p *project.Project) (*gitstore.Repo, error) {
	r, err := s.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, p, r)
}

func (s *Service) open(ctx context.Context, p *project.Project, r *Repository) (*gitstore.Repo, error) {
	repo := s.deps.Store.Repo(r.Key())
	switch r.State {
	case Ready:
		return repo, nil
	case Planned:
		return repo, s.create(ctx, p, repo)
	case Failed:
		return nil, errFailed
	}
	return nil, errFilling
}

// create makes the repository on its storage. A directory that is missing
// later is not made again: that would pass a storage that is not mounted for
// an empty repository.
func (s *Service) create(ctx context.Context, p *project.Project, repo *gitstore.Repo) error {
	if err := repo.Create(ctx, s.deps.Projects.BranchOf(p)); err != nil {
		return fmt.Errorf("making a repository: %w", err)
	}
	_, err := s.deps.DB.Exec(ctx, sqlSetState, p.ID, Planned, Ready)
	return err
}

// values are the refs that updates name, as they are now; Zero where there is
// none.
func values(ctx context.Context, repo *gitstore.Repo, updates []gitstore.RefUpdate) (map[string]gitstore.OID, error) {
	now := map[string]gitstore.OID{}
	for _, u := range updates {
		ref, err := repo.Ref(ctx, u.Name)
		if errors.Is(err, gitstore.ErrNotFound) {
			ref.Target, err = gitstore.Zero, nil
		}
		if err != nil {
			return nil, err
		}
		now[u.Name] = ref.Target
	}
	return now, nil
}
