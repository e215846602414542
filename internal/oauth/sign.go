package oauth

import (
	"context"
	"errors"
	"maps"

	"github.com/golang-jwt/jwt/v5"

	"stithy/internal/platform/postgres"
)

// ErrAudience says that a job asked for a token that an application of this
// instance would take for a sign-in.
var ErrAudience = errors.New("oauth: the audience is an application of this instance")

// SignForJob makes a token of claims by which services elsewhere know a job.
// Sign-ins have the same issuer and are verified with the same document of
// keys, and a job names its audience itself. What keeps the two apart is that no
// token of a job names an application of this instance, which is ErrAudience;
// the key is another one as well.
func (s *Service) SignForJob(ctx context.Context, audience []string, claims map[string]any) (string, error) {
	known, err := postgres.Value[bool](ctx, s.deps.DB, sqlAnyApplication, audience)
	if err == nil && known {
		err = ErrAudience
	}
	if err != nil {
		return "", err
	}
	kid, key, err := s.signingKey(ctx, jobTokens)
	if err != nil {
		return "", err
	}
	signed := jwt.MapClaims(maps.Clone(claims))
	if signed["aud"] = audience; len(audience) == 1 {
		signed["aud"] = audience[0]
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, signed)
	unsigned.Header["kid"] = kid
	return unsigned.SignedString(key)
}
