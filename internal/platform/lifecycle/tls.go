package lifecycle

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// secured is a listener of connections that speak TLS. Handshakes are done beside each other, each within the time that a
// header may take. Those that chose HTTP/2 come out of it as they are, for net/http to know them; the others as connections like any
// other, which can be parked.
type secured struct {
	from    *door
	config  *tls.Config
	options HTTPOptions

	plain, http2 *queue
}

func newSecured(from *door, config *tls.Config, options HTTPOptions) *secured {
	config = config.Clone()
	config.NextProtos = append([]string{"h2", "http/1.1"}, config.NextProtos...)
	if config.MinVersion == 0 {
		config.MinVersion = tls.VersionTLS12
	}
	return &secured{from: from, config: config, options: options, plain: newQueue(), http2: newQueue()}
}

// accept hands on connections until the listener is closed.
func (s *secured) accept() error {
	for {
		c, err := s.from.Accept()
		if err != nil {
			return err
		}
		go s.greet(c.(*connection))
	}
}

// greet does the handshake. A client that fails learns why from TLS; nobody else has to know.
func (s *secured) greet(c *connection) {
	secure := tls.Server(&wire{connection: c}, s.config)
	ctx, cancel := context.WithTimeout(context.Background(), s.options.ReadHeaderTimeout)
	defer cancel()
	if secure.HandshakeContext(ctx) != nil {
		_ = c.Close()
		return
	}
	switch secure.ConnectionState().NegotiatedProtocol {
	case "h2":
		s.http2.put(secure)
	case "", "http/1.1":
		s.plain.put(&connection{Conn: secure, secure: true, parking: c.parking, sending: c.sending, closed: c.closed})
	default: // a protocol that the configuration has for challenges: the handshake was all of it
		_ = secure.Close()
	}
}

// wire is the connection below TLS. A deadline that passes while it is written would break TLS for good, so that it is here that
// writing goes on as long as the client takes something.
type wire struct {
	*connection
	bounded atomic.Bool // by a deadline of who writes, as TLS has for its farewell
}

func (w *wire) SetWriteDeadline(t time.Time) error {
	w.bounded.Store(!t.IsZero())
	return w.connection.Conn.SetWriteDeadline(t)
}

func (w *wire) Read(b []byte) (int, error) { return w.connection.Conn.Read(b) } // lines are counted above

func (w *wire) Write(b []byte) (int, error) {
	if w.bounded.Load() {
		return w.connection.Conn.Write(b)
	}
	return w.connection.Write(b)
}

// queue is a listener of connections that others accepted.
type queue struct {
	conns  chan net.Conn
	closed chan struct{}
	addr   net.Addr
}

func newQueue() *queue { return &queue{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (q *queue) put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.closed:
		_ = c.Close()
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	close(q.closed) // once: net/http sees to that
	return nil
}

func (q *queue) Addr() net.Addr { return q.addr }

// HTTP/2 lets a client ask much at a time over one connection. These keep what it makes the server hold near to what as many
// connections of HTTP/1.1 would.
var http2Limits = http.HTTP2Config{
	MaxConcurrentStreams: 64, MaxReceiveBufferPerConnection: 512 << 10, MaxReceiveBufferPerStream: 256 << 10,
	SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second,
}

// streamed bounds the time that requests of HTTP/2 take, as timed does for others. What is sent is bounded for the connection by the
// wire below it; what a client does not let flow, here.
func streamed(next http.Handler, options HTTPOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lines(r.Header) > maxHeaders {
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		s := &stream{ResponseWriter: w, control: http.NewResponseController(w), sending: newPatience(options)}
		if r.Body != nil && r.Body != http.NoBody {
			s.receiving = newPatience(options)
			r = withBody(w, r, s.receiving, func() {})
		}
		next.ServeHTTP(s, r.WithContext(context.WithValue(r.Context(), streamKey{}, s)))
	})
}

type streamKey struct{}

// stream is the answer to one request of HTTP/2. It is sent in pieces, each of which has to be taken in time.
type stream struct {
	http.ResponseWriter
	control            *http.ResponseController
	sending, receiving *patience
}

// piece is how much is sent before the client has to have taken some.
const piece = 32 << 10

func (s *stream) Write(b []byte) (written int, err error) {
	for {
		start := time.Now()
		_ = s.control.SetWriteDeadline(s.sending.deadline(start))
		n, err := s.ResponseWriter.Write(b[:min(len(b), piece)])
		written, b = written+n, b[n:]
		if goesOn := s.sending.used(time.Since(start), int64(n)); err != nil || len(b) == 0 || !goesOn {
			return written, err
		}
	}
}

// Flush sends what was written.
func (s *stream) Flush() {
	_ = s.control.SetWriteDeadline(s.sending.deadline(time.Now()))
	_ = s.control.Flush()
}

// Unwrap is for http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }
