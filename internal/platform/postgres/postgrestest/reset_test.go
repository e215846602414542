package postgrestest

import (
	"slices"
	"testing"

	"stithy/internal/platform/postgres"
)

// sqlState is how many rows every table has, where every sequence stands, and what the one row of settings says.
const sqlState = `
select concat_ws(' ', relname, case
	when relkind = 'S' then pg_sequence_last_value(oid)::text
	else (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', oid::regclass), false, true, '')))[1]::text
end) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')
union all select concat_ws(' ', changed, version) from settings
order by 1`

// reused acquires a database, does something to it, and acquires it again.
func reused(t *testing.T, s *server, do string) *postgres.DB {
	t.Helper()
	first, db, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(t.Context(), do)
	db.Close()
	s.release(first)
	if err != nil {
		t.Fatal(err)
	}
	second, db, err := s.acquire()
	if err != nil || second != first {
		t.Fatalf("%s after %s, %v", second, first, err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestADatabaseThatIsWornAgainIsAsNew(t *testing.T) {
	t.Parallel()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := postgres.Open(t.Context(), URL(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fresh.Close)
	want, err := postgres.Values[string](t.Context(), fresh, sqlState)
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]string{
		"few rows": `update settings set changed = '{"a": 1}', version = 7; delete from river_leader;
			insert into users (username, name, email, projects_limit, created_at, updated_at) values ('ada', 'Ada', 'ada@example.com', 1, now(), now())`,
		"many rows": `insert into users (username, name, email, projects_limit, created_at, updated_at)
			select 'u' || n, 'u', 'u' || n || '@example.com', 1, now(), now() from generate_series(1, 10000) n`,
		"a partition":    `create table audit_events_203001 partition of audit_events for values from ('2030-01-01') to ('2030-02-01')`,
		"a table more":   `create table more (id int)`,
		"a table less":   `drop table settings cascade`,
		"another column": `alter table users alter column bio drop not null`,
	} {
		got, err := postgres.Values[string](t.Context(), reused(t, s, do), sqlState)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// To make a database anew takes as long as most tests.
func TestADatabaseWithFewRowsAndPartitionsIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	db := reused(t, s, `create table kept (id int)`) // made anew
	const sqlMade = `select oid::bigint from pg_database where datname = current_database()`
	made, err := postgres.Value[int64](t.Context(), db, sqlMade)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	s.release(db.Pool().Config().ConnConfig.Database)
	again, err := postgres.Value[int64](t.Context(), reused(t, s, `
		create table audit_events_203001 partition of audit_events for values from ('2030-01-01') to ('2030-02-01');
		insert into users (username, name, email, projects_limit, created_at, updated_at) values ('ada', 'Ada', 'ada@example.com', 1, now(), now())`), sqlMade)
	if err != nil || again != made {
		t.Errorf("the database %d became %d, %v", made, again, err)
	}
}

func BenchmarkReset(b *testing.B) {
	s := connect(b)
	for b.Loop() {
		name, db, err := s.acquire()
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
		s.release(name)
	}
}
