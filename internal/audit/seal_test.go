package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/audit"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
)

func (w *fixture) seal(t testing.TB) {
	t.Helper()
	if err := w.Audit.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// verify is what a verification finds.
func (w *fixture) verify(t testing.TB, known ...audit.Head) *audit.Report {
	t.Helper()
	r, err := w.Audit.Verify(t.Context(), known...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantSound fails unless nothing is found.
func (w *fixture) wantSound(t testing.TB, known ...audit.Head) *audit.Report {
	t.Helper()
	r := w.verify(t, known...)
	for _, f := range r.Findings {
		t.Error(f)
	}
	return r
}

// asSuperuser does something that only a superuser can: triggers are set aside.
func (w *fixture) asSuperuser(t testing.TB, do func(tx pgx.Tx) error) {
	t.Helper()
	if err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `set local session_replication_role = replica`); err != nil {
			return err
		}
		return do(tx)
	}); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) tamper(t testing.TB, sql string, args ...any) {
	t.Helper()
	w.asSuperuser(t, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), sql, args...)
		return err
	})
}

func TestSU10_NobodyChangesTheTrailThroughTheService(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "a", "b")
	w.seal(t)
	month := "_" + w.Now().Format("200601")
	for _, sql := range []string{
		`update audit_events set author_id = 7`, `delete from audit_events`, `truncate audit_events`,
		`truncate audit_events` + month, `delete from audit_events` + month,
		`update audit_seals set number = 7`, `delete from audit_seals`, `truncate audit_seals`, `truncate audit_seals` + month,
		`update audit_blocks set month = now()`, `delete from audit_blocks`, `truncate audit_blocks`,
		`update audit_days set block = 7`, `delete from audit_days`, `truncate audit_days`, `delete from audit_heads`, `truncate audit_heads`,
	} {
		if _, err := w.DB.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "is only appended to") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	w.wantSound(t)
}

func TestWhatWasWrittenIsSealedOnceAndVerifies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "a", "b")
	w.record(t, nil, bus.Instance(), "c")
	if r := w.wantSound(t); r.Waiting != 3 || r.Sealed != 0 {
		t.Errorf("before: %+v", r)
	}
	for range 2 {
		w.seal(t)
	}
	w.record(t, w.root, w.ofGroup(), "d")
	w.seal(t)
	if r := w.wantSound(t); r.Waiting != 0 || r.Sealed != 4 || r.Blocks != 2 {
		t.Errorf("after: %+v", r)
	}
	chain, err := postgres.Values[string](t.Context(), w.DB, `select concat_ws(' ', s.entity_type, s.number, e.event_type) from audit_seals s
		join audit_events e on e.id = s.event_id order by s.entity_type, s.number`)
	if got := strings.Join(chain, ", "); got != "Group 1 a, Group 2 b, Group 3 d, Instance 1 c" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A transaction that began earlier may commit later: its events have smaller ids than those that are sealed.
func TestAnEventThatCommitsLateIsSealedAfterOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.Audit.Record(t.Context(), tx, event{Type: "late", Entity: w.ofGroup()}); err != nil {
			return err
		}
		var others sync.WaitGroup
		others.Go(func() {
			w.record(t, w.root, w.ofGroup(), "early")
			w.seal(t)
		})
		others.Wait()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w.seal(t)
	if r := w.wantSound(t); r.Sealed != 2 {
		t.Errorf("%+v", r)
	}
}

func TestEventsOfAnEarlierReleaseAreSealedToo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "a", "b", "c")
	w.tamper(t, `update audit_events set mac = null`)
	w.tamper(t, `delete from audit_unsealed`)
	w.exec(t, `insert into audit_backlog (past, upto) select 0, max(id) from audit_events`)
	w.wantSound(t)
	w.seal(t)
	if r := w.wantSound(t); r.Sealed != 3 {
		t.Errorf("%+v", r)
	}
	// Only for a day: who inserts an event without a signature later is found.
	w.Turn(25 * time.Hour)
	w.exec(t, `insert into audit_events (created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_details, details)
		values ($1, 'forged', 1, 'Ann', 'Group', $2, 'house', 'Group', 'house', '{}')`, w.Now(), w.house.ID)
	w.seal(t)
	if r := w.verify(t); len(r.Findings) != 1 || r.Findings[0].Tampering != audit.Inserted {
		t.Errorf("%v", r.Findings)
	}
}

func TestADroppedMonthLeavesTheRestSound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "may")
	w.record(t, w.root, w.ofProject(), "may")
	w.seal(t)
	head := w.wantSound(t).Head
	for _, name := range []string{"june", "july"} {
		w.Turn(31 * 24 * time.Hour)
		w.record(t, w.root, w.ofGroup(), name)
		w.seal(t)
	}
	may := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	if err := w.Audit.Retire(t.Context(), may.AddDate(0, 2, 0)); err == nil {
		t.Error("a month that is not over can be dropped")
	}
	if err := w.Audit.Retire(t.Context(), may); err != nil {
		t.Fatal(err)
	}
	if r := w.wantSound(t, head); r.Sealed != 2 || r.Retired != 1 {
		t.Errorf("%+v", r)
	}
	w.record(t, w.root, w.ofProject(), "more")
	w.seal(t)
	w.wantSound(t, head)
	if diff := names(w.list(t, w.root, w.groupPath())); strings.Join(diff, " ") != "july june" {
		t.Error(diff)
	}
	// Who puts an event in place of one that went with its month is found, whatever else they write with it.
	w.asSuperuser(t, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`insert into audit_events (id, created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_details, details)
				select b.event_ids[1], e.created_at, 'forged', 1, 'Ann', e.entity_type, e.entity_id, e.entity_path, 'Group', 'house', '{}'
				from audit_blocks b, audit_events e where b.number = 1 and e.event_type = 'july'`,
			`insert into audit_seals (event_id, created_at, entity_type, entity_id, number, block, content, previous, hash, mac)
				select e.id, e.created_at, e.entity_type, e.entity_id, 1, 1, sha256('a'), sha256('b'), sha256('c'), sha256('d') from audit_events e where e.event_type = 'forged'`,
			`delete from audit_unsealed`,
		} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		return nil
	})
	inserted := 0
	for _, f := range w.verify(t).Findings {
		if f.Tampering == audit.Inserted && f.EventID == 1 {
			inserted++
		}
	}
	if inserted != 2 {
		t.Errorf("of an event and its seal in place of ones that went, %d were found", inserted)
	}
	w.tamper(t, `delete from audit_seals where number = 1 and block = 1`)
	w.tamper(t, `delete from audit_events where event_type = 'forged'`)
	// Who drops a month without a signature is found.
	w.exec(t, `drop table audit_events_202406, audit_seals_202406`)
	if r := w.verify(t); len(r.Findings) == 0 || r.Findings[len(r.Findings)-1].Tampering != audit.Deleted {
		t.Errorf("%v", r.Findings)
	}
}

func TestManyWritersAndSealersLeaveASoundTrail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var all sync.WaitGroup
	failed := make(chan error, 100)
	for worker := range 3 {
		all.Go(func() {
			for n := range 30 {
				// Several entities in one transaction, each time in another order.
				err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
					of := []bus.Entity{w.ofGroup(), w.ofProject(), bus.Instance()}
					for i := range of {
						if err := w.Audit.Record(t.Context(), tx, event{Type: fmt.Sprintf("by_%d_%d", worker, n), Entity: of[(i+worker+n)%len(of)]}); err != nil {
							return err
						}
					}
					return nil
				})
				if n%7 == 0 {
					err = errors.Join(err, w.Audit.Seal(t.Context()))
				}
				if err != nil {
					failed <- err
				}
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	w.seal(t)
	if r := w.wantSound(t); r.Sealed != 270 || r.Waiting != 0 {
		t.Errorf("%+v", r)
	}
}

func TestASealThatIsCutOffIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "a", "b")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := w.Audit.Seal(ended); err == nil {
		t.Error("it went on")
	}
	w.wantSound(t)
	w.seal(t)
	if r := w.wantSound(t); r.Sealed != 2 {
		t.Errorf("%+v", r)
	}
}

func TestAHeadIsReadAsItIsPrinted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "a")
	w.seal(t)
	head := w.wantSound(t).Head
	got, err := audit.ParseHead(head.String())
	if err != nil || got.String() != head.String() {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "1", "1:", "1:ab", "x:" + strings.Repeat("ab", 32), "0:" + strings.Repeat("ab", 32)} {
		if _, err := audit.ParseHead(text); err == nil {
			t.Errorf("%q is taken for a head", text)
		}
	}
}
