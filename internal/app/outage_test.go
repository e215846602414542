package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/telemetry"
	"stithy/internal/project/projecttest"
)

// overLine is another node of the instance, whose line to the database can be cut.
func (i *instance) overLine(t testing.TB) (*App, *postgrestest.Line, *lockedBuffer) {
	t.Helper()
	line := postgrestest.NewLine(t, i.DB.Pool().Config().ConnString())
	db, err := postgres.Open(t.Context(), line.URL, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Down(); db.Close() })
	log := &lockedBuffer{}
	parts := i.Parts
	parts.Log, parts.DB = slog.New(telemetry.WithoutRepeats(slog.NewJSONHandler(log, nil), clock.System())), db
	other, err := Assemble(parts)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Settings.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	other.waits = postgres.Limits{Connection: time.Second, Statement: time.Second, Transaction: time.Second}
	return other, line, log
}

// DO-13: a client of git over SSH hears it as well, before its key was found and after.
func TestDO13_GitOverSSHSaysWhenTheDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	signer, _ := d.keyOf(t, d.people[access.Maintainer])
	other, line, log := d.overLine(t)
	s := (&doors{instance: &instance{App: other}}).startSSH(t)
	const words = "not available right now"
	heard := ""
	config := comeAs(signer)
	config.BannerCallback = func(text string) error { heard += text; return nil }
	client, err := ssh.Dial("tcp", s.addr, config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	line.Freeze()
	if said, err := session.CombinedOutput("git-upload-pack '" + d.open.FullPath() + ".git'"); err == nil || !strings.Contains(string(said), words) {
		t.Errorf("after the key: %v %s", err, said)
	}
	if _, err := ssh.Dial("tcp", s.addr, config); err == nil || !strings.Contains(heard, words) {
		t.Errorf("before the key: %v %s", err, heard)
	}
	if n := strings.Count(log.text(), `"cause":"database"`); n != 1 {
		t.Errorf("%d lines about the database: %s", n, log.text())
	}
}

// DO-13: the database is gone, stands still, or is locked. Every door says within its limits that it is not available
// and when to come back, in its own words, and the log does not fill up.
func TestDO13_EveryDoorSaysWhenTheDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	other, line, log := i.overLine(t)
	handler := other.Handler()
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
	secret := i.token(t, i.root, access.ScopeAPI)
	path, hex := "/"+p.FullPath(), strings.Repeat("0123456789abcdef", 4)
	isJSON := func(member string) func(string) bool {
		return func(body string) bool {
			var got map[string]any
			return json.Unmarshal([]byte(body), &got) == nil && got[member] != nil
		}
	}
	says := func(part string) func(string) bool {
		return func(body string) bool { return strings.Contains(body, part) }
	}
	doors := map[string]struct {
		method, target, contentType, body string
		change                            func(*http.Request)
		form                              func(string) bool
	}{
		"API":           {method: "GET", target: "/api/v4/projects", form: isJSON("message")},
		"API, known":    {method: "GET", target: "/api/v4/user", change: func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }, form: isJSON("message")},
		"API, a change": {method: "POST", target: "/api/v4/runners/verify", contentType: "application/json", body: `{"token":"x"}`, form: isJSON("message")},
		"a page":        {method: "GET", target: path + "/-/pipelines", form: says("<html")},
		"a form": {
			method: "POST", target: "/users/sign_in", contentType: "application/x-www-form-urlencoded", form: says("<html"),
			body: url.Values{"user[login]": {"ann"}, "user[password]": {"wrong"}}.Encode(),
		},
		"git":             {method: "GET", target: path + ".git/info/refs?service=git-upload-pack", form: says("")},
		"git, password":   {method: "GET", target: path + ".git/info/refs?service=git-upload-pack", change: func(r *http.Request) { r.SetBasicAuth("ann", "x") }, form: says("")},
		"large files":     {method: "POST", target: path + ".git/info/lfs/objects/batch", contentType: "application/vnd.git-lfs+json", body: `{"operation":"download","objects":[]}`, form: says("")},
		"OAuth":           {method: "POST", target: "/oauth/token", contentType: "application/x-www-form-urlencoded", body: "grant_type=authorization_code&client_id=" + hex + "&client_secret=" + hex + "&code=" + hex + "&redirect_uri=https://a.example", form: isJSON("error")},
		"OAuth, userinfo": {method: "GET", target: "/oauth/userinfo?access_token=" + hex, form: isJSON("error")},
		"a picture":       {method: "GET", target: fmt.Sprintf("/uploads/-/system/user/avatar/%d/a.png", i.ann.ID), form: says("")},
	}
	ask := func(name string) *httptest.ResponseRecorder {
		d := doors[name]
		r := httptest.NewRequest(d.method, d.target, strings.NewReader(d.body))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", d.contentType)
		if d.change != nil {
			d.change(r)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for name := range doors {
		if w := ask(name); w.Code >= 500 {
			t.Errorf("%s, when all is well: %d %s", name, w.Code, w.Body)
		}
	}
	all := func(state string) {
		for name, d := range doors {
			w := ask(name)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !d.form(w.Body.String()) {
				t.Errorf("%s, %s: %d %v %s", state, name, w.Code, w.Header(), w.Body)
			}
		}
	}
	line.Freeze()
	all("frozen")
	line.Down()
	all("away")
	line.Up()
	for name := range doors {
		_ = ask(name) // by connections that were cut
	}
	err := i.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		ctx := context.WithoutCancel(t.Context())
		tables, err := postgres.Values[string](ctx, tx, `select format('%I', tablename) from pg_tables where schemaname = 'public' order by 1`)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "lock table "+strings.Join(tables, ", ")+" in access exclusive mode"); err != nil {
			return err
		}
		all("locked")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name := range doors {
		if w := ask(name); w.Code >= 500 {
			t.Errorf("%s, when all is well again: %d %s", name, w.Code, w.Body)
		}
	}
	failures, written := strings.Count(log.text(), `"status":503`), strings.Count(log.text(), `"cause":"database"`)
	if failures < 3*len(doors) || written == 0 || written > 12 {
		t.Errorf("%d lines about the database for %d failures", written, failures)
	}
	for line := range strings.Lines(log.text()) {
		if strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, `"cause":"database"`) {
			t.Errorf("%.400s", line)
		}
	}
}
