package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// maxHeaderBytes bounds request line and headers together. It is far above what a request needs, so that an
// overlong query string reaches the handler, which answers 414 in the words of the API; above it net/http
// answers 431 in its own.
const maxHeaderBytes = 1 << 20

// HTTPOptions are the limits of a listener on those who are slow. Zero stands for the default.
type HTTPOptions struct {
	ReadHeaderTimeout time.Duration // 10 seconds
	IdleTimeout       time.Duration // two minutes
}

// HTTPServer is a part that answers HTTP/1.1.
//
// There is no limit on the time that a body or an answer takes, since a push or a clone may take an hour. A
// handler that wants one sets it for its request with http.ResponseController.
type HTTPServer struct {
	name   string
	listen string
	server *http.Server
	lot    *lot
	died   chan error
	addr   net.Addr
}

// HTTP makes a server that Part starts. What net/http has to say (a handler's panic, for one) goes to log.
func HTTP(name, listen string, handler http.Handler, log *slog.Logger, options HTTPOptions) *HTTPServer {
	parking := newLot()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // HTTP/2 ends at the proxy, and its floods with it
	return &HTTPServer{
		name:   name,
		listen: listen,
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: defaultTo(options.ReadHeaderTimeout, 10*time.Second),
			IdleTimeout:       defaultTo(options.IdleTimeout, 2*time.Minute),
			MaxHeaderBytes:    maxHeaderBytes,
			Protocols:         protocols,
			ConnContext:       parking.remember,
			ErrorLog:          slog.NewLogLogger(log.With("part", name).Handler(), slog.LevelWarn),
		},
		lot:  parking,
		died: make(chan error, 2),
	}
}

func defaultTo(d, initial time.Duration) time.Duration {
	if d == 0 {
		return initial
	}
	return d
}

// Part is ready once connections are accepted. To stop, it accepts no more, lets requests in flight finish,
// and cuts those that outlast the grace period.
func (s *HTTPServer) Part() Part {
	return Part{Name: s.name, Start: s.start, Stop: s.stop, Died: s.died}
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
	go s.serve(listener)
	s.lot.addr = s.addr
	go s.serve(s.lot)
	return nil
}

func (s *HTTPServer) serve(from net.Listener) {
	if err := s.server.Serve(from); !errors.Is(err, http.ErrServerClosed) {
		s.died <- err
	}
}

func (s *HTTPServer) stop(ctx context.Context) error {
	s.lot.empty(ctx)
	err := s.server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("requests were cut off: %w", err), s.server.Close())
}
