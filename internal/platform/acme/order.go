package acme

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/acme"

	"stithy/internal/platform/postgres"
)

// Order gets a certificate for a name if it is due and nobody else is at it. That the authority refuses is no failure of the
// job: it is told where people look, and tried again later.
func (s *Service) Order(ctx context.Context, name string) error {
	now := s.deps.Clock.Now()
	lease := now.Add(leaseTime).Truncate(time.Microsecond)
	c, err := postgres.One[Certificate](ctx, s.deps.DB, sqlTake, name, now, lease)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	got, err := s.obtain(within, name, c.Failures)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.deps.Log.WarnContext(ctx, "a certificate was not issued", "name", name, "failures", c.Failures+1, "error", err)
		_, err = s.deps.DB.Exec(ctx, sqlFailed, name, lease, problem(err), now.Add(delay(c.Failures)))
		return err
	}
	sealed, err := s.deps.Box.Seal(got.key, keyPlace(name))
	if err != nil {
		return err
	}
	s.deps.Log.InfoContext(ctx, "a certificate was issued", "name", name, "until", got.leaf.NotAfter)
	_, err = s.deps.DB.Exec(ctx, sqlIssued, name, lease, got.chain, sealed, got.leaf.NotBefore, got.leaf.NotAfter, renewal(got.leaf.NotBefore, got.leaf.NotAfter))
	return err
}

// issued is what the authority gave.
type issued struct {
	chain string
	key   []byte
	leaf  *x509.Certificate
}

// obtain places an order and sees it through.
func (s *Service) obtain(ctx context.Context, name string, failures int) (*issued, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	account := &acme.Account{}
	if s.deps.Contact != "" {
		account.Contact = []string{"mailto:" + s.deps.Contact}
	}
	if _, err := client.Register(ctx, account, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, err
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(name))
	if err != nil {
		return nil, err
	}
	for _, address := range order.AuthzURLs {
		if err := s.prove(ctx, client, address, name, failures); err != nil {
			return nil, err
		}
	}
	if _, err = client.WaitOrder(ctx, order.URI); err != nil {
		return nil, err
	}
	return finish(ctx, client, order, name)
}

// prove shows the authority that a name leads here. What failed the last time is tried in the other way.
func (s *Service) prove(ctx context.Context, client *acme.Client, address, name string, failures int) error {
	authorization, err := client.GetAuthorization(ctx, address)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	kinds := []string{"http-01", "tls-alpn-01"}
	if !s.deps.Port80 {
		kinds = kinds[1:]
	}
	var chosen *acme.Challenge
	for n := range kinds {
		for _, offered := range authorization.Challenges {
			if chosen == nil && offered.Type == kinds[(failures+n)%len(kinds)] {
				chosen = offered
			}
		}
	}
	if chosen == nil {
		return errors.New("the authority offers neither http-01 nor tls-alpn-01")
	}
	answer, err := client.HTTP01ChallengeResponse(chosen.Token)
	if err != nil {
		return err
	}
	if _, err := s.deps.DB.Exec(ctx, sqlPose, name, chosen.Token, chosen.Type, answer, s.deps.Clock.Now().Add(leaseTime)); err != nil {
		return err
	}
	if _, err := client.Accept(ctx, chosen); err != nil {
		return err
	}
	_, err = client.WaitAuthorization(ctx, authorization.URI)
	return err
}

// finish has the certificate made for a key of its own.
func finish(ctx context.Context, client *acme.Client, order *acme.Order, name string) (*issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}}, key)
	if err != nil {
		return nil, err
	}
	parts, _, err := client.CreateCertFromOrder(ctx, order, request, true)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(parts[0])
	if err != nil {
		return nil, err
	}
	if err := leaf.VerifyHostname(name); err != nil {
		return nil, err
	}
	var chain strings.Builder
	for _, der := range parts {
		_ = pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	text, err := encodeKey(key)
	return &issued{chain: chain.String(), key: text, leaf: leaf}, err
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// client speaks to the authority with the account of the instance, which the first to ask makes.
func (s *Service) client(ctx context.Context) (*acme.Client, error) {
	place := "acme_accounts.key_sealed:" + s.deps.Directory
	sealed, err := postgres.Value[[]byte](ctx, s.deps.DB, sqlAccount, s.deps.Directory)
	if errors.Is(err, postgres.ErrNoRows) {
		if sealed, err = s.newAccount(ctx, place); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	text, err := s.deps.Box.Open(sealed, place)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the key of the ACME account is damaged")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return &acme.Client{Key: key.(crypto.Signer), HTTPClient: s.http, DirectoryURL: s.deps.Directory, UserAgent: "stithy"}, nil
}

func (s *Service) newAccount(ctx context.Context, place string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	sealed, err := s.deps.Box.Seal(text, place)
	if err != nil {
		return nil, err
	}
	if _, err := s.deps.DB.Exec(ctx, sqlNewAccount, s.deps.Directory, sealed); err != nil {
		return nil, err
	}
	return postgres.Value[[]byte](ctx, s.deps.DB, sqlAccount, s.deps.Directory) // that of whoever was first
}

// maxProblem is how many bytes of what an authority says are kept.
const maxProblem = 500

// problem is what went wrong, in the words of the authority where it has some.
func problem(err error) string {
	text := err.Error()
	if refused, ok := errors.AsType[*acme.AuthorizationError](err); ok && len(refused.Errors) > 0 {
		err = refused.Errors[0]
	}
	if said, ok := errors.AsType[*acme.Error](err); ok && said.Detail != "" {
		text = fmt.Sprintf("The certificate authority refused: %s", said.Detail)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}
