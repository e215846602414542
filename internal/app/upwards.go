package app

import (
	"stithy/internal/pipeline"
	"stithy/internal/platform/deps"
	"stithy/internal/project"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/schedule"
	"stithy/internal/token"
)

// upwards is what rooms ask of rooms above them, each as the interface that the
// lower room declares. The lower room is made first, when the upper one does not
// exist yet. So it is given a pointer to a struct that embeds the interface, and
// thereby has its methods; bind puts the upper room in when all are made. What
// rooms of core ask of each other is joined there.
type upwards struct {
	oauthTokens struct{ token.Resolver }
	jobTokens   struct{ token.Resolver }
	code        struct{ project.Repositories }
	reach       struct{ project.JobTokens }
	issues      struct{ project.Issues }
	protected   struct{ protection.Repositories }
	largeFiles  struct{ repository.LargeFiles }
	schedules   struct{ pipeline.Schedules }
	callers     struct{ schedule.JobTokens }
}

// bind is the last step of assemble, before which nothing calls a room.
func (a *App) bind() {
	up := &a.upwards
	up.oauthTokens.Resolver = a.OAuth
	up.jobTokens.Resolver = a.Dispatch
	up.code.Repositories = a.Repositories
	up.reach.JobTokens = a.Dispatch
	up.issues.Issues = a.Issues
	up.protected.Repositories = a.Repositories
	up.largeFiles.LargeFiles = a.LFS
	up.schedules.Schedules = a.Schedules
	up.callers.JobTokens = a.Dispatch
	deps.Complete(*up)
}
