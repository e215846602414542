package artifact

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

func TestALogIsReadWhileItGrowsAndAfterwards(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	if got := w.seen(t, 7, 0); got != "" {
		t.Errorf("a new log reads %q", got)
	}
	long := strings.Repeat("0123456789abcde\n", 3*piece/16)
	w.say(t, 7, "one\n")
	w.say(t, 7, "two\n")
	w.say(t, 7, long)
	want := "one\ntwo\n" + long
	check := func() {
		t.Helper()
		for _, from := range []int64{0, 3, 8, piece, piece + 1, int64(len(want)) - 1, int64(len(want)), int64(len(want)) + 5} {
			if got := w.seen(t, 7, from); got != want[min(from, int64(len(want))):] {
				t.Errorf("from %d: %d bytes", from, len(got))
			}
		}
	}
	check()
	w.end(t, 7)
	check()
	for range 2 { // a job may run twice
		if err := w.ArchiveLog(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		check()
	}
	if n := w.count(t, "select count(*) from job_log_chunks"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := w.count(t, "select count(*) from job_logs where sealed_masks is null and sha256 is not null and archived_at is not null"); n != 1 {
		t.Error("the row is not done")
	}
	if got := w.seen(t, 8, 0); got != "" {
		t.Errorf("a job without a log has one: %q", got)
	}
}

func TestDL14_AnAcknowledgedPieceIsDurableAndHasItsPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	size, err := w.AppendLog(t.Context(), 7, 0, []byte("hello"))
	if size != 5 || err != nil {
		t.Fatal(size, err)
	}
	// Another process, with nothing but the database: all that was acknowledged is there.
	other := New(w.deps)
	for _, offset := range []int64{0, 4, 6, 100} {
		size, err := other.AppendLog(t.Context(), 7, offset, []byte("again"))
		var wrong *OffsetError
		if !errors.As(err, &wrong) || wrong.Size != 5 || size != 5 {
			t.Errorf("at %d: %d, %v", offset, size, err)
		}
	}
	if got := w.seen(t, 7, 0); got != "hello" {
		t.Errorf("the log is %q", got)
	}
	if _, err := other.AppendLog(t.Context(), 7, 5, []byte(" there")); err != nil {
		t.Fatal(err)
	}
	w.end(t, 7)
	if _, err := w.AppendLog(t.Context(), 7, 11, []byte("late")); !fault.Is(err, fault.Forbidden) {
		t.Errorf("after its end: %v", err)
	}
	if got := w.seen(t, 7, 0); got != "hello there" {
		t.Errorf("the log is %q", got)
	}
	if _, err := w.AppendLog(t.Context(), 8, 0, []byte("x")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a log that nobody opened: %v", err)
	}
	// Many at a time for one place: one is taken.
	w.begin(t, 9)
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			_, err := New(w.deps).AppendLog(context.Background(), 9, 0, []byte("once"))
			results <- err
		}()
	}
	taken := 0
	for range cap(results) {
		if <-results == nil {
			taken++
		}
	}
	if got := w.seen(t, 9, 0); taken != 1 || got != "once" {
		t.Errorf("%d were taken: %q", taken, got)
	}
}

func TestALogThatBecomesTooLongIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	if _, err := w.deps.DB.Exec(t.Context(), "update job_logs set size = $1", MaxLog-3); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AppendLog(t.Context(), 7, MaxLog-3, []byte("four")); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
	if _, err := w.AppendLog(t.Context(), 7, MaxLog-3, []byte("all")); err != nil {
		t.Error(err)
	}
}

func TestCI06_ASecretIsHiddenAcrossPiecesRestartsAndTheEnd(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const canary = "svccbt-canary_0123456789"
	text := "a " + canary + " b\n" + canary[:20] + "\n" + canary + canary + canary[:15]
	want := strings.ReplaceAll(text, canary, strings.Repeat("x", len(canary)))
	want = want[:len(want)-15] + strings.Repeat("x", 15)
	for id := range int64(12) {
		random := rand.New(rand.NewPCG(uint64(id), 6)) // every chunking is another, and the same in each run
		w.begin(t, id, canary)
		at := int64(0)
		for rest := []byte(text); len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 30))
			var err error
			if at, err = New(w.deps).AppendLog(t.Context(), id, at, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if got := w.seen(t, id, 0); !strings.HasPrefix(want, got) || int64(len(got)) > at {
				t.Fatalf("%q was shown", got)
			}
		}
		w.end(t, id)
		if got := w.seen(t, id, 0); got != want {
			t.Fatalf("closed: %q", got)
		}
		if err := w.ArchiveLog(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := w.seen(t, id, 0); got != want {
			t.Fatalf("archived: %q", got)
		}
	}
	// Neither the rows nor the masks show it at rest.
	w.begin(t, 1_000_000, secretbox.Secret(canary))
	w.say(t, 1_000_000, text)
	if n := w.count(t, "select count(*) from job_logs where position($1::bytea in sealed_masks) > 0", []byte(canary[:12])); n != 0 {
		t.Error("the secret is in the row")
	}
	if n := w.count(t, "select count(*) from job_log_chunks where position($1::bytea in content) > 0", []byte(canary)); n != 0 {
		t.Error("the secret is in the log")
	}
}

func TestAReaderGoesOnInTheArchive(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	long := strings.Repeat("0123456789abcde\n", (piecesAtOnce+3)*piece/16)
	w.say(t, 7, long)
	body, size, err := w.OpenLog(t.Context(), 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got := make([]byte, 10)
	if _, err := io.ReadFull(body, got); err != nil {
		t.Fatal(err)
	}
	w.end(t, 7)
	if err := w.ArchiveLog(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(body)
	if err != nil || size != int64(len(long)) || string(got)+string(rest) != long {
		t.Errorf("%d and %d bytes of %d, %v", len(got), len(rest), size, err)
	}
}

func TestAnErasedLogIsGoneFromSightAtOnceAndFromTheStoreAfterwards(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, archived := range []bool{false, true} {
		id := w.count(t, "select count(*) + 1 from job_logs")
		w.begin(t, id)
		w.say(t, id, "text")
		if archived {
			w.end(t, id)
			if err := w.ArchiveLog(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		w.tx(t, func(ctx context.Context, tx pgx.Tx) error { return w.EraseAll(ctx, tx, id) })
		if got := w.seen(t, id, 0); got != "" {
			t.Errorf("it reads %q", got)
		}
		if _, err := w.AppendLog(t.Context(), id, 0, []byte("more")); !errors.Is(err, errErased) {
			t.Errorf("more is %v", err)
		}
		for range 2 {
			if err := w.removeBytes(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		// An archiving that was on its way finds nothing to keep.
		if err := w.ArchiveLog(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if n := w.count(t, "select count(*) from job_log_chunks"); n != 0 || w.blobs(t) != 0 {
			t.Errorf("%d rows and %d blobs are left", n, w.blobs(t))
		}
	}
	w.sweep(t)
	if n := w.count(t, "select count(*) from job_logs"); n == 0 {
		t.Error("erased logs are forgotten at once")
	}
	w.now = w.now.Add(2 * remembered)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "select count(*) from job_logs"); n != 0 {
		t.Errorf("%d logs are remembered", n)
	}
}

// Whoever looked while the log was open, and appends when it is not.
func TestALogThatEndsMeanwhileDoesNotGrow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, next := hide(nil, held{}, []byte("more"))
	for id, end := range map[int64]func(ctx context.Context, tx pgx.Tx) error{
		7: nil,
		8: func(ctx context.Context, tx pgx.Tx) error { return w.CloseLog(ctx, tx, 8) },
		9: func(ctx context.Context, tx pgx.Tx) error { return w.EraseAll(ctx, tx, 9) },
	} {
		w.begin(t, id)
		w.say(t, id, "text")
		want := int64(1)
		if end != nil {
			w.tx(t, end)
			want = 0
		}
		before := w.count(t, "select count(*) from job_log_chunks where job_id = $1", id)
		size, err := w.LogSize(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got := w.count(t, sqlAppend, id, size, size+4, next.secret, next.bytes, next.masked, w.now, []int64{size}, [][]byte{[]byte("more")})
		if more := w.count(t, "select count(*) from job_log_chunks where job_id = $1", id) - before; got != want || more != want {
			t.Errorf("%d: %d logs grew by %d pieces, want %d", id, got, more, want)
		}
	}
}

func TestWhatAProjectLeavesIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	w.say(t, 7, "text")
	w.end(t, 7)
	if err := w.ArchiveLog(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store(t.Context(), File{ProjectID: 1, JobID: 8, Type: Archive, Format: Zip}, strings.NewReader("zip")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store(t.Context(), File{ProjectID: 2, JobID: 9, Type: Archive, Format: Zip}, strings.NewReader("zip")); err != nil {
		t.Fatal(err)
	}
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error {
		return w.OnProjectRemoving(ctx, tx, project.Removing{ProjectID: 1})
	})
	if n := w.count(t, `select count(*) from river_job where kind = 'job_leftovers_of_project' and args->>'project_id' = '1'`); n != 1 {
		t.Errorf("%d jobs are to remove it", n)
	}
	if err := w.removeOf(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{7, 8} {
		if err := w.removeBytes(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.blobs(t); n != 1 {
		t.Errorf("%d blobs are left", n)
	}
}
