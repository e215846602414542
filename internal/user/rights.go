package user

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// lockPerson locks an account that is about to be given an address or a key.
// The instance's own accounts never are: nobody may come to act as them.
func (s *Service) lockPerson(ctx context.Context, tx pgx.Tx, id int64) (*User, error) {
	u, err := s.lock(ctx, tx, id)
	if err == nil && u.Kind.Internal() {
		return nil, fault.WithReason(fault.Forbidden, "An internal user cannot be modified")
	}
	return u, err
}

// findFor reads an account for someone who may be a stranger. Where the public
// level is restricted, no account exists for strangers.
func (s *Service) findFor(ctx context.Context, a access.Actor, ref string) (*User, error) {
	if !a.SignedIn() && slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, "public") {
		return nil, fault.NotFoundf("User")
	}
	return s.FindByRef(ctx, ref)
}
