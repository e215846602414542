package group

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
)

var avatars = avatar.Store{Put: sqlPutAvatar, Drop: sqlDropAvatar, Get: sqlAvatar}

// setAvatar gives a group a picture, or takes it away; nil leaves it.
func setAvatar(ctx context.Context, tx pgx.Tx, g *Group, given *avatar.Upload) (err error) {
	if given != nil {
		g.Avatar, err = avatars.Set(ctx, tx, g.ID, *given)
	}
	return err
}

// Avatar reads the picture at an address that the group's form gave out, for
// someone who sees the group, and tells whether everyone does.
func (s *Service) Avatar(ctx context.Context, a access.Actor, id int64, name string) (found avatar.Image, everyone bool, err error) {
	g, err := s.Find(ctx, a, id)
	if err != nil {
		return avatar.Image{}, false, err
	}
	if name != g.Avatar {
		return avatar.Image{}, false, fault.NotFoundf("Avatar")
	}
	found, err = avatars.Find(ctx, s.deps.DB, g.ID)
	return found, g.Visibility == access.Public, err
}
