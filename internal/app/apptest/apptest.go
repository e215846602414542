// Package apptest is the whole application for the tests of rooms: assembled and wired as the server is, on a database of its own, with a clock
// that the test turns and a store that goes with it.
//
// A test binary that holds it links every package, and a room that also has tests inside its package would have every room above it compiled
// again; it is for rooms whose tests all stand outside.
package apptest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/app"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
)

// Instance is the application, entered through its API without limits on the rate of calls.
type Instance struct {
	*app.App
	*httpapitest.Client // anonymous

	mu      sync.Mutex
	now     time.Time
	records []bus.AuditRecord
}

// New assembles the application at a time in May 2024, with settings of the process such as "STITHY_INSTANCE_TIER=free".
func New(t testing.TB, environ ...string) *Instance {
	t.Helper()
	i := &Instance{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC)}
	cfg, err := config.Load("", append([]string{
		"STITHY_EXTERNAL_URL=https://forge.example", "STITHY_PAGES_EXTERNAL_URL=https://pages.test", "STITHY_DATA_DIR=" + t.TempDir(),
	}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	log, now, db := slog.New(slog.NewTextHandler(t.Output(), nil)), clock.Clock(i.Now), postgrestest.New(t)
	store, err := app.OpenStore(t.Context(), cfg, db, now, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	blobs, err := blob.Open("", cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	i.App, err = app.Assemble(app.Parts{Config: cfg, Log: log, Clock: now, DB: db, Box: secretbox.Random(), Store: store, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.records = append(i.records, a.AuditRecord())
		}
		return nil
	})
	i.Serve(t)
	return i
}

// Serve opens the API, with endpoints that the test has beside those of the application.
func (i *Instance) Serve(t testing.TB, more ...httpapi.Endpoint) {
	t.Helper()
	i.Client = httpapitest.Start(t, &httpapi.Server{Endpoints: append(i.Endpoints(), more...), Authenticator: i.Tokens, Clock: clock.Clock(i.Now)})
}

// As calls the API with a new token of somebody.
func (i *Instance) As(t testing.TB, u *user.User) *httpapitest.Client {
	t.Helper()
	return i.WithToken(tokentest.New(t, i.DB, i.Box, u.ID))
}

// WithToken calls the API with a secret.
func (i *Instance) WithToken(secret string) *httpapitest.Client {
	return i.With("Private-Token", secret)
}

// Now is the time of the instance.
func (i *Instance) Now() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

// Turn moves the time of the instance.
func (i *Instance) Turn(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = i.now.Add(d)
}

// Audited returns the acts since the last call that leave a trace.
func (i *Instance) Audited() []bus.AuditRecord {
	i.mu.Lock()
	defer i.mu.Unlock()
	records := i.records
	i.records = nil
	return records
}

// Heard keeps the events of a kind from now on. What it returns gives those since its last call.
func Heard[E bus.Event](i *Instance) func() []E {
	var mu sync.Mutex
	var events []E
	bus.On(i.Bus, func(_ context.Context, _ pgx.Tx, e E) error {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
		return nil
	})
	return func() []E {
		mu.Lock()
		defer mu.Unlock()
		last := events
		events = nil
		return last
	}
}
