package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user/usertest"
)

// at fills a route with an account that exists.
func at(e httpapi.Endpoint, id int64) string {
	out := e.Path
	for _, p := range e.Params {
		if p.InPath {
			out = strings.Replace(out, "{"+p.Name+"}", fmt.Sprint(id), 1)
		}
	}
	return e.Base() + out
}

// about is at, in a group or project that is there.
func about(e httpapi.Endpoint, g *group.Group, p *project.Project, id int64) string {
	e.Path = strings.Replace(e.Path, "/groups/{id}", fmt.Sprintf("/groups/%d", g.ID), 1)
	e.Path = strings.Replace(e.Path, "/projects/{id}", fmt.Sprintf("/projects/%d", p.ID), 1)
	return strings.Replace(at(e, id), "{project}", p.FullPath(), 1)
}

func has(e httpapi.Endpoint, param string) bool {
	return slices.ContainsFunc(e.Params, func(p httpapi.Param) bool { return p.Name == param })
}

func (i *instance) get(target, secret string) *httptest.ResponseRecorder {
	return i.do("GET", target, nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
}

// DO-05: every list of every room has pages of a bounded size and a deepest one.
func TestDO05_EveryListIsBounded(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	secret := i.token(t, i.root, access.ScopeAPI)
	create := func(path string, body map[string]any) string {
		t.Helper()
		var made struct {
			ID int64 `json:"id"`
		}
		w := i.do("POST", "/api/v4"+path, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return fmt.Sprint(made.ID)
	}
	home := grouptest.New(t, i.DB).ID
	code := create("/projects", map[string]any{"name": "code", "namespace_id": home, "initialize_with_readme": true})
	ofGroup := strings.NewReplacer("{id}", fmt.Sprint(home), "{milestone_id}", create(fmt.Sprintf("/groups/%d/milestones", home), map[string]any{"title": "above"}),
		"{board_id}", create(fmt.Sprintf("/groups/%d/boards", home), map[string]any{"name": "above"}))
	create("/projects/"+code+"/repository/files/.svc-ci.yml", map[string]any{
		"branch": "main", "commit_message": "x [skip ci]", "content": "job: {script: x, resource_group: lock}",
	})
	create("/projects/"+code+"/issues", map[string]any{"title": "the first"})
	snippet := create("/projects/"+code+"/snippets", map[string]any{"title": "x", "visibility": "public", "file_name": "a", "content": "a"})
	ofSnippet := strings.NewReplacer("{id}", code, "{snippet_id}", snippet, "{note_id}", create("/projects/"+code+"/snippets/"+snippet+"/notes", map[string]any{"body": "x"}))
	failed, err := postgres.Value[int64](t.Context(), i.DB, `insert into tracked_errors
		(project_id, fingerprint, name, message, culprit, platform, level, status, events, people, first_seen, last_seen, updated_at)
		values ($1, sha256('x'), 'x', '', '', '', 'error', 'unresolved', 1, 0, now(), now(), now()) returning id`, code)
	if err != nil {
		t.Fatal(err)
	}
	ofCode := strings.NewReplacer("{id}", code, "{error_id}", fmt.Sprint(failed), "{type}", "issues", "{sha}", "main", "{key}", "lock", "{issue_iid}", "1",
		"{note_id}", create("/projects/"+code+"/issues/1/notes", map[string]any{"body": "x"}),
		"{milestone_id}", create("/projects/"+code+"/milestones", map[string]any{"title": "own"}),
		"{board_id}", create("/projects/"+code+"/boards", map[string]any{"name": "own"}),
		"{pipeline_id}", create("/projects/"+code+"/pipeline", map[string]any{"ref": "main"}),
		"{schedule_id}", create("/projects/"+code+"/pipeline_schedules", map[string]any{"description": "x", "ref": "main", "cron": "0 1 * * *"}))
	runner := create("/user/runners", map[string]any{"runner_type": "instance_type"})
	lists := 0
	for _, e := range i.Endpoints() {
		if !has(e, "per_page") {
			continue
		}
		lists++
		path := at(e, i.root.ID)
		if e.InOwner() || strings.HasPrefix(e.Path, "/groups/{id}") || strings.HasPrefix(e.Path, "/projects/{id}") {
			path = i.path(t, e)
		}
		if whole := ofCode.Replace(e.Path); strings.HasPrefix(e.Path, "/projects/{id}/") && !strings.Contains(whole, "{") {
			path = "/api/v4" + whole
		}
		if strings.HasPrefix(e.Path, "/projects/{id}/snippets/{snippet_id}/") {
			path = "/api/v4" + ofSnippet.Replace(e.Path)
		}
		if strings.HasPrefix(e.Path, "/groups/{id}/milestones/") || strings.HasPrefix(e.Path, "/groups/{id}/boards/") {
			path = "/api/v4" + ofGroup.Replace(e.Path)
		}
		if strings.HasPrefix(e.Path, "/runners/{id}/") {
			path = "/api/v4" + strings.Replace(e.Path, "{id}", runner, 1)
		}
		for query, want := range map[string]string{"": "20", "?per_page=100": "100", "?per_page=101": "100", "?per_page=999999999999": "100"} {
			if w := i.get(path+query, secret); w.Code != http.StatusOK || w.Header().Get("X-Per-Page") != want {
				t.Errorf("%s%s: %d, %s to a page", e.Route, query, w.Code, w.Header().Get("X-Per-Page"))
			}
		}
		for query, want := range map[string]int{
			"?page=500&per_page=100": http.StatusOK, "?page=501&per_page=100": http.StatusMethodNotAllowed,
			"?page=2501": http.StatusMethodNotAllowed, "?page=9223372036854775807": http.StatusMethodNotAllowed,
			"?per_page=0": http.StatusBadRequest, "?per_page=-1": http.StatusBadRequest,
		} {
			if w := i.get(path+query, secret); w.Code != want {
				t.Errorf("%s%s: %d %s", e.Route, query, w.Code, w.Body)
			}
		}
	}
	if lists < 10 {
		t.Errorf("only %d lists were found", lists)
	}
}

// DO-06: signs that mean something to LIKE mean themselves, however many there are. Ten thousand names of 250 letters
// against a pattern of some hundred wildcards would take minutes.
func TestDO06_WildcardsAreLiteralAndFloodsAreFast(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	if _, err := i.DB.Exec(t.Context(), `
		insert into users (username, name, email, projects_limit, created_at, updated_at)
		select 'flood' || n, repeat('a', 250), 'flood' || n || '@example.com', 1, now(), now() from generate_series(1, 10000) n`); err != nil {
		t.Fatal(err)
	}
	odd := usertest.New(t, i.DB, usertest.Named("odd"), usertest.With("name", `100%_\ sure`))
	secret := i.token(t, i.root, access.ScopeAPI)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	search := func(path, term string) string {
		return i.do("GET", path+"?search="+url.QueryEscape(term), nil, func(r *http.Request) {
			*r = *r.WithContext(ctx)
			r.Header.Set("PRIVATE-TOKEN", secret)
		}).Body.String()
	}
	for _, sign := range []string{"%", "_", `\`, "%_", `\%`, "*", "%a", "_a%"} {
		for _, path := range []string{"/api/v4/users", "/api/v4/personal_access_tokens"} {
			if got := search(path, strings.Repeat(sign, 400/len(sign))); got != "[]" {
				t.Errorf("%s finds %.200s with a flood of %s", path, got, sign)
			}
		}
	}
	for _, term := range []string{"100%_", `_\ sure`, `100%_\ sure`} {
		if got := search("/api/v4/users", term); strings.Count(got, `"username":"`) != 1 || !strings.Contains(got, odd.Username) {
			t.Errorf("%q finds %.200s", term, got)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Error("the floods took too long")
	}
}
