package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"stithy/db/migrations"
)

// firstWatched is the version from which on no migration may hold a table for
// as long as it takes to read it.
const firstWatched = "00019"

// lockingMigrations hold a table while they read it, and are released, so they
// stay as they are. The list does not grow: write the next one as the comment
// in db/migrations/embed.go says.
var lockingMigrations = []string{
	"00019_keep_latest_files.sql: a check that is read at once",
	"00019_keep_latest_files.sql: an index that is not built concurrently",
}

func TestNoMigrationHoldsATableWhileItReadsIt(t *testing.T) {
	t.Parallel()
	got, err := locking(migrations.Files, firstWatched)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lockingMigrations, got); diff != "" {
		t.Errorf("migrations that lock (-known +found):\n%s", diff)
	}
}

var (
	sqlComment   = regexp.MustCompile(`(?m)--.*$`)
	createdTable = regexp.MustCompile(`\bcreate (?:unlogged )?table (?:if not exists )?(?:public\.)?"?(\w+)`)
	indexedTable = regexp.MustCompile(`\bcreate (?:unique )?index (concurrently )?.*?\bon (?:only )?(?:public\.)?"?(\w+)`)
	alteredTable = regexp.MustCompile(`^alter table (?:if exists )?(?:only )?(?:public\.)?"?(\w+)"?(.*)$`)
	spaces       = regexp.MustCompile(`\s+`)
	// Values that PostgreSQL computes anew for each row.
	volatile = regexp.MustCompile(`\b(random|gen_random_uuid|uuid_generate\w*|clock_timestamp|timeofday|nextval)\s*\(|generated (always|by default) as`)
)

// locking are the breaches of migrations from a version on, without doubles.
func locking(files fs.FS, from string) ([]string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	known, breaches := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		added, made := map[string]bool{}, map[string]bool{}
		for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(string(text), ""), ";") {
			statement = strings.ToLower(strings.TrimSpace(spaces.ReplaceAllString(statement, " ")))
			for _, m := range createdTable.FindAllStringSubmatch(statement, -1) {
				made[m[1]] = true
			}
			if name < from {
				continue
			}
			for _, why := range holds(statement, known, added) {
				breaches[fmt.Sprintf("%s: %s", name, why)] = true
			}
		}
		maps.Copy(known, made)
	}
	return slices.Sorted(maps.Keys(breaches)), nil
}

// holds is what a statement does to tables that are there already. added are the
// constraints that the file added without reading the table.
func holds(statement string, known, added map[string]bool) (why []string) {
	if m := indexedTable.FindStringSubmatch(statement); m != nil && m[1] == "" && known[m[2]] {
		why = append(why, "an index that is not built concurrently")
	}
	m := alteredTable.FindStringSubmatch(statement)
	if m == nil || !known[m[1]] {
		return why
	}
	for _, act := range acts(m[2]) {
		constraint := regexp.MustCompile(`^add constraint "?(\w+)`).FindStringSubmatch(act)
		switch {
		case strings.HasPrefix(act, "validate constraint"):
			if added[strings.Trim(strings.TrimPrefix(act, "validate constraint "), `" `)] {
				why = append(why, "a constraint that is validated in the file that adds it")
			}
		case constraint != nil && strings.Contains(act, "not valid"):
			added[constraint[1]] = true
		case constraint != nil && strings.Contains(act, "using index"):
		case strings.HasPrefix(act, "add constraint") && strings.Contains(act, " check "), strings.HasPrefix(act, "add check"):
			why = append(why, "a check that is read at once")
		case strings.HasPrefix(act, "add constraint"), strings.HasPrefix(act, "add foreign key"), strings.HasPrefix(act, "add unique"), strings.HasPrefix(act, "add primary key"):
			why = append(why, "a key that is checked at once")
		case strings.HasPrefix(act, "add "):
			if volatile.MatchString(act) {
				why = append(why, "a column that rewrites the table")
			}
			if strings.Contains(act, " check ") || strings.Contains(act, " check(") || strings.Contains(act, " unique") || strings.Contains(act, " primary key") ||
				strings.Contains(act, " references ") && strings.Contains(act, "default") {
				why = append(why, "a column with a constraint that is read at once")
			}
		case strings.HasPrefix(act, "alter ") && strings.Contains(act, " type "):
			why = append(why, "a column of another type")
		case strings.HasPrefix(act, "alter ") && strings.HasSuffix(act, "set not null"):
			why = append(why, "a column that is no longer null")
		}
	}
	return why
}

// acts are the parts of an `alter table`, at the commas outside of brackets.
func acts(text string) (all []string) {
	depth, begin := 0, 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				all, begin = append(all, strings.TrimSpace(text[begin:i])), i+1
			}
		}
	}
	return append(all, strings.TrimSpace(text[begin:]))
}

func TestEachWayToHoldATableIsFound(t *testing.T) {
	t.Parallel()
	for statements, want := range map[string]string{
		"create index a on old (x)":                                                                       "an index that is not built concurrently",
		"create unique index a on only public.old (x)":                                                    "an index that is not built concurrently",
		"create index concurrently a on old (x)":                                                          "",
		"create table new (x int); create index a on new (x); alter table new add check (x > 1)":          "",
		"alter table old add constraint c check (x in (1, 2))":                                            "a check that is read at once",
		"alter table old drop constraint c, add constraint c check (x in (1, 2))":                         "a check that is read at once",
		"alter table old add constraint c check (x > 1) not valid":                                        "",
		"alter table old add constraint c check (x > 1) not valid; alter table old validate constraint c": "a constraint that is validated in the file that adds it",
		"alter table old validate constraint earlier":                                                     "",
		"alter table old add constraint c foreign key (x) references other":                               "a key that is checked at once",
		"alter table old add constraint c unique (x)":                                                     "a key that is checked at once",
		"alter table old add constraint c unique using index i":                                           "",
		"alter table old add column y bigint":                                                             "",
		"alter table old add column y boolean not null default false":                                     "",
		"alter table old add column y timestamptz not null default now()":                                 "",
		"alter table old add column y uuid default gen_random_uuid()":                                     "a column that rewrites the table",
		"alter table old add column y bigint generated always as (x + 1) stored":                          "a column that rewrites the table",
		"alter table old add column y text constraint y check (length(y) < 5)":                            "a column with a constraint that is read at once",
		"alter table old add column y bigint,\n  alter column x type bigint":                              "a column of another type",
		"alter table old alter column x set not null":                                                     "a column that is no longer null",
		"-- create index a on old (x)\nselect 1":                                                          "",
	} {
		got, err := locking(fstest.MapFS{
			"00001_old.sql": {Data: []byte("create table old (x int); create index old_x on old (x);")},
			"00002_new.sql": {Data: []byte(statements + ";")},
		}, "00002")
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.ReplaceAll(strings.Join(got, "; "), "00002_new.sql: ", ""); said != want {
			t.Errorf("%s: %q, wanted %q", statements, said, want)
		}
	}
}
