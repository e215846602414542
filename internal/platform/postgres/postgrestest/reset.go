package postgrestest

import (
	"context"
	"fmt"

	"stithy/internal/platform/postgres"
)

// sqlSchema says which state a schema is in: every change of it writes a row of the catalogue anew.
const sqlSchema = `
select md5(string_agg(row, ',' order by row)) from (
	select concat_ws(' ', oid, xmin) as row from pg_class where oid >= 16384
	union all select concat_ws(' ', attrelid, attnum, xmin) from pg_attribute where attrelid >= 16384 and attnum > 0
	union all select concat_ws(' ', oid, xmin) from pg_constraint where oid >= 16384
	union all select concat_ws(' ', oid, xmin) from pg_trigger where oid >= 16384
	union all select concat_ws(' ', oid, xmin) from pg_proc where oid >= 16384
) rows`

// sqlReset makes a database as it was when it was copied from the template, whose comment is the state of its schema.
// Partitions of months are dropped, as every instance that starts makes some. It is refused where the schema was changed
// otherwise, where much is left, and to who may not set triggers aside. Whoever is still connected belonged to a test that
// has ended.
const sqlReset = `
do $reset$
declare
	dirty regclass;
begin
	perform pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
	for dirty in select oid from pg_class where relispartition and relkind = 'r' and relname ~ '_[0-9]{6}$' loop
		execute format('drop table %%s', dirty);
	end loop;
	if (` + sqlSchema + `) is distinct from (select shobj_description(oid, 'pg_database') from pg_database where datname = '%s') then
		raise 'its schema was changed';
	end if;
	perform set_config('session_replication_role', 'replica', true);
	for dirty in
		select oid from pg_class
		where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_relation_size(oid) > 0 and relname not in ('goose_db_version', 'river_migration')
	loop
		if pg_relation_size(dirty) > 1000000 then
			raise '%% is too large', dirty;
		end if;
		execute format('delete from %%s', dirty);
	end loop;
	insert into settings default values;
	perform setval(seqrelid, seqstart, false) from pg_sequence
	where pg_sequence_last_value(seqrelid) is not null and seqrelid::regclass::text not like 'goose%%';
end
$reset$`

// describe writes the state of a schema where washing looks for it.
func (s *server) describe(ctx context.Context, name string) error {
	db, err := s.open(name)
	if err != nil {
		return err
	}
	defer db.Close()
	state, err := postgres.Value[string](ctx, db, sqlSchema)
	if err != nil {
		return err
	}
	return s.exec(fmt.Sprintf("comment on database %s is '%s'", name, state))
}

// acquire gives a clean database to a test, one that was used before if there is one.
func (s *server) acquire() (name string, db *postgres.DB, err error) {
	if name, err = s.unused(); err != nil {
		return "", nil, err
	}
	if db, err = s.open(name); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err = db.Exec(ctx, fmt.Sprintf(sqlReset, s.template)); err == nil {
		return name, db, nil
	}
	db.Close()
	if err = s.drop(name); err == nil {
		err = s.create(name)
	}
	if err == nil {
		db, err = s.open(name)
	}
	return name, db, err
}

// unused is a database that this process has claimed and no test has, or else another.
func (s *server) unused() (string, error) {
	s.lending.Lock()
	defer s.lending.Unlock()
	if n := len(s.idle); n > 0 {
		name := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return name, nil
	}
	name, next, err := s.claim("stithy_new", s.next)
	s.next = next
	return name, err
}

func (s *server) release(name string) {
	s.lending.Lock()
	defer s.lending.Unlock()
	s.idle = append(s.idle, name)
}
