package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/mention"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/web"
)

// A confidential issue, an internal note, a private project and a private snippet change no answer to those who may not read them: every question that
// the API and the pages know is asked before they are there and after. The ids that they will have are known beforehand, so that both rounds ask for
// them, too.
func TestPE09_WhatIsConfidentialChangesNoAnswerToOthers(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	questions := w.questions()
	if len(questions) < 1000 {
		t.Fatalf("only %d questions", len(questions))
	}
	before := w.askAll(questions)
	w.hide(t)
	after := w.askAll(questions)
	learned := 0
	for n, q := range questions {
		for who := range w.readers {
			if before[who][n] == after[who][n] {
				continue
			}
			if learned++; learned <= 5 {
				t.Errorf("%s %s %v tells %s something:\n%s", q.method, q.target, q.body, who, difference(before[who][n], after[who][n]))
			}
		}
	}
	// Were nothing to be seen at all, nothing would be told apart.
	for who, answers := range after {
		text := strings.Join(answers, "\n")
		if seen := strings.Count(text, "An open issue"); seen < 10 && who != "blocked" {
			t.Errorf("%s sees what is open %d times", who, seen)
		}
		if strings.Contains(text, "Hidden internal note") {
			t.Errorf("%s reads what is said internally", who)
		}
	}
	reading := slices.DeleteFunc(slices.Clone(questions), func(q inquiry) bool { return q.method != http.MethodGet })
	owner := strings.Join(w.asks(w.owner, reading), "\n")
	for _, secret := range []string{"Hidden title", "Hidden description", "Hidden comment", "Hidden internal note", "Hidden issue elsewhere", "Hidden snippet", "mentioned in commit"} {
		if !strings.Contains(owner, secret) {
			t.Errorf("nobody can read %q: that others cannot shows nothing", secret)
		}
	}

	// What was open and is confidential now is as if it were deleted.
	questions = slices.DeleteFunc(questions, func(q inquiry) bool { return !aboutIssues.MatchString(q.target) })
	w.call(t, "PUT", below(w.open, "/issues/2"), map[string]any{"confidential": true})
	closed := w.askAll(questions)
	w.call(t, "DELETE", below(w.open, "/issues/2"), nil)
	deleted := w.askAll(questions)
	for n, q := range questions {
		for who := range w.readers {
			if closed[who][n] == deleted[who][n] {
				continue
			}
			if learned++; learned <= 10 {
				t.Errorf("%s %s %v tells %s of what became confidential:\n%s", q.method, q.target, q.body, who, difference(closed[who][n], deleted[who][n]))
			}
		}
	}
}

// difference is where two answers part.
func difference(before, after string) string {
	n := 0
	for n < min(len(before), len(after)) && before[n] == after[n] {
		n++
	}
	part := func(text string) string { return text[max(0, n-200):min(len(text), n+200)] }
	return fmt.Sprintf("before %q\nafter  %q", part(before), part(after))
}

// firstSecret is the id before that of the first secret thing of each kind.
const firstSecret = 7_000_000

// secrets is a public project beside a private one, with readers who may see the public one alone.
type secrets struct {
	*doors
	owner   reader
	readers map[string]reader
	note    string // about the open issue
}

// reader asks by the API and with a browser.
type reader struct {
	secret  string
	browser *browser
}

// inquiry is one request, to the API or for a page.
type inquiry struct {
	method, target string
	body           any
}

func (q inquiry) page() bool { return !strings.HasPrefix(q.target, "/api/") }

func newSecrets(t *testing.T) *secrets {
	w := &secrets{doors: newDoors(t), readers: map[string]reader{}}
	person := func(name string) *user.User { return w.withPassword(t, usertest.Named(name)) }
	enter := func(u *user.User) reader {
		r := reader{w.token(t, u, access.ScopeAPI), w.browser(t)}
		r.browser.signIn(u.Username, goodPassword)
		return r
	}
	owner, guest, stranger, blocked := person("owner"), person("visitor"), person("outsider"), person("banished")
	grouptest.Join(t, w.DB, w.house, owner, access.Owner)
	projecttest.Join(t, w.DB, w.open, guest, access.Guest)
	projecttest.Join(t, w.DB, w.open, blocked, access.Developer)
	w.owner = enter(owner)
	w.readers["guest"], w.readers["stranger"], w.readers["blocked"] = enter(guest), enter(stranger), enter(blocked)
	w.readers["nobody"] = reader{"", w.browser(t)}
	bot := w.api(t, "POST", below(w.other, "/access_tokens"), map[string]any{"name": "bot", "scopes": []string{"api"}, "access_level": 40}, "token")
	w.readers["bot"] = reader{bot, w.browser(t)}

	for _, name := range []string{"bug", "hidden label"} { // labels are for all who see the project
		w.call(t, "POST", below(w.open, "/labels"), map[string]any{"name": name, "color": "#ff0000"})
	}
	milestone := w.call(t, "POST", below(w.open, "/milestones"), map[string]any{"title": "v1"})
	w.call(t, "POST", below(w.open, "/boards"), map[string]any{"name": "Board"})
	w.call(t, "POST", below(w.open, "/issues"), map[string]any{
		"title": "An open issue", "description": "@visitor @outsider see this", "labels": "bug", "milestone_id": milestone, "assignee_id": guest.ID,
	})
	w.note = w.call(t, "POST", below(w.open, "/issues/1/notes"), map[string]any{"body": "An open comment"})
	// What is said internally is not read by others, but moves the time of the last change.
	w.call(t, "POST", below(w.open, "/issues/1/notes"), map[string]any{"body": "Hidden internal note for @visitor", "internal": true})
	w.call(t, "POST", below(w.open, "/issues"), map[string]any{"title": "Open for a while", "description": "@visitor @outsider for #1", "labels": "bug"})
	w.call(t, "POST", below(w.open, "/issues/2/notes"), map[string]any{"body": "Said while it was open"})
	w.exec(t, `update users set state = 'blocked' where id = $1`, blocked.ID)
	for _, table := range []string{"issues", "notes", "award_emoji", "resource_events", "issue_links", "todos", "labels", "milestones", "snippets", "boards"} {
		w.exec(t, fmt.Sprintf(`select setval('%s_id_seq', %d)`, table, firstSecret))
	}
	return w
}

// call is one of the owner, who gets the id of what it made.
func (w *secrets) call(t *testing.T, method, path string, body any) string {
	t.Helper()
	answer := w.do(method, "/api/v4"+path, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", w.owner.secret) })
	if answer.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, answer.Code, answer.Body)
	}
	if method != http.MethodPost {
		return ""
	}
	var made struct{ ID any }
	decode(t, answer, &made)
	return fmt.Sprint(made.ID)
}

// hide makes what is not for the readers.
func (w *secrets) hide(t *testing.T) {
	all := "@owner @visitor @outsider @banished"
	w.call(t, "POST", below(w.open, "/issues"), map[string]any{
		"title": "Hidden title", "description": "Hidden description " + all + " for #1 and #2", "confidential": true, "labels": "bug,hidden label",
		"milestone_id": w.value(t, `select min(id) from milestones`), "assignee_id": w.value(t, `select id from users where username = 'owner'`),
		"due_date": "2030-01-01", "weight": 3,
	})
	w.call(t, "POST", below(w.open, "/issues/3/notes"), map[string]any{"body": "Hidden comment " + all + " #1\n/spend 1h"})
	w.call(t, "POST", below(w.open, "/issues/3/discussions"), map[string]any{"body": "Hidden comment in a discussion"})
	w.call(t, "POST", below(w.open, "/issues/3/award_emoji"), map[string]any{"name": "thumbsup"})
	w.do("POST", "/api/v4"+below(w.open, "/issues/3/links"), map[string]any{"target_project_id": w.open.ID, "target_issue_iid": 1}, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", w.owner.secret)
	})
	w.call(t, "PUT", below(w.open, "/issues/3"), map[string]any{"state_event": "close"})
	w.call(t, "PUT", below(w.open, "/issues/3"), map[string]any{"state_event": "reopen", "title": "Hidden title, changed"})
	w.call(t, "POST", below(w.hidden, "/issues"), map[string]any{"title": "Hidden issue elsewhere", "description": all + " house/open#1", "labels": "bug"})
	w.call(t, "POST", below(w.hidden, "/issues/1/notes"), map[string]any{"body": "Hidden comment elsewhere " + all + " house/open#1"})
	w.call(t, "POST", "/snippets", map[string]any{
		"title": "Hidden snippet", "visibility": "private", "files": []map[string]any{{"file_path": "a.txt", "content": "hidden"}},
	})
	w.call(t, "POST", below(w.hidden, "/repository/files/a"), map[string]any{"branch": "main", "content": "b", "commit_message": "Hidden commit for house/open#1"})
	pushes, err := postgres.Values[mention.CommitsArgs](t.Context(), w.DB, `select args from river_job where kind = 'mention_commits'`)
	if err != nil || len(pushes) != 1 {
		t.Fatal(pushes, err)
	}
	if err := w.Mentions.ReadCommits(t.Context(), pushes[0]); err != nil {
		t.Fatal(err)
	}
}

func (w *secrets) value(t *testing.T, sql string) int64 {
	t.Helper()
	v, err := postgres.Value[int64](t.Context(), w.DB, sql)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// questions are all that reads in the API and among the pages, about what is open and about what will be hidden, with every filter that
// a list has; and what writes about what will be hidden.
func (w *secrets) questions() []inquiry {
	var all []inquiry
	for _, e := range w.v4() {
		if strings.Contains(e.Path, "/archive") {
			continue // a few in a minute
		}
		for _, target := range w.fill(e.Path, "/projects/{id}", "/groups/{id}") {
			if e.Method == http.MethodGet {
				all = append(all, inquiry{"GET", "/api/v4" + target, nil})
			} else if strings.Contains(target, "/issues/3") || strings.Contains(target, fmt.Sprint(firstSecret)[:6]) || strings.Contains(target, fmt.Sprintf("projects/%d/", w.hidden.ID)) {
				all = append(all, inquiry{e.Method, "/api/v4" + target, map[string]any{"body": "x", "name": "thumbsup", "title": "x", "duration": "1h"}})
			}
		}
		if e.Method != http.MethodGet || !has(e, "per_page") {
			continue
		}
		targets := w.fill(e.Path, "/projects/{id}", "/groups/{id}")
		for _, p := range e.Params {
			if p.InPath {
				continue
			}
			for _, value := range filterValues(p.Name, p.Enum) {
				all = append(all, inquiry{"GET", "/api/v4" + targets[0] + "?scope=all&" + p.Name + "=" + url.QueryEscape(value), nil})
			}
		}
	}
	for _, text := range []string{"#1 #2 #3 house/open#3 house/hidden#1 house/hidden", "$7000001 %7000001 ~7000001", "https://forge.example/house/open/-/issues/3"} {
		all = append(all, inquiry{"POST", "/api/v4/markdown", map[string]any{"text": text, "gfm": true, "project": "house/open"}})
	}
	for _, route := range web.ProjectRoutes() {
		if path, ok := strings.CutPrefix(route, "GET "); ok && !strings.Contains(path, "...") {
			for _, target := range w.fill(strings.TrimSuffix(path, "/{$}")) {
				all = append(all, inquiry{"GET", "/house/open" + target, nil})
			}
		}
	}
	for _, route := range web.Routes() {
		if path, ok := strings.CutPrefix(route, "GET "); ok && (strings.HasPrefix(path, "/dashboard") || strings.HasPrefix(path, "/groups/{group...}")) {
			path = strings.TrimSuffix(strings.Replace(path, "{group...}", "house", 1), "/{$}")
			for _, target := range w.fill(path) {
				all = append(all, inquiry{"GET", target, nil})
			}
		}
	}
	return all
}

// filterValues are what a list is asked for by a filter: whatever a secret has that an open issue may not have.
func filterValues(name string, choices []string) []string {
	if len(choices) > 0 {
		return choices
	}
	known := map[string][]string{
		"search": {"Hidden", "Hidden comment", "Hidden snippet"}, "labels": {"bug", "hidden label", "Any", "None"}, "milestone": {"v1", "Any", "None"},
		"author_username": {"owner"}, "assignee_username": {"owner"}, "assignee_username[]": {"owner"}, "iids": {"3"}, "iids[]": {"3"}, "weight": {"3", "Any", "None"},
		"due_date": {"any", "month"}, "my_reaction_emoji": {"thumbsup", "Any", "None"}, "confidential": {"true", "false"}, "issue_type": {"issue"},
		"state": {"all", "opened", "closed"}, "in": {"title", "description"}, "page": {"2"}, "per_page": {"1", "100"},
		"with_labels_details": {"true"}, "with_counts": {"true"}, "statistics": {"true"}, "created_after": {"2020-01-01T00:00:00Z"},
	}
	return known[name]
}

var aboutIssues = regexp.MustCompile(`issues|milestones|labels|boards|todos|markdown`)

var placeholder = regexp.MustCompile(`\{[a-z_]+(\.\.\.|\$|:[a-z]+)?\}`)

// fill gives a path every mixture of what is open and what will be hidden. The owners among its parts are known.
func (w *secrets) fill(path string, owners ...string) []string {
	paths := []string{path}
	for _, owner := range owners {
		if strings.HasPrefix(path, owner) {
			kind := strings.TrimSuffix(owner, "{id}")
			ids := []int64{w.open.ID, w.hidden.ID}
			if kind == "/groups/" {
				ids = []int64{w.house.ID}
			}
			paths = nil
			for _, id := range ids {
				paths = append(paths, strings.Replace(path, owner, fmt.Sprint(kind, id), 1))
			}
		}
	}
	for {
		name := placeholder.FindString(paths[0])
		if name == "" {
			return paths
		}
		var longer []string
		for _, p := range paths {
			values := w.values(name, path)
			if strings.HasPrefix(p, fmt.Sprintf("/projects/%d/", w.hidden.ID)) {
				values = values[:1]
			}
			for _, value := range values {
				longer = append(longer, strings.Replace(p, name, value, 1))
			}
		}
		paths = longer
	}
}

func (w *secrets) values(name, path string) []string {
	secret := func(n int) string { return fmt.Sprint(firstSecret + n) }
	switch name = placeholderName(name); {
	case name == "issue_iid", name == "id" && (strings.HasPrefix(path, "/-/issues") || strings.HasPrefix(path, "/-/work_items")):
		return []string{"1", "2", "3"}
	case name == "note_id", name == "note":
		return []string{w.note, secret(1), secret(2), secret(3), secret(4), secret(5), secret(6)}
	case name == "sha", name == "ref", name == "branch":
		return []string{"main"}
	}
	return []string{"1", secret(1)}
}

func placeholderName(given string) string {
	name, _, _ := strings.Cut(strings.Trim(given, "{}"), ":")
	return strings.TrimSuffix(name, "...")
}

// volatile are parts of an answer that differ from one moment to the next.
var volatile = regexp.MustCompile(`name="authenticity_token" value="[^"]*"|(<time [^>]*>)[^<]*</time>|nonce-[A-Za-z0-9+/=_-]+|nonce="[^"]*"|"local_time":"[^"]*"|Request <code>[A-Z0-9]*</code>`)

func (w *secrets) askAll(questions []inquiry) map[string][]string {
	answers := map[string][]string{}
	for _, who := range slices.Sorted(maps.Keys(w.readers)) {
		answers[who] = w.asks(w.readers[who], questions)
	}
	return answers
}

func (w *secrets) asks(by reader, questions []inquiry) []string {
	answers := make([]string, len(questions))
	for n, q := range questions {
		answer := w.do(q.method, q.target, q.body, func(r *http.Request) {
			if q.page() {
				r.Host = "forge.example"
				for _, c := range by.browser.cookies {
					r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
				}
			} else if by.secret != "" {
				r.Header.Set("PRIVATE-TOKEN", by.secret)
			}
		})
		header := answer.Header().Clone()
		for _, name := range []string{"X-Request-Id", "Date", "Etag", "Content-Length", "Set-Cookie", "Ratelimit-Remaining", "Ratelimit-Observed", "Ratelimit-Reset", "Ratelimit-Resettime"} {
			header.Del(name)
		}
		answers[n] = volatile.ReplaceAllString(fmt.Sprint(answer.Code, header, answer.Body), "$1")
	}
	return answers
}
