package app

import (
	"context"
	"strconv"

	"stithy/internal/group"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/deps"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// upwards is what rooms ask of rooms above them, each as the interface that the
// lower room declares. The lower room is made first, when the upper one does not
// exist yet. So it is given a pointer to a struct that embeds the interface, and
// thereby has its methods; bind puts the upper room in when all are made.
type upwards struct {
	actors      struct{ setting.Actors }
	oauthTokens struct{ token.Resolver }
	jobTokens   struct{ token.Resolver }
	projects    struct{ group.ProjectLister }
	code        struct{ project.Repositories }
	reach       struct{ project.JobTokens }
	largeFiles  struct{ repository.LargeFiles }
	callers     struct{ pipeline.JobTokens }
}

// bind is the last step of assemble, before which nothing calls a room.
func (a *App) bind() {
	up := &a.upwards
	up.actors.Actors = actors{users: a.Users}
	up.oauthTokens.Resolver = a.OAuth
	up.jobTokens.Resolver = a.Dispatch
	up.projects.ProjectLister = a.Projects
	up.code.Repositories = a.Repositories
	up.reach.JobTokens = a.Dispatch
	up.largeFiles.LargeFiles = a.LFS
	up.callers.JobTokens = a.Dispatch
	deps.Complete(*up)
}

// actors finds whom a feature flag is set for.
type actors struct{ users *user.Service }

func (f actors) FindActor(ctx context.Context, kind, ref string) (setting.Actor, error) {
	if kind != "user" {
		return "", fault.NotFoundf("%s", kind)
	}
	u, err := f.users.FindByUsername(ctx, ref)
	if err != nil {
		return "", err
	}
	return setting.Actor("User:" + strconv.FormatInt(u.ID, 10)), nil
}
