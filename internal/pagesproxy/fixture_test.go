package pagesproxy_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/app/apptest"
	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with the door to its sites, and a public project with a person who publishes.
type fixture struct {
	*apptest.Instance
	door    http.Handler
	house   *group.Group
	project *project.Project
	owner   *user.User
	jobs    int64
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...)}
	w.door = w.SiteHandler()
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.owner = usertest.New(t, w.DB, usertest.Named("owner"))
	w.project = w.newProject(t, w.house, "forge", access.Public, project.Everyone)
	return w
}

func (w *fixture) newProject(t testing.TB, in *group.Group, name string, visible access.Visibility, level project.Level) *project.Project {
	t.Helper()
	p := projecttest.New(t, w.DB, in.ID, projecttest.Named(name), projecttest.Visible(visible))
	projecttest.Join(t, w.DB, p, w.owner, access.Owner)
	w.level(t, p, level)
	return p
}

func (w *fixture) level(t testing.TB, p *project.Project, level project.Level) {
	t.Helper()
	w.exec(t, `update projects set features = jsonb_set(features, '{pages}', to_jsonb($2::text)) where id = $1`, p.ID, string(level))
	p.Features.Pages = level
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

type files map[string]string

// publish has a job succeed that publishes files, below a prefix or not.
func (w *fixture) publish(t testing.TB, p *project.Project, prefix string, all files) {
	t.Helper()
	w.jobs++
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range all {
		h := &zip.FileHeader{Name: "public/" + name, Method: zip.Deflate}
		if strings.HasSuffix(name, ".bin") {
			h.Method = zip.Store
		}
		f, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, text)
	}
	_ = z.Close()
	if _, err := w.Artifacts.Store(t.Context(), artifact.File{ProjectID: p.ID, JobID: w.jobs, Type: artifact.Archive, Format: artifact.Zip}, &b); err != nil {
		t.Fatal(err)
	}
	document, _ := json.Marshal(pipeline.Spec{Job: ciconfig.Job{Pages: true, PathPrefix: prefix}})
	spec, err := postgres.Value[int64](t.Context(), w.DB, `
with pl as (
	insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, created_at, updated_at)
	values ($1, $2, repeat('a', 40), repeat('0', 40), 'main', false, 'success', 'push', $3, $3) returning id
)
insert into job_specs (pipeline_id, document) select id, $4 from pl returning id`, p.ID, w.jobs, w.Now(), document)
	if err != nil {
		t.Fatal(err)
	}
	err = w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.Bus.Publish(t.Context(), tx, pipeline.JobFinished{
			Job:      pipeline.Job{ID: w.jobs, ProjectID: p.ID, SpecID: spec, Status: pipeline.Success, UserID: &w.owner.ID},
			Pipeline: pipeline.Pipeline{ProjectID: p.ID, Ref: "main"},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := postgres.Value[int64](t.Context(), w.DB, `select id from pages_deployments where job_id = $1`, w.jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Pages.Deploy(t.Context(), id, w.owner.ID); err != nil {
		t.Fatal(err)
	}
	if why, err := postgres.Value[string](t.Context(), w.DB, `select error from pages_deployments where id = $1`, id); err != nil || why != "" {
		t.Fatal(why, err)
	}
	w.settle()
}

// settle lets the door forget what it knows of hosts.
func (w *fixture) settle() { w.Turn(5 * time.Second) }

// get asks the door for an address, with headers.
func (w *fixture) get(t testing.TB, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return w.ask(t, http.MethodGet, address, headers...)
}

func (w *fixture) ask(t testing.TB, method, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	host, path, _ := strings.Cut(address, "/")
	r := httptest.NewRequestWithContext(t.Context(), method, "http://x/", http.NoBody)
	u, err := url.ParseRequestURI("/" + path)
	if err != nil {
		u = &url.URL{Path: "/" + path}
	}
	r.URL, r.RequestURI, r.Host, r.RemoteAddr = u, "/"+path, host, "203.0.113.9:1234"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.door.ServeHTTP(rec, r)
	return rec
}

// want asks for an address and compares what comes.
func (w *fixture) want(t testing.TB, address string, status int, body string) *httptest.ResponseRecorder {
	t.Helper()
	got := w.get(t, address)
	if got.Code != status || body != "" && got.Body.String() != body {
		t.Errorf("%s: %d %q %s", address, got.Code, got.Body, got.Header().Get("Location"))
	}
	if got.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: browsers guess", address)
	}
	return got
}

// session is the cookie of somebody who is signed in to the forge.
func (w *fixture) session(t testing.TB, u *user.User) string {
	t.Helper()
	cookie, _, err := w.Tokens.StartSession(t.Context(), u.ID, netip.MustParseAddr("203.0.113.9"), "test")
	if err != nil {
		t.Fatal(err)
	}
	return w.Settings.Instance().Names.SessionCookie() + "=" + cookie.Reveal()
}

// forge asks the forge for an address.
func (w *fixture) forge(t testing.TB, address, cookie string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	r.RemoteAddr = "203.0.113.9:1234"
	r.Header.Set("Cookie", cookie)
	rec := httptest.NewRecorder()
	w.Handler().ServeHTTP(rec, r)
	return rec
}

func location(t testing.TB, r *httptest.ResponseRecorder) *url.URL {
	t.Helper()
	u, err := r.Result().Location()
	if err != nil {
		t.Fatalf("%d %s: %v", r.Code, r.Body, err)
	}
	return u
}

// bare is an address without its scheme.
func bare(u *url.URL) string { return u.Host + u.RequestURI() }

// cookies are what a browser sends back.
func cookies(r *httptest.ResponseRecorder) string {
	var all []string
	for _, c := range r.Result().Cookies() {
		all = append(all, c.Name+"="+c.Value)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
