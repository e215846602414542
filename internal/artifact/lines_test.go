package artifact

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/joblog"
	"stithy/internal/platform/secretbox"
)

// lines reads some lines of a log through its index.
func (w *fixture) lines(t testing.TB, jobID, from, until int64) (texts []string, index joblog.Index) {
	t.Helper()
	index, err := w.LogIndex(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	_, more, err := w.ReadLines(t.Context(), jobID, index.Before(from), 1<<20, func(l *joblog.Line) bool {
		if l.Number >= from {
			texts = append(texts, l.Text())
		}
		return l.Number < until
	})
	if err != nil || more {
		t.Fatalf("%v, more: %v", err, more)
	}
	return texts, index
}

func TestALogIsReadByItsLinesLiveArchivedAndErased(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const secret = "a-secret-of-the-job"
	w.begin(t, 7, secretbox.Secret(secret))
	if texts, index := w.lines(t, 7, 1, 10); len(texts) > 0 || index.Lines != 0 {
		t.Errorf("a new log has lines: %v", texts)
	}
	var said strings.Builder
	n := 0
	say := func(lines int) {
		var piece strings.Builder
		for range lines {
			n++
			fmt.Fprintf(&piece, "\x1b[3%dmline %d\x1b[0m of a log with some text, %s\n", n%8, n, secret)
		}
		said.WriteString(piece.String())
		w.say(t, 7, piece.String())
	}
	check := func(when string, from, until int64) {
		t.Helper()
		texts, index := w.lines(t, 7, from, until)
		if index.Lines != int64(n) || index.Size != int64(said.Len()) {
			t.Errorf("%s: %d lines of %d, %d bytes of %d", when, index.Lines, n, index.Size, said.Len())
		}
		for i, text := range texts {
			if want := fmt.Sprintf("line %d of a log with some text, %s", from+int64(i), strings.Repeat("x", len(secret))); text != want {
				t.Errorf("%s: %q instead of %q", when, text, want)
			}
		}
		if int64(len(texts)) != min(until, int64(n))-from+1 {
			t.Errorf("%s: %d lines from %d until %d", when, len(texts), from, until)
		}
	}
	say(10)
	check("a short log", 3, 8)
	say(20_000)
	check("a live log", 15_000, 15_010)
	say(5_000)
	check("a live log that grew", 24_000, 24_020)
	other := &fixture{Service: New(w.deps), now: w.now}
	if texts, index := other.lines(t, 7, 20_000, 20_001); len(texts) != 2 || index.Lines != int64(n) {
		t.Errorf("another node reads %v of %d lines", texts, index.Lines)
	}
	w.end(t, 7)
	check("a closed log", 1, 5)
	if err := w.ArchiveLog(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if w.blobs(t) != 2 {
		t.Errorf("%d blobs", w.blobs(t))
	}
	check("an archived log", 25_000, 26_000)
	if err := w.deps.Blobs.Delete(t.Context(), indexKey(7)); err != nil {
		t.Fatal(err)
	}
	check("an archived log whose index is lost", 12_345, 12_350)
	if err := w.putIndex(t.Context(), 7, joblog.Index{}); err != nil {
		t.Fatal(err)
	}
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error { return w.EraseAll(ctx, tx, 7) })
	if texts, index := w.lines(t, 7, 1, 10); len(texts) > 0 || index.Lines != 0 {
		t.Errorf("an erased log has lines: %v", texts)
	}
	if err := w.removeBytes(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if w.blobs(t) != 0 {
		t.Error("something of an erased log is left")
	}
}

func TestASearchOfALogReadsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	w.say(t, 7, strings.Repeat("some text\n", 50_000))
	s := joblog.NewSearch("nothing of the kind", 1, 5)
	at, more, err := w.ReadLines(t.Context(), 7, joblog.Start(), 100_000, s.Take)
	if err != nil || !more || s.Seen != 10_000 || at.Offset != 100_000 {
		t.Errorf("%+v, more: %v, until line %d, %v", at, more, s.Seen, err)
	}
}

func TestManyLiveLogsAreNotAllRemembered(t *testing.T) {
	t.Parallel()
	var x indexes
	first := x.of(1)
	for id := range int64(mostIndexes) {
		x.of(1)
		x.of(id + 2)
	}
	if len(x.byJob) != mostIndexes || x.of(1) != first {
		t.Errorf("%d are remembered", len(x.byJob))
	}
}

// A window costs by its lines, wherever it is in the longest log.
func BenchmarkAWindowOfALongLog(b *testing.B) {
	w := newFixture(b)
	w.begin(b, 7)
	line := "\x1b[32mok\x1b[0m   12.3s  internal/some/package/of/ours  and 87.4% of its statements\n"
	log := strings.Repeat(line, MaxLog/len(line))
	if err := w.deps.Blobs.Put(b.Context(), logKey(7), strings.NewReader(log), int64(len(log))); err != nil {
		b.Fatal(err)
	}
	x := joblog.NewIndexer()
	_, _ = x.Write([]byte(log))
	if err := w.putIndex(b.Context(), 7, x.Index()); err != nil {
		b.Fatal(err)
	}
	if _, err := w.deps.DB.Exec(b.Context(), "update job_logs set size = $1, closed_at = now(), archived_at = now(), sealed_masks = null", len(log)); err != nil {
		b.Fatal(err)
	}
	n := int64(0)
	for b.Loop() {
		index, err := w.LogIndex(b.Context(), 7)
		if err != nil {
			b.Fatal(err)
		}
		n = (n + 123_457) % index.Lines
		show := joblog.Around(n + 1)
		if _, _, err := w.ReadLines(b.Context(), 7, index.Before(show.First()), MaxLog, show.Take); err != nil || len(show.HTML()) == 0 {
			b.Fatal(err)
		}
	}
}
