package errortracking

import (
	"bytes"
	"cmp"
	"context"
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
)

const (
	// retention is how long an event, its id and the counts of its hour are kept, and an error after its last event.
	retention = 90 * 24 * time.Hour
	// maxErrors is how many a project has. Further ones are not taken: a program that puts something new into every message would fill the table.
	maxErrors = 20_000
	// maxPeople is up to how many those who met an error are told apart.
	maxPeople = 10_000
	// maxPlaces is how many releases and how many environments of an error are told apart.
	maxPlaces = 100
	// keptEvents is how many events of an error are kept with what they say.
	keptEvents = 100
	// storedAtOnce is how many of them are taken from one batch: of very many at a time the latest are enough.
	storedAtOnce = 10
)

// writeLimits are those of events that are written together.
var writeLimits = batch.Limits{Most: 200, Waiting: 2000, Time: 20 * time.Second}

// quota is how many events a project may report.
var quota = ratelimit.Rule{Name: "error_tracking_events", Limit: 1000, Period: time.Minute}

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
}

var errNoIntake = fault.New(fault.NotFound)

// Admit finds the project that a key is for. A stranger does not learn whether it is the project that is missing, or error tracking in it, or the key.
func (s *Service) Admit(ctx context.Context, projectID int64, key string) (Intake, error) {
	if !s.integrated() {
		return Intake{}, errNoIntake
	}
	in, err := postgres.One[Intake](ctx, s.deps.DB, sqlIntake, projectID, s.deps.Box.Digest(keyDigest, key))
	if errors.Is(err, postgres.ErrNoRows) {
		return Intake{}, errNoIntake
	}
	return in, err
}

// Over counts an event against the quota of its project, and says how long to wait when that is spent.
func (s *Service) Over(ctx context.Context, in Intake) (wait time.Duration, over bool) {
	v := s.deps.Limiter.Hit(ctx, quota, strconv.FormatInt(in.ProjectID, 10))
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

// Take writes an event down. It is durable when there is no error. One that came before is not counted again.
func (s *Service) Take(ctx context.Context, in Intake, r *Report, from string) error {
	o, err := s.occurrence(in, r, from)
	if err != nil {
		return err
	}
	_, err = s.writes.Do(ctx, in.ProjectID, o)
	if errors.Is(err, batch.ErrFull) {
		return &waitError{busy}
	}
	return err
}

// occurrence is what is kept of a report. from is the address that it came from, for programs that leave it to us to tell people apart.
func (s *Service) occurrence(in Intake, r *Report, from string) (Occurrence, error) {
	o := Occurrence{
		EventID: r.ID, Fingerprint: fingerprint(r), Platform: r.Platform, Level: r.Level, Environment: r.Environment, Release: r.Release,
		HappenedAt: within(r.Happened, s.deps.Clock.Now()),
	}
	if who := r.User.identity(from); who != "" {
		o.Person = s.deps.Box.Digest(personDigest, strconv.FormatInt(in.ProjectID, 10)+" "+who)
	}
	scrubber{personal: in.PersonalData}.scrub(r)
	o.Name, o.Message, o.Culprit = r.Title(), r.Description(), r.Culprit()
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
		have, err := postgres.Value[int](ctx, tx, sqlLockIntake, projectID)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		w := writing{tx: tx, projectID: projectID, now: s.deps.Clock.Now(), room: maxErrors - have}
		return w.write(ctx, all)
	})
}

// writing is one batch.
type writing struct {
	tx        pgx.Tx
	projectID int64
	now       time.Time
	room      int // for further errors
}

// group is what a batch has of one error.
type group struct {
	row    *errorRow // nil for one that is new
	events []Occurrence
}

// errorRow is what a batch must know of an error.
type errorRow struct {
	ID          int64
	Fingerprint []byte
	Status      Status
	ResolvedAt  *time.Time
	People      int
	LastSeen    time.Time
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
	ordered := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
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
	slices.SortFunc(ids, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	news, err := postgres.Values[[16]byte](ctx, w.tx, sqlNoteEvents, w.projectID, ids, w.now)
	if err != nil {
		return nil, err
	}
	fresh := make([]Occurrence, 0, len(news))
	for _, id := range news {
		fresh = append(fresh, byID[id])
	}
	slices.SortFunc(fresh, func(a, b Occurrence) int {
		return cmp.Or(a.HappenedAt.Compare(b.HappenedAt), bytes.Compare(a.EventID[:], b.EventID[:]))
	})
	return fresh, nil
}

// find locks the errors that there are, and drops new ones that there is no room for.
func (w *writing) find(ctx context.Context, groups map[[32]byte]*group) error {
	prints := make([][]byte, 0, len(groups))
	for p := range groups {
		prints = append(prints, p[:])
	}
	rows, err := postgres.All[errorRow](ctx, w.tx, sqlLockErrors, w.projectID, prints)
	if err != nil {
		return err
	}
	for i := range rows {
		groups[[32]byte(rows[i].Fingerprint)].row = &rows[i]
	}
	for _, p := range slices.SortedFunc(maps.Keys(groups), func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }) {
		if groups[p].row != nil {
			continue
		}
		if w.room--; w.room < 0 {
			delete(groups, p)
		}
	}
	return nil
}

// count writes down what the groups of a batch change. Their order is the same in every batch.
func (w *writing) count(ctx context.Context, groups []*group) error {
	b := &pgx.Batch{}
	added := 0
	for _, g := range groups {
		last := g.events[len(g.events)-1]
		if g.row != nil {
			w.update(b, g)
			continue
		}
		added++
		row, err := postgres.One[errorRow](ctx, w.tx, sqlInsertError, w.projectID, last.Fingerprint[:], last.Name, last.Message, last.Culprit, last.Platform,
			last.Level, len(g.events), g.events[0].HappenedAt, last.HappenedAt, w.now)
		if err != nil {
			return err
		}
		g.row = &row
	}
	if added > 0 {
		b.Queue(sqlCountErrors, w.projectID, added)
	}
	for _, g := range groups {
		w.details(b, g)
	}
	return w.tx.SendBatch(ctx, b).Close()
}

// update counts events of an error that there is. What it says is what its latest event says.
func (w *writing) update(b *pgx.Batch, g *group) {
	status, regressed := g.row.Status, false
	for _, o := range g.events {
		var again bool
		status, again = afterEvent(status, g.row.ResolvedAt, o.HappenedAt)
		regressed = regressed || again
	}
	last := g.events[len(g.events)-1]
	b.Queue(sqlUpdateError, g.row.ID, len(g.events), g.events[0].HappenedAt, last.HappenedAt, status, regressed, w.now,
		last.Name, last.Message, last.Culprit, last.Level)
}

// details are what is counted of an error by hour, by place and by person, and its latest events.
func (w *writing) details(b *pgx.Batch, g *group) {
	hours, places := map[time.Time]int{}, map[place]*seen{}
	var people [][]byte
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
		if o.Person != nil {
			people = append(people, o.Person)
		}
	}
	id := g.row.ID
	for _, hour := range slices.SortedFunc(maps.Keys(hours), time.Time.Compare) {
		b.Queue(sqlCountHour, id, hour, hours[hour])
	}
	for _, p := range slices.SortedFunc(maps.Keys(places), func(a, b place) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.value, b.value)) }) {
		b.Queue(sqlCountPlace, id, p.kind, p.value, places[p].events, places[p].first, places[p].last, maxPlaces)
	}
	if len(people) > 0 && g.row.People < maxPeople {
		b.Queue(sqlCountPeople, id, people)
	}
	for _, o := range g.events[max(0, len(g.events)-storedAtOnce):] {
		b.Queue(sqlStoreEvent, id, o.EventID, o.HappenedAt, w.now, o.Level, o.Environment, o.Release, o.Payload)
	}
	b.Queue(sqlTrimEvents, id, keptEvents)
}

type place struct{ kind, value string }

type seen struct {
	events      int
	first, last time.Time
}
