package artifact

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting/settingtest"
)

// fixture is the room with a folder of blobs and a clock to turn.
type fixture struct {
	*Service
	now time.Time
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)}
	db := postgrestest.New(t)
	log := slog.New(slog.DiscardHandler)
	registry := jobqueue.NewRegistry()
	queue, err := jobqueue.New(db, registry, log, 1)
	if err != nil {
		t.Fatal(err)
	}
	store, err := blob.Open("file://"+t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	w.Service = New(Deps{
		DB: db, Queue: queue, Blobs: store, Box: secretbox.Random(), Settings: settingtest.New(t, db),
		Clock: clock.Clock(func() time.Time { return w.now }),
	})
	w.Register(registry)
	return w
}

func (w *fixture) tx(t testing.TB, do func(context.Context, pgx.Tx) error) {
	t.Helper()
	if err := w.deps.DB.InTx(t.Context(), func(tx pgx.Tx) error { return do(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) begin(t testing.TB, jobID int64, secrets ...secretbox.Secret) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error {
		var b pgx.Batch
		if err := w.BeginLog(&b, 1, jobID, secrets...); err != nil {
			return err
		}
		return tx.SendBatch(ctx, &b).Close()
	})
}

func (w *fixture) end(t testing.TB, jobID int64) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error { return w.CloseLog(ctx, tx, jobID) })
}

// say appends to a log where it ends.
func (w *fixture) say(t testing.TB, jobID int64, text string) {
	t.Helper()
	size, err := w.LogSize(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AppendLog(t.Context(), jobID, size, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// seen reads a log from an offset on, and checks that its size is right.
func (w *fixture) seen(t testing.TB, jobID, from int64) string {
	t.Helper()
	body, size, err := w.OpenLog(t.Context(), jobID, from)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if from+int64(len(text)) != max(size, from) {
		t.Errorf("%d bytes from %d on are not up to %d", len(text), from, size)
	}
	return string(text)
}

func (w *fixture) count(t testing.TB, sql string, args ...any) int64 {
	t.Helper()
	n, err := postgres.Value[int64](t.Context(), w.deps.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (w *fixture) blobs(t testing.TB) int {
	t.Helper()
	all, err := w.deps.Blobs.List(t.Context(), "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
