package artifact

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
)

func everybody(Audience) bool { return true }

// opens counts what is read of a store, and which blobs.
type opens struct {
	blob.Store
	mu    sync.Mutex
	bytes int64
	times map[string]int // by the end of the key
	puts  int
}

func (o *opens) note(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.times == nil {
		o.times = map[string]int{}
	}
	_, end, _ := strings.Cut(key, ".")
	o.times[end]++
}

func (o *opens) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	body, err := o.Store.Open(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	o.note(key)
	return struct {
		io.Reader
		io.Closer
	}{readerFunc(func(p []byte) (int, error) {
		n, err := body.Read(p)
		o.mu.Lock()
		o.bytes += int64(n)
		o.mu.Unlock()
		return n, err
	}), body}, nil
}

func (o *opens) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	o.mu.Lock()
	o.puts++
	o.mu.Unlock()
	return o.Store.Put(ctx, key, body, size)
}

// allocated is how many bytes of memory something takes in all, given back or
// not. No other test runs beside those that ask.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// DO-11: an archive of very many files has an index that is made once, however
// many ask at once, and searched without reading it whole.
func TestDO11_AFileOfAHugeArchiveIsFoundByAnIndexThatIsMadeOnce(t *testing.T) {
	w := newFixture(t)
	const many = 640_000
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for n := range many {
		name := fmt.Sprintf("%06x", n)
		if n == 7 || n == many-7 {
			name = "twice"
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if n%100_000 == 5 {
			_, _ = io.WriteString(f, name)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f := w.store(t, File{JobID: 7, Type: Archive, Format: Zip}, packed.Bytes())
	size := packed.Len()
	packed = bytes.Buffer{}
	seen := &opens{Store: w.deps.Blobs}
	w.deps.Blobs = seen

	// Six at once: the index takes some dozen megabytes, once.
	cost := allocated(func() {
		var wg sync.WaitGroup
		for n := range 6 {
			wg.Go(func() {
				name := fmt.Sprintf("%06x", n*100_000+5)
				body, e, err := w.OpenEntry(t.Context(), f, name)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				text, err := io.ReadAll(body)
				if _ = body.Close(); string(text) != name || e.Name != name || err != nil {
					t.Errorf("%s: %q, %v", name, text, err)
				}
			})
		}
		wg.Wait()
	})
	if cost > 120<<20 {
		t.Errorf("six who ask first take %d MB for an archive of %d MB", cost>>20, size>>20)
	}
	if seen.puts != 1 {
		t.Errorf("the index was made %d times", seen.puts)
	}
	// From then on each reads little.
	seen.bytes = 0
	cost = allocated(func() {
		for _, name := range []string{"twice", "nothing", "ffffff"} {
			if _, _, err := w.OpenEntry(t.Context(), f, name); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	if seen.bytes > 3<<20 || cost > 8<<20 {
		t.Errorf("three who ask later read %d kB and take %d kB", seen.bytes>>10, cost>>10)
	}
	if all, err := w.Entries(t.Context(), f, 10); err != nil || len(all) != 10 {
		t.Errorf("%+v, %v", all, err)
	}
	// The index goes with the archive.
	w.exec(t, `update job_artifacts set state = 'removing'`)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.blobs(t); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.deps.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// DO-11: a report that is small when packed takes no more than a few dozen
// megabytes to read, and is read once.
func TestDO11_ATestReportIsReadOnceAndInBounds(t *testing.T) {
	w := newFixture(t)
	for name, text := range map[string]string{
		"one text":      "<testsuite><testcase name='a'><failure>" + strings.Repeat("x", 60<<20) + "</failure></testcase></testsuite>",
		"one attribute": "<testsuite><testcase name='" + strings.Repeat("x", 60<<20) + "'/></testsuite>",
		"many outputs": "<testsuite>" + strings.Repeat("<testcase name='a'><system-out>"+strings.Repeat("x", 1000)+"</system-out><failure>"+strings.Repeat("y", 300)+
			"</failure></testcase>", 45_000) + "</testsuite>",
		"many small outputs": "<testsuite><testcase name='a'>" + strings.Repeat("<system-out>x</system-out>", 1_000_000) + "</testcase></testsuite>",
	} {
		body := packed(t, text)
		size := len(text)
		cost := allocated(func() { _, _ = readJUnit(t.Context(), Gzip, bytes.NewReader(body)) })
		if cost > uint64(size)*8 {
			t.Errorf("%s: %d kB unpack to %d MB and take %d MB", name, len(body)>>10, size>>20, cost>>20)
		}
		if held := heldBy(func() any { c, _ := readJUnit(t.Context(), Gzip, bytes.NewReader(body)); return c }); held > 40<<20 {
			t.Errorf("%s: %d MB are held afterwards", name, held>>20)
		}
	}
	w.store(t, File{JobID: 7, Type: JUnit, Format: Raw}, []byte(`<testsuite><testcase name="a"/></testsuite>`))
	seen := &opens{Store: w.deps.Blobs}
	w.deps.Blobs = seen
	for range 3 {
		if r, err := w.TestReport(t.Context(), everybody, false, 7); err != nil || len(r.Suites) != 1 || r.Suites[0].Counts.Passed != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if seen.times[""] != 1 || seen.times["cases"] != 0 || seen.puts != 1 {
		t.Errorf("three summaries read the report %d times and its cases %d times", seen.times[""], seen.times["cases"])
	}
	w.exec(t, `update job_artifacts set state = 'removing'`)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.blobs(t); n != 0 || w.count(t, `select count(*) from job_test_reports`) != 0 {
		t.Errorf("%d blobs are left", n)
	}
}

// heldBy is how much memory a value takes.
func heldBy(do func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := do()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(v)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// DO-11: what is told about the reports of a pipeline is bounded, however many
// of its jobs have one.
func TestDO11_TheReportsOfFiveThousandJobsAreToldInBounds(t *testing.T) {
	w := newFixture(t)
	text := "<testsuite>" + strings.Repeat("<testcase name='passes'/>", 9) + "<testcase name='fails'><failure>" + strings.Repeat("x", 4000) + "</failure></testcase></testsuite>"
	f := w.store(t, File{JobID: 1, Type: JUnit, Format: Raw}, []byte(text))
	if err := w.ReadReport(t.Context(), f.ID); err != nil {
		t.Fatal(err)
	}
	w.exec(t, `with more as (
		insert into job_artifacts (project_id, job_id, state, file_type, file_format, filename, blob_key, size, sha256, created_at, updated_at)
		select project_id, n, state, file_type, file_format, filename, blob_key, size, sha256, created_at, updated_at
		from job_artifacts, generate_series(2, 5000) n where id = $1 returning id
	) insert into job_test_reports select more.id, passed, failed, skipped, errored, seconds, error, read_at from more, job_test_reports`, f.ID)
	var jobs []int64
	for n := range int64(5000) {
		jobs = append(jobs, n+1)
	}
	var report Report
	cost := allocated(func() {
		var err error
		if report, err = w.TestReport(t.Context(), everybody, true, jobs...); err != nil {
			t.Fatal(err)
		}
	})
	cases, bytes, failed := 0, 0, 0
	for _, s := range report.Suites {
		failed += s.Counts.Failed
		cases += len(s.Cases)
		for _, c := range s.Cases {
			bytes += len(c.Output)
		}
		if len(s.Cases) > 0 && s.Cases[0].Outcome != Failed {
			t.Fatal("what failed is not shown first")
		}
	}
	if len(report.Suites) != 5000 || failed != 5000 || cases > maxShownCases || cases < maxShownCases/2 || bytes > maxShownText+maxCaseText || cost > 160<<20 {
		t.Errorf("%d suites with %d failures; %d cases with %d bytes; %d MB", len(report.Suites), failed, cases, bytes, cost>>20)
	}
}

// A report that nobody has read yet is read by who asks, up to a number; jobs
// see to the others.
func TestReportsThatNobodyHasReadAreReadFewAtATime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var jobs []int64
	for n := range int64(readAtOnce + 2) {
		w.store(t, File{JobID: n + 1, Type: JUnit, Format: Raw}, []byte(`<testsuite><testcase name="a"/></testsuite>`))
		jobs = append(jobs, n+1)
	}
	unread := func() (n int) {
		t.Helper()
		r, err := w.TestReport(t.Context(), everybody, false, jobs...)
		if err != nil || len(r.Suites) != len(jobs) {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, s := range r.Suites {
			if s.Error == errUnread {
				n++
			}
		}
		return n
	}
	if first, second := unread(), unread(); first != 2 || second != 0 {
		t.Errorf("%d, then %d have not been read", first, second)
	}
	if n := w.count(t, `select count(*) from river_job where kind = 'job_test_report'`); n != int64(len(jobs)) {
		t.Errorf("%d jobs read reports", n)
	}
}

// Bytes that the store has lost are an error that is logged, not an answer: the
// file is still there. A file that went meanwhile is not found.
func TestLostBytesOfAFileAreAnErrorOfTheServer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	f := w.store(t, File{JobID: 7, Type: Archive, Format: Zip}, archived(t, member{name: "a", text: "x"}))
	j := w.store(t, File{JobID: 7, Type: JUnit, Format: Raw}, []byte("<testsuite/>"))
	for _, f := range []File{f, j} {
		if err := w.deps.Blobs.Delete(t.Context(), f.key); err != nil {
			t.Fatal(err)
		}
	}
	ways := map[string]func() error{
		"whole":  func() error { _, err := w.Open(t.Context(), f); return err },
		"entry":  func() error { _, _, err := w.OpenEntry(t.Context(), f, "a"); return err },
		"list":   func() error { _, err := w.Entries(t.Context(), f, 1); return err },
		"report": func() error { _, err := w.TestReport(t.Context(), everybody, true, 7); return err },
	}
	for name, read := range ways {
		err := read()
		if _, said := fault.Of(err); said || !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.exec(t, `update job_artifacts set state = 'removing'`)
	for name, read := range ways {
		if err := read(); name != "report" && !fault.Is(err, fault.NotFound) {
			t.Errorf("%s, of a file that went: %v", name, err)
		}
	}
}

func TestJobsHandInKnownTypesOfFilesAndFewAtATime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, kind := range []string{"", "../x", "trace", "x", strings.Repeat("x", 300), "Archive", "archive\x00"} {
		if _, err := w.Store(t.Context(), File{JobID: 7, Type: kind, Format: Raw}, strings.NewReader("x")); !fault.Is(err, fault.BadParams) {
			t.Errorf("%.10q: %v", kind, err)
		}
	}
	if n := w.count(t, `select count(*) from job_artifacts`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	for range mostUploads {
		if _, err := w.Store(t.Context(), File{JobID: 7, Type: Archive, Format: Zip}, io.MultiReader(strings.NewReader("x"), broken{})); err == nil {
			t.Fatal("a broken upload is stored")
		}
	}
	if n := w.count(t, `select count(*) from job_artifacts where state = 'storing'`); n != 0 {
		t.Errorf("%d uploads that failed are under way", n)
	}
	w.exec(t, `update job_artifacts set state = 'storing'`) // as processes leave them that die
	if _, err := w.Store(t.Context(), File{JobID: 7, Type: Archive, Format: Zip}, strings.NewReader("x")); !fault.Is(err, fault.Rejected) {
		t.Errorf("beside %d uploads that are under way: %v", mostUploads, err)
	}
	w.store(t, File{JobID: 7, Type: "sast", Format: Raw}, []byte("x"))
	w.store(t, File{JobID: 8, Type: Archive, Format: Zip}, []byte("x"))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cable cut") }
