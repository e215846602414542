package postgres

import (
	"bytes"
	"runtime"
	"sync"
)

// strict watches, for tests, that nobody in a transaction asks for a second connection: as many who do so at once as
// the pool has connections wait for each other for ever.
type strict struct {
	tell func()
	in   sync.Map // the goroutines that are in a transaction
}

// Strict calls tell whenever a goroutine that is in a transaction goes beside it. Tests alone can afford to know.
func (db *DB) Strict(tell func()) { db.strict = &strict{tell: tell} }

// beside is asked before a connection is.
func (s *strict) beside() {
	if s == nil {
		return
	}
	if _, in := s.in.Load(goroutine()); in {
		s.tell()
	}
}

// enter notes that this goroutine is in a transaction, until leave is called.
func (s *strict) enter() (leave func()) {
	if s == nil {
		return func() {}
	}
	id := goroutine()
	s.in.Store(id, true)
	return func() { s.in.Delete(id) }
}

// goroutine is the name of the one that asks, as its stack begins with it.
func goroutine() string {
	head := make([]byte, 32)
	head = head[:runtime.Stack(head, false)]
	name, _, _ := bytes.Cut(head, []byte(" ["))
	return string(name)
}
