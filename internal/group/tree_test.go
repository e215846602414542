package group_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/user/usertest"
)

func TestARenameReachesAllThatIsBelow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	top := w.group(t, "Ünter", ann)
	mid := grouptest.New(t, w.db, grouptest.Named("mid"), grouptest.Under(top))
	low := grouptest.New(t, w.db, grouptest.Named("low"), grouptest.Under(mid))
	w.as(ann).Do(t, "PUT", at(top, ""), map[string]any{"path": "over", "name": "Über"}).WantStatus(t, 200)
	w.as(ann).Do(t, "PUT", at(mid, ""), map[string]any{"path": "MID"}).WantStatus(t, 200)
	if g := grouptest.Read(t, w.db, low.ID); g.FullPath != "over/MID/low" || g.FullName != "Über / mid / low" {
		t.Errorf("got %s, %s", g.FullPath, g.FullName)
	}
	w.tree(t)
	if got := w.audited(t, top.ID); got != "group_name_updated group_path_updated" {
		t.Errorf("audited %s", got)
	}
}

func TestATransferTakesAllThatIsBelowAlong(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	one, two := w.group(t, "one", ann), w.group(t, "two", ann)
	mid := grouptest.New(t, w.db, grouptest.Named("mid"), grouptest.Under(one))
	low := grouptest.New(t, w.db, grouptest.Named("low"), grouptest.Under(mid))
	where := func() string { return grouptest.Read(t, w.db, low.ID).FullPath }

	w.as(ann).Do(t, "POST", at(mid, "/transfer"), map[string]any{"group_id": two.ID}).WantStatus(t, 201)
	if where() != "two/mid/low" {
		t.Error(where())
	}
	w.as(ann).Do(t, "POST", at(two, "/transfer"), map[string]any{"group_id": one.ID}).WantStatus(t, 201)
	if where() != "one/two/mid/low" {
		t.Error(where())
	}
	w.as(ann).Do(t, "POST", at(mid, "/transfer"), nil).WantStatus(t, 201)
	if where() != "mid/low" {
		t.Error(where())
	}
	w.tree(t)
	if got := w.audited(t, mid.ID); got != "group_namespace_updated group_namespace_updated" {
		t.Errorf("audited %s", got)
	}
	// Whoever took it out of the groups they own owns it still.
	w.as(ann).Do(t, "PUT", at(mid, ""), map[string]any{"description": "mine"}).WantStatus(t, 200)
}

func TestATransferIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob", usertest.With("can_create_group", false))
	home := w.group(t, "home", ann)
	child := w.group(t, "child", bob, grouptest.Under(home))
	w.group(t, "child", ann)
	other := w.group(t, "other", bob, grouptest.Visible(access.Public))
	grouptest.New(t, w.db, grouptest.Named("Child"), grouptest.Under(other))
	strict := grouptest.New(t, w.db, grouptest.With(`{"subgroup_creation_level":"owner"}`))
	grouptest.Join(t, w.db, strict, bob, access.Maintainer)
	hidden := grouptest.New(t, w.db)
	short := w.group(t, "x", ann, grouptest.Under(home))
	for _, tc := range []struct {
		who   string
		group *group.Group
		to    any
		want  string
	}{
		{"ann", home, nil, "400 Transfer failed: Group is already a root group."},
		{"ann", child, home.ID, "400 Transfer failed: Group is already associated to the parent group."},
		{"ann", home, child.ID, "400 Transfer failed: Cannot transfer group to one of its subgroup."},
		{"ann", home, home.ID, "400 Transfer failed: Cannot transfer group to one of its subgroup."},
		{"ann", child, nil, "400 Transfer failed: The parent group already has a subgroup or a project with the same path."},
		{"bob", child, other.ID, "400 Transfer failed: The parent group already has a subgroup or a project with the same path."},
		{"ann", child, other.ID, "400 Transfer failed: You don't have enough permissions."},
		{"bob", child, strict.ID, "400 Transfer failed: You don't have enough permissions."},
		{"bob", child, nil, "400 Transfer failed: You don't have enough permissions."},
		{"ann", child, hidden.ID, "404 404 Group Not Found"},
		{"ann", child, 999999, "404 404 Group Not Found"},
		{"ann", child, w.root.NamespaceID, "404 404 Group Not Found"},
		{"ann", short, nil, "400 Transfer failed: path is too short (minimum is 2 characters)"},
		{"bob", home, nil, "403 403 Forbidden"},
		{"bob", hidden, nil, "404 404 Group Not Found"},
	} {
		client := w.as(ann)
		if tc.who == "bob" {
			client = w.as(bob)
		}
		reply := client.Do(t, "POST", at(tc.group, "/transfer"), map[string]any{"group_id": tc.to})
		var said struct{ Message string }
		reply.Decode(t, &said)
		if got := fmt.Sprint(reply.Status, " ", said.Message); got != tc.want {
			t.Errorf("%s moves %s to %v: %s, want %s", tc.who, tc.group.FullPath, tc.to, got, tc.want)
		}
	}
	w.client.Do(t, "POST", at(home, "/transfer"), nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	w.tree(t)
}

func TestTransferLocationsAreWhereOneMayCreateSubgroups(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	home := w.group(t, "home", ann)
	child := grouptest.New(t, w.db, grouptest.Named("child"), grouptest.Under(home))
	grouptest.New(t, w.db, grouptest.Named("grandchild"), grouptest.Under(child))
	sister := grouptest.New(t, w.db, grouptest.Named("sister"), grouptest.Under(home))
	for role, settings := range map[access.Role]string{access.Maintainer: "{}", access.Developer: "{}"} {
		grouptest.Join(t, w.db, grouptest.New(t, w.db, grouptest.Named(strings.ToLower(role.String())), grouptest.With(settings)), ann, role)
	}
	strict := grouptest.New(t, w.db, grouptest.Named("strict"), grouptest.With(`{"subgroup_creation_level":"owner"}`))
	grouptest.Join(t, w.db, strict, ann, access.Maintainer)
	team := w.group(t, "team", ann)
	grouptest.Share(t, w.db, grouptest.New(t, w.db, grouptest.Named("shared")), team, access.Owner)
	grouptest.New(t, w.db, grouptest.Named("open"), grouptest.Visible(access.Public))

	reply := w.as(ann).Do(t, "GET", at(child, "/transfer_locations"), nil)
	if got := paths(t, reply); got != "maintainer shared home/sister team" {
		t.Errorf("got %s", got)
	}
	if got := paths(t, w.as(ann).Do(t, "GET", at(child, "/transfer_locations?search=sis"), nil)); got != sister.FullPath {
		t.Errorf("got %s", got)
	}
	if got := paths(t, w.as(w.root).Do(t, "GET", at(child, "/transfer_locations?search=open"), nil)); got != "open" {
		t.Errorf("got %s", got)
	}
	w.as(ann).Do(t, "GET", at(child, "/transfer_locations?per_page=1"), nil).Want(t, 200, fmt.Sprintf(
		`[{"id":%d,"web_url":"https://forge.example/groups/maintainer","name":"maintainer","avatar_url":null,"full_name":"maintainer","full_path":"maintainer"}]`,
		value[int64](t, w, `select id from namespaces where full_path = 'maintainer'`)))
}

func TestPE06_ATransferClosesWhatIsMoreOpenThanItsNewParent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	closed, open := w.group(t, "closed", ann), w.group(t, "open", ann, grouptest.Visible(access.Public))
	low := grouptest.New(t, w.db, grouptest.Named("low"), grouptest.Under(open))
	w.exec(t, `insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
		values ($1, 'p', 'p', 20, now(), now(), now())`, low.ID)

	// A room that keeps its things open holds the move up.
	w.as(ann).Do(t, "POST", at(open, "/transfer"), map[string]any{"group_id": closed.ID}).Want(t, 400,
		`{"message":"Transfer failed: visibility_level private is not allowed since this group contains projects with higher visibility."}`)
	bus.On(w.bus, func(ctx context.Context, tx pgx.Tx, e group.Lowering) error {
		_, err := tx.Exec(ctx, `update projects p set visibility = $2 from namespaces n
			where n.id = p.namespace_id and n.lineage @> array[$1::bigint] and p.visibility > $2`, e.GroupID, e.To)
		return err
	})
	w.as(ann).Do(t, "POST", at(open, "/transfer"), map[string]any{"group_id": closed.ID}).WantStatus(t, 201)
	w.tree(t)
	if v := grouptest.Read(t, w.db, low.ID).Visibility; v != access.Private {
		t.Errorf("what is below is %s", v)
	}
}

// Whichever of the two comes first, the other one sees it.
func TestPE06_AParentCannotCloseWhileAChildOpens(t *testing.T) {
	t.Parallel()
	for _, child := range []string{"projects", "namespaces"} {
		for _, first := range []string{"parent", "child"} {
			t.Run(child+", "+first+" first", func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				parent := grouptest.New(t, w.db, grouptest.Visible(access.Public))
				id := value[int64](t, w, `insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
					values ($1, 'p', 'p', 0, now(), now(), now()) returning id`, parent.ID)
				if child == "namespaces" {
					id = grouptest.New(t, w.db, grouptest.Under(parent), grouptest.Visible(access.Private)).ID
				}
				statements := map[string]string{
					"parent": fmt.Sprintf(`update namespaces set visibility = 0 where id = %d`, parent.ID),
					"child":  fmt.Sprintf(`update %s set visibility = 20 where id = %d`, child, id),
				}
				second := map[string]string{"parent": "child", "child": "parent"}[first]
				done := make(chan error, 1)
				err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
					if _, err := tx.Exec(t.Context(), statements[first]); err != nil {
						return err
					}
					go func() {
						_, err := w.db.Exec(context.WithoutCancel(t.Context()), statements[second])
						done <- err
					}()
					postgrestest.WaitForLock(t, w.db)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]string{"parent": "visibility_of_parent", "child": "visibility_of_" + strings.Replace(child, "namespaces", "subgroups", 1)}[first]
				if name, _ := postgres.Constraint(<-done); name != want {
					t.Errorf("the second was held up by %q, want %q", name, want)
				}
				w.tree(t)
			})
		}
	}
}

// beside does something while a transaction is open, as somebody else.
func beside(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

func TestVisibilityIsHeldAgainstWhatIsAboveAndBelow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	top := w.group(t, "top", ann, grouptest.Visible(access.Internal))
	mid := grouptest.New(t, w.db, grouptest.Named("mid"), grouptest.Under(top))
	low := grouptest.New(t, w.db, grouptest.Named("low"), grouptest.Under(mid), grouptest.Visible(access.Private))
	w.exec(t, `insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
		values ($1, 'p', 'p', 10, now(), now(), now())`, mid.ID)
	put := func(g *group.Group, v, want string) {
		t.Helper()
		reply := w.as(ann).Do(t, "PUT", at(g, ""), map[string]any{"visibility": v})
		if want == "" {
			reply.WantStatus(t, 200)
			return
		}
		reply.Want(t, 400, `{"message":{"visibility_level":["`+want+`"]}}`)
	}
	put(mid, "public", "public is not allowed since the parent group has a internal visibility.")
	put(top, "private", "private is not allowed since there are sub-groups with higher visibility.")
	put(mid, "private", "private is not allowed since this group contains projects with higher visibility.")
	put(low, "internal", "")
	put(top, "public", "")
	put(mid, "public", "")
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "n", "parent_id": low.ID, "visibility": "public"}).Want(t, 400,
		`{"message":"Failed to save group {:visibility_level=\u003e[\"public is not allowed since the parent group has a internal visibility.\"]}"}`)
	if got := w.audited(t, mid.ID); got != "group_visibility_level_updated" {
		t.Errorf("audited %s", got)
	}
	w.tree(t)
}

func TestGroupsStandAtMostTwentyDeep(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	top := w.group(t, "g0", ann)
	deepest := top
	for i := range group.MaxDepth {
		deepest = grouptest.New(t, w.db, grouptest.Named(fmt.Sprintf("g%d", i+1)), grouptest.Under(deepest))
	}
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "n", "parent_id": deepest.ID}).Want(t, 400,
		`{"message":"Failed to save group {:parent_id=\u003e[\"has too deep level of nesting\"]}"}`)
	other := w.group(t, "other", ann)
	w.as(ann).Do(t, "POST", at(top, "/transfer"), map[string]any{"group_id": other.ID}).Want(t, 400,
		`{"message":"Transfer failed: parent_id has too deep level of nesting"}`)
	w.as(ann).Do(t, "POST", at(other, "/transfer"), map[string]any{"group_id": deepest.ID}).Want(t, 400,
		`{"message":"Transfer failed: parent_id has too deep level of nesting"}`)
	w.as(ann).Do(t, "PUT", at(top, ""), map[string]any{"path": "renamed"}).WantStatus(t, 200)
	w.as(ann).Do(t, "GET", "/groups/"+strings.ReplaceAll(grouptest.Read(t, w.db, deepest.ID).FullPath, "/", "%2F"), nil).WantStatus(t, 200)
	w.tree(t)
}

func TestAFormerPathLeadsOnUntilSomethingNewTakesIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	top := w.group(t, "Old", ann)
	child := grouptest.New(t, w.db, grouptest.Named("child"), grouptest.Under(top))
	walk := func(path string) group.Route {
		t.Helper()
		r, err := group.Walk(t.Context(), w.db, path)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.as(ann).Do(t, "PUT", at(top, ""), map[string]any{"path": "new"}).WantStatus(t, 200)
	w.as(ann).Do(t, "PUT", at(child, ""), map[string]any{"path": "kid"}).WantStatus(t, 200)
	for path, want := range map[string]group.Route{
		"old":           {NamespaceID: top.ID, Former: true},
		"OLD/kid":       {NamespaceID: child.ID, Former: true},
		"old/child":     {NamespaceID: child.ID, Former: true},
		"new/child":     {NamespaceID: child.ID, Former: true},
		"NEW/Kid":       {NamespaceID: child.ID},
		"new":           {NamespaceID: top.ID},
		"new/kid/child": {}, "child": {}, "": {}, "/": {}, "new/": {},
		strings.Repeat("new/", 30): {},
	} {
		if got := walk(path); got != want {
			t.Errorf("%q leads to %+v, want %+v", path, got, want)
		}
	}
	// The API of groups follows present paths alone, in any case.
	w.as(ann).Do(t, "GET", "/groups/old", nil).Want(t, 404, `{"message":"404 Group Not Found"}`)
	w.as(ann).Do(t, "GET", "/groups/NEW%2Fkid", nil).WantStatus(t, 200)

	// Back again, and a subgroup in the place that the child left.
	w.as(ann).Do(t, "PUT", at(top, ""), map[string]any{"path": "old"}).WantStatus(t, 200)
	var fresh struct{ ID int64 }
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "c", "path": "child", "parent_id": top.ID}).WantStatus(t, 201).Decode(t, &fresh)
	if got := walk("old/child"); got != (group.Route{NamespaceID: fresh.ID}) {
		t.Errorf("got %+v", got)
	}
	w.tree(t)
}

func TestPE14_AFreedPathRestsBeforeAStrangerTakesIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	const taken = `{"message":"Failed to save group {:path=\u003e[\"has already been taken\"]}"}`
	body := map[string]any{"name": "n", "path": "Famous"}

	renamed := w.group(t, "famous", ann)
	w.as(ann).Do(t, "PUT", at(renamed, ""), map[string]any{"path": "unknown"}).WantStatus(t, 200)
	w.as(bob).Do(t, "POST", "/groups", body).Want(t, 400, taken)
	mine := w.group(t, "mine", bob)
	w.as(bob).Do(t, "PUT", at(mine, ""), map[string]any{"path": "famous"}).Want(t, 400, `{"message":{"path":["has already been taken"]}}`)

	// Its owner may have it back, and give it up again, now for good.
	var again struct{ ID int64 }
	w.as(ann).Do(t, "POST", "/groups", body).WantStatus(t, 201).Decode(t, &again)
	w.as(ann).Do(t, "DELETE", fmt.Sprintf("/groups/%d", again.ID), nil).Want(t, 202, `{"message":"202 Accepted"}`)
	if err := group.RemoveMarked(t.Context(), w.groups, again.ID, ann.ID); err != nil {
		t.Fatal(err)
	}
	w.as(bob).Do(t, "POST", "/groups", body).Want(t, 400, taken)
	w.wait(29 * 24 * time.Hour)
	w.as(bob).Do(t, "POST", "/groups", body).Want(t, 400, taken)
	w.wait(24 * time.Hour)
	w.as(bob).Do(t, "POST", "/groups", body).WantStatus(t, 201)

	// Below a group, whoever may create things there decides.
	child := grouptest.New(t, w.db, grouptest.Named("child"), grouptest.Under(mine))
	w.as(bob).Do(t, "PUT", at(child, ""), map[string]any{"path": "kid"}).WantStatus(t, 200)
	carl := w.person(t, "carl")
	grouptest.Join(t, w.db, mine, carl, access.Maintainer)
	w.as(carl).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "child", "parent_id": mine.ID}).WantStatus(t, 201)
	w.tree(t)
}

func TestWhoDeletedAGroupMayUseItsPathAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	g := w.group(t, "short-lived", ann)
	w.as(ann).Do(t, "DELETE", at(g, ""), nil).WantStatus(t, 202)
	if err := group.RemoveMarked(t.Context(), w.groups, g.ID, ann.ID); err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"name": "n", "path": "short-lived"}
	w.as(bob).Do(t, "POST", "/groups", body).WantStatus(t, 400)
	w.as(ann).Do(t, "POST", "/groups", body).WantStatus(t, 201)

	// What nobody took is forgotten in the end.
	other := w.group(t, "forgotten", ann)
	if err := w.groups.Remove(t.Context(), actor(w.root), other.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := group.RemoveMarked(t.Context(), w.groups, other.ID, w.root.ID); err != nil {
			t.Fatal(err)
		}
		w.wait(31 * 24 * time.Hour)
	}
	if n := value[int](t, w, `select count(*) from routes where path = 'forgotten'`); n != 0 {
		t.Error("a path rests for ever")
	}
}

func TestARemovedGroupIsGoneAtOnceAndItsPartsSoon(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	top := w.group(t, "top", ann)
	mid := grouptest.New(t, w.db, grouptest.Named("mid"), grouptest.Under(top))
	low := grouptest.New(t, w.db, grouptest.Named("low"), grouptest.Under(mid))
	stays := w.group(t, "stays", ann)
	w.as(ann).Do(t, "PUT", at(low, ""), map[string]any{"path": "lower"}).WantStatus(t, 200)
	w.as(ann).Do(t, "POST", at(low, "/transfer"), map[string]any{"group_id": stays.ID}).WantStatus(t, 201)
	var removed []int64
	bus.On(w.bus, func(_ context.Context, _ pgx.Tx, e group.Removing) error {
		removed = append(removed, e.NamespaceID)
		return nil
	})
	w.as(ann).Do(t, "DELETE", at(top, ""), nil).Want(t, 202, `{"message":"202 Accepted"}`)
	for _, path := range []string{at(top, ""), at(mid, ""), "/groups/top%2Fmid", at(top, "/subgroups")} {
		w.as(ann).Do(t, "GET", path, nil).Want(t, 404, `{"message":"404 Group Not Found"}`)
	}
	w.as(ann).Do(t, "DELETE", at(top, ""), nil).Want(t, 404, `{"message":"404 Group Not Found"}`)
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "n", "parent_id": mid.ID}).Want(t, 404, `{"message":"404 Group Not Found"}`)
	w.as(ann).Do(t, "POST", at(stays, "/transfer"), map[string]any{"group_id": mid.ID}).Want(t, 404, `{"message":"404 Group Not Found"}`)
	if got := paths(t, w.as(ann).Do(t, "GET", "/groups", nil)); got != "stays/lower stays" {
		t.Errorf("got %s", got)
	}
	if n := value[int](t, w, `select count(*) from river_job where kind = 'group_remove' and (args->>'group_id')::bigint = $1`, top.ID); n != 1 {
		t.Errorf("%d jobs", n)
	}
	for range 2 {
		if err := group.RemoveMarked(t.Context(), w.groups, top.ID, ann.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(removed) != 2 || removed[0] != mid.ID || removed[1] != top.ID {
		t.Errorf("removed %v", removed)
	}
	if got := w.audited(t, top.ID); got != "group_destroyed" {
		t.Errorf("audited %s", got)
	}
	w.tree(t)
}

func TestOfManyWhoTakeAPathAtOnceOneGetsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := actor(w.person(t, "ann"))
	former := w.group(t, "former", w.root)
	path := "elsewhere"
	if _, err := w.groups.Update(t.Context(), actor(w.root), former.ID, group.Attributes{Path: &path}); err != nil {
		t.Fatal(err)
	}
	w.wait(31 * 24 * time.Hour)
	for _, path := range []string{"new", "former"} {
		var crowd sync.WaitGroup
		errs := make(chan error, 6)
		for range cap(errs) {
			crowd.Go(func() {
				_, err := w.groups.Create(t.Context(), by, group.Draft{Name: "n", Path: path})
				errs <- err
			})
		}
		crowd.Wait()
		close(errs)
		got := 0
		for err := range errs {
			if err == nil {
				got++
			} else if refused, ok := fault.Of(err); !ok || refused.Fields["path"] == nil {
				t.Error(err)
			}
		}
		if got != 1 {
			t.Errorf("%d got %s", got, path)
		}
	}
	w.tree(t)
}

// Neither waits for what the other holds.
func TestTwoWhoSwapTheirPathsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, two := w.group(t, "one", w.root), w.group(t, "two", w.root)
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.groups.Retire(t.Context(), tx, &one.ID, nil); err != nil {
			return err
		}
		path := "one"
		var err error
		beside(func() { _, err = w.groups.Update(t.Context(), actor(w.root), two.ID, group.Attributes{Path: &path}) })
		return err
	})
	if refused, ok := fault.Of(err); !ok || refused.Fields["path"] == nil {
		t.Errorf("got %v", err)
	}
	w.tree(t)
}

// Hundreds of changes at once, each to whatever it meets.
func TestConcurrentChangesOfATreeLeaveItWhole(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgrestest.URL(t), 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := newFixture(t, coretest.On(db))
	for i := range 3 {
		top := grouptest.New(t, db, grouptest.Named(fmt.Sprintf("top%d", i)), grouptest.Visible(access.Public))
		for j := range 3 {
			mid := grouptest.New(t, db, grouptest.Named(fmt.Sprintf("m%d", j)), grouptest.Under(top))
			grouptest.New(t, db, grouptest.Named("low"), grouptest.Under(mid))
		}
	}
	by := actor(w.root)
	pick := func(ctx context.Context) (int64, error) {
		return postgres.Value[int64](ctx, db, `select id from namespaces where kind = 'group' and not removal order by random() limit 1`)
	}
	step := func(ctx context.Context, random *rand.Rand) error {
		id, err := pick(ctx)
		if err != nil {
			return err
		}
		path := fmt.Sprintf("p%d", random.IntN(5))
		switch random.IntN(12) {
		case 0:
			_, err = w.groups.Create(ctx, by, group.Draft{Name: path, Path: path})
		case 1, 2:
			_, err = w.groups.Create(ctx, by, group.Draft{Name: path, Path: path, ParentID: &id})
		case 3, 4, 5:
			_, err = w.groups.Update(ctx, by, id, group.Attributes{Path: &path, Name: &path})
		case 6, 7, 8:
			target, err := pick(ctx)
			if err != nil {
				return err
			}
			_, err = w.groups.Transfer(ctx, by, id, &group.Group{ID: target})
			return err
		case 9:
			_, err = w.groups.Transfer(ctx, by, id, nil)
		case 10:
			v := []access.Visibility{access.Private, access.Internal, access.Public}[random.IntN(3)]
			_, err = w.groups.Update(ctx, by, id, group.Attributes{Visibility: &v})
		case 11:
			if err = w.groups.Remove(ctx, by, id); err == nil {
				err = group.RemoveMarked(ctx, w.groups, id, by.ID())
			}
		}
		return err
	}
	var workers sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for n := range 8 {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			for range 60 {
				err := step(t.Context(), random)
				if errors.Is(err, postgres.ErrNoRows) { // nothing was left to change
					_, err = w.groups.Create(t.Context(), by, group.Draft{Name: "new", Path: fmt.Sprintf("new%d", random.IntN(1000))})
				}
				said := "done"
				if refused, ok := fault.Of(err); ok {
					said = refused.Error()
				} else if err != nil {
					t.Error(err)
				}
				mu.Lock()
				outcomes[said]++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	w.tree(t)
	if outcomes["done"] < 100 {
		t.Errorf("too little was done: %v", outcomes)
	}
}
