package bot_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/bot"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/wire"
	"stithy/internal/member"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
	"stithy/internal/setting/settingtest"
	"stithy/internal/token"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a group with a project in it and people of every role, behind the
// real API with the real authentication.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	box                 *secretbox.Box
	queue               *jobqueue.Queue
	settings            *setting.Service
	users               *user.Service
	groups              *group.Service
	projects            *project.Service
	members             *member.Service
	bots                *bot.Service
	now                 time.Time

	group                        *group.Group
	project                      *project.Project
	root, owner, maintainer      *user.User // the owner is one of the group, the others of the project
	developer, stranger, auditor *user.User

	mu      sync.Mutex
	records []bus.AuditRecord
}

func newFixture(t testing.TB, instance ...setting.Instance) *fixture {
	t.Helper()
	w := &fixture{db: postgrestest.New(t), box: secretbox.Random(), now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC)}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	now := clock.Clock(func() time.Time { return w.now })
	home := &url.URL{Scheme: "https", Host: "forge.example"}
	names := wire.Names{Service: "svc", Errors: "errsvc"}
	events, registry := bus.New(), jobqueue.NewRegistry()
	var err error
	if w.queue, err = jobqueue.New(w.db, registry, log, 1); err != nil {
		t.Fatal(err)
	}
	w.settings = settingtest.New(t, w.db)
	if instance != nil {
		d := settingtest.Deps(t, w.db)
		d.Instance = instance[0]
		w.settings = setting.New(d)
	}
	w.users = user.New(user.Deps{
		DB: w.db, Bus: events, Queue: w.queue, Settings: w.settings, Clock: now, Log: log, ExternalURL: home, Names: names,
		Hasher: secretbox.NewHasher(1),
	})
	tokens := token.New(token.Deps{
		DB: w.db, Bus: events, Box: w.box, Settings: w.settings, Users: w.users, Clock: now, Log: log, ExternalURL: home, Names: names,
		Impersonation: true,
		OAuth:         tokentest.NoResolver{}, Jobs: tokentest.NoResolver{},
	})
	w.groups = group.New(group.Deps{
		DB: w.db, Bus: events, Queue: w.queue, Settings: w.settings, Users: w.users, Clock: now, Log: log, ExternalURL: home.String(),
		Projects: grouptest.NoProjects{},
	})
	w.projects = project.New(project.Deps{
		DB: w.db, Bus: events, Queue: w.queue, Settings: w.settings, Users: w.users, Groups: w.groups, Clock: now, Log: log,
		ExternalURL: home.String(), Names: names,
		Outbound: &outbound.Guard{}, Code: projecttest.NoCode{}, JobTokens: projecttest.NoJobTokens{},
	})
	w.members = member.New(member.Deps{
		DB: w.db, Bus: events, Queue: w.queue, Users: w.users, Groups: w.groups, Projects: w.projects, Mail: &mail.Sender{}, Clock: now, ExternalURL: home,
	})
	w.bots = bot.New(bot.Deps{
		DB: w.db, Bus: events, Settings: w.settings, Users: w.users, Tokens: tokens, Groups: w.groups, Projects: w.projects, Clock: now,
	})
	for _, room := range []interface{ Register(*jobqueue.Registry) }{w.users, w.groups, w.projects} {
		room.Register(registry)
	}
	bus.On(events, w.groups.OnUserRemoving)
	bus.On(events, w.groups.OnUserLeaving)
	bus.On(events, w.projects.OnGroupMarked)
	bus.On(events, w.projects.OnNamespaceRemoving)
	bus.On(events, w.bots.OnToken)
	bus.On(events, w.bots.OnMember)
	bus.On(events, w.bots.OnNamespaceRemoving)
	bus.On(events, w.bots.OnProjectRemoving)
	events.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	endpoints := append(w.probes(), w.bots.Endpoints()...)
	endpoints = append(endpoints, tokens.Endpoints()...)
	endpoints = append(endpoints, w.users.Endpoints()...)
	w.Client = httpapitest.Start(t, &httpapi.Server{Endpoints: endpoints, Authenticator: tokens, Clock: now})

	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.db, usertest.Named("stranger"))
	w.auditor = usertest.New(t, w.db, usertest.Named("auditor"), usertest.With("auditor", true))
	w.owner = usertest.New(t, w.db, usertest.Named("owner"))
	w.maintainer = usertest.New(t, w.db, usertest.Named("maintainer"))
	w.developer = usertest.New(t, w.db, usertest.Named("developer"))
	w.group = grouptest.New(t, w.db, grouptest.Named("team"))
	w.project = projecttest.New(t, w.db, w.group.ID, projecttest.Named("tool"))
	grouptest.Join(t, w.db, w.group, w.owner, access.Owner)
	projecttest.Join(t, w.db, w.project, w.maintainer, access.Maintainer)
	projecttest.Join(t, w.db, w.project, w.developer, access.Developer)
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
		project.On(w.projects, httpapi.Spec{Route: "GET /projects/{id}/probe", Needs: access.ReadProject, Summary: "Read."}, inProject),
		project.On(w.projects, httpapi.Spec{Route: "POST /projects/{id}/probe", Needs: access.UpdateProject, Summary: "Write."}, inProject),
		group.On(w.groups, httpapi.Spec{Route: "GET /groups/{id}/probe", Needs: access.ReadGroup, Summary: "Read."}, inGroup),
	}
}

// as calls with a fresh token.
func (w *fixture) as(t testing.TB, u *user.User) *httpapitest.Client {
	t.Helper()
	return w.with(tokentest.New(t, w.db, w.box, u.ID))
}

func (w *fixture) with(secret string) *httpapitest.Client { return w.With("Private-Token", secret) }

func (w *fixture) inProject() string { return "/projects/" + id(w.project.ID) }
func (w *fixture) inGroup() string   { return "/groups/" + id(w.group.ID) }

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func ask[T any](t testing.TB, w *fixture, sql string, args ...any) T {
	t.Helper()
	v, err := postgres.Value[T](t.Context(), w.db, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// source is the project as an administrator stands in it.
type source struct {
	*member.Source
	by access.Actor
}

func (w *fixture) source(t testing.TB) *source {
	t.Helper()
	return &source{Source: member.OfProject(w.project), by: access.Actor{Person: w.root.Person(), Account: w.root}}
}

// taken returns the audited acts since the last call.
func (w *fixture) taken() []bus.AuditRecord {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := w.records
	w.records = nil
	return records
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
	return httpapitest.JSON[made](t, w.as(t, by).Do(t, "POST", in+"/access_tokens", body).WantStatus(t, http.StatusCreated))
}

// wantDead checks that a secret is worth nothing any more.
func (w *fixture) wantDead(t testing.TB, secret string) {
	t.Helper()
	w.with(secret).Do(t, "GET", "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

func (w *fixture) wantAlive(t testing.TB, secret string) {
	t.Helper()
	w.with(secret).Do(t, "GET", "/probe", nil).WantStatus(t, http.StatusOK)
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
