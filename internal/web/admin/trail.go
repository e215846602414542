package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/audit"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/sorting"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
)

const (
	trailTitle    = "Audit events"
	eventsPerPage = 50
)

// trailAct is a page or form about an audit trail, by what follows its path.
type trailAct struct {
	method, below string
	do            func(*trail) error
}

var trailPages = []trailAct{
	{http.MethodGet, "", showTrail},
	{http.MethodGet, "/export.csv", exportTable},
	{http.MethodGet, "/export.jsonl", exportLines},
	{http.MethodGet, "/{id}", showEvent},
}

// trail is a request for a page about the audit trail of the instance, a group or a project.
type trail struct {
	*page.Request
	deps   Deps
	of     *owner.Owner // nil: of all
	at     string       // path of the list
	layout func(title string) page.Layout
}

func ofInstance(x *page.Request, d Deps) *trail {
	return &trail{Request: x, deps: d, at: instanceActs, layout: func(title string) page.Layout {
		return page.Layout{Title: title, Sidebar: x.Sidebar(page.AdminList, instanceActs)}
	}}
}

func ofGroup(x *grouppage.Request, d Deps) *trail {
	return &trail{Request: x.Request, deps: d, of: owner.OfGroup(x.Group), at: x.At(actsPath), layout: func(title string) page.Layout {
		return x.Layout(title, actsPath)
	}}
}

func ofProject(x *projectpage.Request, d Deps) *trail {
	return &trail{Request: x.Request, deps: d, of: owner.OfProject(x.Project), at: x.At(actsPath), layout: func(title string) page.Layout {
		return x.Layout(title, actsPath)
	}}
}

// asked is which part of a trail somebody asks for.
type asked struct {
	filter audit.Filter
	own    bool // they may read what they did themselves, and nothing else
	query  url.Values
	none   bool // nobody and nothing is called like that
}

// filtered reports whether it is only a part of what they may read.
func (a asked) filtered() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(a.query)), func(v []string) bool { return v[0] != "" })
}

// ask reads the filter of a request, within what its reader may read.
func (x *trail) ask() (a asked, err error) {
	if a.filter, err = x.deps.Audit.Readable(x.Actor, x.of); err != nil {
		return a, fault.New(fault.NotFound)
	}
	a.own, a.query = a.filter.AuthorID != 0, url.Values{}
	names := []string{"type", "from", "to"}
	if x.of == nil {
		names = append(names, "kind", "entity")
	}
	if !a.own {
		names = append(names, "person")
	}
	for _, name := range names {
		a.query.Set(name, strings.TrimSpace(x.Form.Get(name)))
	}
	a.filter.EventType = a.query.Get("type")
	if a.filter.After, err = day(a.query.Get("from")); err != nil {
		return a, err
	}
	if a.filter.Before, err = day(a.query.Get("to")); err != nil {
		return a, err
	}
	if !a.filter.Before.IsZero() {
		a.filter.Before = a.filter.Before.AddDate(0, 0, 1).Add(-time.Microsecond) // all of that day
	}
	if who := a.query.Get("person"); who != "" {
		if a.filter.AuthorID, err = x.person(who); err != nil {
			return a.unless(err)
		}
	}
	if x.of == nil {
		a.filter.EntityType, a.filter.EntityID, err = x.entity(bus.EntityKind(a.query.Get("kind")), a.query.Get("entity"))
	}
	return a.unless(err)
}

// unless finds nothing where what was asked for is not there.
func (a asked) unless(err error) (asked, error) {
	if fault.Is(err, fault.NotFound) {
		a.none, err = true, nil
	}
	return a, err
}

// day reads a day, from its first moment on.
func day(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, fault.WithMessage(fault.BadParams, "A day is written like 2026-11-09.")
	}
	return t, nil
}

// person is the id of somebody, by username or, for those who are gone, by the id itself.
func (x *trail) person(text string) (int64, error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id != 0 {
		return id, nil
	}
	u, err := x.deps.Users.FindByUsername(x.Context(), strings.TrimPrefix(text, "@"))
	if err != nil {
		return 0, err
	}
	return u.ID, nil
}

// entity is whose events are asked for: of a kind, and of one by its path or, where it is gone, by its id.
func (x *trail) entity(kind bus.EntityKind, text string) (bus.EntityKind, int64, error) {
	if kind != "" && !slices.Contains(entityKinds, kind) {
		return "", 0, fault.New(fault.NotFound)
	}
	if text == "" || kind == bus.OfInstance {
		return kind, 0, nil
	}
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 && kind != "" {
		return kind, id, nil
	}
	for _, one := range []struct {
		kind bus.EntityKind
		find func(context.Context, string) (int64, error)
	}{{bus.OfProject, x.project}, {bus.OfGroup, x.group}, {bus.OfUser, func(_ context.Context, name string) (int64, error) { return x.person(name) }}} {
		if kind != "" && kind != one.kind {
			continue
		}
		id, err := one.find(x.Context(), text)
		if err == nil || !fault.Is(err, fault.NotFound) {
			return one.kind, id, err
		}
	}
	return kind, 0, fault.New(fault.NotFound)
}

func (x *trail) project(ctx context.Context, path string) (int64, error) {
	p, _, err := x.deps.Projects.FindByRef(ctx, x.Actor, path)
	if err != nil {
		return 0, err
	}
	return p.ID, nil
}

func (x *trail) group(ctx context.Context, path string) (int64, error) {
	g, err := x.deps.Groups.FindByRef(ctx, x.Actor, path)
	if err != nil {
		return 0, err
	}
	return g.ID, nil
}

var entityKinds = []bus.EntityKind{bus.OfInstance, bus.OfGroup, bus.OfProject, bus.OfUser}

// kindChoices are the kinds of trails that can be asked for.
func kindChoices(chosen string) []page.Choice {
	all := []page.Choice{
		{Value: "", Label: "Everywhere"}, {Value: string(bus.OfInstance), Label: "Instance"}, {Value: string(bus.OfGroup), Label: "Groups"},
		{Value: string(bus.OfProject), Label: "Projects"}, {Value: string(bus.OfUser), Label: "Users"},
	}
	for i := range all {
		all[i].Chosen = all[i].Value == chosen
	}
	return all
}

// trailBody is one page of an audit trail.
type trailBody struct {
	Action   page.URL
	Own      bool          // its reader sees what they did themselves
	All      bool          // it is the trail of the instance and everything in it
	Kinds    []page.Choice // of All
	Person   string
	Entity   string
	Type     string
	From, To string
	Sealed   *page.DisplayTime // of All
	Events   []eventRow
	None     string // said where there are none
	Pager    page.Pager
}

type eventRow struct {
	When         *page.DisplayTime
	Who, Key     string // its author, and what their colour follows from
	Machine      bool   // nobody did it
	What, Target string
	Where        string
	Address      string
	Details      page.URL // for those who may read them
}

// exportLinks are the ways to take a list along, and to where it is sent for those who say so.
type exportLinks struct{ Table, Lines, Streams page.URL }

func showTrail(x *trail) error {
	a, err := x.ask()
	if err != nil {
		return err
	}
	req, err := x.ByCursor(eventsPerPage)
	if err != nil {
		return err
	}
	var found paging.Result[audit.Event]
	if !a.none {
		if found, err = x.deps.Audit.List(x.Context(), a.filter, req); err != nil {
			return err
		}
	}
	q := a.query
	body := trailBody{
		Action: x.Link(x.at), Own: a.own, All: x.of == nil, Kinds: kindChoices(q.Get("kind")), Person: q.Get("person"), Entity: q.Get("entity"),
		Type: q.Get("type"), From: q.Get("from"), To: q.Get("to"), Pager: x.CursorPager(x.at, q, req, found.Next),
	}
	for i := range found.Items {
		body.Events = append(body.Events, newEventRow(x, &found.Items[i], a.own))
	}
	early := found.Next != nil && len(found.Items) < req.PerPage
	if early {
		body.Pager.Note = fmt.Sprintf("%d events were looked through. Older ones may match, too.", audit.SearchSpan)
	}
	switch {
	case early:
		body.None = "Nothing matches among the events that were looked through."
	case a.filtered() || req.Cursor != nil:
		body.None = "No event matches. Try more days, or less of a filter."
	default:
		body.None = "Nothing has been done here that the audit trail keeps."
	}
	if x.of == nil {
		at, err := x.deps.Audit.SealedAt(x.Context())
		if err != nil {
			return err
		}
		body.Sealed = x.Time(&at)
	}
	l := x.layout(trailTitle)
	links := exportLinks{Table: x.exported("csv", q), Lines: x.exported("jsonl", q)}
	if x.deps.Audit.MayStream(x.Actor, x.of) {
		links.Streams = x.Link(x.at + streamsBelow)
	}
	l.Actions = trailActions(links)
	return x.Show(http.StatusOK, l, trailPage(body))
}

// exported is the address of the list as a file.
func (x *trail) exported(format string, query url.Values) page.URL {
	q := url.Values{}
	for name, values := range query {
		if values[0] != "" {
			q[name] = values
		}
	}
	return x.Link(strings.TrimSuffix(x.at+"/export."+format+"?"+q.Encode(), "?"))
}

func newEventRow(x *trail, e *audit.Event, own bool) eventRow {
	row := eventRow{
		When: x.Time(&e.CreatedAt), Who: e.AuthorName, Key: strconv.FormatInt(e.AuthorID, 10), Machine: e.AuthorID <= 0, What: e.Action(), Target: e.Target(),
		Where: e.Place(),
	}
	if e.IPAddress != nil {
		row.Address = *e.IPAddress
	}
	if !own {
		row.Details = x.Link(x.at + "/" + strconv.FormatInt(e.ID, 10))
	}
	return row
}

// eventBody is one event.
type eventBody struct {
	When     string
	Who      string
	What     string
	Where    string
	Type     string
	Target   string
	Address  string
	Details  []detail
	Back     page.URL
	SameType page.URL // the others of its type
}

type detail struct{ Name, Value string }

func showEvent(x *trail) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	e, err := x.deps.Audit.FindFor(x.Context(), x.Actor, x.of, id)
	if fault.Is(err, fault.Forbidden) {
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	body := eventBody{
		When: e.CreatedAt.UTC().Format("2 January 2006, 15:04:05 UTC"), Who: e.AuthorName, What: e.Action(), Where: e.Place(), Type: e.EventType,
		Target: e.TargetDetails, Details: details(e.Details), Back: x.Link(x.at),
		SameType: x.Link(x.at + "?" + url.Values{"type": {e.EventType}}.Encode()),
	}
	if e.IPAddress != nil {
		body.Address = *e.IPAddress
	}
	return x.Show(http.StatusOK, x.layout("Audit event "+strconv.FormatInt(e.ID, 10)), eventPage(body))
}

// details are the members of an event, by name.
func details(text json.RawMessage) []detail {
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&members) // the column holds an object
	var all []detail
	for name, value := range members {
		all = append(all, detail{Name: strings.ReplaceAll(name, "_", " "), Value: fmt.Sprint(value)})
	}
	sorting.By(all, func(a, b detail) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func exportTable(x *trail) error {
	return export(x, "text/csv; charset=utf-8", "csv", x.deps.Audit.WriteCSV)
}

func exportLines(x *trail) error {
	return export(x, "application/jsonl; charset=utf-8", "jsonl", x.deps.Audit.WriteLines)
}

// export hands out the list that the page shows.
func export(x *trail, media, suffix string, write func(context.Context, io.Writer, audit.Filter) error) error {
	a, err := x.ask()
	if err != nil {
		return err
	}
	if a.none {
		return fault.New(fault.NotFound)
	}
	name := "audit_events_" + x.Clock.Now().UTC().Format(time.DateOnly) + "." + suffix
	return page.Stream(x.Request, media, name, func(w io.Writer) error { return write(x.Context(), w, a.filter) })
}
