package overview

import (
	"strconv"
	"time"

	"stithy/internal/event"
)

// yearBody is how busy somebody was on the days of a year: a row for each day of the week, a column for each week.
type yearBody struct {
	Total  string
	Cut    bool
	Months []monthHead
	Rows   [7]weekdayRow
}

// monthHead stands above the weeks that begin in a month.
type monthHead struct {
	Name  string
	Weeks int
}

// weekdayRow is all days of the year that are of one kind.
type weekdayRow struct {
	Name string
	Days []dayCell
}

// dayCell is a day. One on which nothing was done says nothing.
type dayCell struct {
	Class string // empty: the day is not of this year
	Text  string
}

// shades is how many there are for days on which something was done.
const shades = 4

// yearOf lays a calendar out, and is nil if there is nothing in it.
func yearOf(c event.Calendar) *yearBody {
	if c.Total == 0 {
		return nil
	}
	y := &yearBody{Total: counted(c.Total, "event"), Cut: c.Cut}
	busiest := 0
	for _, n := range c.Counts {
		busiest = max(busiest, n)
	}
	begin := c.From.AddDate(0, 0, -sinceMonday(c.From))
	end := c.From.AddDate(0, 0, len(c.Counts))
	for d := begin; d.Before(end) || sinceMonday(d) > 0; d = d.AddDate(0, 0, 1) {
		row := &y.Rows[sinceMonday(d)]
		row.Name = d.Format("Mon")
		if sinceMonday(d) == 0 {
			y.week(d)
		}
		cell := dayCell{}
		if !d.Before(c.From) && d.Before(end) {
			cell.Class = "d0"
			if n := c.Counts[int(d.Sub(c.From)/(24*time.Hour))]; n > 0 {
				cell.Class, cell.Text = "d"+strconv.Itoa(1+(shades*n-1)/busiest), strconv.Itoa(n)+" on "+d.Format("2 January 2006")
			}
		}
		row.Days = append(row.Days, cell)
	}
	return y
}

// week adds a column to the month in which it begins.
func (y *yearBody) week(begins time.Time) {
	name := begins.Format("Jan")
	if n := len(y.Months); n > 0 && y.Months[n-1].Name == name {
		y.Months[n-1].Weeks++
		return
	}
	y.Months = append(y.Months, monthHead{Name: name, Weeks: 1})
}

// sinceMonday is how many days of its week come before a day.
func sinceMonday(d time.Time) int { return (int(d.Weekday()) + 6) % 7 }

// counted is a number of things.
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
