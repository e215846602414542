package deploytoken_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/app/apptest"
	"stithy/internal/deploytoken"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a group with a project in it and people of every role.
type fixture struct {
	*apptest.Instance
	group               *group.Group
	project             *project.Project
	root, owner         *user.User
	maintainer          *user.User // of the project, as is the developer
	developer, stranger *user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.Serve(t, probes(w.Projects)...)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.owner = usertest.New(t, w.DB, usertest.Named("owner"))
	w.maintainer = usertest.New(t, w.DB, usertest.Named("maintainer"))
	w.developer = usertest.New(t, w.DB, usertest.Named("developer"))
	w.group = grouptest.New(t, w.DB, grouptest.Named("team"))
	w.project = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("tool"))
	grouptest.Join(t, w.DB, w.group, w.owner, access.Owner)
	grouptest.Join(t, w.DB, w.group, w.maintainer, access.Maintainer)
	projecttest.Join(t, w.DB, w.project, w.developer, access.Developer)
	return w
}

// probes are endpoints of every style: for anyone, for people, for members,
// for the tokens of jobs, for tokens of any scope.
func probes(projects *project.Service) []httpapi.Endpoint {
	who := func(_ context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (int64, error) {
		return call.Actor.ID(), nil
	}
	in := func(_ context.Context, call httpapi.Call[*project.Project, project.Ref]) (int64, error) {
		return call.Actor.ID(), nil
	}
	var all []httpapi.Endpoint
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		all = append(all,
			httpapi.Do(httpapi.Spec{Route: method + " /probe/open", Needs: access.Anyone, Summary: "Probe."}, who),
			httpapi.Do(httpapi.Spec{Route: method + " /probe/person", Needs: access.SignIn, Summary: "Probe."}, who),
			httpapi.Do(httpapi.Spec{Route: method + " /probe/any", Needs: access.SignIn, AnyScope: true, Summary: "Probe."}, who),
			httpapi.Do(httpapi.Spec{Route: method + " /probe/job", Needs: access.SignIn, JobToken: true, Summary: "Probe."}, who),
			httpapi.Do(httpapi.Spec{Route: method + " /probe/admin", Needs: access.Administer, Summary: "Probe."}, who),
			project.On(projects, httpapi.Spec{
				Route: method + " /projects/{id}/probe", Needs: access.ReadCode, Scopes: []access.Scope{access.ScopeReadRepository}, Summary: "Probe.",
			}, in),
		)
	}
	return all
}

func (w *fixture) inProject() string { return "/projects/" + id(w.project.ID) }
func (w *fixture) inGroup() string   { return "/groups/" + id(w.group.ID) }

// made is a deploy token as the API shows it.
type made struct {
	ID        int64    `json:"id"`
	Name      string   `json:"name"`
	Username  string   `json:"username"`
	ExpiresAt *string  `json:"expires_at"`
	Scopes    []string `json:"scopes"`
	Revoked   bool     `json:"revoked"`
	Expired   bool     `json:"expired"`
	Token     string   `json:"token"`
}

func (w *fixture) create(t testing.TB, in string, attributes ...map[string]any) made {
	t.Helper()
	body := map[string]any{"name": "robot", "scopes": []string{"read_repository"}}
	for _, more := range attributes {
		for k, v := range more {
			body[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.As(t, w.owner).Do(t, "POST", in+"/deploy_tokens", body).WantStatus(t, http.StatusCreated))
}

func listed(t testing.TB, r *httpapitest.Reply) (ids []int64) {
	t.Helper()
	for _, m := range httpapitest.JSON[[]made](t, r.WantStatus(t, http.StatusOK)) {
		if m.Token != "" {
			t.Errorf("a list shows the secret of %d", m.ID)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

const (
	unauthorized = `{"message":"401 Unauthorized"}`
	forbidden    = `{"message":"403 Forbidden"}`
)

func TestADeployTokenIsShownOnceWithItsSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for noun, in := range map[string]string{"": w.inProject(), "group_": w.inGroup()} {
		w.Audited()
		got := w.create(t, in, map[string]any{
			"name": "CD", "scopes": []string{"read_registry", "read_repository", "read_registry"}, "expires_at": "2024-06-01",
		})
		want := made{
			ID: got.ID, Name: "CD", Username: "svc+deploy-token-" + id(got.ID), ExpiresAt: new("2024-06-01T00:00:00.000Z"),
			Scopes: []string{"read_repository", "read_registry"}, Token: got.Token,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !regexp.MustCompile(`^svcdt-[A-Za-z0-9_-]{20}$`).MatchString(got.Token) {
			t.Errorf("the secret is %s", got.Token)
		}
		path := in + "/deploy_tokens/" + id(got.ID)
		w.As(t, w.owner).Do(t, "GET", path, nil).Want(t, 200, `{"id":`+id(got.ID)+`,"name":"CD","username":"svc+deploy-token-`+id(got.ID)+
			`","expires_at":"2024-06-01T00:00:00.000Z","scopes":["read_repository","read_registry"],"revoked":false,"expired":false}`)
		w.As(t, w.owner).Do(t, "DELETE", path, nil).Want(t, 204, "")
		for _, method := range []string{"GET", "DELETE"} {
			w.As(t, w.owner).Do(t, method, path, nil).Want(t, 404, `{"message":"404 Deploy Token Not Found"}`)
		}
		var types []string
		for _, d := range w.Audited() {
			types = append(types, d.Type)
			if d.Target.ID != got.ID || !d.By.Is(w.owner.ID) || strings.Contains(d.Message, got.Token) {
				t.Errorf("the trail says %+v", d)
			}
		}
		if !slices.Equal(types, []string{noun + "deploy_token_created", noun + "deploy_token_destroyed"}) {
			t.Errorf("the trail says %v", types)
		}
	}
	stored, err := postgres.Value[bool](t.Context(), w.DB, "select exists (select 1 from deploy_tokens)")
	if err != nil || stored {
		t.Errorf("something is left: %v %v", stored, err)
	}
}

func TestWhatADeployTokenMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if got := w.create(t, w.inProject(), map[string]any{"username": "robot+1", "scopes": "write_registry,read_package_registry"}); got.Username != "robot+1" ||
		got.ExpiresAt != nil || !slices.Equal(got.Scopes, []string{"write_registry", "read_package_registry"}) {
		t.Errorf("got %+v", got)
	}
	if got := w.create(t, w.inProject(), map[string]any{"expires_at": "2024-05-02T15:04:05Z"}); !got.Expired {
		t.Errorf("got %+v", got)
	}
	for _, c := range []struct {
		fact string
		set  map[string]any
		body string
	}{
		{"nothing", map[string]any{"name": nil, "scopes": nil}, `{"error":"name is missing, scopes is missing"}`},
		{"a scope of other tokens", map[string]any{"scopes": []string{"api"}}, `{"error":"scopes does not have a valid value"}`},
		{"no scope", map[string]any{"scopes": []string{}}, `{"message":{"scopes":["can't be blank"]}}`},
		{"a blank name", map[string]any{"name": " "}, `{"message":{"name":["can't be blank"]}}`},
		{"a long name", map[string]any{"name": strings.Repeat("x", 256)}, `{"message":{"name":["is too long (maximum is 255 characters)"]}}`},
		{"a long username", map[string]any{"username": strings.Repeat("x", 256)}, `{"message":{"username":["is too long (maximum is 255 characters)"]}}`},
		{"a strange username", map[string]any{"username": "a:b"}, `{"message":{"username":["can contain only letters, digits, '_', '-', '+', and '.'"]}}`},
		{"no time", map[string]any{"expires_at": "soon"}, `{"error":"expires_at is invalid"}`},
	} {
		body := map[string]any{"name": "robot", "scopes": []string{"read_repository"}}
		for k, v := range c.set {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
		if r := w.As(t, w.owner).Do(t, "POST", w.inProject()+"/deploy_tokens", body); r.Status != 400 || r.Body != c.body {
			t.Errorf("%s: got %d %s, want %s", c.fact, r.Status, r.Body, c.body)
		}
	}
}

func TestWhoManagesDeployTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ofProject, ofGroup := w.create(t, w.inProject()), w.create(t, w.inGroup())
	for _, c := range []struct {
		fact           string
		by             *httpapitest.Client
		project, group int
	}{
		{"nobody", w.Client, 401, 401},
		{"a stranger", w.As(t, w.stranger), 404, 404},
		{"a developer", w.As(t, w.developer), 403, 403},
		{"a maintainer", w.As(t, w.maintainer), 200, 403},
		{"an owner", w.As(t, w.owner), 200, 200},
		{"an administrator", w.As(t, w.root), 200, 200},
	} {
		body := map[string]any{"name": "x", "scopes": []string{"read_repository"}}
		for _, place := range []struct {
			in   string
			made made
			want int
		}{{w.inProject(), ofProject, c.project}, {w.inGroup(), ofGroup, c.group}} {
			created := place.want
			if created == 200 {
				created = 201
			}
			at := place.in + "/deploy_tokens"
			if r := c.by.Do(t, "POST", at, body); r.Status != created {
				t.Errorf("%s creates: %d %s", c.fact, r.Status, r.Body)
			}
			for _, path := range []string{at, at + "/" + id(place.made.ID)} {
				if r := c.by.Do(t, "GET", path, nil); r.Status != place.want || (place.want == 403 && r.Body != forbidden) {
					t.Errorf("%s reads %s: %d %s", c.fact, path, r.Status, r.Body)
				}
			}
			if place.want != 200 {
				if r := c.by.Do(t, "DELETE", at+"/"+id(place.made.ID), nil); r.Status != place.want {
					t.Errorf("%s deletes: %d %s", c.fact, r.Status, r.Body)
				}
			}
		}
	}
	w.Do(t, "GET", "/deploy_tokens", nil).Want(t, 401, unauthorized)
	w.As(t, w.owner).Do(t, "GET", "/deploy_tokens", nil).Want(t, 403, forbidden)
	// PE-01: a deploy token is looked up with its place.
	w.As(t, w.root).Do(t, "GET", w.inProject()+"/deploy_tokens/"+id(ofGroup.ID), nil).WantStatus(t, 404)
	w.As(t, w.root).Do(t, "DELETE", w.inGroup()+"/deploy_tokens/"+id(ofProject.ID), nil).WantStatus(t, 404)
	w.As(t, w.root).Do(t, "GET", w.inProject()+"/deploy_tokens/"+id(ofProject.ID), nil).WantStatus(t, 200)
}

func TestDeployTokensAreListed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := "/projects/" + id(projecttest.New(t, w.DB, w.group.ID).ID)
	a, b := w.create(t, w.inProject()), w.create(t, w.inProject(), map[string]any{"expires_at": "2024-05-01"})
	c, d, e := w.create(t, w.inProject()), w.create(t, w.inGroup()), w.create(t, other)
	if _, err := w.DB.Exec(t.Context(), "update deploy_tokens set revoked_at = now() where id = $1", c.ID); err != nil {
		t.Fatal(err)
	}
	client := w.As(t, w.root)
	for path, want := range map[string][]int64{
		"/deploy_tokens":                             {a.ID, b.ID, c.ID, d.ID, e.ID},
		"/deploy_tokens?active=true":                 {a.ID, d.ID, e.ID},
		"/deploy_tokens?active=false":                {a.ID, b.ID, c.ID, d.ID, e.ID},
		"/deploy_tokens?per_page=2&page=2":           {c.ID, d.ID},
		w.inProject() + "/deploy_tokens":             {a.ID, b.ID, c.ID},
		w.inProject() + "/deploy_tokens?active=true": {a.ID},
		"/projects/team%2Ftool/deploy_tokens?page=2": nil,
		w.inGroup() + "/deploy_tokens":               {d.ID},
		"/groups/team/deploy_tokens?active=true":     {d.ID},
		other + "/deploy_tokens?per_page=1&page=1":   {e.ID},
	} {
		if got := listed(t, client.Do(t, "GET", path, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// Deploy tokens cannot be used with the public API, however they are
// presented: what is a credential here is refused, and what is none is not
// looked at.
func TestTK10_ADeployTokenOpensNothingOfThisAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	all := []string{"read_repository", "read_registry", "write_registry", "read_package_registry", "write_package_registry"}
	ofProject := w.create(t, w.inProject(), map[string]any{"scopes": all})
	ofGroup := w.create(t, w.inGroup(), map[string]any{"scopes": all})
	for _, secret := range []made{ofProject, ofGroup} {
		basic := base64.StdEncoding.EncodeToString([]byte(secret.Username + ":" + secret.Token))
		for presentation, p := range map[string]struct {
			client     *httpapitest.Client
			query      string
			credential bool // this API looks for one there
		}{
			"private token":  {client: w.With("Private-Token", secret.Token), credential: true},
			"bearer":         {client: w.With("Authorization", "Bearer "+secret.Token), credential: true},
			"private_token":  {client: w.Client, query: "?private_token=" + secret.Token, credential: true},
			"access_token":   {client: w.Client, query: "?access_token=" + secret.Token, credential: true},
			"bearer_token":   {client: w.Client, query: "?bearer_token=" + secret.Token, credential: true},
			"deploy token":   {client: w.With("Deploy-Token", secret.Token)},
			"job token":      {client: w.With("Job-Token", secret.Token)},
			"job_token":      {client: w.Client, query: "?job_token=" + secret.Token},
			"basic":          {client: w.With("Authorization", "Basic "+basic)},
			"cookie":         {client: w.With("Cookie", "_svc_session="+secret.Token)},
			"deploy_token":   {client: w.Client, query: "?deploy_token=" + secret.Token},
			"with its owner": {client: w.With("Private-Token", secret.Token).With("Sudo", "owner"), credential: true},
		} {
			for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
				for _, path := range []string{"/probe/person", "/probe/any", "/probe/job", "/probe/admin"} {
					if r := p.client.Do(t, method, path+p.query, nil); r.Status != 401 || r.Body != unauthorized {
						t.Errorf("%s, %s %s: got %d %s", presentation, method, path, r.Status, r.Body)
					}
				}
				if r := p.client.Do(t, method, "/probe/open"+p.query, nil); (p.credential && r.Status != 401) || (!p.credential && r.Body != "0") {
					t.Errorf("%s, %s of what is open: got %d %s", presentation, method, r.Status, r.Body)
				}
				// Not even the project that it belongs to can be seen.
				if r := p.client.Do(t, method, w.inProject()+"/probe"+p.query, nil); r.Status != 401 && (p.credential || r.Status != 404) {
					t.Errorf("%s, %s of its project: got %d %s", presentation, method, r.Status, r.Body)
				}
			}
			for _, call := range []string{
				"GET /user", "GET /personal_access_tokens/self", "DELETE /personal_access_tokens/self", "GET /deploy_tokens",
				"POST /personal_access_tokens/" + id(secret.ID) + "/rotate",
				"GET " + w.inProject() + "/deploy_tokens", "DELETE " + w.inProject() + "/deploy_tokens/" + id(ofProject.ID),
			} {
				method, path, _ := strings.Cut(call, " ")
				if r := p.client.Do(t, method, path+p.query, nil); r.Status != 401 || r.Body != unauthorized {
					t.Errorf("%s, %s: got %d %s", presentation, call, r.Status, r.Body)
				}
			}
		}
	}
}

func TestADeployTokenReachesItsOwnPlaceAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	below, beside := grouptest.New(t, w.DB, grouptest.Named("below"), grouptest.Under(w.group)), grouptest.New(t, w.DB, grouptest.Named("beside"))
	deep := projecttest.New(t, w.DB, below.ID, projecttest.Named("deep"))
	sibling := projecttest.New(t, w.DB, w.group.ID, projecttest.Named("sibling"))
	elsewhere := projecttest.New(t, w.DB, beside.ID, projecttest.Named("elsewhere"))
	group, other := w.group.ID, below.ID
	for name, c := range map[string]struct {
		bearer deploytoken.Bearer
		want   []int64
	}{
		"of a project":  {deploytoken.Bearer{ProjectID: &w.project.ID}, []int64{w.project.ID}},
		"of a group":    {deploytoken.Bearer{NamespaceID: &group}, []int64{w.project.ID, sibling.ID, deep.ID}},
		"of a subgroup": {deploytoken.Bearer{NamespaceID: &other}, []int64{deep.ID}},
		"of nothing":    {deploytoken.Bearer{}, nil},
	} {
		for _, p := range []int64{w.project.ID, sibling.ID, deep.ID, elsewhere.ID, 999999} {
			if got, err := w.DeployTokens.Reaches(t.Context(), &c.bearer, p); err != nil || got != slices.Contains(c.want, p) {
				t.Errorf("%s, project %d: %v, %v", name, p, got, err)
			}
		}
	}
}
