package audit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/audit"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
)

// tables hold the trail and what proves it.
var tables = []string{"audit_events", "audit_seals", "audit_heads", "audit_blocks", "audit_days", "audit_retired", "audit_unsealed"}

// stored is an event of the trail, with where it stands in its chain.
type stored struct {
	ID         int64
	EntityType bus.EntityKind
	EntityID   int64
	Number     int64
	Block      int64
}

func (s stored) entity() string { return fmt.Sprintf("%s %d", s.EntityType, s.EntityID) }

// trail is a fixture whose trail was sealed on several days of two months.
type trail struct {
	*fixture
	all  []stored
	head audit.Head
}

func newTrail(t *testing.T) *trail {
	t.Helper()
	w := &trail{fixture: newFixture(t)}
	of := []bus.Entity{w.ofGroup(), w.ofProject(), bus.Instance(), {Kind: bus.OfUser, ID: w.root.ID, Path: "root", Name: "Root"}}
	for n := range 40 {
		w.record(t, w.root, of[(n*7+n/3)%len(of)], fmt.Sprintf("act_%d", n))
		w.Turn(19 * time.Hour)
		if n%3 == 2 {
			w.seal(t)
		}
	}
	w.seal(t)
	w.head = w.wantSound(t).Head
	var err error
	w.all, err = postgres.All[stored](t.Context(), w.DB, `select e.id, e.entity_type, e.entity_id, s.number, s.block from audit_events e
		join audit_seals s on s.event_id = e.id order by e.id`)
	if err != nil || len(w.all) != 40 {
		t.Fatal(len(w.all), err)
	}
	for _, table := range tables {
		w.exec(t, fmt.Sprintf(`create table kept_%[1]s as select * from %[1]s`, table))
	}
	t.Cleanup(func() {
		for _, table := range tables {
			_, _ = w.DB.Exec(t.Context(), `drop table if exists kept_`+table)
		}
	})
	return w
}

// restore puts everything back.
func (w *trail) restore(t *testing.T) {
	t.Helper()
	w.asSuperuser(t, func(tx pgx.Tx) error {
		for _, table := range tables {
			if _, err := tx.Exec(t.Context(), fmt.Sprintf(`delete from %[1]s`, table)); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), fmt.Sprintf(`insert into %[1]s select * from kept_%[1]s`, table)); err != nil {
				return err
			}
		}
		return nil
	})
}

// attempt is what somebody tries, and what it has to be called.
type attempt struct {
	name  string
	steps []step
	want  []audit.Tampering // any of these
	of    []stored          // each of these is named, by its id or its entity
	then  func(t *testing.T)
}

type step struct {
	sql  string
	args []any
}

func (w *trail) one(r *rand.Rand) stored { return w.all[r.IntN(len(w.all))] }

// two are events of one entity, or of two.
func (w *trail) two(r *rand.Rand, same bool) (a, b stored) {
	for {
		a, b = w.one(r), w.one(r)
		if a.ID != b.ID && (a.entity() == b.entity()) == same {
			return a, b
		}
	}
}

const (
	exchangeContents = `update audit_events e set event_type = o.event_type, author_id = o.author_id, author_name = o.author_name, entity_path = o.entity_path,
		target_type = o.target_type, target_id = o.target_id, target_details = o.target_details, ip_address = o.ip_address, details = o.details, top_id = o.top_id
		from audit_events o where (e.id = $1 and o.id = $2) or (e.id = $2 and o.id = $1)`
	exchangeIDs      = `update audit_events set id = case when id = $1 then $2 else $1 end where id in ($1, $2)`
	exchangeEntities = `update audit_events e set entity_type = o.entity_type, entity_id = o.entity_id, entity_path = o.entity_path
		from audit_events o where (e.id = $1 and o.id = $2) or (e.id = $2 and o.id = $1)`
	copyEvent = `insert into audit_events select $2, created_at + $3 * interval '1 second', event_type, author_id, author_name, entity_type, entity_id,
		entity_path, target_type, target_id, target_details, ip_address, details, mac from audit_events where id = $1`
)

func (w *trail) change(r *rand.Rand) attempt {
	e := w.one(r)
	columns := []string{
		`author_id = author_id + 1`, `author_name = 'Eve'`, `entity_path = 'elsewhere'`, `target_details = 'x'`, `target_id = 987`, `target_type = 'X'`,
		`event_type = 'nothing'`, `ip_address = '192.0.2.7'`, `details = details || '{"custom_message": "x"}'`, `details = '{}'`,
		`created_at = created_at + interval '1 second'`, `top_id = coalesce(top_id, 0) + 1`,
		`author_name = 'Eve', mac = null`, `author_name = 'Eve', mac = sha256('x')`,
	}
	c := columns[r.IntN(len(columns))]
	a := attempt{
		name: "change " + c, steps: []step{{`update audit_events set ` + c + ` where id = $1`, []any{e.ID}}},
		want: []audit.Tampering{audit.Changed}, of: []stored{e},
	}
	if r.IntN(3) == 0 { // the seal, too
		a.steps = append(a.steps, step{`update audit_seals set content = sha256('x'), hash = sha256('y') where event_id = $1`, []any{e.ID}})
	}
	return a
}

func (w *trail) remove(r *rand.Rand) attempt {
	e := w.one(r)
	a := attempt{
		name: "delete", steps: []step{{`delete from audit_events where id = $1`, []any{e.ID}}},
		want: []audit.Tampering{audit.Deleted, audit.Truncated}, of: []stored{e},
	}
	depth := r.IntN(3)
	if depth > 0 {
		a.name += " with its seal"
		a.steps = append(a.steps, step{`delete from audit_seals where event_id = $1`, []any{e.ID}})
	}
	if depth > 1 {
		a.name += " and from its block"
		a.steps = append(a.steps, step{`update audit_blocks set event_ids = array_remove(event_ids, $1) where number = $2`, []any{e.ID, e.Block}})
	}
	return a
}

func (w *trail) insert(r *rand.Rand) attempt {
	e, id := w.one(r), int64(1000+r.IntN(1000))
	forged := stored{ID: id, EntityType: e.EntityType, EntityID: e.EntityID}
	a := attempt{name: "insert", want: []audit.Tampering{audit.Inserted}, of: []stored{forged}}
	switch r.IntN(4) {
	case 0:
		a.steps = []step{{copyEvent, []any{e.ID, id, 0}}}
	case 1:
		a.name += " a second with the same id"
		a.of[0].ID = e.ID
		a.steps = []step{{copyEvent, []any{e.ID, e.ID, 1}}}
	case 2:
		a.name += " with a seal"
		a.steps = []step{
			{copyEvent, []any{e.ID, id, 0}},
			{`insert into audit_seals select $2, created_at, entity_type, entity_id, number + 1000, block, content, previous, hash, mac
				from audit_seals where event_id = $1`, []any{e.ID, id}},
		}
	default:
		a.name += " and have it sealed"
		a.steps = []step{{copyEvent, []any{e.ID, id, 0}}, {`insert into audit_unsealed select id, created_at from audit_events where id = $1`, []any{id}}}
		a.then = func(t *testing.T) { t.Helper(); w.seal(t) }
	}
	return a
}

func (w *trail) reorder(r *rand.Rand) attempt {
	x, y := w.two(r, true)
	how := []step{
		{exchangeContents, []any{x.ID, y.ID}}, {exchangeIDs, []any{x.ID, y.ID}},
		{`update audit_events e set created_at = o.created_at from audit_events o where (e.id = $1 and o.id = $2) or (e.id = $2 and o.id = $1)`, []any{x.ID, y.ID}},
	}
	n := r.IntN(len(how))
	return attempt{name: fmt.Sprintf("reorder in way %d", n), steps: how[n : n+1], want: []audit.Tampering{audit.Reordered}, of: []stored{x, y}}
}

func (w *trail) swap(r *rand.Rand) attempt {
	x, y := w.two(r, false)
	how := []step{
		{exchangeContents, []any{x.ID, y.ID}}, {exchangeEntities, []any{x.ID, y.ID}},
		{`update audit_events e set entity_type = o.entity_type, entity_id = o.entity_id
			from audit_events o where (e.id = $1 and o.id = $2) or (e.id = $2 and o.id = $1)`, []any{x.ID, y.ID}},
	}
	n := r.IntN(len(how))
	return attempt{name: fmt.Sprintf("swap in way %d", n), steps: how[n : n+1], want: []audit.Tampering{audit.Swapped}, of: []stored{x, y}}
}

func (w *trail) truncate(r *rand.Rand) attempt {
	from := w.one(r)
	var gone []stored
	for _, e := range w.all {
		if e.entity() == from.entity() && e.Number >= from.Number {
			gone = append(gone, e)
		}
	}
	in := []any{from.EntityType, from.EntityID, from.Number}
	events := step{`delete from audit_events e using audit_seals s where s.event_id = e.id and s.entity_type = $1 and s.entity_id = $2 and s.number >= $3`, in}
	seals := step{`delete from audit_seals where entity_type = $1 and entity_id = $2 and number >= $3`, in}
	head := step{`update audit_heads h set number = $3 - 1, hash = coalesce((select hash from audit_seals s
		where s.entity_type = $1 and s.entity_id = $2 and s.number = $3 - 1), h.hash)
		where entity_type = $1 and entity_id = $2`, in}
	a := attempt{name: "truncate", want: []audit.Tampering{audit.Truncated}}
	switch r.IntN(4) {
	case 0:
		a.name, a.steps, a.of = a.name+" events", []step{events}, gone
	case 1:
		a.name, a.steps, a.of = a.name+" with seals", []step{events, seals}, gone[:1]
	case 2: // blocks still name what is gone
		a.name, a.steps, a.of, a.want = a.name+" with seals and the head", []step{events, seals, head}, gone, []audit.Tampering{audit.Deleted}
	default: // all, as if it had never been
		n := []any{from.Block}
		a.name = "set the trail back"
		a.steps = []step{
			{`delete from audit_events e using audit_seals s where s.event_id = e.id and s.block >= $1`, n}, {`delete from audit_seals where block >= $1`, n},
			{`delete from audit_blocks where number >= $1`, n}, {`delete from audit_days where block >= $1`, n}, {`delete from audit_heads`, nil},
			{`insert into audit_heads select distinct on (entity_type, entity_id) entity_type, entity_id, number, hash
				from audit_seals order by entity_type, entity_id, number desc`, nil},
		}
	}
	return a
}

// STITHY_TAMPERINGS=1000 tries so many; a seed is printed with what was not found.
func TestSU11_EveryTamperingIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	count := 30
	if text := os.Getenv("STITHY_TAMPERINGS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	w := newTrail(t)
	kinds := []func(*rand.Rand) attempt{w.change, w.remove, w.insert, w.reorder, w.truncate, w.swap}
	tried := map[string]int{}
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := kinds[seed%uint64(len(kinds))](r)
		tried[a.name]++
		w.asSuperuser(t, func(tx pgx.Tx) error {
			for _, s := range a.steps {
				if _, err := tx.Exec(t.Context(), s.sql, s.args...); err != nil {
					return fmt.Errorf("seed %d, %s: %w", seed, a.name, err)
				}
			}
			return nil
		})
		if a.then != nil {
			a.then(t)
		}
		found := w.verify(t, w.head).Findings
		named := func(e stored) bool {
			return slices.ContainsFunc(found, func(f audit.Finding) bool {
				return slices.Contains(a.want, f.Tampering) && (f.EventID == e.ID || (f.EventID == 0 && f.Entity == e.entity()))
			})
		}
		ok := slices.ContainsFunc(found, func(f audit.Finding) bool { return slices.Contains(a.want, f.Tampering) })
		for _, e := range a.of {
			ok = ok && named(e)
		}
		if !ok {
			t.Errorf("seed %d, %s of %v: found %v", seed, a.name, a.of, found)
		}
		w.restore(t)
	}
	w.wantSound(t, w.head)
	t.Log(tried)
}

// Whoever could change where an event happened could have it streamed to others.
func TestSU11_WhereAnEventHappenedIsSealed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "a")
	w.record(t, w.root, w.ofProject(), "b")
	w.record(t, w.root, bus.Instance(), "c")
	w.seal(t)
	w.wantSound(t)
	for _, change := range []string{`top_id = top_id + 1`, `top_id = null`, `top_id = 7`} {
		w.tamper(t, `update audit_events set `+change+` where event_type in ('a', 'b') or ($1 and event_type = 'c')`, change == `top_id = 7`)
		if found := w.verify(t).Findings; len(found) < 2 {
			t.Errorf("%s: found %v", change, found)
		}
		w.tamper(t, `update audit_events set top_id = case event_type when 'c' then null else $1::bigint end where event_type in ('a', 'b', 'c')`, w.house.ID)
		w.wantSound(t)
	}
}
