package lfs_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/lfs"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

// fixture is two projects of strangers, as the door sees them.
type fixture struct {
	*lfs.Service
	deps        lfs.Deps
	db          *postgres.DB
	now         time.Time
	mine, elses *project.Project
	me, other   access.Actor
	logged      bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{db: postgrestest.New(t), now: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)}
	blobs, err := blob.Open("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.deps = lfs.Deps{
		DB: w.db, Blobs: blobs, Box: secretbox.Random(), Clock: clock.Clock(func() time.Time { return w.now }),
		ExternalURL: "https://forge.example", Names: wire.Names{Service: "svc", Errors: "errsvc"},
	}
	w.limit(0)
	for _, actor := range []*access.Actor{&w.me, &w.other} {
		u := usertest.New(t, w.db)
		*actor = access.Actor{Person: &access.Person{ID: u.ID, Username: u.Username, Name: u.Name}}
	}
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	w.mine, w.elses = projecttest.New(t, w.db, g.ID, projecttest.Named("mine")), projecttest.New(t, w.db, g.ID, projecttest.Named("else"))
	w.mine.Role, w.mine.Settings.LFSEnabled, w.elses.Settings.LFSEnabled = access.Developer, true, true
	return w
}

// limit makes the room anew, with files of at most so many bytes.
func (w *fixture) limit(size int64) {
	w.deps.MaxSize = size
	w.Service = lfs.New(w.deps)
}

type reply struct {
	status int
	body   string
}

func (r reply) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

// ask sends a request of an actor who may push to a project.
func (w *fixture) ask(by access.Actor, p *project.Project, method, path, body string) reply {
	return w.request(lfs.RequestInfo{Actor: by, Project: p, Push: true}, method, path, body)
}

func (w *fixture) request(v lfs.RequestInfo, method, path, body string) reply {
	rec := w.send(v, method, path, body, "application/vnd.git-lfs+json; charset=utf-8")
	return reply{rec.Code, rec.Body.String()}
}

func (w *fixture) send(v lfs.RequestInfo, method, path, body, media string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/team/mine.git/"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	r.Header.Set("Authorization", "Basic bWU6dG9rZW4=")
	v.Rest, _, _ = strings.Cut(path, "?")
	rec := httptest.NewRecorder()
	server := &httpapi.Server{Dialect: w.Dialect(), Endpoints: w.Endpoints(), Log: slog.New(slog.NewTextHandler(&w.logged, nil))}
	server.Handler().ServeHTTP(rec, r.WithContext(lfs.WithRequestInfo(r.Context(), v)))
	return rec
}

func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

type plan struct {
	Objects []struct {
		OID     string
		Size    int64
		Actions map[string]struct {
			Href   string
			Header map[string]string
		}
		Error *struct{ Code int }
	}
}

func (w *fixture) batch(t *testing.T, p *project.Project, operation, body string) plan {
	t.Helper()
	got := w.ask(w.me, p, "POST", "info/lfs/objects/batch",
		fmt.Sprintf(`{"operation":%q,"transfers":["basic"],"objects":[{"oid":%q,"size":%d}]}`, operation, digest(body), len(body)))
	if got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	var in plan
	got.into(t, &in)
	return in
}

func (w *fixture) upload(t *testing.T, p *project.Project, body string) {
	t.Helper()
	if got := w.ask(w.me, p, "PUT", fmt.Sprintf("svc-lfs/objects/%s/%d", digest(body), len(body)), body); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
}

func TestAnObjectGoesInAndComesOut(t *testing.T) {
	t.Parallel()
	w, body := newFixture(t), "large"
	up := w.batch(t, w.mine, "upload", body).Objects[0].Actions["upload"]
	if want := "https://forge.example/team/mine.git/svc-lfs/objects/" + digest(body) + "/5"; up.Href != want || up.Header["Authorization"] == "" {
		t.Errorf("%+v, want %s", up, want)
	}
	w.upload(t, w.mine, body)
	if again := w.batch(t, w.mine, "upload", body).Objects[0]; len(again.Actions) != 0 || again.Error != nil {
		t.Errorf("what is there is to be sent again: %+v", again)
	}
	var told plan // a client may be wrong about the size
	w.ask(w.me, w.mine, "POST", "info/lfs/objects/batch", `{"operation":"download","objects":[{"oid":"`+digest(body)+`","size":1}]}`).into(t, &told)
	if told.Objects[0].Size != int64(len(body)) {
		t.Errorf("told of %d bytes", told.Objects[0].Size)
	}
	down := w.batch(t, w.mine, "download", body).Objects[0].Actions["download"]
	if got := w.ask(w.me, w.mine, "GET", strings.TrimPrefix(down.Href, "https://forge.example/team/mine.git/"), ""); got != (reply{200, body}) {
		t.Errorf("%+v", got)
	}
}

func TestGI09_ADigestIsNoProofOfPossession(t *testing.T) {
	t.Parallel()
	w, body := newFixture(t), "secret of another"
	w.upload(t, w.elses, body)
	if got := w.batch(t, w.mine, "download", body).Objects[0]; got.Error == nil || got.Error.Code != http.StatusNotFound {
		t.Errorf("%+v", got)
	}
	if got := w.ask(w.me, w.mine, "GET", "svc-lfs/objects/"+digest(body), ""); got.status != http.StatusNotFound {
		t.Errorf("%+v", got)
	}
	// The bytes are there, but this project has to show that it has them.
	if got := w.batch(t, w.mine, "upload", body).Objects[0]; got.Actions["upload"].Href == "" {
		t.Errorf("%+v", got)
	}
	if got := w.ask(w.me, w.mine, "PUT", fmt.Sprintf("svc-lfs/objects/%s/%d", digest(body), len(body)), strings.Repeat("x", len(body))); got.status != 422 {
		t.Errorf("%+v", got)
	}
	if got := w.ask(w.me, w.elses, "GET", "svc-lfs/objects/"+digest(body), ""); got != (reply{200, body}) {
		t.Errorf("wrong bytes took the place of the right ones: %+v", got)
	}
}

func TestGI09_WhatAClientSaysOfAnObjectTellsAndChangesNothing(t *testing.T) {
	t.Parallel()
	w, theirs, nobodys := newFixture(t), "secret of another", "secret of nobody"
	w.upload(t, w.elses, theirs)
	put := func(body string, size int, sent string) reply {
		return w.ask(w.me, w.mine, "PUT", fmt.Sprintf("svc-lfs/objects/%s/%d", digest(body), size), sent)
	}
	// Whatever size is said, an object of another project is refused like one that is nowhere.
	for _, size := range []int{0, 1, len(theirs), len(theirs) + 1, 1 << 30} {
		sent := strings.Repeat("x", min(size, 100))
		known, unknown := put(theirs, size, sent), put(nobodys, size, sent)
		if known != unknown || known.status != http.StatusUnprocessableEntity {
			t.Errorf("size %d: %+v of another, %+v of nobody", size, known, unknown)
		}
		known, unknown = put(theirs, size, theirs+"!"), put(nobodys, size, theirs+"!")
		if known != unknown || known.status != http.StatusUnprocessableEntity {
			t.Errorf("size %d of other bytes: %+v of another, %+v of nobody", size, known, unknown)
		}
	}
	// A false size was said of both before, and the true bytes still come in, with their own size.
	for _, body := range []string{theirs, nobodys} {
		w.upload(t, w.mine, body)
		if size, err := w.Size(t.Context(), w.mine.ID, digest(body)); err != nil || size != int64(len(body)) {
			t.Errorf("%s has %d bytes, %v", body, size, err)
		}
	}
	if left, err := postgres.Value[int](t.Context(), w.db, `select count(*) from lfs_objects where left_at is not null`); err != nil || left != 0 {
		t.Errorf("%d objects that a project has count as left, %v", left, err)
	}
	if size, err := w.Size(t.Context(), w.elses.ID, digest(theirs)); err != nil || size != int64(len(theirs)) {
		t.Errorf("%d bytes of the other project, %v", size, err)
	}
}

func TestALargeFileHasALargestSize(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.limit(1 << 20)
	most, more := strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20+1)
	if got := w.batch(t, w.mine, "upload", more).Objects[0]; got.Error == nil || got.Error.Code != http.StatusRequestEntityTooLarge || len(got.Actions) > 0 {
		t.Errorf("%+v", got)
	}
	if got := w.ask(w.me, w.mine, "PUT", fmt.Sprintf("svc-lfs/objects/%s/%d", digest(more), len(more)), more); got.status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(got.body, "at most 1 MB") {
		t.Errorf("%+v", got)
	}
	if got := w.batch(t, w.mine, "upload", most).Objects[0]; got.Error != nil || got.Actions["upload"].Href == "" {
		t.Errorf("%+v", got)
	}
	w.upload(t, w.mine, most)
	w.limit(0)
	w.upload(t, w.mine, more)
	// What is there already may be fetched, whatever the limit is now.
	w.limit(1 << 20)
	if got := w.batch(t, w.mine, "download", more).Objects[0]; got.Error != nil {
		t.Errorf("%+v", got)
	}
}

func TestTextsThatCannotBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct {
		call, body string
		want       int
	}{
		{"POST info/lfs/objects/batch", `{"operation":"download","objects":[{"oid":"a\u0000","size":1}]}`, 200},
		{"POST info/lfs/objects/batch", `{"operation":"upload","objects":[{"oid":"` + "\xff" + `","size":1}]}`, 200},
		{"POST info/lfs/locks", `{"path":"a\u0000b"}`, 422},
		{"POST info/lfs/locks", `{"path":"` + strings.Repeat("a", 4097) + `"}`, 422},
		{"POST info/lfs/locks", `{"path":"a` + "\x00" + `b"}`, 422},
		{"GET info/lfs/locks?path=%00", "", 422},
		{"GET info/lfs/locks?path=%ff", "", 422},
		{"GET info/lfs/locks?id=%00%ff&cursor=%00%ff&limit=%ff", "", 200},
		{"POST info/lfs/locks/verify", `{"cursor":"\u0000","limit":1}`, 200},
		{"POST info/lfs/locks/%00/unlock", `{}`, 404},
		{"GET svc-lfs/objects/%00", "", 404},
		{"PUT svc-lfs/objects/%00%ff/1", "x", 422},
	} {
		method, path, _ := strings.Cut(c.call, " ")
		if got := w.ask(w.me, w.mine, method, path, c.body); got.status != c.want {
			t.Errorf("%s %q: %+v, want %d", c.call, c.body, got, c.want)
		}
	}
}

func TestGI10_OnlyWhatTheDigestSaysIsStored(t *testing.T) {
	t.Parallel()
	w, body := newFixture(t), "right bytes"
	oid, size := digest(body), len(body)
	for _, path := range []string{
		oid + "/4", oid[:63] + "/11", strings.ToUpper(oid) + "/11", "../" + oid[3:] + "/11", "..%2f" + oid[5:] + "/11", oid + "/-1", oid + "/x", oid, "/11",
		strings.Repeat("0", 64) + "/11", oid + "/11/x",
	} {
		if got := w.ask(w.me, w.mine, "PUT", "svc-lfs/objects/"+path, body); got.status != http.StatusUnprocessableEntity && got.status != http.StatusNotFound {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, wrong := range []string{"wrong bytes", body + "!", body[:4], ""} {
		if err := w.Store(t.Context(), w.mine.ID, lfs.Object{OID: oid, Size: int64(size)}, strings.NewReader(wrong)); err == nil {
			t.Errorf("%q was stored as %q", wrong, body)
		}
	}
	stored, err := w.deps.Blobs.List(t.Context(), "", "", 10)
	if err != nil || len(stored) != 0 {
		t.Errorf("%v, %v", stored, err)
	}
}

func TestWhoMayNotPushUploadsAndLocksNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reader := lfs.RequestInfo{Actor: w.other, Project: w.mine}
	oid := digest("x")
	for path, body := range map[string]string{
		"POST info/lfs/objects/batch":       `{"operation":"upload","objects":[]}`,
		"PUT svc-lfs/objects/" + oid + "/1": "x",
		"POST info/lfs/locks":               `{"path":"a"}`,
		"POST info/lfs/locks/verify":        `{}`,
		"POST info/lfs/locks/1/unlock":      `{}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		if got := w.request(reader, method, path, body); got.status != http.StatusForbidden {
			t.Errorf("%s %s: %+v", method, path, got)
		}
	}
	if got := w.request(reader, "GET", "info/lfs/locks", ""); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	off := *w.mine
	off.Settings.LFSEnabled = false
	if got := w.ask(w.me, &off, "POST", "info/lfs/objects/batch", `{"operation":"download","objects":[]}`); got.status != http.StatusNotFound {
		t.Errorf("where large files are off: %+v", got)
	}
}

func TestABatchOfOddThingsIsAnsweredAndBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	many := strings.TrimSuffix(strings.Repeat(`{"oid":"x","size":1},`, 1001), ",")
	for body, want := range map[string]int{
		`{`:                                   422,
		`[]`:                                  422,
		`{"operation":"delete","objects":[]}`: 422,
		`{"operation":"download"}`:            200,
		`{"operation":"download","objects":[` + many + `]}`:                            413,
		`{"operation":"download","hash_algo":"sha512","objects":[]}`:                   422,
		`{"operation":"download","objects":[{"oid":"../../x","size":1}]}`:              200,
		`{"operation":"upload","objects":[{"oid":"` + digest("x") + `","size":-1}]}`:   200,
		`{"operation":"upload","objects":[{"oid":"` + digest("x") + `","size":1e99}]}`: 200,
		`{"operation":"download","objects":["` + strings.Repeat("x", 5<<20) + `"]}`:    413,
	} {
		got := w.ask(w.me, w.mine, "POST", "info/lfs/objects/batch", body)
		if got.status != want {
			t.Errorf("%.60s: %d, want %d: %.200s", body, got.status, want, got.body)
		}
		var in plan
		if got.status == 200 {
			got.into(t, &in)
		}
		for _, o := range in.Objects {
			if o.Error == nil || len(o.Actions) > 0 {
				t.Errorf("%.60s: %+v", body, o)
			}
		}
	}
}

// What a client sends is counted before anything is built from it, and more closely where nobody knows who sends it.
func TestABodyIsBoundedByWhoSendsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	known := w.me
	known.Credential.Kind = access.PersonalToken
	const empty = `{"operation":"download","objects":[]}`
	padded := func(size int) string { return empty + strings.Repeat(" ", size-len(empty)) }
	objects := func(n int) string {
		return `{"operation":"download","objects":[` + strings.TrimSuffix(strings.Repeat(`{"oid":"x","size":1},`, n), ",") + `]}`
	}
	for _, c := range []struct {
		what string
		by   access.Actor
		body string
		want int
	}{
		{"all that strangers may send", access.Actor{}, padded(32 << 10), 200},
		{"more than strangers may send", access.Actor{}, padded(32<<10 + 1), 413},
		{"all that others may send", known, padded(1 << 20), 200},
		{"more than others may send", known, padded(1<<20 + 1), 413},
		{"as many files as may be", known, objects(1000), 200},
		{"one file more", known, objects(1001), 413},
		{"many elements that nobody asked for", known, `{"operation":"download","objects":[],"x":[0` + strings.Repeat(",0", 50_000) + `]}`, 413},
		{"deep elements that nobody asked for", known, `{"operation":"download","objects":[],"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 413},
	} {
		rec := w.send(lfs.RequestInfo{Actor: c.by, Project: w.mine, Push: true}, "POST", "info/lfs/objects/batch", c.body, "application/vnd.git-lfs+json")
		if rec.Code != c.want {
			t.Errorf("%s: %d %.200s, want %d", c.what, rec.Code, rec.Body, c.want)
		}
	}
}

func TestABodyIsJSONAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for media, want := range map[string]int{
		"application/vnd.git-lfs+json": 200, "application/vnd.git-lfs+json; charset=utf-8": 200, "application/json": 200,
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; =": 415,
	} {
		for _, body := range []string{`{}`, ``} {
			if rec := w.send(lfs.RequestInfo{Actor: w.me, Project: w.mine, Push: true}, "POST", "info/lfs/locks/verify", body, media); rec.Code != want {
				t.Errorf("%q as %q: %d %s, want %d", body, media, rec.Code, rec.Body, want)
			}
		}
	}
}

// Browsers must neither guess what an answer is nor keep it: it holds credentials.
func TestAnswersAreNeitherGuessedAtNorKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.upload(t, w.mine, "<script>")
	info := lfs.RequestInfo{Actor: w.me, Project: w.mine, Push: true}
	const media = "application/vnd.git-lfs+json"
	for _, body := range []string{`{"operation":"download","objects":[]}`, `{`} {
		h := w.send(info, "POST", "info/lfs/objects/batch", body, media).Header()
		if h.Get("Content-Type") != media || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", body, h)
		}
	}
	h := w.send(info, "GET", "svc-lfs/objects/"+digest("<script>"), "", "").Header()
	if h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Length") != "8" {
		t.Errorf("a file: %v", h)
	}
	if rec := w.send(info, "HEAD", "svc-lfs/objects/"+digest("<script>"), "", ""); rec.Code != http.StatusNotFound {
		t.Errorf("HEAD: %d", rec.Code)
	}
}

// What is wrong inside is for the log, and whoever waits is told when to come back.
func TestAFailureInsideIsLoggedAndNotTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.upload(t, w.mine, "lost")
	info := lfs.RequestInfo{Actor: w.me, Project: w.mine, Push: true}
	if err := w.deps.Blobs.Delete(t.Context(), "lfs/"+digest("lost")[:2]+"/"+digest("lost")[2:4]+"/"+digest("lost")); err != nil {
		t.Fatal(err)
	}
	rec := w.send(info, "GET", "svc-lfs/objects/"+digest("lost"), "", "")
	if rec.Code != http.StatusInternalServerError || rec.Body.String() != `{"message":"Internal error."}`+"\n" {
		t.Errorf("bytes that are lost: %d %s", rec.Code, rec.Body)
	}
	if !strings.Contains(w.logged.String(), "blob: not found") {
		t.Errorf("logged: %s", w.logged.String())
	}
	if _, err := w.db.Exec(t.Context(), `update lfs_objects set removing = true, left_at = created_at`); err != nil {
		t.Fatal(err)
	}
	rec = w.send(info, "PUT", "svc-lfs/objects/"+digest("lost")+"/4", "lost", "")
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" {
		t.Errorf("bytes that are taken away: %d %v", rec.Code, rec.Header())
	}
	rec = w.send(info, "POST", "info/lfs/locks/999/unlock", `{}`, "application/json")
	if rec.Code != http.StatusNotFound || rec.Body.String() != `{"message":"Not found."}`+"\n" {
		t.Errorf("what is not there: %d %s", rec.Code, rec.Body)
	}
}

func TestALockHoldsOthersOffUntilItIsTakenAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var mine struct{ Lock struct{ ID, Path string } }
	got := w.ask(w.me, w.mine, "POST", "info/lfs/locks", `{"path":"art/ship.psd"}`)
	if got.into(t, &mine); got.status != http.StatusCreated || mine.Lock.Path != "art/ship.psd" {
		t.Fatalf("%+v", got)
	}
	if got := w.ask(w.other, w.mine, "POST", "info/lfs/locks", `{"path":"art/ship.psd"}`); got.status != http.StatusConflict || !strings.Contains(got.body, `"lock"`) {
		t.Errorf("%+v", got)
	}
	var sides struct{ Ours, Theirs []struct{ ID string } }
	w.ask(w.other, w.mine, "POST", "info/lfs/locks/verify", `{}`).into(t, &sides)
	if len(sides.Ours) != 0 || len(sides.Theirs) != 1 {
		t.Errorf("%+v", sides)
	}
	w.ask(w.me, w.mine, "POST", "info/lfs/locks/verify", `{}`).into(t, &sides)
	if len(sides.Ours) != 1 || len(sides.Theirs) != 0 {
		t.Errorf("one's own: %+v", sides)
	}
	unlock := "info/lfs/locks/" + mine.Lock.ID + "/unlock"
	for _, body := range []string{`{}`, `{"force":true}`} {
		if got := w.ask(w.other, w.mine, "POST", unlock, body); got.status != http.StatusForbidden {
			t.Errorf("a developer unlocks for another with %s: %+v", body, got)
		}
	}
	if got := w.ask(w.me, w.elses, "POST", unlock, `{}`); got.status != http.StatusNotFound {
		t.Errorf("through another project: %+v", got)
	}
	maintained := *w.mine
	maintained.Role = access.Maintainer
	if got := w.ask(w.other, &maintained, "POST", unlock, `{}`); got.status != http.StatusForbidden {
		t.Errorf("a maintainer unlocks for another without force: %+v", got)
	}
	if got := w.ask(w.other, &maintained, "POST", unlock, `{"force":true}`); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	if got := w.ask(w.me, w.mine, "POST", unlock, `{}`); got.status != http.StatusNotFound {
		t.Errorf("%+v", got)
	}
}

func TestLocksComeInPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 5 {
		w.ask(w.me, w.mine, "POST", "info/lfs/locks", fmt.Sprintf(`{"path":"f%d"}`, i))
	}
	var paths []string
	for cursor := ""; ; {
		var page struct {
			Locks      []struct{ Path string }
			NextCursor string `json:"next_cursor"`
		}
		w.ask(w.me, w.mine, "GET", "info/lfs/locks?limit=2&cursor="+cursor, "").into(t, &page)
		for _, l := range page.Locks {
			paths = append(paths, l.Path)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if got := strings.Join(paths, " "); got != "f0 f1 f2 f3 f4" {
		t.Error(got)
	}
	var one struct{ Locks []struct{ Path string } }
	if w.ask(w.me, w.mine, "GET", "info/lfs/locks?path=f3", "").into(t, &one); len(one.Locks) != 1 || one.Locks[0].Path != "f3" {
		t.Errorf("%+v", one)
	}
	var first struct{ Locks []struct{ ID, Path string } }
	w.ask(w.me, w.mine, "GET", "info/lfs/locks?limit=1", "").into(t, &first)
	if w.ask(w.me, w.mine, "GET", "info/lfs/locks?id="+first.Locks[0].ID, "").into(t, &one); len(one.Locks) != 1 || one.Locks[0].Path != "f0" {
		t.Errorf("by id: %+v", one)
	}
	var rest struct{ Ours []struct{ Path string } }
	w.ask(w.me, w.mine, "POST", "info/lfs/locks/verify", `{"cursor":"`+first.Locks[0].ID+`","limit":2}`).into(t, &rest)
	if len(rest.Ours) != 2 || rest.Ours[0].Path != "f1" {
		t.Errorf("to verify: %+v", rest)
	}
	// A page has at most a hundred, whatever is asked for.
	if _, err := w.db.Exec(t.Context(), `insert into lfs_locks (project_id, user_id, path, created_at)
		select $1, $2, 'm' || n, now() from generate_series(1, 100) n`, w.mine.ID, w.me.ID()); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"", "0", "-1", "101", "1000000"} {
		var page struct {
			Locks      []struct{ Path string }
			NextCursor string `json:"next_cursor"`
		}
		w.ask(w.me, w.mine, "GET", "info/lfs/locks?limit="+limit, "").into(t, &page)
		if len(page.Locks) != 100 || page.NextCursor == "" {
			t.Errorf("limit %q: %d locks, next %q", limit, len(page.Locks), page.NextCursor)
		}
	}
}

func TestDL03_BytesGoOnlyAfterNobodyHadThemForAWeek(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.upload(t, w.mine, "shared")
	w.upload(t, w.elses, "shared")
	w.upload(t, w.mine, "alone")
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.OnProjectRemoving(t.Context(), tx, project.Removing{ProjectID: w.mine.ID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from lfs_project_objects where project_id = $1`, w.mine.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	left := func() string {
		t.Helper()
		if err := w.Sweep(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		var bodies []string
		stored, err := w.deps.Blobs.List(t.Context(), "lfs/", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range stored {
			body, err := w.deps.Blobs.Open(t.Context(), info.Key, 0, -1)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(body)
			_ = body.Close()
			bodies = append(bodies, string(text))
		}
		return strings.Join(bodies, " ")
	}
	// A fork may come to have what was left without anybody taking it in: the mark stays.
	if _, err := w.db.Exec(t.Context(), `update lfs_objects set left_at = $1 where left_at is null`, w.now); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(6 * 24 * time.Hour)
	if got := left(); !strings.Contains(got, "alone") || !strings.Contains(got, "shared") {
		t.Errorf("after six days: %s", got)
	}
	w.now = w.now.Add(2 * 24 * time.Hour)
	if got := left(); got != "shared" {
		t.Errorf("after eight days: %s", got)
	}
	w.upload(t, w.elses, "alone") // and it may come back
	if got := left(); !strings.Contains(got, "alone") {
		t.Errorf("after it came back: %s", got)
	}
}

// meanwhile is a body that something happens during.
type meanwhile struct {
	io.Reader
	do func()
}

func (m *meanwhile) Read(b []byte) (int, error) {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return m.Reader.Read(b)
}

func TestDL03_WhatIsSentAgainIsNotTakenAwayWhileItComes(t *testing.T) {
	t.Parallel()
	w, body := newFixture(t), "again"
	w.upload(t, w.mine, body)
	if _, err := w.db.Exec(t.Context(), `delete from lfs_project_objects`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Exec(t.Context(), `update lfs_objects set left_at = $1`, w.now); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(8 * 24 * time.Hour)
	comes := &meanwhile{strings.NewReader(body), func() {
		if err := w.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	if err := w.Store(t.Context(), w.elses.ID, lfs.Object{OID: digest(body), Size: int64(len(body))}, comes); err != nil {
		t.Fatal(err)
	}
	if size, got, err := w.Open(t.Context(), w.elses.ID, digest(body)); err != nil || size != int64(len(body)) {
		t.Errorf("%d bytes, %v", size, err)
	} else {
		_ = got.Close()
	}
}

func TestWhatAJobIsTakingAwayIsNotTakenIn(t *testing.T) {
	t.Parallel()
	w, body := newFixture(t), "between"
	w.upload(t, w.mine, body)
	if _, err := w.db.Exec(t.Context(), `update lfs_objects set removing = true, left_at = created_at`); err != nil {
		t.Fatal(err)
	}
	if got := w.ask(w.me, w.elses, "PUT", fmt.Sprintf("svc-lfs/objects/%s/%d", digest(body), len(body)), body); got.status != http.StatusServiceUnavailable {
		t.Errorf("%+v", got)
	}
}

func TestAForkHasWhatItsSourceHad(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.upload(t, w.mine, "before")
	w.elses.ForkedFromID = &w.mine.ID
	if err := w.db.InTx(t.Context(), func(tx pgx.Tx) error { return w.OnForked(t.Context(), tx, project.ForkMade{Fork: w.elses}) }); err != nil {
		t.Fatal(err)
	}
	w.upload(t, w.mine, "after")
	missing, err := w.Missing(t.Context(), w.elses.ID, []string{digest("before"), digest("after")})
	if err != nil || len(missing) != 1 || missing[0] != digest("after") {
		t.Errorf("%v, %v", missing, err)
	}
}

func TestATicketSpeaksForItsHolderAndForHalfAnHour(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret, life, err := w.Ticket(7, 0, 8, true)
	if err != nil || life != 30*time.Minute {
		t.Fatal(life, err)
	}
	if got, ok := w.ReadTicket(secret.Reveal()); !ok || got != (lfs.Holder{UserID: 7, ProjectID: 8, Push: true}) {
		t.Errorf("%+v, %v", got, ok)
	}
	text := []byte(secret.Reveal())
	for i := range text {
		forged := bytes.Clone(text)
		forged[i] ^= 1
		if got, ok := w.ReadTicket(string(forged)); ok {
			t.Errorf("byte %d changed: %+v", i, got)
		}
	}
	for _, other := range []string{"", "lfst-", "lfst-00", "glpat-x", secret.Reveal()[5:]} {
		if _, ok := w.ReadTicket(other); ok {
			t.Errorf("%q is a ticket", other)
		}
	}
	w.now = w.now.Add(life)
	if _, ok := w.ReadTicket(secret.Reveal()); ok {
		t.Error("the ticket outlives its time")
	}
}

// CI-16: no address of a large file is a proof by itself; a ticket is, and says
// one thing: who, where, whether they may write, and until when.
func TestCI16_ATicketMeansOneThing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	holders := []lfs.Holder{
		{UserID: 7, ProjectID: 81}, {UserID: 78, ProjectID: 1}, {KeyID: 7, ProjectID: 81}, {UserID: 7, KeyID: 8, ProjectID: 1},
		{UserID: 7, ProjectID: 81, Push: true}, {ProjectID: 781},
	}
	for _, h := range holders {
		secret, _, err := w.Ticket(h.UserID, h.KeyID, h.ProjectID, h.Push)
		if err != nil {
			t.Fatal(err)
		}
		text := secret.Reveal()
		if got, ok := w.ReadTicket(text); !ok || got != h {
			t.Errorf("%+v reads %+v", h, got)
		}
		for _, bent := range []string{text + "00", text[:len(text)-2], text + text[5:], strings.ToUpper(text), "lfst-" + text} {
			if got, ok := w.ReadTicket(bent); ok {
				t.Errorf("a bent ticket reads %+v", got)
			}
		}
	}
	// What the box sealed for something else is no ticket.
	sealed, err := w.deps.Box.Seal([]byte(`{"u":1,"p":1,"w":true,"t":99999999999}`), "job_logs.sealed_masks:1")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := w.ReadTicket("lfst-" + hex.EncodeToString(sealed)); ok {
		t.Errorf("sealed for a log, it reads %+v", got)
	}
}
