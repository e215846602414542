package bot_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a group with a project in it and people of every role.
type fixture struct {
	*apptest.Instance
	group                        *group.Group
	project                      *project.Project
	root, owner, maintainer      *user.User // the owner is one of the group, the others of the project
	developer, stranger, auditor *user.User
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...)}
	w.Serve(t, w.probes()...)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.auditor = usertest.New(t, w.DB, usertest.Named("auditor"), usertest.With("auditor", true))
	w.owner = usertest.New(t, w.DB, usertest.Named("owner"))
	w.maintainer = usertest.New(t, w.DB, usertest.Named("maintainer"))
	w.developer = usertest.New(t, w.DB, usertest.Named("developer"))
	w.group = grouptest.New(t, w.DB, grouptest.Named("team"))
	w.project = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("tool"))
	grouptest.Join(t, w.DB, w.group, w.owner, access.Owner)
	projecttest.Join(t, w.DB, w.project, w.maintainer, access.Maintainer)
	projecttest.Join(t, w.DB, w.project, w.developer, access.Developer)
	return w
}

// stands is what a probe tells of its caller.
type stands struct {
	Caller int64       `json:"caller"`
	Role   access.Role `json:"role"`
}

// probes answer who called, and which role they have.
func (w *fixture) probes() []httpapi.Endpoint {
	who := func(_ context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (stands, error) {
		return stands{Caller: call.Actor.ID()}, nil
	}
	inProject := func(_ context.Context, call httpapi.Call[*project.Project, project.Ref]) (stands, error) {
		return stands{Caller: call.Actor.ID(), Role: call.Subject.Role}, nil
	}
	inGroup := func(_ context.Context, call httpapi.Call[*group.Group, group.Ref]) (stands, error) {
		return stands{Caller: call.Actor.ID(), Role: call.Subject.Role}, nil
	}
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{Route: "GET /probe", Needs: access.SignIn, Summary: "Read."}, who),
		project.On(w.Projects, httpapi.Spec{Route: "GET /projects/{id}/probe", Needs: access.ReadProject, Summary: "Read."}, inProject),
		project.On(w.Projects, httpapi.Spec{Route: "POST /projects/{id}/probe", Needs: access.UpdateProject, Summary: "Write."}, inProject),
		group.On(w.Groups, httpapi.Spec{Route: "GET /groups/{id}/probe", Needs: access.ReadGroup, Summary: "Read."}, inGroup),
	}
}

func (w *fixture) inProject() string { return "/projects/" + id(w.project.ID) }
func (w *fixture) inGroup() string   { return "/groups/" + id(w.group.ID) }

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func ask[T any](t testing.TB, w *fixture, sql string, args ...any) T {
	t.Helper()
	v, err := postgres.Value[T](t.Context(), w.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// source is the project as an administrator stands in it.
type source struct {
	*owner.Owner
	by access.Actor
}

func (w *fixture) source(t testing.TB) *source {
	t.Helper()
	return &source{Owner: owner.OfProject(w.project), by: access.Actor{Person: w.root.Person(), Account: w.root}}
}

// made is a token as the API shows it.
type made struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Revoked     bool     `json:"revoked"`
	CreatedAt   string   `json:"created_at"`
	Scopes      []string `json:"scopes"`
	UserID      int64    `json:"user_id"`
	LastUsedAt  *string  `json:"last_used_at"`
	Active      bool     `json:"active"`
	ExpiresAt   string   `json:"expires_at"`
	AccessLevel int      `json:"access_level"`
	Token       string   `json:"token"`
}

// create makes a token as someone who may.
func (w *fixture) create(t testing.TB, by *user.User, in string, attributes ...map[string]any) made {
	t.Helper()
	body := map[string]any{"name": "robot", "scopes": []string{"api"}}
	for _, more := range attributes {
		for k, v := range more {
			body[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.As(t, by).Do(t, "POST", in+"/access_tokens", body).WantStatus(t, http.StatusCreated))
}

// wantDead checks that a secret is worth nothing any more.
func (w *fixture) wantDead(t testing.TB, secret string) {
	t.Helper()
	w.WithToken(secret).Do(t, "GET", "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

func (w *fixture) wantAlive(t testing.TB, secret string) {
	t.Helper()
	w.WithToken(secret).Do(t, "GET", "/probe", nil).WantStatus(t, http.StatusOK)
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

func eventually(t testing.TB, what func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !what() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not happen")
		case <-tick.C:
		}
	}
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

const (
	unauthorized = `{"message":"401 Unauthorized"}`
	noProject    = `{"message":"404 Project Not Found"}`
	noGroup      = `{"message":"404 Group Not Found"}`
)

func rejected(why string) string { return `{"message":"400 Bad request - ` + why + `"}` }
