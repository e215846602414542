package archtest

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestDO09_EveryTextColumnHasALengthCheck(t *testing.T) {
	t.Parallel()
	if got := boundless(t, postgrestest.Tx(t)); len(got) > 0 {
		t.Errorf("columns without a bound: %q", got)
	}
}

func TestEveryForeignKeyHasAnIndex(t *testing.T) {
	t.Parallel()
	if got := names(t, postgrestest.Tx(t), unindexed); len(got) > 0 {
		t.Errorf("foreign keys without an index that leads with them: %q", got)
	}
}

func TestEveryTableHasAPrimaryKey(t *testing.T) {
	t.Parallel()
	if got := names(t, postgrestest.Tx(t), keyless); len(got) > 0 {
		t.Errorf("tables without a primary key: %q", got)
	}
}

// tables are ours: not those of the job queue and of the migrations, and not partitions, which follow their parent.
const tables = `
with tables as (
	select c.oid, c.relname from pg_class c
	where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
	and c.relname !~ '^(river_|goose_)'
)`

// texts are the columns whose values have no length of their own, each with the constraints on it alone.
const texts = tables + `
select t.relname || '.' || a.attname as name, a.attname as column_name,
	coalesce(array_agg(pg_get_constraintdef(k.oid)) filter (where k.oid is not null), '{}') as constraints
from tables t
join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
left join pg_constraint k on k.conrelid = t.oid and k.contype in ('c', 'f') and k.conkey = array[a.attnum]
where a.atttypid in ('text'::regtype, 'varchar'::regtype, 'text[]'::regtype, 'varchar[]'::regtype, 'json'::regtype,
	'jsonb'::regtype, 'bytea'::regtype, 'xml'::regtype)
group by 1, 2 order by 1`

// unindexed are foreign keys that no index leads with. Rows without the reference may be left out of the index.
const unindexed = tables + `
select t.relname || '.' || k.conname from tables t
join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
where not exists (
	select from pg_index i where i.indrelid = t.oid and i.indisvalid
	and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] <@ k.conkey
	and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey
	and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = (
		select format('(%I IS NOT NULL)', a.attname) from pg_attribute a where a.attrelid = t.oid and a.attnum = k.conkey[1]))
) order by 1`

const keyless = tables + `
select relname::text from tables t
where not exists (select from pg_constraint k where k.conrelid = t.oid and k.contype = 'p') order by 1`

func names(t *testing.T, tx pgx.Tx, sql string) []string {
	t.Helper()
	found, err := postgres.Values[string](t.Context(), tx, sql)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

type textColumn struct {
	Name        string
	ColumnName  string
	Constraints []string
}

func boundless(t *testing.T, tx pgx.Tx) []string {
	t.Helper()
	columns, err := postgres.All[textColumn](t.Context(), tx, texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) == 0 {
		t.Fatal("found no column")
	}
	var found []string
	for _, c := range columns {
		if !slices.ContainsFunc(c.Constraints, c.bounds) {
			found = append(found, c.Name)
		}
	}
	return found
}

// bounds tells whether a constraint, as PostgreSQL writes it, holds the column to a length, to listed values, or to
// the values of another column, which has a bound of its own.
func (c textColumn) bounds(constraint string) bool {
	name := `\(?"?` + regexp.QuoteMeta(c.ColumnName) + `"?\)?`
	return regexp.MustCompile(`^FOREIGN KEY |` +
		`(length|cardinality)\(` + name + `(::text)?\) (<|<=|=) \d+|` +
		`\(` + name + ` = (ANY \(ARRAY\[|')`).MatchString(constraint)
}

func TestEachFlawOfASchemaIsFound(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	if _, err := tx.Exec(t.Context(), `
create table flaw_parents (id bigint primary key, name text unique check (length(name) <= 5), unique (id, name));
create table flaws (
	id bigint,
	fine text check (length(fine) between 1 and 5),
	"order" text check (length("order") < 5),
	listed text check (listed in ('a', 'b')),
	single text check (single in ('a')),
	named text references flaw_parents (name),
	document jsonb check (length(document::text) <= 5),
	bytes bytea check (octet_length(bytes) = 5),
	items text[] check (cardinality(items) <= 5),
	free text,
	at_least text check (length(at_least) >= 5),
	other text check (length(fine) <= 5),
	free_document jsonb,
	free_bytes bytea,
	free_items text[],
	parent_id bigint constraint flaws_second references flaw_parents,
	partial_id bigint constraint flaws_partial references flaw_parents,
	present_id bigint constraint flaws_present references flaw_parents,
	constraint flaws_pair foreign key (id, named) references flaw_parents (id, name)
);
create index on flaws (id, parent_id);
create index on flaws (partial_id) where partial_id > 5;
create index on flaws (present_id) where present_id is not null;
create index on flaws (named, id)`); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fact      string
		got, want []string
	}{
		{
			"columns without a bound", boundless(t, tx),
			[]string{"flaws.at_least", "flaws.free", "flaws.free_bytes", "flaws.free_document", "flaws.free_items", "flaws.other"},
		},
		{"foreign keys without an index", names(t, tx, unindexed), []string{"flaws.flaws_partial", "flaws.flaws_second"}},
		{"tables without a primary key", names(t, tx, keyless), []string{"flaws"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fact, diff)
		}
	}
}
