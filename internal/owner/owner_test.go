package owner_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
)

func TestARowNamesItsOwnerByOneOfTwoKeys(t *testing.T) {
	t.Parallel()
	for _, of := range []bus.Entity{{Kind: bus.OfGroup, ID: 7}, {Kind: bus.OfProject, ID: 8}, bus.Instance()} {
		namespaceID, projectID := owner.Keys(of)
		if namespaceID != nil && projectID != nil {
			t.Errorf("%v has both keys", of)
		}
		if got := owner.OfKeys(namespaceID, projectID); got != of {
			t.Errorf("the keys of %v name %v", of, got)
		}
	}
}

func TestAnOwnerKnowsWhereItStandsAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	needs := owner.Needs{Group: access.AdminGroupTokens, Project: access.AdminProjectTokens}
	g := owner.OfGroup(&group.Group{ID: 3, Role: access.Owner})
	p := owner.OfProject(&project.Project{ID: 4, NamespaceID: 5, Role: access.Developer})
	person := access.Actor{Person: &access.Person{ID: 1}}
	if g.NamespaceID() != 3 || p.NamespaceID() != 5 {
		t.Errorf("the group stands in %d, the project in %d", g.NamespaceID(), p.NamespaceID())
	}
	if owner.Noun(g.Entity) != "group" || owner.Noun(p.Entity) != "project" {
		t.Errorf("they are called %s and %s", owner.Noun(g.Entity), owner.Noun(p.Entity))
	}
	if needs.In(g) != access.AdminGroupTokens || needs.In(p) != access.AdminProjectTokens {
		t.Errorf("they need %v and %v", needs.In(g), needs.In(p))
	}
	if !needs.Held(person, g) || needs.Held(person, p) {
		t.Errorf("an owner of the group may %v, a developer of the project %v", needs.Held(person, g), needs.Held(person, p))
	}
}

func TestAListHoldsTheRowsOfItsOwnerAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	other, top := grouptest.New(t, db), grouptest.New(t, db)
	projecttest.New(t, db, other.ID)
	projecttest.New(t, db, other.ID)
	one, two := projecttest.New(t, db, top.ID), projecttest.New(t, db, top.ID)
	for _, c := range []struct {
		of   bus.Entity
		want []int64
	}{
		{bus.Entity{Kind: bus.OfGroup, ID: top.ID}, []int64{one.ID, two.ID}}, {bus.Entity{Kind: bus.OfProject, ID: one.ID}, []int64{one.ID}},
	} {
		l := postgres.From("projects p").Columns("p.id").Order(postgres.Key{Expr: "p.id"}).Limit(10)
		owner.Where(l.Where, c.of, "p.namespace_id = ?", "p.id = ?")
		sql, args := l.SQL()
		if got, err := postgres.Values[int64](t.Context(), db, sql, args...); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, %v", c.of, got, err)
		}
	}
}

func TestNothingComesToBeInAnOwnerThatIsAboutToGo(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	g := grouptest.New(t, tx)
	p := projecttest.New(t, tx, g.ID)
	owners := []bus.Entity{owner.OfGroup(g).Entity, owner.OfProject(p).Entity}
	for _, of := range owners {
		if err := owner.Hold(t.Context(), tx, of); err != nil {
			t.Errorf("%v: %v", of, err)
		}
	}
	if _, err := tx.Exec(t.Context(), "update namespaces set removal = true where id = $1", g.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "update projects set removal = true where id = $1", p.ID); err != nil {
		t.Fatal(err)
	}
	for _, of := range owners {
		if err := owner.Hold(t.Context(), tx, of); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v that is about to go: %v", of, err)
		}
	}
}

// asked is a value that somebody else reads, beside a transaction of the test.
func asked[T any](t *testing.T, db *postgres.DB, sql string, args ...any) (T, error) {
	t.Helper()
	var got T
	var err error
	var somebody sync.WaitGroup
	somebody.Go(func() { got, err = postgres.Value[T](t.Context(), db, sql, args...) })
	somebody.Wait()
	return got, err
}

func TestAnOwnerThatIsHeldStaysUntilTheTransactionEnds(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	g := grouptest.New(t, db)
	p := projecttest.New(t, db, g.ID)
	free := func(table string, id int64) bool {
		t.Helper()
		_, err := asked[int](t, db, "select 1 from "+table+" where id = $1 for update nowait", id)
		return err == nil
	}
	if err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		for _, of := range []bus.Entity{owner.OfGroup(g).Entity, owner.OfProject(p).Entity} {
			if err := owner.Hold(t.Context(), tx, of); err != nil {
				return err
			}
		}
		if free("namespaces", g.ID) || free("projects", p.ID) {
			t.Error("an owner that is held may be deleted")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !free("namespaces", g.ID) || !free("projects", p.ID) {
		t.Error("an owner is held for ever")
	}
}

func TestAnOwnerThatWentIsNamedByWhatItWas(t *testing.T) {
	t.Parallel()
	gone := owner.Gone("labels")
	for key, want := range map[string]string{"labels_namespace_id_fkey": "Group", "labels_project_id_fkey": "Project"} {
		if f, ok := fault.Of(gone[key]); !ok || f.Kind != fault.NotFound || f.Subject != want {
			t.Errorf("%s: %v", key, gone[key])
		}
	}
}

func TestNamesAreGivenByOneAtATimeInATree(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	top, elsewhere := grouptest.New(t, db), grouptest.New(t, db)
	sub := grouptest.New(t, db, grouptest.Under(top))
	projecttest.New(t, db, elsewhere.ID)
	p := projecttest.New(t, db, sub.ID)
	free := func(tree int64) bool {
		t.Helper()
		got, err := asked[bool](t, db, "select pg_try_advisory_xact_lock(7421, hashint8($1))", tree)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, of := range []bus.Entity{owner.OfGroup(top).Entity, owner.OfGroup(sub).Entity, owner.OfProject(p).Entity} {
		if err := db.InTx(t.Context(), func(tx pgx.Tx) error {
			lineage, err := owner.LockNames(t.Context(), tx, of)
			if want := []int64{top.ID, sub.ID}; err != nil || !slices.Equal(lineage, want[:len(lineage)]) {
				t.Errorf("%v inherits along %v, %v", of, lineage, err)
			}
			if free(top.ID) || !free(elsewhere.ID) {
				t.Errorf("%v: names of its tree are free: %t, those of another: %t", of, free(top.ID), free(elsewhere.ID))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoNameIsGivenInAnOwnerThatIsAboutToGo(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	g := grouptest.New(t, tx)
	if _, err := tx.Exec(t.Context(), "update namespaces set removal = true where id = $1", g.ID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{g.ID, g.ID + 1} {
		if _, err := owner.LockNames(t.Context(), tx, bus.Entity{Kind: bus.OfGroup, ID: id}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%d: %v", id, err)
		}
	}
}

// Whoever waited for the lock of a tree that the owner left has the wrong one.
func TestNoNameIsGivenInAnOwnerThatWentToAnotherTreeMeanwhile(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	from, to := grouptest.New(t, db), grouptest.New(t, db)
	p := projecttest.New(t, db, from.ID)
	waited := make(chan error, 1)
	if err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := owner.LockNames(t.Context(), tx, owner.OfGroup(from).Entity); err != nil {
			return err
		}
		go func() {
			waited <- db.InTx(t.Context(), func(tx pgx.Tx) error {
				_, err := owner.LockNames(t.Context(), tx, owner.OfProject(p).Entity)
				return err
			})
		}()
		postgrestest.WaitForLock(t, db)
		_, err := asked[int64](t, db, "update projects set namespace_id = $2 where id = $1 returning id", p.ID, to.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
}
