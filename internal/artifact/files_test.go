package artifact

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
)

func (w *fixture) store(t testing.TB, f File, body []byte) File {
	t.Helper()
	f.ProjectID = 1
	got, err := w.Store(t.Context(), f, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAFileComesBackWithItsChecksumInAnyPart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	body := make([]byte, 300_000)
	for i := range body {
		body[i] = byte(rand.IntN(256))
	}
	hour := time.Hour
	f := w.store(t, File{JobID: 7, Type: Archive, Format: Zip, Filename: `C:\x\"art.zip`, ExpireIn: &hour}, body)
	sum := sha256.Sum256(body)
	if f.Size != int64(len(body)) || !bytes.Equal(f.SHA256, sum[:]) || f.Filename != "_art.zip" || !f.ExpireAt.Equal(w.now.Add(hour)) || f.Access != Everyone {
		t.Errorf("got %+v", f)
	}
	files, err := w.Files(t.Context(), 6, 7, 8)
	if err != nil || len(files) != 1 || files[0].ID != f.ID {
		t.Fatalf("%+v, %v", files, err)
	}
	c, err := w.Open(t.Context(), files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, body) || c.Size() != f.Size {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, at := range [][2]int64{{0, 10}, {100, 1}, {299_990, 10}} {
		if _, err := c.Seek(at[0], io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, at[1])
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, body[at[0]:at[0]+at[1]]) {
			t.Errorf("at %v: %v", at, err)
		}
		if n, err := c.ReadAt(got, at[0]); n != len(got) || err != nil || !bytes.Equal(got, body[at[0]:at[0]+at[1]]) {
			t.Errorf("read at %v: %d, %v", at, n, err)
		}
	}
	if end, err := c.Seek(0, io.SeekEnd); end != f.Size || err != nil {
		t.Errorf("the end is at %d, %v", end, err)
	}
	if n, err := c.ReadAt(make([]byte, 20), f.Size-10); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if err := w.deps.Blobs.Delete(t.Context(), files[0].key); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(t.Context(), files[0]); !errors.Is(err, blob.ErrNotFound) || fault.Is(err, fault.NotFound) {
		t.Errorf("without its bytes: %v", err)
	}
}

func TestTheSameFileIsAcceptedTwiceAndAnotherIsNot(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	f := File{ProjectID: 1, JobID: 7, Type: JUnit, Format: Raw, Filename: "junit.xml"}
	first := w.store(t, f, []byte("same"))
	if second := w.store(t, f, []byte("same")); second.ID != first.ID {
		t.Errorf("got %+v", second)
	}
	_, err := w.Store(t.Context(), f, strings.NewReader("other"))
	if e, _ := fault.Of(err); e == nil || e.Reason != "another artifact of the same type already exists" {
		t.Error(err)
	}
	// What the refusals left is swept, and nothing else.
	w.now = w.now.Add(2 * abandoned)
	for range 2 {
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.blobs(t); n != 1 {
		t.Errorf("%d blobs", n)
	}
}

func TestTooManyBytesAndBrokenUploadsLeaveNothingToSee(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	f := File{ProjectID: 1, JobID: 7, Type: "cyclonedx", Format: Raw}
	if _, err := w.Store(t.Context(), f, bytes.NewReader(make([]byte, 1<<20+1))); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
	if _, err := w.Store(t.Context(), f, io.MultiReader(strings.NewReader("x"), iotest.ErrReader(errors.New("gone")))); err == nil {
		t.Error("half an upload was stored")
	}
	if files, err := w.Files(t.Context(), 7); len(files) != 0 || err != nil || w.blobs(t) != 0 {
		t.Error(files, err, w.blobs(t))
	}
	w.store(t, f, make([]byte, 1<<20))
}

func TestAFileIsNotStoredForAJobThatIsErasedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	body := iotest.OneByteReader(strings.NewReader("ab"))
	erase := readerFunc(func(p []byte) (int, error) {
		w.tx(t, func(ctx context.Context, tx pgx.Tx) error { return w.EraseAll(ctx, tx, 7) })
		return body.Read(p)
	})
	if _, err := w.Store(t.Context(), File{ProjectID: 1, JobID: 7, Type: Archive, Format: Zip}, erase); !fault.Is(err, fault.Forbidden) {
		t.Error(err)
	}
	if err := w.removeBytes(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "select count(*) from job_artifacts"); n != 0 || w.blobs(t) != 0 {
		t.Errorf("%d rows and %d blobs", n, w.blobs(t))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestFilesExpireUnlessTheyAreKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hour := time.Hour
	for id := range int64(3) {
		f := File{JobID: id, Type: Archive, Format: Zip, ExpireIn: &hour}
		if id == 2 {
			f.ExpireIn = nil
		}
		w.store(t, f, []byte("bytes"))
	}
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error { return w.Keep(ctx, tx, 1) })
	w.now = w.now.Add(hour)
	check := func() {
		t.Helper()
		files, err := w.Files(t.Context(), 0, 1, 2)
		if err != nil || len(files) != 2 || files[0].JobID != 1 || files[1].JobID != 2 {
			t.Errorf("%+v, %v", files, err)
		}
	}
	check() // even before the sweep
	for range 2 {
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if n := w.blobs(t); n != 2 {
		t.Errorf("%d blobs", n)
	}
}

func (w *fixture) sweep(t testing.TB) {
	t.Helper()
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stays checks which of the jobs have files that people see.
func (w *fixture) stays(t testing.TB, want ...int64) {
	t.Helper()
	files, err := w.Files(t.Context(), 1, 2, 3, 4, 5)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []int64
	for _, f := range files {
		jobs = append(jobs, f.JobID)
	}
	if !slices.Equal(jobs, want) {
		t.Errorf("jobs %v have files instead of %v", jobs, want)
	}
}

// Whoever tries again is not kept out by what failed before, and whoever is on the way is not ended by it.
func TestAnUploadThatFailedMakesRoomForTheNext(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	f := File{ProjectID: 1, JobID: 7, Type: Archive, Format: Zip}
	fail := func() {
		for range mostUploads + 1 {
			ctx, hangUp := context.WithCancel(t.Context())
			_, err := w.Store(ctx, f, readerFunc(func([]byte) (int, error) { hangUp(); return 0, errors.New("gone") }))
			if err == nil || fault.Is(err, fault.Rejected) {
				t.Errorf("an upload whose client hung up: %v", err)
			}
		}
		w.sweep(t)
	}
	body := strings.NewReader("zip")
	if _, err := w.Store(t.Context(), f, readerFunc(func(p []byte) (int, error) { fail(); return body.Read(p) })); err != nil {
		t.Error(err)
	}
}

func TestOnlyAFewUploadsOfATypeAreUnderWay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for id := range int64(mostUploads) {
		w.store(t, File{JobID: 100 + id, Type: Archive, Format: Zip}, []byte("zip"))
	}
	store := func(job int64, kind string) error {
		_, err := w.Store(t.Context(), File{ProjectID: 1, JobID: job, Type: kind, Format: Raw}, strings.NewReader("x"))
		return err
	}
	// As if their processes had died.
	w.exec(t, `update job_artifacts set job_id = 7, state = 'storing'`)
	if err := store(7, Archive); !fault.Is(err, fault.Rejected) {
		t.Errorf("one upload too many: %v", err)
	}
	if err := errors.Join(store(7, "cyclonedx"), store(8, Archive)); err != nil {
		t.Errorf("another type, another job: %v", err)
	}
	w.now = w.now.Add(abandoned + time.Second)
	w.sweep(t)
	if err := store(7, Archive); err != nil {
		t.Errorf("after those that were cut off were swept: %v", err)
	}
}

func TestLockedFilesExpireOnceTheyAreUnlocked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hour, day := time.Hour, 24*time.Hour
	for id := range int64(3) {
		w.store(t, File{JobID: id + 1, Type: Archive, Format: Zip, ExpireIn: &hour, Locked: id < 2}, []byte("zip"))
	}
	w.store(t, File{JobID: 4, Type: Archive, Format: Zip, ExpireIn: &day}, []byte("zip"))
	w.sweep(t)
	w.stays(t, 1, 2, 3, 4)
	w.now = w.now.Add(hour)
	w.sweep(t)
	w.stays(t, 1, 2, 4)
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error { return w.Unlock(ctx, tx, 1) })
	w.sweep(t)
	w.stays(t, 2, 4)
	if n := w.blobs(t); n != 2 {
		t.Errorf("%d blobs", n)
	}
}

// Who depends on an archive has to hear that it is gone.
func TestThatAnArchiveExpiredIsRememberedWithoutItsBytes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hour := time.Hour
	for id := range int64(4) {
		w.store(t, File{JobID: id + 1, Type: Archive, Format: Zip, ExpireIn: &hour}, []byte("zip"))
	}
	w.store(t, File{JobID: 5, Type: "cyclonedx", Format: Raw, ExpireIn: &hour}, []byte("zip"))
	w.tx(t, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(w.Keep(ctx, tx, 2), w.RemoveFiles(ctx, tx, 3))
	})
	w.stays(t, 1, 2, 4, 5)
	w.now = w.now.Add(hour)
	for range 2 { // before the sweep and after it
		if jobs, err := w.Expired(t.Context(), 1, 2, 3, 5); err != nil || !slices.Equal(jobs, []int64{1}) {
			t.Errorf("expired: %v, %v", jobs, err)
		}
		w.sweep(t)
	}
	w.stays(t, 2)
	if n := w.blobs(t); n != 1 {
		t.Errorf("%d blobs", n)
	}
}

// stuck is a store that removes nothing.
type stuck struct{ blob.Store }

func (stuck) Delete(context.Context, string) error { return blob.ErrUnavailable }

func TestDL05_ARowStaysAsLongAsItsBytes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hour := time.Hour
	w.store(t, File{JobID: 1, Type: "cyclonedx", Format: Raw, ExpireIn: &hour}, []byte("x"))
	w.now = w.now.Add(hour)
	store := w.deps.Blobs
	w.deps.Blobs = stuck{store}
	if err := w.Sweep(t.Context()); err == nil {
		t.Error("a sweep that removed nothing is done")
	}
	if n := w.count(t, "select count(*) from job_artifacts"); n != 1 {
		t.Errorf("%d rows, and the bytes are there", n)
	}
	w.deps.Blobs = store
	w.sweep(t)
	if n := w.count(t, "select count(*) from job_artifacts"); n != 0 || w.blobs(t) != 0 {
		t.Errorf("%d rows, %d blobs", n, w.blobs(t))
	}
}

func TestDL05_ASweepGoesOnUntilAllIsDone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `insert into job_artifacts (project_id, job_id, state, file_type, file_format, filename, blob_key, size, sha256, expire_at, created_at, updated_at)
		select 1, n, 'stored', 'cyclonedx', 'raw', 'x', 'artifacts/x/' || n, 0, sha256(''), $1, $1, $1 from generate_series(1, $2) n`, w.now, sweepBatch+1)
	w.sweep(t)
	if n := w.count(t, "select count(*) from job_artifacts"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// archived makes a zip of names and contents; mode 0 is a plain file.
type member struct {
	name string
	mode fs.FileMode
	text string
}

func archived(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		h.SetMode(0o644 | m.mode)
		e, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(e, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOneFileOfAnArchiveIsReadWithoutTheRest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	noise := make([]byte, 8<<20)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	f := w.store(t, File{JobID: 7, Type: Archive, Format: Zip}, archived(t,
		member{name: "big.bin", text: string(noise)}, member{name: "dir/", mode: fs.ModeDir}, member{name: "dir/report.html", text: "<b>hi</b>"},
		member{name: "empty"}))
	read := &measuring{Store: w.deps.Blobs}
	w.deps.Blobs = read
	body, e, err := w.OpenEntry(t.Context(), f, "dir/report.html")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if string(text) != "<b>hi</b>" || err != nil || e.Size != 9 || e.Name != "dir/report.html" {
		t.Errorf("%q of %+v, %v", text, e, err)
	}
	if read.bytes > 256<<10 {
		t.Errorf("%d bytes were read of %d", read.bytes, f.Size)
	}
	if body, _, err = w.OpenEntry(t.Context(), f, "big.bin"); err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(body); err != nil || !bytes.Equal(text, noise) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if body, _, err = w.OpenEntry(t.Context(), f, "empty"); err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(body); err != nil || len(text) != 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	entries, err := w.Entries(t.Context(), f, 100)
	if err != nil || len(entries) != 3 {
		t.Errorf("%+v, %v", entries, err)
	}
	for _, name := range []string{"dir", "dir/", "nothing", ""} {
		if _, _, err := w.OpenEntry(t.Context(), f, name); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// measuring counts what is read of a store.
type measuring struct {
	blob.Store
	bytes int64
}

func (m *measuring) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	m.bytes += length
	return m.Store.Open(ctx, key, offset, length)
}

func TestCI17_HostileArchivesGiveNothingAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job := int64(0)
	put := func(body []byte) File {
		job++
		return w.store(t, File{JobID: job, Type: Archive, Format: Zip}, body)
	}
	bad := []string{
		"../etc/passwd", "/etc/passwd", "a/../../b", "a/./b", "a//b", `..\x`, `a\b`, "a\x00b", "a\nb", "./a", "a/..", "..", ".", "\xff\xfe", "a\u0085b",
		strings.Repeat("a", maxEntryName+1),
	}
	var members []member
	for _, name := range bad {
		members = append(members, member{name: name, text: "secret"})
	}
	members = append(members,
		member{name: "link", mode: fs.ModeSymlink, text: "/etc/passwd"}, member{name: "pipe", mode: fs.ModeNamedPipe},
		member{name: "device", mode: fs.ModeDevice}, member{name: "good", text: "fine"},
		member{name: "twice", text: "one"}, member{name: "twice", text: "two"})
	f := put(archived(t, members...))
	for _, name := range append(bad, "link", "pipe", "device", "twice", "good/../good") {
		if _, _, err := w.OpenEntry(t.Context(), f, name); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	body, _, err := w.OpenEntry(t.Context(), f, "good")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(body); string(text) != "fine" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	entries, err := w.Entries(t.Context(), f, 100)
	if names := slices.Collect(func(yield func(string) bool) {
		for _, e := range entries {
			yield(e.Name)
		}
	}); err != nil || !slices.Equal(names, []string{"good", "twice", "twice"}) {
		t.Errorf("%q, %v", names, err)
	}

	// Archives that lie about what is in them, and things that are none.
	whole := archived(t, member{name: "a", text: strings.Repeat("text ", 1000)})
	lies := map[string][]byte{"empty": nil, "text": []byte("no archive"), "cut": whole[:len(whole)-30], "end alone": whole[len(whole)-22:]}
	directory := bytes.LastIndex(whole, []byte("PK\x01\x02"))
	for name, at := range map[string]int{"crc": 16, "packed size": 20, "size": 24, "offset": 42} {
		lie := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(lie[directory+at:], 17)
		lies[name] = lie
	}
	huge := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(huge[directory+24:], 0xfffffffe)
	lies["larger than it is"] = huge
	secret := bytes.Clone(whole)
	binary.LittleEndian.PutUint16(secret[directory+8:], 1)
	lies["encrypted"] = secret
	for name, body := range lies {
		r, _, err := w.OpenEntry(t.Context(), put(body), "a")
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
	// A list of files that has no end in sight.
	var endless bytes.Buffer
	z := zip.NewWriter(&endless)
	for range maxDirectory/60_000 + 1 {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: "n", Comment: strings.Repeat("n", 60_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.OpenEntry(t.Context(), put(endless.Bytes()), "n"); err == nil || fault.Is(err, fault.NotFound) {
		t.Errorf("a list of %d bytes: %v", endless.Len(), err)
	}
	if _, _, err := w.OpenEntry(t.Context(), w.store(t, File{JobID: 99, Type: JUnit, Format: Gzip}, whole), "a"); err == nil {
		t.Error("a file that is no archive was opened as one")
	}
}

func TestCI17_NothingActiveHasAnActiveType(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a.html", "a.HTM", "a.xhtml", "a.svg", "a.xml", "a.js", "a.mjs", "a.pdf", "a.swf", "a", "a.html.", "a.png.html", "a.shtml", "a.mht", "a.css", "a.wasm",
	} {
		if got := contentType(name); got != "application/octet-stream" {
			t.Errorf("%s is %s", name, got)
		}
	}
	for name, want := range map[string]string{"a.PNG": "image/png", "x/a.log": "text/plain; charset=utf-8", "html.txt": "text/plain; charset=utf-8"} {
		if got := contentType(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}

func FuzzEntryNames(f *testing.F) {
	for _, name := range []string{"a/b", "../a", "/a", `a\b`, "a\x00", ".", "a/./b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !goodName(name) {
			return
		}
		if clean := path.Clean("/" + name); clean != "/"+name || strings.Contains(name, "..") && slices.Contains(strings.Split(name, "/"), "..") ||
			strings.ContainsAny(name, "\x00\n\r\\") {
			t.Fatalf("%q is a good name", name)
		}
	})
}

func packed(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, p); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestTestReportsAreRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.store(t, File{JobID: 7, Type: JUnit, Format: Gzip}, packed(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="s" file="s.go"><properties><property name="a" value="b"/></properties>
<testcase name="adds" classname="math" time="1,000.5"/>
<testcase name="fails" classname="math" file="f.go" time="0.25"><failure message="1 != 2" type="E">at line 3 &lt;here&gt;</failure>
<system-out>printed [[ATTACHMENT|shots/a.png]]</system-out></testcase>
<testsuite><testcase name="inner"><error><![CDATA[boom]]></error></testcase></testsuite>
<testcase name="left out" time="-1"><skipped/></testcase></testsuite></testsuites>`,
		`<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="`+"\xe4"+`"/></testsuite>`))
	w.store(t, File{JobID: 8, Type: JUnit, Format: Raw}, []byte(`<testsuite><testcase name="a"/>`))
	w.store(t, File{JobID: 8, Type: Archive, Format: Zip}, nil)
	got, err := w.TestReport(t.Context(), everybody, true, 7, 8, 9)
	if err != nil {
		t.Fatal(err)
	}
	want := Report{Suites: []Suite{
		{JobID: 7, Counts: Counts{Passed: 2, Failed: 1, Skipped: 1, Errored: 1, Seconds: 1000.75}, Cases: []Case{
			{Name: "inner", Outcome: Errored, Output: "boom"},
			{Name: "fails", Classname: "math", File: "f.go", Outcome: Failed, Seconds: 0.25, Output: "1 != 2\nat line 3 <here>", Attachment: "shots/a.png"},
			{Name: "adds", Classname: "math", File: "s.go", Outcome: Passed, Seconds: 1000.5},
			{Name: "ä", Outcome: Passed},
			{Name: "left out", Outcome: Skipped},
		}},
		{JobID: 8, Counts: Counts{Passed: 1}, Cases: []Case{{Name: "a", Outcome: Passed}}, Error: "JUnit XML parsing failed: the report ends too early"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAHostileReportIsRefusedAndFetchesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"external entity": `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>`,
		"laughs":          `<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><testsuite><testcase name="a"><failure>&b;</failure></testcase></testsuite>`,
		"deep":            strings.Repeat("<testsuite>", 100_000),
		"crossed":         "<testsuite><testcase></testsuite></testcase>",
		"many":            "<testsuite>" + strings.Repeat("<testcase/>", maxCases+1) + "</testsuite>",
		"elements":        "<testsuite>" + strings.Repeat("<a/>", maxElements) + "</testsuite>",
		"encoding":        `<?xml version="1.0" encoding="utf-7"?><testsuite/>`,
	} {
		if _, err := ParseJUnit(t.Context(), strings.NewReader(text)); err == nil || strings.Contains(err.Error(), "root:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	bomb := packed(t, "<testsuite>"+strings.Repeat(" ", maxReport)+"</testsuite>")
	if _, err := readJUnit(t.Context(), Gzip, bytes.NewReader(bomb)); !errors.Is(err, errReport) {
		t.Errorf("a bomb of %d bytes: %v", len(bomb), err)
	}
	cases, err := ParseJUnit(t.Context(), strings.NewReader("<testsuite><testcase><failure>"+strings.Repeat("ä", maxCaseText)+"</failure></testcase></testsuite>"))
	if err != nil || len(cases) != 1 || len(cases[0].Output) > maxCaseText {
		t.Error(err)
	}
}

// DO-02: what stands in a text costs what it costs elsewhere.
func TestDO02_AReportIsReadOnce(t *testing.T) {
	cost := func(text string) time.Duration {
		least := time.Hour
		for range 3 {
			least = min(least, spent(t, func() {
				if cases, err := ParseJUnit(t.Context(), strings.NewReader(text)); err != nil || len(cases) != 1 {
					t.Fatal(len(cases), err)
				}
			}))
		}
		return least
	}
	long, inner := strings.Repeat("x", maxCaseText), strings.Repeat("<a/>", 20_000)
	beside := cost("<testsuite><testcase><system-out>" + long + "</system-out>" + inner + "</testcase></testsuite>")
	within := cost("<testsuite><testcase><system-out>" + long + inner + "</system-out></testcase></testsuite>")
	if within > 5*beside {
		t.Errorf("20,000 elements within a text take %s, beside it %s", within, beside)
	}
}

// spent is the processor time that this thread takes for something, whatever else the machine does.
func spent(t testing.TB, do func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thread = 1 // RUSAGE_THREAD
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(thread, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	do()
	return used() - before
}

func TestAReportThatNobodyWaitsForIsNotReadOn(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	body := packed(t, "<testsuite>"+strings.Repeat("<a></a>", 1_000_000)+"</testsuite>")
	read := &endsAfter{from: bytes.NewReader(body), end: end}
	if _, err := readJUnit(ctx, Gzip, read); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on: %v", err)
	}
	empty := bytes.Repeat(packed(t, ""), maxElements+1)
	if _, err := readJUnit(t.Context(), Gzip, bytes.NewReader(empty)); !errors.Is(err, errReport) {
		t.Errorf("a report in %d files: %v", maxElements+1, err)
	}
}

// endsAfter ends a context with the first bytes that are read.
type endsAfter struct {
	from io.Reader
	end  func()
}

func (e *endsAfter) Read(b []byte) (int, error) {
	e.end()
	return e.from.Read(b)
}

func FuzzJUnit(f *testing.F) {
	f.Add([]byte(`<testsuite><testcase name="a" time="1"><failure message="m">x</failure></testcase></testsuite>`))
	f.Add([]byte(`<?xml version="1.0" encoding="latin1"?><a/>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		cases, _ := ParseJUnit(t.Context(), bytes.NewReader(text))
		for _, c := range cases {
			if len(c.Output) > maxCaseText || len(c.Name) > maxCaseName || c.Outcome == "" || c.Seconds < 0 {
				t.Fatalf("%+v", c)
			}
			if c.Attachment != "" && !goodName(c.Attachment) {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func TestVariablesThatAJobHandsInAreReadAndChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.store(t, File{JobID: 7, Type: Dotenv, Format: Gzip, Filename: ".env.gz"}, packed(t, "A=1\r\n B = two words = 3 \nA=last\nEMPTY=\n"))
	got, err := w.Dotenv(t.Context(), 7)
	if diff := cmp.Diff([]Pair{{"A", "last"}, {"B", "two words = 3"}, {"EMPTY", ""}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, err := w.Dotenv(t.Context(), 8); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
	many := ""
	for i := range maxDotenvPairs + 1 {
		many += "A" + string(rune('a'+i)) + "=1\n"
	}
	for text, want := range map[string]string{
		"no equals sign": "Invalid Format", "A=1\n\nB=2": "Invalid Format", "# comment": "Invalid Format", "A=\xff": "Invalid Format", "A=\x00": "Invalid Format",
		"A-B=1":                               "Validation failed: Key can contain only letters, digits and '_'.",
		"=1":                                  "Validation failed: Key can contain only letters, digits and '_'.",
		"A=" + strings.Repeat("x", maxDotenv): "Dotenv Artifact Too Big. Maximum Allowable Size: 5120",
		many:                                  "Dotenv files cannot have more than 20 variables",
	} {
		_, err := w.Store(t.Context(), File{ProjectID: 1, JobID: 9, Type: Dotenv, Format: Gzip}, bytes.NewReader(packed(t, text)))
		if e, _ := fault.Of(err); e == nil || e.Kind != fault.Rejected || e.Reason != want {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := w.Store(t.Context(), File{ProjectID: 1, JobID: 9, Type: Dotenv, Format: Gzip}, strings.NewReader("A=1")); !fault.Is(err, fault.Rejected) {
		t.Errorf("what is not packed: %v", err)
	}
	if n := w.count(t, "select count(*) from job_artifacts where job_id = 9"); n != 0 {
		t.Error("what was refused left a row")
	}
}

func FuzzDotenv(f *testing.F) {
	f.Add([]byte("A=1\nB=2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		pairs, err := ParseDotenv(text)
		if err != nil {
			return
		}
		if len(pairs) > maxDotenvPairs {
			t.Fatal(len(pairs))
		}
		for _, p := range pairs {
			if !dotenvKey.MatchString(p.Key) || strings.ContainsAny(p.Value, "\x00\n") {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func TestCoverageIsTheLastFigureThatThePatternFinds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.begin(t, 7)
	w.say(t, 7, "total coverage: 10.5%\ntotal coverage: 71%\n"+strings.Repeat("noise without a figure\n", 2*backwards/23))
	for pattern, want := range map[string]float64{`/coverage: \d+(\.\d+)?%/`: 71, `coverage: (\d+)`: 71, `^total coverage: (10.*)%$`: 10.5} {
		got, found, err := w.Coverage(t.Context(), 7, pattern)
		if got != want || !found || err != nil {
			t.Errorf("%s: %v, %v, %v", pattern, got, found, err)
		}
	}
	if _, found, err := w.Coverage(t.Context(), 7, "/absent/"); found || err != nil {
		t.Error(found, err)
	}
	for _, pattern := range []string{"(", strings.Repeat("a", maxPattern+1)} {
		if _, _, err := w.Coverage(t.Context(), 7, pattern); !fault.Is(err, fault.Rejected) {
			t.Errorf("%.10s: %v", pattern, err)
		}
	}
}

// endless gives bytes for as long as somebody reads, and counts them.
type endless struct{ given int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.given += int64(len(p))
	return len(p), nil
}

// DO-11: what a job hands in is counted while it comes. Who sends without end
// is stopped at the limit, and leaves nothing.
func TestDO11_AFileIsCountedWhileItComes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, kind := range []string{Archive, "cyclonedx", Dotenv} {
		body := &endless{}
		if _, err := w.Store(t.Context(), File{JobID: 7, Type: kind, Format: Raw}, body); err == nil {
			t.Errorf("%s without end is stored", kind)
		}
		if most := w.MaxSize(kind) + 1<<20; body.given > most {
			t.Errorf("%s: %d bytes were read, %d are allowed", kind, body.given, w.MaxSize(kind))
		}
	}
	if n := w.blobs(t); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
	w.now = w.now.Add(abandoned + time.Minute)
	for range 2 {
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.count(t, "select count(*) from job_artifacts"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// full is a store that has no room from a number of bytes on.
type full struct {
	blob.Store
	room int64
}

func (f full) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	if n, _ := io.CopyN(io.Discard, body, f.room+1); n > f.room {
		return fmt.Errorf("%w: no space left", blob.ErrUnavailable)
	}
	return f.Store.Put(ctx, key, strings.NewReader(""), -1)
}

// DO-11: a store without room says so, and what was not stored is not there.
func TestDO11_AStoreWithoutRoomIsACleanRefusal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.deps.Blobs = full{w.deps.Blobs, 10}
	_, err := w.Store(t.Context(), File{JobID: 7, Type: Archive, Format: Zip}, strings.NewReader("more than ten bytes"))
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if files, err := w.Files(t.Context(), 7); err != nil || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}
	w.begin(t, 8)
	w.say(t, 8, "a log that does not fit into the store\n")
	w.end(t, 8)
	if err := w.ArchiveLog(t.Context(), 8); err == nil {
		t.Error("a log that was not stored counts as archived")
	}
	if got := w.seen(t, 8, 0); got != "a log that does not fit into the store\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestTheNameOfAFileIsItsLastPartInBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300)
	for given, want := range map[string]string{
		"a.zip": "a.zip", "dir/a.zip": "a.zip", `C:\dir\a.zip`: "a.zip", "dir/": "dir", "a\"b": "a_b", "a\x00\nb": "a__b", "a\xffb": "a_b",
		"": "junit", "/": "junit", ".": "junit", "..": "junit", "a/..": "junit", "\"": "junit", long: long[:2*255],
	} {
		if got := fileName(given, JUnit); got != want {
			t.Errorf("%.20q is %.20q, want %.20q", given, got, want)
		}
	}
}

// DO-02: the time that a name takes grows as its length does.
func TestDO02_ALongNameOfAFileIsReadOnce(t *testing.T) {
	t.Parallel()
	least := func(length int) time.Duration {
		name, best := strings.Repeat("a", length), time.Duration(1<<62)
		for range 10 {
			begun := time.Now()
			if got := fileName(name, Archive); len(got) != 255 {
				t.Fatalf("%d characters are kept", len(got))
			}
			best = min(best, time.Since(begun))
		}
		return best
	}
	if short, long := least(8_000), least(128_000); long > 64*max(short, 10*time.Microsecond) {
		t.Errorf("16 times as long a name takes %s instead of %s", long, short)
	}
}
