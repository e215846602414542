package project

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Settings    *setting.Service
	Users       *user.Service
	Groups      *group.Service
	Outbound    *outbound.Guard // asked about addresses to import from
	Clock       clock.Clock
	Log         *slog.Logger
	ExternalURL string
	SSHPort     int // that clients reach git at; 0 is the usual one
	Names       wire.Names
	Code        Repositories
	JobTokens   JobTokens
	Issues      Issues
}

// Service is the use cases of projects.
type Service struct {
	deps       Deps
	attributes *attribute.Store[*Project]
}

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d)}
	s.attributes = newAttributes(s)
	return s
}

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// defaultBranch is the branch that is shown first, also while there is none.
func (s *Service) defaultBranch(p *Project) string {
	if p.DefaultBranch != nil {
		return *p.DefaultBranch
	}
	return cmp.Or(string(s.deps.Settings.Current().DefaultBranchName), "main")
}

// Find reads a project by id, for an actor who sees it. To anyone else it
// does not exist.
func (s *Service) Find(ctx context.Context, a access.Actor, id int64) (*Project, error) {
	p, err := postgres.One[Project](ctx, s.deps.DB, sqlByID, a.ID(), s.today(), id)
	if err != nil {
		return nil, missing(err)
	}
	if a.Credential.Kind == access.JobToken {
		if err := s.limit(ctx, a, &p); err != nil {
			return nil, err
		}
	}
	if !access.Sees(a, p.Target()) {
		return nil, fault.NotFoundf("Project")
	}
	return &p, nil
}

// JobsReader is the person, the day, the visibility from which they see a
// project without a role in it, and whether they see all: the arguments of
// ReadsJobs. It is for people who are signed in, and not for the token of a job.
func (s *Service) JobsReader(a access.Actor) [4]any {
	least := access.Public
	if access.Sees(a, access.Target{Visibility: access.Internal}) {
		least = access.Internal
	}
	return [4]any{a.ID(), s.today(), least, a.Admin() || a.Auditor()}
}

// Among reads those of some projects that the actor sees, by id.
func (s *Service) Among(ctx context.Context, a access.Actor, ids []int64) (map[int64]*Project, error) {
	rows, err := postgres.All[Project](ctx, s.deps.DB, sqlAmong, a.ID(), s.today(), ids)
	seen := make(map[int64]*Project, len(rows))
	for i := range rows {
		if access.Sees(a, rows[i].Target()) {
			seen[rows[i].ID] = &rows[i]
		}
	}
	return seen, err
}

// Reach is how much of a person's rights in a project the token of a job has.
type Reach int

const (
	Outside Reach = iota // none: the job is a stranger
	LetIn                // the role that the person has there
	Home                 // all of them: it is the job's own project
)

// JobTokens is the room above that knows tokens of jobs.
type JobTokens interface {
	// Reach says how far the token of a job, which the actor presents, reaches
	// into a project.
	Reach(ctx context.Context, a access.Actor, p *Project) (Reach, error)
}

// Issues is the room above that knows the issues of projects.
type Issues interface {
	// CountOpen is how many open issues an actor may read in each of some
	// projects where they read issues, by id, counted as far as lists are.
	CountOpen(ctx context.Context, a access.Actor, projects []*Project) (map[int64]int, error)
}

// limit takes away what the token of a job does not have of its person's
// rights: outside of the job's own project those on the whole instance, and
// where the job is not let in also the role.
func (s *Service) limit(ctx context.Context, a access.Actor, p *Project) error {
	reach, err := s.deps.JobTokens.Reach(ctx, a, p)
	if err != nil {
		return err
	}
	p.powerless = reach < Home
	if reach < LetIn {
		p.Role = access.NoRole
	}
	return nil
}

// IDByPath is the id of the project that a full path leads to, also over a path
// that is no longer in use, and 0 where it leads to none. Whoever calls it says
// themselves who may know.
func (s *Service) IDByPath(ctx context.Context, path string) (int64, error) {
	route, err := group.Walk(ctx, s.deps.DB, path)
	return route.ProjectID, err
}

// FindByRef reads a project by id or full path. moved reports that the path
// is not exactly the one the project has now.
func (s *Service) FindByRef(ctx context.Context, a access.Actor, ref string) (p *Project, moved bool, err error) {
	if id, err := strconv.ParseUint(ref, 10, 63); err == nil {
		p, err := s.Find(ctx, a, int64(id))
		return p, false, err
	}
	if !strings.Contains(ref, "/") {
		return nil, false, fault.NotFoundf("Project")
	}
	route, err := group.Walk(ctx, s.deps.DB, ref)
	if err != nil {
		return nil, false, err
	}
	if route.ProjectID == 0 {
		return nil, false, fault.NotFoundf("Project")
	}
	if p, err = s.Find(ctx, a, route.ProjectID); err != nil {
		return nil, false, err
	}
	return p, p.FullPath() != ref, nil
}
