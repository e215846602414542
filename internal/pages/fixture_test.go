package pages_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/core/coretest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pages"
	"stithy/internal/pipeline"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/runner"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

type object = map[string]any

// fixture is an instance with two projects, a person for each role in the first, and a DNS of its own.
type fixture struct {
	*httpapitest.Client // anonymous
	core                *coretest.Core
	pages               *pages.Service
	artifacts           *artifact.Service
	blobs               blob.Store
	project, other      *project.Project
	people              map[access.Role]*user.User
	root, stranger      *user.User

	mu     sync.Mutex
	now    time.Time
	dns    map[string][]string
	asked  []string
	events []pages.Event
}

func newFixture(t testing.TB, root pages.Root) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC), people: map[access.Role]*user.User{}, dns: map[string][]string{}}
	c := coretest.New(t, coretest.Clock(w.time))
	w.core = c
	var err error
	if w.blobs, err = blob.Open("", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	w.artifacts = artifact.New(artifact.Deps{DB: c.DB, Queue: c.Queue, Blobs: w.blobs, Box: c.Box, Settings: c.Settings, Clock: c.Clock})
	w.pages = pages.New(pages.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Settings: c.Settings, Tokens: c.Tokens, Projects: c.Projects, Artifacts: w.artifacts,
		Pipelines: pipelines(t, c, w.artifacts), Blobs: w.blobs, Resolver: w, Clock: c.Clock, ExternalURL: c.ExternalURL, Root: root, Names: c.Instance.Names,
	})
	w.pages.Register(c.Registry)
	bus.On(c.Bus, w.pages.OnProjectRemoving)
	bus.On(c.Bus, w.pages.OnJobFinished)
	bus.On(c.Bus, func(_ context.Context, _ pgx.Tx, e pages.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
		return nil
	})
	w.Client = httpapitest.Serve(t, w.pages.Endpoints()...)
	house := grouptest.New(t, c.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, c.DB, house.ID, projecttest.Named("forge"), projecttest.Visible(access.Public))
	w.other = projecttest.New(t, c.DB, house.ID, projecttest.Named("other"), projecttest.Visible(access.Private))
	w.stranger, w.root = usertest.New(t, c.DB, usertest.Named("stranger")), usertest.New(t, c.DB, usertest.Admin())
	for _, role := range access.Roles {
		w.people[role] = usertest.New(t, c.DB, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, c.DB, w.project, w.people[role], role)
	}
	projecttest.Join(t, c.DB, w.other, w.people[access.Owner], access.Owner)
	return w
}

// pipelines is the room of jobs, of which these tests use what is planned for one.
func pipelines(t testing.TB, c *coretest.Core, artifacts *artifact.Service) *pipeline.Service {
	t.Helper()
	var above struct {
		protection.Repositories
		pipeline.Schedules
	}
	rules := protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: &above,
	})
	code := repository.New(repository.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Box: c.Box,
		Outbound: c.Outbound, Store: repositorytest.Store(t), Storages: []string{"default"}, Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(),
		Names: c.Instance.Names, Protection: rules, LargeFiles: repositorytest.NoLargeFiles{},
	})
	runners := runner.New(runner.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Groups: c.Groups, Projects: c.Projects, Clock: c.Clock, Log: c.Log,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	return pipeline.New(pipeline.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Protection: rules,
		Repositories: code, Variables: variable.New(variable.Deps{DB: c.DB, Bus: c.Bus, Box: c.Box, Clock: c.Clock, Settings: c.Settings, Owners: c.Owners}),
		Artifacts: artifacts, Runners: runners, Outbound: c.Outbound, Clock: c.Clock, ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
		Schedules: &above,
	})
}

var onTest = pages.Root{Scheme: "https", Host: "pages.test"}

func (w *fixture) time() time.Time      { w.mu.Lock(); defer w.mu.Unlock(); return w.now }
func (w *fixture) turn(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

// LookupTXT is the DNS of the fixture.
func (w *fixture) LookupTXT(ctx context.Context, name string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 15*time.Second {
		return nil, errors.New("asked without a deadline")
	}
	texts, ok := w.dns[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return texts, nil
}

func (w *fixture) record(name string, texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dns[name] = texts
}

func (w *fixture) as(role access.Role) *httpapitest.Client { return w.asPerson(w.people[role]) }

func (w *fixture) asPerson(u *user.User) *httpapitest.Client { return w.AsAccount(*u.Person(), u) }

func at(p *project.Project, below ...string) string {
	return "/projects/" + strconv.FormatInt(p.ID, 10) + "/pages" + strings.Join(below, "")
}

// heard are the acts since the last call.
func (w *fixture) heard() (actions []pages.Action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		actions = append(actions, e.Action)
	}
	w.events = nil
	return actions
}

// domain is one as the API shows it, with all that can be asked for.
type domain struct {
	Domain         string     `json:"domain"`
	URL            string     `json:"url"`
	ProjectID      int64      `json:"project_id"`
	AutoSSLEnabled bool       `json:"auto_ssl_enabled"`
	Verified       bool       `json:"verified"`
	Code           string     `json:"verification_code"`
	EnabledUntil   *time.Time `json:"enabled_until"`
	Certificate    *struct {
		Subject         string    `json:"subject"`
		Expired         bool      `json:"expired"`
		Expiration      time.Time `json:"expiration"`
		Certificate     string    `json:"certificate"`
		CertificateText string    `json:"certificate_text"`
	} `json:"certificate"`
}

func (w *fixture) claim(t testing.TB, p *project.Project, name string) domain {
	t.Helper()
	return httpapitest.JSON[domain](t, w.as(access.Owner).Do(t, "POST", at(p, "/domains?verification=true"), object{"domain": name}).WantStatus(t, 201))
}

func (w *fixture) shown(t testing.TB, p *project.Project, name string) domain {
	t.Helper()
	return httpapitest.JSON[domain](t, w.as(access.Owner).Do(t, "GET", at(p, "/domains/", name, "?verification=true"), nil).WantStatus(t, 200))
}

// look has all that is due looked at.
func (w *fixture) look(t testing.TB) {
	t.Helper()
	if err := w.pages.Domains(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) served(t testing.TB, host string) bool {
	t.Helper()
	_, err := w.pages.Serve(t.Context(), host)
	return err == nil
}

func (w *fixture) id(t testing.TB, name string) int64 {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.core.DB, `select id from pages_domains where domain = $1`, name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
