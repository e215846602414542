// Package tokentest seeds tokens for the tests of other rooms.
package tokentest

import (
	"context"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// NoResolver knows no secret of its kind.
type NoResolver struct{}

// Bearer finds nobody.
func (NoResolver) Bearer(context.Context, access.Presented) (*user.User, access.Credential, error) {
	return nil, access.Credential{}, nil
}

// New seeds a token that does not expire and returns its secret. Without
// scopes it has api.
func New(t testing.TB, q postgres.Querier, box *secretbox.Box, userID int64, scopes ...access.Scope) string {
	t.Helper()
	if scopes == nil {
		scopes = []access.Scope{access.ScopeAPI}
	}
	secret := "svcpat-" + secretbox.RandomToken(20)
	_, err := q.Exec(context.WithoutCancel(t.Context()), `
		insert into personal_access_tokens (user_id, name, digest, scopes, created_at, updated_at)
		values ($1, 'seed', $2, $3, '2024-01-01', '2024-01-01')`,
		userID, box.Digest(string(access.PersonalToken), secret), scopes)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
