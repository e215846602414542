package overview

import (
	"context"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
)

func showGroupPicture(x *request) error   { return showPicture(x, x.deps.Groups.Avatar) }
func showProjectPicture(x *request) error { return showPicture(x, x.deps.Projects.Avatar) }

// showPicture serves a picture to those who see what it is of.
func showPicture(x *request, find func(context.Context, access.Actor, int64, string) (avatar.Image, bool, error)) error {
	id, err := strconv.ParseInt(x.R.PathValue("id"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound)
	}
	found, everyone, err := find(x.Context(), x.Actor, id, x.R.PathValue("filename"))
	if err != nil {
		return err
	}
	avatar.Serve(x.W, x.R, found, everyone)
	return nil
}
