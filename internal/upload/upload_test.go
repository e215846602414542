package upload_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/upload"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public and a private project, a guest of the latter, and somebody else.
type fixture struct {
	*apptest.Instance
	open, hidden    *project.Project
	guest, stranger *user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.Serve(t)
	w.guest, w.stranger = usertest.New(t, w.DB, usertest.Named("guest")), usertest.New(t, w.DB, usertest.Named("stranger"))
	g := grouptest.New(t, w.DB, grouptest.Named("team"), grouptest.Visible(access.Public))
	w.open = projecttest.New(t, w.DB, g.ID, projecttest.Named("open"), projecttest.Visible(access.Public))
	w.hidden = projecttest.New(t, w.DB, g.ID, projecttest.Named("hidden"))
	projecttest.Join(t, w.DB, w.hidden, w.guest, access.Guest)
	return w
}

func (w *fixture) count(t testing.TB, sql string, args ...any) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), w.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// stored is how many blobs of uploads there are.
func (w *fixture) stored(t testing.TB) int {
	t.Helper()
	all, err := w.Blobs.List(t.Context(), "uploads/", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func as(u *user.User) access.Actor { return access.Actor{Person: u.Person()} }

func (w *fixture) add(t testing.TB, p *project.Project, name, content string) (upload.Upload, string) {
	t.Helper()
	u, secret, err := w.Uploads.Store(t.Context(), as(w.guest), p, name, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return u, secret
}

func TestAFileIsAddedToAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, want := range map[string]struct{ alt, file, markdown string }{
		"shot.png":               {"shot", "shot.png", "![shot](%)"},
		"a b (1).PNG":            {"a_b__1_", "a_b__1_.PNG", "![a_b__1_](%)"},
		"drawing.svg":            {"drawing.svg", "drawing.svg", "![drawing.svg](%)"},
		"clip.mp4":               {"clip", "clip.mp4", "![clip](%)"},
		"page.html":              {"page.html", "page.html", "[page.html](%)"},
		"../../etc/passwd":       {"passwd", "passwd", "[passwd](%)"},
		`C:\a\b.txt`:             {"b.txt", "b.txt", "[b.txt](%)"},
		".htaccess":              {"htaccess", "htaccess", "[htaccess](%)"},
		"x](javascript:y).md":    {"x__javascript_y_.md", "x__javascript_y_.md", "[x__javascript_y_.md](%)"},
		"größe.txt":              {"größe.txt", "größe.txt", "[größe.txt](%)"},
		"???":                    {"file", "file", "[file](%)"},
		strings.Repeat("a", 300): {strings.Repeat("a", 200), strings.Repeat("a", 200), "[" + strings.Repeat("a", 200) + "](%)"},
	} {
		var form struct {
			Alt, URL, Markdown string
			FullPath           string `json:"full_path"`
		}
		w.As(t, w.guest).Upload(t, "POST", "/projects/team%2Fhidden/uploads", "file", name, []byte("x")).WantStatus(t, http.StatusCreated).Decode(t, &form)
		secret := regexp.MustCompile(`^/uploads/([0-9a-f]{32})/`).FindStringSubmatch(form.URL)
		if secret == nil || form.URL != "/uploads/"+secret[1]+"/"+want.file || form.Alt != want.alt || form.Markdown != strings.ReplaceAll(want.markdown, "%", form.URL) ||
			form.FullPath != upload.Path(w.hidden.ID, secret[1], want.file) {
			t.Errorf("%q: %+v", name, form)
		}
	}
}

func TestWhoSeesAProjectAddsFilesToIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	post := func(u *user.User, p string) int {
		c := w.Client
		if u != nil {
			c = w.As(t, u)
		}
		return c.Upload(t, "POST", "/projects/team%2F"+p+"/uploads", "file", "a.txt", []byte("x")).Status
	}
	for _, tt := range []struct {
		who    *user.User
		in     string
		status int
	}{{w.guest, "hidden", 201}, {w.stranger, "hidden", 404}, {w.stranger, "open", 201}, {nil, "open", 401}, {nil, "hidden", 401}, {w.guest, "nothing", 404}} {
		if got := post(tt.who, tt.in); got != tt.status {
			t.Errorf("%+v in %s: %d, not %d", tt.who, tt.in, got, tt.status)
		}
	}
	w.As(t, w.guest).Upload(t, "POST", "/projects/team%2Fhidden/uploads", "other", "a.txt", []byte("x")).Want(t, 400, `{"error":"file is missing"}`)
	w.As(t, w.guest).Do(t, "POST", "/projects/team%2Fhidden/uploads", map[string]any{"file": "x"}).Want(t, 400, `{"error":"file is missing"}`)
}

// PE-09: an address that is right but for one part, and one of a project that is hidden, are the same as one of nothing.
func TestPE09_AFileIsFoundByItsAddressByThoseWhoSeeItsProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u, secret := w.add(t, w.hidden, "shot.png", "bytes")
	other, _ := w.add(t, w.open, "shot.png", "other")
	find := func(by access.Actor, projectID int64, secret, name string) error {
		found, err := w.Uploads.Find(t.Context(), by, projectID, secret, name)
		if err != nil {
			return err
		}
		body, err := w.Uploads.Open(t.Context(), found)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(body)
		if string(text) != "bytes" {
			t.Errorf("the file holds %q", text)
		}
		return errors.Join(err, body.Close())
	}
	if err := find(as(w.guest), u.ProjectID, secret, u.Filename); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"a stranger": find(as(w.stranger), u.ProjectID, secret, u.Filename), "somebody without an account": find(access.Actor{}, u.ProjectID, secret, u.Filename),
		"another project": find(as(w.guest), other.ProjectID, secret, u.Filename), "another name": find(as(w.guest), u.ProjectID, secret, "x.png"),
		"another secret": find(as(w.guest), u.ProjectID, strings.Repeat("0", 32), u.Filename), "no project": find(as(w.guest), 1<<40, secret, u.Filename),
	} {
		if !fault.Is(err, fault.NotFound) || err.Error() != "Upload not found" {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A project may let the address of a picture be enough; of anything else it never is.
	text, textSecret := w.add(t, w.hidden, "log.txt", "bytes")
	if _, err := w.DB.Exec(t.Context(), `update projects set settings = settings || '{"enforce_auth_checks_on_uploads": false}' where id = $1`, w.hidden.ID); err != nil {
		t.Fatal(err)
	}
	if err := find(access.Actor{}, u.ProjectID, secret, u.Filename); err != nil {
		t.Errorf("a picture that is open: %v", err)
	}
	if err := find(access.Actor{}, text.ProjectID, textSecret, text.Filename); !fault.Is(err, fault.NotFound) {
		t.Errorf("a text: %v", err)
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set removal = true where id = $1`, w.hidden.ID); err != nil {
		t.Fatal(err)
	}
	if err := find(access.Actor{}, u.ProjectID, secret, u.Filename); !fault.Is(err, fault.NotFound) {
		t.Errorf("a picture of a project that goes: %v", err)
	}
}

// The word in an address is not kept: who reads the database cannot fetch what it names.
func TestTheSecretOfAFileIsKeptAsADigest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, secret := w.add(t, w.hidden, "a.png", "x")
	for _, form := range []string{secret, hex.EncodeToString([]byte(secret))} { // as a text, and as bytes are shown
		if n := w.count(t, `select count(*) from uploads u where u::text like '%' || $1 || '%'`, form); n != 0 {
			t.Error("the secret stands in the row")
		}
	}
	if n := w.count(t, `select count(*) from uploads u`); n != 1 {
		t.Error("there is no row to look at")
	}
}

func TestDO11_AFileIsCountedWhileItComes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.As(t, usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())).Do(t, "PUT", "/application/settings", map[string]any{"max_attachment_size": 1}).WantStatus(t, 200)
	if _, _, err := w.Uploads.Store(t.Context(), as(w.guest), w.hidden, "a", strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
		t.Errorf("as much as may be: %v", err)
	}
	if _, _, err := w.Uploads.Store(t.Context(), as(w.guest), w.hidden, "a", strings.NewReader(strings.Repeat("x", 1<<20+1))); !fault.Is(err, fault.TooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	w.As(t, w.guest).Upload(t, "POST", "/projects/team%2Fhidden/uploads", "file", "a", make([]byte, 2<<20)).WantStatus(t, http.StatusRequestEntityTooLarge)
	if n := w.stored(t); n != 1 {
		t.Errorf("%d blobs", n)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cable cut") }

// DL-05: what a failed or cut off upload left goes, and nothing else does.
func TestDL05_WhatAnUploadLeftIsTakenAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	kept, secret := w.add(t, w.hidden, "kept.png", "x")
	if _, _, err := w.Uploads.Store(t.Context(), as(w.guest), w.hidden, "a", io.MultiReader(strings.NewReader("x"), broken{})); err == nil {
		t.Fatal("a broken upload is stored")
	}
	if n := w.count(t, `select count(*) from uploads where state = 'removing'`); n != 1 {
		t.Errorf("%d rows of the broken upload", n)
	}
	// One whose process died after the bytes were there.
	w.add(t, w.hidden, "lost.png", "x")
	if _, err := w.DB.Exec(t.Context(), `update uploads set state = 'storing' where filename = 'lost.png'`); err != nil {
		t.Fatal(err)
	}
	sweep := func(rows, blobs int) {
		t.Helper()
		if err := w.Uploads.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := w.count(t, `select count(*) from uploads`); n != rows {
			t.Errorf("%d rows instead of %d", n, rows)
		}
		if n := w.stored(t); n != blobs {
			t.Errorf("%d blobs instead of %d", n, blobs)
		}
	}
	sweep(2, 2)
	w.Turn(25 * time.Hour)
	sweep(1, 1)
	if _, err := w.Uploads.Find(t.Context(), as(w.guest), w.hidden.ID, secret, kept.Filename); err != nil {
		t.Error(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// DL-05: who hangs up ends their own upload, also where nobody waits for the answer.
func TestDL05_AnUploadWhoseClientHungUpIsGivenUpAndNoOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	fail := func() {
		ctx, hangUp := context.WithCancel(t.Context())
		if _, _, err := w.Uploads.Store(ctx, as(w.guest), w.hidden, "a", readerFunc(func([]byte) (int, error) { hangUp(); return 0, errors.New("gone") })); err == nil {
			t.Error("a broken upload is stored")
		}
	}
	body := strings.NewReader("x")
	if _, _, err := w.Uploads.Store(t.Context(), as(w.guest), w.hidden, "a", readerFunc(func(p []byte) (int, error) { fail(); return body.Read(p) })); err != nil {
		t.Errorf("an upload beside one that failed: %v", err)
	}
	if n := w.count(t, `select count(*) from uploads where state = 'storing'`); n != 0 {
		t.Errorf("%d are still under way", n)
	}
	// What comes for a project that goes meanwhile is not there.
	body = strings.NewReader("x")
	_, _, err := w.Uploads.Store(t.Context(), as(w.guest), w.hidden, "a", readerFunc(func(p []byte) (int, error) {
		if _, err := w.DB.Exec(t.Context(), `update uploads set state = 'removing' where state = 'storing'`); err != nil {
			return 0, err
		}
		return body.Read(p)
	}))
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("for a project that went: %v", err)
	}
}

// away is a store that cannot be reached.
type away struct{ blob.Store }

func (away) Put(context.Context, string, io.Reader, int64) error { return blob.ErrUnavailable }
func (away) Delete(context.Context, string) error                { return blob.ErrUnavailable }
func (away) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, blob.ErrUnavailable
}

// without is the room over a store that cannot be reached.
func (w *fixture) without() *upload.Service {
	return upload.New(upload.Deps{DB: w.DB, Queue: w.Queue, Blobs: away{w.Blobs}, Settings: w.Settings, Projects: w.Projects, Clock: w.Now})
}

func TestAStoreThatIsAwayIsCalledSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u, _ := w.add(t, w.hidden, "a.png", "x")
	_, _, storing := w.without().Store(t.Context(), as(w.guest), w.hidden, "a", strings.NewReader("x"))
	_, reading := w.without().Open(t.Context(), u)
	for what, err := range map[string]error{"storing": storing, "reading": reading} {
		if !fault.Is(err, fault.Unavailable) || !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestDL05_ARowOfAnUploadStaysAsLongAsItsBytes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.add(t, w.hidden, "a.png", "x")
	if err := w.without().RemoveOf(t.Context(), w.hidden.ID); err == nil {
		t.Error("what removed nothing is done")
	}
	if n := w.count(t, `select count(*) from uploads`); n != 1 {
		t.Errorf("%d rows, and the bytes are there", n)
	}
	if err := w.Uploads.Sweep(t.Context()); err != nil || w.count(t, `select count(*) from uploads`) != 0 || w.stored(t) != 0 {
		t.Errorf("%d blobs are left, %v", w.stored(t), err)
	}
}

func TestDL05_ASweepOfUploadsGoesOnUntilAllIsDone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for state, remove := range map[string]func() error{
		"storing": func() error { return w.Uploads.Sweep(t.Context()) }, "stored": func() error { return w.Uploads.RemoveOf(t.Context(), w.hidden.ID) },
	} {
		if _, err := w.DB.Exec(t.Context(), `insert into uploads (project_id, state, digest, sha256, filename, blob_key, created_at, updated_at)
			select $1, $2, sha256(n::text::bytea), sha256(''), 'a', 'uploads/x/' || n, '2020-01-01', '2020-01-01' from generate_series(1, 501) n`, w.hidden.ID, state); err != nil {
			t.Fatal(err)
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if n := w.count(t, `select count(*) from uploads`); n != 0 {
			t.Errorf("%s: %d rows are left", state, n)
		}
	}
}

func TestTheFilesOfAProjectGoWithIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.add(t, w.hidden, "a.png", "x")
	w.add(t, w.open, "b.png", "x")
	root := usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	if err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `update projects set removal = true where id = $1`, w.hidden.ID); err != nil {
			return err
		}
		return w.Bus.Publish(t.Context(), tx, project.Removing{ProjectID: w.hidden.ID})
	}); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, `select count(*) from river_job where kind = 'uploads_of_project'`); n != 1 {
		t.Fatalf("%d jobs", n)
	}
	if err := w.Uploads.RemoveOf(t.Context(), w.hidden.ID); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, `select count(*) from uploads where project_id = $1`, w.hidden.ID); n != 0 || w.stored(t) != 1 {
		t.Errorf("%d rows, %d blobs", n, w.stored(t))
	}
	if _, _, err := w.Uploads.Store(t.Context(), as(root), w.hidden, "late.png", strings.NewReader("x")); !fault.Is(err, fault.NotFound) {
		t.Errorf("added to a project that goes: %v", err)
	}
}
