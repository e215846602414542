package postgrestest

import (
	"context"
	"strings"
	"testing"
)

func TestWhatDeadProcessesAndOldSchemasLeftIsDropped(t *testing.T) {
	t.Parallel()
	s := connect(t)
	id := strings.TrimPrefix(s.owner, "stithy_test_")
	guards := map[string]string{ // by database
		s.owner + "x_1":          s.owner + "x",
		"stithy_tx_" + id + "_0": "stithy_tx_" + id + "_0",
		"stithy_tmpl_" + id:      "stithy_tmpl_" + id,
	}
	exec := func(sql string, args ...any) {
		if err := s.exec(sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for name, guard := range guards {
		exec("select pg_advisory_lock(hashtextextended($1, 0))", guard)
		exec("create database " + name + " is_template true")
		exec("select pg_advisory_unlock(hashtextextended($1, 0))", guard)
	}
	alive, err := s.clone()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.drop(alive); err != nil {
			t.Error(err)
		}
	})

	other, err := newServer() // as the next process would
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.conn.Close(context.Background()) })

	exists := func(name string) bool {
		found, err := s.ask("select exists (select from pg_database where datname = $1)", name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for name, guard := range guards {
		// Another test process may be sweeping too.
		exec("select pg_advisory_lock(hashtextextended($1, 0))", guard)
		if exists(name) {
			t.Errorf("%s is still there", name)
		}
		exec("select pg_advisory_unlock(hashtextextended($1, 0))", guard)
	}
	for _, name := range []string{alive, s.template} {
		if !exists(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

func BenchmarkClone(b *testing.B) {
	s := connect(b)
	for b.Loop() {
		name, err := s.clone()
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.drop(name); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
