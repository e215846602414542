package lifecycle

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxParked is more than a header needs, and less than what the server takes: written once more it may be longer.
const maxParked = maxHeaderBytes / 2

// ParkOptions is what a request leaves behind when it is parked.
type ParkOptions struct {
	Hold  time.Duration     // how long it waits at the most
	Begin func(wake func()) // is given what ends the wait early; anyone may call wake, more than once
	Gone  func()            // the client went away, and the request will not come in again
	Note  any               // what Resumed finds when it does; not nil

	Shares []Share // that it is a part of
}

// Share is what one of those who let requests wait may take of the room for them.
type Share struct {
	Of   string // whose it is
	Most int    // requests at a time
}

// ErrShare is the error of Park when as many requests wait as may. The request is as it was.
var ErrShare = errors.New("too many requests wait already")

// Park lets a request wait that has nothing to hear yet. On its handler's stack it would hold that stack and the
// buffers of its connection, some 35 kB; parked it holds the connection, its header and one small goroutine.
//
// The handler must have read the body and must return without another word. The request comes in again, without
// its body, when it is woken or its time is over. errors.ErrUnsupported leaves all as it was: the connection is not one of
// an HTTPServer. A header that might not be read a second time finds no room to wait.
func Park(w http.ResponseWriter, r *http.Request, t ParkOptions) error {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	again := head(r)
	if !ok {
		return errors.ErrUnsupported
	}
	if len(again) > maxParked || !c.parking.enter(t.Shares) {
		return ErrShare
	}
	_, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		c.parking.leave(t.Shares)
		return err
	}
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	p := &parked{conn: c, options: t, unread: slices.Concat(again, early, c.unread)}
	c.unread = nil
	// What goes wrong with the connection shows when it is read.
	_ = p.conn.SetReadDeadline(time.Now().Add(t.Hold))
	t.Begin(p.wake)
	go p.wait()
	return nil
}

// Resumed is the note of a request that was parked, for the first who asks; nil for any other request.
func Resumed(ctx context.Context) any {
	at, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return nil
	}
	if at.waited == nil {
		return nil
	}
	t := at.waited
	at.waited = nil // requests of one connection come one after the other
	at.parking.leave(t.Shares)
	return t.Note
}

type connectionKey struct{}

// head is a request as its client sent it, without a body.
func head(r *http.Request) []byte {
	var b strings.Builder
	b.WriteString(r.Method + " " + r.RequestURI + " " + r.Proto + "\r\nHost: " + r.Host + "\r\n")
	_ = r.Header.WriteSubset(&b, bodyHeaders)
	b.WriteString("Content-Length: 0\r\n\r\n")
	return []byte(b.String())
}

var bodyHeaders = map[string]bool{"Content-Length": true, "Content-Encoding": true, "Expect": true}

// parked is a request that waits in the parking lot.
type parked struct {
	conn    *connection
	options ParkOptions
	unread  []byte

	mu   sync.Mutex
	over bool
}

// wake ends the wait: reading, which is how the wait is done, fails at once.
func (p *parked) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		_ = p.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// wait reads what a client that waits for its answer does not send. So it learns when the client goes, and the
// deadline of the read is that of the wait.
func (p *parked) wait() {
	first := make([]byte, 1)
	n, err := p.conn.Read(first)
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		p.gone()
		return
	}
	_ = p.conn.SetReadDeadline(time.Time{})
	p.conn.unread, p.conn.waited = slices.Concat(p.unread, first[:n]), &p.options
	select {
	case p.conn.parking.back <- p.conn:
	case <-p.conn.parking.closed:
		p.gone()
	}
}

func (p *parked) gone() {
	_ = p.conn.Close()
	p.options.Gone()
	p.conn.parking.leave(p.options.Shares)
}

// parkingLot is where the requests of a server are parked. It is a listener: the server takes connections back from it.
type parkingLot struct {
	back   chan net.Conn
	addr   net.Addr
	closed chan struct{}
	left   chan struct{} // somebody did

	mu     sync.Mutex
	parked int
	shares map[string]int
}

func newParkingLot() *parkingLot {
	return &parkingLot{back: make(chan net.Conn), closed: make(chan struct{}), left: make(chan struct{}, 1), shares: map[string]int{}}
}

func (l *parkingLot) Accept() (net.Conn, error) {
	select {
	case c := <-l.back:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *parkingLot) Close() error {
	close(l.closed) // once: net/http sees to that
	return nil
}

func (l *parkingLot) Addr() net.Addr { return l.addr }

// remember is the context of a connection.
func remember(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// enter counts a request that waits, unless one of its shares is used up.
func (l *parkingLot) enter(shares []Share) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range shares {
		if l.shares[s.Of] >= s.Most {
			return false
		}
	}
	for _, s := range shares {
		l.shares[s.Of]++
	}
	l.parked++
	return true
}

func (l *parkingLot) leave(shares []Share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range shares {
		if l.shares[s.Of]--; l.shares[s.Of] == 0 {
			delete(l.shares, s.Of)
		}
	}
	l.parked--
	select {
	case l.left <- struct{}{}:
	default:
	}
}

// empty waits until the handler has everyone back, for a server that stops drops what it has not begun with. Whoever
// let them wait has woken them.
func (l *parkingLot) empty(ctx context.Context) {
	for l.waiting() > 0 {
		select {
		case <-l.left:
		case <-ctx.Done():
			return
		}
	}
}

func (l *parkingLot) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parked
}
