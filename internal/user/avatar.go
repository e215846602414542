package user

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/picture"
	"stithy/internal/platform/postgres"
)

// setAvatar gives an account a picture, or takes it away.
func (s *Service) setAvatar(ctx context.Context, tx pgx.Tx, u *User, given picture.Upload) error {
	p, err := picture.Take(given)
	if err != nil {
		return err
	}
	if u.Avatar = p.Name; p.Name == "" {
		_, err := tx.Exec(ctx, sqlDropAvatar, u.ID)
		return err
	}
	_, err = tx.Exec(ctx, sqlPutAvatar, u.ID, p.ContentType, p.Content, p.Name)
	return err
}

// avatar reads the picture of an account under its present name.
func (s *Service) avatar(ctx context.Context, userID int64, name string) (picture.Picture, error) {
	p, err := postgres.One[picture.Picture](ctx, s.db, sqlAvatar, userID, name)
	if errors.Is(err, postgres.ErrNoRows) {
		return picture.Picture{}, fault.New(fault.NotFound)
	}
	return p, err
}
