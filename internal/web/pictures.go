package web

import (
	"context"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/picture"
)

// picturePages serve the pictures of groups and projects to those who see
// them. Those of people are for everyone and need no session: front has them.
func (d *Door) picturePages() []page {
	return []page{
		{route: "GET /uploads/-/system/group/avatar/{id}/{filename}", who: anyone, do: pictureOf(d.Groups.Avatar)},
		{route: "GET /uploads/-/system/project/avatar/{id}/{filename}", who: anyone, do: pictureOf(d.Projects.Avatar)},
	}
}

func pictureOf(find func(context.Context, access.Actor, int64, string) (picture.Picture, bool, error)) func(*visit) error {
	return func(x *visit) error {
		id, err := strconv.ParseInt(x.r.PathValue("id"), 10, 64)
		if err != nil {
			return fault.New(fault.NotFound)
		}
		found, everyone, err := find(x.r.Context(), x.actor, id, x.r.PathValue("filename"))
		if err != nil {
			return err
		}
		picture.Serve(x.w, x.r, found, everyone)
		return nil
	}
}
