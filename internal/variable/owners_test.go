package variable_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

// fixture is the room with a group, a group in it, a project and people.
type fixture struct {
	*httpapitest.Client
	db                       *postgres.DB
	box                      *secretbox.Box
	variables                *variable.Service
	top, group               *group.Group
	project                  *project.Project
	owner, maintainer, other *user.User // the other is a developer of the project
	mu                       sync.Mutex
	records                  []bus.AuditRecord
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c := coretest.New(t, coretest.Clock(clock.System()))
	w := &fixture{db: c.DB, box: c.Box}
	w.variables = variable.New(variable.Deps{DB: c.DB, Bus: c.Bus, Box: c.Box, Clock: c.Clock, Settings: c.Settings, Owners: c.Owners})
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Start(t, &httpapi.Server{
		Endpoints: w.variables.Endpoints(), Authenticator: c.Tokens, Clock: c.Clock, Log: c.Log,
	})
	w.owner = usertest.New(t, w.db, usertest.Named("owner"))
	w.maintainer = usertest.New(t, w.db, usertest.Named("maintainer"))
	w.other = usertest.New(t, w.db, usertest.Named("other"))
	w.top = grouptest.New(t, w.db, grouptest.Named("top"))
	w.group = grouptest.New(t, w.db, grouptest.Named("team"), grouptest.Under(w.top))
	w.project = projecttest.New(t, w.db, w.group.ID, projecttest.Named("tool"))
	grouptest.Join(t, w.db, w.top, w.owner, access.Owner)
	projecttest.Join(t, w.db, w.project, w.maintainer, access.Maintainer)
	projecttest.Join(t, w.db, w.project, w.other, access.Developer)
	return w
}

func (w *fixture) as(t testing.TB, u *user.User) *httpapitest.Client {
	t.Helper()
	return w.With("Private-Token", tokentest.New(t, w.db, w.box, u.ID))
}

func (w *fixture) inProject() string { return fmt.Sprintf("/projects/%d/variables", w.project.ID) }
func (w *fixture) inGroup() string   { return fmt.Sprintf("/groups/%d/variables", w.group.ID) }

func TestAVariableIsChangedAndDeletedInItsOwnPlaceAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := access.Actor{Person: w.owner.Person()}
	in := func(kind bus.EntityKind, id int64) bus.Entity { return bus.Entity{Kind: kind, ID: id} }
	sibling := projecttest.New(t, w.db, w.group.ID, projecttest.Named("sibling"))
	for _, home := range []bus.Entity{in(bus.OfProject, w.project.ID), in(bus.OfGroup, w.group.ID)} {
		v := &variable.Variable{Key: "A", Value: "x", Type: variable.EnvVar}
		if err := w.variables.CreateIn(t.Context(), by, home, v); err != nil {
			t.Fatal(err)
		}
		for _, of := range []bus.Entity{in(bus.OfProject, w.project.ID), in(bus.OfProject, sibling.ID), in(bus.OfGroup, w.group.ID), in(bus.OfGroup, w.top.ID)} {
			if of == home {
				continue
			}
			if _, err := w.variables.UpdateIn(t.Context(), by, of, v.ID, func(v *variable.Variable) { v.Value = "y" }); !fault.Is(err, fault.NotFound) {
				t.Errorf("%v is changed in %v: %v", home, of, err)
			}
			if err := w.variables.DeleteIn(t.Context(), by, of, v); !fault.Is(err, fault.NotFound) {
				t.Errorf("%v is deleted in %v: %v", home, of, err)
			}
		}
		if got, err := w.variables.FindIn(t.Context(), home, "A", nil); err != nil || got.Value != "x" {
			t.Errorf("%v: %+v %v", home, got, err)
		}
		if err := w.variables.DeleteIn(t.Context(), by, home, v); err != nil {
			t.Error(err)
		}
	}
}

// Not even who can write to the table gets at a value by taking it to a place of their own.
func TestASealedValueDoesNotOpenInAnotherPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.as(t, w.owner)
	sibling := projecttest.New(t, w.db, w.group.ID, projecttest.Named("sibling"))
	elsewhere := map[string]string{
		w.inProject(): fmt.Sprintf("/projects/%d/variables", sibling.ID),
		w.inGroup():   fmt.Sprintf("/groups/%d/variables", w.top.ID),
	}
	for from := range elsewhere {
		as.Do(t, "POST", from, `{"key":"A","value":"x"}`).WantStatus(t, 201)
	}
	for _, sql := range []string{
		fmt.Sprintf(`update variables set project_id = %d where project_id is not null`, sibling.ID),
		fmt.Sprintf(`update variables set namespace_id = %d where namespace_id is not null`, w.top.ID),
	} {
		if _, err := w.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range elsewhere {
		as.Do(t, "GET", to+"/A", nil).Want(t, 500, `{"message":"500 Internal Server Error"}`)
	}
}

func TestVariablesOfAPlaceAreKeptByTheirManagers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct {
		by                     *user.User
		in, missing, act, kind string
	}{
		{w.maintainer, w.inProject(), "Variable", "ci_variable_", "Ci::Variable"},
		{w.owner, w.inGroup(), "GroupVariable", "ci_group_variable_", "Ci::GroupVariable"},
	} {
		w.records = nil
		as := w.as(t, c.by)
		const plain = `{"variable_type":"env_var","key":"A","value":"x","hidden":false,"protected":false,"masked":false,"raw":false,"environment_scope":"*","description":null}`
		as.Do(t, "POST", c.in, `{"key":" A ","value":"x"}`).Want(t, 201, plain)
		as.Do(t, "GET", c.in, nil).Want(t, 200, "["+plain+"]")
		as.Do(t, "POST", c.in, `{"key":"A","value":"y"}`).Want(t, 400, `{"message":{"key":["(A) has already been taken"]}}`)
		as.Do(t, "POST", c.in, `{"key":"A","value":"y","environment_scope":"production"}`).WantStatus(t, 201)
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			as.Do(t, method, c.in+"/A", nil).Want(t, 409,
				`{"message":"There are multiple variables with provided parameters. Please use 'filter[environment_scope]'"}`)
			as.Do(t, method, c.in+"/B", nil).Want(t, 404, `{"message":"404 `+c.missing+` Not Found"}`)
		}
		as.Do(t, "PUT", c.in+"/A?filter[environment_scope]=production", `{"key":"C","environment_scope":"staging","description":"d"}`).Want(t, 200,
			`{"variable_type":"env_var","key":"A","value":"y","hidden":false,"protected":false,"masked":false,"raw":false,"environment_scope":"staging","description":"d"}`)
		as.Do(t, "GET", c.in+"/A?filter[environment_scope]=*", nil).Want(t, 200, plain)
		as.Do(t, "DELETE", c.in+"/A?filter[environment_scope]=staging", nil).WantStatus(t, 204)
		as.Do(t, "GET", c.in+"/A", nil).Want(t, 200, plain)
		for body, want := range map[string]string{
			`{"value":"x"}`:                                            `{"error":"key is missing"}`,
			`{"key":"B"}`:                                              `{"error":"value is missing"}`,
			`{"key":"B C","value":"x"}`:                                `{"message":{"key":["can contain only letters, digits and '_'."]}}`,
			`{"key":"B","value":"short","masked":true}`:                `{"message":{"value":["is invalid"]}}`,
			`{"key":"B","value":"short","masked_and_hidden":true}`:     `{"message":{"value":["is invalid"]}}`,
			`{"key":"B","value":"x","environment_scope":"a;b"}`:        `{"message":{"environment_scope":["can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces"]}}`,
			`{"key":"B","value":"` + strings.Repeat("x", 65537) + `"}`: `{"message":{"value":["The value of the provided variable exceeds the 65536 character limit"]}}`,
		} {
			as.Do(t, "POST", c.in, body).Want(t, 400, want)
		}
		var acts []string
		for _, d := range w.records {
			acts = append(acts, d.Type)
			if d.Target.Type != c.kind || d.Target.Details != "A" || !d.By.Is(c.by.ID) {
				t.Errorf("the trail says %+v", d)
			}
		}
		if want := strings.Join([]string{c.act + "created", c.act + "created", c.act + "updated", c.act + "deleted"}, " "); strings.Join(acts, " ") != want {
			t.Errorf("the trail says %v", acts)
		}
	}
}

func TestCI04_VariablesAreShownToThoseWhoManageThePlaceAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.as(t, w.maintainer).Do(t, "POST", w.inProject(), `{"key":"CANARY_NAME","value":"canary-value"}`).WantStatus(t, 201)
	w.as(t, w.owner).Do(t, "POST", w.inGroup(), `{"key":"CANARY_NAME","value":"canary-value"}`).WantStatus(t, 201)
	stranger := usertest.New(t, w.db)
	for _, c := range []struct {
		by     *httpapitest.Client
		in     string
		status int
	}{
		{w.as(t, w.other), w.inProject(), 403}, {w.as(t, stranger), w.inProject(), 404}, {w.Client, w.inProject(), 404},
		{w.as(t, w.maintainer), w.inGroup(), 403}, {w.as(t, stranger), w.inGroup(), 404},
	} {
		for _, call := range [][2]string{{"GET", ""}, {"GET", "/CANARY_NAME"}, {"PUT", "/CANARY_NAME"}, {"DELETE", "/CANARY_NAME"}, {"POST", ""}} {
			r := c.by.Do(t, call[0], c.in+call[1], `{"key":"X","value":"y"}`)
			if r.Status != c.status && r.Status != 401 || strings.Contains(r.Body, "anary") {
				t.Errorf("%v: %d %s", call, r.Status, r.Body)
			}
		}
	}
}

func TestCI05_AHiddenValueNeverComesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const canary = "canary-0123456789"
	as := w.as(t, w.maintainer)
	const shown = `{"variable_type":"env_var","key":"A","value":null,"hidden":true,"protected":false,"masked":true,"raw":false,"environment_scope":"*","description":null}`
	as.Do(t, "POST", w.inProject(), `{"key":"A","value":"`+canary+`","masked_and_hidden":true}`).Want(t, 201, shown)
	as.Do(t, "GET", w.inProject()+"/A", nil).Want(t, 200, shown)
	as.Do(t, "GET", w.inProject(), nil).Want(t, 200, "["+shown+"]")
	as.Do(t, "PUT", w.inProject()+"/A", `{"masked_and_hidden":false,"hidden":false}`).Want(t, 200, shown)
	as.Do(t, "PUT", w.inProject()+"/A", `{"masked":false}`).Want(t, 400, `{"message":{"masked":["must stay set where the value is hidden"]}}`)
	for _, body := range []string{`{"value":"` + canary + ` x"}`, `{"environment_scope":";"}`, `{"raw":[]}`} {
		if r := as.Do(t, "PUT", w.inProject()+"/A", body); r.Status != 400 || strings.Contains(r.Body, "canary") {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
	given, err := w.variables.ForJob(t.Context(), w.db, variable.Query{ProjectID: w.project.ID})
	if err != nil || len(given) != 1 || given[0].Value.Reveal() != canary || !given[0].Masked {
		t.Errorf("a job gets %+v, %v", given, err)
	}
	rows, err := postgres.Values[string](t.Context(), w.db, `select v::text || ' ' || encode(v.sealed_value, 'escape') from variables v`)
	if err != nil || strings.Contains(strings.Join(rows, " "), "canary") {
		t.Error("the value is stored as it is", err)
	}
}

func TestWhatAJobIsGiven(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	put := func(of *bus.Entity, key, scope string, protected bool, value string) {
		t.Helper()
		v := &variable.Variable{Key: key, Value: secretbox.Secret(value), Type: variable.EnvVar, Scope: scope, Protected: protected}
		var err error
		if of == nil {
			err = w.variables.Create(t.Context(), access.Actor{}, v)
		} else {
			err = w.variables.CreateIn(t.Context(), access.Actor{}, *of, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	top, team, tool := w.top.Entity(), w.group.Entity(), w.project.Entity()
	put(nil, "A", "", false, "instance")
	put(nil, "ONLY", "", false, "instance")
	put(nil, "SECRET", "", true, "instance")
	put(&top, "A", "*", false, "top")
	put(&top, "B", "*", false, "top")
	put(&team, "B", "*", false, "team")
	put(&tool, "A", "*", false, "tool")
	put(&tool, "E", "*", false, "all")
	put(&tool, "E", "review/*", false, "reviews")
	put(&tool, "E", "review/feature-*", false, "features")
	put(&tool, "E", "review/feature-1", false, "one")
	put(&team, "E", "review/feature-2", false, "a group says less than the project")
	put(&tool, "P", "*", true, "protected")
	put(&tool, "P", "prod", false, "of prod")
	put(&team, "OFGROUP", "*", true, "kept")
	put(&team, "OFGROUP", "prod", true, "kept for prod")
	for _, c := range []struct {
		protected   bool
		environment string
		want        string
	}{
		{false, "", "A=tool B=team E=all ONLY=instance"},
		{true, "", "A=tool B=team E=all OFGROUP=kept ONLY=instance P=protected SECRET=instance"},
		{false, "review/other", "A=tool B=team E=reviews ONLY=instance"},
		{false, "review/feature-2", "A=tool B=team E=features ONLY=instance"},
		{false, "review/feature-1", "A=tool B=team E=one ONLY=instance"},
		{true, "prod", "A=tool B=team E=all OFGROUP=kept for prod ONLY=instance P=of prod SECRET=instance"},
		{false, "prod", "A=tool B=team E=all ONLY=instance P=of prod"},
		{true, "*", "A=tool B=team E=all OFGROUP=kept ONLY=instance P=protected SECRET=instance"},
	} {
		given, err := w.variables.ForJob(t.Context(), w.db, variable.Query{
			ProjectID: w.project.ID, GroupIDs: []int64{w.top.ID, w.group.ID}, Protected: c.protected, Environment: c.environment,
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range given {
			got = append(got, v.Key+"="+v.Value.Reveal())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("protected %v in %q: %v, want %s", c.protected, c.environment, got, c.want)
		}
	}
	if given, err := w.variables.ForJob(t.Context(), w.db, variable.Query{ProjectID: w.project.ID + 1000}); err != nil || len(given) != 2 {
		t.Errorf("another project is given %+v, %v", given, err)
	}
}
