package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/core/coretest"
	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

// fixture is an instance with a project whose repository holds a configuration,
// and a person for each role there.
type fixture struct {
	*httpapitest.Client // anonymous
	*pipeline.Service
	db           *postgres.DB
	store        *gitstore.Store
	repo         *gitstore.Repo
	settings     *setting.Service
	projects     *project.Service
	repositories *repository.Service
	artifacts    *artifact.Service
	runners      *runner.Service
	variables    *variable.Service
	home         *group.Group
	project      *project.Project
	root         *user.User
	now          time.Time
	people       map[access.Role]*user.User

	mu   sync.Mutex
	told []bus.Event
}

const simple = `
build: {stage: build, script: [make]}
test: {stage: test, script: [make test]}
`

func newFixture(t testing.TB, config string) *fixture {
	t.Helper()
	w := &fixture{store: repositorytest.Store(t), now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC), people: map[access.Role]*user.User{}}
	c := coretest.New(t, coretest.Clock(func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}))
	w.db, w.settings, w.projects = c.DB, c.Settings, c.Projects
	blobs, err := blob.Open("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var protected struct{ protection.Repositories }
	rules := protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: &protected,
	})
	w.repositories = repository.New(repository.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Box: c.Box,
		Outbound: c.Outbound, Store: w.store, Storages: []string{"default"}, Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(),
		Names: c.Instance.Names, Protection: rules, LargeFiles: repositorytest.NoLargeFiles{},
	})
	protected.Repositories = w.repositories
	w.artifacts = artifact.New(artifact.Deps{
		DB: c.DB, Queue: c.Queue, Blobs: blobs, Box: c.Box, Settings: c.Settings, Clock: c.Clock,
	})
	w.runners = runner.New(runner.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Groups: c.Groups, Projects: c.Projects, Clock: c.Clock, Log: c.Log,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	w.variables = variable.New(variable.Deps{DB: c.DB, Bus: c.Bus, Box: c.Box, Clock: c.Clock, Settings: c.Settings, Owners: c.Owners})
	w.Service = pipeline.New(pipeline.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens,
		Projects: c.Projects, Protection: rules, Repositories: w.repositories, Variables: w.variables, Artifacts: w.artifacts, Runners: w.runners,
		Outbound: c.Outbound, Clock: c.Clock, ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names, Schedules: noSchedules{},
	})
	bus.On(c.Bus, w.OnPushed)
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, e)
		return nil
	})
	w.Client = httpapitest.Serve(t, slices.Concat(w.Endpoints(), rules.Endpoints(), w.repositories.Endpoints())...)
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	w.home = grouptest.New(t, w.db, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.db, w.home.ID, projecttest.Named("forge"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.db, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, w.db, w.project, u, role)
		w.people[role] = u
	}
	files := repositorytest.Files{"README.md": "hello\n"}
	if config != "" {
		files[".svc-ci.yml"] = config
	}
	w.repo = repositorytest.New(t, w.db, w.store, w.project, files)
	return w
}

// noSchedules knows no schedule.
type noSchedules struct{}

func (noSchedules) Owner(context.Context, int64) (*int64, error) { return nil, nil }

func (w *fixture) as(t testing.TB, role access.Role) *httpapitest.Client {
	t.Helper()
	u := w.people[role]
	if u == nil {
		u = usertest.New(t, w.db)
		w.people[role] = u
	}
	return w.AsAccount(*u.Person(), u)
}

func (w *fixture) actor(role access.Role) access.Actor {
	u := w.people[role]
	return access.Actor{Person: u.Person(), Account: u}
}

// standing is the project as somebody of a role sees it.
func (w *fixture) standing(t testing.TB, role access.Role) *project.Project {
	t.Helper()
	p, err := w.projects.Find(t.Context(), w.actor(role), w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *fixture) at(below string, args ...any) string {
	return "/projects/" + strconv.FormatInt(w.project.ID, 10) + fmt.Sprintf(below, args...)
}

// create makes a pipeline as a developer.
func (w *fixture) create(t testing.TB, vars ...pipeline.Variable) *pipeline.Pipeline {
	t.Helper()
	pl, err := w.Create(t.Context(), w.actor(access.Developer), w.standing(t, access.Developer), pipeline.CreateRequest{
		Source: pipeline.FromAPI, Ref: "main", Variables: vars,
	})
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// jobs are the latest jobs of a pipeline, by name.
func (w *fixture) jobs(t testing.TB, pipelineID int64) map[string]*pipeline.Job {
	t.Helper()
	ids, err := postgres.Values[int64](t.Context(), w.db, `select id from jobs where pipeline_id = $1 and not retried order by id`, pipelineID)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*pipeline.Job{}
	for _, id := range ids {
		j, err := w.KnownJob(t.Context(), w.db, id)
		if err != nil {
			t.Fatal(err)
		}
		jobs[j.Name] = j
	}
	return jobs
}

// states is "name:status ..." of a pipeline, in order, with its own first.
func (w *fixture) states(t testing.TB, pipelineID int64) string {
	t.Helper()
	pl, err := w.ByID(t.Context(), w.db, pipelineID)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := postgres.Values[string](t.Context(), w.db,
		`select name || ':' || status from jobs where pipeline_id = $1 and not retried order by stage_index, id`, pipelineID)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append([]string{string(pl.Status)}, parts...), " ")
}

func (w *fixture) wantStates(t testing.TB, pipelineID int64, want string) {
	t.Helper()
	if got := w.states(t, pipelineID); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (w *fixture) in(t testing.TB, do func(tx pgx.Tx) error) {
	t.Helper()
	if err := w.db.InTx(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

// run takes the pending job of a name and ends it.
func (w *fixture) run(t testing.TB, pipelineID int64, name string, o pipeline.Outcome) {
	t.Helper()
	w.start(t, pipelineID, name)
	id := w.jobs(t, pipelineID)[name].ID
	w.in(t, func(tx pgx.Tx) error {
		_, err := w.Finish(t.Context(), tx, id, o)
		return err
	})
}

// give lets a runner have a pending job.
func (w *fixture) give(ctx context.Context, tx pgx.Tx, id int64) error {
	c, err := w.Candidate(ctx, tx, id)
	if err != nil {
		return err
	}
	return w.Start(ctx, tx, c, 1)
}

func (w *fixture) start(t testing.TB, pipelineID int64, name string) {
	t.Helper()
	j := w.jobs(t, pipelineID)[name]
	w.in(t, func(tx pgx.Tx) error {
		if j == nil {
			return fmt.Errorf("no job %s", name)
		}
		return w.give(t.Context(), tx, j.ID)
	})
}

var (
	passed = pipeline.Outcome{State: pipeline.Success}
	failed = pipeline.Outcome{State: pipeline.Failed, Reason: pipeline.ScriptFailure}
)

// pushes are the pipelines that pushes ask for, made now.
func (w *fixture) work(t testing.TB) {
	t.Helper()
	for {
		args, err := postgres.Values[string](t.Context(), w.db,
			`delete from river_job where kind = 'pipeline_create' returning args::text`)
		if err != nil {
			t.Fatal(err)
		}
		if len(args) == 0 {
			return
		}
		for _, text := range args {
			if err := w.FromPush(t.Context(), decode[pipeline.PushArgs](t, text)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// carryOn works what the queue holds for bridges, resources and the like.
func (w *fixture) carryOn(t testing.TB) {
	t.Helper()
	type row struct{ Kind, Args string }
	for {
		rows, err := postgres.All[row](t.Context(), w.db, `delete from river_job
			where kind in ('pipeline_bridge', 'pipeline_mirror', 'pipeline_resource_serve', 'pipeline_cancel', 'pipeline_supersede', 'pipeline_job_due', 'pipeline_unlock_files')
			returning kind, args::text as args`)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return
		}
		for _, r := range rows {
			switch ctx := t.Context(); r.Kind {
			case "pipeline_bridge":
				err = w.Bridge(ctx, decode[pipeline.BridgeArgs](t, r.Args).JobID)
			case "pipeline_mirror":
				err = w.Mirror(ctx, decode[pipeline.MirrorArgs](t, r.Args).PipelineID)
			case "pipeline_resource_serve":
				err = w.Serve(ctx, decode[pipeline.ServeArgs](t, r.Args).GroupID)
			case "pipeline_cancel":
				err = w.Stop(ctx, decode[pipeline.CancelArgs](t, r.Args).PipelineID)
			case "pipeline_supersede":
				err = w.Supersede(ctx, decode[pipeline.SupersedeArgs](t, r.Args).PipelineID)
			case "pipeline_unlock_files":
				err = w.Unlock(ctx, decode[pipeline.UnlockArgs](t, r.Args))
			case "pipeline_job_due":
				err = w.Due(ctx, decode[pipeline.DueArgs](t, r.Args).JobID)
			}
			if err != nil {
				t.Fatal(r.Kind, err)
			}
		}
	}
}

// archiveAfter sets the age from which jobs are kept as they are.
func (w *fixture) archiveAfter(t testing.TB, age string) {
	t.Helper()
	if err := w.settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.ArchiveBuildsInHumanReadable = setting.Text(age) }); err != nil {
		t.Fatal(err)
	}
}
