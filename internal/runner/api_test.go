package runner_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
)

const (
	insufficient = `{"message":"403 Forbidden - Insufficient permissions"}`
	noAccess     = `{"message":"403 Forbidden - No access granted"}`
	forbidden    = `{"message":"403 Forbidden"}`
)

func TestARunnerIsCreatedByThoseWhoMayAndItsTokenShownOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, got := range []made{w.ofInstance(t), w.ofGroup(t), w.ofProject(t)} {
		if !regexp.MustCompile(`^glrt-[A-Za-z0-9_-]{20}$`).MatchString(got.Token) || got.TokenExpiresAt != nil {
			t.Errorf("got %+v", got)
		}
	}
	if got := w.taken(); len(got) != 3 || got[0].Type != "ci_runner_created" || got[1].Entity.ID != w.group.ID || got[2].Entity.ID != w.project.ID {
		t.Errorf("the trail says %+v", got)
	}
	instance := map[string]any{"runner_type": "instance_type"}
	inGroup := map[string]any{"runner_type": "group_type", "group_id": w.group.ID}
	inProject := map[string]any{"runner_type": "project_type", "project_id": w.project.ID}
	for _, c := range []struct {
		by   *user.User
		body map[string]any
	}{
		{w.owner, instance}, {w.maintainer, inGroup}, {w.stranger, inGroup}, {w.maintainer, inProject}, {w.stranger, inProject}, {w.friend, inProject},
		{w.owner, map[string]any{"runner_type": "group_type", "group_id": 999999}},
		{w.owner, map[string]any{"runner_type": "project_type", "project_id": 999999}},
	} {
		w.as(t, c.by).Do(t, "POST", "/user/runners", c.body).Want(t, 403, insufficient)
	}
	w.Do(t, "POST", "/user/runners", instance).WantStatus(t, 401)
	root := w.as(t, w.root)
	for body, want := range map[string]string{
		`{}`:                             `{"error":"runner_type is missing"}`,
		`{"runner_type":"x"}`:            `{"error":"runner_type does not have a valid value"}`,
		`{"runner_type":"group_type"}`:   `{"error":"group_id is missing"}`,
		`{"runner_type":"project_type"}`: `{"error":"project_id is missing"}`,
		`{"runner_type":"instance_type","access_level":"x"}`:                                     `{"error":"access_level does not have a valid value"}`,
		`{"runner_type":"instance_type","maximum_timeout":599}`:                                  `{"message":"400 Bad request - Maximum timeout needs to be at least 10 minutes"}`,
		`{"runner_type":"instance_type","run_untagged":false}`:                                   `{"message":"400 Bad request - Tags list can not be empty when runner is not allowed to pick untagged jobs"}`,
		`{"runner_type":"instance_type","maintenance_note":"` + strings.Repeat("x", 1025) + `"}`: `{"message":"400 Bad request - Maintenance note is too long (maximum is 1024 characters)"}`,
	} {
		root.Do(t, "POST", "/user/runners", body).Want(t, 400, want)
	}
	// A token for nothing else will do; one that reads will not.
	only := w.With("Private-Token", tokentest.New(t, w.db, w.box, w.root.ID, access.ScopeCreateRunner))
	only.Do(t, "POST", "/user/runners", instance).WantStatus(t, 201)
	only.Do(t, "GET", "/runners/all", nil).WantStatus(t, 403)
	w.With("Private-Token", tokentest.New(t, w.db, w.box, w.root.ID, access.ScopeReadAPI)).
		Do(t, "POST", "/user/runners", instance).WantStatus(t, 403)
}

func TestWhatARunnerIsGiven(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	got := w.create(t, w.chief, map[string]any{
		"runner_type": "project_type", "project_id": w.project.ID, "description": "box", "paused": true, "locked": true, "run_untagged": false,
		"tag_list": []string{" docker", "docker", "linux "}, "access_level": "ref_protected", "maximum_timeout": 3600, "maintenance_note": "in the cellar",
	})
	w.as(t, w.chief).Do(t, "GET", "/runners/"+id(got.ID), nil).Want(t, 200, `{"id":`+id(got.ID)+`,"description":"box","ip_address":"","active":false,"paused":true,`+
		`"is_shared":false,"runner_type":"project_type","name":null,"online":false,"status":"paused","tag_list":["docker","linux"],"run_untagged":false,`+
		`"locked":true,"maximum_timeout":3600,"access_level":"ref_protected","version":null,"revision":null,"platform":null,"architecture":null,`+
		`"contacted_at":null,"maintenance_note":"in the cellar","projects":[{"id":`+id(w.project.ID)+`,"name":"tool","name_with_namespace":"team / tool",`+
		`"path":"tool","path_with_namespace":"team/tool","created_at":"`+w.project.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z")+`"}],"groups":[]}`)
}

func TestARunnerRegistersWithTheTokenOfAPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Do(t, "POST", "/runners", `{"token":"wrong"}`).Want(t, 403, `{"message":"403 Forbidden - invalid token supplied"}`)
	w.Do(t, "POST", "/runners", `{}`).Want(t, 400, `{"error":"token is missing"}`)
	type reset struct {
		Token string `json:"token"`
	}
	var tokens []string
	for _, c := range []struct {
		by   *user.User
		path string
		kind runner.Type
	}{
		{w.root, "/runners", runner.Instance}, {w.owner, "/groups/" + id(w.group.ID) + "/runners", runner.Group},
		{w.maintainer, "/projects/" + id(w.project.ID) + "/runners", runner.Project},
	} {
		path := c.path + "/reset_registration_token"
		w.as(t, w.stranger).Do(t, "POST", path, nil)
		token := httpapitest.JSON[reset](t, w.as(t, c.by).Do(t, "POST", path, nil).WantStatus(t, 201)).Token
		got := httpapitest.JSON[made](t, w.Do(t, "POST", "/runners", map[string]any{
			"token": token, "description": "self", "tag_list": "a, b", "active": false, "maintainer_note": "old name",
			"info": map[string]any{"name": "runner-program", "version": "1"},
		}).WantStatus(t, 201))
		r, err := w.runners.Find(t.Context(), got.ID)
		if err != nil || r.Type != c.kind || !r.Registered || !r.Paused || !slices.Equal(r.Tags, []string{"a", "b"}) || r.MaintenanceNote != "old name" ||
			r.Name != "runner-program" || strings.HasPrefix(got.Token, "glrt-") {
			t.Errorf("got %+v, %v", r, err)
		}
		w.Do(t, "POST", "/runners", map[string]any{"token": token, "active": true, "paused": true}).
			Want(t, 400, `{"error":"active, paused are mutually exclusive"}`)
		w.Do(t, "POST", "/runners", map[string]any{"token": token, "run_untagged": false}).
			Want(t, 400, `{"message":{"tags_list":["can not be empty when runner is not allowed to pick untagged jobs"]}}`)
		again := httpapitest.JSON[reset](t, w.as(t, c.by).Do(t, "POST", path, nil).WantStatus(t, 201)).Token
		w.Do(t, "POST", "/runners", map[string]any{"token": token}).WantStatus(t, 403)
		tokens = append(tokens, again)
	}
	w.set(t, func(s *setting.Settings) { s.AllowRunnerRegistrationToken = false })
	w.Do(t, "POST", "/runners", map[string]any{"token": tokens[0]}).Want(t, 410, `{"message":"410 Gone - runner registration disallowed"}`)
}

func TestRegistrationTokensReplacedAtTheSameTimeLeaveOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range []bus.Entity{bus.Instance(), w.group.Entity(), w.project.Entity()} {
		for range 2 { // the first token of a place, and one in the place of another
			tokens := make([]string, 8)
			var all sync.WaitGroup
			for i := range tokens {
				all.Go(func() {
					token, err := w.runners.ResetRegistration(t.Context(), access.Actor{}, of)
					if err != nil {
						t.Error(err)
					}
					tokens[i] = token.Reveal()
				})
			}
			all.Wait()
			working := 0
			for _, token := range tokens {
				if got := w.Do(t, "POST", "/runners", map[string]any{"token": token}); got.Status == 201 {
					working++
				} else {
					got.WantStatus(t, 403)
				}
			}
			if working != 1 {
				t.Errorf("%d tokens of %v work", working, of)
			}
		}
	}
}

func TestWhoReplacesARegistrationTokenLastHasTheOneThatWorks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tx, err := w.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	// Somebody else is about to make the first token of the project.
	if _, err := tx.Exec(t.Context(), `insert into runner_registration_tokens (project_id, digest, created_at) values ($1, $2, now())`, w.project.ID, make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	token := make(chan string, 1)
	go func() {
		secret, err := w.runners.ResetRegistration(t.Context(), access.Actor{}, w.project.Entity())
		if err != nil {
			t.Error(err)
		}
		token <- secret.Reveal()
	}()
	for waits := false; !waits; {
		waits, err = postgres.Value[bool](t.Context(), w.db, `select exists (select 1 from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query like '%runner_registration_tokens%')`)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Do(t, "POST", "/runners", map[string]any{"token": <-token}).WantStatus(t, 201)
}

func TestTheLifeOfARunnerAsTheRunnerSeesIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := w.ofInstance(t)
	verify := map[string]any{"token": r.Token, "system_id": "s_1", "info": map[string]any{"version": "17.1", "platform": "linux"}}
	for range 2 {
		w.Do(t, "POST", "/runners/verify", verify).Want(t, 200, `{"id":`+id(r.ID)+`,"token":"`+r.Token+`","token_expires_at":null}`)
	}
	w.Do(t, "POST", "/runners/verify", `{"token":"glrt-wrong"}`).Want(t, 403, forbidden)
	w.Do(t, "DELETE", "/runners/managers", map[string]any{"token": r.Token}).Want(t, 400, `{"error":"system_id is missing"}`)
	w.Do(t, "DELETE", "/runners/managers", map[string]any{"token": r.Token, "system_id": "s_2"}).Want(t, 404, `{"message":"404 Not found"}`)
	w.Do(t, "DELETE", "/runners/managers", map[string]any{"token": "wrong", "system_id": "s_1"}).Want(t, 403, forbidden)
	w.Do(t, "DELETE", "/runners/managers", map[string]any{"token": r.Token, "system_id": "s_1"}).WantStatus(t, 204)

	next := httpapitest.JSON[made](t, w.Do(t, "POST", "/runners/reset_authentication_token", map[string]any{"token": r.Token}).WantStatus(t, 201))
	w.Do(t, "POST", "/runners/verify", map[string]any{"token": r.Token}).Want(t, 403, forbidden)
	third := httpapitest.JSON[made](t, w.as(t, w.root).Do(t, "POST", "/runners/"+id(r.ID)+"/reset_authentication_token", nil).WantStatus(t, 201))
	w.Do(t, "POST", "/runners/verify", map[string]any{"token": next.Token}).Want(t, 403, forbidden)
	w.Do(t, "DELETE", "/runners", map[string]any{"token": third.Token}).WantStatus(t, 204)
	w.Do(t, "DELETE", "/runners", map[string]any{"token": third.Token}).Want(t, 403, forbidden)
}

func TestATokenOfARunnerExpires(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	seconds := 7200
	w.set(t, func(s *setting.Settings) { s.GroupRunnerTokenExpirationInterval = &seconds })
	r := w.ofGroup(t)
	if r.TokenExpiresAt == nil || *r.TokenExpiresAt != "2024-05-02T17:04:05.678Z" {
		t.Errorf("got %+v", r)
	}
	if _, _, err := w.runners.Authenticate(t.Context(), r.Token, "", runner.Info{}); err != nil {
		t.Error(err)
	}
	w.now = w.now.Add(2 * time.Hour)
	if _, _, err := w.runners.Authenticate(t.Context(), r.Token, "", runner.Info{}); !fault.Is(err, fault.Forbidden) {
		t.Error(err)
	}
}

func TestAContactIsWrittenDownLaterAndSeldom(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := w.ofInstance(t)
	contacted := func() time.Time {
		t.Helper()
		if err := w.runners.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := w.runners.Find(t.Context(), made.ID)
		if err != nil || r.ContactedAt == nil {
			t.Fatal(r, err)
		}
		return r.ContactedAt.UTC()
	}
	call := func(info runner.Info) runner.Manager {
		t.Helper()
		_, m, err := w.runners.Authenticate(t.Context(), made.Token, "s_1", info)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	start := w.now
	first := call(runner.Info{Version: "1", Name: "program", Address: "192.0.2.1"})
	if got := contacted(); !got.Equal(start.Truncate(time.Microsecond)) {
		t.Errorf("seen at %v", got)
	}
	w.now = start.Add(time.Minute)
	if again := call(runner.Info{}); again.ID != first.ID || again.Version != "1" || again.Address != "192.0.2.1" {
		t.Errorf("%+v is not %+v", again, first)
	}
	if got := contacted(); !got.Equal(start.Truncate(time.Microsecond)) {
		t.Errorf("written again at %v", got)
	}
	call(runner.Info{Version: "2"})
	if got := contacted(); !got.Equal(w.now.Truncate(time.Microsecond)) {
		t.Errorf("news were written at %v", got)
	}
	w.now = start.Add(time.Hour)
	call(runner.Info{Executor: strings.Repeat("x", 1000) + "\n"})
	if got := contacted(); !got.Equal(w.now.Truncate(time.Microsecond)) {
		t.Errorf("the hour was written at %v", got)
	}
	if _, m, err := w.runners.Authenticate(t.Context(), made.Token, "", runner.Info{}); err != nil || m.SystemID != "<legacy>" || m.ID == first.ID {
		t.Errorf("%+v, %v", m, err)
	}
	w.now = start.Add(30 * 24 * time.Hour)
	if err := w.runners.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := postgres.Value[int](t.Context(), w.db, "select count(*) from runner_managers"); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func listed(t testing.TB, r *httpapitest.Reply) (ids []int64) {
	t.Helper()
	for _, m := range httpapitest.JSON[[]made](t, r.WantStatus(t, 200)) {
		if m.Token != "" {
			t.Errorf("a list shows the token of %d", m.ID)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func TestWhoSeesWhichRunners(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i, g, p := w.ofInstance(t), w.ofGroup(t), w.ofProject(t)
	inProject, inGroup := "/projects/"+id(w.project.ID)+"/runners", "/groups/"+id(w.group.ID)+"/runners"
	for _, c := range []struct {
		by   *user.User
		path string
		want []int64
	}{
		{w.root, "/runners/all", []int64{i.ID, g.ID, p.ID}},
		{w.owner, "/runners", []int64{g.ID, p.ID}},
		{w.maintainer, "/runners", []int64{p.ID}},
		{w.friend, "/runners", nil},
		{w.stranger, "/runners", nil},
		{w.maintainer, inProject, []int64{i.ID, g.ID, p.ID}},
		{w.friend, "/projects/" + id(w.other.ID) + "/runners", []int64{i.ID, g.ID}},
		{w.owner, inGroup, []int64{i.ID, g.ID}},
		{w.root, "/runners/all?type=group_type", []int64{g.ID}},
		{w.root, "/runners/all?status=never_contacted&per_page=2", []int64{i.ID, g.ID}},
		{w.root, "/runners/all?status=online", nil},
		{w.root, "/runners/all?scope=specific", []int64{p.ID}},
		{w.root, "/runners/all?paused=true", nil},
		{w.root, "/runners/all?tag_list=none", nil},
	} {
		if got := listed(t, w.as(t, c.by).Do(t, "GET", c.path, nil)); !slices.Equal(got, c.want) {
			t.Errorf("%s sees %v at %s, want %v", c.by.Username, got, c.path, c.want)
		}
	}
	w.as(t, w.maintainer).Do(t, "GET", "/runners/all", nil).WantStatus(t, 403)
	w.as(t, w.maintainer).Do(t, "GET", inGroup, nil).WantStatus(t, 403)
	w.as(t, w.friend).Do(t, "GET", inProject, nil).WantStatus(t, 404)
	w.as(t, w.root).Do(t, "GET", "/runners/all?scope=x", nil).Want(t, 400, `{"message":"Scope contains invalid value"}`)
	w.Do(t, "GET", "/runners", nil).WantStatus(t, 401)

	w.as(t, w.stranger).Do(t, "GET", "/runners/"+id(i.ID), nil).WantStatus(t, 200)
	for _, m := range []made{g, p} {
		w.as(t, w.stranger).Do(t, "GET", "/runners/"+id(m.ID), nil).Want(t, 403, noAccess)
	}
	w.as(t, w.root).Do(t, "GET", "/runners/999", nil).Want(t, 404, `{"message":"404 Not found"}`)
}

func TestARunnerIsChangedByThoseWhoManageIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i, g, p := w.ofInstance(t), w.ofGroup(t), w.ofProject(t)
	for _, c := range []struct {
		by *user.User
		of made
		ok bool
	}{
		{w.root, i, true}, {w.owner, i, false}, {w.stranger, i, false}, {w.owner, g, true}, {w.maintainer, g, false}, {w.chief, g, false},
		{w.maintainer, p, true}, {w.owner, p, true}, {w.friend, p, false},
	} {
		for _, call := range [][2]string{{"PUT", "/runners/" + id(c.of.ID)}, {"POST", "/runners/" + id(c.of.ID) + "/reset_authentication_token"}} {
			r := w.as(t, c.by).Do(t, call[0], call[1], `{"description":"new","paused":true}`)
			if c.ok {
				if r.Status >= 300 {
					t.Errorf("%s, %v: %d", c.by.Username, call, r.Status)
				}
			} else {
				r.Want(t, 403, noAccess)
			}
		}
	}
	w.taken()
	chief := w.as(t, w.maintainer)
	chief.Do(t, "PUT", "/runners/"+id(p.ID), `{}`).Want(t, 400, `{"error":"description, active, paused, tag_list, run_untagged, locked, access_level, `+
		`maximum_timeout, maintenance_note are missing, at least one parameter must be provided"}`)
	chief.Do(t, "PUT", "/runners/"+id(p.ID), `{"active":true,"paused":true}`).Want(t, 400, `{"error":"active, paused are mutually exclusive"}`)
	chief.Do(t, "PUT", "/runners/"+id(p.ID), `{"run_untagged":false}`).
		Want(t, 400, `{"message":{"tags_list":["can not be empty when runner is not allowed to pick untagged jobs"]}}`)
	chief.Do(t, "PUT", "/runners/"+id(p.ID), `{"active":true,"tag_list":["x"],"run_untagged":false,"maximum_timeout":600}`).WantStatus(t, 200)
	if got := w.taken(); len(got) != 1 || got[0].Type != "ci_runner_updated" {
		t.Errorf("the trail says %+v", got)
	}
	chief.Do(t, "PUT", "/runners/"+id(p.ID), `{"maximum_timeout":null}`).WantStatus(t, 200)
	r, err := w.runners.Find(t.Context(), p.ID)
	if err != nil || r.Paused || r.RunUntagged || r.MaximumTimeout != nil || !slices.Equal(r.Tags, []string{"x"}) {
		t.Errorf("%+v, %v", r, err)
	}
	w.as(t, w.friend).Do(t, "DELETE", "/runners/"+id(p.ID), nil).Want(t, 403, noAccess)
	chief.Do(t, "DELETE", "/runners/"+id(p.ID), nil).WantStatus(t, 204)
	chief.Do(t, "DELETE", "/runners/"+id(p.ID), nil).Want(t, 404, `{"message":"404 Not found"}`)
}

func TestCI08_ARunnerIsAssignedByThoseWhoManageBothEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i, g, p := w.ofInstance(t), w.ofGroup(t), w.ofProject(t)
	there := "/projects/" + id(w.other.ID) + "/runners"
	assign := func(by *user.User, of made) *httpapitest.Reply {
		t.Helper()
		return w.as(t, by).Do(t, "POST", there, map[string]any{"runner_id": of.ID})
	}
	assign(w.friend, p).Want(t, 403, noAccess) // manages the project alone
	assign(w.maintainer, p).WantStatus(t, 404) // manages the runner alone, and does not see the project
	assign(w.owner, g).Want(t, 403, `{"message":"403 Forbidden - Runner is a group runner"}`)
	assign(w.owner, i).Want(t, 403, noAccess)
	assign(w.owner, made{ID: 999}).Want(t, 404, `{"message":"404 Not found"}`)
	w.as(t, w.owner).Do(t, "PUT", "/runners/"+id(p.ID), `{"locked":true}`).WantStatus(t, 200)
	assign(w.owner, p).Want(t, 403, `{"message":"403 Forbidden - Runner is locked"}`)
	w.as(t, w.owner).Do(t, "PUT", "/runners/"+id(p.ID), `{"locked":false}`).WantStatus(t, 200)
	assign(w.owner, p).WantStatus(t, 201)
	assign(w.owner, p).Want(t, 400, `{"message":{"runner":["has already been taken"]}}`)

	// Of two projects: nobody removes it for the other.
	w.as(t, w.maintainer).Do(t, "DELETE", "/runners/"+id(p.ID), nil).Want(t, 403, `{"message":"403 Forbidden - Runner associated with more than one project"}`)
	w.as(t, w.friend).Do(t, "DELETE", there+"/"+id(p.ID), nil).WantStatus(t, 204)
	w.as(t, w.friend).Do(t, "DELETE", there+"/"+id(p.ID), nil).Want(t, 404, `{"message":"404 Runner Not Found"}`)
	w.as(t, w.friend).Do(t, "DELETE", there+"/999", nil).Want(t, 404, `{"message":"404 Runner Not Found"}`)
	w.as(t, w.maintainer).Do(t, "DELETE", "/projects/"+id(w.project.ID)+"/runners/"+id(p.ID), nil).
		Want(t, 403, `{"message":"403 Forbidden - Only one project associated with the runner. Please remove the runner instead"}`)
}

func TestCI08_ASharedRunnerIsManagedFromTheProjectThatItWasMadeFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p, third := w.ofProject(t), projecttest.New(t, w.db, w.group.ID, projecttest.Named("third"))
	one, there := "/runners/"+id(p.ID), "/projects/"+id(w.other.ID)+"/runners"
	projecttest.Join(t, w.db, third, w.friend, access.Maintainer)
	w.as(t, w.owner).Do(t, "POST", there, map[string]any{"runner_id": p.ID}).WantStatus(t, 201)
	calls := [][3]string{
		{"PUT", one, `{"paused":true}`}, {"DELETE", one}, {"POST", one + "/reset_authentication_token"},
		{"POST", "/projects/" + id(third.ID) + "/runners", `{"runner_id":` + id(p.ID) + `}`},
	}
	refused := func() {
		t.Helper()
		for _, c := range calls {
			w.as(t, w.friend).Do(t, c[0], c[1], c[2]).Want(t, 403, noAccess)
		}
		w.Do(t, "POST", "/runners/verify", map[string]any{"token": p.Token}).WantStatus(t, 200)
	}
	// Who maintains another project that it serves sees it there, and changes nothing.
	refused()
	w.as(t, w.friend).Do(t, "GET", one, nil).WantStatus(t, 200)
	if got := listed(t, w.as(t, w.friend).Do(t, "GET", there, nil)); !slices.Equal(got, []int64{p.ID}) {
		t.Errorf("the project lists %v", got)
	}
	for _, by := range []*user.User{w.maintainer, w.chief, w.owner, w.root} {
		w.as(t, by).Do(t, "PUT", one, `{"paused":false}`).WantStatus(t, 200)
	}
	// With the project that it was made for the right to manage it goes to nobody who does not manage all the others.
	w.as(t, w.owner).Do(t, "POST", "/projects/"+id(third.ID)+"/runners", map[string]any{"runner_id": p.ID}).WantStatus(t, 201)
	if _, err := w.db.Exec(t.Context(), "delete from members where project_id = $1", third.ID); err != nil {
		t.Fatal(err)
	}
	w.as(t, w.maintainer).Do(t, "DELETE", "/projects/"+id(w.project.ID)+"/runners/"+id(p.ID), nil).WantStatus(t, 204)
	calls = calls[:3]
	refused()
	w.as(t, w.maintainer).Do(t, "PUT", one, `{"paused":true}`).Want(t, 403, noAccess)
	projecttest.Join(t, w.db, third, w.friend, access.Maintainer)
	w.as(t, w.friend).Do(t, "PUT", one, `{"paused":true}`).WantStatus(t, 200)
	w.as(t, w.friend).Do(t, "POST", one+"/reset_authentication_token", nil).WantStatus(t, 201)
	w.Do(t, "POST", "/runners/verify", map[string]any{"token": p.Token}).WantStatus(t, 403)
}

func TestCI08_ARunnerIsItsTokenAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine, yours := w.ofProject(t), w.ofGroup(t)
	// Whatever else it says, it stays who it is.
	w.Do(t, "POST", "/runners/verify", map[string]any{
		"token": mine.Token, "id": yours.ID, "runner_id": yours.ID, "system_id": "s", "info": map[string]any{"name": "x", "id": yours.ID},
	}).Want(t, 200, `{"id":`+id(mine.ID)+`,"token":"`+mine.Token+`","token_expires_at":null}`)
	// What the database holds opens nothing.
	digests, err := postgres.Values[string](t.Context(), w.db, "select encode(digest, 'escape') from runners union all select encode(digest, 'hex') from runners")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(digests, "", mine.Token+"x", mine.Token[5:], strings.ToUpper(mine.Token)) {
		if _, _, err := w.runners.Authenticate(t.Context(), d, "", runner.Info{}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%q: %v", d, err)
		}
	}
	// A registration token is no runner, a runner's token registers none, and neither is a person's.
	reg := httpapitest.JSON[made](t, w.as(t, w.root).Do(t, "POST", "/runners/reset_registration_token", nil).WantStatus(t, 201)).Token
	w.Do(t, "POST", "/runners/verify", map[string]any{"token": reg}).Want(t, 403, forbidden)
	w.Do(t, "POST", "/runners", map[string]any{"token": mine.Token}).WantStatus(t, 403)
	personal := tokentest.New(t, w.db, w.box, w.root.ID)
	w.Do(t, "POST", "/runners/verify", map[string]any{"token": personal}).Want(t, 403, forbidden)
}

func TestCI09_ATokenOfARunnerOpensNothingButItsOwnRecord(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := w.ofInstance(t)
	for _, header := range []string{"Private-Token", "Job-Token", "Runner-Token"} {
		c := w.With(header, r.Token)
		for _, path := range []string{"/runners", "/runners/all", "/runners/" + id(r.ID), "/projects/" + id(w.project.ID) + "/runners", "/groups/" + id(w.group.ID) + "/runners"} {
			if got := c.Do(t, "GET", path, nil); got.Status < 400 {
				t.Errorf("%s as %s: %d", path, header, got.Status)
			}
		}
	}
}

func TestCI08_NoAnswerButTheFirstShowsAToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := w.ofProject(t)
	for _, path := range []string{"/runners", "/runners/" + id(r.ID), "/projects/" + id(w.project.ID) + "/runners"} {
		if got := w.as(t, w.chief).Do(t, "GET", path, nil); strings.Contains(got.Body, "token") {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	rows, err := postgres.Values[string](t.Context(), w.db, "select r::text from runners r")
	if err != nil || strings.Contains(strings.Join(rows, " "), r.Token[5:]) {
		t.Error("the token is stored", err)
	}
	for _, d := range w.taken() {
		if strings.Contains(d.Message+d.Target.Details, r.Token[5:]) {
			t.Error("the trail shows the token")
		}
	}
}

func TestARunnerGoesWithItsLastProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	only, both := w.ofProject(t), w.ofProject(t)
	w.as(t, w.owner).Do(t, "POST", "/projects/"+id(w.other.ID)+"/runners", map[string]any{"runner_id": both.ID}).WantStatus(t, 201)
	tx, err := w.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.runners.OnProjectRemoving(t.Context(), tx, project.Removing{ProjectID: w.project.ID}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runners.Find(t.Context(), only.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := w.runners.Find(t.Context(), both.ID); err != nil {
		t.Error(err)
	}
}

func TestTheRunnersThatMayServeAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i, g, p := w.ofInstance(t), w.ofGroup(t), w.ofProject(t)
	got, err := w.runners.Serving(t.Context(), runner.JobFacts{ProjectID: w.project.ID, GroupIDs: []int64{w.group.ID}}, 10)
	if err != nil || len(got) != 3 || got[0].ID != g.ID || got[1].ID != p.ID || got[2].ID != i.ID || !slices.Equal(got[1].ProjectIDs, []int64{w.project.ID}) {
		t.Errorf("%+v, %v", got, err)
	}
}
