package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// Rule is one checkable statement of the specification.
type Rule struct {
	ID        string
	Statement string // of the specification, paraphrased
	How       string // how it is tested
	Bulk      bool   // only selected with -bulk
	run       func(t *T)
}

// Area is a named table of rules.
type Area struct {
	Name  string
	Rules []Rule
}

// areaTable collects the rules of one area and numbers them in order.
type areaTable struct {
	prefix string
	n      int
	rules  []Rule
}

func (a *areaTable) add(statement, how string, run func(t *T)) {
	a.n++
	a.rules = append(a.rules, Rule{ID: fmt.Sprintf("%s-%02d", a.prefix, a.n), Statement: statement, How: how, run: run})
}

func (a *areaTable) addBulk(statement, how string, run func(t *T)) {
	a.add(statement, how, run)
	a.rules[len(a.rules)-1].Bulk = true
}

// failure is the panic value by which a check ends its rule.
type failure struct {
	Expected string
	Got      string
}

// Result is the outcome of one rule.
type Result struct {
	ID        string `json:"id"`
	Area      string `json:"area"`
	Statement string `json:"statement"`
	Passed    bool   `json:"passed"`
	Expected  string `json:"expected,omitempty"`
	Got       string `json:"got,omitempty"`
	Millis    int64  `json:"millis"`
}

// guard runs fn and turns a failed check, or any panic, into a failure.
func guard(fn func()) (f *failure) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			f = &p
		default:
			f = &failure{"no panic in the suite", fmt.Sprintf("panic: %v at %s", p, panicSite())}
		}
	}()
	fn()
	return nil
}

// panicSite names the first suite frame of the current panic.
func panicSite() string {
	for _, line := range strings.Split(string(debug.Stack()), "\n") {
		if i := strings.LastIndex(line, "/area_"); i >= 0 && strings.Contains(line, ".go:") {
			return strings.Fields(line[i+1:])[0]
		}
	}
	return "unknown place"
}

// runRule executes one rule; a spent time budget fails it without running.
func runRule(env *Env, area string, r Rule) Result {
	start := time.Now()
	res := Result{ID: r.ID, Area: area, Statement: r.Statement}
	var f *failure
	if err := env.client.ctx.Err(); err != nil {
		f = &failure{"time left in the run", "run time limit reached before this rule"}
	} else {
		f = guard(func() { r.run(&T{Env: env}) })
	}
	res.Millis = time.Since(start).Milliseconds()
	if f == nil {
		res.Passed = true
		return res
	}
	res.Expected, res.Got = shorten(f.Expected, 200), shorten(f.Got, 320)
	return res
}

// Report gathers results and prints them.
type Report struct {
	out     io.Writer
	verbose bool
	pending map[string]bool // rules that fail for now
	results []Result
	skipped []string
}

func (r *Report) runArea(env *Env, a Area, bulk bool) {
	passed, total, waiting := 0, 0, 0
	var lines []string
	for _, rule := range a.Rules {
		if rule.Bulk && !bulk {
			r.skipped = append(r.skipped, rule.ID)
			continue
		}
		res := runRule(env, a.Name, rule)
		r.results = append(r.results, res)
		total++
		switch {
		case res.Passed && r.pending[res.ID]:
			passed++
			lines = append(lines, fmt.Sprintf("  FAIL %s passes and is listed as pending: remove it from the list", res.ID))
		case !res.Passed && r.pending[res.ID]:
			waiting++
		case res.Passed:
			passed++
			if r.verbose {
				lines = append(lines, fmt.Sprintf("  ok   %s %s (%d ms)", res.ID, res.Statement, res.Millis))
			}
		default:
			lines = append(lines, fmt.Sprintf("  FAIL %s %s\n       expected: %s\n       got:      %s", res.ID, res.Statement, res.Expected, res.Got))
		}
	}
	_, _ = fmt.Fprintf(r.out, "%s %d/%d", a.Name, passed, total)
	if waiting > 0 {
		_, _ = fmt.Fprintf(r.out, ", %d pending", waiting)
	}
	_, _ = fmt.Fprintln(r.out)
	for _, l := range lines {
		_, _ = fmt.Fprintln(r.out, l)
	}
}

// finish prints the last lines and reports whether every rule did what it should: a pending one fail, any other pass.
func (r *Report) finish() bool {
	passed, expected := 0, 0
	for _, res := range r.results {
		if res.Passed {
			passed++
		}
		if res.Passed != r.pending[res.ID] {
			expected++
		}
	}
	for _, id := range r.skipped {
		_, _ = fmt.Fprintf(r.out, "not selected: %s (needs -bulk)\n", id)
	}
	_, _ = fmt.Fprintf(r.out, "TOTAL %d/%d\n", passed, len(r.results))
	return expected == len(r.results) && passed > 0
}

func (r *Report) writeJSON(path string) error {
	raw, err := json.MarshalIndent(r.results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// writeRules prints the rule list as Markdown.
func writeRules(w io.Writer, areas []Area) {
	total := 0
	for _, a := range areas {
		total += len(a.Rules)
	}
	_, _ = fmt.Fprintf(w, "# Conformance rules\n\nGenerated from the rule tables by `go run . -rules-md`; %d rules. Each row is one statement of the specification (paraphrased) and the way the suite tests it.\n", total)
	for _, a := range areas {
		_, _ = fmt.Fprintf(w, "\n## %s (%d)\n\n| Id | Statement | Test |\n|---|---|---|\n", a.Name, len(a.Rules))
		for _, r := range a.Rules {
			how := r.How
			if r.Bulk {
				how += " (only with `-bulk`)"
			}
			_, _ = fmt.Fprintf(w, "| %s | %s | %s |\n", r.ID, mdCell(r.Statement), mdCell(how))
		}
	}
	_, _ = fmt.Fprint(w, notTested, contracts)
}

func mdCell(s string) string {
	return strings.ReplaceAll(s, "|", "\\|")
}

// notTested closes rules.md with the statements no black-box rule covers.
const notTested = `
## Statements without a rule

| Statement | Why there is no rule |
|---|---|
| Archive rate limit of 5 per minute | stated for the hosted instance only; the suite rotates callers so that a server which enforces it still passes |
| 304 Not Modified, 422, 429, 500, 503 | no endpoint of the specification is tied to them |
| Maximum offset | value not shown |
| A diff may be empty when diff limits are reached | the limits are not shown |
| active, blocked, external support only true | what happens to other values is not shown |
| provider=scim; effect of skip_ldap and saml_provider_id; saml_provider_id in identities | need external directories |
| hard_delete removes contributions that would move to the ghost user | contributions are not readable through its endpoints (owned groups are tested) |
| Test alert by a Developer; field mapping from a sample payload | no endpoint shown |
| Session cookies cannot be generated through the API | a statement about absence |
| Refresh token usable after the access token expired; access token invalid after 7200 s | needs two hours of waiting; only the announced lifetime is checked |
| Limits of roles on jobs beyond Reporter (no) and Owner (yes) | the roles are not shown |
| Impersonation can be turned off by an instance setting | the setting's name and endpoint are not shown |
| Changelog limit of 15000 commits | too costly to build for a black-box run |
| Events removed after 3 years; token refresh of last_activity_on by git, pages, GraphQL | needs time travel or surfaces outside the specification (REST use is tested) |
| Alert severity, service, environment, runbook, counters, incidents as stored | no endpoint of the specification reads alerts; the suite checks acceptance, grouping and resolution through the intake answer |
| Group import file size setting | setting endpoint not shown; default (unlimited) is exercised by the import rules |
| Keyset pagination of package pipelines | package endpoints are not shown |
| Deprecated merge-request, licence, approval and geo items | their endpoints are not shown |
| Group export of milestones, boards, labels, badges, wikis on a server that has no such group routes | their endpoints are not in the specification; where POST /groups/:id/<kind> answers 201 the round trip is checked |
| Members after an import | who is mapped to whom is not shown; the archive must name the member |
| Storage moves between two storages | only when GET /application/settings names a second one in repository_storages_weighted; with one storage a move inside it must finish or be refused with a reason |
| Repository read-only while a storage move runs | the window cannot be held open from outside |
| failure_reason stuck_or_timeout_failure | needs a job to stay untouched for hours |
`

// contracts closes rules.md with what the suite needs beyond the specification.
const contracts = `
## Contracts beyond the specification

The suite builds its fixtures only over HTTP. These surfaces are not in the specification (or only named there); the server must offer them in this shape for the rules that use them to be measurable.

| Surface | Shape used by the suite | Used by |
|---|---|---|
| -base | equals the server's own external URL (scheme, host, port); links in answers are moved onto it, but web cookies and redirects are not | all |
| -admin-token | personal token of an administrator with scope api; the suite mints further tokens (api, sudo, create_runner, ...) through POST /users/:id/personal_access_tokens (201) | all |
| POST /users | 201 with id; password plus skip_confirmation=true gives an account that can sign in at once | all |
| POST /groups, PUT /groups/:id, GET /groups/:id (id or encoded path), GET /groups/:id/subgroups | name, path, visibility, parent_id; answer id, name, path, full_path, visibility, parent_id; users may create groups | most |
| POST /projects, PUT /projects/:id (path), GET /projects/:id | name, namespace_id, initialize_with_readme, visibility; answer id, name, path_with_namespace, default_branch, http_url_to_repo; repository_storage for administrators | most |
| POST /projects/:id/members, POST /groups/:id/members | user_id, access_level (10..50); 201 | most |
| POST /projects/:id/repository/commits | branch, commit_message, author_name, author_email, actions[] {action create/update/delete/move, file_path, previous_path, content, encoding text/base64}; 201 with id | jobs, repository, events |
| POST and GET /projects/:id/repository/branches[/:branch], tags[/:tag]; GET files/:path?ref= | branch and ref; tag_name and ref; 201 | repository, pagination, events (push_data of a new branch and tag) |
| .svc-ci.yml | stages, stage, script, tags, when: manual, allow_failure, artifacts (paths, expire_in), resource_group, trigger: project; commits with [skip ci] in the message start no pipeline (tolerated if they do) | jobs |
| POST /projects/:id/pipeline | ref (branch or tag), variables[] {key, value}; 201 with id | jobs, pagination |
| Runner protocol | POST /jobs/request (token, system_id, info; 201 job with id, token, job_info.name, variables[] with CI_JOB_TOKEN; 204 none; asked only while a job that fits is listed as pending, because a server may hold the request of an idle runner), PATCH /jobs/:id/trace (JOB-TOKEN, Content-Range first-last; 202), POST /jobs/:id/artifacts (JOB-TOKEN, multipart file, artifact_type, artifact_format, expire_in; 201), PUT /jobs/:id (token, state, failure_reason; 200, 202 = repeat) | jobs, auth |
| Job actions | cancel, retry, erase answer 200 or 201 | jobs |
| GET, PUT /runners/:id; GET /runners, /runners/all, /projects/:id/runners, /groups/:id/runners | filter paused; runner record with description, active, paused, status, ip_address, locked, run_untagged, tag_list, access_level, maximum_timeout, maintenance_note; no token | errors_limits, users |
| POST /applications (administrator) | name, redirect_uri, scopes (space-separated), confidential; 201 with application_id and secret | oauth, auth |
| Web pages | GET /users/sign_in holds a form with one text and one password input; success sets _svc_session and no longer shows a single-password form; /oauth/authorize shows a POST form whose button reads Authorize, Approve, Allow or Accept; a forced password change shows a form with two or more password inputs after sign-in or at / | oauth, auth, users |
| POST /users/:id/impersonation_tokens, POST /projects/:id/access_tokens, POST /groups/:id/access_tokens, POST /projects/:id/deploy_tokens | name, scopes[], expires_at, access_level; 201 with token (deploy tokens also username); bot usernames begin with project_<id>_bot | auth, users |
| GET, DELETE /personal_access_tokens/:id; GET /personal_access_tokens | token record without the secret; DELETE revokes (204) and the record stays | users, auth, pagination |
| GET /groups/:id/members, GET /projects/:id/repository/branches, tags | lists by offset | pagination |
| DELETE /projects/:id | 202 or 204 | errors_limits |
| Two-factor page | /-/user_settings/two_factor: a form with a password input and an action ending in /begin; then an element of id or class secret with the Base32 secret, and a form with one text input and an action ending in /confirm that takes the six-digit code | users |
| POST /users/:id/block, /users/:id/emails; PUT /users/:id/custom_attributes/:key | block: 2xx; emails: email, skip_confirmation, 201; attribute: value, 2xx, read as custom_attributes [{key, value}] | users, notifications |
| POST and GET /projects/:id/alert_management_integrations | name, type http or prometheus, active; 201 with id, url, token; the list shows url and token again; Maintainer role | alerts |
| POST /projects/:id/issues, POST .../issues/:iid/notes, PUT .../issues/:iid | title (201 with iid); body; state_event=close | events (opened, closed, commented on, note, target_type=issue) |
| POST and GET /projects/:id/repository_storage_moves[/:move_id], GET /project_repository_storage_moves | destination_storage_name; record with id and state; 400 for an unknown storage; a move inside one storage finishes, or 400, 409 or 422 with message or error | storage_moves |
| GET /application/settings | repository_storages_weighted, when there is more than one storage | storage_moves |
| POST and GET /groups/:id/milestones, labels, boards, badges, wikis | title; name and color; name; name, link_url and image_url; title and content; 201, or 403, 404, 405 where the server has none | group_export |
| Group export | a gzip tar; limits per user (and group) are allowed: exports come from several owners, each downloads a group once | group_export |
| Changelog configuration | categories: mapping of trailer value to title; section heading "## <version>", date as YYYY-MM-DD | repository |
| Audit events are written for | member added (Group, Project), group renamed (Group), user created (User), instance variable created (Svc::Audit::InstanceScope) | audit, pagination |
| Git over HTTP | GET <http_url_to_repo>/info/refs?service= with Basic credentials | auth |
| Conflicts and missing values | POST /users with a taken username or email 409; missing required or unsupported values 400; a 256 KiB query string 414; PUT /events 405; DELETE /users/:id honours If-Unmodified-Since | errors_limits |
| Premium and ultimate parts | included (allowed_agents, auditor, minutes limits, audit events, group storage moves, new_epic, several alert endpoints): a server without those tiers fails these rules | users, jobs, audit, alerts, notifications |
`
