package acme

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Deps is what the service needs from below.
type Deps struct {
	DB        *postgres.DB
	Queue     *jobqueue.Queue
	Box       *secretbox.Box
	Clock     clock.Clock
	Log       *slog.Logger
	Directory string // address of the authority
	Contact   string // mail address that the authority may write to; "" for none
	Port80    bool   // the instance answers there, so that names can be proved over HTTP
}

// Service orders certificates and has them.
type Service struct {
	deps Deps
	http *http.Client // that reaches the authority

	mu     sync.Mutex
	served map[string]*served
}

// requestTime is how long one request to the authority may take.
const requestTime = 30 * time.Second

// New makes the service. trust is in the authority; nil for that of the system.
func New(d Deps, trust *Trust) *Service {
	s := &Service{deps: deps.Complete(d), http: &http.Client{Timeout: requestTime}, served: map[string]*served{}}
	if trust != nil {
		s.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust.roots, MinVersion: tls.VersionTLS12}}
	}
	return s
}

// Trust is certificates that the address of an authority is trusted by.
type Trust struct{ roots *x509.CertPool }

// ReadTrust reads a file of certificates; none for no file.
func ReadTrust(file string) (*Trust, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // that of the system
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t := &Trust{roots: x509.NewCertPool()}
	if !t.roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return t, nil
}
