package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/acme"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
)

// fixture is a service whose authority refuses everybody, on a clock of its own.
type fixture struct {
	*Service
	db    *postgres.DB
	now   atomic.Pointer[time.Time]
	asked atomic.Int64 // how often the authority was
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{db: postgrestest.New(t)}
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	f.now.Store(&start)
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f.asked.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"type":"urn:ietf:params:acme:error:unauthorized","detail":"We do not know you.","status":403}`))
	}))
	t.Cleanup(authority.Close)
	queue, err := jobqueue.New(f.db, jobqueue.NewRegistry(), slog.New(slog.DiscardHandler), 1)
	if err != nil {
		t.Fatal(err)
	}
	f.Service = New(Deps{
		DB: f.db, Queue: queue, Box: secretbox.Random(), Clock: clock.Clock(func() time.Time { return *f.now.Load() }), Log: slog.New(slog.DiscardHandler),
		Directory: authority.URL, Port80: true,
	}, nil)
	return f
}

func (f *fixture) turn(d time.Duration) {
	later := f.now.Load().Add(d)
	f.now.Store(&later)
}

func (f *fixture) in(t *testing.T, do func(ctx context.Context, tx pgx.Tx, name string) error, name string) {
	t.Helper()
	if err := f.db.InTx(t.Context(), func(tx pgx.Tx) error { return do(t.Context(), tx, name) }); err != nil {
		t.Fatal(err)
	}
}

// give is a certificate that came from somewhere.
func (f *fixture) give(t *testing.T, name string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{name}, NotAfter: f.now.Load().Add(90 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := f.deps.Box.Seal(text, keyPlace(name))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.db.Exec(t.Context(), `update acme_certificates set chain = $2, key_sealed = $3, version = version + 1 where name = $1`, name,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), sealed)
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnOrderThatFailsIsTriedLaterAndSaysWhy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.in(t, f.Want, "code.example.com")
	for n, wait := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 24 * time.Hour} {
		before := f.asked.Load()
		if err := f.Order(t.Context(), "code.example.com"); err != nil {
			t.Fatal(err)
		}
		if err := f.Order(t.Context(), "code.example.com"); err != nil { // which is not due
			t.Fatal(err)
		}
		c, err := f.Find(t.Context(), "code.example.com")
		if err != nil {
			t.Fatal(err)
		}
		if f.asked.Load() != before+1 || c.Failures != n+1 || !c.DueAt.Equal(f.now.Load().Add(wait)) || !strings.Contains(c.Problem, "We do not know you.") {
			t.Fatalf("after %d orders, and %d questions: %+v", n+1, f.asked.Load()-before, c)
		}
		f.turn(wait)
	}
}

func TestManyNodesPlaceOneOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.in(t, f.Want, "code.example.com")
	f.in(t, f.Want, "code.example.com")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if err := f.Order(t.Context(), "code.example.com"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c, err := f.Find(t.Context(), "code.example.com"); err != nil || c.Failures != 1 || f.asked.Load() != 1 {
		t.Errorf("%v, %d questions: %+v", err, f.asked.Load(), c)
	}
}

// A node that dies leaves its lease behind, and another goes on when that has ended.
func TestALeaseOfADeadNodeEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.in(t, f.Want, "code.example.com")
	if _, err := postgres.One[Certificate](t.Context(), f.db, sqlTake, "code.example.com", *f.now.Load(), f.now.Load().Add(leaseTime)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{0, 1} {
		if err := f.Order(t.Context(), "code.example.com"); err != nil {
			t.Fatal(err)
		}
		if f.asked.Load() != want {
			t.Errorf("the authority was asked %d times, not %d", f.asked.Load(), want)
		}
		f.turn(leaseTime)
	}
}

func TestACertificateIsServedByItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := New(f.deps, nil) // another node
	serial := func(s *Service, name string) int64 {
		c, err := s.Serve(t.Context(), &tls.ClientHelloInfo{ServerName: name})
		if err != nil {
			return 0
		}
		return c.Leaf.SerialNumber.Int64()
	}
	f.in(t, f.Want, "code.example.com")
	for _, name := range []string{"code.example.com", "other.example.com", "", strings.Repeat("x", 300), "\x00\xff"} {
		if got := serial(f.Service, name); got != 0 {
			t.Errorf("%q has the certificate %d", name, got)
		}
	}
	f.give(t, "code.example.com", 5)
	for _, name := range []string{"code.example.com", "Code.Example.COM", "code.example.com."} {
		if a, b := serial(f.Service, name), serial(other, name); a != 5 || b != 5 {
			t.Errorf("%q has the certificates %d and %d", name, a, b)
		}
	}
	f.give(t, "code.example.com", 6)
	f.turn(5 * time.Second)
	if a, b := serial(f.Service, "code.example.com"), serial(other, "code.example.com"); a != 6 || b != 6 {
		t.Errorf("five seconds later the certificates are %d and %d", a, b)
	}
	f.in(t, f.Forget, "code.example.com")
	f.turn(5 * time.Second)
	if a, b := serial(f.Service, "code.example.com"), serial(other, "code.example.com"); a != 0 || b != 0 {
		t.Errorf("what is forgotten is served: %d and %d", a, b)
	}
}

// PG-04: a challenge is answered for its own name and token, while it is posed, and nothing else is below its path.
func TestPG04_AChallengeIsAnsweredForItsOwnNameAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range [][2]string{{"code.example.com", "http-01"}, {"alpn.example.com", "tls-alpn-01"}} {
		if _, err := f.db.Exec(t.Context(), sqlPose, c[0], "token-1", c[1], "token-1.thumb", f.now.Load().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	handler := f.Answering(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a site")) }))
	ask := func(host, path string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.URL.Path = host, path
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, host := range []string{"code.example.com", "CODE.example.com", "code.example.com:80"} {
		if status, text := ask(host, challengePath+"token-1"); status != http.StatusOK || text != "token-1.thumb" {
			t.Errorf("%s: %d %q", host, status, text)
		}
	}
	for _, c := range [][2]string{
		{"other.example.com", "token-1"}, {"code.example.com", "token-2"}, {"code.example.com", ""}, {"code.example.com", "../token-1"}, {"code.example.com", "token-1/"},
		{"code.example.com", "token-1\x00"}, {"code.example.com", "\xff"}, {"", "token-1"}, {"alpn.example.com", "token-1"}, {"code.example.com", strings.Repeat("x", 1000)},
	} {
		if status, text := ask(c[0], challengePath+c[1]); status != http.StatusNotFound || strings.Contains(text, "thumb") || strings.Contains(text, "a site") {
			t.Errorf("%q: %d %q", c, status, text)
		}
	}
	if _, text := ask("code.example.com", "/.well-known/other"); text != "a site" {
		t.Errorf("%q", text)
	}
	proof := &tls.ClientHelloInfo{ServerName: "alpn.example.com", SupportedProtos: []string{acme.ALPNProto}}
	c, err := f.Serve(t.Context(), proof)
	if err != nil || c.Leaf == nil && len(c.Certificate) != 1 {
		t.Fatalf("%v %+v", err, c)
	}
	f.turn(time.Hour)
	if status, _ := ask("code.example.com", challengePath+"token-1"); status != http.StatusNotFound {
		t.Errorf("an answer is given when its time is over: %d", status)
	}
	if _, err := f.Serve(t.Context(), proof); !errors.Is(err, ErrNone) {
		t.Errorf("a handshake is answered when its time is over: %v", err)
	}
	if err := f.Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := postgres.Value[int](t.Context(), f.db, `select count(*)::integer from acme_challenges`); err != nil || left != 0 {
		t.Errorf("%v, %d challenges are left", err, left)
	}
}

func TestACertificateIsRenewedWhenAThirdOfItsTimeIsLeft(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, want := renewal(begin, begin.Add(90*24*time.Hour)), begin.Add(60*24*time.Hour); !got.Equal(want) {
		t.Errorf("%v", got)
	}
}

func TestWhatAnAuthoritySaysIsBounded(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&acme.Error{Detail: strings.Repeat("é", 1000)}, errors.New("\x00\xff" + strings.Repeat("x", 2000)),
		&acme.AuthorizationError{Errors: []error{&acme.Error{Detail: "no such name"}}},
	} {
		got := problem(err)
		if len(got) > 520 || strings.ContainsRune(got, 0) || !strings.ContainsAny(got, "éx") && !strings.Contains(got, "no such name") {
			t.Errorf("%q", got)
		}
	}
}
