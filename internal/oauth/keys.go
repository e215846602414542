package oauth

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"sync"

	"stithy/internal/platform/postgres"
)

// idTokens and jobTokens are the purposes of keys, to tell who signed in and
// which job it is, and rs256 their one algorithm: a key never says by itself how
// it is to be used.
const (
	idTokens  = "id_token"
	jobTokens = "job_token"
	rs256     = "RS256"

	keyBits = 2048
)

// keyring remembers opened keys by their id: a key never changes.
type keyring struct {
	mu     sync.Mutex
	opened map[string]*rsa.PrivateKey
}

type keyRow struct {
	KID       string `db:"kid"`
	Algorithm string
	SealedKey []byte
}

func keyPlace(kid string) string { return "signing_keys.sealed_key:" + kid }

// signingKey is the key to sign with for a purpose. The first who needs one
// makes it.
func (s *Service) signingKey(ctx context.Context, purpose string) (kid string, key *rsa.PrivateKey, err error) {
	row, err := postgres.One[keyRow](ctx, s.deps.DB, sqlActiveKey, purpose)
	if errors.Is(err, postgres.ErrNoRows) {
		if err = s.makeKey(ctx, purpose); err == nil {
			row, err = postgres.One[keyRow](ctx, s.deps.DB, sqlActiveKey, purpose)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("reading the signing key: %w", err)
	}
	key, err = s.open(row)
	return row.KID, key, err
}

func (s *Service) makeKey(ctx context.Context, purpose string) error {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	kid := thumbprint(&key.PublicKey)
	sealed, err := s.deps.Box.Seal(der, keyPlace(kid))
	if err != nil {
		return err
	}
	_, err = s.deps.DB.Exec(ctx, sqlAddKey, kid, purpose, rs256, sealed, s.deps.Clock.Now())
	return err
}

func (s *Service) open(row keyRow) (*rsa.PrivateKey, error) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if key := s.keys.opened[row.KID]; key != nil {
		return key, nil
	}
	der, err := s.deps.Box.Open(row.SealedKey, keyPlace(row.KID))
	if err != nil {
		return nil, err
	}
	var parsed crypto.PrivateKey
	if parsed, err = x509.ParsePKCS8PrivateKey(der); err != nil {
		return nil, err
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok || row.Algorithm != rs256 {
		return nil, fmt.Errorf("signing key %s is not for %s", row.KID, rs256)
	}
	if s.keys.opened == nil {
		s.keys.opened = map[string]*rsa.PrivateKey{}
	}
	s.keys.opened[row.KID] = key
	return key, nil
}

// PublicKey is a key as others verify with it (RFC 7517).
type PublicKey struct {
	Type      string `json:"kty"`
	KID       string `json:"kid"`
	Exponent  string `json:"e"`
	Modulus   string `json:"n"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// PublicKeys are those to verify with: those of sign-ins, then those of jobs,
// the newest of each first.
func (s *Service) PublicKeys(ctx context.Context) ([]PublicKey, error) {
	var keys []PublicKey
	for _, purpose := range []string{idTokens, jobTokens} {
		if _, _, err := s.signingKey(ctx, purpose); err != nil { // there is one from the first question on
			return nil, err
		}
		rows, err := postgres.All[keyRow](ctx, s.deps.DB, sqlKeys, purpose)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			key, err := s.open(row)
			if err != nil {
				return nil, err
			}
			e, n := numbers(&key.PublicKey)
			keys = append(keys, PublicKey{Type: "RSA", KID: row.KID, Exponent: e, Modulus: n, Use: "sig", Algorithm: row.Algorithm})
		}
	}
	return keys, nil
}

func numbers(key *rsa.PublicKey) (exponent, modulus string) {
	return base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()), base64.RawURLEncoding.EncodeToString(key.N.Bytes())
}

// thumbprint names a key by what it is (RFC 7638).
func thumbprint(key *rsa.PublicKey) string {
	e, n := numbers(key)
	canonical, _ := json.Marshal(struct {
		E   string `json:"e"`
		Kty string `json:"kty"`
		N   string `json:"n"`
	}{e, "RSA", n})
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
