package variable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/setting/settingtest"
	"stithy/internal/variable"
)

const path = "/admin/ci/variables"

func newService(t testing.TB, db *postgres.DB, b *bus.Bus) *variable.Service {
	return on(t, db, b, settingtest.Instance())
}

// on is the room on an instance whose settings are the defaults.
func on(t testing.TB, db *postgres.DB, b *bus.Bus, instance setting.Instance) *variable.Service {
	return variable.New(variable.Deps{
		DB: db, Bus: b, Box: secretbox.Random(), Clock: clock.System(), Settings: settingtest.Unread(t, db, instance), Owners: &owner.Service{},
	})
}

func newClient(t *testing.T) *httpapitest.Client {
	return httpapitest.Serve(t, newService(t, postgrestest.New(t), bus.New()).Endpoints()...)
}

func TestVariablesAreCreatedShownUpdatedAndDeleted(t *testing.T) {
	t.Parallel()
	client := newClient(t).As(httpapitest.Admin)
	const plain = `{"variable_type":"env_var","key":"NEW_VARIABLE","value":"new value","protected":false,"masked":false,"raw":false,"description":null}`
	client.Do(t, "POST", path, url.Values{"key": {" NEW_VARIABLE\n"}, "value": {"new value"}}).Want(t, 201, plain)
	client.Do(t, "GET", path+"/NEW_VARIABLE", nil).Want(t, 200, plain)

	const full = `{"variable_type":"file","key":"NEW_VARIABLE","value":"value$more","protected":true,"masked":true,"raw":true,"description":"what for"}`
	client.Do(t, "PUT", path+"/NEW_VARIABLE", `{"key":"OTHER","value":"value$more","variable_type":"file","protected":true,"masked":true,"raw":true,"description":"what for"}`).
		Want(t, 200, full)
	client.Do(t, "GET", path, nil).Want(t, 200, "["+full+"]")
	client.Do(t, "PUT", path+"/NEW_VARIABLE", `{"value":"other$value","description":null,"protected":null}`).
		Want(t, 200, `{"variable_type":"file","key":"NEW_VARIABLE","value":"other$value","protected":true,"masked":true,"raw":true,"description":null}`)

	client.Do(t, "DELETE", path+"/NEW_VARIABLE", nil).Want(t, 204, "")
	client.Do(t, "GET", path, nil).Want(t, 200, "[]")
}

func TestOnlyAdministratorsReachVariablesWhateverTheyBring(t *testing.T) {
	t.Parallel()
	client := httpapitest.Serve(t, newService(t, &postgres.DB{}, bus.New()).Endpoints()...)
	for _, route := range []string{
		"GET " + path, "POST " + path, "GET " + path + "/A", "PUT " + path + "/A", "DELETE " + path + "/A",
	} {
		method, path, _ := strings.Cut(route, " ")
		client.Do(t, method, path, nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
		client.As(httpapitest.User).Do(t, method, path, nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	}
}

func TestAHostedInstanceHasNoVariablesOfItsOwn(t *testing.T) {
	t.Parallel()
	instance := settingtest.Instance()
	instance.Hosted = true
	client := httpapitest.Serve(t, on(t, &postgres.DB{}, bus.New(), instance).Endpoints()...).As(httpapitest.Admin)
	client.Do(t, "GET", path, nil).Want(t, 404, `{"message":"404 Not Found"}`)
	client.Do(t, "POST", path, nil).Want(t, 404, `{"message":"404 Not Found"}`)
}

func TestVariablesAreRefusedInKnownWords(t *testing.T) {
	t.Parallel()
	client := newClient(t).As(httpapitest.Admin)
	client.Do(t, "POST", path, `{"key":"TAKEN","value":"x"}`).WantStatus(t, 201)
	long := strings.Repeat("ä", 10_000)
	for _, test := range []struct{ call, body, want string }{
		{"POST", `{"value":"x"}`, `{"error":"key is missing"}`},
		{"POST", `{}`, `{"error":"key is missing, value is missing"}`},
		{"POST", `{"key":"A"}`, `{"error":"value is missing"}`},
		{"POST", `{"key":"A","value":"x","variable_type":"secret"}`, `{"error":"variable_type does not have a valid value"}`},
		{"POST", `{"key":"A","value":"x","masked":"perhaps"}`, `{"error":"masked is invalid"}`},
		{"POST", `{"key":"A-B","value":"x"}`, `{"message":{"key":["can contain only letters, digits and '_'."]}}`},
		{"POST", `{"key":"Ä","value":"x"}`, `{"message":{"key":["can contain only letters, digits and '_'."]}}`},
		{"POST", `{"key":" ","value":"x"}`, `{"message":{"key":["can't be blank","can contain only letters, digits and '_'."]}}`},
		{"POST", `{"key":"` + strings.Repeat("A", 256) + `","value":"x"}`, `{"message":{"key":["is too long (maximum is 255 characters)"]}}`},
		{"POST", `{"key":"TAKEN","value":"x"}`, `{"message":{"key":["(TAKEN) has already been taken"]}}`},
		{"POST", `{"key":"A","value":"` + long + `x"}`, `{"message":{"value":["The value of the provided variable exceeds the 10000 character limit"]}}`},
		{"POST", `{"key":"A","value":"short","masked":true}`, `{"message":{"value":["is invalid"]}}`},
		{"POST", `{"key":"A","value":"x","description":"` + strings.Repeat("d", 256) + `"}`, `{"message":{"description":["is too long (maximum is 255 characters)"]}}`},
		{"PUT /TAKEN", `{}`, `{"error":"value is missing"}`},
		{"PUT /TAKEN", `{"key":"TAKEN"}`, `{"error":"value is missing"}`},
		{"PUT /ABSENT", `{}`, `{"error":"value is missing"}`},
		{"PUT /TAKEN", `{"value":"x","variable_type":"secret"}`, `{"error":"variable_type does not have a valid value"}`},
		{"PUT /TAKEN", `{"value":"short","masked":true}`, `{"message":{"value":["is invalid"]}}`},
		{"PUT /TAKEN", `{"value":"` + long + `x"}`, `{"message":{"value":["The value of the provided variable exceeds the 10000 character limit"]}}`},
	} {
		method, key, _ := strings.Cut(test.call, " ")
		client.Do(t, method, path+key, test.body).Want(t, 400, test.want)
	}
	client.Do(t, "POST", path, `{"key":"A","value":"`+long+`"}`).WantStatus(t, 201)
	client.Do(t, "POST", path, `{"key":"`+strings.Repeat("A", 255)+`","value":""}`).WantStatus(t, 201)

	const missing = `{"message":"404 InstanceVariable Not Found"}`
	client.Do(t, "GET", path+"/taken", nil).Want(t, 404, missing) // the case counts
	client.Do(t, "PUT", path+"/taken", `{"value":"x"}`).Want(t, 404, missing)
	client.Do(t, "DELETE", path+"/taken", nil).Want(t, 404, missing)
}

func TestVariablesAreListedInPagesByAge(t *testing.T) {
	t.Parallel()
	client := newClient(t).As(httpapitest.Admin)
	for _, key := range []string{"C", "A", "B"} {
		client.Do(t, "POST", path, map[string]string{"key": key, "value": "x"}).WantStatus(t, 201)
	}
	var got []string
	for _, page := range []string{"1", "2", "3"} {
		reply := client.Do(t, "GET", path+"?per_page=2&page="+page, nil).WantStatus(t, 200)
		for _, v := range httpapitest.JSON[[]struct{ Key string }](t, reply) {
			got = append(got, v.Key)
		}
		if total := reply.Header.Get("X-Total"); total != "3" {
			t.Errorf("page %s of %q", page, total)
		}
	}
	if diff := cmp.Diff([]string{"C", "A", "B"}, got); diff != "" {
		t.Error(diff)
	}
	client.Do(t, "GET", path+"?per_page=0", nil).Want(t, 400, `{"error":"per_page has a value not allowed"}`)
}

func TestThereAreNeverMoreThan25Variables(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	client := httpapitest.Serve(t, newService(t, db, bus.New()).Endpoints()...).As(httpapitest.Admin)
	const limit = `{"message":{"base":["Maximum number of ci instance level variables (25) exceeded"]}}`
	var created atomic.Int32
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			reply := client.Do(t, "POST", path, fmt.Sprintf(`{"key":"KEY_%d","value":"x"}`, i))
			if reply.Status == 201 {
				created.Add(1)
				return
			}
			reply.Want(t, 400, limit)
		})
	}
	group.Wait()
	rows, err := postgres.Value[int32](t.Context(), db, "select count(*) from instance_variables")
	if err != nil || rows != 25 || created.Load() != 25 {
		t.Errorf("%d created, %d stored, %v", created.Load(), rows, err)
	}
	first := httpapitest.JSON[[]struct{ Key string }](t, client.Do(t, "GET", path, nil))[0].Key
	client.Do(t, "POST", path, map[string]string{"key": first, "value": "x"}).Want(t, 400,
		`{"message":{"base":["Maximum number of ci instance level variables (25) exceeded"],"key":["(`+first+`) has already been taken"]}}`)
	client.Do(t, "PUT", path+"/"+first, `{"value":"y"}`).WantStatus(t, 200)
	client.Do(t, "DELETE", path+"/"+first, nil).Want(t, 204, "")
	client.Do(t, "POST", path, `{"key":"ROOM_AGAIN","value":"x"}`).WantStatus(t, 201)
}

func TestAnAdministratorDecidesHowManyVariablesThereMayBe(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	settings := settingtest.New(t, db)
	s := variable.New(variable.Deps{DB: db, Bus: bus.New(), Box: secretbox.Random(), Clock: clock.System(), Settings: settings, Owners: &owner.Service{}})
	client := httpapitest.Serve(t, s.Endpoints()...).As(httpapitest.Admin)
	most := func(n int) {
		t.Helper()
		err := settings.Update(t.Context(), access.Actor{Person: &httpapitest.Admin}, func(now *setting.Settings) { now.CIInstanceLevelVariables = n })
		if err != nil {
			t.Fatal(err)
		}
	}
	most(1)
	client.Do(t, "POST", path, `{"key":"A","value":"x"}`).WantStatus(t, 201)
	client.Do(t, "POST", path, `{"key":"B","value":"x"}`).Want(t, 400,
		`{"message":{"base":["Maximum number of ci instance level variables (1) exceeded"]}}`)
	most(0) // any number
	for i := range 30 {
		client.Do(t, "POST", path, fmt.Sprintf(`{"key":"KEY_%d","value":"x"}`, i)).WantStatus(t, 201)
	}
}

func TestOneKeyIsTakenOnce(t *testing.T) {
	t.Parallel()
	client := newClient(t).As(httpapitest.Admin)
	var created atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			reply := client.Do(t, "POST", path, `{"key":"SAME","value":"x"}`)
			if reply.Status == 201 {
				created.Add(1)
				return
			}
			reply.Want(t, 400, `{"message":{"key":["(SAME) has already been taken"]}}`)
		})
	}
	group.Wait()
	if created.Load() != 1 {
		t.Errorf("created %d times", created.Load())
	}
}

func TestTheValueIsNeitherStoredNorLoggedNorTraced(t *testing.T) {
	t.Parallel()
	const canary = "canary-6f1d2c"
	db := postgrestest.New(t)
	b := bus.New()
	var log bytes.Buffer
	fail := false
	b.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		fmt.Fprintf(&log, "%+v %+v\n", e, e.(bus.Audited).AuditRecord())
		if fail {
			return errors.New("the trail is full")
		}
		return nil
	})
	client := httpapitest.Start(t, &httpapi.Server{
		Endpoints: newService(t, db, b).Endpoints(), Log: slog.New(slog.NewTextHandler(&log, nil)),
	}).As(httpapitest.Admin)
	body := `{"key":"SECRET","value":"` + canary + `"}`
	client.Do(t, "POST", path, body).WantStatus(t, 201)
	client.Do(t, "PUT", path+"/SECRET", body).WantStatus(t, 200)
	fail = true
	client.Do(t, "PUT", path+"/SECRET", body).Want(t, 500, `{"message":"500 Internal Server Error"}`)
	client.Do(t, "POST", path, `{"key":"OTHER","value":"`+canary+`","raw":[]}`).Want(t, 400, `{"error":"raw is invalid"}`)

	rows, err := postgres.Values[string](t.Context(), db, `select v::text || ' ' || encode(v.sealed_value, 'escape') from instance_variables v`)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%q, %v", rows, err)
	}
	if said := rows[0] + log.String(); strings.Contains(said, canary) {
		t.Error(said)
	}
	if !strings.Contains(log.String(), "the trail is full") {
		t.Errorf("the failure is not in the log:\n%s", log.String())
	}
}

func TestASealedValueDoesNotOpenUnderAnotherKey(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	client := httpapitest.Serve(t, newService(t, db, bus.New()).Endpoints()...).As(httpapitest.Admin)
	client.Do(t, "POST", path, `{"key":"A","value":"x"}`).WantStatus(t, 201)
	if _, err := db.Exec(t.Context(), `update instance_variables set key = 'B'`); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + "/B"} {
		client.Do(t, "GET", path, nil).Want(t, 500, `{"message":"500 Internal Server Error"}`)
	}
}

func TestEachActLeavesATraceWithTheKeyAlone(t *testing.T) {
	t.Parallel()
	b := bus.New()
	var records []bus.AuditRecord
	b.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		records = append(records, e.(bus.Audited).AuditRecord())
		return nil
	})
	s := newService(t, postgrestest.New(t), b)
	by := access.Actor{Person: &httpapitest.Admin}
	v := &variable.Variable{Key: "A", Value: "x", Type: variable.EnvVar}
	if err := s.Create(t.Context(), by, v); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), by, "A", func(v *variable.Variable) { v.Value = "y" }); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), by, "A"); err != nil {
		t.Fatal(err)
	}
	var want []bus.AuditRecord
	for _, act := range []string{"created", "updated", "deleted"} {
		want = append(want, bus.AuditRecord{
			Type: "ci_instance_variable_" + act, By: by, Entity: bus.Instance(),
			Target: bus.Target{Type: "Ci::InstanceVariable", ID: v.ID, Details: "A"},
		})
	}
	if diff := cmp.Diff(want, records, cmpopts.EquateComparable(by.Address)); diff != "" {
		t.Error(diff)
	}
}
