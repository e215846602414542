package project_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
)

func TestAStarIsGivenOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public))
	as := w.as(w.bob)
	if got := read(t, as.Do(t, "POST", at(p)+"/star", nil), http.StatusCreated); got.StarCount != 1 {
		t.Errorf("got %+v", got)
	}
	as.Do(t, "POST", at(p)+"/star", nil).Want(t, http.StatusNotModified, "")
	r := w.Do(t, "GET", at(p)+"/starrers", nil)
	r.Want(t, http.StatusOK, `[{"starred_since":"2024-05-02T15:04:05.678Z","user":{"id":`+id(w.bob.ID)+`,"username":"bob","name":"Bob","state":"active","locked":false,"avatar_url":null,"web_url":"https://forge.example/bob"}}]`)
	w.Do(t, "GET", at(p)+"/starrers?search=nobody", nil).Want(t, http.StatusOK, `[]`)
	if got := read(t, as.Do(t, "POST", at(p)+"/unstar", nil), http.StatusCreated); got.StarCount != 0 {
		t.Errorf("got %+v", got)
	}
	as.Do(t, "POST", at(p)+"/unstar", nil).Want(t, http.StatusNotModified, "")
	w.Do(t, "POST", at(p)+"/star", nil).Want(t, http.StatusUnauthorized, unauthorized)
	hidden := projecttest.New(t, w.db, w.ada.NamespaceID)
	as.Do(t, "POST", at(hidden)+"/star", nil).Want(t, http.StatusNotFound, noProject)
}

// PE-05: a star shows nothing that its giver no longer sees.
func TestPE05_AStarredProjectThatClosedIsNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public))
	read(t, w.as(w.bob).Do(t, "POST", at(p)+"/star", nil), http.StatusCreated)
	w.exec(t, `update projects set visibility = 0`)
	for _, path := range []string{"/projects?starred=true", "/users/bob/starred_projects"} {
		if got := ids(t, w.as(w.bob).Do(t, "GET", path, nil)); len(got) != 0 {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestForking(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("acme"), grouptest.Visible(access.Internal))
	grouptest.Join(t, w.db, g, w.bob, access.Developer)
	source := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Named("tool"), projecttest.Visible(access.Public),
		projecttest.With("description", "d"), projecttest.With("features", `{"wiki":"disabled"}`))
	as := w.as(w.bob)
	r := as.Do(t, "POST", at(source)+"/fork", nil)
	got := read(t, r, http.StatusCreated)
	if got.PathWithNamespace != "bob/tool" || got.Visibility != "public" || got.ImportStatus != "scheduled" || got.ForkedFromProject == nil ||
		got.ForkedFromProject.ID != source.ID || got.CreatorID != w.bob.ID || !strings.Contains(r.Body, `"wiki_access_level":"disabled"`) ||
		!strings.Contains(r.Body, `"mr_default_target_self":false`) {
		t.Errorf("got %s", r.Body)
	}
	if types := w.taken(); !slices.Equal(types, []string{"project_fork_operation"}) {
		t.Errorf("audited %v", types)
	}
	in := read(t, as.Do(t, "POST", at(source)+"/fork", map[string]any{
		"namespace_path": "acme", "name": "Mine", "path": "mine", "description": "own", "mr_default_target_self": true,
	}), http.StatusCreated)
	if in.PathWithNamespace != "acme/mine" || in.Name != "Mine" || in.Visibility != "internal" {
		t.Errorf("got %+v", in)
	}
	hid := read(t, as.Do(t, "POST", at(source)+"/fork", map[string]any{"namespace_id": g.ID, "path": "hid", "name": "hid", "visibility": "private"}), http.StatusCreated)
	if hid.Visibility != "private" {
		t.Errorf("got %+v", hid)
	}
	w.set(t, func(s *setting.Settings) { s.RestrictedVisibilityLevels = []string{"public"} })
	low := read(t, as.Do(t, "POST", at(source)+"/fork", map[string]any{"namespace": "bob", "path": "low", "name": "low"}), http.StatusCreated)
	if low.Visibility != "internal" {
		t.Errorf("got %+v", low)
	}
	if n := projecttest.Read(t, w.db, source.ID).ForksCount; n != 4 {
		t.Errorf("counts %d forks", n)
	}
	if got := ids(t, w.Do(t, "GET", at(source)+"/forks", nil)); !slices.Equal(got, []int64{got[0]}) || got[0] != read(t, r, http.StatusCreated).ID {
		t.Errorf("a stranger sees forks %v", got)
	}
	if got := ids(t, as.Do(t, "GET", at(source)+"/forks?order_by=id&sort=asc", nil)); len(got) != 4 {
		t.Errorf("their maker sees forks %v", got)
	}

	as.Do(t, "POST", at(source)+"/fork", nil).
		Want(t, http.StatusConflict, `{"message":{"name":["has already been taken"],"path":["has already been taken"]}}`)
	secret := grouptest.New(t, w.db, grouptest.Named("secret"))
	for body, want := range map[string]string{
		`{"namespace_id":99999999}`:              `404 {"message":"404 Namespace Not Found"}`,
		`{"namespace_id":` + id(secret.ID) + `}`: `404 {"message":"404 Namespace Not Found"}`,
		`{"namespace_path":"secret"}`:            `404 {"message":"404 Namespace Not Found"}`,
		`{"namespace":"ada"}`:                    `404 {"message":"404 Target Namespace Not Found"}`,
	} {
		r := as.Do(t, "POST", at(source)+"/fork", body)
		if got := fmt.Sprintf("%d %s", r.Status, r.Body); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	w.Do(t, "POST", at(source)+"/fork", nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.exec(t, `update users set projects_limit = 1 where id = $1`, w.bob.ID)
	as.Do(t, "POST", at(source)+"/fork", map[string]any{"path": "x", "name": "x"}).
		Want(t, http.StatusConflict, `{"message":{"limit_reached":["Your project limit is 1 projects! Please contact your administrator to increase it"]}}`)
}

func TestWhoMayNotForkIsToldThereIsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	private := projecttest.New(t, w.db, g.ID)
	projecttest.Join(t, w.db, private, w.ada, access.Guest)
	codeless := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public), projecttest.With("features", `{"repository":"private"}`))
	forkless := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public), projecttest.With("features", `{"forking":"disabled"}`))
	for _, p := range []*project.Project{private, codeless, forkless} {
		w.as(w.ada).Do(t, "POST", at(p)+"/fork", nil).Want(t, http.StatusNotFound, `{"message":"404 Not Found"}`)
	}
	w.as(w.bob).Do(t, "POST", at(private)+"/fork", nil).Want(t, http.StatusNotFound, noProject)
}

func TestAForkIsTiedAndCut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	source := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Internal))
	p := projecttest.New(t, w.db, w.bob.NamespaceID)
	as := w.as(w.bob)
	tie := at(p) + "/fork/" + id(source.ID)
	if got := read(t, as.Do(t, "POST", tie, nil), http.StatusCreated); got.ForkedFromProject == nil || got.ForkedFromProject.ID != source.ID {
		t.Errorf("got %+v", got)
	}
	as.Do(t, "POST", tie, nil).Want(t, http.StatusConflict, `{"message":"Project already forked"}`)
	if n := projecttest.Read(t, w.db, source.ID).ForksCount; n != 1 {
		t.Errorf("counts %d forks", n)
	}
	as.Do(t, "DELETE", at(p)+"/fork", nil).Want(t, http.StatusNoContent, "")
	as.Do(t, "DELETE", at(p)+"/fork", nil).Want(t, http.StatusNotModified, "")
	if n := projecttest.Read(t, w.db, source.ID).ForksCount; n != 0 {
		t.Errorf("counts %d forks", n)
	}
	if types := w.taken(); !slices.Equal(types, []string{"project_fork_operation", "project_fork_relationship_removed"}) {
		t.Errorf("audited %v", types)
	}
	open := projecttest.New(t, w.db, w.bob.NamespaceID, projecttest.Visible(access.Public))
	as.Do(t, "POST", at(open)+"/fork/"+id(source.ID), nil).
		Want(t, http.StatusBadRequest, `{"message":{"visibility_level":["public is not allowed since the fork source project has lower visibility."]}}`)
	as.Do(t, "POST", at(p)+"/fork/"+id(p.ID), nil).Want(t, http.StatusConflict, `{"message":"Project cannot be forked from itself or from its own forks"}`)
	read(t, as.Do(t, "POST", tie, nil), http.StatusCreated)
	projecttest.Join(t, w.db, source, w.bob, access.Owner)
	as.Do(t, "POST", at(source)+"/fork/"+id(p.ID), nil).Want(t, http.StatusUnauthorized, `{"message":"401 Unauthorized - Target Namespace"}`)
	hidden := projecttest.New(t, w.db, w.root.NamespaceID)
	as.Do(t, "POST", at(p)+"/fork/"+id(hidden.ID), nil).Want(t, http.StatusNotFound, noProject)
	maintainer := w.member(t, p, access.Maintainer)
	w.as(maintainer).Do(t, "DELETE", at(p)+"/fork", nil).Want(t, http.StatusForbidden, forbidden)
}

func TestATransferMovesAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	from := grouptest.New(t, w.db, grouptest.Named("from"), grouptest.Visible(access.Public))
	to := grouptest.New(t, w.db, grouptest.Named("to"), grouptest.Visible(access.Internal))
	grouptest.Join(t, w.db, from, w.ada, access.Owner)
	grouptest.Join(t, w.db, to, w.ada, access.Developer)
	inherited := w.person(t, "inherited")
	grouptest.Join(t, w.db, from, inherited, access.Maintainer)
	p := projecttest.New(t, w.db, from.ID, projecttest.Named("p"), projecttest.Visible(access.Public))
	got := read(t, w.as(w.ada).Do(t, "PUT", at(p)+"/transfer", map[string]any{"namespace": "to"}), http.StatusOK)
	if got.PathWithNamespace != "to/p" || got.Visibility != "internal" {
		t.Errorf("got %+v", got)
	}
	if types := w.taken(); !slices.Equal(types, []string{"project_namespace_updated", "project_visibility_level_updated"}) {
		t.Errorf("audited %v", types)
	}
	if r := w.as(w.ada).Do(t, "GET", "/projects/from%2Fp", nil); r.Status != http.StatusMovedPermanently {
		t.Errorf("the old path answers %d", r.Status)
	}
	// PE-04: what came with the old group is gone.
	w.as(inherited).Do(t, "PUT", at(p), map[string]any{"name": "x"}).Want(t, http.StatusForbidden, forbidden)

	projecttest.Join(t, w.db, p, w.ada, access.Owner)
	projecttest.New(t, w.db, from.ID, projecttest.Named("other"), projecttest.With("name", "p"))
	closed := grouptest.New(t, w.db, grouptest.Named("closed"), grouptest.Visible(access.Public))
	failed := func(why string) string {
		return `400 {"message":"Failed to transfer project {:new_namespace=\u003e[\"` + why + `\"]}"}`
	}
	for body, want := range map[string]string{
		`{"namespace":"to"}`:                failed("Project is already in this namespace."),
		`{"namespace":` + id(from.ID) + `}`: failed("Project with same name or path in target namespace already exists"),
		`{"namespace":"closed"}`:            failed("You don't have permission to transfer projects into that namespace."),
		`{"namespace":"bob"}`:               failed("You don't have permission to transfer projects into that namespace."),
		`{"namespace":"nowhere"}`:           `404 {"message":"404 Namespace Not Found"}`,
		`{}`:                                `400 {"error":"namespace is missing"}`,
	} {
		r := w.as(w.ada).Do(t, "PUT", at(p)+"/transfer", body)
		if got := fmt.Sprintf("%d %s", r.Status, r.Body); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	maintainer := w.member(t, p, access.Maintainer)
	w.as(maintainer).Do(t, "PUT", at(p)+"/transfer", map[string]any{"namespace": "from"}).Want(t, http.StatusForbidden, forbidden)
	w.as(maintainer).Do(t, "GET", at(p)+"/transfer_locations", nil).Want(t, http.StatusForbidden, forbidden)

	locations := func(c *httpapitest.Client, query string) (names []string) {
		for _, g := range httpapitest.JSON[[]struct{ Name string }](t, c.Do(t, "GET", at(p)+"/transfer_locations"+query, nil).WantStatus(t, http.StatusOK)) {
			names = append(names, g.Name)
		}
		return names
	}
	picky := grouptest.New(t, w.db, grouptest.Named("picky"), grouptest.With(`{"project_creation_level":"maintainer"}`))
	grouptest.Join(t, w.db, picky, w.ada, access.Developer)
	grouptest.New(t, w.db, grouptest.Named("below"), grouptest.Under(from))
	if got := locations(w.as(w.ada), ""); !slices.Equal(got, []string{"below", "from"}) {
		t.Errorf("may go to %v", got)
	}
	if got := locations(w.as(w.ada), "?search=fro&per_page=1"); !slices.Equal(got, []string{"from"}) {
		t.Errorf("may go to %v", got)
	}
	if got := locations(w.as(w.root), ""); len(got) != 4 {
		t.Errorf("an administrator may move it to %v", got)
	}

	r := w.as(w.root).Do(t, "POST", "/groups/"+id(closed.ID)+"/projects/"+id(p.ID), nil).WantStatus(t, http.StatusCreated)
	if got := httpapitest.JSON[struct{ ID int64 }](t, r); got.ID != closed.ID {
		t.Errorf("got %s", r.Body)
	}
	if got := projecttest.Read(t, w.db, p.ID).FullPath(); got != "closed/p" {
		t.Errorf("stands at %s", got)
	}
	w.as(w.ada).Do(t, "POST", "/groups/"+id(from.ID)+"/projects/"+id(p.ID), nil).Want(t, http.StatusForbidden, forbidden)
	w.as(w.root).Do(t, "POST", "/groups/"+id(from.ID)+"/projects/99999999", nil).Want(t, http.StatusNotFound, noProject)
}

func TestADeletedProjectIsNotFoundAtOnceAndGoesLater(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("acme"))
	source := projecttest.New(t, w.db, g.ID, projecttest.With("forks_count", 1))
	p := projecttest.New(t, w.db, g.ID, projecttest.Named("p"), projecttest.With("forked_from_id", source.ID))
	projecttest.Join(t, w.db, p, w.ada, access.Owner)
	maintainer := w.member(t, p, access.Maintainer)
	w.as(maintainer).Do(t, "DELETE", at(p), nil).Want(t, http.StatusForbidden, forbidden)
	w.as(w.bob).Do(t, "DELETE", at(p), nil).Want(t, http.StatusNotFound, noProject)
	w.as(w.ada).With("If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT").Do(t, "DELETE", at(p), nil).
		Want(t, http.StatusPreconditionFailed, `{"message":"412 Precondition Failed"}`)
	w.as(w.ada).Do(t, "DELETE", at(p), nil).Want(t, http.StatusAccepted, `{"message":"202 Accepted"}`)
	for _, c := range []*httpapitest.Client{w.as(w.ada), w.as(w.root)} {
		for _, path := range []string{at(p), "/projects/acme%2Fp"} {
			c.Do(t, "GET", path, nil).Want(t, http.StatusNotFound, noProject)
		}
		c.Do(t, "DELETE", at(p), nil).Want(t, http.StatusNotFound, noProject)
	}
	records := w.records
	if len(records) != 1 || records[0].Type != "project_destroyed" || records[0].Entity.Kind != "Group" || records[0].Entity.ID != g.ID || records[0].Target.ID != p.ID {
		t.Errorf("audited %+v", records)
	}
	if n := projecttest.Read(t, w.db, source.ID).ForksCount; n != 0 {
		t.Errorf("counts %d forks", n)
	}
	again := map[string]any{"name": "p", "namespace_id": g.ID}
	w.as(w.root).Do(t, "POST", "/projects", again).
		Want(t, http.StatusBadRequest, `{"message":{"name":["has already been taken"],"path":["has already been taken"]}}`)
	for range 2 {
		if err := project.RemoveMarked(t.Context(), w.projects, p.ID); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(w.gone, []int64{p.ID}) {
		t.Errorf("told of %v", w.gone)
	}
	if err := project.RemoveMarked(t.Context(), w.projects, source.ID); err != nil {
		t.Fatal(err)
	}
	projecttest.Read(t, w.db, source.ID)
	read(t, w.as(w.root).Do(t, "POST", "/projects", again), http.StatusCreated)
	jobs, err := postgres.Value[int](t.Context(), w.db, `select count(*) from river_job where kind = 'project_remove'`)
	if err != nil || jobs != 1 {
		t.Errorf("queued %d jobs, %v", jobs, err)
	}
}

func TestProjectsGoWithTheirGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db)
	sub := grouptest.New(t, w.db, grouptest.Under(g))
	outside := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.With("forks_count", 1))
	p := projecttest.New(t, w.db, g.ID)
	q := projecttest.New(t, w.db, sub.ID, projecttest.With("forked_from_id", outside.ID))
	if err := w.groups.Remove(t.Context(), actor(w.root), g.ID); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []*project.Project{p, q} {
		w.as(w.root).Do(t, "GET", at(gone), nil).Want(t, http.StatusNotFound, noProject)
	}
	if n := projecttest.Read(t, w.db, outside.ID).ForksCount; n != 0 {
		t.Errorf("counts %d forks", n)
	}
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.projects.OnNamespaceRemoving(t.Context(), tx, group.Removing{NamespaceID: sub.ID})
	})
	left, _ := postgres.Values[int64](t.Context(), w.db, `select id from projects order by id`)
	if err != nil || !slices.Equal(left, []int64{outside.ID, p.ID}) || !slices.Equal(w.gone, []int64{q.ID}) {
		t.Errorf("left %v, told of %v, %v", left, w.gone, err)
	}
}

func TestProjectsCloseWithTheirGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	sub := grouptest.New(t, w.db, grouptest.Under(g))
	p := projecttest.New(t, w.db, sub.ID, projecttest.Visible(access.Public), projecttest.With("forks_count", 2))
	q := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Private))
	open := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public), projecttest.With("forked_from_id", p.ID))
	kept := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.With("forked_from_id", p.ID))
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.projects.OnGroupLowering(t.Context(), tx, group.Lowering{GroupID: g.ID, To: access.Internal})
	})
	if err != nil {
		t.Fatal(err)
	}
	if p = projecttest.Read(t, w.db, p.ID); p.Visibility != access.Internal || p.ForksCount != 1 {
		t.Errorf("got %s with %d forks", p.Visibility, p.ForksCount)
	}
	if projecttest.Read(t, w.db, q.ID).Visibility != access.Private || projecttest.Read(t, w.db, open.ID).ForkedFromID != nil ||
		projecttest.Read(t, w.db, kept.ID).ForkedFromID == nil {
		t.Error("too much or too little was closed")
	}
}

// Changes that meet are all made, one after the other.
func TestChangesThatMeetDoNotHinderEachOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	source := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public), projecttest.With("forks_count", 1))
	fork := projecttest.New(t, w.db, g.ID, projecttest.With("forked_from_id", source.ID))
	var wait sync.WaitGroup
	for i := range 4 {
		for _, call := range []struct {
			method, path string
			body         map[string]any
		}{
			{"PUT", at(source), map[string]any{"visibility": []string{"private", "public"}[i%2]}},
			{"PUT", at(fork), map[string]any{"visibility": []string{"private", "internal"}[i%2], "path": fmt.Sprintf("fork%d", i)}},
			{"POST", at(source) + "/fork", map[string]any{"namespace_id": g.ID, "name": fmt.Sprintf("f%d", i), "path": fmt.Sprintf("f%d", i)}},
			{"POST", at(fork) + "/archive", nil},
		} {
			wait.Go(func() {
				if r := w.as(w.root).Do(t, call.method, call.path, call.body); r.Status >= 500 || r.Status == http.StatusConflict {
					t.Errorf("%s %s: got %d %s", call.method, call.path, r.Status, r.Body)
				}
			})
		}
	}
	wait.Wait()
	wrong, err := postgres.Value[int](t.Context(), w.db, `
		select count(*) from projects s where forks_count <> (select count(*) from projects f where f.forked_from_id = s.id)
		or exists (select 1 from projects f where f.forked_from_id = s.id and f.visibility > s.visibility)`)
	if err != nil || wrong != 0 {
		t.Errorf("%d projects count wrongly or are less open than a fork, %v", wrong, err)
	}
}

// Rows of projects are locked in one order, whatever ties them.
func TestProjectsThatWereForkedFromEachOtherChangeAtTheSameMoment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for round := range 6 {
		const each = 12
		var groups [2]*group.Group
		var projects [2][]*project.Project
		for i := range groups {
			groups[i] = grouptest.New(t, w.db, grouptest.Named(fmt.Sprintf("g%d-%d", round, i)), grouptest.Visible(access.Public))
		}
		for range each {
			for i := range groups {
				projects[i] = append(projects[i], projecttest.New(t, w.db, groups[i].ID, projecttest.Visible(access.Public)))
			}
		}
		// Half of either group was forked from the other half of the other one, some from a project that is younger.
		for n := range each / 2 {
			for i := range groups {
				source, fork := projects[1-i][each-1-n], projects[i][n]
				w.exec(t, `update projects set forked_from_id = $2 where id = $1`, fork.ID, source.ID)
				w.exec(t, `update projects set forks_count = 1 where id = $1`, source.ID)
			}
		}
		var acts sync.WaitGroup
		act := func(do func() error) {
			acts.Go(func() {
				if err := do(); err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.NotModified) && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Rejected) {
					t.Error(err)
				}
			})
		}
		by := actor(w.root)
		for i, g := range groups {
			act(func() error {
				if round%2 == 0 {
					return w.groups.Remove(t.Context(), by, g.ID)
				}
				_, err := w.groups.Update(t.Context(), by, g.ID, group.Attributes{Visibility: new(access.Private)})
				return err
			})
			for n, p := range projects[i] {
				switch n % 4 {
				case 0:
					act(func() error { return w.projects.CutFork(t.Context(), by, p.ID) })
				case 1:
					act(func() error { return w.projects.Remove(t.Context(), by, p.ID) })
				case 2:
					act(func() error {
						_, err := w.projects.Update(t.Context(), by, p.ID, project.Attributes{Visibility: new(access.Private)})
						return err
					})
				case 3:
					act(func() error {
						_, err := w.projects.Adopt(t.Context(), by, p.ID, projects[1-i][(n+1)%each])
						return err
					})
				}
			}
		}
		acts.Wait()
		wrong, err := postgres.Values[int64](t.Context(), w.db, `select s.id from projects s
			where not s.removal and s.forks_count <> (select count(*) from projects f where f.forked_from_id = s.id and not f.removal)`)
		if err != nil || len(wrong) > 0 {
			t.Errorf("round %d: %v miscount their forks, %v", round, wrong, err)
		}
	}
}

// Stars lock the row of the project before they refer to it: whoever changes its name or namespace holds the row, too.
func TestAStarWaitsForAProjectThatIsMoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public))
	starred := make(chan int)
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `select 1 from projects where id = $1 for no key update`, p.ID); err != nil {
			return err
		}
		go func() { starred <- w.as(w.bob).Do(t, "POST", at(p)+"/star", nil).Status }()
		postgrestest.WaitForLock(t, w.db)
		_, err := tx.Exec(t.Context(), `update projects set name = 'elsewhere' where id = $1`, p.ID)
		return err
	})
	if status := <-starred; err != nil || status != http.StatusCreated {
		t.Errorf("moving: %v, starring: %d", err, status)
	}
}
