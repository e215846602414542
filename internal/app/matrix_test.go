package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// The second table of docs/api/permissions.md is what the handlers do: every
// endpoint in a group or project, for every standing, each in a place of its
// own. What the table refuses is refused, if need be in the words that the
// endpoint announces; what it allows may still miss its parameters or what the
// rest of the path names.
func TestTheMatrixOfRolesIsWhatTheHandlersDo(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	people := map[string]*user.User{}
	for _, s := range httpapi.Standings {
		if s.Known {
			var options []usertest.Option
			if s.Admin {
				options = append(options, usertest.Admin())
			}
			people[s.Name] = usertest.New(t, i.DB, options...)
		}
	}
	rows := matrix(t, httpapi.Permissions(i.Endpoints()))
	for _, e := range i.Endpoints() {
		if !e.InOwner() {
			continue
		}
		row, listed := rows[e.Method+" "+e.Shown()]
		if !listed {
			t.Errorf("%s is not in the table", e.Route)
			continue
		}
		for column, s := range httpapi.Standings {
			g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
			p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
			person := people[s.Name]
			if s.Role > access.NoRole {
				grouptest.Join(t, i.DB, g, person, s.Role)
			}
			w := i.do(e.Method, i.below(e, g, p), nil, func(r *http.Request) {
				if person != nil {
					by(e, i.token(t, person, access.ScopeAPI))(r)
				}
			})
			announced := e.ExtraRefusals != "" && w.Code >= 400
			if refused := refusal(w); refused != (row[column] != "yes") && !announced {
				t.Errorf("%s for %s: %d %s, the table says %s", e.Route, s.Name, w.Code, w.Body, row[column])
			}
			if w.Code >= 500 {
				t.Errorf("%s for %s: %d %s", e.Route, s.Name, w.Code, w.Body)
			}
		}
	}
}

func refusal(w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
}

// matrix reads the table of roles: the verdicts by endpoint.
func matrix(t *testing.T, document string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.SplitSeq(document, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) == 2+len(httpapi.Standings) && strings.HasPrefix(cells[0], "`") {
			rows[strings.Trim(cells[0], "`")] = cells[2:]
		}
	}
	if len(rows) < 20 {
		t.Fatalf("the table has %s rows", strconv.Itoa(len(rows)))
	}
	return rows
}

// PE-01: a tenant's child under another tenant's parent is not there, on every
// route that has both.
func TestPE01_NoChildIsFoundUnderAnotherParent(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	// No id of one kind is one of another.
	if _, err := i.DB.Exec(t.Context(), `select setval('namespaces_id_seq', 1000000), setval('projects_id_seq', 2000000),
		setval('personal_access_tokens_id_seq', 3000000), setval('deploy_tokens_id_seq', 4000000), setval('pipelines_id_seq', 5000000),
		setval('jobs_id_seq', 6000000), setval('pipeline_schedules_id_seq', 7000000), setval('trigger_tokens_id_seq', 8000000),
		setval('deploy_keys_id_seq', 9000000), setval('runners_id_seq', 10000000)`); err != nil {
		t.Fatal(err)
	}
	ann, eve := i.ann, usertest.New(t, i.DB, usertest.Named("eve"))
	mine, theirs := grouptest.New(t, i.DB), grouptest.New(t, i.DB)
	grouptest.Join(t, i.DB, mine, ann, access.Owner)
	grouptest.Join(t, i.DB, theirs, eve, access.Owner)
	own, foreign := projecttest.New(t, i.DB, mine.ID), projecttest.New(t, i.DB, theirs.ID)

	// One of each kind of child, in the other tenant's places.
	as := func(u *user.User) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, u, access.ScopeAPI)) }
	}
	made := func(target string, body any) int64 {
		t.Helper()
		w := i.do("POST", "/api/v4"+target, body, as(eve))
		id := struct{ ID int64 }{}
		if decode(t, w, &id); id.ID == 0 {
			t.Fatalf("%s: %d %s", target, w.Code, w.Body)
		}
		return id.ID
	}
	ci := repositorytest.Files{".svc-ci.yml": "job: {script: x}\n"}
	repositorytest.New(t, i.DB, i.Store, foreign, ci)
	repositorytest.New(t, i.DB, i.Store, own, ci)
	member := usertest.New(t, i.DB)
	grouptest.Join(t, i.DB, theirs, member, access.Developer)
	projecttest.Join(t, i.DB, foreign, member, access.Developer)
	token := map[string]any{"name": "t", "scopes": []string{"read_api"}}
	deploy := map[string]any{"name": "d", "scopes": []string{"read_repository"}}
	groups, projects := "/groups/"+strconv.FormatInt(theirs.ID, 10), "/projects/"+strconv.FormatInt(foreign.ID, 10)
	children := map[string]int64{
		"group token":    made(groups+"/access_tokens", token),
		"project token":  made(projects+"/access_tokens", token),
		"group deploy":   made(groups+"/deploy_tokens", deploy),
		"project deploy": made(projects+"/deploy_tokens", deploy),
		"pipeline":       made(projects+"/pipeline", map[string]any{"ref": "main"}),
		"schedule":       made(projects+"/pipeline_schedules", map[string]any{"ref": "main", "description": "s", "cron": "0 1 * * *"}),
		"trigger":        made(projects+"/triggers", map[string]any{"description": "t"}),
		"deploy key":     made(projects+"/deploy_keys", map[string]any{"title": "k", "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"}),
		"runner":         made("/user/runners", map[string]any{"runner_type": "project_type", "project_id": foreign.ID}),
		"member":         member.ID,
		"group":          theirs.ID,
		"project":        foreign.ID,
	}
	job, err := postgres.Value[int64](t.Context(), i.DB, `select id from jobs where pipeline_id = $1`, children["pipeline"])
	if err != nil {
		t.Fatal(err)
	}
	children["job"] = job
	for _, e := range i.v4() {
		if !e.InOwner() || strings.Count(e.Path, "{") < 2 {
			continue
		}
		for kind, id := range children {
			target := strings.Replace(e.Path, "/groups/{id}", "/groups/"+strconv.FormatInt(mine.ID, 10), 1)
			target = strings.Replace(target, "/projects/{id}", "/projects/"+strconv.FormatInt(own.ID, 10), 1)
			for _, p := range e.Params {
				if p.InPath {
					target = strings.Replace(target, "{"+p.Name+"}", strconv.FormatInt(id, 10), 1)
				}
			}
			body := map[string]any{"access_level": 10, "value": "x", "email": "x@example.com"}
			w := i.do(e.Method, "/api/v4"+target, body, as(ann))
			if w.Code < 300 {
				t.Errorf("%s reaches a %s of another tenant: %d %s", e.Route, kind, w.Code, w.Body)
			}
		}
	}
}

// ownActs are abilities that those hold who see a place, although they write:
// what they write is the caller's own.
var ownActs = map[access.Ability]bool{
	access.StarProject: true, access.ForkProject: true, access.AskToJoinProject: true, access.LeaveProject: true,
	access.AskToJoinGroup: true, access.LeaveGroup: true, access.CommentCode: true, access.UploadFiles: true, access.SubscribeInGroup: true, access.SubscribeInProject: true,
	access.CreateIssues: true, access.EditIssues: true, access.SubscribeToIssues: true, access.CreateNotes: true, access.EditNotes: true,
	access.AwardEmoji: true, access.MarkIssues: true, access.EditSnippets: true, access.EditCodeNotes: true, access.CommentSnippets: true,
	access.EditSnippetNotes: true, access.AwardSnippets: true,
}

// PE-02: what writes asks for an ability to write, and for a token that may.
func TestPE02_NothingIsWrittenWithARightToRead(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	g := grouptest.New(t, i.DB)
	grouptest.Join(t, i.DB, g, i.ann, access.Owner)
	p := projecttest.New(t, i.DB, g.ID)
	secret := i.token(t, i.ann, access.ScopeReadAPI)
	for _, e := range i.v4() {
		if e.Method == http.MethodGet || e.Method == http.MethodHead {
			continue
		}
		rule, _ := access.RuleOf(e.Needs)
		if (rule.Read || rule.PublicToo) && !ownActs[e.Needs] {
			t.Errorf("%s writes with %s, which reads", e.Route, e.Needs)
		}
		if rule.From == access.Anonymous && rule.Role == access.NoRole && e.Needs != access.BySecret {
			t.Errorf("%s writes for anyone", e.Route)
		}
		if e.AnyScope {
			continue
		}
		w := i.do(e.Method, i.below(e, g, p), nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "insufficient_scope") {
			t.Errorf("%s with a token that reads: %d %s", e.Route, w.Code, w.Body)
		}
	}
}

// PE-07: a feature that is off is off on every route about it, and one for
// members is for members.
func TestPE07_AFeatureIsClosedOnEveryRouteAboutIt(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	people := map[string]*user.User{"owner": i.ann, "administrator": usertest.New(t, i.DB, usertest.Admin()), "stranger": usertest.New(t, i.DB)}
	features := []access.Feature{access.Code, access.Pipelines, access.Jobs, access.Planning, access.Issues, access.Wiki, access.Snippets}
	routes := map[access.Feature]int{}
	for _, level := range []project.Level{project.Everyone, project.Members, project.Off} {
		g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
		p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
		projecttest.Join(t, i.DB, p, i.ann, access.Owner)
		if _, err := i.DB.Exec(t.Context(), `update projects set features = jsonb_build_object('repository', $2::text, 'builds', $2::text, 'issues', $2::text, 'merge_requests', $2::text,
			'wiki', $2::text, 'snippets', $2::text) where id = $1`, p.ID, level); err != nil {
			t.Fatal(err)
		}
		for who, person := range people {
			secret := i.token(t, person, access.ScopeAPI)
			for _, e := range i.Endpoints() {
				rule, _ := access.RuleOf(e.Needs)
				if !slices.Contains(features, rule.Of) {
					continue
				}
				routes[rule.Of]++
				open := level != project.Off && (who != "stranger" || (level == project.Everyone && rule.PublicToo))
				w := i.do(e.Method, i.below(e, g, p), nil, by(e, secret))
				// Who may not copy a project is told that there is none.
				if refused := refusal(w) || (e.Needs == access.ForkProject && strings.Contains(w.Body.String(), "404 Not Found")); refused == open {
					t.Errorf("%s of a project whose features are %s, for the %s: %d %s", e.Route, level, who, w.Code, w.Body)
				}
			}
		}
	}
	for _, feature := range features {
		if routes[feature] < 2 {
			t.Errorf("%d routes are about %s", routes[feature], feature)
		}
	}
}

// PE-13: what one person may do is never the answer for another, nor for
// another place, whoever asks at the same moment.
func TestPE13_RightsAreNobodyElses(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	type tenant struct {
		secret string
		path   string
	}
	tenants := make([]tenant, 4)
	for n := range tenants {
		u, g := usertest.New(t, i.DB), grouptest.New(t, i.DB)
		grouptest.Join(t, i.DB, g, u, access.Owner)
		tenants[n] = tenant{i.token(t, u, access.ScopeAPI), "/api/v4/projects/" + strconv.FormatInt(projecttest.New(t, i.DB, g.ID).ID, 10)}
	}
	var wg sync.WaitGroup
	for me, caller := range tenants {
		wg.Go(func() {
			for round := range 40 {
				for it, other := range tenants {
					method, body := http.MethodGet, any(nil)
					if round%4 == 0 {
						method, body = http.MethodPut, map[string]any{"description": "mine"}
					}
					want := http.StatusNotFound
					if me == it {
						want = http.StatusOK
					}
					if w := i.do(method, other.path, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", caller.secret) }); w.Code != want {
						t.Errorf("%d asks for the project of %d: %d %s", me, it, w.Code, w.Body)
					}
				}
			}
		})
	}
	wg.Wait()
}
