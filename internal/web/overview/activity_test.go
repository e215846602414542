package overview_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestActivityIsToldInWordsWithLinks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.do(t, "POST", w.open, "/issues", object{"title": "Mend the door"})
	w.do(t, "POST", w.open, "/issues/1/notes", object{"body": "It *creaks*\n\nat night"})
	w.do(t, "PUT", w.open, "/issues/1", object{"state_event": "close"})
	w.do(t, "POST", w.open, "/milestones", object{"title": "1.0"})
	w.do(t, "POST", w.open, "/wikis", object{"title": "Home of all", "content": "x"})
	w.do(t, "POST", w.open, "/repository/commits", object{
		"branch": "main", "commit_message": "Add b", "actions": []object{{"action": "create", "file_path": "b", "content": "x"}},
	})
	w.do(t, "POST", w.open, "/repository/branches", object{"branch": "next", "ref": "main"})
	w.do(t, "DELETE", w.open, "/repository/branches/next", nil)
	w.do(t, "POST", w.open, "/snippets", object{"title": "A few lines", "visibility": "public", "files": []object{{"file_path": "a", "content": "a"}}})
	w.do(t, "POST", w.open, "/snippets/1/notes", object{"body": "Short"})
	for _, path := range []string{ofPerson, ofProject, ofGroup} {
		b := w.browser(t, w.guest)
		s := b.shows(path)
		said := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(s.text, "")
		for _, want := range []string{
			"opened issue #1 Mend the door", "commented on issue #1 Mend the door", "It *creaks* at night", "closed issue #1 Mend the door",
			"opened milestone 1.0", "created wiki page Home of all", "pushed 1 commit to main", "Add b", "pushed the new branch next",
			"deleted branch next", "commented on snippet A few lines",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q: %s", path, want, said)
			}
		}
		for _, link := range []string{
			`/house/tool/-/issues/1"`, `/house/tool/-/issues/1?note=`, `/house/tool/-/milestones/1"`, `/house/tool/-/wikis/Home-of-all"`, `/house/tool/-/snippets/1"`,
		} {
			if !s.says(link) {
				t.Errorf("%s does not lead to %s", path, link)
			}
			if to, _, _ := strings.Cut(link, `"`); !strings.Contains(to, "?") {
				b.shows(to)
			}
		}
		if in := strings.Contains(said, "in house/tool"); in != (path != ofProject) {
			t.Errorf("%s names the project: %v", path, in)
		}
		if strings.Index(said, "deleted branch") > strings.Index(said, "opened issue") {
			t.Errorf("%s: the latest is not the first", path)
		}
	}
}

func TestPagesLinkToActivity(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for path, want := range map[string]string{"/ada": ofPerson, "/house/tool": ofProject, "/groups/house": ofGroup} {
		if s := w.browser(t, w.guest).shows(path); !s.says(`href="` + want + `"`) {
			t.Errorf("%s does not lead to %s", path, want)
		}
	}
}

// Whoever may not read what an event is about learns nothing of it.
func TestPE02_ActivityIsShownToWhoMayReadWhatItIsAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.do(t, "POST", w.closed, "/issues", object{"title": "In private"})
	w.do(t, "POST", w.open, "/issues", object{"title": "In confidence", "confidential": true})
	w.do(t, "POST", w.open, "/issues", object{"title": "In the open"})
	w.do(t, "POST", w.open, "/issues/2/notes", object{"body": "Among members", "internal": true})
	for name, b := range map[string]*browser{"nobody": w.anonymous(t), "a stranger": w.browser(t, w.stranger), "a guest": w.browser(t, w.guest)} {
		for _, path := range []string{ofPerson, ofProject, ofGroup} {
			s := b.shows(path)
			if !s.says("In the open") || s.says("In private") || s.says("house/secret") || s.says("In confidence") || s.says("Among members") {
				t.Errorf("%s at %s: %s", name, path, s.text)
			}
		}
		if s := b.get("/house/secret/-/activity"); s.Code == http.StatusOK || s.says("In private") {
			t.Errorf("%s: %d %s", name, s.Code, s.text)
		}
	}
	for _, path := range []string{ofPerson, ofGroup} {
		if s := w.browser(t, w.owner).shows(path); !s.says("In private", "In confidence", "Among members") {
			t.Errorf("the owner at %s: %s", path, s.text)
		}
	}
	w.exec(t, `update users set private_profile = true where id = $1`, w.owner.ID)
	if s := w.browser(t, w.guest).shows(ofPerson); s.says("In the open") || !s.says("did nothing that you can see") {
		t.Errorf("a private profile: %s", s.text)
	}
}

func TestNobodyIsFoundWhoIsNotThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if s := w.browser(t, w.guest).get("/users/nobody.here/activity"); s.Code != http.StatusNotFound {
		t.Errorf("got %d", s.Code)
	}
	if s := w.anonymous(t).get("/users/nobody.here/activity"); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.Header().Get("Location"), "/users/sign_in") {
		t.Errorf("a stranger: %d %s", s.Code, s.Header().Get("Location"))
	}
	if s := w.anonymous(t).get("/groups/nothing/-/activity"); s.Code != http.StatusSeeOther {
		t.Errorf("a group: %d", s.Code)
	}
}

// joins seeds events of somebody, a minute apart, the newest now.
func (w *fixture) joins(t testing.TB, u *user.User, project int64, n int) {
	t.Helper()
	w.exec(t, `insert into events (created_at, author_id, project_id, action)
		select $1::timestamptz - (i / 2) * interval '1 minute', $2, $3, 'joined' from generate_series(0, $4::integer - 1) i`, w.Now(), u.ID, project, n)
}

var older = regexp.MustCompile(`rel="next" href="([^"]*)"`)

// turn reads a list to its end, and says when each event was. before is called before each page but the first.
func turn(b *browser, path string, before func()) (times []string, pages int) {
	for path != "" {
		if pages++; pages > 1 {
			before()
		}
		s := b.shows(path)
		for _, m := range regexp.MustCompile(`<time datetime="([^"]*)"`).FindAllStringSubmatch(s.Body.String(), -1) {
			times = append(times, m[1])
		}
		path = ""
		if m := older.FindStringSubmatch(s.text); m != nil {
			path = m[1]
		}
	}
	return times, pages
}

func TestPagesOfActivityAreTurnedWithoutGapsWhateverComesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.joins(t, w.owner, w.open.ID, 45)
	w.joins(t, w.owner, w.closed.ID, 45) // at the same times, and nobody's business
	for _, path := range []string{ofPerson, ofProject, ofGroup} {
		times, pages := turn(w.browser(t, w.stranger), path, func() {
			w.exec(t, `insert into events (created_at, author_id, project_id, action) values ($1, $2, $3, 'joined')`, w.Now().Add(time.Hour), w.owner.ID, w.open.ID)
		})
		if pages < 3 || pages > 4 || !slices.IsSortedFunc(times, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Fatalf("%s: %d pages, %v", path, pages, times)
		}
		for n, at := range times[len(times)-45:] {
			if want := w.Now().Add(-time.Duration(n/2) * time.Minute).UTC().Format(time.RFC3339); at != want {
				t.Errorf("%s: the event %d is of %s, want %s", path, n, at, want)
			}
		}
	}
}

func TestAWrongCursorOfActivityIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, cursor := range []string{
		"x", "eyJvIjoiaWQiLCJhIjpbIjEiXX0", "eyJvIjoiY3JlYXRlZF9hdCIsImEiOlsieCIsIjEiXX0", "eyJvIjoiY3JlYXRlZF9hdCIsImEiOlsiMjAyNC0wMS0wMVQwMDowMDowMFoiLCJ4Il19",
	} {
		for _, path := range []string{ofPerson, ofProject} {
			if s := w.anonymous(t).get(path + "?cursor=" + cursor); s.Code != http.StatusBadRequest || !s.says("This part of the list is not there.") {
				t.Errorf("%s: %d %s", cursor, s.Code, s.text)
			}
		}
	}
}

func TestWB01_WhatPeopleWroteIsTextInActivity(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	w.exec(t, `update users set name = $1 where id = $2`, evil, w.owner.ID)
	w.do(t, "POST", w.open, "/issues", object{"title": evil})
	w.do(t, "POST", w.open, "/issues/1/notes", object{"body": evil})
	w.do(t, "POST", w.open, "/milestones", object{"title": evil})
	w.do(t, "POST", w.open, "/wikis", object{"title": evil, "content": "x"})
	w.do(t, "POST", w.open, "/repository/commits", object{
		"branch": "main", "commit_message": evil, "actions": []object{{"action": "create", "file_path": "b", "content": "x"}},
	})
	for _, path := range []string{ofPerson, ofProject, ofGroup} {
		s := w.browser(t, w.guest).shows(path)
		if raw := s.Body.String(); strings.Contains(raw, "<script") || strings.Contains(raw, "<img") || strings.Count(s.text, "alert(1)</script>") < 5 {
			t.Errorf("%s: %s", path, raw)
		}
	}
}

// What a page costs does not follow from how much happened, nor in how many projects.
func TestDO05_APageOfActivityAsksABoundedNumberOfQueries(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	asked := func(path string) int64 {
		b := w.browser(t, w.guest)
		b.shows(path) // what is kept in memory is read now
		before := w.DB.Pool().Stat().AcquireCount()
		b.shows(path)
		return w.DB.Pool().Stat().AcquireCount() - before
	}
	paths := []string{ofPerson, ofProject, ofGroup, "/ada"}
	few := map[string]int64{}
	w.joins(t, w.owner, w.open.ID, 1)
	for _, path := range paths {
		few[path] = asked(path)
	}
	for n := range 10 {
		u := usertest.New(t, w.DB)
		w.joins(t, u, w.open.ID, 30)
		w.do(t, "POST", w.open, "/issues", object{"title": fmt.Sprint("Issue ", n)})
		w.do(t, "POST", w.open, fmt.Sprintf("/issues/%d/notes", n+1), object{"body": "x"})
	}
	w.joins(t, w.owner, w.open.ID, 2000)
	for _, path := range paths {
		if many := asked(path); many > few[path]+6 || many > 30 {
			t.Errorf("%s: %d queries, %d where little happened", path, many, few[path])
		}
	}
}
