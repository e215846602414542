package setting

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

// lines passes log lines on to a test that waits for one. Those beyond its
// capacity are lost: nobody waits for them.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// until waits for a state to hold; it looks whenever the service says something.
func (l lines) until(t *testing.T, what string, holds func(line string) bool) {
	t.Helper()
	patience := time.After(20 * time.Second)
	for {
		select {
		case line := <-l:
			if holds(line) {
				return
			}
		case <-patience:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func service(db *postgres.DB, log lines) *Service {
	return New(Deps{
		DB: db, Bus: bus.New(), Clock: clock.System(), Log: slog.New(slog.NewTextHandler(log, nil)), Instance: Instance{Names: names},
		Actors: struct{ Actors }{},
	})
}

// start watches until the test ends.
func start(t *testing.T, s *Service, poll time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { s.watch(ctx, poll) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

func setLimit(t *testing.T, s *Service, limit int) {
	t.Helper()
	if err := s.Update(t.Context(), access.Actor{}, func(now *Settings) { now.DefaultProjectsLimit = limit }); err != nil {
		t.Fatal(err)
	}
}

func TestTwoNodesSeeEachOthersChanges(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	logA, logB := make(lines, 100), make(lines, 100)
	a, b := service(db, logA), service(db, logB)
	start(t, a, time.Hour)
	start(t, b, time.Hour)

	setLimit(t, a, 11)
	logB.until(t, "b sees the limit of a", func(string) bool { return b.Current().DefaultProjectsLimit == 11 })
	setLimit(t, b, 12)
	logA.until(t, "a sees the limit of b", func(string) bool { return a.Current().DefaultProjectsLimit == 12 })
	if _, err := b.SetFeature(t.Context(), access.Actor{}, "flag", FeatureChange{Value: "true"}); err != nil {
		t.Fatal(err)
	}
	logA.until(t, "a sees the flag", func(string) bool { return a.Enabled("flag") })
	if err := b.RemoveFeature(t.Context(), access.Actor{}, "flag"); err != nil {
		t.Fatal(err)
	}
	logA.until(t, "a sees the flag go", func(string) bool { return !a.Enabled("flag") })
}

func TestANodeListensAgainAfterItsConnectionWasCut(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	log := make(lines, 100)
	s := service(db, log)
	start(t, s, time.Hour)
	log.until(t, "it listens", func(string) bool { return s.state.Load().version >= 0 })

	n, err := postgres.Value[int](t.Context(), db, `select count(*) from (
		select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and query like 'listen %') cut`)
	if err != nil || n != 1 {
		t.Fatalf("%d connections cut, %v", n, err)
	}
	setLimit(t, service(db, make(lines, 100)), 13)
	log.until(t, "it sees what it was not told", func(string) bool { return s.Current().DefaultProjectsLimit == 13 })
	setLimit(t, service(db, make(lines, 100)), 14)
	log.until(t, "it is told again", func(string) bool { return s.Current().DefaultProjectsLimit == 14 })
}

func TestANodeThatIsToldNothingLooksByItself(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	log := make(lines, 100)
	s := service(db, log)
	start(t, s, 10*time.Millisecond)
	log.until(t, "it has loaded", func(string) bool { return s.state.Load().version >= 0 })

	// No notification goes with this change.
	if _, err := db.Exec(t.Context(), `update settings set changed = '{"default_projects_limit": 15}', version = version + 1`); err != nil {
		t.Fatal(err)
	}
	log.until(t, "it found the change", func(string) bool { return s.Current().DefaultProjectsLimit == 15 })
}

func TestUnreadableSettingsKeepTheLastGoodOnes(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	log := make(lines, 100)
	s := service(db, log)
	setLimit(t, s, 16)
	start(t, s, 10*time.Millisecond)
	if _, err := db.Exec(t.Context(), `update settings set changed = '{"signup_enabled": 5}', version = version + 1`); err != nil {
		t.Fatal(err)
	}
	log.until(t, "it complains", func(line string) bool { return strings.Contains(line, "settings may be stale") })
	if got := s.Current().DefaultProjectsLimit; got != 16 {
		t.Errorf("the limit is %d", got)
	}
}
