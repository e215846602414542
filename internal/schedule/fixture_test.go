package schedule_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"stithy/internal/artifact"
	"stithy/internal/core/coretest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
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
	"stithy/internal/schedule"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

// fixture is an instance with a project whose repository holds a configuration,
// and a person for each role there.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	schedules           *schedule.Service
	pipelines           *pipeline.Service
	project             *project.Project
	now                 time.Time
	people              map[access.Role]*user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC), people: map[access.Role]*user.User{}}
	c := coretest.New(t, coretest.Clock(func() time.Time { return w.now }))
	w.db = c.DB
	store := repositorytest.Store(t)
	blobs, err := blob.Open("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var protected struct{ protection.Repositories }
	rules := protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: &protected,
	})
	repositories := repository.New(repository.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Box: c.Box,
		Outbound: c.Outbound, Store: store, Storages: []string{"default"}, Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(),
		Names: c.Instance.Names, Protection: rules, LargeFiles: repositorytest.NoLargeFiles{},
	})
	protected.Repositories = repositories
	variables := variable.New(variable.Deps{DB: c.DB, Bus: c.Bus, Box: c.Box, Clock: c.Clock, Settings: c.Settings, Owners: c.Owners})
	artifacts := artifact.New(artifact.Deps{
		DB: c.DB, Queue: c.Queue, Blobs: blobs, Box: c.Box, Settings: c.Settings, Clock: c.Clock,
	})
	runners := runner.New(runner.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Groups: c.Groups, Projects: c.Projects, Clock: c.Clock, Log: c.Log,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	var up struct{ pipeline.Schedules }
	w.pipelines = pipeline.New(pipeline.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens,
		Projects: c.Projects, Protection: rules, Repositories: repositories, Variables: variables, Artifacts: artifacts, Runners: runners,
		Outbound: c.Outbound, Clock: c.Clock, ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names, Schedules: &up,
	})
	w.schedules = schedule.New(schedule.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Protection: rules, Pipelines: w.pipelines,
		Clock: c.Clock, Names: c.Instance.Names, JobTokens: noJobTokens{},
	})
	up.Schedules = w.schedules
	w.Client = httpapitest.Serve(t, slices.Concat(w.schedules.Endpoints(), w.pipelines.Endpoints())...)
	house := grouptest.New(t, w.db, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.db, house.ID, projecttest.Named("forge"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		w.people[role] = usertest.New(t, w.db, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, w.db, w.project, w.people[role], role)
	}
	repositorytest.New(t, w.db, store, w.project, repositorytest.Files{".svc-ci.yml": "build: {script: [make]}\n"})
	return w
}

// noJobTokens knows no token of a job.
type noJobTokens struct{}

func (noJobTokens) Caller(context.Context, string) (jobID int64, by access.Actor, err error) {
	return 0, by, nil
}

func (w *fixture) as(t testing.TB, role access.Role) *httpapitest.Client {
	t.Helper()
	return w.AsAccount(*w.people[role].Person(), w.people[role])
}

func (w *fixture) at(below string, args ...any) string {
	return "/projects/" + strconv.FormatInt(w.project.ID, 10) + fmt.Sprintf(below, args...)
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
