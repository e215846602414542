package user

import (
	"context"
	"errors"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Preferences are how a person likes things.
type Preferences struct {
	UserID                    int64
	ViewDiffsFileByFile       bool
	ShowWhitespaceInDiffs     bool
	PassUserIdentitiesToCIJWT bool `db:"pass_user_identities_to_ci_jwt"`
}

// PreferencesChange sets what is not nil.
type PreferencesChange struct {
	ViewDiffsFileByFile, ShowWhitespaceInDiffs, PassUserIdentitiesToCIJWT *bool
}

// Preferences reads what a person likes.
func (s *Service) Preferences(ctx context.Context, userID int64) (Preferences, error) {
	return s.preferences(ctx, sqlPreferences, userID)
}

// SetPreferences changes what a person likes.
func (s *Service) SetPreferences(ctx context.Context, userID int64, c PreferencesChange) (Preferences, error) {
	return s.preferences(ctx, sqlSetPreferences, userID, c.ViewDiffsFileByFile, c.ShowWhitespaceInDiffs, c.PassUserIdentitiesToCIJWT)
}

func (s *Service) preferences(ctx context.Context, sql string, args ...any) (Preferences, error) {
	p, err := postgres.One[Preferences](ctx, s.deps.DB, sql, args...)
	if errors.Is(err, postgres.ErrNoRows) {
		return Preferences{}, fault.NotFoundf("User")
	}
	return p, err
}
