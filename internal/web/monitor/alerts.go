package monitor

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/alert"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	alertsPerPage = 25
	shownBytes    = 20_000 // of a payload, on its page
)

// alertsBody is one page of the alerts of a project.
type alertsBody struct {
	Action     page.URL
	Search     string
	State      string // what the form sends along
	Severities []page.Choice
	States     []stateLink
	Alerts     []alertRow
	None       string
	Pager      page.Pager
	Setup      page.URL // for those who may set up where alerts come from
}

// stateLink leads to the alerts of some statuses.
type stateLink struct {
	Title string
	URL   page.URL
	Here  bool
}

// alertRow is an alert in a list.
type alertRow struct {
	URL       page.URL
	Title     string
	Severity  severityMark
	Status    ui.Status
	Times     string
	Started   *page.DisplayTime
	Assignees []person
	Incident  *incidentLink
}

// incidentLink leads to the issue that was made of an alert.
type incidentLink struct {
	Number string
	URL    page.URL
}

func (x *request) incident(a *alert.Alert) *incidentLink {
	if a.Incident == nil {
		return nil
	}
	n := strconv.Itoa(*a.Incident)
	return &incidentLink{Number: "#" + n, URL: x.LinkTo("issues/" + n)}
}

type severityMark struct {
	Text string
	Tone ui.Tone
}

// person is somebody as a page shows them.
type person struct{ Name, Username string }

func (p person) avatar() ui.AvatarOf { return ui.AvatarOf{Name: p.Name, Key: p.Username} }

var severityMarks = map[alert.Severity]severityMark{
	alert.Critical: {"Critical", ui.Bad}, alert.High: {"High", ui.Warn}, alert.Medium: {"Medium", ui.Warn}, alert.Low: {"Low", ui.Busy},
	alert.Info: {"Info", ui.Busy}, alert.Unknown: {"Unknown", ui.Plain},
}

var statusMarks = map[alert.Status]ui.Status{
	alert.Triggered:    {Text: "Firing", Tone: ui.Bad, Icon: ui.IconBell},
	alert.Acknowledged: {Text: "Acknowledged", Tone: ui.Warn, Icon: ui.IconEye},
	alert.Resolved:     {Text: "Resolved", Tone: ui.Good, Icon: ui.IconClosed},
	alert.Ignored:      {Text: "Ignored", Tone: ui.Plain, Icon: ui.IconSkipped},
}

// alertPart is a part of the list.
type alertPart struct {
	value, title string
	of           []alert.Status // none: all
}

// alertParts are in the order of their links.
var alertParts = []alertPart{
	{"", "Open", []alert.Status{alert.Triggered}}, {"acknowledged", "Acknowledged", []alert.Status{alert.Acknowledged}},
	{"resolved", "Resolved", []alert.Status{alert.Resolved}}, {"ignored", "Ignored", []alert.Status{alert.Ignored}}, {"all", "All", nil},
}

func showAlerts(x *request) error {
	search, state := strings.TrimSpace(x.Form.Get("search")), x.Form.Get("state")
	if runes := []rune(search); len(runes) > maxSearch {
		search = string(runes[:maxSearch])
	}
	filter := alert.Filter{Search: search}
	query := url.Values{"search": {search}}
	if severity, ok := alert.ParseSeverity(x.Form.Get("severity")); ok {
		filter.Severity = &severity
		query.Set("severity", severity.String())
	}
	counts, err := x.deps.Alerts.Counts(x.Context(), x.Project.ID, filter)
	if err != nil {
		return err
	}
	body := alertsBody{Action: x.LinkTo(alertsPath), Search: search, Severities: severities(filter.Severity)}
	chosen := alertParts[max(0, slices.IndexFunc(alertParts, func(p alertPart) bool { return p.value == state }))]
	for _, p := range alertParts {
		link := stateLink{Title: p.title, Here: p.value == chosen.value, URL: x.partOf(query, p)}
		if len(p.of) == 1 {
			link.Title += " " + counted(counts[p.of[0]])
		}
		body.States = append(body.States, link)
	}
	filter.Statuses, body.State = chosen.of, chosen.value
	if body.State != "" {
		query.Set("state", body.State)
	}
	req, err := x.ByCursor(alertsPerPage)
	if err != nil {
		return err
	}
	req.OrderBy, req.Desc = "started_at", true
	found, err := x.deps.Alerts.List(x.Context(), x.Project.ID, filter, req)
	if err != nil {
		return err
	}
	if body.Alerts, err = x.alertRows(found.Items); err != nil {
		return err
	}
	body.Pager = x.CursorPager(x.At(alertsPath), query, req, found.Next)
	switch {
	case search != "" || filter.Severity != nil:
		body.None = "No alert matches."
	case body.State == "":
		body.None = "Nothing is firing."
	default:
		body.None = "There are no such alerts."
	}
	if x.May(access.AdminAlertIntegrations) {
		body.Setup = x.LinkTo(integrationsPath)
	}
	l := x.Layout("Alerts", alertsPath)
	if body.Setup != "" {
		l.Actions = integrationsLink(body.Setup)
	}
	return x.Show(http.StatusOK, l, alertsPage(body))
}

// partOf is the address of a part of the list, with the filters that are not empty.
func (x *request) partOf(query url.Values, p alertPart) page.URL {
	q := url.Values{}
	for name, values := range query {
		if values[0] != "" {
			q[name] = values
		}
	}
	if p.value != "" {
		q.Set("state", p.value)
	}
	return x.Link(strings.TrimSuffix(x.At(alertsPath)+"?"+q.Encode(), "?"))
}

// counted is a number as people read it, with a sign where it was not counted to the end.
func counted(n int) string {
	if n > paging.MaxTotal {
		return strconv.Itoa(paging.MaxTotal) + "+"
	}
	return strconv.Itoa(n)
}

func severities(chosen *alert.Severity) []page.Choice {
	all := []page.Choice{{Label: "Any severity"}}
	for s := alert.Critical; s <= alert.Unknown; s++ {
		all = append(all, page.Choice{Value: s.String(), Label: severityMarks[s].Text, Chosen: chosen != nil && *chosen == s})
	}
	return all
}

func (x *request) alertRows(alerts []alert.Alert) ([]alertRow, error) {
	people, err := x.assignees(alerts...)
	if err != nil {
		return nil, err
	}
	rows := make([]alertRow, 0, len(alerts))
	for _, a := range alerts {
		rows = append(rows, alertRow{
			URL: x.Link("/" + x.Project.FullPath() + a.Page()), Title: a.Title, Severity: severityMarks[a.Severity], Status: statusMarks[a.Status],
			Times: strconv.FormatInt(a.Events, 10), Started: x.Time(&a.StartedAt), Assignees: people[a.ID], Incident: x.incident(&a),
		})
	}
	return rows, nil
}

// assignees are the people whom alerts are given to, by the id of the alert.
func (x *request) assignees(alerts ...alert.Alert) (map[int64][]person, error) {
	assigned, err := x.deps.Alerts.Assignees(x.Context(), alerts...)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, all := range assigned {
		ids = append(ids, all...)
	}
	briefs, err := x.deps.Users.Briefs(x.Context(), ids...)
	people := map[int64][]person{}
	for id, all := range assigned {
		for _, one := range all {
			if b, there := briefs[one]; there {
				people[id] = append(people[id], person{Name: b.Name, Username: b.Username})
			}
		}
	}
	return people, err
}

// alertBody is the page of an alert.
type alertBody struct {
	Description string
	Facts       []fact
	Runbook     string // an address, chosen by the sender
	Assignees   []person
	Incident    *incidentLink
	Report      *page.Form // to make an incident of the alert
	Payload     string
	Cut         bool // the payload is longer than what is shown
	Status      *page.Form
	Take, Leave *page.Form // to give the alert to oneself, or to nobody
	History     []pastRow
	Images      []imageRow
	AddImage    *page.Form
}

type fact struct {
	Name, Text string
	When       *page.DisplayTime
}

type pastRow struct {
	Who  string
	From string
	To   ui.Status
	When *page.DisplayTime
}

// alertHead is what stands beside the title of an alert.
type alertHead struct {
	Severity severityMark
	Status   ui.Status
	Times    string
}

func findAlert(x *request) (*alert.Alert, error) {
	iid, err := x.ID()
	if err != nil {
		return nil, err
	}
	return x.deps.Alerts.Find(x.Context(), x.Project.ID, iid)
}

func showAlert(x *request) error {
	a, err := findAlert(x)
	if err != nil {
		return err
	}
	return x.alert(http.StatusOK, a, nil)
}

// alert shows an alert; refused is why a picture was, if one was.
func (x *request) alert(code int, a *alert.Alert, refused error) error {
	body, err := x.detail(a)
	if err != nil {
		return err
	}
	if err := x.images(&body, a, refused); err != nil {
		return err
	}
	l := x.Layout(a.Title, alertsPath)
	l.Facts = alertFacts(alertHead{Severity: severityMarks[a.Severity], Status: statusMarks[a.Status], Times: times(a.Events)})
	return x.Show(code, l, alertPage(body))
}

func times(n int64) string {
	if n == 1 {
		return "sent once"
	}
	return "sent " + strconv.FormatInt(n, 10) + " times"
}

func (x *request) detail(a *alert.Alert) (body alertBody, err error) {
	payload, err := x.deps.Alerts.Payload(x.Context(), a)
	if err != nil {
		return body, err
	}
	history, err := x.deps.Alerts.History(x.Context(), a)
	if err != nil {
		return body, err
	}
	people, err := x.assignees(*a)
	if err != nil {
		return body, err
	}
	body = alertBody{Description: a.Description, Runbook: a.RunbookURL(), Assignees: people[a.ID], Incident: x.incident(a)}
	body.Payload, body.Cut = readable(payload)
	body.Facts = append(body.Facts, fact{Name: "Started", When: x.Time(&a.StartedAt)})
	if a.EndedAt != nil {
		body.Facts = append(body.Facts, fact{Name: "Ended", When: x.Time(a.EndedAt)})
	}
	for _, f := range []fact{
		{Name: "Service", Text: a.Service}, {Name: "Sent by", Text: a.MonitoringTool}, {Name: "Hosts", Text: strings.Join(a.Hosts, ", ")},
		{Name: "Environment", Text: a.Environment}, {Name: "Query", Text: a.Query}, {Name: "Reference", Text: a.Reference()},
	} {
		if f.Text != "" {
			body.Facts = append(body.Facts, f)
		}
	}
	if body.History, err = x.history(history); err != nil || !x.May(access.UpdateAlerts) {
		return body, err
	}
	at := x.At(alertsPath + "/" + strconv.Itoa(int(a.IID)))
	if a.Incident == nil && a.Status != alert.Resolved && alert.MayReport(x.Actor, x.Project) {
		body.Report = x.Button(at+"/incident", "Create incident", page.Secondary, "of the alert")
	}
	var choices []page.Choice
	for s := alert.Triggered; s <= alert.Ignored; s++ {
		choices = append(choices, page.Choice{Value: s.String(), Label: statusMarks[s].Text, Chosen: s == a.Status})
	}
	body.Status = x.NewForm(at+"/status", "Change status", page.Field{Name: "status", Label: "Status", Type: page.Select, Options: choices})
	if slices.ContainsFunc(body.Assignees, func(p person) bool { return p.Username == x.Account.Username }) {
		body.Leave = x.Button(at+"/assign", "Give it back", page.Secondary, "the alert").With("to", "nobody")
	} else {
		body.Take = x.Button(at+"/assign", "Give it to me", page.Secondary, "the alert").With("to", "me")
	}
	return body, nil
}

// readable is a payload on several lines, or its beginning. It is read no further than it is shown: lines of what is deep are longer than what they hold.
func readable(payload string) (text string, cut bool) {
	var b strings.Builder
	depth, quoted, escaped, opened := 0, false, false, false
	line := func() { b.WriteString("\n" + strings.Repeat("  ", depth)) }
	for i := range len(payload) {
		if b.Len() >= shownBytes {
			return strings.ToValidUTF8(b.String()[:shownBytes], ""), true
		}
		c := payload[i]
		if quoted {
			b.WriteByte(c)
			quoted, escaped = escaped || c != '"', !escaped && c == '\\'
			continue
		}
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		closes := c == '}' || c == ']'
		if closes {
			depth = max(0, depth-1)
		}
		if closes != opened { // what is empty stays on its line
			line()
		}
		opened, quoted = c == '{' || c == '[', c == '"'
		b.WriteByte(c)
		switch {
		case opened:
			depth++
		case c == ',':
			line()
		case c == ':':
			b.WriteByte(' ')
		}
	}
	return b.String(), false
}

func (x *request) history(all []alert.Past) ([]pastRow, error) {
	var ids []int64
	for _, p := range all {
		if p.UserID != nil {
			ids = append(ids, *p.UserID)
		}
	}
	people, err := x.deps.Users.Briefs(x.Context(), ids...)
	rows := make([]pastRow, 0, len(all))
	for _, p := range all {
		rows = append(rows, pastRow{Who: whoDid(p, people), From: statusMarks[p.OldStatus].Text, To: statusMarks[p.NewStatus], When: x.Time(&p.CreatedAt)})
	}
	return rows, err
}

func whoDid(p alert.Past, people map[int64]user.Brief) string {
	if p.UserID == nil {
		return "The sender"
	}
	if b, there := people[*p.UserID]; there {
		return b.Name
	}
	return "Somebody who left"
}

func setAlertStatus(x *request) error {
	a, err := findAlert(x)
	if err != nil {
		return err
	}
	status, known := alert.ParseStatus(x.Form.Get("status"))
	if !known {
		return fault.WithMessage(fault.BadParams, "status does not have a valid value")
	}
	if _, err = x.deps.Alerts.Decide(x.Context(), x.Actor, x.Project, int64(a.IID), alert.Decision{Status: &status}); err != nil {
		return err
	}
	return x.Done("/"+x.Project.FullPath()+a.Page(), "The alert is "+strings.ToLower(statusMarks[status].Text)+" now.")
}

func report(x *request) error {
	a, err := findAlert(x)
	if err != nil {
		return err
	}
	if a, err = x.deps.Alerts.Report(x.Context(), x.Actor, x.Project, int64(a.IID)); err != nil {
		return err
	}
	return x.Done("/"+x.Project.FullPath()+a.Page(), "The incident #"+strconv.Itoa(*a.Incident)+" was created.")
}

func assign(x *request) error {
	a, err := findAlert(x)
	if err != nil {
		return err
	}
	assigned, err := x.deps.Alerts.Assignees(x.Context(), *a)
	if err != nil {
		return err
	}
	own := x.Actor.ID()
	others := slices.DeleteFunc(assigned[a.ID], func(id int64) bool { return id == own })
	said := "The alert is not yours any more."
	if x.Form.Get("to") == "me" {
		others, said = append(others, own), "The alert is yours."
	}
	if _, err := x.deps.Alerts.Decide(x.Context(), x.Actor, x.Project, int64(a.IID), alert.Decision{Assignees: &others}); err != nil {
		return err
	}
	return x.Done("/"+x.Project.FullPath()+a.Page(), said)
}
