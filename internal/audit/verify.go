package audit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
)

// Tampering is what somebody did to the trail.
type Tampering string

const (
	Changed   Tampering = "changed"
	Deleted   Tampering = "deleted"
	Inserted  Tampering = "inserted"
	Reordered Tampering = "reordered"
	Truncated Tampering = "truncated"
	Swapped   Tampering = "swapped"
)

// Finding is one thing that is not as it was sealed.
type Finding struct {
	Tampering Tampering
	EventID   int64  // zero where no single event is meant
	Entity    string // whose chain it is, if that is known: "Project 5"
	What      string
}

func (f Finding) String() string {
	text := string(f.Tampering)
	if f.EventID != 0 {
		text += fmt.Sprintf(": event %d", f.EventID)
	}
	if f.Entity != "" {
		text += fmt.Sprintf(" (%s)", f.Entity)
	}
	return text + ": " + f.What
}

// Report is what a verification found.
type Report struct {
	Findings []Finding
	More     bool // there are too many to list
	Blocks   int64
	Sealed   int64 // events that are as they were sealed, or are listed
	Waiting  int64 // events that are not sealed yet
	Retired  int   // months that were dropped on purpose
	Head     Head  // the end of the trail
}

const (
	maxFindings = 10_000
	blocksRead  = 10 // at once
	// grace is how long after its first block a trail takes in events without a signature of their own: those of earlier releases.
	grace = 24 * time.Hour
)

// Verify reads the whole trail as it is at one moment, and names whatever is not as it was sealed. What it needs is the database and the key file.
// With a head that was kept elsewhere it also finds that the trail was set back to an earlier state.
func (s *Service) Verify(ctx context.Context, known ...Head) (*Report, error) {
	v := &verification{
		s: s, retired: map[time.Time]bool{}, named: map[int64]bool{}, hashes: map[int64][]byte{}, report: &Report{Head: Head{Hash: origin}},
	}
	for _, h := range known {
		v.hashes[h.Block] = nil
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		v.tx = tx
		for _, sql := range []string{sqlOneMoment, sqlPatient} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		for _, step := range []func(context.Context) error{v.readRetired, v.readBlocks, v.sortOut, v.readChains, v.readRest, v.readDays} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		for _, h := range known {
			v.compareHead(h, v.hashes[h.Block], "the head that was kept")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("verifying the audit trail: %w", err)
	}
	sorting.Stably(v.report.Findings, func(a, b Finding) int { return cmp.Compare(a.EventID, b.EventID) })
	return v.report, nil
}

// verification is a reading of the trail.
type verification struct {
	s       *Service
	tx      pgx.Tx
	report  *Report
	retired map[time.Time]bool
	begun   time.Time        // when the first block was sealed
	odd     []pair           // events that are not as their seals say
	missing []seal           // of events that are gone
	named   map[int64]bool   // events that have a finding
	seals   int64            // that blocks name
	hashes  map[int64][]byte // of the blocks that somebody asks for
}

// pair is an event beside its seal.
type pair struct {
	seal  seal
	event Event
}

func (v *verification) find(what Tampering, id int64, of entity, format string, args ...any) {
	if len(v.report.Findings) >= maxFindings {
		v.report.More = true
		return
	}
	if id != 0 {
		v.named[id] = true
	}
	f := Finding{Tampering: what, EventID: id, What: fmt.Sprintf(format, args...)}
	if of.Type != "" {
		f.Entity = fmt.Sprintf("%s %d", of.Type, of.ID)
	}
	v.report.Findings = append(v.report.Findings, f)
}

func (v *verification) readRetired(ctx context.Context) error {
	months, err := postgres.All[retired](ctx, v.tx, sqlRetired)
	for _, m := range months {
		if !v.s.signed(ofRetired, m.whole(), m.MAC) {
			v.find(Inserted, 0, entity{}, "that the month %s was retired is not signed by this instance", m.Month.Format("2006-01"))
			continue
		}
		v.retired[m.Month] = true
		v.report.Retired++
	}
	return err
}

// readBlocks goes through the chain of all.
func (v *verification) readBlocks(ctx context.Context) error {
	days, err := postgres.All[day](ctx, v.tx, sqlDays)
	if err != nil {
		return err
	}
	for _, d := range days {
		v.hashes[d.Block] = nil
	}
	for {
		blocks, err := postgres.All[block](ctx, v.tx, sqlBlocks, v.report.Head.Block, blocksRead)
		if err != nil || len(blocks) == 0 {
			return err
		}
		var ids []int64
		for _, b := range blocks {
			ids = append(ids, b.EventIDs...)
		}
		events, seals, err := v.fetch(ctx, ids)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			v.readBlock(b)
			v.readEvents(b, events, seals)
		}
	}
}

func (v *verification) fetch(ctx context.Context, ids []int64) (map[int64][]Event, map[int64][]seal, error) {
	events, seals := map[int64][]Event{}, map[int64][]seal{}
	for part := range slices.Chunk(ids, sealBatch) {
		found, err := postgres.All[Event](ctx, v.tx, sqlEventsOf, part)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range found {
			events[e.ID] = append(events[e.ID], e)
		}
		links, err := postgres.All[seal](ctx, v.tx, sqlSealsOf, part)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range links {
			seals[l.EventID] = append(seals[l.EventID], l)
		}
	}
	return events, seals, nil
}

// readBlock looks at a block itself, and at what it follows.
func (v *verification) readBlock(b block) {
	last := v.report.Head
	switch {
	case b.Number != last.Block+1:
		v.find(Deleted, 0, entity{}, "blocks %d to %d are missing, with what they say of their events", last.Block+1, b.Number-1)
	case !bytes.Equal(b.Previous, last.Hash):
		v.find(Changed, 0, entity{}, "block %d does not follow block %d", b.Number, last.Block)
	}
	if !bytes.Equal(b.sum(), b.Hash) || !v.s.signed(ofBlock, b.Hash, b.MAC) {
		v.find(Changed, 0, entity{}, "block %d is not as this instance signed it", b.Number)
	}
	if v.begun.IsZero() {
		v.begun = b.SealedAt
	}
	if _, asked := v.hashes[b.Number]; asked {
		v.hashes[b.Number] = b.Hash
	}
	v.report.Blocks++
	v.report.Head = Head{Block: b.Number, Hash: b.Hash}
}

// readEvents looks at the events of a block and their seals.
func (v *verification) readEvents(b block, events map[int64][]Event, seals map[int64][]seal) {
	if v.retired[b.Month] {
		v.readRetiredEvents(b, events, seals)
		return
	}
	sound, links := true, make([]seal, 0, len(b.EventIDs))
	for _, id := range b.EventIDs {
		found := events[id]
		at := slices.IndexFunc(seals[id], func(l seal) bool { return l.Block == b.Number })
		if at < 0 {
			sound = false
			if len(found) == 0 {
				v.find(Deleted, id, entity{}, "the event is gone, and so is its seal; block %d names it", b.Number)
			} else {
				v.find(Deleted, id, entity{found[0].EntityType, found[0].EntityID}, "its seal is gone; block %d names it", b.Number)
			}
			continue
		}
		link := seals[id][at]
		v.seals++
		links = append(links, link)
		if !bytes.Equal(link.sum(), link.Hash) || !v.s.signed(ofSeal, link.Hash, link.MAC) {
			sound = false
			v.find(Changed, id, link.entity(), "its seal is not as this instance signed it")
		}
		v.readEvent(b, link, found)
	}
	if sound && !bytes.Equal(contentOf(links), b.Content) {
		v.find(Changed, 0, entity{}, "the seals of block %d are not those that it was signed with", b.Number)
	}
}

// readRetiredEvents looks for rows that bear the ids of a month that was retired: there are none, whatever day they say that they are of.
func (v *verification) readRetiredEvents(b block, events map[int64][]Event, seals map[int64][]seal) {
	for _, id := range b.EventIDs {
		for _, e := range events[id] {
			v.find(Inserted, id, entity{e.EntityType, e.EntityID}, "the event that had this id went with its month, %s", b.Month.Format("2006-01"))
		}
		for _, l := range seals[id] {
			v.find(Inserted, id, l.entity(), "the seal of this id went with its month, %s", b.Month.Format("2006-01"))
		}
	}
}

// readEvent looks at the rows that have the id of a seal.
func (v *verification) readEvent(b block, link seal, found []Event) {
	if len(v.missing)+len(v.odd) >= maxFindings {
		v.report.More = true
		return
	}
	if len(found) == 0 {
		v.missing = append(v.missing, link)
		v.named[link.EventID] = true
		return
	}
	at := max(0, slices.IndexFunc(found, func(e Event) bool { return e.CreatedAt.Equal(link.CreatedAt) }))
	for i, e := range found {
		if i != at {
			v.find(Inserted, e.ID, entity{e.EntityType, e.EntityID}, "a second event with this id, of %s, was not sealed", e.CreatedAt.Format(time.RFC3339))
		}
	}
	e := found[at]
	v.report.Sealed++
	if e.EntityType != link.EntityType || e.EntityID != link.EntityID || !e.CreatedAt.Equal(link.CreatedAt) || !bytes.Equal(e.content(), link.Content) {
		v.odd = append(v.odd, pair{link, e})
		v.named[e.ID] = true
		return
	}
	v.readSignature(e, b.SealedAt)
}

// readSignature looks whether the instance wrote an event that was sealed at a time.
func (v *verification) readSignature(e Event, sealed time.Time) {
	of := entity{e.EntityType, e.EntityID}
	switch {
	case len(e.MAC) == 0 && !v.begun.IsZero() && sealed.Sub(v.begun) > grace:
		v.find(Inserted, e.ID, of, "it was not written by this instance: it has no signature")
	case len(e.MAC) > 0 && !v.s.signed(ofEvent, e.whole(), e.MAC):
		v.find(Inserted, e.ID, of, "this instance did not write what it says: it was inserted, or changed before it was sealed")
	}
}

// sortOut says what was done to events that are gone or are not as they were sealed.
func (v *verification) sortOut(ctx context.Context) error {
	for i, p := range v.odd {
		v.sortOutOne(i, p)
	}
	var types []string
	var ids []int64
	gone := map[entity][]seal{}
	for _, l := range v.missing {
		if gone[l.entity()] == nil {
			types, ids = append(types, string(l.EntityType)), append(ids, l.EntityID)
		}
		gone[l.entity()] = append(gone[l.entity()], l)
	}
	heads, err := postgres.All[head](ctx, v.tx, sqlEndsOf, types, ids)
	if err != nil {
		return err
	}
	ends := map[entity]int64{}
	for _, h := range heads {
		ends[entity{h.EntityType, h.EntityID}] = h.Number
	}
	for of, links := range gone {
		sorting.By(links, func(a, b seal) int { return cmp.Compare(b.Number, a.Number) })
		end := ends[of]
		for _, l := range links {
			if l.Number == end {
				end--
				v.find(Truncated, l.EventID, of, "the end of its chain is cut off from number %d on", l.Number)
				continue
			}
			v.find(Deleted, l.EventID, of, "number %d of its chain is gone", l.Number)
		}
	}
	return nil
}

// sortOutOne says what was done to one event, by looking for another that it changed places with.
func (v *verification) sortOutOne(at int, p pair) {
	now, e := p.event.content(), p.event
	same := bytes.Equal(now, p.seal.Content)
	if same && (e.EntityType != p.seal.EntityType || e.EntityID != p.seal.EntityID) {
		v.find(Swapped, e.ID, p.seal.entity(), "it stands in the trail of %s %d now", e.EntityType, e.EntityID)
		return
	}
	for i, other := range v.odd {
		if i == at {
			continue
		}
		content := !same && bytes.Equal(now, other.seal.Content)
		moment := same && !e.CreatedAt.Equal(p.seal.CreatedAt) && e.CreatedAt.Equal(other.seal.CreatedAt)
		switch {
		case (content || moment) && other.seal.entity() == p.seal.entity():
			v.find(Reordered, e.ID, p.seal.entity(), "it changed places with event %d", other.seal.EventID)
			return
		case content:
			v.find(Swapped, e.ID, p.seal.entity(), "it holds what event %d of %s %d was sealed with", other.seal.EventID, other.seal.EntityType, other.seal.EntityID)
			return
		}
	}
	if e.EntityType != p.seal.EntityType || e.EntityID != p.seal.EntityID {
		v.find(Swapped, e.ID, p.seal.entity(), "it stands in the trail of %s %d now, and says something else", e.EntityType, e.EntityID)
		return
	}
	v.find(Changed, e.ID, p.seal.entity(), "it is not what was sealed on %s", p.seal.CreatedAt.Format(time.DateOnly))
}

// readChains looks whether the seals of each entity follow each other up to its head.
func (v *verification) readChains(ctx context.Context) error {
	cut := len(v.retired) > 0
	breaks, err := postgres.All[struct {
		EntityType bus.EntityKind
		EntityID   int64
		Number     int64
		Before     int64
		EventID    int64
	}](ctx, v.tx, sqlBreaks, cut, maxFindings)
	if err != nil {
		return err
	}
	for _, b := range breaks {
		of := entity{b.EntityType, b.EntityID}
		if b.Number > b.Before+1 {
			v.find(Deleted, 0, of, "numbers %d to %d of the chain are missing", b.Before+1, b.Number-1)
			continue
		}
		v.find(Changed, 0, of, "number %d of the chain, of event %d, does not follow the one before", b.Number, b.EventID)
	}
	ends, err := postgres.All[struct {
		EntityType bus.EntityKind
		EntityID   int64
		Number     int64
		Last       int64
	}](ctx, v.tx, sqlEnds, cut, maxFindings)
	for _, e := range ends {
		of := entity{e.EntityType, e.EntityID}
		if e.Last < e.Number {
			v.find(Truncated, 0, of, "the chain ends at number %d, and its head is number %d", e.Last, e.Number)
			continue
		}
		v.find(Changed, 0, of, "the head of the chain is not its last seal, number %d", e.Last)
	}
	return err
}

// place is where an event or a seal stands.
type place struct {
	ID         int64
	CreatedAt  time.Time
	EntityType bus.EntityKind
	EntityID   int64
}

// readRest looks at what no block names.
func (v *verification) readRest(ctx context.Context) error {
	unknown, err := postgres.All[place](ctx, v.tx, sqlUnknown, maxFindings)
	if err != nil {
		return err
	}
	for _, e := range unknown {
		if !v.named[e.ID] {
			v.find(Inserted, e.ID, entity{e.EntityType, e.EntityID}, "nobody sealed it, and nobody is about to")
		}
	}
	if n, err := postgres.Value[int64](ctx, v.tx, sqlCountSeals); err != nil {
		return err
	} else if n != v.seals {
		strays, err := postgres.All[place](ctx, v.tx, sqlStraySeals, maxFindings)
		if err != nil {
			return err
		}
		for _, l := range strays {
			if !v.named[l.ID] {
				v.find(Inserted, l.ID, entity{l.EntityType, l.EntityID}, "no block names its seal")
			}
		}
	}
	gone, err := postgres.Values[int64](ctx, v.tx, sqlGone, maxFindings)
	if err != nil {
		return err
	}
	for _, id := range gone {
		if !v.named[id] {
			v.find(Deleted, id, entity{}, "it was taken away before it was sealed")
		}
	}
	return v.readWaiting(ctx)
}

// readWaiting looks at the signatures of events that are not sealed yet.
func (v *verification) readWaiting(ctx context.Context) error {
	var last Event
	for {
		events, err := postgres.All[Event](ctx, v.tx, sqlWaitingEvents, last.ID, last.CreatedAt, sealBatch)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			v.report.Waiting++
			v.readSignature(e, v.s.deps.Clock.Now())
		}
		last = events[len(events)-1]
	}
}

// readDays looks whether the trail is still what was signed on each day.
func (v *verification) readDays(ctx context.Context) error {
	days, err := postgres.All[day](ctx, v.tx, sqlDays)
	for _, d := range days {
		of := d.Day.Format(time.DateOnly)
		if !v.s.signed(ofDay, d.whole(), d.MAC) {
			v.find(Changed, 0, entity{}, "the head of %s is not as this instance signed it", of)
			continue
		}
		v.compareHead(Head{Block: d.Block, Hash: d.Hash}, v.hashes[d.Block], "the head that was signed on "+of)
	}
	return err
}

// compareHead looks whether the trail has reached a head that was signed.
func (v *verification) compareHead(h Head, is []byte, name string) {
	switch {
	case h.Block > v.report.Head.Block:
		v.find(Truncated, 0, entity{}, "the trail ends at block %d, before %s, block %d", v.report.Head.Block, name, h.Block)
	case !bytes.Equal(is, h.Hash):
		v.find(Changed, 0, entity{}, "block %d is not %s", h.Block, name)
	}
}
