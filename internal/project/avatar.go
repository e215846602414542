package project

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
)

var avatars = avatar.Store{Put: sqlPutAvatar, Drop: sqlDropAvatar, Get: sqlAvatar}

// setAvatar gives a project a picture, or takes it away; nil leaves it.
func setAvatar(ctx context.Context, tx pgx.Tx, p *Project, given *avatar.Upload) (err error) {
	if given != nil {
		p.Avatar, err = avatars.Set(ctx, tx, p.ID, *given)
	}
	return err
}

// Avatar reads the picture at an address that the project's form gave out, for
// someone who sees the project, and tells whether everyone does.
func (s *Service) Avatar(ctx context.Context, a access.Actor, id int64, name string) (found avatar.Image, everyone bool, err error) {
	p, err := s.Find(ctx, a, id)
	if err != nil {
		return avatar.Image{}, false, err
	}
	if name != p.Avatar {
		return avatar.Image{}, false, fault.NotFoundf("Avatar")
	}
	found, err = avatars.Find(ctx, s.deps.DB, p.ID)
	return found, p.Visibility == access.Public, err
}
