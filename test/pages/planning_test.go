package pages

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

const report = `Since 25 October the table at Grinden shows high water 12 minutes after the gauge does. Holm East is right.

| Day | Table | Gauge |
|---|---|---|
| 24 Oct | 06:41 | 06:41 |
| 25 Oct | 06:35 | 06:23 |

To see it: ` + "`curl 'localhost:8080/predict?station=grinden&day=2026-10-25'`" + `

- expected: 06:23
- got: 06:35
`

const finding = "The survey of Grinden is in local time, all others are in UTC. Only in winter does it show.\n\n" +
	"```yaml\nsurvey:\n  from: 2026-03-01T00:00:00+02:00\n  until: 2026-04-02T00:00:00+02:00\n```\n"

// planningPages are those of issues, boards, to-dos, labels and milestones: a project where some are, and one where none is.
func (f *forge) planningPages() []page {
	f.t.Helper()
	team := f.api("POST", "/groups", map[string]any{"name": "Riverside", "path": "riverside"}, "ada")
	home := f.api("POST", "/projects", map[string]any{"name": "tide-table", "namespace_id": id(team)}, "ada")
	f.api("POST", "/projects", map[string]any{"name": "quay", "namespace_id": id(team)}, "ada")
	at := fmt.Sprintf("/projects/%d", id(home))
	f.api("POST", at+"/members", map[string]any{"user_id": 4, "access_level": 30}, "ada")
	f.api("POST", at+"/members", map[string]any{"user_id": 3, "access_level": 10}, "ada")
	for name, color := range map[string]string{
		"bug": "#d23f3f", "area: data": "#2f7fd1", "area: api": "#12948b", "good first issue": "#3f9e52", "performance": "#d98a1f", "docs": "#8a63d2",
	} {
		f.api("POST", at+"/labels", map[string]any{"name": name, "color": color, "description": "What the label is for"}, "ada")
	}
	day := func(n int) string { return time.Now().AddDate(0, 0, n).Format(time.DateOnly) }
	goal := f.api("POST", at+"/milestones", map[string]any{"title": "2.5", "start_date": day(-30), "due_date": day(13), "description": "Winter tables, *right to the minute*."}, "ada")
	f.api("POST", at+"/milestones", map[string]any{"title": "A milestone with a title that is longer than most are, and without a date"}, "ada")
	var first map[string]any
	for n, one := range []struct {
		title, labels string
		in            bool
	}{
		{"Colours of the chart are hard to tell apart in the sun", "bug,good first issue", false},
		{"Package for the ships’ computers, which are offline", "docs", false},
		{"Take air pressure into account", "area: data", true},
		{"Offer the table as a calendar that phones can subscribe to", "area: api", false},
		{"Health check is green while the stations are still being read", "bug", false},
		{"Warn when a survey is older than ten years", "area: data", true},
		{"Predictions for a whole year take 9 seconds", "performance,area: api", true},
		{"Answer in feet when the client asks for them", "area: api,good first issue", false},
		{"Printed table cuts off the last column on A5", "bug", true},
		{"High water at Grinden is 12 minutes late after the clocks change", "bug,area: data", true},
	} {
		body := map[string]any{"title": one.title, "labels": one.labels}
		if one.in {
			body["milestone_id"] = id(goal)
		}
		body["created_at"] = time.Now().AddDate(0, 0, 3*n-28).Format(time.RFC3339)
		if n%3 == 0 {
			body["assignee_id"] = 4
		}
		if n == 9 {
			body["description"], body["due_date"] = report, day(-1)
		}
		if n == 4 {
			body["confidential"] = true
		}
		first = f.api("POST", at+"/issues", body, "ada")
	}
	iid, _ := first["iid"].(float64)
	this := fmt.Sprintf("%s/issues/%d", at, int(iid))
	f.api("POST", this+"/award_emoji", map[string]any{"name": "thumbsup"}, "ada")
	f.api("POST", this+"/award_emoji", map[string]any{"name": "thumbsup"}, "")
	f.api("POST", this+"/time_estimate?duration=4h", nil, "ada")
	f.api("POST", this+"/add_spent_time?duration=1h30m", nil, "ada")
	said := f.api("POST", this+"/discussions", map[string]any{"body": finding}, "joan")
	f.api("POST", fmt.Sprintf("%s/discussions/%s/notes", this, said["id"]), map[string]any{"body": "Good find. See @joan’s survey."}, "ada")
	f.api("PUT", this, map[string]any{"title": first["title"].(string) + " in autumn", "add_labels": "docs,performance"}, "ada")
	noted := id(f.api("POST", this+"/notes", map[string]any{"body": "For us alone: the gauge is borrowed.", "internal": true}, "ada"))
	for _, done := range []int{3, 6, 9} {
		f.api("PUT", fmt.Sprintf("%s/issues/%d", at, done), map[string]any{"state_event": "close"}, "ada")
	}
	for n := range 45 {
		f.api("POST", at+"/issues/1/notes", map[string]any{"body": fmt.Sprintf("Remark %d, which is *short*.", n)}, "ada")
	}
	me := f.api("GET", "/user", nil, "ada")
	f.api("POST", at+"/issues", map[string]any{"title": "Ask the harbour for the gauge of last winter, before they throw it away", "assignee_id": id(me)}, "joan")
	f.api("POST", at+"/issues/2/notes", map[string]any{"body": "@ada which ships are these?"}, "joan")
	f.api("POST", at+"/issues/4/todo", nil, "ada")
	names := f.boards(at, id(team))
	const own = "/riverside/tide-table/-/"
	page10 := fmt.Sprintf("%sissues/%d", own, int(iid))
	return []page{
		{Name: "issues", Path: own + "issues", As: "ada", Small: true},
		{Name: "issues-filtered", Path: own + "issues?search=label:bug+table&state=all", As: "ada"},
		{Name: "issues-none", Path: "/riverside/quay/-/issues", As: "ada"},
		{Name: "issues-group", Path: "/groups/riverside/-/issues", As: "ada", Small: true},
		{Name: "issue", Path: page10, As: "ada", Small: true},
		{Name: "issue-long", Path: own + "issues/1", As: "ada"},
		{Name: "issue-edit", Path: page10 + "/edit", As: "ada", Small: true},
		{Name: "issue-comment-edit", Path: fmt.Sprintf("%s/notes/%d/edit", page10, noted), As: "ada"},
		{Name: "issue-new", Path: own + "issues/new", As: "ada"},
		{Name: "issue-hidden", Path: own + "issues/5", As: "person", Status: 404},
		{Name: "todos", Path: "/dashboard/todos", As: "ada", Small: true},
		{Name: "todos-done", Path: "/dashboard/todos?state=done", As: "person"},
		{Name: "board", Path: own + "boards/" + names.work, As: "ada", Small: true, Moves: true},
		{Name: "board-read", Path: own + "boards/" + names.work, As: "grace"},
		{Name: "board-alone", Path: own + "boards/" + names.work + "?list=open", As: "ada"},
		{Name: "board-filtered", Path: own + "boards/" + names.work + "?search=label:bug", As: "ada"},
		{Name: "board-hostile", Path: own + "boards/" + names.hostile, As: "ada", Small: true},
		{Name: "board-edit", Path: own + "boards/" + names.hostile + "/edit", As: "ada", Small: true},
		{Name: "board-new", Path: own + "boards/new", As: "ada"},
		{Name: "board-first", Path: "/riverside/quay/-/boards", As: "ada"},
		{Name: "board-group", Path: "/groups/riverside/-/boards", As: "ada", Small: true},
		{Name: "boards", Path: own + "boards", As: "ada"},
		{Name: "labels", Path: own + "labels", As: "ada", Small: true},
		{Name: "labels-none", Path: "/riverside/quay/-/labels", As: "ada"},
		{Name: "label-new", Path: own + "labels/new", As: "ada"},
		{Name: "milestones", Path: own + "milestones", As: "ada", Small: true},
		{Name: "milestone", Path: own + "milestones/1", As: "ada", Small: true},
		{Name: "milestone-new", Path: own + "milestones/new", As: "ada"},
		{Name: "milestone-edit", Path: own + "milestones/1/edit", As: "ada"},
		{Name: "label-edit", Path: fmt.Sprintf("%slabels/%d/edit", own, id(f.api("GET", at+"/labels/bug", nil, "ada"))), As: "ada"},
		{Name: "labels-group", Path: "/groups/riverside/-/labels", As: "ada", Small: true},
		{Name: "milestones-group", Path: "/groups/riverside/-/milestones", As: "ada"},
	}
}

// boardNames are the numbers of the boards of a project.
type boardNames struct{ work, hostile string }

// boards makes two boards of a project: one as people have it, and one whose names and titles are as long and as strange as they can be.
func (f *forge) boards(at string, groupID int64) (names boardNames) {
	f.t.Helper()
	board := func(name string, labels ...map[string]any) string {
		b := f.api("POST", at+"/boards", map[string]any{"name": name}, "ada")
		for _, of := range labels {
			f.api("POST", fmt.Sprintf("%s/boards/%d/lists", at, id(b)), map[string]any{"label_id": id(of)}, "ada")
		}
		return fmt.Sprint(id(b))
	}
	there := func(name string) map[string]any { return f.api("GET", at+"/labels/"+url.PathEscape(name), nil, "ada") }
	names.work = board("Winter tables", there("bug"), there("area: data"), there("area: api"))
	long := "\"><script>alert(1)</script> " + strings.Repeat("Donaudampfschifffahrt", 5)
	var strange []map[string]any
	for _, name := range []string{long, "مرحبا بالعالم", "📚 books & <b>bold</b>"} {
		strange = append(strange, f.api("POST", at+"/labels", map[string]any{"name": name, "color": "#ffffff"}, "ada"))
	}
	names.hostile = board(long, strange...)
	name := func(n int) string { return fmt.Sprint(strange[n]["name"]) }
	for n, title := range []string{long + " and so on", "<img src=x onerror=alert(1)>", "مرحبا بالعالم", "x"} {
		f.api("POST", at+"/issues", map[string]any{"title": title, "labels": name(n % 3), "due_date": "2020-02-29"}, "ada")
	}
	f.api("POST", at+"/issues", map[string]any{"title": "In two lists at once", "labels": name(0) + "," + name(1), "assignee_id": 4}, "ada")
	f.api("POST", fmt.Sprintf("/groups/%d/labels", groupID), map[string]any{"name": "everywhere", "color": "#336699"}, "ada")
	return names
}
