package event_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/event"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

func (w *fixture) partitions(t testing.TB) []string {
	t.Helper()
	names, err := postgres.Values[string](t.Context(), w.DB, `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'events'::regclass order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (w *fixture) count(t testing.TB) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from events`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPartitionsAreMadeAheadAndDroppedAfterThreeYears(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if diff := cmp.Diff([]string{"events_202405", "events_202406", "events_202407", "events_202408", "events_default"}, w.partitions(t)); diff != "" {
		t.Errorf("made ahead (-want +got):\n%s", diff)
	}
	// One that came before its partition stays where it is.
	w.exec(t, `insert into events (created_at, author_id, project_id, action) values ('2024-09-10', 1, 1, 'joined'), ('2024-05-03', 1, 1, 'joined'),
		('2020-01-01', 1, 1, 'joined')`)
	w.Turn(62 * day)
	for range 2 {
		if err := w.Events.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Events.Retire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"events_202405", "events_202406", "events_202407", "events_202408", "events_202410", "events_default"}
	if diff := cmp.Diff(want, w.partitions(t)); diff != "" {
		t.Errorf("with one in the way (-want +got):\n%s", diff)
	}
	if n := w.count(t); n != 2 {
		t.Errorf("%d events are left, want those of the last three years", n)
	}
	w.Turn(time.Date(2027, 6, 1, 12, 0, 0, 0, time.UTC).Sub(w.Now()))
	if err := w.Events.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:], w.partitions(t)); diff != "" {
		t.Errorf("after three years (-want +got):\n%s", diff)
	}
	if n := w.count(t); n != 1 {
		t.Errorf("%d events are left", n)
	}
}

func TestEventsGoWithTheirAuthorAndTheirProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `insert into events (created_at, author_id, project_id, action) select $1::timestamptz - n * interval '1 hour', 1000 + n % 2, 2000 + n % 3, 'joined'
		from generate_series(1, 24000) n`, w.Now())
	for _, c := range []struct {
		args event.RemoveArgs
		left int
	}{{event.RemoveArgs{AuthorID: 1001}, 12000}, {event.RemoveArgs{ProjectID: 2000}, 8000}, {event.RemoveArgs{ProjectID: 1}, 8000}} {
		if err := w.Events.Remove(t.Context(), c.args); err != nil {
			t.Fatal(err)
		}
		if n := w.count(t); n != c.left {
			t.Errorf("%+v leaves %d events, want %d", c.args, n, c.left)
		}
	}
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return errors.Join(w.Bus.Publish(t.Context(), tx, project.Removing{ProjectID: w.project.ID}), w.Events.OnUserRemoving(t.Context(), tx, user.Removing{UserID: 77}))
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := postgres.Values[event.RemoveArgs](t.Context(), w.DB, `select args from river_job where kind = 'event_remove' order by id`)
	if diff := cmp.Diff([]event.RemoveArgs{{ProjectID: w.project.ID}, {AuthorID: 77}}, jobs); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
