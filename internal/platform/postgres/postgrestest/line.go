package postgrestest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Line is a connection to a database that a test can cut or hold.
type Line struct {
	URL string // of the same database, over this line

	to       string
	listener net.Listener
	mu       sync.Mutex
	moves    *sync.Cond
	frozen   bool
	down     bool
	open     []net.Conn
}

// NewLine is a line to the database at a URL.
func NewLine(t testing.TB, to string) *Line {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{to: u.Host, listener: listener}
	l.moves = sync.NewCond(&l.mu)
	u.Host = listener.Addr().String()
	l.URL = u.String()
	go l.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		l.Down()
	})
	return l
}

func (l *Line) accept() {
	for {
		here, err := l.listener.Accept()
		if err != nil {
			return
		}
		there, err := net.Dial("tcp", l.to)
		if err != nil || !l.add(here, there) {
			_ = here.Close()
			continue
		}
		go l.pass(here, there)
		go l.pass(there, here)
	}
}

func (l *Line) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	l.open = append(l.open, conns...)
	return true
}

func (l *Line) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		for l.frozen && !l.down {
			l.moves.Wait()
		}
		l.mu.Unlock()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// Freeze holds every byte from now on, as a server does that is stopped in its tracks.
func (l *Line) Freeze() { l.set(true, false) }

// Down cuts all connections and lets nobody connect.
func (l *Line) Down() { l.set(false, true) }

// Up lets everything pass again.
func (l *Line) Up() { l.set(false, false) }

func (l *Line) set(frozen, down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen, l.down = frozen, down
	if down {
		for _, c := range l.open {
			_ = c.Close()
		}
		l.open = nil
	}
	l.moves.Broadcast()
}
