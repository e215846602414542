// Package front is the entrance that every HTTP request passes: it gives the
// request its id, finds out where it really came from, writes its log line and
// its metrics, and shows it to the right door. It also answers the probes of
// those who watch over the process. It decides nothing about the forge.
package front

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/telemetry"
)

// Front is the entrance. Every field is required.
type Front struct {
	API     http.Handler // everything below /api/v4
	Docs    http.Handler // everything below /-/api
	Avatars http.Handler // pictures of people
	Git     interface {
		http.Handler
		Owns(escapedPath string) bool // repositories, at any depth
	}
	OAuth interface {
		http.Handler
		Owns(path string) bool // what programs ask the OAuth provider; what else is below /oauth are pages for people
	}
	Alerts interface {
		http.Handler
		Owns(path string) bool // what monitoring sends to, below the paths of projects
	}
	Errors   http.Handler // what programs report
	Pages    http.Handler // everything that people look at
	Title    string       // what the instance calls itself
	Metrics  *telemetry.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	Trusted  []netip.Prefix // proxies whose word on addresses counts
	Watchers []netip.Prefix // who may ask how the process is doing
	Checks   []Check
	Draining <-chan struct{} // closed when the process is about to stop
	Database postgres.Limits // for all that a request does
}

// Handler is the way in.
func (f *Front) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := f.Clock.Now()
		id := r.Header.Get("X-Request-Id")
		if !telemetry.ValidRequestID(id) {
			id = telemetry.NewRequestID()
		}
		address, proxied, known := f.address(r)
		rec := &recorder{ResponseWriter: w, about: &httpapi.Recorder{RequestID: id, Address: address, Route: "other"}}
		w.Header()["X-Request-Id"] = []string{id}
		f.Metrics.RequestStarted()
		defer f.finish(rec, r, start)
		if !known {
			f.Log.WarnContext(r.Context(), "a trusted proxy does not say where a request came from", "request_id", id, telemetry.CauseKey, "proxy")
			rec.text(http.StatusBadRequest, "Bad Request: X-Forwarded-For names no address")
			return
		}
		ctx := httpapi.WithRecorder(postgres.Within(r.Context(), f.Database), rec.about)
		f.serve(rec, r.WithContext(ctx), proxied)
	})
}

// maxPath is more than any path has: that of a file may be long, and its
// letters escaped. It stands in logs and in links on pages.
const maxPath = 32 << 10

func (f *Front) serve(w *recorder, r *http.Request, proxied bool) {
	switch path := r.URL.Path; {
	case len(path)+len(r.URL.RawPath) > maxPath:
		w.text(http.StatusRequestURITooLong, "Request-URI Too Large")
	case strings.HasPrefix(path, "/errortracking/api/v1/projects/api/") || strings.HasPrefix(path, "/api/v4/error_tracking/collector/"):
		f.Errors.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/api/v4/"):
		f.API.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/api/v3/") || path == "/api/v3":
		w.json(http.StatusGone, `{"error":"API V3 is no longer supported. Use API V4 instead."}`)
	case !utf8.ValidString(path) || strings.IndexByte(path, 0) >= 0:
		w.text(http.StatusBadRequest, "Bad Request")
	case path == "/-/api" || strings.HasPrefix(path, "/-/api/"):
		w.about.Route = "/-/api"
		f.Docs.ServeHTTP(w, r)
	case f.OAuth.Owns(path) || strings.HasPrefix(path, "/.well-known/"): // where programs look, whatever they find
		f.OAuth.ServeHTTP(w, r)
	case probed(path):
		f.probe(w, r, proxied)
	case strings.HasPrefix(path, "/uploads/-/system/user/avatar/"):
		w.about.Route = "/uploads/-/system/user/avatar"
		f.Avatars.ServeHTTP(w, r)
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		w.json(http.StatusNotFound, `{"error":"404 Not Found"}`)
	case f.Git != nil && f.Git.Owns(r.URL.EscapedPath()):
		w.about.Route = "/{project}.git"
		f.Git.ServeHTTP(w, r)
	case f.Alerts != nil && f.Alerts.Owns(path):
		f.Alerts.ServeHTTP(w, r)
	default:
		f.Pages.ServeHTTP(w, r)
	}
}

// finish counts the request and writes its line, also when a door panicked. A
// request that was parked is counted when it is answered, without its wait.
func (f *Front) finish(w *recorder, r *http.Request, start time.Time) {
	if w.parked {
		f.Metrics.RequestParked()
		return
	}
	took := f.Clock.Now().Sub(start)
	status := w.status()
	if hungUp(r) && (w.code == 0 || status >= http.StatusInternalServerError) {
		status = statusHungUp
	}
	f.Metrics.ObserveRequest(r.Method, w.about.Route, status, took)
	var sudoID int64
	if w.about.Actor.Sudoer != nil {
		sudoID = w.about.Actor.Sudoer.ID
	}
	level := slog.LevelInfo
	if w.probe {
		level = slog.LevelDebug
	}
	f.Log.LogAttrs(r.Context(), level, "request",
		slog.String("request_id", w.about.RequestID),
		slog.String("method", r.Method),
		slog.String("path", telemetry.RedactURL(r.URL.RequestURI())),
		slog.String("route", w.about.Route),
		slog.Int("status", status),
		slog.Int64("bytes", w.bytes),
		slog.Int64("duration_us", took.Microseconds()),
		slog.String("address", w.about.Address.String()),
		slog.Int64("user_id", w.about.Actor.ID()),
		slog.Int64("sudo_id", sudoID),
	)
}

// statusHungUp is what is written down of a request whose client did not wait
// for the answer. No client sees it.
const statusHungUp = 499

func hungUp(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

// address is where a request came from. Only the word of a configured proxy
// counts, and of what it says the right-most address that is not a proxy. When
// that word cannot be read, nobody knows: to take the proxy for the client
// would give a stranger what the proxy may.
func (f *Front) address(r *http.Request) (a netip.Addr, proxied, known bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, true, true
	}
	a = peer.Addr().Unmap()
	forwarded := r.Header.Values("X-Forwarded-For")
	if !contains(f.Trusted, a) {
		return a, len(forwarded) > 0 || r.Header.Get("Forwarded") != "", true
	}
	if len(forwarded) == 0 {
		return a, false, true
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && contains(f.Trusted, a); i-- {
		if a, known = hopAddress(strings.TrimSpace(hops[i])); !known {
			return netip.Addr{}, true, false
		}
	}
	return a, false, true
}

// hopAddress reads an address as proxies write them; some add the port.
func hopAddress(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(text)
		a = at.Addr()
	}
	return a.Unmap().WithZone(""), err == nil
}

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// recorder remembers what the log line and the metrics need.
type recorder struct {
	http.ResponseWriter
	about  *httpapi.Recorder
	code   int
	bytes  int64
	probe  bool
	parked bool
}

func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom lets files go to the socket without passing through us.
func (w *recorder) ReadFrom(from io.Reader) (int64, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := io.Copy(w.ResponseWriter, from)
	w.bytes += n
	return n, err
}

// Hijack lets a request be parked.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.parked = err == nil
	return conn, buffered, err
}

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) status() int {
	if w.code == 0 {
		return http.StatusOK
	}
	return w.code
}

func (w *recorder) json(code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

func (w *recorder) text(code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}
