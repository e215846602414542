package audit_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

type object = map[string]any

type event bus.AuditRecord

func (event) EventName() string              { return "event" }
func (e event) AuditRecord() bus.AuditRecord { return bus.AuditRecord(e) }

// fixture is a public group with a project, people of every role in both, an administrator, an auditor and a stranger.
type fixture struct {
	*apptest.Instance
	house                   *group.Group
	project                 *project.Project
	root, auditor, stranger *user.User
	people                  map[access.Role]*user.User
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...), people: map[access.Role]*user.User{}}
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.auditor = usertest.New(t, w.DB, usertest.Named("auditor"))
	w.exec(t, `update users set auditor = true where id = $1`, w.auditor.ID)
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		grouptest.Join(t, w.DB, w.house, u, role)
		w.people[role] = u
	}
	return w
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// record writes events as a room does, each in a transaction of its own.
func (w *fixture) record(t testing.TB, by *user.User, of bus.Entity, types ...string) {
	t.Helper()
	for _, name := range types {
		d := bus.AuditRecord{Type: name, Entity: of, Message: "did " + name}
		if by != nil {
			d.By = access.Actor{Person: by.Person()}
		}
		if err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error { return w.Audit.Record(t.Context(), tx, event(d)) }); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *fixture) ofGroup() bus.Entity   { return w.house.Entity() }
func (w *fixture) ofProject() bus.Entity { return w.project.Entity() }
func (w *fixture) groupPath() string     { return fmt.Sprintf("/groups/%d/audit_events", w.house.ID) }
func (w *fixture) projectPath() string   { return fmt.Sprintf("/projects/%d/audit_events", w.project.ID) }

// shown is an event as the API shows it.
type shown struct {
	ID         int64     `json:"id"`
	AuthorID   int64     `json:"author_id"`
	EntityID   int64     `json:"entity_id"`
	EntityType string    `json:"entity_type"`
	CreatedAt  time.Time `json:"created_at"`
	Details    struct {
		EventName string `json:"event_name"`
	} `json:"details"`
}

func (w *fixture) list(t testing.TB, as *user.User, path string) []shown {
	t.Helper()
	return httpapitest.JSON[[]shown](t, w.As(t, as).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK))
}

// names are the types of events, in their order.
func names(all []shown) []string {
	out := []string{}
	for _, e := range all {
		out = append(out, e.Details.EventName)
	}
	return out
}

func members(t testing.TB, body []byte) object {
	t.Helper()
	var all object
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
