package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/audit"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	streamsBelow = "/streams"
	lettersShown = 10
)

// streamPages are the pages about where audit events are sent to. Projects have none.
var streamPages = []trailAct{
	{http.MethodGet, streamsBelow, showStreams},
	{http.MethodPost, streamsBelow, addStream},
	{http.MethodGet, streamsBelow + "/{id}", showStream},
	{http.MethodPost, streamsBelow + "/{id}", changeStream},
	{http.MethodPost, streamsBelow + "/{id}/{act}", actOnStream},
}

// streamsBody is where the events of a trail are sent to.
type streamsBody struct {
	Secret  string // of one that was just made
	Streams []streamRow
	New     *page.Form
	Back    page.URL
}

type streamRow struct {
	Name, URL string
	Types     string
	State     string
	Tone      ui.Tone
	Edit      page.URL
	Sent      *page.DisplayTime
	Behind    string
	Since     *page.DisplayTime // of the oldest that is behind
	Failure   string            // the last one, in words
	FailedAt  *page.DisplayTime
	RetryAt   *page.DisplayTime
	Letters   []letterRow
	Count     int    // of letters
	Dropped   string // says how many letters there was no room for
	Acts      []*page.Form
}

type letterRow struct {
	Event  string
	URL    page.URL
	Reason string
	When   *page.DisplayTime
	Again  bool
}

// streamAt is the path of a destination.
func (x *trail) streamAt(id int64) string {
	return x.at + streamsBelow + "/" + strconv.FormatInt(id, 10)
}

func showStreams(x *trail) error { return streamsWith(x, http.StatusOK, nil) }

// streamsWith shows all destinations, with a form that was refused.
func streamsWith(x *trail, code int, refused *page.Form) error {
	all, err := x.deps.Audit.Destinations(x.Context(), x.Actor, x.of)
	if err != nil {
		return err
	}
	body := streamsBody{New: refused, Back: x.Link(x.at)}
	if refused == nil {
		body.New = streamForm(x, x.at+streamsBelow, "Add destination", audit.Draft{Active: true}, false)
	}
	for _, d := range all {
		row, err := newStreamRow(x, d)
		if err != nil {
			return err
		}
		body.Streams = append(body.Streams, row)
	}
	if f := x.Flash(); f != nil {
		body.Secret = f.Secret
	}
	return x.Show(code, x.layout("Streams of audit events"), streamsPage(body))
}

func newStreamRow(x *trail, d audit.Destination) (streamRow, error) {
	row := streamRow{
		Name: d.Name, URL: d.URL, Types: strings.Join(d.EventTypes, ", "), State: "active", Tone: ui.Good, Edit: x.Link(x.streamAt(d.ID)), Sent: x.Time(d.SentAt),
		Failure: d.Reason, FailedAt: x.Time(d.FailedAt), RetryAt: x.Time(d.RetryAt),
	}
	switch {
	case !d.Active:
		row.State, row.Tone = "paused", ui.Plain
	case d.Reason != "":
		row.State, row.Tone = "failing", ui.Bad
	}
	behind, err := x.deps.Audit.BehindOf(x.Context(), d)
	if err != nil {
		return row, err
	}
	row.Behind, row.Since = strconv.Itoa(behind.Count), x.Time(behind.Since)
	if behind.More {
		row.Behind = "more than " + row.Behind
	}
	letters, count, err := x.deps.Audit.Letters(x.Context(), d, lettersShown)
	if err != nil {
		return row, err
	}
	row.Count = count
	for _, l := range letters {
		id := strconv.FormatInt(l.EventID, 10)
		row.Letters = append(row.Letters, letterRow{
			Event: id, URL: x.Link(instanceActs + "/" + id), Reason: l.Reason, When: x.Time(&l.FailedAt), Again: l.Again,
		})
		if x.of != nil {
			row.Letters[len(row.Letters)-1].URL = "" // it may be of a group or project below
		}
	}
	if d.Dropped > 0 {
		row.Dropped = fmt.Sprintf("There was no room for %d more. They are in the list of audit events.", d.Dropped)
	}
	act := func(name, label string, look page.Look) *page.Form {
		f := x.Button(x.streamAt(d.ID)+"/"+name, label, look, d.Name)
		row.Acts = append(row.Acts, f)
		return f
	}
	if count > 0 || d.RetryAt != nil {
		act("retry", "Retry now", page.Secondary)
	}
	if d.Active {
		act("pause", "Pause", page.Secondary)
	} else {
		act("resume", "Resume", page.Secondary)
	}
	act("delete", "Delete", page.Danger).AskFirst("Events are sent there no more, and what was not sent yet is not sent.")
	return row, nil
}

// streamForm asks for what a destination is.
func streamForm(x *trail, action, submit string, d audit.Draft, made bool) *page.Form {
	f := x.NewForm(action, submit,
		page.Field{Name: "name", Label: "Name", Type: page.Text, Value: d.Name, Length: 72, Required: true},
		page.Field{Name: "destination_url", Label: "URL", Type: page.Text, Mode: "url", Value: d.URL, Length: 2048, Required: true,
			Hint: "Events are sent there by POST, as JSON, some at a time."},
		page.Field{Name: "event_types", Label: "Event types", Type: page.Text, Value: strings.Join(d.EventTypes, ", "), Length: 8192,
			Hint: "With commas between them, such as member_created. Leave it empty to send all."},
		page.Field{Name: "active", Label: "Active", Type: page.Checkbox, Value: page.Checked(d.Active), Hint: "Events are sent there."},
	)
	if made {
		f.Fields = append(f.Fields, page.Field{Name: "rotate_token", Label: "Make a new secret token", Type: page.Checkbox,
			Hint: "It is shown once. What is sent from now on is signed with it."})
	}
	return f
}

// streamDraft is what was filled in.
func streamDraft(x *trail) audit.Draft {
	return audit.Draft{
		Name: x.Form.Get("name"), URL: x.Form.Get("destination_url"), EventTypes: strings.Split(x.Form.Get("event_types"), ","),
		Active: x.Form.Get("active") != "",
	}
}

func addStream(x *trail) error {
	d, token, err := x.deps.Audit.AddDestination(x.Context(), x.Actor, x.of, streamDraft(x))
	if err == nil {
		return streamDone(x, d.Name+" is added. Events are sent from now on.", token)
	}
	f := streamForm(x, x.at+streamsBelow, "Add destination", audit.Draft{}, false)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return streamsWith(x, http.StatusUnprocessableEntity, f)
}

// streamDone goes back to the list, which shows a new secret this one time.
func streamDone(x *trail, text string, token secretbox.Secret) error {
	return x.DoneWith(x.at+streamsBelow, page.Flash{Text: text, Secret: token.Reveal()})
}

// streamBody is one destination.
type streamBody struct {
	Form *page.Form
	Back page.URL
}

func showStream(x *trail) error {
	d, err := stream(x)
	if err != nil {
		return err
	}
	draft := audit.Draft{Name: d.Name, URL: d.URL, EventTypes: d.EventTypes, Active: d.Active}
	return streamWith(x, http.StatusOK, d, streamForm(x, x.streamAt(d.ID), "Save changes", draft, true))
}

func streamWith(x *trail, code int, d audit.Destination, f *page.Form) error {
	return x.Show(code, x.layout("Stream "+d.Name), streamPage(streamBody{Form: f, Back: x.Link(x.at + streamsBelow)}))
}

// stream finds the destination of a page.
func stream(x *trail) (audit.Destination, error) {
	id, err := x.ID()
	if err != nil {
		return audit.Destination{}, err
	}
	return x.deps.Audit.Destination(x.Context(), x.Actor, x.of, id)
}

func changeStream(x *trail) error {
	d, err := stream(x)
	if err != nil {
		return err
	}
	changed, token, err := x.deps.Audit.ChangeDestination(x.Context(), x.Actor, x.of, d.ID, x.Form.Get("rotate_token") != "", func(old *audit.Draft) {
		*old = streamDraft(x)
	})
	if err == nil {
		return streamDone(x, changed.Name+" is changed.", token)
	}
	f := streamForm(x, x.streamAt(d.ID), "Save changes", audit.Draft{}, true)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return streamWith(x, http.StatusUnprocessableEntity, d, f)
}

func actOnStream(x *trail) error {
	d, err := stream(x)
	if err != nil {
		return err
	}
	ctx, said := x.Context(), ""
	switch act := x.R.PathValue("act"); act {
	case "retry":
		said, err = d.Name+" is tried again.", x.deps.Audit.RetryDestination(ctx, x.Actor, x.of, d.ID)
	case "pause", "resume":
		if said = d.Name + " is sent nothing until it is resumed."; act == "resume" {
			said = d.Name + " is sent events again."
		}
		_, _, err = x.deps.Audit.ChangeDestination(ctx, x.Actor, x.of, d.ID, false, func(old *audit.Draft) { old.Active = act == "resume" })
	case "delete":
		said, err = d.Name+" is deleted.", x.deps.Audit.RemoveDestination(ctx, x.Actor, x.of, d.ID)
	default:
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	return x.Done(x.at+streamsBelow, said)
}
