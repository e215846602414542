package monitor

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/errortracking"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/sorting"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	chartHours = 48
	shownParts = 5 // of releases, of environments
)

// errorBody is an error and its latest event.
type errorBody struct {
	Status         ui.Status
	Culprit        string
	Message        string
	Events, People string
	First, Last    *page.DisplayTime
	FirstRelease   string
	Hours          chart
	From, Until    string // of the hours
	Releases       []part
	Environments   []part
	Event          *eventBody // nil where none was kept
	Issue          page.URL
	Acts           []*page.Form
}

// part is how much of an error was seen somewhere.
type part struct {
	Name    string
	Percent string
}

// eventBody is an event.
type eventBody struct {
	When    *page.DisplayTime
	ID      string
	Stacks  []stack
	Crumbs  []crumb
	Tags    []errortracking.Pair
	Request string
}

// stack is the calls of one exception, the innermost first.
type stack struct {
	Title  string
	Frames []frame
	Others int // calls of code that is not the program's own
}

type frame struct {
	Place, Function string
	Numbers, Source string // lines around the call
	Open            bool
}

type crumb struct {
	Text, When string
	Icon       ui.IconPath
	Tone       ui.Tone
}

func (x *request) find() (*errortracking.Error, error) {
	id, err := x.ID()
	if err != nil {
		return nil, err
	}
	return x.deps.Errors.Find(x.Context(), x.Project.ID, id)
}

func showError(x *request) error {
	e, err := x.find()
	if err != nil {
		return err
	}
	since := x.deps.Errors.Since(chartHours)
	hours, err := x.deps.Errors.Hours(x.Context(), since, e.ID)
	if err != nil {
		return err
	}
	places, err := x.deps.Errors.Places(x.Context(), e.ID)
	if err != nil {
		return err
	}
	body := errorBody{
		Status: statusOf(e.Status, e.RegressedAt != nil), Culprit: e.Culprit, Message: e.Message, Events: grouped(e.Events), People: grouped(int64(e.People)),
		First: x.Time(&e.FirstSeen), Last: x.Time(&e.LastSeen), Hours: newChart(hours[e.ID], since, time.Hour, chartHours, 480, 60, "Events an hour"),
		From: since.Format("Mon 15:04"), Until: "now", Releases: parts(places, "release"), Environments: parts(places, "environment"),
		FirstRelease: firstRelease(places),
	}
	if e.ResolvedRelease != "" {
		body.Status.Text += " in " + e.ResolvedRelease
	}
	if body.Event, err = x.latest(e.ID); err != nil {
		return err
	}
	if x.May(access.CreateIssues) {
		body.Issue = x.issue(e)
	}
	body.Acts = x.acts(e)
	l := x.Layout(e.Name, errorsPath)
	l.Facts, l.Actions = errorFacts(body), errorActions(body)
	return x.Show(http.StatusOK, l, errorPage(body))
}

// issue is the form of a new issue about an error.
func (x *request) issue(e *errortracking.Error) page.URL {
	title := e.Name
	if line := firstLine(e.Message); line != "" && line != e.Name {
		title += ": " + line
	}
	runes := []rune(title)
	at := string(x.LinkTo(errorPath(e.ID)))
	query := url.Values{
		"issue[title]":       {string(runes[:min(len(runes), 255)])},
		"issue[description]": {fmt.Sprintf("Seen %s times, first on %s: %s", grouped(e.Events), e.FirstSeen.UTC().Format("2 January 2006"), at)},
	}
	return x.Link(x.At("issues/new") + "?" + query.Encode())
}

// acts are what the reader may do to an error.
func (x *request) acts(e *errortracking.Error) (all []*page.Form) {
	if !x.May(access.UpdateErrors) {
		return nil
	}
	button := func(text string, look page.Look, to errortracking.Status) {
		all = append(all, x.Button(x.At(errorPath(e.ID)), text, look, "").With("status", string(to)))
	}
	if e.Status != errortracking.Unresolved {
		button("Reopen", page.Secondary, errortracking.Unresolved)
	} else {
		button("Ignore", page.Secondary, errortracking.Ignored)
	}
	if e.Status != errortracking.Resolved {
		button("Resolve", page.Primary, errortracking.Resolved)
	}
	return all
}

func setErrorStatus(x *request) error {
	said := map[errortracking.Status]string{
		errortracking.Resolved:   "Resolved. It is unresolved again when it happens again.",
		errortracking.Ignored:    "Ignored. It is still counted.",
		errortracking.Unresolved: "Unresolved again.",
	}
	to := errortracking.Status(x.Form.Get("status"))
	if said[to] == "" {
		return fault.New(fault.BadParams)
	}
	e, err := x.find()
	if err == nil {
		_, err = x.deps.Errors.SetStatus(x.Context(), x.Project.ID, e.ID, to, "")
	}
	if err != nil {
		return err
	}
	return x.Done(x.At(errorPath(e.ID)), said[to])
}

// parts are where most of an error was seen.
func parts(all []errortracking.Place, kind string) (shown []part) {
	var places []errortracking.Place
	var sum int64
	for _, p := range all {
		if p.Kind == kind {
			places, sum = append(places, p), sum+p.Events
		}
	}
	sorting.Stably(places, func(a, b errortracking.Place) int { return int(min(1, max(-1, b.Events-a.Events))) })
	for _, p := range places[:min(len(places), shownParts)] {
		shown = append(shown, part{Name: p.Value, Percent: strconv.FormatInt(p.Events*100/max(1, sum), 10)})
	}
	return shown
}

// firstRelease is the one that an error was seen in first.
func firstRelease(all []errortracking.Place) string {
	var first *errortracking.Place
	for i, p := range all {
		if p.Kind == "release" && (first == nil || p.FirstSeen.Before(first.FirstSeen)) {
			first = &all[i]
		}
	}
	if first == nil {
		return ""
	}
	return first.Value
}

// latest is the last event of an error that was kept.
func (x *request) latest(id int64) (*eventBody, error) {
	kept, err := x.deps.Errors.Stored(x.Context(), id, paging.Request{Page: 1, PerPage: 1})
	if err != nil || len(kept.Items) == 0 {
		return nil, err
	}
	e := kept.Items[0]
	r, err := e.Report()
	if err != nil {
		return nil, err
	}
	if err := x.quote(&r); err != nil {
		return nil, err
	}
	body := &eventBody{When: x.Time(&e.HappenedAt), ID: fmt.Sprintf("%x", e.EventID), Tags: r.Tags}
	for _, thrown := range slices.Backward(r.Exceptions) {
		body.Stacks = append(body.Stacks, stackOf(thrown, len(body.Stacks) == 0))
	}
	for _, c := range r.Crumbs {
		body.Crumbs = append(body.Crumbs, crumbOf(c))
	}
	if q := r.Request; q != nil {
		body.Request = strings.TrimSpace(q.Method + " " + q.URL)
	}
	return body, nil
}

// stackOf shows the program's own calls, or all where it has none.
func stackOf(e errortracking.Exception, open bool) stack {
	s := stack{Title: strings.TrimSuffix(e.Type+": "+firstLine(e.Value), ": ")}
	own := slices.ContainsFunc(e.Frames, func(f errortracking.Frame) bool { return f.InApp })
	for _, f := range slices.Backward(e.Frames) {
		if own && !f.InApp {
			s.Others++
			continue
		}
		shown := frame{Place: f.File, Function: f.Function, Open: open && len(s.Frames) == 0, Source: strings.Join(f.Source, "\n")}
		if shown.Place == "" {
			shown.Place = f.Module
		}
		if f.Line > 0 {
			shown.Place += ":" + strconv.Itoa(f.Line)
		}
		var numbers []string
		for i := range f.Source {
			numbers = append(numbers, strconv.Itoa(f.First+i))
		}
		shown.Numbers = strings.Join(numbers, "\n")
		s.Frames = append(s.Frames, shown)
	}
	return s
}

func crumbOf(c errortracking.Crumb) crumb {
	shown := crumb{Text: c.Message, Icon: ui.IconInfo}
	if shown.Text == "" {
		shown.Text = strings.TrimSpace(c.Type + " " + c.Category)
	}
	if at, err := time.Parse(time.RFC3339Nano, c.At); err == nil {
		shown.When = at.Format("15:04:05.000")
	}
	switch c.Level {
	case "warning":
		shown.Icon, shown.Tone = ui.IconWarning, ui.Warn
	case "error", "fatal":
		shown.Icon, shown.Tone = ui.IconFailed, ui.Bad
	}
	return shown
}
