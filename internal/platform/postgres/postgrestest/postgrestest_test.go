package postgrestest_test

import (
	"fmt"
	"testing"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/schema"
)

func TestEachDatabaseIsMigratedAndSeparate(t *testing.T) {
	t.Parallel()
	a, b := postgrestest.New(t), postgrestest.New(t)
	if _, err := a.Exec(t.Context(), "create table only_here (id int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(t.Context(), "create table only_here (id int)"); err != nil {
		t.Fatalf("the second database sees the table of the first: %v", err)
	}
	if n, err := schema.Pending(t.Context(), a); n != 0 || err != nil {
		t.Fatalf("pending migrations: %d, %v", n, err)
	}
}

func TestADatabaseIsDroppedWithItsTest(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("inner", func(t *testing.T) {
		url = postgrestest.URL(t)
	})
	db, err := postgres.Open(t.Context(), url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(t.Context()); err == nil {
		t.Fatal("the database is still there")
	}
}

func TestTransactionsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			tx := postgrestest.Tx(t)
			// A temporary name would not do: a table left by another transaction is what the test looks for.
			_, err := tx.Exec(t.Context(), fmt.Sprintf("create table left_over_%d (id int)", i))
			if err != nil {
				t.Fatal(err)
			}
			n, err := postgres.Value[int](t.Context(), tx, "select count(*) from pg_tables where tablename like 'left_over%'")
			if n != 1 || err != nil {
				t.Fatalf("tables: %d, %v", n, err)
			}
		})
	}
}

func TestATestTransactionRefusesToCommit(t *testing.T) {
	t.Parallel()
	if err := postgrestest.Tx(t).Commit(t.Context()); err == nil {
		t.Fatal("committed")
	}
}
