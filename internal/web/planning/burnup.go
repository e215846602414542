package planning

import (
	"fmt"
	"strings"
	"time"

	"stithy/internal/issue"
	"stithy/internal/milestone"
)

// The size of the drawing, which is stretched to the width of the page.
const (
	burnupWidth  = 560
	burnupHeight = 60
)

// burnup draws how the issues of a milestone came to be and were closed.
type burnup struct {
	All, Closed string // lines, as paths of SVG
	Area        string // below the line of the closed ones
	Label       string // the same in words
	Caption     string // what the lines are
	From, Until string // what the axis begins and ends with
}

// drawBurnup draws the days from the beginning of a milestone, or of its first issue if that is earlier, to its end, or today if that is later. It is nil where
// nothing is to be seen.
func drawBurnup(days []issue.Day, m *milestone.Milestone, today time.Time) *burnup {
	if len(days) == 0 {
		return nil
	}
	from, until := days[0].Date, today
	if m.StartDate != nil && m.StartDate.Before(from) {
		from = *m.StartDate
	}
	if m.DueDate != nil && m.DueDate.After(until) {
		until = *m.DueDate
	}
	last := days[len(days)-1]
	if last.Date.After(until) {
		until = last.Date
	}
	length := max(until.Sub(from), 24*time.Hour)
	across := func(at time.Time) float64 { return burnupWidth * float64(at.Sub(from)) / float64(length) }
	up := func(n int) float64 { return burnupHeight - (burnupHeight-2)*float64(n)/float64(last.All) }
	line := func(count func(issue.Day) int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "M%.1f %.1f", across(days[0].Date), up(0))
		for _, d := range days {
			fmt.Fprintf(&b, "H%.1fV%.1f", across(d.Date), up(count(d)))
		}
		fmt.Fprintf(&b, "H%.1f", max(across(today), across(last.Date)))
		return b.String()
	}
	const form = "2 January 2006"
	closed := line(func(d issue.Day) int { return d.Closed })
	return &burnup{
		All: line(func(d issue.Day) int { return d.All }), Closed: closed, Area: closed + fmt.Sprintf("V%dH0z", burnupHeight),
		Label: fmt.Sprintf("Issues from %s to %s: the first %d on %s, now %d, of which %d are closed",
			from.Format(form), until.Format(form), days[0].All, days[0].Date.Format(form), last.All, last.Closed),
		Caption: fmt.Sprintf("the upper line is all of them, now %d, the lower one those that are closed, now %d", last.All, last.Closed),
		From:    from.Format(form), Until: until.Format(form),
	}
}
