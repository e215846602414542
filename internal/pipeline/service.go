package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/variable"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Queue        *jobqueue.Queue
	Box          *secretbox.Box
	Settings     *setting.Service
	Users        *user.Service
	Tokens       *token.Service
	Projects     *project.Service
	Protection   *protection.Service
	Repositories *repository.Service
	Variables    *variable.Service
	Artifacts    *artifact.Service
	Runners      *runner.Service
	Outbound     *outbound.Guard // where remote includes come from
	Clock        clock.Clock
	ExternalURL  string
	Names        wire.Names
	Schedules    Schedules
}

// Service is the use cases of pipelines and jobs.
type Service struct {
	deps     Deps
	seats    *fairshare.Slots // for those who have configurations read
	patience time.Duration    // for a seat
}

// New puts the room together.
func New(d Deps) *Service {
	cores := max(2, runtime.GOMAXPROCS(0))
	return &Service{deps: deps.Complete(d), seats: fairshare.New(cores, cores), patience: 30 * time.Second}
}

// Schedules is the room above that makes pipelines at set times.
type Schedules interface {
	// Owner says whose a schedule is; nobody's once it is gone.
	Owner(ctx context.Context, scheduleID int64) (*int64, error)
}

var errMissing = fault.WithMessage(fault.NotFound, "404 Not found")

func found[T any](row T, err error) (*T, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// Find reads a pipeline of a project.
func (s *Service) Find(ctx context.Context, projectID, id int64) (*Pipeline, error) {
	return found(postgres.One[Pipeline](ctx, s.deps.DB, sqlPipelineOf, projectID, id))
}

// ByID reads a pipeline, whoever asks.
func (s *Service) ByID(ctx context.Context, q postgres.Querier, id int64) (*Pipeline, error) {
	return found(postgres.One[Pipeline](ctx, q, sqlPipeline, id))
}

// Latest reads the newest pipeline of a branch or tag; the default branch when
// ref is empty.
func (s *Service) Latest(ctx context.Context, p *project.Project, ref string) (*Pipeline, error) {
	if ref == "" {
		ref = s.deps.Projects.BranchOf(p)
	}
	return found(postgres.One[Pipeline](ctx, s.deps.DB, sqlLatest, p.ID, gitstore.ShortRef(ref)))
}

// LatestOfSchedule reads the newest pipeline of a schedule, nil before the first.
func (s *Service) LatestOfSchedule(ctx context.Context, scheduleID int64) (*Pipeline, error) {
	pl, err := found(postgres.One[Pipeline](ctx, s.deps.DB, sqlLatestOfSchedule, scheduleID))
	return pl, notFoundIsNil(err)
}

// FindJob reads a build or a bridge of a project.
func (s *Service) FindJob(ctx context.Context, projectID, id int64) (*Job, error) {
	return found(postgres.One[Job](ctx, s.deps.DB, sqlJobOf, projectID, id))
}

// LatestJobs reads the jobs of a pipeline that no other record took the place of,
// by stage, up to a limit.
func (s *Service) LatestJobs(ctx context.Context, pipelineID int64, limit int) ([]Job, error) {
	return postgres.All[Job](ctx, s.deps.DB, sqlShownJobs, pipelineID, limit)
}

// KnownJob reads a job, whoever asks.
func (s *Service) KnownJob(ctx context.Context, q postgres.Querier, id int64) (*Job, error) {
	return found(postgres.One[Job](ctx, q, sqlJob, id))
}

// ByIDs reads some pipelines by id, whoever asks.
func (s *Service) ByIDs(ctx context.Context, ids ...int64) (map[int64]*Pipeline, error) {
	byID := map[int64]*Pipeline{}
	if len(ids) == 0 {
		return byID, nil
	}
	rows, err := postgres.All[Pipeline](ctx, s.deps.DB, sqlPipelinesAmong, ids)
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	return byID, err
}

// SeenIn is the project of a pipeline, as a reader sees it who may see the
// pipeline; nil to everyone else. near is a project that was found already.
func (s *Service) SeenIn(ctx context.Context, to access.Actor, near *project.Project, pl *Pipeline) (*project.Project, error) {
	p := near
	if pl.ProjectID != p.ID {
		var err error
		if p, err = s.deps.Projects.Find(ctx, to, pl.ProjectID); err != nil {
			return nil, notFoundIsNil(err)
		}
	}
	if !access.Holds(to, access.ReadPipelines, p.Target()) {
		return nil, nil
	}
	return p, nil
}

// Commits reads the commits of some pipelines of a project, by id. One that is
// gone is left out.
func (s *Service) Commits(ctx context.Context, p *project.Project, pipelines ...*Pipeline) (map[string]*gitstore.Commit, error) {
	commits := map[string]*gitstore.Commit{}
	var repo *gitstore.Repo
	for _, pl := range pipelines {
		if _, read := commits[pl.SHA]; read || pl.ProjectID != p.ID {
			continue
		}
		if repo == nil {
			var err error
			if repo, err = s.deps.Repositories.Open(ctx, p); err != nil {
				return nil, err
			}
		}
		c, err := repo.Commit(ctx, gitstore.OID(pl.SHA))
		switch {
		case err == nil:
			commits[pl.SHA] = c
		case !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, gitstore.ErrInvalid):
			return nil, fmt.Errorf("reading the commit of a pipeline: %w", err)
		}
	}
	return commits, nil
}

// SpecOf reads what was planned for a job.
func (s *Service) SpecOf(ctx context.Context, q postgres.Querier, j *Job) (*Spec, error) {
	document, err := postgres.Value[[]byte](ctx, q, sqlSpec, j.SpecID)
	if err != nil {
		return nil, fmt.Errorf("reading what was planned for a job: %w", err)
	}
	var spec Spec
	if err := json.Unmarshal(document, &spec); err != nil {
		return nil, fmt.Errorf("reading what was planned for a job: %w", err)
	}
	return &spec, nil
}

// sourceFor is where the files of a configuration come from.
func (s *Service) sourceFor(f *files, w *CreateRequest) ciconfig.Source {
	if w.bridge != nil && w.Source == FromParent {
		return &childFiles{files: f, bridge: w.bridge}
	}
	return f
}

// clearBatch keeps each transaction, and the locks that it takes, short.
const clearBatch = 100

// ClearFiles removes what the jobs of a project left. It may run any number of
// times.
func (s *Service) ClearFiles(ctx context.Context, projectID int64) error {
	var after int64
	for {
		ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlJobIDsAfter, projectID, after, clearBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			for _, id := range ids {
				if err := s.deps.Artifacts.RemoveFiles(ctx, tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}
