package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
)

// signedIn is the browser of somebody who has a role in some projects.
func (d *doors) signedIn(t testing.TB, role access.Role, in ...*project.Project) (*browser, *user.User) {
	t.Helper()
	u := d.withPassword(t)
	for _, p := range in {
		if role != access.NoRole {
			projecttest.Join(t, d.DB, p, u, role)
		}
	}
	b := d.browser(t)
	b.signIn(u.Username, goodPassword)
	return b, u
}

func TestAProjectHasAPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "STITHY_SSH_PORT=22")
	d.exec(t, `update projects set description = 'What it is about.' where id = $1`, d.hidden.ID)
	b, _ := d.signedIn(t, access.Reporter, d.hidden)
	if s := b.get("/"); !strings.Contains(s.Body.String(), `href="/house/hidden"`) || !s.says(`<a href="/groups/house">house</a>`) {
		t.Errorf("the home page does not lead there: %s", s.Body)
	}
	s := b.get("/house/hidden")
	for _, want := range []string{"What it is about.", "https://forge.example/house/hidden.git", "git@forge.example:house/hidden.git", `<a href="/house/hidden" aria-current="location">`} {
		if s.Code != http.StatusOK || !s.says(want) {
			t.Errorf("%d: nothing of %q in %s", s.Code, want, s.Body)
		}
	}
	// The address that git clones, and another way to write the path, lead there.
	for _, path := range []string{"/house/hidden.git", "/House/Hidden"} {
		if w := b.send("GET", path, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/house/hidden" {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Location"))
		}
	}
	guest, _ := d.signedIn(t, access.Guest, d.hidden)
	if s := guest.get("/house/hidden"); s.Code != http.StatusOK || s.says("hidden.git") {
		t.Errorf("a guest sees the code: %d", s.Code)
	}
	if w := d.browser(t).send("GET", "/house/open", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/users/sign_in?return_to=%2Fhouse%2Fopen") {
		t.Errorf("a stranger at an open project: %d %s", w.Code, w.Body)
	}
}

func TestAPageNamesNoAddressOfSSHWhereThereIsNone(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Reporter, d.hidden)
	if s := b.get("/house/hidden"); !s.says("https://forge.example/house/hidden.git") || s.says("SSH") || s.says("git@") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestAFormerPathLeadsToThePagesOfAProject(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Owner, d.hidden)
	if _, err := d.Projects.Update(t.Context(), access.Actor{Person: u.Person(), Account: u}, d.hidden.ID, project.Attributes{Path: new("moved")}); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"/house/hidden": "/house/moved", "/house/hidden?x=1%2F2": "/house/moved?x=1%2F2"} {
		if w := b.send("GET", from, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != to {
			t.Errorf("%s: %d %s", from, w.Code, w.Header().Get("Location"))
		}
	}
	// Whoever may not see the project learns nothing of where it went.
	other, _ := d.signedIn(t, access.NoRole)
	if w := other.send("GET", "/house/hidden", nil); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
	}
}

// What may not be seen is not there: a stranger is asked to sign in whether
// there is something or not.
func TestAHiddenProjectHasNoPages(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	outsider, _ := d.signedIn(t, access.NoRole)
	for _, below := range []string{"", ".git"} {
		for _, path := range []string{"/house/hidden" + below, "/house/missing" + below} {
			if w := outsider.send("GET", path, nil); w.Code != http.StatusNotFound {
				t.Errorf("%s: %d", path, w.Code)
			}
			w := d.browser(t).send("GET", path, nil)
			if want := "/users/sign_in?" + (url.Values{"return_to": {path}}).Encode(); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
				t.Errorf("%s for a stranger: %d %s", path, w.Code, w.Header().Get("Location"))
			}
		}
	}
	for _, path := range []string{"/house", "/missing"} {
		if w := d.browser(t).send("GET", path, nil); w.Code != http.StatusSeeOther {
			t.Errorf("%s for a stranger: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/house/", "/-/nothing/at/all", "/assets/stithy.old.css", "/users/nobody", "/house%2fopen/x", "/house/open/-/", "/house/open/-/nothing", "/house//open"} {
		if w := d.browser(t).send("GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s for a stranger: %d %s", path, w.Code, w.Header().Get("Location"))
		}
	}
	if w := d.browser(t).send("POST", "/house/open", url.Values{}); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a form to a page: %d", w.Code)
	}
}
