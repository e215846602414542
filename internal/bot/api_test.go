package bot_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/bot"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/member"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestATokenIsABotWithARoleInOnePlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct {
		noun, in string
		maker    *user.User
		username string
		column   string
		placeID  int64
	}{
		{"project", w.inProject(), w.maintainer, `^project_` + id(w.project.ID) + `_bot_[0-9a-f]{32}$`, "project_id", w.project.ID},
		{"group", w.inGroup(), w.owner, `^group_` + id(w.group.ID) + `_bot_[0-9a-f]{32}$`, "namespace_id", w.group.ID},
	} {
		w.Audited()
		got := w.create(t, c.maker, c.in, map[string]any{
			"name": "Robby", "scopes": []string{"read_api", "api"}, "expires_at": "2024-06-01", "access_level": 30,
		})
		want := made{
			ID: got.ID, Name: "Robby", CreatedAt: "2024-05-02T15:04:05.678Z", Scopes: []string{"read_api", "api"}, UserID: got.UserID,
			Active: true, ExpiresAt: "2024-06-01", AccessLevel: 30, Token: got.Token,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !regexp.MustCompile(`^svcpat-[A-Za-z0-9_-]{20}$`).MatchString(got.Token) {
			t.Errorf("the secret is %s", got.Token)
		}
		u, err := w.Users.Find(t.Context(), got.UserID)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(c.username).MatchString(u.Username) || u.Email != u.Username+"@noreply.forge.example" || u.Name != "Robby" ||
			u.Kind != user.ProjectBot || u.ConfirmedAt == nil || u.External || u.CanCreateGroup || u.ProjectsLimit != 0 ||
			u.CreatedByID == nil || *u.CreatedByID != c.maker.ID {
			t.Errorf("the bot is %+v", u)
		}
		if ask[bool](t, w, "select exists (select 1 from namespaces where owner_id = $1)", u.ID) {
			t.Error("the bot has a namespace of its own")
		}
		if !ask[bool](t, w, `select count(*) = 1 and bool_and(access_level = 30 and expires_at = '2024-06-01' and requested_at is null
			and `+c.column+` = $2) from members where user_id = $1`, u.ID, c.placeID) {
			t.Error("the bot is not a member on the terms of its token")
		}
		if stood := httpapitest.JSON[stands](t, w.WithToken(got.Token).Do(t, "GET", c.in+"/probe", nil)); stood != (stands{u.ID, access.Developer}) {
			t.Errorf("the bot stands as %+v", stood)
		}
		shown := httpapitest.JSON[struct {
			Bot bool `json:"bot"`
		}](t, w.As(t, w.root).Do(t, "GET", "/users/"+id(u.ID), nil))
		if !shown.Bot {
			t.Error("the account does not look like a bot")
		}
		records := w.Audited()
		last := records[len(records)-1]
		if last.Type != c.noun+"_access_token_created" || last.Entity.ID != c.placeID || !last.By.Is(c.maker.ID) || last.Target.ID != u.ID ||
			last.Message != "Created "+c.noun+" access token with token_id: "+id(got.ID)+" with scopes: [read_api api] and Developer access level." {
			t.Errorf("the trail says %+v", last)
		}
		w.As(t, c.maker).Do(t, "GET", c.in+"/access_tokens/"+id(got.ID), nil).Want(t, 200, `{"id":`+id(got.ID)+
			`,"name":"Robby","revoked":false,"created_at":"2024-05-02T15:04:05.678Z","scopes":["read_api","api"],"user_id":`+id(u.ID)+
			`,"last_used_at":null,"active":true,"expires_at":"2024-06-01","access_level":30}`)
	}
	// The role of the group counts below it; that of the project counts nowhere else.
	inGroup := w.create(t, w.owner, w.inGroup())
	if stood := httpapitest.JSON[stands](t, w.WithToken(inGroup.Token).Do(t, "GET", w.inProject()+"/probe", nil)); stood.Role != access.Maintainer {
		t.Errorf("the bot of the group stands as %+v in its project", stood)
	}
	other := projecttest.New(t, w.DB, w.group.ID)
	inProject := w.create(t, w.owner, w.inProject())
	w.WithToken(inProject.Token).Do(t, "GET", "/projects/"+id(other.ID)+"/probe", nil).Want(t, 404, noProject)
}

func TestWhatATokenIsGivenByDefault(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	got := w.create(t, w.maintainer, "/projects/team%2Ftool", map[string]any{"scopes": "api,read_repository"})
	if got.ExpiresAt != "2025-05-02" || got.AccessLevel != 40 || !slices.Equal(got.Scopes, []string{"api", "read_repository"}) {
		t.Errorf("got %+v", got)
	}
	outsider := usertest.New(t, w.DB, usertest.With("external", true))
	projecttest.Join(t, w.DB, w.project, outsider, access.Maintainer)
	u, err := w.Users.Find(t.Context(), w.create(t, outsider, w.inProject()).UserID)
	if err != nil || !u.External {
		t.Errorf("the bot of an external person is %+v, %v", u, err)
	}
}

func TestTK03_ABotLivesNoLongerThanTheTokenThatMadeIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	short := w.As(t, w.maintainer)
	w.exec(t, "update personal_access_tokens set expires_at = '2024-05-20' where user_id = $1", w.maintainer.ID)
	body := map[string]any{"name": "robot", "scopes": []string{"api"}}
	if got := httpapitest.JSON[made](t, short.Do(t, "POST", w.inProject()+"/access_tokens", body)); got.ExpiresAt != "2024-05-20" {
		t.Errorf("got %+v", got)
	}
	body["expires_at"] = "2024-05-21"
	short.Do(t, "POST", w.inProject()+"/access_tokens", body).Want(t, 400, rejected("Expires at must be before 2024-05-20"))
}

func TestWhoMayCreateATokenAndWhich(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mayNot, mayNotInGroup := rejected("User does not have permission to create project access token"), rejected("User does not have permission to create group access token")
	groupMaintainer := usertest.New(t, w.DB, usertest.Named("deputy"))
	grouptest.Join(t, w.DB, w.group, groupMaintainer, access.Maintainer)
	projectBot, groupBot := w.create(t, w.maintainer, w.inProject()), w.create(t, w.owner, w.inGroup(), map[string]any{"access_level": 50})
	before := ask[int](t, w, "select count(*) from users")
	for _, c := range []struct {
		fact   string
		by     *httpapitest.Client
		in     string
		set    map[string]any
		status int
		body   string
	}{
		{"nobody", w.Client, w.inProject(), nil, 401, unauthorized},
		{"a stranger", w.As(t, w.stranger), w.inProject(), nil, 404, noProject},
		{"a stranger to the group", w.As(t, w.stranger), w.inGroup(), nil, 404, noGroup},
		{"a developer", w.As(t, w.developer), w.inProject(), nil, 400, mayNot},
		{"an auditor", w.As(t, w.auditor), w.inProject(), nil, 400, mayNot},
		{"a maintainer of the group", w.As(t, groupMaintainer), w.inGroup(), nil, 400, mayNotInGroup},
		{"a member of something below the group", w.As(t, w.maintainer), w.inGroup(), nil, 400, mayNotInGroup},
		{"a bot", w.WithToken(projectBot.Token), w.inProject(), nil, 400, mayNot},
		{"a bot that owns", w.WithToken(groupBot.Token), w.inGroup(), nil, 400, mayNotInGroup},
		{"an owner's role from a maintainer", w.As(t, w.maintainer), w.inProject(), map[string]any{"access_level": 50}, 400, rejected("Could not provision owner access to project access token")},
		{"without a name and scopes", w.As(t, w.maintainer), w.inProject(), map[string]any{"name": nil, "scopes": nil}, 400, `{"error":"name is missing, scopes is missing"}`},
		{"a role that is none", w.As(t, w.maintainer), w.inProject(), map[string]any{"access_level": 35}, 400, `{"error":"access_level does not have a valid value"}`},
		{"minimal access", w.As(t, w.owner), w.inGroup(), map[string]any{"access_level": 5}, 400, `{"error":"access_level does not have a valid value"}`},
		{"read_user", w.As(t, w.maintainer), w.inProject(), map[string]any{"scopes": []string{"read_user"}}, 400, `{"error":"scopes does not have a valid value"}`},
		{"sudo", w.As(t, w.root), w.inProject(), map[string]any{"scopes": []string{"api", "sudo"}}, 400, `{"error":"scopes does not have a valid value"}`},
		{"admin_mode", w.As(t, w.root), w.inProject(), map[string]any{"scopes": []string{"admin_mode"}}, 400, `{"error":"scopes does not have a valid value"}`},
		{"no scope", w.As(t, w.maintainer), w.inProject(), map[string]any{"scopes": []string{}}, 400, rejected("Scopes can't be blank")},
		{"a blank name", w.As(t, w.maintainer), w.inProject(), map[string]any{"name": " "}, 400, rejected("Name can't be blank")},
		{"an empty name", w.As(t, w.maintainer), w.inProject(), map[string]any{"name": ""}, 400, rejected("Name can't be blank")},
		{"a long name", w.As(t, w.maintainer), w.inProject(), map[string]any{"name": strings.Repeat("x", 256)}, 400, rejected("Name is too long (maximum is 255 characters)")},
		{"too late a day", w.As(t, w.maintainer), w.inProject(), map[string]any{"expires_at": "2025-05-03"}, 400, rejected("Expires at must be before 2025-05-02")},
		{"no day", w.As(t, w.maintainer), w.inProject(), map[string]any{"expires_at": "soon"}, 400, `{"error":"expires_at is invalid"}`},
	} {
		body := map[string]any{"name": "robot", "scopes": []string{"api"}}
		for k, v := range c.set {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
		if r := c.by.Do(t, "POST", c.in+"/access_tokens", body); r.Status != c.status || r.Body != c.body {
			t.Errorf("%s: got %d %s, want %d %s", c.fact, r.Status, r.Body, c.status, c.body)
		}
	}
	if after := ask[int](t, w, "select count(*) from users"); after != before {
		t.Errorf("what was refused left %d accounts behind", after-before)
	}
	for _, by := range []*user.User{w.owner, w.root} {
		if got := w.create(t, by, w.inProject(), map[string]any{"access_level": 50}); got.AccessLevel != 50 {
			t.Errorf("%s made %+v", by.Username, got)
		}
	}
	w.create(t, groupMaintainer, w.inProject())
}

func TestAHostedInstanceHasNoSuchTokensForFree(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_HOSTED=true", "STITHY_INSTANCE_TIER=free")
	w.As(t, w.maintainer).Do(t, "POST", w.inProject()+"/access_tokens", map[string]any{"name": "robot", "scopes": []string{"api"}}).
		Want(t, 400, rejected("User does not have permission to create project access token"))
}

func TestATokenIsSeenByThoseWhoManageItsPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first, second := w.create(t, w.maintainer, w.inProject()), w.create(t, w.owner, w.inProject())
	ofGroup := w.create(t, w.owner, w.inGroup())
	other := projecttest.New(t, w.DB, w.group.ID)
	elsewhere := w.create(t, w.owner, "/projects/"+id(other.ID))
	w.exec(t, `insert into personal_access_tokens (user_id, name, digest, scopes, impersonation, created_at, updated_at)
		values ($1, 'x', sha256('x'), '{api}', true, now(), now())`, first.UserID)

	for _, c := range []struct {
		fact   string
		by     *httpapitest.Client
		in     string
		status int
		body   string
	}{
		{"nobody", w.Client, w.inProject(), 401, unauthorized},
		{"a stranger", w.As(t, w.stranger), w.inProject(), 404, noProject},
		{"a developer", w.As(t, w.developer), w.inProject(), 401, unauthorized},
		{"an auditor", w.As(t, w.auditor), w.inProject(), 401, unauthorized},
		{"a maintainer of something below the group", w.As(t, w.maintainer), w.inGroup(), 401, unauthorized},
	} {
		for _, path := range []string{"", "/" + id(first.ID)} {
			if r := c.by.Do(t, "GET", c.in+"/access_tokens"+path, nil); r.Status != c.status || r.Body != c.body {
				t.Errorf("%s: got %d %s, want %d %s", c.fact, r.Status, r.Body, c.status, c.body)
			}
		}
	}
	for _, by := range []*user.User{w.maintainer, w.owner, w.root} {
		if got := listed(t, w.As(t, by).Do(t, "GET", w.inProject()+"/access_tokens", nil)); !slices.Equal(got, []int64{first.ID, second.ID}) {
			t.Errorf("%s sees %v", by.Username, got)
		}
	}
	page := w.As(t, w.owner).Do(t, "GET", w.inProject()+"/access_tokens?per_page=1&page=2", nil)
	if got := listed(t, page); !slices.Equal(got, []int64{second.ID}) || page.Header.Get("X-Total") != "2" {
		t.Errorf("the second page has %v of %s", got, page.Header.Get("X-Total"))
	}
	if got := listed(t, w.As(t, w.owner).Do(t, "GET", w.inGroup()+"/access_tokens", nil)); !slices.Equal(got, []int64{ofGroup.ID}) {
		t.Errorf("the group has %v", got)
	}
	// PE-01: a token is looked up with its place.
	mine := httpapitest.JSON[[]made](t, w.As(t, w.owner).Do(t, "GET", "/personal_access_tokens", nil))
	for _, foreign := range []int64{elsewhere.ID, ofGroup.ID, mine[0].ID, 999999} {
		w.As(t, w.root).Do(t, "GET", w.inProject()+"/access_tokens/"+id(foreign), nil).
			Want(t, 404, `{"message":"404 Could not find project access token with token_id: `+id(foreign)+` Not Found"}`)
	}
	w.As(t, w.owner).Do(t, "GET", w.inGroup()+"/access_tokens/"+id(first.ID), nil).
		Want(t, 404, `{"message":"404 Could not find group access token with token_id: `+id(first.ID)+` Not Found"}`)
	w.As(t, w.owner).Do(t, "GET", w.inProject()+"/access_tokens/x", nil).Want(t, 400, `{"error":"token_id is invalid"}`)
}

func TestRotationReplacesTheTokenAndKeepsTheBot(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	old := w.create(t, w.maintainer, w.inProject(), map[string]any{"access_level": 30, "expires_at": "2024-05-03"})
	at := w.inProject() + "/access_tokens/"
	fresh := httpapitest.JSON[made](t, w.As(t, w.maintainer).Do(t, "POST", at+id(old.ID)+"/rotate", nil).WantStatus(t, 200))
	want := old
	want.ID, want.Token, want.ExpiresAt = fresh.ID, fresh.Token, "2024-05-09"
	if diff := cmp.Diff(want, fresh); diff != "" || fresh.ID == old.ID || fresh.Token == old.Token {
		t.Errorf("(-want +got):\n%s", diff)
	}
	membership := func() string {
		return ask[string](t, w, "select access_level || ' ' || expires_at from members where user_id = $1", old.UserID)
	}
	if got := membership(); got != "30 2024-05-09" {
		t.Errorf("the membership is %s", got)
	}
	w.wantDead(t, old.Token)
	w.wantAlive(t, fresh.Token)
	if got := listed(t, w.As(t, w.maintainer).Do(t, "GET", strings.TrimSuffix(at, "/"), nil)); !slices.Equal(got, []int64{old.ID, fresh.ID}) {
		t.Errorf("listed %v", got)
	}
	w.As(t, w.maintainer).Do(t, "POST", at+id(old.ID)+"/rotate", nil).Want(t, 400, rejected("token already revoked"))
	w.As(t, w.maintainer).Do(t, "POST", at+id(fresh.ID)+"/rotate", map[string]any{"expires_at": "2025-05-03"}).
		Want(t, 400, rejected("Expires at must be before 2025-05-02"))

	// To revoke the one that was replaced does not end the other.
	w.As(t, w.maintainer).Do(t, "DELETE", at+id(old.ID), nil).WantStatus(t, 204)
	w.wantAlive(t, fresh.Token)

	// Administrators have another way to it, with the same effect.
	last := httpapitest.JSON[made](t, w.As(t, w.root).Do(t, "POST", "/personal_access_tokens/"+id(fresh.ID)+"/rotate", map[string]any{"expires_at": "2024-05-05"}))
	if got := membership(); got != "30 2024-05-05" {
		t.Errorf("the membership is %s", got)
	}
	w.wantAlive(t, last.Token)

	// Who presents one that was replaced ends the line.
	w.WithToken(fresh.Token).Do(t, "POST", at+id(last.ID)+"/rotate", nil).WantStatus(t, 401)
	w.wantDead(t, last.Token)
}

func TestWhoMayRotateAToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	low, high := w.create(t, w.maintainer, w.inProject()), w.create(t, w.owner, w.inProject(), map[string]any{"access_level": 50})
	foreign := w.create(t, w.owner, w.inGroup())
	for _, c := range []struct {
		fact   string
		by     *httpapitest.Client
		token  int64
		status int
		body   string
	}{
		{"nobody", w.Client, low.ID, 401, unauthorized},
		{"a stranger", w.As(t, w.stranger), low.ID, 404, noProject},
		{"a developer", w.As(t, w.developer), low.ID, 401, unauthorized},
		{"a bot", w.WithToken(high.Token), low.ID, 401, unauthorized},
		{"a bot its own", w.WithToken(low.Token), low.ID, 401, unauthorized},
		{"one above the maintainer", w.As(t, w.maintainer), high.ID, 400, rejected("Not eligible to rotate token with access level higher than the user")},
		{"one of another place", w.As(t, w.maintainer), foreign.ID, 401, unauthorized},
		{"none at all", w.As(t, w.maintainer), 999999, 401, unauthorized},
		{"none, by an administrator", w.As(t, w.root), 999999, 404, `{"message":"404 Not Found"}`},
	} {
		if r := c.by.Do(t, "POST", w.inProject()+"/access_tokens/"+id(c.token)+"/rotate", nil); r.Status != c.status || r.Body != c.body {
			t.Errorf("%s: got %d %s, want %d %s", c.fact, r.Status, r.Body, c.status, c.body)
		}
	}
	// Nor is there a way around for a bot.
	for _, path := range []string{"/personal_access_tokens/self/rotate", "/personal_access_tokens/" + id(low.ID) + "/rotate"} {
		w.WithToken(low.Token).Do(t, "POST", path, nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	}
	w.WithToken(low.Token).Do(t, "POST", "/user/personal_access_tokens", map[string]any{"name": "x", "scopes": []string{"k8s_proxy"}}).
		Want(t, 422, `{"message":"Not permitted to create"}`)
	w.wantAlive(t, low.Token)
	w.As(t, w.owner).Do(t, "POST", w.inProject()+"/access_tokens/"+id(high.ID)+"/rotate", nil).WantStatus(t, 200)
	w.As(t, w.root).Do(t, "POST", w.inProject()+"/access_tokens/"+id(low.ID)+"/rotate", nil).WantStatus(t, 200)
}

func TestARevokedTokenTakesItsBotAlong(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct {
		noun, in string
		by       *user.User
	}{{"project", w.inProject(), w.maintainer}, {"group", w.inGroup(), w.owner}} {
		got := w.create(t, c.by, c.in, map[string]any{"name": "Robby"})
		path := c.in + "/access_tokens/" + id(got.ID)
		w.Do(t, "DELETE", path, nil).Want(t, 401, unauthorized)
		w.As(t, w.stranger).Do(t, "DELETE", path, nil).WantStatus(t, 404)
		w.As(t, w.developer).Do(t, "DELETE", path, nil).Want(t, 400, rejected("Developer cannot delete Robby"))
		w.As(t, c.by).Do(t, "DELETE", c.in+"/access_tokens/999999", nil).
			Want(t, 404, `{"message":"404 Could not find `+c.noun+` access token with token_id: 999999 Not Found"}`)
		w.As(t, c.by).With("If-Unmodified-Since", "Thu, 02 May 2024 15:04:04 GMT").Do(t, "DELETE", path, nil).WantStatus(t, 412)
		w.wantAlive(t, got.Token)
		w.Audited()

		w.As(t, c.by).Do(t, "DELETE", path, nil).Want(t, 204, "")
		w.wantDead(t, got.Token)
		w.As(t, c.by).Do(t, "DELETE", path, nil).WantStatus(t, 404)
		w.As(t, c.by).Do(t, "GET", path, nil).WantStatus(t, 404)
		if got := listed(t, w.As(t, c.by).Do(t, "GET", c.in+"/access_tokens", nil)); len(got) != 0 {
			t.Errorf("listed %v", got)
		}
		if !ask[bool](t, w, `select not exists (select 1 from members where user_id = $1)
			and (select removal = 'soft' from users where id = $1)
			and exists (select 1 from river_job where kind = 'user_remove' and (args ->> 'user_id')::bigint = $1)
			and (select revoked_at is not null from personal_access_tokens where id = $2)`, got.UserID, got.ID) {
			t.Error("the bot is not on its way out")
		}
		records := w.Audited()
		last := records[len(records)-1]
		if last.Type != c.noun+"_access_token_deleted" || !last.By.Is(c.by.ID) || last.Target.ID != got.UserID ||
			last.Message != "Revoked "+c.noun+" access token with token_id: "+id(got.ID) {
			t.Errorf("the trail says %+v", last)
		}
	}
	if err := w.Queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Queue.Stop(t.Context()) })
	eventually(t, func() bool {
		return ask[bool](t, w, "select not exists (select 1 from users where kind = 'project_bot')")
	})
}

func TestARevokedTokenIsListedWhileItsBotIsAMember(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	got := w.create(t, w.maintainer, w.inProject())
	w.WithToken(got.Token).Do(t, "DELETE", "/personal_access_tokens/self", nil).WantStatus(t, 204)
	shown := httpapitest.JSON[[]made](t, w.As(t, w.maintainer).Do(t, "GET", w.inProject()+"/access_tokens", nil))
	if len(shown) != 1 || !shown[0].Revoked || shown[0].Active {
		t.Errorf("got %+v", shown)
	}
	w.As(t, w.maintainer).Do(t, "DELETE", w.inProject()+"/access_tokens/"+id(got.ID), nil).WantStatus(t, 204)
	if got := listed(t, w.As(t, w.maintainer).Do(t, "GET", w.inProject()+"/access_tokens", nil)); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
}

func TestTK07_ATokenHasNoMorePowerThanTheMembershipOfItsBot(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	src := w.source(t)
	fresh := func() made { return w.create(t, w.owner, w.inProject()) }

	t.Run("what is lowered counts at once", func(t *testing.T) {
		got := fresh()
		w.WithToken(got.Token).Do(t, "POST", w.inProject()+"/probe", nil).WantStatus(t, 200)
		w.exec(t, "update members set access_level = 10 where user_id = $1", got.UserID)
		w.WithToken(got.Token).Do(t, "POST", w.inProject()+"/probe", nil).WantStatus(t, 403)
	})
	t.Run("a membership that is removed", func(t *testing.T) {
		got := fresh()
		if err := w.Members.Remove(t.Context(), src.by, member.SourceOf(src.Owner), got.UserID, false); err != nil {
			t.Fatal(err)
		}
		w.wantDead(t, got.Token)
	})
	t.Run("a membership that expired", func(t *testing.T) {
		got := fresh()
		w.exec(t, "update members set expires_at = '2024-05-02' where user_id = $1", got.UserID)
		w.WithToken(got.Token).Do(t, "GET", w.inProject()+"/probe", nil).Want(t, 404, noProject)
		if err := w.Members.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantDead(t, got.Token)
	})
	t.Run("a day that has come", func(t *testing.T) {
		got := w.create(t, w.owner, w.inProject(), map[string]any{"expires_at": "2024-05-02"})
		if got.Active {
			t.Error("a token of today is active")
		}
		w.wantDead(t, got.Token)
	})
	t.Run("a maker who lost their role", func(t *testing.T) {
		maker := usertest.New(t, w.DB)
		projecttest.Join(t, w.DB, w.project, maker, access.Maintainer)
		got := w.create(t, maker, w.inProject())
		w.exec(t, "delete from members where user_id = $1", maker.ID)
		// The bot was let in by the project, which goes on to manage it.
		w.WithToken(got.Token).Do(t, "GET", w.inProject()+"/probe", nil).WantStatus(t, 200)
		w.As(t, w.maintainer).Do(t, "DELETE", w.inProject()+"/access_tokens/"+id(got.ID), nil).WantStatus(t, 204)
		w.wantDead(t, got.Token)
	})
}

func TestTK07_BotsGoWithTheirPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if err := w.Queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Queue.Stop(t.Context()) })
	by := access.Actor{Person: w.root.Person(), Account: w.root}
	exists := func(m made) bool {
		return ask[bool](t, w, "select exists (select 1 from users where id = $1)", m.UserID)
	}

	other := projecttest.New(t, w.DB, w.group.ID)
	ofProject := w.create(t, w.owner, "/projects/"+id(other.ID))
	ofGroup, below := w.create(t, w.owner, w.inGroup(), map[string]any{"access_level": 50}), w.create(t, w.owner, w.inProject())
	w.WithToken(ofProject.Token).Do(t, "GET", "/projects/"+id(other.ID)+"/probe", nil).WantStatus(t, 200)
	if err := w.Projects.Remove(t.Context(), by, other.ID); err != nil {
		t.Fatal(err)
	}
	w.WithToken(ofProject.Token).Do(t, "GET", "/projects/"+id(other.ID)+"/probe", nil).WantStatus(t, 404)
	eventually(t, func() bool { return !exists(ofProject) })
	w.wantDead(t, ofProject.Token)
	w.wantAlive(t, ofGroup.Token)

	if err := w.Groups.Remove(t.Context(), by, w.group.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !exists(ofGroup) && !exists(below) })
	w.wantDead(t, ofGroup.Token)
	w.wantDead(t, below.Token)
}

func TestNothingComesToBeInAPlaceThatIsAboutToGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, "update projects set removal = true")
	before := ask[int](t, w, "select count(*) from users")
	src := w.source(t)
	_, _, err := w.Bots.Create(t.Context(), src.by, src.Owner, bot.Draft{Name: "x", Scopes: access.Scopes{access.ScopeAPI}, Level: access.Guest})
	if err == nil || err.Error() != "Project not found" {
		t.Errorf("got %v", err)
	}
	if after := ask[int](t, w, "select count(*) from users"); after != before {
		t.Error("a bot was left behind")
	}
}

func TestTwoWhoRevokeOneTokenBothSucceedOrLearnThatItIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 3 {
		got := w.create(t, w.maintainer, w.inProject())
		client, statuses := w.As(t, w.maintainer), make(chan int, 4)
		for i := range 4 {
			go func() {
				method, path := "DELETE", w.inProject()+"/access_tokens/"+id(got.ID)
				if i%2 == 1 {
					method, path = "POST", path+"/rotate"
				}
				statuses <- client.Do(t, method, path, nil).Status
			}()
		}
		for range 4 {
			select {
			case status := <-statuses:
				if status >= http.StatusInternalServerError {
					t.Errorf("got %d", status)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("they wait for each other")
			}
		}
	}
}
