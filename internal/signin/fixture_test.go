package signin_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is the way in with a clock that tests turn.
type fixture struct {
	*signin.Service
	db       *postgres.DB
	settings *setting.Service
	users    *user.Service
	sink     *mailtest.Sink

	mu      sync.Mutex
	now     time.Time
	unknown []string // addresses that were told to be unknown
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

var (
	here  = netip.MustParseAddr("192.0.2.7")
	right = secretbox.Secret("correct horse 7 staple")
	wrong = secretbox.Secret("wrong horse 7 staple")
)

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{sink: mailtest.New(t), now: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)}
	c := coretest.New(t, coretest.Clock(w.clock))
	w.db, w.settings, w.users = c.DB, c.Settings, c.Users
	post, err := mail.New(w.sink.URL, "noreply@forge.example")
	if err != nil {
		t.Fatal(err)
	}
	w.Service = signin.New(signin.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Mail: post, Clock: c.Clock,
		ExternalURL: c.ExternalURL,
	})
	bus.On(c.Bus, w.OnUser)
	bus.On(c.Bus, func(_ context.Context, _ pgx.Tx, e signin.UnknownEntry) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unknown = append(w.unknown, fmt.Sprintf("%d %s %s", e.By.ID(), e.By.Address, e.Browser))
		return nil
	})
	return w
}

// person seeds an account that can sign in.
func (w *fixture) person(t testing.TB) *user.User {
	t.Helper()
	hash, err := secretbox.NewHasher(1).Hash(t.Context(), right)
	if err != nil {
		t.Fatal(err)
	}
	return usertest.New(t, w.db, usertest.With("password_hash", hash))
}

func (w *fixture) try(t testing.TB, login string, password secretbox.Secret) error {
	t.Helper()
	_, err := w.CheckPassword(t.Context(), login, password, here)
	return err
}

// jobs are the kinds that wait to be worked.
func (w *fixture) jobs(t testing.TB) []string {
	t.Helper()
	kinds, err := postgres.Values[string](t.Context(), w.db, `select kind || ' ' || args::text from river_job order by id`)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func (w *fixture) count(t testing.TB, table string) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), w.db, fmt.Sprintf(`select count(*) from %s`, pgx.Identifier{table}.Sanitize()))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
