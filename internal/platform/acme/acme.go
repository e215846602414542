// Package acme gets certificates from an authority that speaks ACME (RFC 8555), and renews them. Names, certificates, the account and
// the challenges are in PostgreSQL: any node may order, every node answers for it and serves what it got.
package acme

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// Certificate is what there is for a name.
type Certificate struct {
	Name      string
	Chain     string // PEM, the leaf first; "" while there is none
	KeySealed []byte
	NotBefore *time.Time
	NotAfter  *time.Time
	DueAt     time.Time // when it is ordered, or ordered again
	Failures  int
	Problem   string // of the last order, in words for whoever wants the certificate; "" when it went well
	Version   int64
}

// ErrNone is the error of a name that has no certificate.
var ErrNone = errors.New("there is no certificate for this name")

// Want has a certificate ordered for a name, in the transaction of what makes it wanted. It is renewed until it is forgotten.
func (s *Service) Want(ctx context.Context, tx pgx.Tx, name string) error {
	if _, err := tx.Exec(ctx, sqlWant, name, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, OrderArgs{Name: name}, jobqueue.Unique())
}

// Forget ends the want of a name. Its certificate is not served any more.
func (s *Service) Forget(ctx context.Context, tx pgx.Tx, name string) error {
	_, err := tx.Exec(ctx, sqlForget, name)
	return err
}

// Find reads what there is for a name.
func (s *Service) Find(ctx context.Context, name string) (*Certificate, error) {
	c, err := postgres.One[Certificate](ctx, s.deps.DB, sqlFind, name)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, ErrNone
	}
	return &c, err
}

// pair is a certificate with its key, as TLS takes it.
func (s *Service) pair(c *Certificate) (*tls.Certificate, error) {
	key, err := s.deps.Box.Open(c.KeySealed, keyPlace(c.Name))
	if err != nil {
		return nil, err
	}
	both, err := tls.X509KeyPair([]byte(c.Chain), key)
	return &both, err
}

func keyPlace(name string) string { return "acme_certificates.key_sealed:" + name }

// renewal is when a certificate is ordered again: a third of its time is left for what may go wrong.
func renewal(notBefore, notAfter time.Time) time.Time {
	return notAfter.Add(-notAfter.Sub(notBefore) / 3)
}

// delay is how long an order waits after so many that failed. Authorities close the door for a week to those who do not.
func delay(failures int) time.Duration {
	steps := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}
	return steps[min(failures, len(steps)-1)]
}
