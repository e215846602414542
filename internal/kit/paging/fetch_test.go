package paging_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

type number struct {
	ID   int64
	Name string
}

// numbers is a list of the numbers 1 to total, whose names repeat.
func numbers(total int, keys ...postgres.Key) *postgres.List {
	return postgres.From("(select n::bigint as id, 'name ' || n % 3 as name from generate_series(1, ?) n) numbers", total).
		Columns("id, name").Order(keys...)
}

var byID = postgres.Key{Expr: "id"}

func ids(items []number) []int64 {
	all := []int64{}
	for _, item := range items {
		all = append(all, item.ID)
	}
	return all
}

func TestAPageByOffsetKnowsTheWhole(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for _, c := range []struct {
		name                   string
		total, page, perPage   int
		first, items, reported int
		more                   bool
	}{
		{"all on one page", 3, 1, 5, 1, 3, 3, false},
		{"exactly one page", 5, 1, 5, 1, 5, 5, false},
		{"the first of many", 12, 1, 5, 1, 5, 12, true},
		{"in the middle", 12, 2, 5, 6, 5, 12, true},
		{"the last", 12, 3, 5, 11, 2, 12, false},
		{"past the end", 12, 9, 5, 0, 0, 12, false},
		{"of nothing", 0, 1, 5, 0, 0, 0, false},
		{"past the end of nothing", 0, 2, 5, 0, 0, 0, false},
		{"as far as is counted", 10_000, 2, 5, 6, 5, 10_000, true},
		{"further than is counted", 10_500, 2, 5, 6, 5, 10_001, true},
	} {
		req := paging.Request{Page: c.page, PerPage: c.perPage}
		got, err := paging.Fetch[number](t.Context(), tx, numbers(c.total, byID), req, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(got.Items) != c.items || got.Total != c.reported || got.More != c.more || got.Next != nil {
			t.Errorf("%s: got %d items of %d, more %v, next %v", c.name, len(got.Items), got.Total, got.More, got.Next)
		}
		if c.items > 0 && got.Items[0].ID != int64(c.first) {
			t.Errorf("%s: begins at %d, want %d", c.name, got.Items[0].ID, c.first)
		}
	}
}

func TestTurningPagesByCursorShowsEveryRowOnce(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	after := func(n number) []string { return []string{n.Name, strconv.FormatInt(n.ID, 10)} }
	for _, desc := range []bool{false, true} {
		for _, perPage := range []int{1, 4, 10, 11} {
			req := paging.Request{PerPage: perPage, Keyset: true, OrderBy: "name", Desc: desc}
			seen := []int64{}
			for range 20 {
				list := numbers(10, postgres.Key{Expr: "name", Desc: desc}, postgres.Key{Expr: "id", Desc: desc})
				got, err := paging.Fetch(t.Context(), tx, list, req, after)
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, ids(got.Items)...)
				if got.Next == nil {
					break
				}
				if got.Next.OrderBy != "name" || got.Next.Desc != desc || len(got.Items) != perPage {
					t.Errorf("got cursor %+v after %d items", got.Next, len(got.Items))
				}
				// A client carries it as text.
				if req.Cursor, err = paging.Parse(got.Next.String()); err != nil {
					t.Fatal(err)
				}
			}
			want := []int64{3, 6, 9, 1, 4, 7, 10, 2, 5, 8}
			if desc {
				want = []int64{8, 5, 2, 10, 7, 4, 1, 9, 6, 3}
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("%d to a page, descending %v (-want +got):\n%s", perPage, desc, diff)
			}
		}
	}
}

func TestACursorOfAnotherListIsTheClientsFault(t *testing.T) {
	t.Parallel()
	for _, after := range [][]string{{"x"}, {"1", "2"}, {"99999999999999999999"}, {""}} {
		t.Run(strings.Join(after, ","), func(t *testing.T) { // an error spoils its transaction
			req := paging.Request{PerPage: 5, Keyset: true, Cursor: &paging.Cursor{OrderBy: "id", After: after}}
			_, err := paging.Fetch(t.Context(), postgrestest.Tx(t), numbers(10, byID), req, func(number) []string { return nil })
			if !fault.Is(err, fault.BadParams) || err.Error() != "cursor is invalid" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAFailingListIsInternal(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	broken := postgres.From("no_such_table").Columns("id, name").Order(byID)
	_, err := paging.Fetch[number](t.Context(), tx, broken, paging.Request{Page: 1, PerPage: 5}, nil)
	if _, shown := fault.Of(err); err == nil || shown {
		t.Errorf("got %v", err)
	}
}

// statements remembers what a list asks the database.
type statements struct {
	pgx.Tx
	texts []string
}

func (s *statements) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	s.texts = append(s.texts, sql)
	return s.Tx.Query(ctx, sql, args...)
}

func (s *statements) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	s.texts = append(s.texts, sql)
	return s.Tx.QueryRow(ctx, sql, args...)
}

func (s *statements) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	s.texts = append(s.texts, sql)
	return s.Tx.Exec(ctx, sql, args...)
}

func TestAListIsCountedOnlyWhenItsPageDoesNotTell(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for _, c := range []struct {
		req    paging.Request
		counts int
	}{
		{paging.Request{Page: 1, PerPage: 20}, 0},
		{paging.Request{Page: 2, PerPage: 6}, 0},
		{paging.Request{Page: 1, PerPage: 5}, 1},
		{paging.Request{Page: 9, PerPage: 5}, 1},
		{paging.Request{PerPage: 5, Keyset: true}, 0},
	} {
		asked := &statements{Tx: tx}
		_, err := paging.Fetch(t.Context(), asked, numbers(10, byID), c.req, func(n number) []string { return []string{fmt.Sprint(n.ID)} })
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(asked.texts, "\n"), "count(*)"); got != c.counts {
			t.Errorf("%+v: counted %d times, want %d", c.req, got, c.counts)
		}
	}
}
