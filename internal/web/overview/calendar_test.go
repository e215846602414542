package overview_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// year is what the page of the owner tells somebody of their year: how much in all, and on each day.
func (w *fixture) year(t *testing.T, as *user.User) (total string, days map[string]string) {
	t.Helper()
	s := w.browser(t, as).shows("/ada")
	days = map[string]string{}
	for _, m := range regexp.MustCompile(`title="([0-9]+) on ([^"]*)"`).FindAllStringSubmatch(s.text, -1) {
		days[m[2]] = m[1]
	}
	if m := regexp.MustCompile(`([0-9]+ events?) in the last year`).FindStringSubmatch(s.text); m != nil {
		total = m[1]
	}
	return total, days
}

func TestACalendarCountsTheDaysOfAYear(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if total, _ := w.year(t, w.guest); total != "" {
		t.Errorf("nothing was done, and told are %s", total)
	}
	for day, n := range map[string]int{"2024-05-02": 3, "2024-05-01": 1, "2024-02-29": 2, "2023-05-03": 4, "2023-05-02": 7} {
		w.exec(t, `insert into events (created_at, author_id, project_id, action) select $1::timestamptz, $2, $3, 'joined' from generate_series(1, $4::integer)`,
			day+"T00:00:00Z", w.owner.ID, w.open.ID, n)
	}
	total, days := w.year(t, w.guest)
	want := map[string]string{"2 May 2024": "3", "1 May 2024": "1", "29 February 2024": "2", "3 May 2023": "4"}
	if total != "10 events" || fmt.Sprint(days) != fmt.Sprint(want) {
		t.Errorf("%s: %v", total, days)
	}
}

// A calendar counts what the list shows to the same reader, whatever there is.
func TestPE02_ACalendarCountsWhatItsReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	banned := usertest.New(t, w.DB, usertest.Named("banned"))
	root := usertest.New(t, w.DB, usertest.Admin())
	w.do(t, "POST", w.closed, "/issues", object{"title": "In private"})
	w.do(t, "POST", w.open, "/issues", object{"title": "In confidence", "confidential": true})
	w.do(t, "POST", w.open, "/issues", object{"title": "For the guest", "confidential": true, "assignee_ids": []int64{w.guest.ID}})
	w.do(t, "POST", w.open, "/issues", object{"title": "In the open"})
	for n := 1; n < 4; n++ {
		w.do(t, "POST", w.open, fmt.Sprintf("/issues/%d/notes", n), object{"body": "x"})
		w.do(t, "POST", w.open, fmt.Sprintf("/issues/%d/notes", n), object{"body": "x", "internal": true})
	}
	w.do(t, "POST", w.open, "/issues", object{"title": "Of somebody who is banned"})
	w.exec(t, `update issues set author_id = $1 where iid = 4 and project_id = $2`, banned.ID, w.open.ID)
	w.exec(t, `update users set state = 'banned' where id = $1`, banned.ID)
	w.do(t, "POST", w.open, "/milestones", object{"title": "1.0"})
	w.do(t, "POST", w.open, "/wikis", object{"title": "Home", "content": "x"})
	w.do(t, "POST", w.open, "/repository/branches", object{"branch": "next", "ref": "main"})
	for _, visibility := range []string{"public", "private"} {
		w.do(t, "POST", w.open, "/snippets", object{"title": "s", "visibility": visibility, "files": []object{{"file_path": "a", "content": "a"}}})
	}
	w.do(t, "POST", w.open, "/snippets/1/notes", object{"body": "x"})
	w.do(t, "POST", w.open, "/snippets/2/notes", object{"body": "x"})
	w.do(t, "POST", w.open, "/issues", object{"title": "Gone"})
	w.do(t, "POST", w.open, "/issues/5/notes", object{"body": "x"})
	w.do(t, "DELETE", w.open, "/issues/5", nil)
	told := map[string]bool{}
	for _, sql := range []string{
		`select 1`, `update projects set features = features || '{"repository": "private", "wiki": "private"}'`,
		`update projects set features = features || '{"issues": "disabled"}'`, `update projects set features = '{}', visibility = 0`,
	} {
		w.exec(t, sql)
		for _, who := range []*user.User{w.owner, w.guest, w.stranger, root} {
			rows := strings.Count(w.browser(t, who).shows(ofPerson).Body.String(), "<time ")
			want := ""
			if rows > 0 {
				want = fmt.Sprint(rows, " events")
			}
			if total, _ := w.year(t, who); total != want {
				t.Errorf("%s: the calendar tells %s of %q, the list %q", sql, who.Username, total, want)
			}
			told[want] = true
		}
	}
	if len(told) < 6 {
		t.Errorf("readers are hardly told apart: %v", told)
	}
	w.exec(t, `update projects set visibility = 20`)
	w.exec(t, `update users set private_profile = true where id = $1`, w.owner.ID)
	if total, days := w.year(t, w.guest); total != "" || len(days) != 0 {
		t.Errorf("a private profile tells of %s", total)
	}
}
