package errortracking

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/batch"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/sorting"
)

const (
	// retention is how long an event, its id and the counts of its hour are kept, and an error after its last event.
	retention = 90 * 24 * time.Hour
	// maxErrors is how many a project has. Those that happened longest ago make room for new ones, a few in a batch: a program that puts something
	// new into every message would fill the table.
	maxErrors = 20_000
	// removedAtOnce is how many make room in one batch, each with up to some 10,000 rows. Events of errors that there is no room for are dropped.
	removedAtOnce = 20
	// maxKept is how many bytes of events are kept for a project. Further events are counted alone.
	maxKept = 1 << 30
	// maxPeople is up to how many those who met an error are told apart.
	maxPeople = 10_000
	// maxPlaces is how many releases and how many environments of an error are told apart.
	maxPlaces = 100
	// keptEvents is how many events of an error are kept with what they say.
	keptEvents = 100
	// storedAtOnce is how many of them are taken from one batch: of very many at a time the latest are enough.
	storedAtOnce = 10
)

// findLimits are those of programs that show the same key at the same time.
var findLimits = batch.Limits{Most: 1000, Waiting: 10_000, Time: 10 * time.Second}

// writeLimits are those of events that are written together.
var writeLimits = batch.Limits{Most: 200, Waiting: 2000, Time: 20 * time.Second}

// busy is how long a program waits when more comes than can be written.
const busy = 10 * time.Second

// waitError is the refusal of more events than a project may report.
type waitError struct{ wait time.Duration }

func (e *waitError) Error() string { return "too many events" }

// personDigest is the kind of the digests that people are told apart by.
const personDigest = "error_person"

// Intake is where reports of a project go, found by a key.
type Intake struct {
	ProjectID    int64
	PersonalData bool
	PerMinute    int `db:"events_per_minute"`
	Percent      int `db:"sample_percent"`
}

// quota is how many events a project may report.
func (in Intake) quota() ratelimit.Rule {
	return ratelimit.Rule{Name: "error_tracking_events", Limit: in.PerMinute, Period: time.Minute}
}

// takes reports whether an event is in the sample. It follows from its id alone, so that all nodes, and all retries, are of one mind.
func (in Intake) takes(id [16]byte) bool {
	if in.Percent >= 100 {
		return true
	}
	sum := sha256.Sum256(id[:])
	return binary.BigEndian.Uint64(sum[:8])%100 < uint64(in.Percent)
}

var errNoIntake = fault.New(fault.NotFound)

// Admit finds the project that a key is for. A stranger does not learn whether it is the project that is missing, or error tracking in it, or the key.
func (s *Service) Admit(ctx context.Context, projectID int64, key string) (Intake, error) {
	if !s.integrated() {
		return Intake{}, errNoIntake
	}
	in, err := s.finding.Do(ctx, shownKey{projectID, [32]byte(s.deps.Box.Digest(keyDigest, key))}, struct{}{})
	if errors.Is(err, batch.ErrFull) {
		return Intake{}, &waitError{busy}
	}
	return in, err
}

// shownKey is a key that a program shows, and the project that it shows it for.
type shownKey struct {
	projectID int64
	digest    [32]byte
}

// find looks once for all who show the same key at the same time. Nothing is remembered: a key that was deleted is refused by the next look.
func (s *Service) find(ctx context.Context, key shownKey, all []struct{}) ([]Intake, error) {
	in, err := postgres.One[Intake](ctx, s.deps.DB, sqlIntake, key.projectID, key.digest[:])
	if errors.Is(err, postgres.ErrNoRows) {
		err = errNoIntake
	}
	return slices.Repeat([]Intake{in}, len(all)), err
}

// Over counts an event against the quota of its project, and says how long to wait when that is spent.
func (s *Service) Over(ctx context.Context, in Intake) (wait time.Duration, over bool) {
	v := s.deps.Limiter.Hit(ctx, in.quota(), strconv.FormatInt(in.ProjectID, 10))
	return v.RetryAfter(s.deps.Clock.Now()), !v.Allowed()
}

// Occurrence is an event as it is written: its report without secrets, and what is counted of it.
type Occurrence struct {
	EventID     [16]byte
	Fingerprint [32]byte
	Name        string
	Message     string
	Culprit     string
	Platform    string
	Level       string
	Environment string
	Release     string
	Person      []byte // nil where nobody is named
	HappenedAt  time.Time
	Payload     []byte
}

// put writes an event down. It is durable when there is no error. One that came before is not counted again.
func (s *Service) put(ctx context.Context, in Intake, o Occurrence) error {
	_, err := s.writes.Do(ctx, in.ProjectID, o)
	if errors.Is(err, batch.ErrFull) {
		return &waitError{busy}
	}
	return err
}

// occurrence is what is kept of a report. from is the address that it came from, for programs that leave it to us to tell people apart.
func (s *Service) occurrence(in Intake, r *Report, from string) (Occurrence, error) {
	o := Occurrence{
		EventID: r.ID, Fingerprint: fingerprint(r), Platform: r.Platform, Level: r.Level, HappenedAt: within(r.Happened, s.deps.Clock.Now()),
	}
	if who := r.User.identity(from); who != "" {
		o.Person = s.deps.Box.Digest(personDigest, strconv.FormatInt(in.ProjectID, 10)+" "+who)
	}
	scrubber{personal: in.PersonalData}.scrub(r)
	o.Name, o.Message, o.Culprit = r.Title(), r.Description(), r.Culprit()
	o.Environment, o.Release = r.Environment, r.Release
	var err error
	o.Payload, err = r.payload()
	return o, err
}

// identity is what tells a person from others, the surest first.
func (p *Person) identity(from string) string {
	if p == nil {
		return ""
	}
	ip := p.IPAddress
	if ip == "{{auto}}" {
		ip = from
	}
	for _, known := range []struct{ kind, value string }{{"id", p.ID}, {"username", p.Username}, {"email", p.Email}, {"ip", ip}} {
		if known.value != "" {
			return known.kind + ":" + known.value
		}
	}
	return ""
}

// within is when an event happened, as far as that can be: clocks of programs are wrong, and what is too old would go at once.
func within(happened, now time.Time) time.Time {
	if happened.IsZero() || happened.After(now) || happened.Before(now.Add(-retention)) {
		happened = now
	}
	return happened.Truncate(time.Microsecond)
}

// write takes many events of one project in one transaction. The row of its settings is locked, so that nodes take turns and nobody waits in a circle;
// the project before it, as its removal does. What comes for one that is gone, or switched off meanwhile, is dropped.
func (s *Service) write(ctx context.Context, projectID int64, all []Occurrence) ([]struct{}, error) {
	return make([]struct{}, len(all)), s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, bus.Entity{Kind: bus.OfProject, ID: projectID}); err != nil {
			if fault.Is(err, fault.NotFound) {
				return nil
			}
			return err
		}
		have, err := postgres.One[held](ctx, tx, sqlLockIntake, projectID)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		w := writing{tx: tx, projectID: projectID, now: s.deps.Clock.Now(), room: maxErrors - have.Errors, bytes: maxKept - have.KeptBytes}
		return w.write(ctx, all)
	})
}

// held is what a project has already.
type held struct {
	Errors    int
	KeptBytes int64
}

// writing is one batch.
type writing struct {
	tx        pgx.Tx
	projectID int64
	now       time.Time
	room      int   // for further errors
	bytes     int64 // for further events
}

// group is what a batch has of one error.
type group struct {
	row    *errorRow // nil for one that is new
	events []Occurrence
}

// last is the latest event.
func (g *group) last() Occurrence { return g.events[len(g.events)-1] }

// errorRow is what a batch must know of an error.
type errorRow struct {
	ID          int64
	Fingerprint []byte
	Status      Status
	ResolvedAt  *time.Time
	Events      int64

	ResolvedRelease string
	People          int
}

func (w *writing) write(ctx context.Context, all []Occurrence) error {
	fresh, err := w.fresh(ctx, all)
	if err != nil || len(fresh) == 0 {
		return err
	}
	groups := map[[32]byte]*group{}
	for _, o := range fresh {
		g := groups[o.Fingerprint]
		if g == nil {
			g = &group{}
			groups[o.Fingerprint] = g
		}
		g.events = append(g.events, o)
	}
	if err := w.find(ctx, groups); err != nil {
		return err
	}
	ordered := sorting.All(maps.Values(groups), func(a, b *group) int {
		return bytes.Compare(a.events[0].Fingerprint[:], b.events[0].Fingerprint[:])
	})
	return w.count(ctx, ordered)
}

// fresh are the events that were not counted before, in the order of their time.
func (w *writing) fresh(ctx context.Context, all []Occurrence) ([]Occurrence, error) {
	byID := make(map[[16]byte]Occurrence, len(all))
	ids := make([][16]byte, 0, len(all))
	for _, o := range all {
		if _, twice := byID[o.EventID]; !twice {
			byID[o.EventID] = o
			ids = append(ids, o.EventID)
		}
	}
	sorting.By(ids, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	news, err := postgres.Values[[16]byte](ctx, w.tx, sqlNoteEvents, w.projectID, ids, w.now)
	if err != nil {
		return nil, err
	}
	fresh := make([]Occurrence, 0, len(news))
	for _, id := range news {
		fresh = append(fresh, byID[id])
	}
	sorting.By(fresh, func(a, b Occurrence) int {
		return cmp.Or(a.HappenedAt.Compare(b.HappenedAt), bytes.Compare(a.EventID[:], b.EventID[:]))
	})
	return fresh, nil
}

// find locks the errors that there are, makes room for new ones, and drops those that there is none for.
func (w *writing) find(ctx context.Context, groups map[[32]byte]*group) error {
	prints := make([][]byte, 0, len(groups))
	for p := range groups {
		prints = append(prints, p[:])
	}
	rows, err := postgres.All[errorRow](ctx, w.tx, sqlLockErrors, w.projectID, prints)
	if err != nil {
		return err
	}
	known := make([]int64, 0, len(rows))
	for i := range rows {
		groups[[32]byte(rows[i].Fingerprint)].row = &rows[i]
		known = append(known, rows[i].ID)
	}
	if lacking := len(groups) - len(rows) - w.room; lacking > 0 {
		gone, err := removeErrors(ctx, w.tx, w.projectID, w.now, min(lacking, removedAtOnce), known)
		if err != nil {
			return err
		}
		w.room += gone
	}
	for _, p := range sorting.All(maps.Keys(groups), func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }) {
		if groups[p].row != nil {
			continue
		}
		if w.room--; w.room < 0 {
			delete(groups, p)
		}
	}
	return nil
}

// count writes down what the groups of a batch change: a statement for each table, whatever the number of groups. Their order is the same in every batch.
func (w *writing) count(ctx context.Context, groups []*group) error {
	if err := w.insert(ctx, groups); err != nil {
		return err
	}
	changes := rows{room: w.bytes}
	for _, g := range groups {
		changes.add(g)
	}
	b := &pgx.Batch{}
	changes.queue(b, w.projectID, w.now)
	return w.tx.SendBatch(ctx, b).Close()
}

// insert makes the errors that are new. Their events are counted like those of the others.
func (w *writing) insert(ctx context.Context, groups []*group) error {
	var prints [][]byte
	var names, messages, culprits, platforms, levels []string
	var first, last []time.Time
	byPrint := map[[32]byte]*group{}
	for _, g := range groups {
		if g.row != nil {
			continue
		}
		o := g.last()
		byPrint[o.Fingerprint] = g
		prints, names, messages, culprits = append(prints, o.Fingerprint[:]), append(names, o.Name), append(messages, o.Message), append(culprits, o.Culprit)
		platforms, levels = append(platforms, o.Platform), append(levels, o.Level)
		first, last = append(first, g.events[0].HappenedAt), append(last, o.HappenedAt)
	}
	if prints == nil {
		return nil
	}
	made, err := postgres.All[errorRow](ctx, w.tx, sqlInsertErrors, w.projectID, prints, names, messages, culprits, platforms, levels, first, last, w.now)
	if err != nil {
		return err
	}
	for i := range made {
		byPrint[[32]byte(made[i].Fingerprint)].row = &made[i]
	}
	_, err = w.tx.Exec(ctx, sqlCountErrors, w.projectID, len(made))
	return err
}

// rows are what a batch changes, by table and column.
type rows struct {
	errors struct {
		id                             []int64
		events                         []int64
		first, last                    []time.Time
		status                         []string
		regressed                      []bool
		name, message, culprit, levels []string
	}
	hours struct {
		id     []int64
		hour   []time.Time
		events []int64
	}
	places struct {
		id          []int64
		kind, value []string
		events      []int64
		first, last []time.Time
	}
	people struct {
		id     []int64
		digest [][]byte
	}
	kept struct {
		id                          []int64
		event                       [][16]byte
		happened                    []time.Time
		level, environment, release []string
		payload                     [][]byte
		bytes                       int64 // of all payloads
	}
	room int64 // for bytes of events
}

// add counts the events of an error: what it says is what its latest event says.
func (r *rows) add(g *group) {
	status, regressed := g.row.Status, false
	for _, o := range g.events {
		var again bool
		status, again = afterEvent(status, solution{g.row.ResolvedAt, g.row.ResolvedRelease}, o.HappenedAt, o.Release)
		regressed = regressed || again
	}
	o, e := g.last(), &r.errors
	e.id, e.events = append(e.id, g.row.ID), append(e.events, int64(len(g.events)))
	e.first, e.last = append(e.first, g.events[0].HappenedAt), append(e.last, o.HappenedAt)
	e.status, e.regressed = append(e.status, string(status)), append(e.regressed, regressed)
	e.name, e.message, e.culprit, e.levels = append(e.name, o.Name), append(e.message, o.Message), append(e.culprit, o.Culprit), append(e.levels, o.Level)
	r.details(g)
	r.keep(g)
}

// details are what is counted of an error by hour, by place and by person.
func (r *rows) details(g *group) {
	hours, places := map[time.Time]int64{}, map[place]*seen{}
	for _, o := range g.events {
		hours[o.HappenedAt.UTC().Truncate(time.Hour)]++
		for _, p := range []place{{"release", o.Release}, {"environment", o.Environment}} {
			if p.value == "" {
				continue
			}
			if places[p] == nil {
				places[p] = &seen{first: o.HappenedAt}
			}
			places[p].events++
			places[p].last = o.HappenedAt
		}
		if o.Person != nil && g.row.People < maxPeople {
			r.people.id, r.people.digest = append(r.people.id, g.row.ID), append(r.people.digest, o.Person)
		}
	}
	for _, hour := range sorting.All(maps.Keys(hours), time.Time.Compare) {
		h := &r.hours
		h.id, h.hour, h.events = append(h.id, g.row.ID), append(h.hour, hour), append(h.events, hours[hour])
	}
	for _, at := range sorting.All(maps.Keys(places), func(a, b place) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.value, b.value)) }) {
		p := &r.places
		p.id, p.kind, p.value = append(p.id, g.row.ID), append(p.kind, at.kind), append(p.value, at.value)
		p.events, p.first, p.last = append(p.events, places[at].events), append(p.first, places[at].first), append(p.last, places[at].last)
	}
}

// keep takes the latest events of a batch with what they say: of an error that has many of them already, one.
func (r *rows) keep(g *group) {
	most := storedAtOnce
	if g.row.Events >= keptEvents {
		most = 1
	}
	k := &r.kept
	for _, o := range g.events[max(0, len(g.events)-most):] {
		if k.bytes+int64(len(o.Payload)) > r.room {
			continue
		}
		k.bytes += int64(len(o.Payload))
		k.id, k.event, k.happened = append(k.id, g.row.ID), append(k.event, o.EventID), append(k.happened, o.HappenedAt)
		k.level, k.environment, k.release = append(k.level, o.Level), append(k.environment, o.Environment), append(k.release, o.Release)
		k.payload = append(k.payload, o.Payload)
	}
}

func (r *rows) queue(b *pgx.Batch, projectID int64, now time.Time) {
	e, h, p, k := &r.errors, &r.hours, &r.places, &r.kept
	b.Queue(sqlUpdateErrors, e.id, e.events, e.first, e.last, e.status, e.regressed, e.name, e.message, e.culprit, e.levels, now)
	b.Queue(sqlCountHours, h.id, h.hour, h.events)
	if len(p.id) > 0 {
		b.Queue(sqlCountPlaces, p.id, p.kind, p.value, p.events, p.first, p.last, maxPlaces)
	}
	if len(r.people.id) > 0 {
		b.Queue(sqlCountPeople, r.people.id, r.people.digest)
	}
	b.Queue(sqlStoreEvents, k.id, k.event, k.happened, k.level, k.environment, k.release, k.payload, now)
	b.Queue(sqlTrimEvents, e.id, keptEvents, projectID, k.bytes)
}

type place struct{ kind, value string }

type seen struct {
	events      int64
	first, last time.Time
}
