package deploytoken

import (
	"context"
	"errors"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
)

// Bearer is a deploy token that was presented at a door.
type Bearer struct {
	Token
	NamespaceID *int64
	ProjectID   *int64
}

// Credential is the token as decisions see it.
func (b *Bearer) Credential() access.Credential {
	c := access.Credential{Kind: access.DeployToken, ID: b.ID}
	for _, scope := range b.Scopes {
		c.Scopes = append(c.Scopes, access.Scope(scope))
	}
	return c
}

// Authenticate finds the token of a user name and a secret, nil when there is
// none that may be used.
func (s *Service) Authenticate(ctx context.Context, username, secret string) (*Bearer, error) {
	b, err := postgres.One[Bearer](ctx, s.deps.DB, sqlBearer, s.deps.Box.Digest(string(kind), secret), username, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, nil
	}
	return &b, err
}

// Reaches reports whether the token is one of the project, or of a group above
// it.
func (s *Service) Reaches(ctx context.Context, b *Bearer, projectID int64) (bool, error) {
	if b.NamespaceID == nil {
		return b.ProjectID != nil && *b.ProjectID == projectID, nil
	}
	return postgres.Value[bool](ctx, s.deps.DB, sqlInGroup, projectID, *b.NamespaceID)
}
