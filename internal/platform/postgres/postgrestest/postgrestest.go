// Package postgrestest gives tests a migrated database on a real server, named by STITHY_TEST_DATABASE_URL.
//
// [Tx] is the default: a transaction that is rolled back. [New] and [URL] give a database to the test alone, for
// tests of commits, of notifications, and of programs that connect themselves.
//
// The schema is migrated once into a template database that all test processes share. To copy it is a thousand files, so
// those of New are reset and reused. What a process has is guarded by advisory locks that it holds while it
// lives, so that a later process can tell what a dead one left behind.
package postgrestest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"stithy/db/migrations"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/schema"
)

// maxConns keeps many test processes together below the default limit of a server, 100 connections.
const maxConns = 4

// patience bounds one administrative statement, including the wait for another process that builds the template.
const patience = 2 * time.Minute

// New returns a migrated database of its own, with nothing in it. Its pool is small; a test that needs a larger one
// opens [URL].
func New(t testing.TB) *postgres.DB {
	t.Helper()
	s := connect(t)
	name, db, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Close()
		s.release(name)
	})
	return hold(t, db)
}

// Address is where a database of New is, for what opens it by itself. It is reset and reused when the test ends, so it
// is not for what changes the schema or fills tables; [URL] is.
func Address(t testing.TB) string {
	t.Helper()
	s := connect(t)
	name, db, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	t.Cleanup(func() { s.release(name) })
	return s.hasty(name)
}

// NewFresh is New for tests of plans: tables and indexes that held something before cost more than new ones.
func NewFresh(t testing.TB) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), URL(t), maxConns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return hold(t, db)
}

// hold lets a test fail that would wait for itself with a pool of one connection.
func hold(t testing.TB, db *postgres.DB) *postgres.DB {
	t.Helper()
	db.Strict(func() { t.Errorf("a second connection is asked for in a transaction:\n%s", debug.Stack()) })
	return db
}

// URL returns the address of a migrated database of its own, which is dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	s := connect(t)
	name, err := s.clone()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.drop(name); err != nil {
			t.Error(err)
		}
	})
	return s.address(name)
}

// Tx returns a transaction that is rolled back when the test ends. It refuses to commit.
//
// All such transactions of a test process share one database. Sequences do not roll back, so ids differ from run to
// run; and a row whose unique key another open transaction has also inserted waits for that test to end, so parallel
// tests make up their own names.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	db, err := connect(t).shared()
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rolledBack{tx}
}

type rolledBack struct{ pgx.Tx }

func (rolledBack) Commit(context.Context) error {
	return errors.New("a transaction of postgrestest.Tx is only rolled back; use postgrestest.New to commit")
}

// server is this process's one administrative session.
type server struct {
	mu       sync.Mutex // a pgx.Conn is not safe for concurrent use
	conn     *pgx.Conn
	base     url.URL
	hash     string // of the schema
	template string
	owner    string // prefix of the databases made for single tests
	made     int

	lending sync.Mutex
	next    int      // number of a database of New that this process has not tried
	idle    []string // databases of New that no test has

	shared func() (*postgres.DB, error)
}

// There is no hook at the end of a test process, so its session ends with it.
var connectOnce = sync.OnceValues(newServer)

func connect(t testing.TB) *server {
	t.Helper()
	s, err := connectOnce()
	if err != nil {
		t.Fatalf("test database (STITHY_TEST_DATABASE_URL): %v", err)
	}
	return s
}

func newServer() (*server, error) {
	base, err := url.Parse(cmp.Or(os.Getenv("STITHY_TEST_DATABASE_URL"), "postgres://root@127.0.0.1:5432/postgres"))
	if err != nil {
		return nil, err
	}
	hash, err := schemaHash()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, base.String())
	if err != nil {
		return nil, err
	}
	s := &server{
		conn:     conn,
		base:     *base,
		hash:     hash,
		template: "stithy_tmpl_" + hash,
		owner:    "stithy_test_" + strings.ToLower(rand.Text()[:10]),
	}
	s.shared = sync.OnceValues(s.openShared)
	if err := s.exec("select pg_advisory_lock(hashtextextended($1, 0))", s.owner); err != nil {
		return nil, err
	}
	if err := s.ensureTemplate(); err != nil {
		return nil, fmt.Errorf("building template: %w", err)
	}
	return s, s.sweep()
}

// schemaHash names the schema by the content of everything that makes it.
func schemaHash() (string, error) {
	sum := sha256.New()
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := fs.ReadFile(migrations.Files, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s\n%s\n", file, text)
	}
	queue, err := rivermigrate.New(riverpgxv5.New(nil), nil)
	if err != nil {
		return "", err
	}
	for _, migration := range queue.AllVersions() {
		fmt.Fprintln(sum, migration.SQLUp)
	}
	fmt.Fprintln(sum, sqlSchema)
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), nil
}

// ensureTemplate lets one process at a time build the template. The shared lock keeps others from sweeping the template
// away while this process lives.
func (s *server) ensureTemplate() error {
	if err := s.exec("select pg_advisory_lock_shared(hashtextextended($1, 0))", s.template); err != nil {
		return err
	}
	build := "build " + s.template
	if err := s.exec("select pg_advisory_lock(hashtextextended($1, 0))", build); err != nil {
		return err
	}
	return errors.Join(s.buildTemplate(), s.exec("select pg_advisory_unlock(hashtextextended($1, 0))", build))
}

func (s *server) buildTemplate() error {
	ready, err := s.isTemplate(s.template)
	if ready || err != nil {
		return err
	}
	if err := s.drop(s.template); err != nil { // half migrated by a process that died
		return err
	}
	if err := s.exec("create database " + s.template); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := schema.Migrate(ctx, s.address(s.template)); err != nil {
		return err
	}
	if err := s.describe(ctx, s.template); err != nil {
		return err
	}
	return s.exec("alter database " + s.template + " with is_template true allow_connections false")
}

// sweep drops the databases of dead processes and of other schemas, if no living process uses them.
func (s *server) sweep() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	names, err := postgres.Values[string](ctx, s.conn,
		`select datname::text from pg_database where datname ~ '^stithy_(tmpl|tx|new|test)_' order by datname`)
	if err != nil {
		return err
	}
	for _, name := range names {
		guard := name
		if strings.HasPrefix(name, "stithy_test_") {
			guard = name[:strings.LastIndex(name, "_")]
		}
		if strings.Contains(name, s.hash) || guard == s.owner {
			continue
		}
		dead, err := s.ask("select pg_try_advisory_lock(hashtextextended($1, 0))", guard)
		if err != nil {
			return err
		}
		if !dead {
			continue
		}
		if err := s.drop(name); err != nil {
			return err
		}
		if err := s.exec("select pg_advisory_unlock(hashtextextended($1, 0))", guard); err != nil {
			return err
		}
	}
	return nil
}

// openShared opens the first database for transactions that no other process has. Nothing is ever committed there, so
// it serves one process after another.
func (s *server) openShared() (*postgres.DB, error) {
	name, _, err := s.claim("stithy_tx", 0)
	if err != nil {
		return nil, err
	}
	return s.open(name)
}

func (s *server) open(name string) (*postgres.DB, error) {
	return postgres.Open(context.Background(), s.hasty(name), maxConns)
}

// claim takes the first database of a kind, from a number on, that no process has, and makes it if need be.
func (s *server) claim(kind string, from int) (name string, next int, err error) {
	for next = from; ; {
		name = fmt.Sprintf("%s_%s_%d", kind, s.hash, next)
		next++ // a process may take its own locks twice
		free, err := s.ask("select pg_try_advisory_lock(hashtextextended($1, 0))", name)
		if err != nil {
			return "", next, err
		}
		if !free {
			continue
		}
		exists, err := s.ask("select exists (select from pg_database where datname = $1)", name)
		if err == nil && !exists {
			err = s.create(name)
		}
		return name, next, err
	}
}

func (s *server) clone() (string, error) {
	s.mu.Lock()
	s.made++
	name := fmt.Sprintf("%s_%d", s.owner, s.made)
	s.mu.Unlock()
	return name, s.create(name)
}

func (s *server) create(name string) error {
	return s.exec("create database " + name + " template " + s.template)
}

func (s *server) drop(name string) error {
	marked, err := s.isTemplate(name)
	if err != nil {
		return err
	}
	if marked { // PostgreSQL does not drop a template
		if err := s.exec("alter database " + name + " with is_template false"); err != nil {
			return err
		}
	}
	return s.exec("drop database if exists " + name + " with (force)")
}

func (s *server) isTemplate(name string) (bool, error) {
	return s.ask("select exists (select from pg_database where datname = $1 and datistemplate)", name)
}

func (s *server) exec(sql string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.conn.Exec(ctx, sql, args...)
	return err
}

func (s *server) ask(sql string, args ...any) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return postgres.Value[bool](ctx, s.conn, sql, args...)
}

func (s *server) address(name string) string {
	u := s.base
	u.Path = "/" + name
	return u.String()
}

// hasty is the address of a database whose commits do not wait for the disk: it need not survive a crash of the machine.
func (s *server) hasty(name string) string {
	u := s.base
	u.Path = "/" + name
	q := u.Query()
	q.Set("synchronous_commit", "off")
	u.RawQuery = q.Encode()
	return u.String()
}
