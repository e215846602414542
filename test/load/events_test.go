package load

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/member"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/test/load/crowd"
)

// aListOfEvents is what a page of events may take.
const aListOfEvents = 20 * time.Millisecond

type eventForge struct {
	*forge
	crowd.Planned
	address string
	end     time.Time // of what happened
}

// TestListsOfManyEvents has STITHY_LOAD_EVENTS events of activity and STITHY_LOAD_AUDITS of the audit trail over three years. A database that
// STITHY_LOAD_EVENTS_DATABASE names, migrated with the folder STITHY_LOAD_DATA, is filled once and kept.
func TestListsOfManyEvents(t *testing.T) {
	events, audits := size(t, "STITHY_LOAD_EVENTS", "36000"), size(t, "STITHY_LOAD_AUDITS", "18000")
	const projects, issues = 1000, 20_000
	address, kept := os.Getenv("STITHY_LOAD_EVENTS_DATABASE"), true
	if address == "" {
		address, kept = postgrestest.URL(t), false
	}
	now := time.Now().UTC()
	end := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	planned, err := crowd.FindPlanned(t.Context(), address)
	if !kept || err != nil {
		began := time.Now()
		if _, err := crowd.Settle(t.Context(), address, projects); err != nil {
			t.Fatal(err)
		}
		if planned, err = crowd.Plan(t.Context(), address, issues, 5*issues, projects); err != nil {
			t.Fatal(err)
		}
		if err := crowd.Happen(t.Context(), address, end, events, audits, issues, projects); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d events of activity and %d of the audit trail in %v", events, audits, time.Since(began).Round(time.Second))
	}
	f := &eventForge{forge: newForge(t, address, events), Planned: planned, address: address, end: end}
	if f.tables, err = postgres.Values[string](t.Context(), f.app.DB,
		`select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent in ('events'::regclass, 'audit_events'::regclass)`); err != nil {
		t.Fatal(err)
	}
	t.Run("every list of activity is answered soon", f.activityIsQuick)
	t.Run("every list of the audit trail is answered soon, wherever the page is", f.trailIsFlat)
	t.Run("what happens is written down as fast as it happens", f.writersKeepUp)
	t.Run("a month that goes holds up nobody", f.monthsGo)
}

// quick measures a page, and holds it to its limit.
func (f *eventForge) quick(t *testing.T, path string) cost {
	t.Helper()
	for range 6 { // the plan of a prepared statement settles after some uses
		f.get(t, path, f.admin)
	}
	a, c := f.measure(t, path, f.admin)
	if len(a.ids) == 0 {
		t.Errorf("%s is empty", path)
	}
	if f.rows < large {
		return c
	}
	p50, _ := f.medians(t, path, path, f.admin)
	t.Logf("%-95s: %6d blocks, p50 %v", path, c.Buffers, p50.Round(10*time.Microsecond))
	if p50 > aListOfEvents {
		t.Errorf("%s takes %v", path, p50)
	}
	return c
}

// activityIsQuick asks for the newest events, and for those of a year and of three years ago.
func (f *eventForge) activityIsQuick(t *testing.T) {
	for _, list := range []string{"/events?scope=all", "/users/1/events?", "/users/40/events?", fmt.Sprintf("/projects/%d/events?", f.Project), "/projects/700/events?"} {
		first := f.quick(t, list+"&per_page=20")
		for _, years := range []int{1, 3} {
			deep := f.quick(t, list+"&per_page=20&before="+f.end.AddDate(-years, 0, 20).Format(time.DateOnly))
			if float64(deep.Buffers) > 1.15*float64(first.Buffers)+200 {
				t.Errorf("%s: %d blocks for the newest, %d for those of %d years ago", list, first.Buffers, deep.Buffers, years)
			}
		}
		f.quick(t, list+"&action=pushed")
		f.quick(t, list+"&target_type=issue")
	}
	f.quick(t, fmt.Sprintf("/projects/%d/events?sort=asc", f.Project))
}

func (f *eventForge) trailIsFlat(t *testing.T) {
	within := "created_after=" + f.end.AddDate(0, -7, 0).Format(time.DateOnly) + "&created_before=" + f.end.AddDate(0, -6, 0).Format(time.DateOnly)
	for list, narrowed := range map[string]string{
		"/audit_events?": "true", "/audit_events?entity_type=Project": "entity_type = 'Project'", "/audit_events?entity_type=User": "entity_type = 'User'",
		"/audit_events?entity_type=Project&entity_id=1":      "entity_type = 'Project' and entity_id = 1",
		fmt.Sprintf("/projects/%d/audit_events?", f.Project): "entity_type = 'Project' and entity_id = 1",
		fmt.Sprintf("/groups/%d/audit_events?", f.Group):     fmt.Sprintf("entity_type = 'Group' and entity_id = %d", f.Group),
	} {
		f.quick(t, list+"&"+within)
		f.quick(t, list)
		first := f.quick(t, list+"&pagination=keyset")
		for _, part := range []float64{0.5, 0.01} {
			id, err := postgres.Value[int64](t.Context(), f.app.DB,
				`select id from audit_events where `+narrowed+` and id >= (select $1::float8 * max(id) from audit_events) order by id limit 1`, part)
			if err != nil {
				t.Fatal(err)
			}
			cursor := paging.Cursor{OrderBy: "id", Desc: true, After: []string{strconv.FormatInt(id, 10)}}
			deep := f.quick(t, list+"&pagination=keyset&cursor="+cursor.String())
			if float64(deep.Buffers) > 1.15*float64(first.Buffers)+200 {
				t.Errorf("%s: %d blocks for the first page, %d after %v of it", list, first.Buffers, deep.Buffers, part)
			}
		}
	}
}

// monthsGo writes events while the oldest month is dropped, and looks at the slowest.
func (f *eventForge) monthsGo(t *testing.T) {
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	end, writers := make(chan struct{}), sync.WaitGroup{}
	slowest := make([]time.Duration, 4)
	for n := range slowest {
		writers.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				began := time.Now()
				_, err := pool.Exec(ctx, `insert into events (created_at, author_id, project_id, action) values (now(), 1, 1, 'created')`)
				if err == nil {
					_, err = pool.Exec(ctx, `insert into audit_events (created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_details, details)
						values (now(), 'user_logged_in', 1, 'Somebody', 'User', 1, 'somebody', 'User', 'somebody', '{}')`)
				}
				if err != nil {
					t.Error(err)
					return
				}
				slowest[n] = max(slowest[n], time.Since(began))
			}
		})
	}
	began := time.Now()
	_, err = pool.Exec(ctx, fmt.Sprintf(`drop table events_%s`, f.end.AddDate(0, -crowd.Months, 0).Format("200601")))
	took := time.Since(began)
	began = time.Now()
	_, audited := pool.Exec(ctx, `select drop_audit_month($1::date)`, f.end.AddDate(0, -crowd.Months, 0))
	tookAudit := time.Since(began)
	close(end)
	writers.Wait()
	if err := cmp.Or(err, audited); err != nil {
		t.Fatal(err)
	}
	t.Logf("a month of activity goes in %v, of the trail in %v; the slowest writer took %v", took, tookAudit, slices.Max(slowest))
	if took > time.Second || tookAudit > time.Second || slices.Max(slowest) > time.Second {
		t.Error("that is too long")
	}
}

// act is something that the audit trail keeps.
type act struct{}

func (act) EventName() string { return "act" }

func (act) AuditRecord() bus.AuditRecord {
	return bus.AuditRecord{Type: "user_blocked", Entity: bus.Entity{Kind: bus.OfUser, ID: 1, Path: "somebody"}, Message: "Blocked user"}
}

// writersKeepUp writes a thousand events a second, each in a transaction of its own, for STITHY_LOAD_EVENT_SECONDS, beside a hundred readers a second:
// nine in ten are of activity, the others of the audit trail.
func (f *eventForge) writersKeepUp(t *testing.T) {
	const rate, reads = 1000, 100
	ctx := t.Context()
	seconds := size(t, "STITHY_LOAD_EVENT_SECONDS", "0")
	writes := max(seconds*rate, 200)
	db, err := postgres.Open(ctx, f.address, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := func(n int) error {
		return db.InTx(ctx, func(tx pgx.Tx) error {
			if n%10 == 0 {
				return f.app.Audit.Record(ctx, tx, act{})
			}
			return f.app.Events.OnMember(ctx, tx, member.Event{UserID: int64(1 + n%100), Source: bus.Entity{Kind: bus.OfProject, ID: int64(1 + n%1000)}, Action: member.Created})
		})
	}
	began := time.Now()
	took, read := make([]time.Duration, writes), []time.Duration{}
	var next atomic.Int64
	var people sync.WaitGroup
	for range 16 {
		people.Go(func() {
			for n := int(next.Add(1)) - 1; n < writes; n = int(next.Add(1)) - 1 {
				due := began
				if seconds > 0 { // what comes late waits for nobody, and counts from when it was due
					due = began.Add(time.Duration(n) * time.Second / rate)
					time.Sleep(time.Until(due))
				}
				if err := write(n); err != nil {
					t.Error(err)
					return
				}
				took[n] = time.Since(due)
			}
		})
	}
	people.Go(func() {
		for n := range seconds * reads {
			due := began.Add(time.Duration(n) * time.Second / reads)
			time.Sleep(time.Until(due)) // the rate is what is measured; without STITHY_LOAD_EVENT_SECONDS nothing waits
			f.get(t, fmt.Sprintf("/projects/%d/events", 1+n%1000), f.admin)
			read = append(read, time.Since(due))
		}
	})
	people.Wait()
	if seconds == 0 {
		return
	}
	slices.Sort(took)
	slices.Sort(read)
	t.Logf("%d writes in %v: p50 %v, p99 %v, slowest %v; %d reads: p50 %v, p99 %v", writes, time.Since(began).Round(time.Millisecond),
		took[writes/2], took[writes*99/100], took[writes-1], len(read), read[len(read)/2], read[len(read)*99/100])
	if took[writes*99/100] > 50*time.Millisecond {
		t.Error("that is too slow")
	}
}
