package lifecycle

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// What a request line and its headers may be: maxHeaderBytes of them together, and maxHeaders lines. It is far above what a
// request needs, so that an overlong query string reaches the handler, which answers 414 in the words of the API; above it
// the answer is a bare 431. A short line takes many times its length in memory for as long as its request lasts, so that no
// more than maxLines are read, what comes with them of a body included.
const (
	maxHeaderBytes = 320 << 10
	maxHeaders     = 200
	maxLines       = 5000
)

// HTTPOptions are the limits of a listener on those who are slow and on those who are many. Zero stands for the default.
type HTTPOptions struct {
	ReadHeaderTimeout time.Duration // 10 seconds
	IdleTimeout       time.Duration // two minutes

	// Stall is how long a client may send nothing of its body, or take nothing of its answer: 30 seconds. LeastRate
	// is how many bytes for each second keep it from being cut when it does so little by little: 1024.
	Stall     time.Duration
	LeastRate int64

	// PerAddress is how many connections an address may have, or 64 bits of addresses of IPv6: 1024. Exempt names
	// the addresses that may have more, such as those of proxies. Refused is told of each connection too many.
	PerAddress int
	Exempt     func(netip.Addr) bool
	Refused    func(netip.Prefix)

	TLS *tls.Config // nil for a listener without; with it HTTP/2 is spoken as well
}

func (o HTTPOptions) orDefaults() HTTPOptions {
	o.ReadHeaderTimeout = cmp.Or(o.ReadHeaderTimeout, 10*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	o.LeastRate = cmp.Or(o.LeastRate, 1024)
	o.PerAddress = cmp.Or(o.PerAddress, 1024)
	if o.Exempt == nil {
		o.Exempt = func(netip.Addr) bool { return false }
	}
	if o.Refused == nil {
		o.Refused = func(netip.Prefix) {}
	}
	return o
}

// HTTPServer is a part that answers HTTP/1.1, and HTTP/2 where it speaks TLS.
//
// There is no limit on the time that a body or an answer takes as a whole, since a push or a clone may take an hour, as
// long as it moves. A handler that wants one sets it for its request with http.ResponseController.
type HTTPServer struct {
	name    string
	listen  string
	server  *http.Server
	http2   *http.Server // nil without TLS
	secured *secured
	parking *parkingLot
	door    *door
	died    chan error
	addr    net.Addr
}

// HTTP makes a server that Part starts. What net/http has to say (a handler's panic, for one) goes to log.
func HTTP(name, listen string, handler http.Handler, log *slog.Logger, options HTTPOptions) *HTTPServer {
	options, parking := options.orDefaults(), newParkingLot()
	server := func(handler http.Handler) *http.Server {
		return &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: options.ReadHeaderTimeout,
			IdleTimeout:       options.IdleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			Protocols:         new(http.Protocols),
			ErrorLog:          slog.NewLogLogger(log.With("part", name).Handler(), slog.LevelWarn),
		}
	}
	s := &HTTPServer{
		name: name, listen: listen, server: server(timed(handler, options)), parking: parking,
		door: &door{parking: parking, options: options, open: map[netip.Prefix]int{}},
		died: make(chan error, 4),
	}
	s.server.ConnContext = remember
	s.server.Protocols.SetHTTP1(true)
	if options.TLS != nil {
		s.secured = newSecured(s.door, options.TLS, options)
		s.http2 = server(streamed(handler, options))
		s.http2.Protocols.SetHTTP2(true)
		s.http2.HTTP2 = &http2Limits
	}
	return s
}

// Component is ready once connections are accepted. To stop, it accepts no more, lets requests in flight finish,
// and cuts those that outlast the grace period.
func (s *HTTPServer) Component() Component {
	return Component{Name: s.name, Start: s.start, Stop: s.stop, Died: s.died}
}

// Addr is the address that the server listens on, with the real port if the setting said 0. It is known once
// the part has started.
func (s *HTTPServer) Addr() net.Addr { return s.addr }

func (s *HTTPServer) start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	s.addr = listener.Addr()
	s.door.Listener = listener
	s.parking.addr = s.addr
	go s.serve(s.server, s.parking)
	if s.secured == nil {
		go s.serve(s.server, s.door)
		return nil
	}
	s.secured.plain.addr, s.secured.http2.addr = s.addr, s.addr
	go s.serve(s.server, s.secured.plain)
	go s.serve(s.http2, s.secured.http2)
	go func() {
		if err := s.secured.accept(); !errors.Is(err, net.ErrClosed) {
			s.died <- err
		}
	}()
	return nil
}

func (s *HTTPServer) serve(server *http.Server, from net.Listener) {
	if err := server.Serve(from); !errors.Is(err, http.ErrServerClosed) {
		s.died <- err
	}
}

func (s *HTTPServer) stop(ctx context.Context) error {
	s.parking.empty(ctx)
	if s.secured == nil {
		return shut(ctx, s.server)
	}
	err := s.door.Close()
	return errors.Join(err, shut(ctx, s.server), shut(ctx, s.http2))
}

func shut(ctx context.Context, server *http.Server) error {
	err := server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("requests were cut off: %w", err), server.Close())
}
