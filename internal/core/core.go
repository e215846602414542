// Package core puts together the rooms that every other room stands on. The
// application takes them from here, and so do the tests of rooms, by coretest:
// what a test runs on is wired as what people run.
package core

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"

	"stithy/internal/group"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the rooms are made from, and what they ask of rooms above them.
type Deps struct {
	DB            *postgres.DB
	Bus           *bus.Bus
	Queue         *jobqueue.Queue
	Box           *secretbox.Box
	Hasher        *secretbox.Hasher
	Clock         clock.Clock
	Log           *slog.Logger
	ExternalURL   *url.URL
	SSHPort       int // that clients reach git at; 0 is the usual one
	Instance      setting.Instance
	Impersonation bool // impersonation tokens work

	OAuth     token.Resolver // of tokens of other applications
	Jobs      token.Resolver // of tokens of running CI jobs
	Code      project.Repositories
	JobTokens project.JobTokens
	Issues    project.Issues
}

// Rooms are made and joined.
type Rooms struct {
	Settings *setting.Service
	Users    *user.Service
	Tokens   *token.Service
	Groups   *group.Service
	Projects *project.Service
	Owners   *owner.Service
	Outbound *outbound.Guard // the way out that the settings allow
}

// New puts the rooms together. It calls none of them: what they ask of rooms
// above may not be there yet.
func New(d Deps) Rooms {
	d = deps.Complete(d)
	var r Rooms
	// What these rooms ask of each other against the order in which they are made.
	var up struct {
		actors   struct{ setting.Actors }
		projects struct{ group.ProjectLister }
	}
	names, base := d.Instance.Names, d.ExternalURL.String()
	r.Settings = setting.New(setting.Deps{
		DB: d.DB, Bus: d.Bus, Clock: d.Clock, Log: d.Log, Instance: d.Instance, Actors: &up.actors,
	})
	r.Users = user.New(user.Deps{
		DB: d.DB, Bus: d.Bus, Queue: d.Queue, Settings: r.Settings, Hasher: d.Hasher, Clock: d.Clock, Log: d.Log,
		ExternalURL: d.ExternalURL, Paid: d.Instance.Enterprise(),
	})
	r.Tokens = token.New(token.Deps{
		DB: d.DB, Bus: d.Bus, Box: d.Box, Settings: r.Settings, Users: r.Users, Clock: d.Clock, Log: d.Log,
		ExternalURL: d.ExternalURL, Names: names, OAuth: d.OAuth, Jobs: d.Jobs, Impersonation: d.Impersonation,
	})
	r.Groups = group.New(group.Deps{
		DB: d.DB, Bus: d.Bus, Queue: d.Queue, Settings: r.Settings, Clock: d.Clock, ExternalURL: base, Projects: &up.projects,
	})
	r.Outbound = outbound.New(func() outbound.Rules {
		now := r.Settings.Current()
		return outbound.Rules{AllowLocal: now.AllowLocalRequestsFromWebHooksAndServices, Allowed: now.OutboundLocalRequestsWhitelist}
	})
	r.Projects = project.New(project.Deps{
		DB: d.DB, Bus: d.Bus, Queue: d.Queue, Settings: r.Settings, Users: r.Users, Groups: r.Groups, Outbound: r.Outbound, Clock: d.Clock,
		Log: d.Log, ExternalURL: base, SSHPort: d.SSHPort, Names: names, Code: d.Code, JobTokens: d.JobTokens, Issues: d.Issues,
	})
	r.Owners = owner.New(owner.Deps{Groups: r.Groups, Projects: r.Projects})
	up.actors.Actors, up.projects.ProjectLister = actors{r.Users}, r.Projects
	deps.Complete(up)
	return deps.Complete(r)
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
