package audit_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/app/apptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
)

type unremarkable struct{}

func (unremarkable) EventName() string { return "unremarkable" }

type row struct {
	EventType     string
	AuthorID      int64
	AuthorName    string
	EntityType    string
	EntityPath    string
	TargetType    string
	TargetDetails string
	IPAddress     *string `db:"ip_address"`
	Details       json.RawMessage
}

func recorded(t *testing.T, d bus.AuditRecord) (r row, details map[string]any) {
	t.Helper()
	i := apptest.New(t)
	if err := i.DB.InTx(t.Context(), func(tx pgx.Tx) error { return i.Audit.Record(t.Context(), tx, event(d)) }); err != nil {
		t.Fatal(err)
	}
	r, err := postgres.One[row](t.Context(), i.DB, `select event_type, author_id, author_name, entity_type, entity_path, target_type,
		target_details, ip_address, details from audit_events`)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Details, &details); err != nil {
		t.Fatal(err)
	}
	return r, details
}

func TestAnActIsRecorded(t *testing.T) {
	t.Parallel()
	root := access.Person{ID: 1, Name: "Root", Email: "root@example.com"}
	r, details := recorded(t, bus.AuditRecord{
		Type: "user_email_address_updated", By: access.Actor{Person: &root, Address: netip.MustParseAddr("192.0.2.1")},
		Entity: bus.Entity{Kind: bus.OfUser, ID: 7, Path: "ann", Name: "Ann"},
		Change: &bus.Change{What: "email address", From: "a@example.com", To: "b@example.com"},
	})
	if r.AuthorID != 1 || r.EntityType != "User" || r.EntityPath != "ann" || r.TargetType != "User" || r.TargetDetails != "Ann" || *r.IPAddress != "192.0.2.1" {
		t.Errorf("got %+v", r)
	}
	want := map[string]any{
		"author_name": "Root", "author_email": "root@example.com", "author_class": "User", "target_id": 7.0, "target_type": "User",
		"target_details": "Ann", "ip_address": "192.0.2.1", "entity_path": "ann", "event_name": "user_email_address_updated",
		"change": "email address", "from": "a@example.com", "to": "b@example.com",
	}
	if diff := cmp.Diff(want, details); diff != "" {
		t.Error(diff)
	}
}

func TestAnActOfTheInstanceNamesItsPathAndNobody(t *testing.T) {
	t.Parallel()
	r, details := recorded(t, bus.AuditRecord{
		Type: "ci_instance_variable_created", Entity: bus.Instance(), Message: "Added <b>KEY</b> &lt;script&gt;",
		Target: bus.Target{Type: "Ci::InstanceVariable", ID: 3, Details: "KEY"}, Add: "variable",
	})
	if r.AuthorID != -1 || r.EntityType != "Instance" || r.EntityPath != "svc_instance" || r.TargetDetails != "KEY" {
		t.Errorf("got %+v", r)
	}
	if details["custom_message"] != "Added KEY " || details["add"] != "variable" {
		t.Errorf("got %v", details)
	}
}

func TestDO09_LongTextsAreCutToTheirColumns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 70_000)
	r, _ := recorded(t, bus.AuditRecord{
		Type: "user_created", By: access.Actor{Person: &access.Person{ID: 1, Name: long}},
		Entity: bus.Entity{Kind: bus.OfUser, ID: 7, Path: long, Name: long},
		Change: &bus.Change{What: "name", From: long, To: long}, Message: long,
	})
	if n := len([]rune(r.TargetDetails)); n != 5500 {
		t.Errorf("%d characters", n)
	}
}

func TestAnEventWithoutAnAuditRecordLeavesNoTrace(t *testing.T) {
	t.Parallel()
	i := apptest.New(t)
	if err := i.DB.InTx(t.Context(), func(tx pgx.Tx) error { return i.Audit.Record(t.Context(), tx, unremarkable{}) }); err != nil {
		t.Fatal(err)
	}
	if n, err := postgres.Value[int](t.Context(), i.DB, `select count(*) from audit_events`); n != 0 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// turnTo moves the time of an instance to a moment.
func turnTo(t *testing.T, i *apptest.Instance, text string) {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	i.Turn(moment.Sub(i.Now()))
}

func TestPartitionsAreMadeAheadAndAgain(t *testing.T) {
	t.Parallel()
	i := apptest.New(t)
	// A row that came before its partition stays where it is.
	turnTo(t, i, "2026-12-24T12:00:00Z")
	if err := i.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return i.Audit.Record(t.Context(), tx, event{Type: "x", Entity: bus.Instance()})
	}); err != nil {
		t.Fatal(err)
	}
	turnTo(t, i, "2026-11-15T12:00:00Z")
	for range 2 {
		if err := i.Audit.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := postgres.Values[string](t.Context(), i.DB, `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'audit_events'::regclass and c.relname > 'audit_events_2025' order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"audit_events_202611", "audit_events_202701", "audit_events_202702", "audit_events_default"}, tables); diff != "" {
		t.Error(diff)
	}
}

func TestAMonthThatAnEarlierReleaseMadeGetsItsIndexes(t *testing.T) {
	t.Parallel()
	i := apptest.New(t)
	if _, err := i.DB.Exec(t.Context(), `create table audit_events_202501 partition of audit_events
		for values from ('2025-01-01') to ('2025-02-01')`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := i.Audit.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := postgres.Values[string](t.Context(), i.DB, `select indexrelid::regclass::text from pg_index
		where indrelid = 'audit_events_202501'::regclass and indisvalid and indexrelid::regclass::text ~ '(kind|own)$' order by 1`)
	if diff := cmp.Diff([]string{"audit_events_202501_kind", "audit_events_202501_own"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := i.DB.Exec(t.Context(), `truncate audit_events_202501`); err == nil {
		t.Error("it can be truncated")
	}
}

func TestARolledBackActLeavesNoTrace(t *testing.T) {
	t.Parallel()
	i, undo := apptest.New(t), errors.New("undo")
	err := i.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := i.Audit.Record(t.Context(), tx, event{Type: "x", Entity: bus.Instance()}); err != nil {
			return err
		}
		return undo
	})
	n, countErr := postgres.Value[int](t.Context(), i.DB, `select count(*) from audit_events`)
	if !errors.Is(err, undo) || n != 0 || countErr != nil {
		t.Errorf("%d rows, %v, %v", n, err, countErr)
	}
}
