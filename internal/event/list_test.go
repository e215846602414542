package event_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// joined seeds events of somebody, one at each time before now, the oldest first.
func (w *fixture) joined(t testing.TB, u *user.User, project int64, ago ...time.Duration) {
	t.Helper()
	slices.Sort(ago)
	for _, d := range slices.Backward(ago) {
		w.exec(t, `insert into events (created_at, author_id, project_id, action) values ($1, $2, $3, 'joined')`, w.Now().Add(-d), u.ID, project)
	}
}

const day = 24 * time.Hour

// The lists of somebody who is a member of one project alone.
func (w *fixture) lists(u *user.User) []string {
	return []string{"/events", "/events?scope=all", fmt.Sprintf("/users/%d/events", u.ID), w.at + "/events"}
}

func with(path, query string) string {
	if strings.Contains(path, "?") {
		return path + "&" + query
	}
	return path + "?" + query
}

func TestEventsGoByTimeHoweverOldTheyAre(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := w.people[access.Developer]
	w.joined(t, u, w.project.ID, 0, 0, time.Hour, 2*day, 5*day, 30*day, 59*day, 61*day, 70*day, 400*day, 900*day)
	for _, path := range w.lists(u) {
		newest := ids(w.list(t, u, path))
		if len(newest) != 11 || !slices.IsSortedFunc(newest, func(a, b int64) int { return int(b - a) }) {
			t.Errorf("%s: got %v", path, newest)
		}
		oldest := ids(w.list(t, u, with(path, "sort=asc")))
		slices.Reverse(oldest)
		if diff := cmp.Diff(newest, oldest); diff != "" {
			t.Errorf("%s, the oldest first (-want +got):\n%s", path, diff)
		}
		var turned []int64
		for page := 1; page < 5; page++ {
			turned = append(turned, ids(w.list(t, u, with(path, fmt.Sprintf("per_page=3&page=%d", page))))...)
		}
		if diff := cmp.Diff(newest, turned); diff != "" {
			t.Errorf("%s, by pages (-want +got):\n%s", path, diff)
		}
	}
}

func TestPE09_WhatMayNotBeReadNeitherShortensAPageNorCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 12 {
		w.make(t, w.at+"/issues", object{"title": "x", "confidential": n%2 == 0})
	}
	guest := w.people[access.Guest]
	for page, want := range map[int]int{1: 4, 2: 2, 3: 0} {
		reply := w.As(t, guest).Do(t, "GET", fmt.Sprintf("%s/events?per_page=4&page=%d", w.at, page), nil).WantStatus(t, http.StatusOK)
		var events []shown
		reply.Decode(t, &events)
		if len(events) != want || reply.Header.Get("X-Total") != "6" || reply.Header.Get("X-Total-Pages") != "2" {
			t.Errorf("page %d: %d events of %s", page, len(events), reply.Header.Get("X-Total"))
		}
	}
}

func TestDO05_TotalsOfEventsAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `insert into events (created_at, author_id, project_id, action) select $1::timestamptz - n * interval '1 minute', $2, $3, 'joined'
		from generate_series(1, 12000) n`, w.Now(), w.owner().ID, w.project.ID)
	for _, path := range w.lists(w.owner()) {
		for page, want := range map[int]int{1: 100, 99: 100, 100: 100, 101: 0, 100_000: 0} {
			reply := w.As(t, w.owner()).Do(t, "GET", with(path, fmt.Sprintf("per_page=100&page=%d", page)), nil).WantStatus(t, http.StatusOK)
			var events []shown
			reply.Decode(t, &events)
			if len(events) != want || reply.Header.Get("X-Total") != "" {
				t.Errorf("%s, page %d: %d events of %q", path, page, len(events), reply.Header.Get("X-Total"))
			}
			if page == 1 && reply.Header.Get("X-Next-Page") != "2" {
				t.Errorf("%s: no page follows the first", path)
			}
		}
	}
}

func TestDO05_StrangersPassFewEventsThatAreClosedToThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	closed := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("closed"), projecttest.Visible(access.Private))
	open := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("open"), projecttest.Visible(access.Public))
	w.exec(t, `insert into events (created_at, author_id, project_id, action) select $1::timestamptz - n * interval '1 minute', $2, case when n > 1500 then $4::bigint else $3::bigint end, 'joined'
		from generate_series(1, 1510) n`, w.Now(), w.owner().ID, closed.ID, open.ID)
	path := fmt.Sprintf("/users/%d/events", w.owner().ID)
	if got := w.list(t, w.stranger, path); len(got) != 10 {
		t.Errorf("somebody with an account is shown %d", len(got))
	}
	w.Do(t, "GET", path, nil).Want(t, http.StatusOK, `[]`)
	// Nor does the total tell how many there are.
	if got := w.Do(t, "GET", path, nil).Header.Get("X-Total"); got != "0" {
		t.Errorf("a stranger is told of %q events", got)
	}
}

func TestEventsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.make(t, w.at+"/issues", object{"title": "x"})
	issue := fmt.Sprintf("%s/issues/%d", w.at, i.IID)
	w.do(t, "POST", issue+"/notes", object{"body": "x"})
	w.do(t, "POST", issue+"/discussions", object{"body": "x"})
	w.do(t, "PUT", issue, object{"state_event": "close"})
	w.commit(t, "b", "Add b")
	w.make(t, w.at+"/milestones", object{"title": "1.0"})
	w.do(t, "POST", w.at+"/wikis", object{"title": "Home", "content": "x"})
	w.Turn(day)
	w.do(t, "PUT", issue, object{"state_event": "reopen"})
	today, before := w.Now().Format(time.DateOnly), w.Now().Add(-day).Format(time.DateOnly)
	for _, path := range w.lists(w.owner()) {
		for query, want := range map[string]int{
			"": 8, "action=created": 3, "action=closed": 1, "action=reopened": 1, "action=commented": 2, "action=pushed": 1, "action=merged": 0,
			"target_type=issue": 3, "target_type=note": 2, "target_type=milestone": 1, "target_type=wiki": 1, "target_type=merge_request": 0,
			"target_type=project": 0, "target_type=snippet": 0, "target_type=user": 0, "target_type=design": 0,
			"target_type=issue&action=closed": 1, "target_type=issue&action=pushed": 0,
			"before=" + today: 7, "after=" + before: 1, "after=" + today: 0, "before=" + before: 0, "before=2000-01-01": 0, "after=9999-12-31": 0,
			"after=2000-01-01&before=" + today + "&action=created": 3, "sort=asc&target_type=note": 2,
		} {
			if got := w.list(t, w.owner(), with(path, query)); len(got) != want {
				t.Errorf("%s: %d events, want %d", with(path, query), len(got), want)
			}
		}
	}
}

func TestFiltersOfEventsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, path := range w.lists(w.owner()) {
		for query, want := range map[string]string{
			"action=bogus": "action does not have a valid value", "action=PUSHED": "action does not have a valid value",
			"target_type=bogus": "target_type does not have a valid value", "target_type=epic": "target_type does not have a valid value",
			"target_type=ISSUE": "target_type does not have a valid value", "sort=sideways": "sort does not have a valid value",
			"before=nonsense": "before is invalid", "after=2024-13-45": "after is invalid", "page=x": "page is invalid",
		} {
			w.As(t, w.owner()).Do(t, "GET", with(path, query), nil).Want(t, http.StatusBadRequest, `{"error":"`+want+`"}`)
		}
	}
	w.list(t, w.owner(), "/events?scope=nonsense")
}

func TestWhoseEventsAreListed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	away := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("away"), projecttest.Visible(access.Public))
	developer := w.people[access.Developer]
	w.joined(t, w.owner(), w.project.ID, time.Hour)
	w.joined(t, developer, w.project.ID, 2*time.Hour)
	w.joined(t, developer, away.ID, 3*time.Hour)
	for path, want := range map[string][]int64{
		"/events": {2, 3}, "/events?scope=all": {1, 2}, "/events?scope=other": {2, 3}, w.at + "/events": {1, 2},
		"/users/" + strings.ToUpper(developer.Username) + "/events": {2, 3}, fmt.Sprintf("/users/%d/events", w.owner().ID): {1},
	} {
		if diff := cmp.Diff(want, ids(w.list(t, developer, path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if got := w.list(t, w.stranger, "/events?scope=all"); len(got) != 0 {
		t.Errorf("somebody who is a member of nothing sees %v", ids(got))
	}
	w.Do(t, "GET", "/events", nil).WantStatus(t, http.StatusUnauthorized)
	w.As(t, developer).Do(t, "GET", "/users/987654321/events", nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
	w.As(t, developer).Do(t, "GET", "/users/no.such/events", nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
	w.As(t, developer).Do(t, "GET", "/projects/987654321/events", nil).Want(t, http.StatusNotFound, `{"message":"404 Project Not Found"}`)
}

func TestTheScopeOfATokenOpensEventsOfPeople(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := usertest.New(t, w.DB)
	people := []string{"/events", "/events?scope=all", fmt.Sprintf("/users/%d/events", u.ID)}
	for scope, want := range map[access.Scope][2]int{
		access.ScopeReadUser: {200, 403}, access.ScopeReadAPI: {200, 200}, access.ScopeAPI: {200, 200}, access.ScopeCreateRunner: {403, 403},
		access.ScopeReadRepository: {403, 403},
	} {
		client := w.WithToken(tokentest.New(t, w.DB, w.Box, u.ID, scope))
		for _, path := range people {
			client.Do(t, "GET", path, nil).WantStatus(t, want[0])
		}
		client.Do(t, "GET", w.at+"/events", nil).WantStatus(t, want[1])
	}
}

func TestAnEventTellsWhatItIsAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.make(t, w.at+"/issues", object{"title": "Mend the door"})
	n := w.make(t, fmt.Sprintf("%s/issues/%d/notes", w.at, i.IID), object{"body": "A comment"})
	w.do(t, "PUT", fmt.Sprintf("%s/issues/%d", w.at, i.IID), object{"title": "Mend the gate"})
	all := w.list(t, w.owner(), w.at+"/events")
	comment, opened := all[0], all[1]
	if comment.ActionName != "commented on" || *comment.TargetID != n.ID || *comment.TargetIID != n.ID || *comment.TargetType != "Note" ||
		comment.Note.Body != "A comment" || *comment.Note.NoteableID != i.ID || *comment.Note.NoteableIID != i.IID || comment.Note.NoteableType != "Issue" {
		t.Errorf("got %+v", comment)
	}
	if opened.ActionName != "opened" || *opened.TargetID != i.ID || *opened.TargetIID != i.IID || *opened.TargetTitle != "Mend the gate" || opened.Note != nil ||
		opened.AuthorID != w.owner().ID || opened.Author.Username != opened.AuthorUsername || opened.PushData != nil || opened.ProjectID != w.project.ID {
		t.Errorf("got %+v", opened)
	}
}
