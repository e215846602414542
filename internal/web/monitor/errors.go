package monitor

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stithy/internal/errortracking"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	errorsPerPage = 25
	sparkDays     = 14
	maxSearch     = 255
)

// errorsBody is one page of errors.
type errorsBody struct {
	Action   page.URL
	Search   string
	Statuses []page.Choice
	Sorts    []page.Choice
	Errors   []errorRow
	Pager    page.Pager
	None     string
	Settings page.URL // where the reader may set it up
}

// errorRow is an error in a list.
type errorRow struct {
	URL            page.URL
	Name, Message  string
	Culprit        string
	Events, People string
	LastSeen       *page.DisplayTime
	Status         ui.Status
	Days           chart
}

var statuses = []page.Choice{
	{Value: "unresolved", Label: "Unresolved"}, {Value: "resolved", Label: "Resolved"}, {Value: "ignored", Label: "Ignored"}, {Value: "all", Label: "All"},
}

var sorts = []page.Choice{{Value: "last_seen", Label: "Last seen"}, {Value: "first_seen", Label: "New"}, {Value: "frequency", Label: "Most events"}}

// choose marks one of some choices, the first where none is meant, and returns what it stands for.
func choose(all []page.Choice, value string) (marked []page.Choice, chosen string) {
	chosen = all[0].Value
	for _, c := range all {
		if c.Value == value {
			chosen = value
		}
	}
	for _, c := range all {
		c.Chosen = c.Value == chosen
		marked = append(marked, c)
	}
	return marked, chosen
}

// readFilter takes words of the form "release:2.4" and "env:staging" out of a search.
func readFilter(search, status, sort string) (f errortracking.Filter) {
	f.Sort = errortracking.Sort(sort)
	if status != "all" {
		f.Status = errortracking.Status(status)
	}
	var words []string
	for word := range strings.FieldsSeq(search) {
		name, value, _ := strings.Cut(word, ":")
		switch {
		case value != "" && name == "release":
			f.Release = value
		case value != "" && (name == "env" || name == "environment"):
			f.Environment = value
		default:
			words = append(words, word)
		}
	}
	f.Query = strings.Join(words, " ")
	return f
}

func statusOf(s errortracking.Status, regressed bool) ui.Status {
	switch {
	case s == errortracking.Resolved:
		return ui.Status{Text: "Resolved", Tone: ui.Good, Icon: ui.IconPassed}
	case s == errortracking.Ignored:
		return ui.Status{Text: "Ignored", Tone: ui.Soft, Icon: ui.IconSkipped}
	case regressed:
		return ui.Status{Text: "Came back", Tone: ui.Bad, Icon: ui.IconRetry}
	}
	return ui.Status{Text: "Unresolved", Tone: ui.Warn, Icon: ui.IconBug}
}

func showErrors(x *request) error {
	search := strings.TrimSpace(x.Form.Get("search"))
	search = search[:min(len(search), maxSearch)]
	body := errorsBody{Action: x.LinkTo(errorsPath), Search: strings.ToValidUTF8(search, "")}
	var status, sort string
	body.Statuses, status = choose(statuses, x.Form.Get("status"))
	body.Sorts, sort = choose(sorts, x.Form.Get("sort"))
	req := x.Numbered("page", errorsPerPage)
	found, err := x.deps.Errors.List(x.Context(), x.Project.ID, readFilter(body.Search, status, sort), req)
	if err != nil {
		return err
	}
	if body.Errors, err = x.rows(found.Items); err != nil {
		return err
	}
	query := url.Values{"search": {body.Search}, "status": {status}, "sort": {sort}}
	body.Pager = x.NumberedPager(x.At(errorsPath), query, "page", "", req, found.More)
	body.Pager.BackText, body.Pager.OnwardText = "Previous", "Next"
	if len(body.Errors) == 0 {
		if body.None, err = x.none(body.Search, status); err != nil {
			return err
		}
	}
	l := x.Layout("Errors", errorsPath)
	if x.May(access.AdminErrorTracking) {
		body.Settings = x.LinkTo(settingsPath)
		l.Actions = settingsLink(body.Settings)
	}
	return x.Show(http.StatusOK, l, errorsPage(body))
}

// none says why a list is empty.
func (x *request) none(search, status string) (string, error) {
	s, err := x.deps.Errors.Settings(x.Context(), x.Project.ID)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && !(s.Active && s.Integrated):
		return "Error tracking is off in this project. When it is on, programs report here what fails while they run.", nil
	case err != nil:
		return "", err
	case search != "":
		return "No error matches.", nil
	case status == string(errortracking.Unresolved):
		return "There are no unresolved errors.", nil
	}
	return "There are no such errors.", nil
}

func (x *request) rows(all []errortracking.Error) (rows []errorRow, err error) {
	var ids []int64
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	since := x.Clock.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-sparkDays)
	hours, err := x.deps.Errors.Hours(x.Context(), since, ids...)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		rows = append(rows, errorRow{
			URL: x.LinkTo(errorPath(e.ID)), Name: e.Name, Message: firstLine(e.Message), Culprit: e.Culprit, Events: grouped(e.Events),
			People: grouped(int64(e.People)), LastSeen: x.Time(&e.LastSeen), Status: statusOf(e.Status, e.RegressedAt != nil),
			Days: newChart(hours[e.ID], since, 24*time.Hour, sparkDays, 96, 24, "Events a day"),
		})
	}
	return rows, nil
}

func errorPath(id int64) string { return errorsPath + "/" + strconv.FormatInt(id, 10) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// grouped is a number with commas between its thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// chart is bars of how often something happened, and the same in words.
type chart struct {
	Box   string // of the picture
	Label string
	Bars  []bar
	Max   string
}

// bar is one of them, in units of the picture.
type bar struct{ X, Y, Width, Height string }

// newChart sums hours up in steps since a moment.
func newChart(hours []errortracking.Hour, since time.Time, step time.Duration, steps int, width, height float64, what string) chart {
	counts := make([]int64, steps)
	var most int64
	for _, h := range hours {
		if i := int(h.Hour.Sub(since) / step); i >= 0 && i < steps && !h.Hour.Before(since) {
			counts[i] += h.Events
			most = max(most, counts[i])
		}
	}
	c := chart{Box: fmt.Sprintf("0 0 %g %g", width, height), Max: grouped(most)}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	each := width / float64(steps)
	texts := make([]string, steps)
	for i, n := range counts {
		texts[i] = strconv.FormatInt(n, 10)
		if n == 0 {
			continue
		}
		h := max(1, float64(n)/float64(cmp.Or(most, 1))*(height-2))
		c.Bars = append(c.Bars, bar{X: number(float64(i) * each), Y: number(height - h), Width: number(each * .75), Height: number(h)})
	}
	c.Label = what + ": " + strings.Join(texts, ", ")
	return c
}
