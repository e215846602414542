package event_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
)

// place is where the API shows what an event is about.
type place struct{ what, path string }

// acts does one thing of each kind as the owner, and says where what it is about is read: an event is shown to whoever may read that.
func (w *fixture) acts(t *testing.T) map[int64]place {
	t.Helper()
	at := map[int64]place{}
	last := func(what, path string) {
		t.Helper()
		event := w.list(t, w.root, w.at+"/events?per_page=1")[0]
		if _, twice := at[event.ID]; twice {
			t.Fatalf("%s left no event", what)
		}
		at[event.ID] = place{what, path}
	}
	sha := w.commit(t, "b", "Add b")
	last("a push", w.at+"/repository/commits/"+sha)
	w.do(t, "POST", w.at+"/repository/commits/"+sha+"/comments", object{"note": "x"})
	last("a comment on a commit", w.at+"/repository/commits/"+sha+"/discussions")
	for _, secret := range []bool{false, true} {
		i := w.make(t, w.at+"/issues", object{"title": "x", "confidential": secret})
		path := fmt.Sprintf("%s/issues/%d", w.at, i.IID)
		last(fmt.Sprintf("an issue (confidential: %v)", secret), path)
		for _, internal := range []bool{false, true} {
			n := w.make(t, path+"/notes", object{"body": "x", "internal": internal})
			last(fmt.Sprintf("a comment on it (internal: %v)", internal), fmt.Sprintf("%s/notes/%d", path, n.ID))
		}
	}
	for _, visibility := range []string{"public", "private"} {
		s := w.make(t, w.at+"/snippets", object{"title": "s", "visibility": visibility, "files": []object{{"file_path": "a", "content": "a"}}})
		n := w.make(t, fmt.Sprintf("%s/snippets/%d/notes", w.at, s.ID), object{"body": "x"})
		last("a comment on a snippet, "+visibility, fmt.Sprintf("%s/snippets/%d/notes/%d", w.at, s.ID, n.ID))
	}
	m := w.make(t, w.at+"/milestones", object{"title": "1.0"})
	last("a milestone", fmt.Sprintf("%s/milestones/%d", w.at, m.ID))
	w.do(t, "POST", w.at+"/wikis", object{"title": "Home", "content": "x"})
	last("a wiki page", w.at+"/wikis/Home")
	w.do(t, "POST", w.at+"/members", object{"user_id": w.stranger.ID, "access_level": 10})
	w.do(t, "DELETE", fmt.Sprintf("%s/members/%d", w.at, w.stranger.ID), nil)
	last("a member", w.at)
	return at
}

func (w *fixture) status(t *testing.T, as *user.User, path string) int {
	t.Helper()
	client := w.Client
	if as != nil {
		client = w.As(t, as)
	}
	return client.Do(t, "GET", path, nil).Status
}

// Events are shown to those who may read what they are about, as it is when they ask.
func TestPE02_AnEventIsShownToWhoMayReadWhatItIsAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := w.acts(t)
	readers := map[string]*user.User{"nobody": nil, "the stranger": w.stranger, "root": w.root}
	for role, u := range w.people {
		readers[fmt.Sprint(role)] = u
	}
	told := map[string]bool{}
	for _, c := range []struct{ now, sql string }{
		{"as it was", `select 1`},
		{"code for members", `update projects set features = features || '{"repository": "private"}'`},
		{"no issues", `update projects set features = features || '{"issues": "disabled"}'`},
		{"no plans", `update projects set features = features || '{"issues": "disabled", "merge_requests": "disabled"}'`},
		{"a wiki for members, and snippets", `update projects set features = '{"wiki": "private", "snippets": "private"}'`},
		{"no wiki, no snippets, no code", `update projects set features = '{"wiki": "disabled", "snippets": "disabled", "repository": "disabled"}'`},
		{"internal", `update projects set features = '{}', visibility = 10`},
		{"private", `update projects set visibility = 0`},
	} {
		w.exec(t, c.sql)
		for name, who := range readers {
			if w.status(t, who, w.at) != http.StatusOK {
				if got := w.status(t, who, w.at+"/events"); got != http.StatusNotFound {
					t.Errorf("%s, %s: the events of what is not there answer %d", c.now, name, got)
				}
			}
			listed := map[int64]bool{}
			for _, e := range w.list(t, who, fmt.Sprintf("/users/%d/events?per_page=100", w.owner().ID)) {
				listed[e.ID] = true
			}
			for _, id := range slices.Sorted(maps.Keys(at)) {
				what := at[id]
				if what.what == "a member" {
					continue // somebody else's event
				}
				reads := w.status(t, who, what.path) == http.StatusOK
				told[fmt.Sprint(what.what, reads)] = true
				if reads != listed[id] {
					t.Errorf("%s, %s: %s is read: %v, and listed: %v", c.now, name, what.what, reads, listed[id])
				}
			}
		}
	}
	// Were all of a kind alike to everybody, nothing would be told apart.
	for _, what := range at {
		if what.what != "a member" && (!told[what.what+"true"] || !told[what.what+"false"]) {
			t.Errorf("%s is read by all or by nobody", what.what)
		}
	}
}

func TestWhatIsGoneIsNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.acts(t)
	n := len(w.list(t, w.root, w.at+"/events?per_page=100"))
	w.do(t, "DELETE", w.at+"/issues/1", nil) // its opening and two comments
	w.by(t, w.root, "DELETE", w.at+"/issues/2", nil)
	if got := len(w.list(t, w.root, w.at+"/events?per_page=100")); got != n-6 {
		t.Errorf("%d of %d events are left", got, n)
	}
}

func TestWhatThoseDidWhoAreBannedOrKeepToThemselvesIsNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.make(t, w.at+"/issues", object{"title": "x"})
	own := fmt.Sprintf("/users/%d/events", w.owner().ID)
	for _, c := range []struct {
		now, sql                     string
		byOthers, byRoot, inProjects int
	}{
		{"active", `select 1 where $1::bigint > 0`, 1, 1, 1},
		{"private", `update users set private_profile = true where id = $1`, 0, 1, 1},
		{"blocked", `update users set private_profile = false, state = 'blocked' where id = $1`, 0, 1, 1},
		{"banned", `update users set state = 'banned' where id = $1`, 0, 1, 0},
		{"unconfirmed", `update users set state = 'active', confirmed_at = null where id = $1`, 0, 1, 1},
	} {
		w.exec(t, c.sql, w.owner().ID)
		developer := w.people[access.Developer]
		for who, got := range map[string]int{
			"others see": len(w.list(t, developer, own)), "nobody sees": len(w.list(t, nil, own)),
		} {
			if got != c.byOthers {
				t.Errorf("%s: %s %d events", c.now, who, got)
			}
		}
		if got := len(w.list(t, w.root, own)); got != c.byRoot {
			t.Errorf("%s: administrators see %d events", c.now, got)
		}
		if got := len(w.list(t, developer, w.at+"/events")); got != c.inProjects {
			t.Errorf("%s: of the project %d events are seen", c.now, got)
		}
	}
}

// Comments go with an issue that moves, and are then for who reads it there.
func TestPE02_ACommentThatMovedIsForThoseWhoReadItThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	closed := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("closed"), projecttest.Visible(access.Private))
	projecttest.Join(t, w.DB, closed, w.owner(), access.Owner)
	w.make(t, w.at+"/issues", object{"title": "x"})
	w.do(t, "POST", w.at+"/issues/1/notes", object{"body": "moves"})
	w.do(t, "POST", w.at+"/issues/1/move", object{"to_project_id": closed.ID})
	for who, want := range map[*user.User]int{w.people[access.Developer]: 0, w.owner(): 1} {
		if got := w.list(t, who, w.at+"/events?action=commented"); len(got) != want {
			t.Errorf("%s sees %d comments", who.Username, len(got))
		}
	}
}
