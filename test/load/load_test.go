// Package load holds the lists to their promise at scale: a page costs the
// same wherever it is, every filter and search has an index, and nothing
// counts a table.
//
// The cost of a request is what PostgreSQL counted for it: buffers touched
// and rows read, through the real server on its one connection, prepared
// statements and their plans included. That is exact and the same on every
// machine, unlike time.
//
// STITHY_LOAD_USERS and STITHY_LOAD_PROJECTS set how many there are; `make
// load` sets a million each.
package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"stithy/internal/app"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token/tokentest"
)

const (
	// maxBuffers is what a page may touch, its bounded count included.
	maxBuffers = 20_000
	// maxCounted is how far a list is counted.
	maxCounted = 10_001
)

// large is from how many rows on times are compared, and seen whether a table
// is read whole; below, noise is larger than the times, and reading the whole
// may be best.
const large = 200_000

// forge is the application on a database with many rows.
type forge struct {
	app    *app.App
	server *httptest.Server
	rows   int      // how many there are of what is looked at
	tables []string // those that are watched
	admin  string   // a token
}

// size is how many rows there shall be.
func size(t *testing.T, variable, small string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), small))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// newForge serves a filled database.
func newForge(t *testing.T, address string, rows int, tables ...string) *forge {
	t.Helper()
	dir := os.Getenv("STITHY_LOAD_DATA")
	if dir == "" {
		dir = t.TempDir()
		if err := secretbox.Generate(filepath.Join(dir, "secret.key")); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load("", []string{
		"STITHY_DATABASE_URL=" + address, "STITHY_DATA_DIR=" + dir,
		"STITHY_DATABASE_MAX_CONNS=1", // all requests and all questions about them share a session
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &forge{rows: rows, tables: tables}
	if f.app, err = app.New(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.app.Close)
	if err := errors.Join(f.app.Prepare(t.Context()), f.app.Ready(t.Context())); err != nil {
		t.Fatal(err)
	}
	f.server = httptest.NewServer(f.app.Handler())
	t.Cleanup(f.server.Close)
	f.admin = f.token(t, "admin")
	return f
}

// token is that of an active person who meets a condition.
func (f *forge) token(t *testing.T, condition string) string {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), f.app.DB,
		`select id from users where state = 'active' and kind = 'human' and `+condition+` order by id limit 1`)
	if err != nil {
		t.Fatal(err)
	}
	return tokentest.New(t, f.app.DB, f.app.Box, id)
}

// session is the cookie of a browser in which that person is signed in.
func (f *forge) session(t *testing.T, condition string) string {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), f.app.DB,
		`select id from users where state = 'active' and kind = 'human' and `+condition+` order by id limit 1`)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := f.app.Tokens.StartSession(t.Context(), id, netip.MustParseAddr("127.0.0.1"), "Browser/1")
	if err != nil {
		t.Fatal(err)
	}
	return wire.Names(f.app.Config.Identifiers).SessionCookie() + "=" + secret.Reveal()
}

// read is the body at an address, for whoever that header names.
func (f *forge) read(t *testing.T, path, name, value string) (http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(name, value)
	res, err := http.DefaultTransport.RoundTrip(req) // a page that sends elsewhere is not the page
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %.500s %v", path, res.Status, body, err)
	}
	return res.Header, body
}

// answer is what came back, and how long it took.
type answer struct {
	header http.Header
	ids    []int64
	took   time.Duration
}

func (f *forge) get(t *testing.T, path, token string) answer {
	t.Helper()
	began := time.Now()
	header, body := f.read(t, "/api/v4"+path, "Private-Token", token)
	took := time.Since(began)
	type row struct {
		ID int64 `json:"id"`
	}
	var rows []row
	if body[0] == '{' {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		t.Fatalf("%s: %v in %.200s", path, err, body)
	}
	a := answer{header: header, took: took}
	for _, row := range rows {
		a.ids = append(a.ids, row.ID)
	}
	return a
}

// cost is what PostgreSQL did for a request.
type cost struct {
	Buffers  int64 // of all tables and their indexes
	SeqRows  int64 // of the watched tables, read in no order
	SeqScans int64
	Rows     int64 // of the watched tables, read by an index
}

func (c cost) minus(o cost) cost {
	return cost{c.Buffers - o.Buffers, c.SeqRows - o.SeqRows, c.SeqScans - o.SeqScans, c.Rows - o.Rows}
}

// counters reads what the session has done so far.
func (f *forge) counters(t *testing.T) cost {
	t.Helper()
	if _, err := f.app.DB.Exec(t.Context(), "select pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	c, err := postgres.One[cost](t.Context(), f.app.DB, `
		select (select sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))
			from pg_statio_user_tables)::bigint as buffers, sum(seq_tup_read)::bigint as seq_rows, sum(seq_scan)::bigint as seq_scans,
			(select sum(idx_tup_read) from pg_stat_user_indexes where relname = any($1))::bigint as rows
		from pg_stat_user_tables where relname = any($1)`, f.tables)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (f *forge) measure(t *testing.T, path, token string) (answer, cost) {
	t.Helper()
	before := f.counters(t)
	a := f.get(t, path, token)
	return a, f.counters(t).minus(before)
}

// medians are the p50 of 200 requests each, in turn: what else the machine does
// then falls on both.
func (f *forge) medians(t *testing.T, first, middle, token string) (a, b time.Duration) {
	t.Helper()
	var one, other []time.Duration
	for range 200 {
		one = append(one, f.get(t, first, token).took)
		other = append(other, f.get(t, middle, token).took)
	}
	slices.Sort(one)
	slices.Sort(other)
	return one[100], other[100]
}
