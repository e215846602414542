package project_test

import (
	"net/http"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

func TestAProjectIsFoundByIDAndByItsExactPath(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db, grouptest.Named("Acme"), grouptest.Visible(access.Public))
	g := grouptest.New(t, w.db, grouptest.Named("tools"), grouptest.Under(top))
	p := projecttest.New(t, w.db, g.ID, projecttest.Named("Hammer"), projecttest.Visible(access.Public))
	for _, ref := range []string{id(p.ID), "Acme%2Ftools%2FHammer", "Acme%2ftools%2fHammer"} {
		if got := read(t, w.Do(t, "GET", "/projects/"+ref, nil), http.StatusOK); got.ID != p.ID || got.PathWithNamespace != "Acme/tools/Hammer" {
			t.Errorf("%s: got %+v", ref, got)
		}
	}
	for _, ref := range []string{"Hammer", "Acme", "Acme%2Ftools", "tools%2FHammer", "Acme%2Ftools%2FHammer%2Fx", "-1", "-" + id(p.ID), "99999999", "99999999999999999999", "%2F", "Acme%2F%2FHammer"} {
		w.Do(t, "GET", "/projects/"+ref, nil).Want(t, http.StatusNotFound, noProject)
	}
	w.Do(t, "GET", "/projects/Acme/tools/Hammer", nil).Want(t, http.StatusNotFound, `{"error":"404 Not Found"}`)
}

func TestAFormerPathAndADifferentCaseLeadReadersOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("acme"))
	p := projecttest.New(t, w.db, g.ID, projecttest.Named("old"))
	projecttest.Join(t, w.db, p, w.ada, access.Maintainer)
	as := w.as(w.ada)
	read(t, as.Do(t, "PUT", at(p), map[string]any{"path": "fresh"}), http.StatusOK)

	to := "https://forge.example/api/v4" + at(p)
	for ref, want := range map[string]string{
		"/projects/acme%2Fold":                   to,
		"/projects/acme%2FOLD":                   to,
		"/projects/acme%2FFresh":                 to,
		"/projects/Acme%2Ffresh":                 to,
		"/projects/acme%2Fold/languages":         to + "/languages",
		"/projects/acme%2Fold/users?search=x%2F": to + "/users?search=x%2F",
	} {
		r := as.Do(t, "GET", ref, nil)
		r.Want(t, http.StatusMovedPermanently, "This resource has been moved permanently to "+want)
		if got := r.Header.Get("Location"); got != want {
			t.Errorf("%s: sent to %s, want %s", ref, got, want)
		}
	}
	for _, method := range []string{"PUT", "DELETE"} {
		as.Do(t, method, "/projects/acme%2Fold", map[string]any{"name": "x"}).
			Want(t, http.StatusMethodNotAllowed, `{"message":"Non GET methods are not allowed for moved projects"}`)
	}
	as.Do(t, "POST", "/projects/acme%2Fold/star", nil).
		Want(t, http.StatusMethodNotAllowed, `{"message":"Non GET methods are not allowed for moved projects"}`)
	// Who may not see the project does not learn that it moved.
	for _, ref := range []string{"/projects/acme%2Fold", "/projects/acme%2Ffresh", "/projects/acme%2Fnever"} {
		w.Do(t, "GET", ref, nil).Want(t, http.StatusNotFound, noProject)
		w.as(w.bob).Do(t, "GET", ref, nil).Want(t, http.StatusNotFound, noProject)
		w.as(w.bob).Do(t, "DELETE", ref, nil).Want(t, http.StatusNotFound, noProject)
		w.Do(t, "DELETE", ref, nil).Want(t, http.StatusUnauthorized, unauthorized)
	}
}

func TestAPathOverAGroupThatMovedLeadsOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("acme"), grouptest.Visible(access.Public))
	projecttest.New(t, w.db, g.ID, projecttest.Named("p"), projecttest.Visible(access.Public))
	w.exec(t, `update routes set former = true where namespace_id = $1`, g.ID)
	w.exec(t, `insert into routes (parent_id, path, namespace_id, created_at) values (0, 'bcme', $1, now())`, g.ID)
	w.exec(t, `update namespaces set path = 'bcme', full_path = 'bcme' where id = $1`, g.ID)
	if r := w.Do(t, "GET", "/projects/acme%2Fp", nil); r.Status != http.StatusMovedPermanently {
		t.Errorf("got %d %s", r.Status, r.Body)
	}
	read(t, w.Do(t, "GET", "/projects/bcme%2Fp", nil), http.StatusOK)
}

// PE-14: an old address is that of whoever stands there now.
func TestPE14_ANewProjectTakesTheFormerPathOfAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.as(w.ada)
	first := read(t, as.Do(t, "POST", "/projects", map[string]any{"name": "first", "path": "tool", "visibility": "public"}), http.StatusCreated)
	read(t, as.Do(t, "PUT", "/projects/"+id(first.ID), map[string]any{"path": "elsewhere"}), http.StatusOK)
	if r := as.Do(t, "GET", "/projects/ada%2Ftool", nil); r.Status != http.StatusMovedPermanently {
		t.Fatalf("got %d %s", r.Status, r.Body)
	}
	second := read(t, as.Do(t, "POST", "/projects", map[string]any{"name": "second", "path": "TOOL", "visibility": "public"}), http.StatusCreated)
	if got := read(t, w.Do(t, "GET", "/projects/ada%2FTOOL", nil), http.StatusOK); got.ID != second.ID {
		t.Errorf("the path leads to %d, want %d", got.ID, second.ID)
	}
	// The first may have its path back only when the second has left it.
	as.Do(t, "PUT", "/projects/"+id(first.ID), map[string]any{"path": "tool"}).
		Want(t, http.StatusBadRequest, `{"message":{"path":["has already been taken"]}}`)
	read(t, as.Do(t, "PUT", "/projects/"+id(second.ID), map[string]any{"path": "third"}), http.StatusOK)
	read(t, as.Do(t, "PUT", "/projects/"+id(first.ID), map[string]any{"path": "tool"}), http.StatusOK)
	if got := read(t, w.Do(t, "GET", "/projects/ada%2Ftool", nil), http.StatusOK); got.ID != first.ID {
		t.Errorf("the path leads to %d, want %d", got.ID, first.ID)
	}
}

func TestWhoSeesWhichProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	guest := w.person(t, "guest")
	outsider := w.person(t, "outsider", usertest.With("external", true))
	auditor := w.person(t, "auditor", usertest.With("auditor", true))
	grouptest.Join(t, w.db, g, guest, access.Guest)
	for v, want := range map[access.Visibility][6]int{
		access.Private:  {404, 404, 404, 200, 200, 200},
		access.Internal: {404, 200, 404, 200, 200, 200},
		access.Public:   {200, 200, 200, 200, 200, 200},
	} {
		p := projecttest.New(t, w.db, g.ID, projecttest.Visible(v))
		got := [6]int{
			w.Do(t, "GET", at(p), nil).Status, w.as(w.ada).Do(t, "GET", at(p), nil).Status, w.as(outsider).Do(t, "GET", at(p), nil).Status,
			w.as(guest).Do(t, "GET", at(p), nil).Status, w.as(auditor).Do(t, "GET", at(p), nil).Status, w.as(w.root).Do(t, "GET", at(p), nil).Status,
		}
		if got != want {
			t.Errorf("%s: anonymous, stranger, external, guest, auditor, administrator got %v, want %v", v, got, want)
		}
	}
}

func TestARightEndsWithTheRowThatGaveIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db)
	p := projecttest.New(t, w.db, g.ID)
	grouptest.Join(t, w.db, g, w.ada, access.Developer)
	projecttest.Join(t, w.db, p, w.bob, access.Owner)
	w.as(w.ada).Do(t, "GET", at(p), nil).WantStatus(t, http.StatusOK)
	w.exec(t, `update members set expires_at = $1`, w.now)
	w.as(w.ada).Do(t, "GET", at(p), nil).Want(t, http.StatusNotFound, noProject)
	w.as(w.bob).Do(t, "DELETE", at(p), nil).Want(t, http.StatusNotFound, noProject)
}
