// Package pagesproxy is the door to the sites of projects (Pages): it finds the site by the host that was asked for, asks who reads one that is not for
// everyone, and serves files straight out of the store.
//
// It does not own sites, their hosts and who may read them (pages), nor how people prove who they are (oauth). It has a listener of its own, at hosts that
// share nothing with the forge: it neither reads nor sets a cookie of the forge.
package pagesproxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stithy/internal/oauth"
	"stithy/internal/pages"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/memory"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Deps is what the door needs.
type Deps struct {
	Pages       *pages.Service
	OAuth       *oauth.Service
	Box         *secretbox.Box
	Clock       clock.Clock
	Log         *slog.Logger
	ExternalURL *url.URL // of the forge
	Root        pages.Root
	Trusted     []netip.Prefix // proxies whose word on addresses and schemes counts
	Database    postgres.Limits
}

const (
	// streams are sent at once, and so many of one site: a site that everybody reads does not keep readers from the others.
	streams     = 256
	streamsEach = 32
	streamWait  = 5 * time.Second
	// streamRate is how many bytes a second keep a reader from being cut who has one of them.
	streamRate = 8 << 10

	// What is known of a host is asked again after hostLife, so that new domains and deployments are there in seconds, and what a person may read after verdictLife.
	hostLife     = 3 * time.Second
	verdictLife  = 15 * time.Second
	mostHosts    = 10_000
	mostVerdicts = 10_000

	// loadedKilobytes is what the indexes of sites may take in memory, of which so many are read at once.
	loadedKilobytes = 64 << 10
	loaders         = 2

	maxPath = 4096
	maxHost = 253
)

// Server is the door.
type Server struct {
	deps     Deps
	slots    *fairshare.Slots
	hosts    *kept[found]
	verdicts *kept[bool]
	loaded   *memory.Cache[*contents]
	loading  chan struct{}
}

// New puts the door together.
func New(d Deps) *Server {
	return &Server{
		deps: deps.Complete(d), slots: fairshare.New(streams, streamsEach),
		hosts: newKept[found](d.Clock, hostLife, mostHosts), verdicts: newKept[bool](d.Clock, verdictLife, mostVerdicts),
		loaded:  memory.New(loadedKilobytes, func(_ memory.Key, c *contents) uint32 { return uint32(1 + len(c.index)>>10 + len(c.rules)) }),
		loading: make(chan struct{}, loaders),
	}
}

// request is one on its way.
type request struct {
	http.ResponseWriter
	*http.Request
	host   string // in lower case, without a port
	scheme string // that the reader used
	from   netip.Addr
}

// ServeHTTP answers with a file of the site that the host leads to.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := postgres.Within(r.Context(), s.deps.Database)
	x := &request{ResponseWriter: w, Request: r.WithContext(ctx)}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := s.serve(x); err != nil {
		s.fail(x, err)
	}
}

// fail answers for what went wrong on our side.
func (s *Server) fail(x *request, err error) {
	switch {
	case x.Context().Err() != nil:
		return // nobody waits
	case errors.Is(err, blob.ErrNotFound): // it went meanwhile
		s.missing(x)
		return
	}
	s.deps.Log.ErrorContext(x.Context(), "a site could not be served", "host", x.host, "path", x.URL.Path, "error", err)
	x.Header().Set("Retry-After", "10")
	say(x, http.StatusServiceUnavailable, "This site cannot be shown at present. Try again in a minute.")
}

func (x *request) Header() http.Header { return x.ResponseWriter.Header() }

// say answers with a sentence.
func say(x *request, status int, text string) {
	h := x.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	x.WriteHeader(status)
	if x.Method != http.MethodHead {
		_, _ = x.Write([]byte(text + "\n"))
	}
}

func (x *request) Write(text []byte) (int, error) { return x.ResponseWriter.Write(text) }

func (s *Server) missing(x *request) {
	say(x, http.StatusNotFound, "There is no page here, or you may not see it.")
}

// goTo sends the reader elsewhere.
func goTo(x *request, status int, address string) {
	x.Header().Set("Location", address)
	x.Header().Set("Cache-Control", "no-store")
	x.WriteHeader(status)
}

const (
	challenges = "/.well-known/acme-challenge/"
	authPath   = "/-/auth"
)

func (s *Server) serve(x *request) error {
	if x.Method != http.MethodGet && x.Method != http.MethodHead {
		x.Header().Set("Allow", "GET, HEAD")
		say(x, http.StatusMethodNotAllowed, "A site is only read.")
		return nil
	}
	host, ok := hostOf(x.Host)
	x.host = host
	if !ok || !goodPath(x.URL.Path) {
		s.missing(x)
		return nil
	}
	if x.TLS != nil && !strings.EqualFold(x.TLS.ServerName, host) {
		say(x, http.StatusMisdirectedRequest, "The connection was made for another host.")
		return nil
	}
	x.from, x.scheme = s.origin(x.Request)
	switch {
	case strings.HasPrefix(x.URL.Path, challenges): // never a file of a site: whoever answers there is given certificates
		s.missing(x)
		return nil
	case host == s.deps.Root.Host:
		return s.relay(x)
	case x.URL.Path == authPath:
		return s.admit(x)
	}
	at, err := s.find(x.Context(), host, x.URL.Path)
	if err != nil {
		return err
	}
	if at.site == nil {
		s.missing(x)
		return nil
	}
	return s.show(x, at)
}

// show serves a file of a site to a reader who may see it.
func (s *Server) show(x *request, at place) error {
	if at.site.HTTPSOnly && x.scheme == "http" && s.deps.Root.Scheme == "https" {
		host := x.host
		if _, ours := s.deps.Pages.Label(host); ours && s.deps.Root.Port != "" {
			host += ":" + s.deps.Root.Port
		}
		goTo(x, http.StatusMovedPermanently, (&url.URL{Scheme: "https", Host: host, Path: x.URL.Path, RawQuery: x.URL.RawQuery}).String())
		return nil
	}
	if at.moved != "" {
		goTo(x, http.StatusFound, withQuery(at.moved, x.URL))
		return nil
	}
	if at.bare {
		goTo(x, http.StatusFound, withQuery((&url.URL{Path: x.URL.Path + "/"}).EscapedPath(), x.URL))
		return nil
	}
	if !at.site.Public() {
		x.Header().Add("Vary", "Cookie")
		known, allowed, err := s.mayRead(x, at)
		switch {
		case err != nil:
			return err
		case !known:
			return s.askWho(x, at)
		case !allowed:
			s.missing(x)
			return nil
		}
	}
	release, err := s.take(x, at)
	if err != nil {
		x.Header().Set("Retry-After", "5")
		say(x, http.StatusServiceUnavailable, "Too many readers are being served. Try again in a few seconds.")
		return nil
	}
	defer release()
	lifecycle.Hurry(x.Request, streamRate)
	return s.file(x, at)
}

// withQuery is an address with the query of another.
func withQuery(address string, of *url.URL) string {
	if of.RawQuery == "" {
		return address
	}
	return address + "?" + of.RawQuery
}

// take waits briefly for one of the streams.
func (s *Server) take(x *request, at place) (release func(), err error) {
	from := fairshare.Network(x.from)
	ctx, cancel := context.WithTimeout(fairshare.With(x.Context(), fairshare.Caller{Who: from, From: from, Stranger: true}), streamWait)
	defer cancel()
	return s.slots.Take(ctx, at.item())
}

// hostOf is a host as sites are found by it. A name that means the same to DNS and is written in another way is none.
func hostOf(given string) (host string, ok bool) {
	host = given
	if h, port, err := net.SplitHostPort(given); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return "", false
		}
		host = h
	}
	host = strings.ToLower(host)
	if len(host) > maxHost || strings.ContainsFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	}) {
		return "", false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" {
			return "", false
		}
	}
	return host, true
}

// goodPath reports whether a path means the same to everyone who reads it.
func goodPath(path string) bool {
	if len(path) > maxPath || !strings.HasPrefix(path, "/") || !utf8.ValidString(path) ||
		strings.ContainsFunc(path, func(c rune) bool { return c == '\\' || unicode.IsControl(c) }) {
		return false
	}
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "." || segment == ".." || segment == "" && i < len(segments)-1 {
			return false
		}
	}
	return true
}

// origin is where a request came from, and over which scheme its reader sent it. The word of a configured proxy counts; without one, readers use the scheme
// of the root.
func (s *Server) origin(r *http.Request) (from netip.Addr, scheme string) {
	scheme = s.deps.Root.Scheme
	if r.TLS != nil {
		scheme = "https"
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, scheme
	}
	from = peer.Addr().Unmap()
	if !s.trusts(from) {
		return from, scheme
	}
	if said := strings.ToLower(r.Header.Get("X-Forwarded-Proto")); said == "http" || said == "https" {
		scheme = said
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusts(from); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		from = hop.Unmap().WithZone("")
	}
	return from, scheme
}

func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.deps.Trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
