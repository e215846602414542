package project

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/picture"
	"stithy/internal/platform/postgres"
)

// setAvatar gives a project a picture, or takes it away; nil leaves it.
func (s *Service) setAvatar(ctx context.Context, tx pgx.Tx, p *Project, given *picture.Upload) error {
	if given == nil {
		return nil
	}
	taken, err := picture.Take(*given)
	if err != nil {
		return err
	}
	if p.Avatar = taken.Name; taken.Name == "" {
		_, err := tx.Exec(ctx, sqlDropAvatar, p.ID)
		return err
	}
	_, err = tx.Exec(ctx, sqlPutAvatar, p.ID, taken.ContentType, taken.Content, taken.Name)
	return err
}

// avatar reads the picture of a project that the actor sees.
func (s *Service) avatar(ctx context.Context, p *Project) (picture.Picture, error) {
	found, err := postgres.One[picture.Picture](ctx, s.DB, sqlAvatar, p.ID)
	if errors.Is(err, postgres.ErrNoRows) {
		return picture.Picture{}, fault.Missing("Avatar")
	}
	return found, err
}

// Avatar reads the picture at an address that the project's form gave out, for
// someone who sees the project, and tells whether everyone does.
func (s *Service) Avatar(ctx context.Context, a access.Actor, id int64, name string) (found picture.Picture, everyone bool, err error) {
	p, err := s.Find(ctx, a, id)
	if err != nil {
		return picture.Picture{}, false, err
	}
	if name != p.Avatar {
		return picture.Picture{}, false, fault.Missing("Avatar")
	}
	found, err = s.avatar(ctx, p)
	return found, p.Visibility == access.Open, err
}
