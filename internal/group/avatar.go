package group

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/picture"
	"stithy/internal/platform/postgres"
)

// setAvatar gives a group a picture, or takes it away; nil leaves it.
func (s *Service) setAvatar(ctx context.Context, tx pgx.Tx, g *Group, given *picture.Upload) error {
	if given == nil {
		return nil
	}
	taken, err := picture.Take(*given)
	if err != nil {
		return err
	}
	if g.Avatar = taken.Name; taken.Name == "" {
		_, err := tx.Exec(ctx, sqlDropAvatar, g.ID)
		return err
	}
	_, err = tx.Exec(ctx, sqlPutAvatar, g.ID, taken.ContentType, taken.Content, taken.Name)
	return err
}

// avatar reads the picture of a group that the actor sees.
func (s *Service) avatar(ctx context.Context, g *Group) (picture.Picture, error) {
	found, err := postgres.One[picture.Picture](ctx, s.DB, sqlAvatar, g.ID)
	if errors.Is(err, postgres.ErrNoRows) {
		return picture.Picture{}, fault.Missing("Avatar")
	}
	return found, err
}

// Avatar reads the picture at an address that the group's form gave out, for
// someone who sees the group, and tells whether everyone does.
func (s *Service) Avatar(ctx context.Context, a access.Actor, id int64, name string) (found picture.Picture, everyone bool, err error) {
	g, err := s.Find(ctx, a, id)
	if err != nil {
		return picture.Picture{}, false, err
	}
	if name != g.Avatar {
		return picture.Picture{}, false, fault.Missing("Avatar")
	}
	found, err = s.avatar(ctx, g)
	return found, g.Visibility == access.Open, err
}
