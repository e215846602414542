package postgres_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestAListBecomesOneStatement(t *testing.T) {
	t.Parallel()
	list := func() *postgres.List {
		return postgres.From("users u").Columns("u.id").Order(postgres.Key{Expr: "u.id"}).Limit(20)
	}
	name, size, id := postgres.Key{Expr: "u.name"}, postgres.Key{Expr: "u.size", Desc: true}, postgres.Key{Expr: "u.id"}
	for _, test := range []struct {
		name string
		list *postgres.List
		sql  string
		args []any
	}{
		{
			"what is large of one page",
			postgres.From("users u").Columns("u.id").Where("u.state = ?", "x").Order(size, id).Limit(2).Offset(4).
				Details("join users u on u.id = page.id", "u.id, left(u.note, 5) as note"),
			"select u.id, left(u.note, 5) as note from (select u.id from users u where (u.state = $1) order by u.size desc, u.id limit 2 offset $2) page" +
				" join users u on u.id = page.id order by u.size desc, u.id",
			[]any{"x", 4},
		},
		{
			"the first of each",
			postgres.From("unnest(?::bigint[]) o(id)", []int64{1, 2}).
				Each(postgres.From("users u").Columns("u.id").Where("u.group_id = o.id and u.state = ?", "x").Order(id).After(7).Limit(3), "u").
				Columns("u.id").Where("u.id > ?", 5).Order(id).Limit(2),
			"select u.id from unnest($1::bigint[]) o(id) cross join lateral (select u.id from users u where (u.group_id = o.id and u.state = $2)" +
				" and (u.id) > ($3) order by u.id limit 3) u where (u.id > $4) order by u.id limit 2",
			[]any{[]int64{1, 2}, "x", 7, 5},
		},
		{
			"plain", list(),
			"select u.id from users u order by u.id limit 20", nil,
		},
		{
			"conditions, joins and columns take values in the order of the text",
			list().Where("a = ? or b = ?", 1, 2).Join("join emails e on e.user_id = u.id and e.kind = ?", "x").
				Columns("u.id, similarity(u.name, ?)", "ann").Where("c").Offset(40),
			"select u.id, similarity(u.name, $1) from users u join emails e on e.user_id = u.id and e.kind = $2" +
				" where (a = $3 or b = $4) and (c) order by u.id limit 20 offset $5",
			[]any{"ann", "x", 1, 2, 40},
		},
		{
			"keyset in one direction",
			list().Order(name, id).After("ann", 7),
			"select u.id from users u where (u.name, u.id) > ($1, $2) order by u.name, u.id limit 20",
			[]any{"ann", 7},
		},
		{
			"keyset downwards after a condition",
			list().Where("c").Order(size).After(3),
			"select u.id from users u where (c) and (u.size) < ($1) order by u.size desc limit 20",
			[]any{3},
		},
		{
			"keyset in mixed directions",
			list().Order(size, name, id).After(3, "ann", 7),
			"select u.id from users u where u.size <= $1 and ((u.size < $1) or (u.size = $1 and u.name > $2)" +
				" or (u.size = $1 and u.name = $2 and u.id > $3)) order by u.size desc, u.name, u.id limit 20",
			[]any{3, "ann", 7},
		},
		{
			"among the rows of another list",
			postgres.Among(postgres.From("users u").Columns("u.*").Where("a = ?", 1).Limit(500), "u").Columns("u.id, ?", "x").Where("b = ?", 2).Order(name).Limit(20),
			"select u.id, $1 from (select u.* from users u where (a = $2) limit 500) u" +
				" where (b = $3) order by u.name limit 20",
			[]any{"x", 1, 2},
		},
		{
			"planned for its values",
			list().Where("a = ?", 1).Replan(),
			"select u.id from users u where (a = $1) order by u.id limit 20",
			[]any{pgx.QueryExecModeCacheDescribe, 1},
		},
		{
			"no cursor yet",
			list().After(),
			"select u.id from users u order by u.id limit 20", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sql, args := test.list.SQL()
			if diff := cmp.Diff(test.sql, sql); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.args, args); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACountIsBoundedAndIgnoresThePage(t *testing.T) {
	t.Parallel()
	l := postgres.From("users u").Columns("u.id, ?", "x").Where("a = ?", 1).
		Order(postgres.Key{Expr: "u.id"}).After(7).Limit(20).Offset(40)
	sql, args := l.CountSQL(10_001)
	if want := "select count(*) from (select 1 from users u where (a = $1) limit 10001) bounded"; sql != want {
		t.Errorf("got  %s\nwant %s", sql, want)
	}
	if diff := cmp.Diff([]any{1}, args); diff != "" {
		t.Error(diff)
	}
}

func TestAListUsedWronglyPanics(t *testing.T) {
	t.Parallel()
	id := postgres.Key{Expr: "id"}
	for name, misuse := range map[string]func(){
		"too few values":      func() { postgres.From("t").Where("a = ?") },
		"too many values":     func() { postgres.From("t").Where("a", 1) },
		"no columns":          func() { postgres.From("t").Order(id).Limit(1).SQL() },
		"no order":            func() { postgres.From("t").Columns("id").Limit(1).SQL() },
		"no limit":            func() { postgres.From("t").Columns("id").Order(id).SQL() },
		"cursor of other key": func() { postgres.From("t").Columns("id").Order(id).After(1, 2).Limit(1).SQL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			misuse()
		})
	}
}

func TestSQLTextCanOnlyBeWrittenAsAConstant(t *testing.T) {
	t.Parallel()
	list := reflect.TypeFor[*postgres.List]()
	types := map[string]reflect.Type{"From": reflect.TypeOf(postgres.From).In(0)}
	for _, name := range []string{"Columns", "Join", "Where"} {
		method, _ := list.MethodByName(name)
		types[name] = method.Type.In(1)
	}
	expr, _ := reflect.TypeFor[postgres.Key]().FieldByName("Expr")
	types["Key.Expr"] = expr.Type
	for name, typ := range types {
		if typ.Name() != "fragment" || typ.Kind() != reflect.String {
			t.Errorf("%s takes %s, which another package can make from a request", name, typ)
		}
	}
}

const thingsTable = `create temporary table things
	(id bigint primary key, name text not null, size int not null, made timestamptz not null default now())`

// keys are what an order can be made of; id comes last in every order.
var keys = []postgres.Key{{Expr: "name"}, {Expr: "size"}, {Expr: "made"}, {Expr: "lower(name)"}, {Expr: "coalesce(size, 0)"}}

func drawOrder(t *rapid.T) []postgres.Key {
	order := rapid.Permutation(keys).Draw(t, "keys")[:rapid.IntRange(0, 3).Draw(t, "number of keys")]
	order = append(slices.Clone(order), postgres.Key{Expr: "id"})
	for i := range order {
		order[i].Desc = rapid.Bool().Draw(t, "descending")
	}
	return order
}

func TestNoValueReachesTheTextAndEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	if _, err := tx.Exec(t.Context(), thingsTable); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var values []string
		value := func() string {
			v := "v" + rapid.StringMatching(`['";\\$? a-z-]{6,12}`).Draw(rt, "value")
			values = append(values, v)
			return v
		}
		l := postgres.From("things t").Columns("t.id, t.name")
		conditions := []func(){
			func() { l.Where("t.name = ?", value()) },
			func() { l.Where("t.name = ? or t.name > ?", value(), value()) },
			func() { l.Where("t.name ilike ?", postgres.LikeContains(value())) },
			func() { l.Where("t.name = any (?)", []string{value(), value()}) },
			func() { l.Where("t.size is not null") },
			func() { l.Columns("t.id, similarity(t.name, ?) as score", value()) },
			func() { l.Join("join things o on o.id = t.id and o.name <> ?", value()) },
			func() { l.Offset(rapid.IntRange(0, 5).Draw(rt, "offset")) },
		}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(conditions)-1), 0, 5, rapid.ID).Draw(rt, "conditions") {
			conditions[i]()
		}
		l.Order(postgres.Key{Expr: "t.name"}, postgres.Key{Expr: "t.id", Desc: rapid.Bool().Draw(rt, "descending")})
		if rapid.Bool().Draw(rt, "after") {
			l.After(value(), int64(1))
		}
		l.Limit(rapid.IntRange(1, 100).Draw(rt, "limit"))

		for _, build := range []func() (string, []any){l.SQL, func() (string, []any) { return l.CountSQL(10_001) }} {
			sql, args := build()
			for _, v := range values {
				if strings.Contains(sql, v) {
					rt.Errorf("%q is in %s", v, sql)
				}
			}
			statement, err := tx.Conn().Prepare(t.Context(), "", sql)
			if err != nil {
				rt.Fatalf("%s: %v", sql, err)
			}
			if len(statement.ParamOIDs) != len(args) {
				rt.Errorf("%d parameters and %d arguments in %s", len(statement.ParamOIDs), len(args), sql)
			}
		}
	})
}

func TestKeysetPagesTogetherAreTheWholeList(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	if _, err := tx.Exec(t.Context(), thingsTable); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if _, err := tx.Exec(t.Context(), "truncate things"); err != nil {
			rt.Fatal(err)
		}
		// Few distinct values, so that many rows are equal in all keys but the last.
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []any {
			return []any{
				rapid.SampledFrom([]string{"a", "A", "b"}).Draw(t, "name"),
				rapid.Int32Range(1, 3).Draw(t, "size"),
				time.UnixMicro(rapid.Int64Range(1, 3).Draw(t, "made")),
			}
		}), 0, 30).Draw(rt, "rows")
		_, err := tx.CopyFrom(t.Context(), pgx.Identifier{"things"}, []string{"id", "name", "size", "made"},
			pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return append([]any{i}, rows[i]...), nil }))
		if err != nil {
			rt.Fatal(err)
		}
		order := drawOrder(rt)
		list := func(limit int) *postgres.List {
			return postgres.From("things").Columns("id, name, size, made, lower(name), coalesce(size, 0)").Order(order...).Limit(limit)
		}
		read := func(l *postgres.List) (page [][]any) {
			sql, args := l.SQL()
			found, err := tx.Query(t.Context(), sql, args...)
			if err != nil {
				rt.Fatal(err)
			}
			page, err = pgx.CollectRows(found, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
			if err != nil {
				rt.Fatalf("%s: %v", sql, err)
			}
			return page
		}
		column := func(key postgres.Key) int {
			return slices.Index([]string{"id", "name", "size", "made", "lower(name)", "coalesce(size, 0)"}, fmt.Sprint(key.Expr))
		}

		var walked [][]any
		for l := list(rapid.IntRange(1, 7).Draw(rt, "page size")); ; {
			page := read(l)
			if len(page) == 0 {
				break
			}
			walked = append(walked, page...)
			if len(walked) > len(rows) {
				rt.Fatalf("more rows than there are: %d", len(walked))
			}
			var cursor []any
			for _, key := range order {
				cursor = append(cursor, page[len(page)-1][column(key)])
			}
			l.After(cursor...)
		}
		if diff := cmp.Diff(read(list(1000)), walked, cmpopts.EquateEmpty()); diff != "" {
			rt.Error(diff)
		}
	})
}

func TestAPageInMixedDirectionsStartsInsideTheIndex(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	_, err := tx.Exec(t.Context(), thingsTable+`;
		insert into things select i, 'n', i / 10 from generate_series(1, 5000) i;
		create index on things (size desc, id);
		analyze things`)
	if err != nil {
		t.Fatal(err)
	}
	sql, args := postgres.From("things").Columns("id").
		Order(postgres.Key{Expr: "size", Desc: true}, postgres.Key{Expr: "id"}).After(100, 1005).Limit(20).SQL()
	plan, err := postgres.Values[string](t.Context(), tx, "explain "+sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "Index Cond: (size <= 100)") || strings.Contains(text, "Sort") {
		t.Error(text)
	}
}

func FuzzLikeContainsFindsExactlyTheText(f *testing.F) {
	for _, seed := range []string{"", "%", "_", `\`, `a\%b_c`, `\\`, "ä%"} {
		f.Add("x"+seed+"y", seed)
		f.Add("xay", seed)
	}
	f.Add(strings.Repeat("ä", 100), strings.Repeat("ä", 101))
	f.Add(strings.Repeat("ä", 99), strings.Repeat("ä", 101))
	f.Fuzz(func(t *testing.T, text, part string) {
		if !utf8.ValidString(text) || !utf8.ValidString(part) || strings.ContainsRune(text+part, 0) {
			t.Skip("not text for PostgreSQL")
		}
		got, err := postgres.Value[bool](t.Context(), postgrestest.Tx(t), "select $1::text like $2", text, postgres.LikeContains(part))
		if err != nil {
			t.Fatal(err)
		}
		if runes := []rune(part); len(runes) > 100 {
			part = string(runes[:100]) // more does not count
		}
		if want := strings.Contains(text, part); got != want {
			t.Errorf("%q contains %q: got %t, want %t", text, part, got, want)
		}
	})
}
