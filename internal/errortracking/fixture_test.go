package errortracking_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/errortracking"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with a project and a person for each role there.
type fixture struct {
	*httpapitest.Client // anonymous
	core                *coretest.Core
	errors              *errortracking.Service
	door                http.Handler // for programs
	project             *project.Project
	people              map[access.Role]*user.User
	stranger            *user.User

	mu     sync.Mutex
	now    time.Time
	events []errortracking.Event
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC), people: map[access.Role]*user.User{}}
	c := coretest.New(t, coretest.Clock(w.time))
	w.core = c
	w.errors = errortracking.New(errortracking.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Projects: c.Projects, Limiter: ratelimit.New(c.Clock, nil), Clock: c.Clock,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	bus.On(c.Bus, func(_ context.Context, _ pgx.Tx, e errortracking.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
		return nil
	})
	w.Client = httpapitest.Serve(t, w.errors.Endpoints()...)
	door := &httpapi.Server{
		Dialect: w.errors.Dialect(), Endpoints: w.errors.Endpoints(), Limits: c.Settings, Limiter: ratelimit.New(c.Clock, nil), Clock: c.Clock, Log: c.Log,
	}
	w.door = door.Handler()
	house := grouptest.New(t, c.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, c.DB, house.ID, projecttest.Named("forge"), projecttest.Visible(access.Public))
	w.stranger = usertest.New(t, c.DB, usertest.Named("stranger"))
	for _, role := range access.Roles {
		w.people[role] = usertest.New(t, c.DB, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, c.DB, w.project, w.people[role], role)
	}
	return w
}

func (w *fixture) time() time.Time      { w.mu.Lock(); defer w.mu.Unlock(); return w.now }
func (w *fixture) turn(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

func (w *fixture) as(role access.Role) *httpapitest.Client { return w.asPerson(w.people[role]) }

func (w *fixture) asPerson(u *user.User) *httpapitest.Client { return w.AsAccount(*u.Person(), u) }

func (w *fixture) at(below string, args ...any) string {
	return "/projects/" + strconv.FormatInt(w.project.ID, 10) + "/error_tracking/" + fmt.Sprintf(below, args...)
}

// heard are the acts since the last call.
func (w *fixture) heard() (actions []errortracking.Action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		actions = append(actions, e.Action)
	}
	w.events = nil
	return actions
}

type object = map[string]any

// key is a client key as the API shows it.
type key struct {
	ID        int64  `json:"id"`
	Active    bool   `json:"active"`
	PublicKey string `json:"public_key"`
	DSN       string `json:"errsvc_dsn"`
}

// enable switches error tracking on, and returns the key that came with it.
func (w *fixture) enable(t testing.TB, settings ...object) key {
	t.Helper()
	body := object{"active": true, "integrated": true}
	for _, more := range settings {
		for name, value := range more {
			body[name] = value
		}
	}
	w.as(access.Maintainer).Do(t, "PUT", w.at("settings"), body).WantStatus(t, http.StatusOK)
	keys := httpapitest.JSON[[]key](t, w.as(access.Maintainer).Do(t, "GET", w.at("client_keys"), nil).WantStatus(t, http.StatusOK))
	if len(keys) == 0 {
		t.Fatal("there is no key")
	}
	return keys[0]
}

// send has a program send something. Options change the request.
func (w *fixture) send(t testing.TB, path, body string, options ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	for _, option := range options {
		option(r)
	}
	rec := httptest.NewRecorder()
	w.door.ServeHTTP(rec, r.WithContext(httpapi.WithRecorder(r.Context(), &httpapi.Recorder{Address: httpapitest.Address, RequestID: "test"})))
	return rec
}

func auth(k key) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("X-Sentry-Auth", "Sentry sentry_version=7, sentry_client=test/1, sentry_key="+k.PublicKey)
	}
}

func (w *fixture) intake(what string) string {
	return fmt.Sprintf("/errortracking/api/v1/projects/api/%d/%s/", w.project.ID, what)
}

// report has an event taken.
func (w *fixture) report(t testing.TB, k key, event string) {
	t.Helper()
	if rec := w.send(t, w.intake("store"), event, auth(k)); rec.Code != http.StatusOK || rec.Body.Len() > 0 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
}

func (w *fixture) count(t testing.TB, sql string, args ...any) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), w.core.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
