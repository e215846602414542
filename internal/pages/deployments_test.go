package pages_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pages"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
)

// zipped is an archive of files by name.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// run has a job succeed that left an archive, on a branch, and has the work done that follows from it.
func (w *fixture) run(t testing.TB, p *project.Project, jobID int64, ref string, job ciconfig.Job, archive []byte) *pages.Deployment {
	t.Helper()
	if archive != nil {
		if _, err := w.artifacts.Store(t.Context(), artifact.File{ProjectID: p.ID, JobID: jobID, Type: artifact.Archive, Format: artifact.Zip}, bytes.NewReader(archive)); err != nil {
			t.Fatal(err)
		}
	}
	return w.finish(t, p, jobID, ref, job, w.people[access.Owner].ID)
}

func (w *fixture) finish(t testing.TB, p *project.Project, jobID int64, ref string, job ciconfig.Job, by int64) *pages.Deployment {
	t.Helper()
	document, err := json.Marshal(pipeline.Spec{Job: job})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := postgres.Value[int64](t.Context(), w.core.DB, `
with pl as (
	insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, created_at, updated_at)
	values ($1, $2, repeat('a', 40), repeat('0', 40), $3, false, 'success', 'push', $4, $4) returning id
)
insert into job_specs (pipeline_id, document) select id, $5 from pl returning id`, p.ID, jobID, ref, w.time(), document)
	if err != nil {
		t.Fatal(err)
	}
	err = w.core.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.core.Bus.Publish(t.Context(), tx, pipeline.JobFinished{
			Job:      pipeline.Job{ID: jobID, ProjectID: p.ID, SpecID: spec, Status: pipeline.Success, UserID: &by},
			Pipeline: pipeline.Pipeline{ProjectID: p.ID, Ref: ref},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := postgres.Values[int64](t.Context(), w.core.DB, `select id from pages_deployments where job_id = $1`, jobID)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) == 0 {
		return nil
	}
	for range 2 { // a job may run any number of times
		if err := w.pages.Deploy(t.Context(), ids[0], by); err != nil {
			t.Fatal(err)
		}
	}
	all, err := w.pages.Deployments(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.ID == ids[0] {
			return &d
		}
	}
	return nil
}

var site1 = ciconfig.Job{Name: "pages", Pages: true}

// active are the jobs whose deployments are shown, by prefix.
func (w *fixture) active(t testing.TB, p *project.Project) map[string]int64 {
	t.Helper()
	all, err := w.pages.Active(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]int64{}
	for _, d := range all {
		jobs[d.PathPrefix] = d.JobID
	}
	return jobs
}

// read is a file of what is shown of a project, read from the store.
func (w *fixture) read(t testing.TB, p *project.Project, path string) (string, bool) {
	t.Helper()
	s, _, err := w.pages.PathSite(t.Context(), p.FullPath())
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return "", false
	}
	shown, below := s.At(path)
	if shown == nil {
		return "", false
	}
	index, err := w.pages.Index(t.Context(), shown)
	if err != nil {
		t.Fatal(err)
	}
	e, found := index.Find(below)
	if !found {
		return "", false
	}
	body, err := w.pages.Open(t.Context(), shown, e.Start, e.Packed)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	var from io.Reader = body
	if e.Deflated {
		from = flate.NewReader(body)
	}
	text, err := io.ReadAll(from)
	if err != nil || int64(len(text)) != e.Size || crc32.ChecksumIEEE(text) != e.CRC32 {
		t.Errorf("%s: %v, %d of %d bytes", path, err, len(text), e.Size)
	}
	return string(text), true
}

func TestWhatAJobPublishedBecomesTheSite(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	long := strings.Repeat("a line that repeats\n", 5000)
	d := w.run(t, w.project, 1, "main", site1, zipped(t, map[string]string{
		"public/index.html": "<h1>one</h1>", "public/deep/long.txt": long, "public/empty": "", "secret.env": "PASSWORD=1", "publication/x": "x",
	}))
	if d == nil || d.State != pages.Ready || !d.Active || d.Files != 3 || d.Size != int64(len(long)+12) || d.ExpireAt != nil || d.RootDirectory != "public" {
		t.Fatalf("%+v", d)
	}
	for path, want := range map[string]string{"index.html": "<h1>one</h1>", "deep/long.txt": long, "empty": ""} {
		if got, found := w.read(t, w.project, path); !found || got != want {
			t.Errorf("%s: %t, %d bytes", path, found, len(got))
		}
	}
	for _, path := range []string{"", "secret.env", "../secret.env", "public/index.html", "deep", "deep/", "x", "Index.html"} {
		if _, found := w.read(t, w.project, path); found {
			t.Errorf("%q is in the site", path)
		}
	}
	if body, err := w.blobs.Open(t.Context(), d.BlobKey, 0, -1); err != nil {
		t.Error(err)
	} else if all, _ := io.ReadAll(body); bytes.Contains(all, []byte("PASSWORD")) {
		t.Error("what was not published is in the store of the site")
	}
	w.as(access.Maintainer).Do(t, "GET", at(w.project), nil).Want(t, http.StatusOK, `{"url":"https://house.pages.test/forge","is_unique_domain_enabled":false,`+
		`"force_https":false,"deployments":[{"created_at":"2024-05-02T15:04:05.678Z","url":"https://house.pages.test/forge","path_prefix":"","root_directory":"public"}]}`)
}

func TestOnlyTheDefaultBranchBecomesTheSite(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	archive := zipped(t, map[string]string{"public/index.html": "x", "dist/app.js": "y"})
	if d := w.run(t, w.project, 1, "topic", site1, archive); d != nil {
		t.Errorf("%+v", d)
	}
	if d := w.run(t, w.project, 2, "main", ciconfig.Job{Name: "build"}, archive); d != nil {
		t.Errorf("another job published: %+v", d)
	}
	preview := ciconfig.Job{Name: "preview", Pages: true, Publish: "./dist/", PathPrefix: "Feature/Übersicht_1"}
	d := w.run(t, w.project, 3, "topic", preview, archive)
	if d == nil || d.PathPrefix != "feature--bersicht-1" || !d.Active || d.ExpireAt == nil || !d.ExpireAt.Equal(w.time().Add(day)) {
		t.Fatalf("%+v", d)
	}
	if got, found := w.read(t, w.project, "feature--bersicht-1/app.js"); !found || got != "y" {
		t.Error(got, found)
	}
	if _, found := w.read(t, w.project, "app.js"); found {
		t.Error("a preview is the site")
	}
	got := httpapitest.JSON[struct {
		Deployments []struct {
			URL    string `json:"url"`
			Prefix string `json:"path_prefix"`
		} `json:"deployments"`
	}](t, w.as(access.Maintainer).Do(t, "GET", at(w.project), nil))
	if len(got.Deployments) != 1 || got.Deployments[0].URL != "https://house.pages.test/forge/feature--bersicht-1" {
		t.Errorf("%+v", got)
	}
	preview.PagesExpireIn = "never"
	if d := w.run(t, w.project, 4, "topic", preview, archive); d == nil || d.ExpireAt != nil {
		t.Errorf("%+v", d)
	}
	preview.PagesExpireIn, preview.PathPrefix = "1 hour", "short"
	w.run(t, w.project, 5, "topic", preview, archive)
	w.turn(time.Hour)
	if got := w.active(t, w.project); len(got) != 1 || got["feature--bersicht-1"] != 4 {
		t.Errorf("%v", got)
	}
}

func TestALaterDeploymentTakesThePlaceAndAnEarlierOneCanBeShownAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	maintainer := w.people[access.Maintainer]
	by := access.Actor{Person: maintainer.Person(), Account: maintainer}
	archive := func(text string) []byte { return zipped(t, map[string]string{"public/index.html": text}) }
	one := w.run(t, w.project, 1, "main", site1, archive("one"))
	w.run(t, w.project, 3, "main", site1, archive("three"))
	if late := w.run(t, w.project, 2, "main", site1, archive("two")); late.Active || late.State != pages.Ready {
		t.Errorf("an earlier job took the place of a later one: %+v", late)
	}
	if got, _ := w.read(t, w.project, "index.html"); got != "three" {
		t.Error(got)
	}
	if _, err := w.pages.Activate(t.Context(), by, w.project, one.ID); err != nil {
		t.Fatal(err)
	}
	if got, _ := w.read(t, w.project, "index.html"); got != "one" {
		t.Error(got)
	}
	w.run(t, w.project, 4, "main", site1, archive("four"))
	if got, _ := w.read(t, w.project, "index.html"); got != "four" {
		t.Error(got)
	}
	if _, err := w.pages.Activate(t.Context(), by, w.other, one.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another project shows it: %v", err)
	}
	if _, err := w.pages.DeleteDeployment(t.Context(), by, w.project, one.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pages.Activate(t.Context(), by, w.project, one.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	if got := w.heard(); !slices.Equal(got, []pages.Action{pages.DeploymentActivated, pages.DeploymentDeleted}) {
		t.Errorf("%v", got)
	}
	for job := range int64(20) {
		w.run(t, w.project, 10+job, "main", site1, archive("more"))
	}
	if all, err := w.pages.Deployments(t.Context(), w.project); err != nil || len(all) != 11 {
		t.Errorf("%d are kept, %v", len(all), err)
	}
	w.sweep(t)
	if n := w.stored(t); n != 22 {
		t.Errorf("%d blobs are kept", n)
	}
	w.asPerson(w.root).Do(t, "DELETE", at(w.project), nil).WantStatus(t, http.StatusNoContent)
	if _, found := w.read(t, w.project, "index.html"); found {
		t.Error("it is shown after it was removed")
	}
	w.sweep(t)
	if n := w.stored(t); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
	w.as(access.Owner).Do(t, "DELETE", at(w.project), nil).WantStatus(t, http.StatusForbidden)
	w.Do(t, "DELETE", at(w.project), nil).WantStatus(t, http.StatusUnauthorized)
	w.asPerson(w.stranger).Do(t, "DELETE", at(w.other), nil).WantStatus(t, http.StatusNotFound)
}

// sweep has all removed that is no longer kept, after the time for which it is still read.
func (w *fixture) sweep(t testing.TB) {
	t.Helper()
	w.turn(3 * time.Minute)
	if err := w.pages.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stored is how many blobs there are of sites.
func (w *fixture) stored(t testing.TB) int {
	t.Helper()
	all, err := w.blobs.List(t.Context(), "pages/", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestASiteGoesWithItsProjectAndWithItsTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	archive := zipped(t, map[string]string{"public/index.html": "x"})
	w.run(t, w.project, 1, "main", site1, archive)
	w.run(t, w.project, 2, "main", ciconfig.Job{Name: "x", Pages: true, PathPrefix: "p"}, archive)
	w.run(t, w.other, 3, "main", site1, archive)
	w.turn(day)
	w.sweep(t)
	w.sweep(t)
	if got := w.active(t, w.project); len(got) != 1 || w.stored(t) != 4 {
		t.Errorf("%v, %d blobs", got, w.stored(t))
	}
	err := w.core.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.core.Bus.Publish(t.Context(), tx, project.Removing{ProjectID: w.project.ID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from projects where id = $1`, w.project.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.sweep(t)
	w.sweep(t)
	if n := w.stored(t); n != 2 {
		t.Errorf("%d blobs are left", n)
	}
}

// The archive of a job goes before the site that came of it.
func TestASiteOutlivesTheFilesOfItsJob(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.run(t, w.project, 1, "main", site1, zipped(t, map[string]string{"public/index.html": "x"}))
	if err := w.core.DB.InTx(t.Context(), func(tx pgx.Tx) error { return w.artifacts.RemoveFiles(t.Context(), tx, 1) }); err != nil {
		t.Fatal(err)
	}
	if err := w.artifacts.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, found := w.read(t, w.project, "index.html"); !found || got != "x" {
		t.Error(got, found)
	}
}

func TestWhoMayNoLongerRunJobsPublishesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	for job, by := range map[int64]int64{1: w.stranger.ID, 2: w.people[access.Reporter].ID, 3: 0} {
		d := w.finish(t, w.project, job, "main", site1, by)
		if d == nil || d.State != pages.Failed || d.Active || !strings.Contains(d.Error, "may no longer run jobs") {
			t.Errorf("%d: %+v", by, d)
		}
	}
}

func TestWhatCannotBePublishedSaysWhy(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.set(t, func(s *setting.Settings) { s.MaxPagesSize = 1 })
	for name, row := range map[string]struct {
		job     ciconfig.Job
		archive []byte
		says    string
	}{
		"no archive":  {site1, nil, "left no archive"},
		"no folder":   {site1, zipped(t, map[string]string{"dist/x": ""}), "no files below public"},
		"outside":     {ciconfig.Job{Pages: true, Publish: "../x"}, zipped(t, map[string]string{"x": ""}), "is no folder below"},
		"no zip":      {site1, []byte("hello"), "cannot be read"},
		"too large":   {site1, zipped(t, map[string]string{"public/x": strings.Repeat("x", 1<<20), "public/y": "x"}), "more than 1 MB"},
		"cut off":     {site1, zipped(t, map[string]string{"public/x": "x"})[20:], "archive"},
		"just enough": {site1, zipped(t, map[string]string{"public/x": strings.Repeat("x", 1<<20)}), ""},
	} {
		d := w.run(t, w.project, int64(len(name))*100+int64(name[0]), "main", row.job, row.archive)
		if d == nil || !strings.Contains(d.Error, row.says) || (d.State == pages.Failed) != (row.says != "") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// raw is one entry of an archive, with a header of its own making.
type raw struct {
	name    string
	mode    fs.FileMode
	text    string
	change  func(*zip.FileHeader)
	deflate bool
}

func archiveOf(t testing.TB, entries ...raw) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(e.text)), UncompressedSize64: uint64(len(e.text))}
		h.SetMode(e.mode | 0o644)
		packed := []byte(e.text)
		if e.deflate {
			var p bytes.Buffer
			f, _ := flate.NewWriter(&p, 9)
			_, _ = io.WriteString(f, e.text)
			_ = f.Close()
			packed, h.Method = p.Bytes(), zip.Deflate
		}
		h.CompressedSize64 = uint64(len(packed))
		if e.change != nil {
			e.change(h)
		}
		w, err := z.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(packed); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var plainIndex = raw{name: "public/index.html", text: "x"}

// refuses has jobs leave archives of which nothing may be published.
func (w *fixture) refuses(t *testing.T, hostile map[string][]byte) {
	t.Helper()
	w.set(t, func(s *setting.Settings) { s.MaxPagesSize = 1 })
	job := int64(0)
	for name, archive := range hostile {
		job++
		d := w.run(t, w.project, job, "main", site1, archive)
		if d == nil || d.State != pages.Failed || d.Active || d.Error == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if got := w.active(t, w.project); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestPG07_AnArchiveWithLinksOrDoubtfulFilesIsNotPublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.refuses(t, map[string][]byte{
		"link":        archiveOf(t, plainIndex, raw{name: "public/passwd", mode: fs.ModeSymlink, text: "/etc/passwd"}),
		"device":      archiveOf(t, plainIndex, raw{name: "public/null", mode: fs.ModeDevice | fs.ModeCharDevice}),
		"pipe":        archiveOf(t, plainIndex, raw{name: "public/pipe", mode: fs.ModeNamedPipe}),
		"twice":       archiveOf(t, plainIndex, raw{name: "public/index.html", text: "y"}),
		"encrypted":   archiveOf(t, plainIndex, raw{name: "public/a", text: "y", change: func(h *zip.FileHeader) { h.Flags |= 1 }}),
		"method":      archiveOf(t, plainIndex, raw{name: "public/a", text: "y", change: func(h *zip.FileHeader) { h.Method = 99 }}),
		"another sum": archiveOf(t, plainIndex, raw{name: "public/a", text: "x", change: func(h *zip.FileHeader) { h.CRC32++ }}),
		"no deflate":  archiveOf(t, plainIndex, raw{name: "public/a", text: "xyzxyz", change: func(h *zip.FileHeader) { h.Method = zip.Deflate }}),
	})
}

func TestIM01_NamesThatLeadOutOfAnArchiveAreNotPublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.refuses(t, map[string][]byte{
		"up":            archiveOf(t, plainIndex, raw{name: "public/../../etc/passwd", text: "x"}),
		"up at the end": archiveOf(t, plainIndex, raw{name: "public/..", text: "x"}),
		"empty part":    archiveOf(t, plainIndex, raw{name: "public//etc/passwd", text: "x"}),
		"backslashes":   archiveOf(t, plainIndex, raw{name: `public/..\..\passwd`, text: "x"}),
		"control":       archiveOf(t, plainIndex, raw{name: "public/a\nb", text: "y"}),
	})
	// What is outside of the folder does no harm, whatever it is.
	d := w.run(t, w.project, 100, "main", site1, archiveOf(t, plainIndex, raw{name: "../public/x", text: "x"}, raw{name: "link", mode: fs.ModeSymlink, text: "public"}))
	if d == nil || d.State != pages.Ready || d.Files != 1 {
		t.Errorf("%+v", d)
	}
}

func TestIM08_BombsAreNotPublished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	zeros := strings.Repeat("0", 4<<20)
	w.refuses(t, map[string][]byte{
		"bomb":            archiveOf(t, plainIndex, raw{name: "public/a", text: zeros, deflate: true}),
		"says less":       archiveOf(t, plainIndex, raw{name: "public/a", text: zeros, deflate: true, change: func(h *zip.FileHeader) { h.UncompressedSize64 = 10 }}),
		"huge":            archiveOf(t, plainIndex, raw{name: "public/a", text: "x", change: func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 63 }}),
		"huge and packed": archiveOf(t, plainIndex, raw{name: "public/a", text: "x", change: func(h *zip.FileHeader) { h.CompressedSize64 = 1 << 63 }}),
		"overlapping":     overlapping(t),
	})
}

// overlapping is an archive whose second name is for the bytes of the first.
func overlapping(t testing.TB) []byte {
	t.Helper()
	archive := archiveOf(t, raw{name: "public/a", text: "x"}, raw{name: "public/b", text: "x"})
	list := bytes.Index(archive, []byte("PK\x01\x02"))
	second := list + bytes.Index(archive[list+4:], []byte("PK\x01\x02")) + 4
	binary.LittleEndian.PutUint32(archive[second+42:], 0)
	return archive
}

func TestASiteHasAtMostAHundredPrefixes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	archive := zipped(t, map[string]string{"public/index.html": "x"})
	_, err := w.core.DB.Exec(t.Context(), `insert into pages_deployments (project_id, job_id, path_prefix, root_directory, state, blob_key, active, created_at, updated_at)
		select $1, 1000 + n, 'p' || n, 'public', 'ready', 'none/' || n, true, $2, $2 from generate_series(1, 100) n`, w.project.ID, w.time())
	if err != nil {
		t.Fatal(err)
	}
	for prefix, fits := range map[string]bool{"p1": true, "new": false} {
		d := w.run(t, w.project, 2000+int64(len(prefix)), "x", ciconfig.Job{Pages: true, PathPrefix: prefix}, archive)
		if d == nil || (d.State == pages.Ready) != fits {
			t.Errorf("%s: %+v", prefix, d)
		}
	}
	if d := w.run(t, w.project, 3000, "main", site1, archive); d == nil || !d.Active {
		t.Errorf("%+v", d)
	}
}

func TestADeploymentThatNobodyFinishesFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.run(t, w.project, 1, "main", site1, zipped(t, map[string]string{"public/index.html": "x"}))
	if _, err := w.core.DB.Exec(t.Context(), `update pages_deployments set state = 'wanted', active = false`); err != nil {
		t.Fatal(err)
	}
	w.turn(day)
	w.sweep(t)
	if all, err := w.pages.Deployments(t.Context(), w.project); err != nil || len(all) != 1 || all[0].State != pages.Failed || all[0].Error == "" {
		t.Error(fmt.Sprint(all), err)
	}
}
