package runner_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is the room with people in every standing, a group and two projects.
type fixture struct {
	*httpapitest.Client
	db       *postgres.DB
	box      *secretbox.Box
	settings *setting.Service
	runners  *runner.Service
	now      time.Time

	group            *group.Group
	project, other   *project.Project
	root, owner      *user.User // the owner is one of the group
	chief            *user.User // owns the project alone
	maintainer       *user.User // of the project
	stranger, friend *user.User // the friend maintains the other project

	mu      sync.Mutex
	records []bus.AuditRecord
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC)}
	c := coretest.New(t, coretest.Clock(func() time.Time { return w.now }))
	w.db, w.box, w.settings = c.DB, c.Box, c.Settings
	w.runners = runner.New(runner.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Groups: c.Groups, Projects: c.Projects, Clock: c.Clock, Log: c.Log,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Start(t, &httpapi.Server{Endpoints: w.runners.Endpoints(), Authenticator: c.Tokens, Clock: c.Clock})

	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	w.owner = usertest.New(t, w.db, usertest.Named("owner"))
	w.chief = usertest.New(t, w.db, usertest.Named("chief"))
	w.maintainer = usertest.New(t, w.db, usertest.Named("maintainer"))
	w.stranger = usertest.New(t, w.db, usertest.Named("stranger"))
	w.friend = usertest.New(t, w.db, usertest.Named("friend"))
	w.group = grouptest.New(t, w.db, grouptest.Named("team"))
	w.project = projecttest.New(t, w.db, w.group.ID, projecttest.Named("tool"))
	w.other = projecttest.New(t, w.db, w.group.ID, projecttest.Named("other"))
	grouptest.Join(t, w.db, w.group, w.owner, access.Owner)
	projecttest.Join(t, w.db, w.project, w.chief, access.Owner)
	projecttest.Join(t, w.db, w.project, w.maintainer, access.Maintainer)
	projecttest.Join(t, w.db, w.other, w.friend, access.Maintainer)
	return w
}

// as calls with a fresh token.
func (w *fixture) as(t testing.TB, u *user.User) *httpapitest.Client {
	t.Helper()
	return w.With("Private-Token", tokentest.New(t, w.db, w.box, u.ID))
}

// made is a new runner as the API shows it.
type made struct {
	ID             int64   `json:"id"`
	Token          string  `json:"token"`
	TokenExpiresAt *string `json:"token_expires_at"`
}

// create makes a runner as somebody who may.
func (w *fixture) create(t testing.TB, by *user.User, body map[string]any) made {
	t.Helper()
	return httpapitest.JSON[made](t, w.as(t, by).Do(t, "POST", "/user/runners", body).WantStatus(t, 201))
}

func (w *fixture) ofInstance(t testing.TB) made {
	return w.create(t, w.root, map[string]any{"runner_type": "instance_type"})
}

func (w *fixture) ofGroup(t testing.TB) made {
	return w.create(t, w.owner, map[string]any{"runner_type": "group_type", "group_id": w.group.ID})
}

func (w *fixture) ofProject(t testing.TB) made {
	return w.create(t, w.chief, map[string]any{"runner_type": "project_type", "project_id": w.project.ID})
}

func (w *fixture) set(t testing.TB, change func(*setting.Settings)) {
	t.Helper()
	if err := w.settings.Update(t.Context(), access.Actor{}, change); err != nil {
		t.Fatal(err)
	}
}

// taken returns the audited acts since the last call.
func (w *fixture) taken() []bus.AuditRecord {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := w.records
	w.records = nil
	return records
}

func id(n int64) string { return strconv.FormatInt(n, 10) }
