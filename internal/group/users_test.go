package group_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/user"
)

func account(username string) map[string]any {
	return map[string]any{
		"username": username, "name": strings.ToUpper(username), "email": username + "@example.com", "force_random_password": true, "skip_confirmation": true,
	}
}

func TestAnAccountComesWithItsNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.group(t, "Taken", w.root)
	var made struct {
		ID          int64
		NamespaceID int64 `json:"namespace_id"`
	}
	w.as(w.root).Do(t, "POST", "/users", account("neo")).WantStatus(t, 201).Decode(t, &made)
	w.as(w.root).Do(t, "GET", "/namespaces/neo", nil).Want(t, 200, fmt.Sprintf(
		`{"id":%d,"name":"NEO","path":"neo","kind":"user","full_path":"neo","parent_id":null,"avatar_url":null,"web_url":"https://forge.example/neo"}`, made.NamespaceID))
	w.as(w.root).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "Neo"}).WantStatus(t, 400)
	w.as(w.root).Do(t, "POST", "/users", account("taken")).Want(t, 400,
		`{"message":{"base":["A user, alias, or group already exists with that username."]}}`)
	if n := value[int](t, w, `select count(*) from users where username = 'taken'`); n != 0 {
		t.Error("an account without its namespace")
	}
	w.tree(t)
}

func TestANamespaceIsRenamedWithItsAccount(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	w.group(t, "taken", w.root)
	path := fmt.Sprintf("/users/%d", ann.ID)
	w.as(w.root).Do(t, "PUT", path, map[string]any{"username": "anna", "name": "Anna"}).WantStatus(t, 200)
	if g := grouptest.Read(t, w.db, ann.NamespaceID); g.FullPath != "anna" || g.FullName != "Anna" {
		t.Errorf("got %+v", g)
	}
	if r, err := group.Walk(t.Context(), w.db, "ann"); err != nil || r != (group.Route{NamespaceID: ann.NamespaceID, Former: true}) {
		t.Errorf("the former name leads to %+v, %v", r, err)
	}
	w.as(w.root).Do(t, "PUT", path, map[string]any{"username": "taken"}).Want(t, 400,
		`{"message":{"base":["A user, alias, or group already exists with that username."]}}`)
	w.as(w.root).Do(t, "PUT", path, map[string]any{"bio": "Smith"}).WantStatus(t, 200)

	// Nobody else gets the name they left before it has rested.
	bob := w.person(t, "bob")
	w.as(bob).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "ann"}).WantStatus(t, 400)
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": "ann"}).WantStatus(t, 201)
	w.tree(t)
}

func TestASoleOwnerIsNotRemovedSoftly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	top := w.group(t, "top", bob)
	inherited := w.group(t, "sub", ann, grouptest.Under(top)) // bob owns it from above
	both := w.group(t, "both", ann)
	grouptest.Join(t, w.db, both, bob, access.Owner)
	sole := w.group(t, "sole", ann)
	grouptest.Join(t, w.db, sole, bob, access.Maintainer)
	path := fmt.Sprintf("/users/%d", ann.ID)
	refused := `{"message":"User cannot be removed while is the sole-owner of a group"}`
	w.as(w.root).Do(t, "DELETE", path, nil).Want(t, 409, refused)

	// An owner whose membership is over is none.
	w.exec(t, `update members set access_level = 50, expires_at = $3 where namespace_id = $1 and user_id = $2`, sole.ID, bob.ID, w.clock())
	w.as(w.root).Do(t, "DELETE", path, nil).Want(t, 409, refused)
	w.exec(t, `update members set expires_at = null where user_id = $1`, bob.ID)
	w.as(w.root).Do(t, "DELETE", path, nil).Want(t, 204, "")
	remove(t, w, ann, false)
	for _, g := range []*group.Group{top, inherited, both, sole} {
		w.as(bob).Do(t, "GET", at(g, ""), nil).WantStatus(t, 200)
	}
	if n := value[int](t, w, `select count(*) from namespaces where id = $1`, ann.NamespaceID); n != 0 {
		t.Error("the personal namespace stayed")
	}
	w.tree(t)
}

// remove does what the job does that takes a marked account apart.
func remove(t *testing.T, w *fixture, u *user.User, hard bool) {
	t.Helper()
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.bus.Publish(t.Context(), tx, user.Removing{UserID: u.ID, GhostID: w.root.ID, Hard: hard}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from users where id = $1 and removal is not null`, u.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAHardRemovalTakesTheGroupsThatNobodyElseOwns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	sole := w.group(t, "sole", ann)
	w.group(t, "nested", ann, grouptest.Under(sole))
	both := w.group(t, "both", ann)
	grouptest.Join(t, w.db, both, bob, access.Owner)
	w.as(w.root).Do(t, "DELETE", fmt.Sprintf("/users/%d?hard_delete=true", ann.ID), nil).Want(t, 204, "")
	remove(t, w, ann, true)
	w.as(w.root).Do(t, "GET", at(sole, ""), nil).WantStatus(t, 404)
	w.as(bob).Do(t, "GET", at(both, ""), nil).WantStatus(t, 200)
	if err := group.RemoveMarked(t.Context(), w.groups, sole.ID, 0); err != nil {
		t.Fatal(err)
	}
	if n := value[int](t, w, `select count(*) from namespaces where kind = 'group'`); n != 1 {
		t.Errorf("%d groups are left", n)
	}
	w.tree(t)

	// The names of the dead rest, too.
	for _, path := range []string{"ann", "sole"} {
		w.as(bob).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": path}).WantStatus(t, 400)
	}
	w.wait(30 * 24 * time.Hour)
	for _, path := range []string{"ann", "sole"} {
		w.as(bob).Do(t, "POST", "/groups", map[string]any{"name": "n", "path": path}).WantStatus(t, 201)
	}
}
