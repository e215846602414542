package lifecycle

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ErrSlow is the error of a body whose client sends nothing, or too little, for too long.
var ErrSlow = errors.New("the client sends too slowly")

var errLines = errors.New("the header has too many lines")

// patience is how long a client may still keep us waiting. Waiting uses it up, bytes that come or go give it back.
// So a client that stalls is cut when the time is over, and one that trickles is cut when it stays below the rate.
type patience struct {
	most time.Duration

	mu   sync.Mutex // TLS answers some of what it reads while a handler writes
	rate int64      // bytes for each second of waiting
	left time.Duration
}

func newPatience(o HTTPOptions) *patience {
	return &patience{most: o.Stall, rate: o.LeastRate, left: o.Stall}
}

// again is the patience with another request.
func (p *patience) again(rate int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate, p.left = rate, p.most
}

func (p *patience) hurry(rate int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = max(p.rate, rate)
}

func (p *patience) deadline(start time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return start.Add(p.left)
}

// used notes a wait and the bytes that moved in it, and reports whether the client may go on.
func (p *patience) used(waited time.Duration, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	earned := p.most
	if n < p.rate*int64(p.most/time.Second+1) { // more would fill it up, and might not fit a duration
		earned = time.Duration(n) * time.Second / time.Duration(p.rate)
	}
	p.left = min(p.most, p.left-waited+earned)
	return p.left > 0
}

// connection is one client's connection. What is written to it has to be taken at the least rate.
type connection struct {
	net.Conn
	parking *parkingLot
	closed  func() // is called once
	secure  bool   // Conn speaks TLS, and what is below it sees to what is written

	sending   *patience // with the request that is being answered
	receiving *patience // with its body, where it has one

	cut       atomic.Bool  // nothing more is read: what comes next is the rest of a body that was given up
	answering atomic.Bool  // a request whose header has been read
	lines     atomic.Int64 // read while none was

	unread []byte       // comes before what the client sends: a request that was parked
	waited *ParkOptions // of that request
}

func (c *connection) Read(b []byte) (int, error) {
	if c.cut.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	if len(c.unread) == 0 {
		n, err := c.Conn.Read(b)
		if !c.answering.Load() && c.lines.Add(int64(bytes.Count(b[:n], []byte{'\n'}))) > maxLines {
			return 0, errLines
		}
		return n, err
	}
	n := copy(b, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

func (c *connection) Write(b []byte) (int, error) {
	if c.secure {
		return c.Conn.Write(b)
	}
	return c.sending.write(c.Conn, b)
}

// ReadFrom lets files go to the socket by themselves.
func (c *connection) ReadFrom(from io.Reader) (int64, error) {
	to, ok := c.Conn.(io.ReaderFrom)
	if !ok || !isFile(from) {
		return io.Copy(struct{ io.Writer }{c}, from)
	}
	var sent int64
	err := c.sending.until(c.Conn, func() (int64, error) {
		n, err := to.ReadFrom(from)
		sent += n
		return n, err
	})
	return sent, err
}

// isFile reports whether the system can send it, and goes on where it was when it is asked again.
func isFile(from io.Reader) bool {
	if component, ok := from.(*io.LimitedReader); ok {
		from = component.R
	}
	_, ok := from.(*os.File)
	return ok
}

// until sends until all is sent, as long as the client takes what it is sent.
func (p *patience) until(to net.Conn, send func() (int64, error)) error {
	for {
		start := time.Now()
		if err := to.SetWriteDeadline(p.deadline(start)); err != nil {
			return err
		}
		n, err := send()
		if goesOn := p.used(time.Since(start), n); !goesOn || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
}

func (p *patience) write(to net.Conn, b []byte) (int, error) {
	written := 0
	err := p.until(to, func() (int64, error) {
		n, err := to.Write(b[written:])
		written += n
		return int64(n), err
	})
	return written, err
}

func (c *connection) Close() error {
	c.closed()
	return c.Conn.Close()
}

// CloseWrite tells the client that nothing more comes, as net/http does before it hangs up.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// timed bounds the time that bodies take. What no handler reads is bounded as well: net/http reads some of it
// before it sends an answer.
func timed(next http.Handler, options HTTPOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.Context().Value(connectionKey{}).(*connection)
		from.sending.again(options.LeastRate)
		from.receiving = nil
		from.answering.Store(true)
		defer func() {
			from.lines.Store(0)
			from.answering.Store(false)
		}()
		if lines(r.Header) > maxHeaders {
			r.Header = nil
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			from.receiving = newPatience(options)
			r = withBody(w, r, from.receiving, func() { from.cut.Store(true) })
		}
		next.ServeHTTP(w, r)
	})
}

// withBody is a request whose body has to come at the least rate. cut is called when it does not.
func withBody(w http.ResponseWriter, r *http.Request, receiving *patience, cut func()) *http.Request {
	body := &timedBody{ReadCloser: r.Body, patience: receiving, control: http.NewResponseController(w), cut: cut}
	_ = body.control.SetReadDeadline(receiving.deadline(time.Now()))
	r = r.WithContext(r.Context()) // net/http looks at the body of its own
	r.Body = body
	return r
}

func lines(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

// Hurry has what is left of a body, and its answer, move at a higher rate at least: while they do not, others wait for the
// slot that the request holds.
func Hurry(r *http.Request, rate int64) {
	var sending, receiving *patience
	if from, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		sending, receiving = from.sending, from.receiving
	} else if from, ok := r.Context().Value(streamKey{}).(*stream); ok {
		sending, receiving = from.sending, from.receiving
	}
	for _, p := range []*patience{sending, receiving} {
		if p != nil {
			p.hurry(rate)
		}
	}
}

type timedBody struct {
	io.ReadCloser
	*patience
	control *http.ResponseController
	cut     func() // nothing more is to be read of the connection
	ended   error  // of the read that was the last
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.ended != nil { // from now on net/http watches the connection, and a deadline would end the request
		return 0, b.ended
	}
	start := time.Now()
	_ = b.control.SetReadDeadline(b.deadline(start)) // which net/http takes back at the end of the body
	n, err := b.ReadCloser.Read(p)
	goesOn := b.used(time.Since(start), int64(n))
	if (err == nil && !goesOn) || errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlow
		b.cut() // net/http would go on with another request where a handler answers while it reads
	}
	b.ended = err
	return n, err
}

// door is a listener that bounds the connections of each address, so that no one takes them all.
type door struct {
	net.Listener
	parking *parkingLot
	options HTTPOptions

	mu   sync.Mutex
	open map[netip.Prefix]int
}

func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, ok := d.enter(c.RemoteAddr())
		if !ok {
			d.options.Refused(from)
			_ = c.Close()
			continue
		}
		return &connection{Conn: c, parking: d.parking, sending: newPatience(d.options), closed: sync.OnceFunc(func() { d.leave(from) })}, nil
	}
}

func (d *door) enter(remote net.Addr) (from netip.Prefix, ok bool) {
	address := addressOf(remote)
	if !address.IsValid() || d.options.Exempt(address) {
		return netip.Prefix{}, true
	}
	from = network(address)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[from] >= d.options.PerAddress {
		return from, false
	}
	d.open[from]++
	return from, true
}

func (d *door) leave(from netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[from]--; d.open[from] <= 0 {
		delete(d.open, from)
	}
}

func addressOf(remote net.Addr) netip.Addr {
	at, _ := netip.ParseAddrPort(remote.String())
	return at.Addr().Unmap().WithZone("")
}

// network is what one client has to itself: an address, or 64 bits of IPv6.
func network(address netip.Addr) netip.Prefix {
	bits := 64
	if address.Is4() {
		bits = 32
	}
	from, _ := address.Prefix(bits)
	return from
}
