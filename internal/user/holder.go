package user

import (
	"context"
	"errors"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Confirmed are the addresses that a person has confirmed, in their normal form.
func (s *Service) Confirmed(ctx context.Context, userID int64) ([]string, error) {
	return postgres.Values[string](ctx, s.deps.DB, sqlConfirmedOf, userID)
}

// Holder finds whose address this is, and spells it as it is kept. An address
// that nobody confirmed is nobody's: the holder is nil.
func (s *Service) Holder(ctx context.Context, address string) (email string, holder *User, err error) {
	email, normal, ok := parseAddress(address)
	if !ok {
		return "", nil, fault.Field("email", "is invalid")
	}
	u, err := postgres.One[User](ctx, s.deps.DB, sqlHolder, normal)
	if errors.Is(err, postgres.ErrNoRows) {
		return email, nil, nil
	}
	return email, &u, err
}
