package oauth

import (
	"context"

	"github.com/golang-jwt/jwt/v5"
)

// Sign makes a token of claims with the key that others verify ID tokens with.
// Issuer and audience are the caller's: who takes such a token for a sign-in
// finds no application of theirs in it.
func (s *Service) Sign(ctx context.Context, claims map[string]any) (string, error) {
	kid, key, err := s.signingKey(ctx)
	if err != nil {
		return "", err
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims(claims))
	unsigned.Header["kid"] = kid
	return unsigned.SignedString(key)
}
