package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// fragment is SQL text. The type is not exported so that other packages can write one only as a constant: a string
// that came from a request does not compile as SQL.
type fragment string

// List builds the query of a filtered, ordered and limited list.
//
//	l := postgres.From("users u").Columns("u.id, u.name")
//	l.Where("u.state = ?", state)
//	l.Order(postgres.Key{Expr: "u.name"}, postgres.Key{Expr: "u.id"})
//	l.Limit(20)
//	sql, args := l.SQL()
//
// Each ? in a fragment stands for one argument; the operators of jsonb that contain ? have functions instead. The text
// depends on the calls made and on the limit, never on other values, so it is worth preparing. Misuse that no input can
// cause, such as a wrong number of arguments, panics.
type List struct {
	columns clause
	among   *List
	from    []clause
	where   []clause
	keys    []Key
	after   []any
	limit   int
	offset  int
	replan  bool
	details fragment // selected of the rows of the page
	joined  fragment // to them
}

// Key is one expression of an order. It must not be null in any row: a comparison with null is neither true nor false,
// and the row would vanish between two pages. Write coalesce(u.seen_at, 'epoch') and index that.
type Key struct {
	Expr fragment
	Desc bool
}

type clause struct {
	text fragment
	args []any
	each *List // in parentheses before the text
}

func newClause(text fragment, args []any) clause {
	if n := strings.Count(string(text), "?"); n != len(args) {
		panic(fmt.Sprintf("postgres: %d placeholders and %d arguments in %q", n, len(args), text))
	}
	return clause{text: text, args: args}
}

// From starts a list of the rows of a table expression.
func From(text fragment, args ...any) *List {
	return &List{from: []clause{newClause(text, args)}}
}

// Among starts a list of the rows that another one, which needs no order, finds within its limit. Those are found
// first, whatever they are then ordered by: else a plan may walk the table in that order, in the hope of soon meeting
// some of them.
func Among(l *List, alias fragment) *List {
	return &List{among: l, from: []clause{{text: alias}}}
}

// Columns sets what is selected.
func (l *List) Columns(text fragment, args ...any) *List {
	l.columns = newClause(text, args)
	return l
}

// Join adds to the table expression, for a join that only some filters need.
func (l *List) Join(text fragment, args ...any) *List {
	l.from = append(l.from, newClause(text, args))
	return l
}

// Each adds to the table expression what another list, which may name the rows before it, finds for each of them within
// its limit: the first rows of many owners, of which each has them in the order of an index.
func (l *List) Each(found *List, alias fragment) *List {
	l.from = append(l.from, clause{each: found, text: alias})
	return l
}

// Where adds a condition that all rows must meet.
func (l *List) Where(text fragment, args ...any) *List {
	l.where = append(l.where, newClause(text, args))
	return l
}

// Order sets the order. It must be total, so its last key is an id.
func (l *List) Order(keys ...Key) *List {
	l.keys = keys
	return l
}

// After leaves out the rows up to and including the one with these key values, which are given in the order of the
// keys and must equal what the database holds: a time cut to milliseconds skips or repeats rows.
func (l *List) After(values ...any) *List {
	l.after = values
	return l
}

// AfterFits reports whether n values are as many as the order has keys.
func (l *List) AfterFits(n int) bool { return n == len(l.keys) }

// Limit sets the greatest number of rows, at least 1.
func (l *List) Limit(n int) *List {
	l.limit = n
	return l
}

// Offset skips rows. Its cost grows with n; a list that may be long also offers After.
func (l *List) Offset(n int) *List {
	l.offset = n
	return l
}

// Replan makes the server plan the query for its values each time, instead of once for any: the best way to a search
// term or a span of time depends on how many rows it finds.
func (l *List) Replan() *List {
	l.replan = true
	return l
}

// Details sets what is selected of the rows that the page has: they are found by the columns of the list, as page, and the
// table expression is joined to them. What is large is read neither of rows that are skipped nor to sort it.
func (l *List) Details(join, columns fragment) *List {
	l.joined, l.details = join, columns
	return l
}

// SQL returns the query and its arguments.
func (l *List) SQL() (string, []any) {
	if len(l.keys) == 0 {
		panic("postgres: a list needs an order")
	}
	var w writer
	if l.details == "" {
		w.list(l)
		return w.statement(l)
	}
	w.text("select ", string(l.details), " from (")
	w.list(l)
	w.text(") page ", string(l.joined))
	w.order(l.keys)
	return w.statement(l)
}

// CountSQL returns a query that counts the rows of the whole list, on all pages, up to limit: it reads no more rows
// than that.
func (l *List) CountSQL(limit int) (string, []any) {
	var w writer
	w.text("select count(*) from (select 1")
	w.fromAndWhere(l)
	w.limit(limit)
	w.text(") bounded")
	return w.statement(l)
}

type writer struct {
	sql  strings.Builder
	args []any
}

func (w *writer) statement(l *List) (string, []any) {
	if l.replan {
		// The unnamed statement is planned at each use; its description is remembered all the same.
		return w.sql.String(), append([]any{pgx.QueryExecModeCacheDescribe}, w.args...)
	}
	return w.sql.String(), w.args
}

func (w *writer) list(l *List) {
	if l.columns.text == "" || l.limit < 1 {
		panic("postgres: a list needs columns and a limit")
	}
	w.text("select ")
	w.clause(l.columns)
	w.fromAndWhere(l)
	if l.after != nil {
		w.and(len(l.where) == 0)
		w.keyset(l.keys, l.after)
	}
	w.order(l.keys)
	w.limit(l.limit)
	if l.offset > 0 {
		w.text(" offset ", w.arg(l.offset))
	}
}

func (w *writer) order(keys []Key) {
	for i, key := range keys {
		w.text(separator(i, " order by ", ", "), string(key.Expr))
		if key.Desc {
			w.text(" desc")
		}
	}
}

// limit is text and not an argument: to a limit that it does not know the server finds no plan worth keeping, and to
// plan a page again costs more than to read it.
func (w *writer) limit(n int) { w.text(" limit ", strconv.Itoa(n)) }

func (w *writer) text(parts ...string) {
	for _, part := range parts {
		w.sql.WriteString(part)
	}
}

// arg adds an argument and returns its placeholder.
func (w *writer) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

func (w *writer) clause(c clause) {
	if c.each != nil {
		w.text("cross join lateral (")
		w.list(c.each)
		w.text(") ")
	}
	rest := string(c.text)
	for _, v := range c.args {
		before, after, _ := strings.Cut(rest, "?")
		w.text(before, w.arg(v))
		rest = after
	}
	w.text(rest)
}

func (w *writer) and(first bool) {
	if first {
		w.text(" where ")
	} else {
		w.text(" and ")
	}
}

func (w *writer) fromAndWhere(l *List) {
	w.text(" from")
	if l.among != nil {
		w.text(" (")
		w.list(l.among)
		w.text(")")
	}
	for _, c := range l.from {
		w.text(" ")
		w.clause(c)
	}
	for i, c := range l.where {
		w.and(i == 0)
		w.text("(") // an or inside a condition stays inside
		w.clause(c)
		w.text(")")
	}
}

// keyset writes the condition that a row comes after the one with these key values.
func (w *writer) keyset(keys []Key, values []any) {
	if len(values) != len(keys) {
		panic(fmt.Sprintf("postgres: %d keys and %d values to start after", len(keys), len(values)))
	}
	exprs, marks, uniform := make([]string, len(keys)), make([]string, len(keys)), true
	for i, key := range keys {
		exprs[i], marks[i] = string(key.Expr), w.arg(values[i])
		uniform = uniform && key.Desc == keys[0].Desc
	}
	if uniform {
		w.text("(", strings.Join(exprs, ", "), ") ", beyond(keys[0]), " (", strings.Join(marks, ", "), ")")
		return
	}
	// The first comparison follows from the rest; it is what lets an index scan start at the right place.
	w.text(exprs[0], " ", beyond(keys[0]), "= ", marks[0], " and (")
	for i, key := range keys {
		w.text(separator(i, "(", " or ("))
		for j := range i {
			w.text(exprs[j], " = ", marks[j], " and ")
		}
		w.text(exprs[i], " ", beyond(key), " ", marks[i], ")")
	}
	w.text(")")
}

func beyond(key Key) string {
	if key.Desc {
		return "<"
	}
	return ">"
}

func separator(i int, first, next string) string {
	if i == 0 {
		return first
	}
	return next
}

// maxSought is how many characters of a search count. Comparing a long pattern with long texts takes time that grows with both, and the server
// cannot be interrupted while it compares two.
const maxSought = 100

// LikeContains returns the pattern for like and ilike that matches every text containing s, or the beginning of s where that is long.
func LikeContains(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxSought {
			s = s[:i]
			break
		}
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}
