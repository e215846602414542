package audit_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/audit"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/user"
)

// byID is a page of the trail, the newest first.
func byID(perPage int) paging.Request {
	return paging.Request{PerPage: perPage, Keyset: true, OrderBy: "id", Desc: true}
}

// turned are the types of all events of a filter, and how many pages they stand on.
func (w *fixture) turned(t testing.TB, f audit.Filter, req paging.Request) (types []string, pages int) {
	t.Helper()
	for pages = 1; ; pages++ {
		found, err := w.Audit.List(t.Context(), f, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Items {
			types = append(types, e.EventType)
		}
		if found.Next == nil {
			return types, pages
		}
		req.Cursor = found.Next
	}
}

// many writes events that nobody asks for, without seals.
func (w *fixture) many(t testing.TB, n int, of bus.Entity) {
	t.Helper()
	w.exec(t, `insert into audit_events (created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_details, details)
		select $4, 'noise', -9, 'Noise', $1, $2, 'noise', 'Group', 'noise', '{}' from generate_series(1, $3)`, string(of.Kind), of.ID, n, w.Clock.Now())
}

func TestAPersonAndATypeAreFoundAmongTheEventsOfAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.people[access.Owner], w.people[access.Developer]
	w.record(t, ann, w.ofGroup(), "first", "second")
	w.record(t, bob, w.ofProject(), "first")
	w.record(t, ann, w.ofProject(), "third")
	w.record(t, ann, bus.Instance(), "first")
	for name, c := range map[string]struct {
		filter audit.Filter
		want   []string
	}{
		"a person":          {audit.Filter{AuthorID: ann.ID}, []string{"first", "third", "second", "first"}},
		"a type":            {audit.Filter{EventType: "first"}, []string{"first", "first", "first"}},
		"both":              {audit.Filter{AuthorID: bob.ID, EventType: "first"}, []string{"first"}},
		"of a kind":         {audit.Filter{AuthorID: ann.ID, EntityType: bus.OfProject}, []string{"third"}},
		"in one place":      {audit.Filter{EntityType: bus.OfGroup, EntityID: w.house.ID, AuthorID: ann.ID, EventType: "second"}, []string{"second"}},
		"of the instance":   {audit.Filter{EntityType: bus.OfInstance, AuthorID: ann.ID}, []string{"first"}},
		"on another day":    {audit.Filter{EventType: "first", Before: w.Clock.Now().Add(-time.Hour)}, nil},
		"nothing like that": {audit.Filter{EventType: "nothing"}, nil},
	} {
		for _, perPage := range []int{1, 2, 20} {
			if got, _ := w.turned(t, c.filter, byID(perPage)); !slices.Equal(got, c.want) {
				t.Errorf("%s, %d on a page: got %q", name, perPage, got)
			}
		}
	}
}

func TestASearchLooksAtSoManyEventsOnAPageAndLeadsOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.record(t, w.root, w.ofGroup(), "oldest", "rare")
	w.many(t, audit.SearchSpan, w.ofGroup())
	w.record(t, w.root, w.ofGroup(), "rare")
	w.many(t, audit.SearchSpan+5, w.ofGroup())
	for _, f := range []audit.Filter{
		{EventType: "rare"}, {EventType: "rare", EntityType: bus.OfGroup, EntityID: w.house.ID}, {EventType: "rare", After: w.Clock.Now().Add(-time.Hour)},
	} {
		if got, pages := w.turned(t, f, byID(20)); !slices.Equal(got, []string{"rare", "rare"}) || pages != 3 {
			t.Errorf("%+v: got %d on %d pages", f, len(got), pages)
		}
	}
	// What an index finds is on the first page, however much lies above it.
	if got, pages := w.turned(t, audit.Filter{EntityType: bus.OfGroup, EntityID: w.house.ID, AuthorID: w.root.ID}, byID(20)); len(got) != 3 || pages != 1 {
		t.Errorf("got %d on %d pages", len(got), pages)
	}
	req := byID(20)
	for _, after := range [][]string{{"x"}, {"1", "2"}, {"99999999999999999999"}} {
		req.Cursor = &paging.Cursor{OrderBy: "id", Desc: true, After: after}
		if _, err := w.Audit.List(t.Context(), audit.Filter{EventType: "rare"}, req); !fault.Is(err, fault.BadParams) {
			t.Errorf("a cursor with %q: %v", after, err)
		}
	}
}

func TestWhatSomebodyMayReadOfATrail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	free := newFixture(t, "STITHY_INSTANCE_TIER=free")
	as := func(w *fixture, u *user.User) (access.Actor, *owner.Owner, *owner.Owner) {
		u, err := w.Users.Find(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		a := access.Actor{Person: u.Person(), Account: u}
		g, err := w.Groups.Find(t.Context(), a, w.house.ID)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Projects.Find(t.Context(), a, w.project.ID)
		if err != nil {
			t.Fatal(err)
		}
		return a, owner.OfGroup(g), owner.OfProject(p)
	}
	const all, own, nothing = "all", "own", "nothing"
	of := func(w *fixture, a access.Actor, o *owner.Owner) string {
		f, err := w.Audit.Readable(a, o)
		switch {
		case fault.Is(err, fault.Forbidden):
			return nothing
		case err != nil:
			return err.Error()
		case f.AuthorID == a.ID():
			return own
		}
		return all
	}
	for _, c := range []struct {
		who                      *user.User
		instance, group, project string
	}{
		{w.root, all, all, all}, {w.auditor, nothing, all, all}, {w.people[access.Owner], nothing, all, all},
		{w.people[access.Maintainer], nothing, own, all}, {w.people[access.Developer], nothing, own, own},
		{w.people[access.Reporter], nothing, nothing, nothing}, {w.stranger, nothing, nothing, nothing},
	} {
		a, g, p := as(w, c.who)
		if got := [3]string{of(w, a, nil), of(w, a, g), of(w, a, p)}; got != [3]string{c.instance, c.group, c.project} {
			t.Errorf("%s: %q", c.who.Username, got)
		}
	}
	a, g, p := as(free, free.root)
	if got := [3]string{of(free, a, nil), of(free, a, g), of(free, a, p)}; got != [3]string{nothing, nothing, nothing} {
		t.Errorf("on the free tier: %q", got)
	}
}

// recordAs writes an event whose texts are given.
func (w *fixture) recordAs(t testing.TB, d bus.AuditRecord) {
	t.Helper()
	if err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error { return w.Audit.Record(t.Context(), tx, event(d)) }); err != nil {
		t.Fatal(err)
	}
}

func TestAnExportHoldsEveryEventOnceAndNoFormula(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	formulas := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", `=cmd|' /C calc'!A0`, "a;=1", "a\t+1", `a;"=1"`, "plain", `with "quotes", and a comma`, "two\nlines"}
	for _, text := range formulas {
		w.recordAs(t, bus.AuditRecord{
			Type: "named", Entity: w.ofGroup(), By: access.Actor{Person: &access.Person{ID: w.root.ID, Name: text}, Address: netip.MustParseAddr("192.0.2.7")},
			Message: text, Target: bus.Target{Type: text, ID: 7, Details: text},
		})
	}
	w.many(t, 2500, w.ofProject())
	var table, lines bytes.Buffer
	if err := w.Audit.WriteCSV(t.Context(), &table, audit.Filter{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Audit.WriteLines(t.Context(), &lines, audit.Filter{EntityType: bus.OfGroup, EntityID: w.house.ID}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != 1+2500+len(formulas) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row[0]] {
			t.Errorf("%s twice", row[0])
		}
		seen[row[0]] = true
		for i, cell := range row {
			if begin := regexp.MustCompile(`(^|[;\t]"?)[=+@＝-]|^[\t\r]`); i != 2 && begin.MatchString(cell) {
				t.Errorf("column %d holds a formula: %q", i, cell)
			}
		}
	}
	last := rows[len(rows)-1] // the oldest
	if last[3] != "'=1+1" || last[9] != "'=1+1" || last[11] != "'=1+1" || last[12] != "192.0.2.7" || last[4] != "Group" {
		t.Errorf("got %q", last)
	}
	all := strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")
	if len(all) != len(formulas) {
		t.Fatalf("%d lines", len(all))
	}
	for i, line := range all {
		got := members(t, []byte(line))
		if want := formulas[len(formulas)-1-i]; got["author_name"] != want || got["target_details"] != want || got["event_type"] != "named" {
			t.Errorf("line %d: got %s", i, line)
		}
	}
}

func TestAnExportEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 5 {
		w.record(t, w.root, w.ofGroup(), fmt.Sprintf("event_%d", n))
	}
	for most, want := range map[int]int{1: 2, 4: 5, 5: 5, 6: 5} { // with the line that says so
		var table, lines bytes.Buffer
		if err := audit.WriteUpTo(t.Context(), w.Audit, &table, &lines, audit.Filter{EntityType: bus.OfGroup, EntityID: w.house.ID}, most); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&table).ReadAll()
		if err != nil || len(rows) != 1+want {
			t.Errorf("%d: %d rows, %v", most, len(rows), err)
		}
		all := strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")
		if len(all) != want {
			t.Errorf("%d: %d lines", most, len(all))
		}
		cut := most < 5
		if strings.HasPrefix(rows[len(rows)-1][0], "This is not all") != cut || strings.Contains(all[len(all)-1], `"truncated":true`) != cut {
			t.Errorf("%d ends with %q and %s", most, rows[len(rows)-1], all[len(all)-1])
		}
	}
}

func TestAnEventSaysInALineWhatWasDone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"custom_message":"Added somebody"}`:                    "Added somebody",
		`{"change":"visibility","from":"Private","to":"Public"}`: "Changed visibility from Private to Public",
		`{"change":"name","from":"","to":"x"}`:                   "Changed name to x",
		`{"change":"name"}`:                                      "Changed name",
		`{"add":"user_access"}`:                                  "Added user access",
		`{"remove":"group"}`:                                     "Removed group",
		`{}`:                                                     "Member created",
		`{"custom_message":{"protocol":"ssh"}}`:                  "Member created",
		`"not an object"`:                                        "Member created",
	} {
		e := audit.Event{EventType: "member_created", Details: json.RawMessage(text)}
		if diff := cmp.Diff(want, e.Action()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
