package acme

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"

	"stithy/internal/platform/postgres"
)

// Protocol is what a handshake names that only proves a name.
const Protocol = acme.ALPNProto

// served is a certificate in memory, and when it was last compared with the database.
type served struct {
	mu      sync.Mutex
	pair    *tls.Certificate
	version int64
	at      time.Time
}

const (
	// fresh is how long a certificate is served without another look: what changes is seen by every node within it.
	fresh = 3 * time.Second
	// maxServed is how many are in memory. Beyond it all are read again when they are asked for.
	maxServed = 20_000
	// lookTime is how long a handshake waits for the database.
	lookTime = 5 * time.Second
)

// Serve is the certificate for a handshake, by the name that the client asks for. Challenges are answered too.
func (s *Service) Serve(ctx context.Context, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if slices.Equal(hello.SupportedProtos, []string{Protocol}) {
		return s.challenged(ctx, name)
	}
	return s.Certificate(ctx, name)
}

// Certificate is the one that there is for a name.
func (s *Service) Certificate(ctx context.Context, name string) (*tls.Certificate, error) {
	if !wellFormed.MatchString(name) {
		return nil, ErrNone
	}
	c := s.remembered(name)
	if c == nil {
		c = &served{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.deps.Clock.Now()
	if c.pair != nil && now.Sub(c.at) < fresh {
		return c.pair, nil
	}
	found, err := s.Find(ctx, name)
	if err != nil || found.Chain == "" {
		s.drop(name)
		return nil, errors.Join(ErrNone, err)
	}
	if c.pair == nil || c.version != found.Version {
		if c.pair, err = s.pair(found); err != nil {
			return nil, err
		}
	}
	c.version, c.at = found.Version, now
	s.remember(name, c)
	return c.pair, nil
}

func (s *Service) remembered(name string) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[name]
}

// remember keeps what was found; names without a certificate take no memory.
func (s *Service) remember(name string, c *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.served) >= maxServed {
		clear(s.served)
	}
	s.served[name] = c
}

func (s *Service) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, name)
}

// challenged is the certificate that proves a name in a handshake, for a challenge that was posed for it.
func (s *Service) challenged(ctx context.Context, name string) (*tls.Certificate, error) {
	if !wellFormed.MatchString(name) {
		return nil, ErrNone
	}
	token, err := postgres.Value[string](ctx, s.deps.DB, sqlHandshake, name, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	proof, err := client.TLSALPN01ChallengeCert(token, name)
	return &proof, err
}

// challengePath is where an authority asks for proofs over HTTP. Nothing else is ever served below it.
const challengePath = "/.well-known/acme-challenge/"

// wellFormed is a token, or a name, that there may be.
var wellFormed = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,253}$`)

// Answering answers challenges over HTTP, of any name that one was posed for, and leaves the rest to another handler.
func (s *Service) Answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.URL.Path, challengePath)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		host := r.Host
		if bare, _, err := net.SplitHostPort(host); err == nil {
			host = bare
		}
		ctx, cancel := context.WithTimeout(r.Context(), lookTime)
		defer cancel()
		answer, err := "", postgres.ErrNoRows
		if wellFormed.MatchString(token) && wellFormed.MatchString(host) {
			answer, err = postgres.Value[string](ctx, s.deps.DB, sqlAnswer, strings.ToLower(host), token, s.deps.Clock.Now())
		}
		switch {
		case errors.Is(err, postgres.ErrNoRows):
			http.NotFound(w, r)
		case err != nil:
			s.deps.Log.ErrorContext(ctx, "a challenge was not answered", "error", err)
			http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write([]byte(answer)) //nolint:gosec // it is our own: a token of the authority and a digest
		}
	})
}
