package signin

import (
	"context"
	"crypto/subtle"
	"net/netip"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// NewPassword is what people type to replace their password.
type NewPassword struct {
	Current, New, Again secretbox.Secret
}

// check refuses what is wrong before any password is hashed.
func (p NewPassword) check() error {
	var f fault.Fields
	if subtle.ConstantTimeCompare([]byte(p.New), []byte(p.Again)) == 0 {
		f.Add("password_confirmation", "doesn't match the new password")
	}
	if p.New == p.Current {
		f.Add("password", "must differ from the current one")
	}
	return f.Err()
}

// ChangePassword replaces the password of an account whose owner is signed in
// and knows the old one. All sessions end.
func (s *Service) ChangePassword(ctx context.Context, u *user.User, from netip.Addr, p NewPassword) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := s.Reassure(ctx, u, p.Current, from); err != nil {
		return err
	}
	by := access.Actor{Person: u.Person(), Address: from}
	return s.deps.Users.SetPassword(ctx, by, u.ID, p.New, func(pgx.Tx) error { return nil })
}

// Reassure asks a person who is signed in for the password once more, before
// something that a found telephone or an open screen must not allow. Wrong
// ones count as they do at the door.
func (s *Service) Reassure(ctx context.Context, u *user.User, password secretbox.Secret, from netip.Addr) error {
	try, err := s.count(ctx, accountKey(u.ID), from)
	if err != nil {
		return err
	}
	right, err := s.deps.Users.CheckOwnPassword(ctx, u.ID, password)
	if err != nil {
		return err
	}
	if !right {
		return fault.Field("current_password", "is wrong")
	}
	return s.giveBack(ctx, try)
}
