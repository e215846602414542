// Package app is the composition root: who gets what (build.go), what follows
// from what (reactions.go), and which parts a process runs (roles.go). It is
// the only package that knows every room.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"

	"stithy/internal/alert"
	"stithy/internal/apidocs"
	"stithy/internal/artifact"
	"stithy/internal/audit"
	"stithy/internal/badge"
	"stithy/internal/board"
	"stithy/internal/bot"
	"stithy/internal/changelog"
	"stithy/internal/core"
	"stithy/internal/deploykey"
	"stithy/internal/deploytoken"
	"stithy/internal/dispatch"
	"stithy/internal/errortracking"
	"stithy/internal/event"
	"stithy/internal/front"
	"stithy/internal/githttp"
	"stithy/internal/gitpath"
	"stithy/internal/gitssh"
	"stithy/internal/gitstore"
	"stithy/internal/issue"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/label"
	"stithy/internal/lfs"
	"stithy/internal/markdown"
	"stithy/internal/member"
	"stithy/internal/mention"
	"stithy/internal/milestone"
	"stithy/internal/note"
	"stithy/internal/notification"
	"stithy/internal/oauth"
	"stithy/internal/pages"
	"stithy/internal/pagesproxy"
	"stithy/internal/pipeline"
	"stithy/internal/platform/acme"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/schema"
	"stithy/internal/platform/secretbox"
	"stithy/internal/platform/telemetry"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/runner"
	"stithy/internal/schedule"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/snippet"
	"stithy/internal/template"
	"stithy/internal/todo"
	"stithy/internal/upload"
	"stithy/internal/variable"
	"stithy/internal/web"
	"stithy/internal/wiki"
)

// Parts is what an application is made from.
type Parts struct {
	Config *config.Config
	Log    *slog.Logger
	Clock  clock.Clock
	DB     *postgres.DB
	Box    *secretbox.Box
	Store  *gitstore.Store
	Blobs  blob.Store
	Redis  *ratelimit.Redis // nil on one box
	DNS    pages.Resolver   // that of the system when nil
	Trust  *acme.Trust      // in the certificate authority; that of the system when nil
}

// App is the application put together, not yet running: its parts and its
// rooms.
type App struct {
	Parts
	core.Rooms
	Bus           *bus.Bus
	Queue         *jobqueue.Queue
	SignIns       *signin.Service
	Members       *member.Service
	Protection    *protection.Service
	Bots          *bot.Service
	DeployTokens  *deploytoken.Service
	Repositories  *repository.Service
	Changelogs    *changelog.Service
	Uploads       *upload.Service
	Markdown      *markdown.Service
	DeployKeys    *deploykey.Service
	LFS           *lfs.Service
	OAuth         *oauth.Service
	Variables     *variable.Service
	Labels        *label.Service
	Milestones    *milestone.Service
	Templates     *template.Service
	Issues        *issue.Service
	Notes         *note.Service
	Boards        *board.Service
	Mentions      *mention.Service
	Todos         *todo.Service
	Badges        *badge.Service
	Wikis         *wiki.Service
	Snippets      *snippet.Service
	Runners       *runner.Service
	Artifacts     *artifact.Service
	Pipelines     *pipeline.Service
	Schedules     *schedule.Service
	Alerts        *alert.Service
	Dispatch      *dispatch.Service
	Errors        *errortracking.Service
	Pages         *pages.Service
	Certificates  *acme.Service
	Audit         *audit.Service
	Events        *event.Service
	Notifications *notification.Service

	metrics   *telemetry.Metrics
	paths     *gitpath.Service
	drain     *lifecycle.Drain
	disks     *disks
	hasher    *secretbox.Hasher
	counts    counts
	upwards   upwards
	sshLimits gitssh.Limits   // the usual ones when zero
	waits     postgres.Limits // of requests for the database; the usual ones when zero
}

// jobWorkers is how many jobs a node works at a time: enough to keep two cores
// busy, few enough that requests still get their connections.
const jobWorkers = 4

// New opens what the configuration names and puts the rooms together. Nothing
// runs yet; Close gives back what was opened.
func New(ctx context.Context, cfg *config.Config, log *slog.Logger) (*App, error) {
	box, err := secretbox.Load(cfg.SecretKeyFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no key file at %s: `stithy migrate` makes it for a new instance, otherwise restore it", cfg.SecretKeyFile)
	}
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, cfg.DatabaseURL.Reveal(), int(cfg.DatabaseMaxConns))
	if err != nil {
		return nil, err
	}
	var shared *ratelimit.Redis
	if cfg.RedisURL != "" {
		if shared, err = ratelimit.NewRedis(cfg.RedisURL.Reveal()); err != nil {
			return nil, err
		}
	}
	if err := checkSchema(ctx, db); err != nil {
		return nil, err
	}
	blobs, err := OpenBlobs(ctx, cfg, db, clock.System())
	if err != nil {
		return nil, err
	}
	store, err := OpenStore(ctx, cfg, db, clock.System(), log)
	if err != nil {
		return nil, err
	}
	trust, err := acme.ReadTrust(cfg.TLS.CAFile)
	if err != nil {
		return nil, fmt.Errorf("acme.ca_file: %w", err)
	}
	return Assemble(Parts{
		Config: cfg, Log: log, Clock: clock.System(), DB: db, Box: box, Store: store, Blobs: blobs, Redis: shared, Trust: trust,
	})
}

// Assemble hands every room what it needs. It touches neither network nor
// disk: the documents are made from an application without a database.
func Assemble(p Parts) (*App, error) {
	cfg, log, now, db, box := p.Config, p.Log, p.Clock, p.DB, p.Box
	registry, events := jobqueue.NewRegistry(), bus.New()
	queue, err := jobqueue.New(db, registry, log, jobWorkers)
	if err != nil {
		return nil, err
	}
	names := wire.Names(cfg.Identifiers)
	a := &App{
		Parts: p, Bus: events, Queue: queue,
		drain: lifecycle.NewDrain(cfg.DrainDelay), disks: newDisks(cfg, p.Store, p.Blobs, now), hasher: secretbox.NewHasher(2),
	}
	up := &a.upwards
	a.Rooms = core.New(core.Deps{
		DB: db, Bus: events, Queue: queue, Box: box, Hasher: a.hasher, Clock: now, Log: log, ExternalURL: cfg.ExternalURL, SSHPort: cfg.SSH.Port,
		Instance:      setting.Instance{Tier: cfg.Instance.Tier, Hosted: cfg.Instance.Hosted, Names: names},
		Impersonation: cfg.Instance.Impersonation, OAuth: &up.oauthTokens, Jobs: &up.jobTokens, Code: &up.code, JobTokens: &up.reach, Issues: &up.issues,
	})
	post, err := mail.New(cfg.SMTPURL, cfg.MailFrom)
	if err != nil {
		return nil, err
	}
	a.SignIns = signin.New(signin.Deps{
		DB: db, Bus: events, Queue: queue, Box: box, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, Mail: post, Clock: now,
		ExternalURL: cfg.ExternalURL,
	})
	base := cfg.ExternalURL.String()
	a.Members = member.New(member.Deps{
		DB: db, Bus: events, Queue: queue, Users: a.Users, Groups: a.Groups, Owners: a.Owners, Mail: post, Clock: now, ExternalURL: cfg.ExternalURL,
	})
	a.Protection = protection.New(protection.Deps{
		DB: db, Bus: events, Settings: a.Settings, Projects: a.Projects, Clock: now, Repositories: &up.protected,
	})
	a.Bots = bot.New(bot.Deps{
		DB: db, Bus: events, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, Owners: a.Owners, Clock: now,
	})
	a.DeployTokens = deploytoken.New(deploytoken.Deps{
		DB: db, Bus: events, Box: box, Owners: a.Owners, Clock: now, Names: names,
	})
	a.OAuth = oauth.New(oauth.Deps{
		DB: db, Bus: events, Box: box, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, Clock: now, ExternalURL: base, Names: names,
		Password: a.SignIns.CheckPassword, PasswordGrant: cfg.Instance.PasswordGrant,
	})
	a.Repositories = repository.New(repository.Deps{
		DB: db, Bus: events, Queue: queue, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, Projects: a.Projects,
		Protection: a.Protection, Box: box, Outbound: a.Outbound, Store: p.Store, Storages: storageNames(cfg), Clock: now, Log: log,
		ExternalURL: base, Names: names, LargeFiles: &up.largeFiles,
	})
	a.Changelogs = changelog.New(changelog.Deps{
		DB: db, Settings: a.Settings, Users: a.Users, Groups: a.Groups, Projects: a.Projects, Protection: a.Protection,
		Repositories: a.Repositories, Clock: now, Names: names,
	})
	a.Uploads = upload.New(upload.Deps{DB: db, Queue: queue, Blobs: p.Blobs, Settings: a.Settings, Projects: a.Projects, Clock: now})
	a.DeployKeys = deploykey.New(deploykey.Deps{DB: db, Bus: events, Projects: a.Projects, Clock: now})
	a.LFS = lfs.New(lfs.Deps{DB: db, Blobs: p.Blobs, Box: box, Clock: now, ExternalURL: base, Names: names, MaxSize: cfg.Git.MaxLargeFile})
	a.Variables = variable.New(variable.Deps{DB: db, Bus: events, Box: box, Clock: now, Settings: a.Settings, Owners: a.Owners})
	a.Labels = label.New(label.Deps{DB: db, Bus: events, Owners: a.Owners, Clock: now})
	a.Milestones = milestone.New(milestone.Deps{DB: db, Bus: events, Owners: a.Owners, Clock: now, ExternalURL: base})
	a.Snippets = snippet.New(snippet.Deps{
		DB: db, Bus: events, Settings: a.Settings, Users: a.Users, Projects: a.Projects, Repositories: a.Repositories, Clock: now, ExternalURL: base,
		Names: names,
	})
	a.Templates = template.New(template.Deps{Projects: a.Projects, Repositories: a.Repositories, Names: names})
	a.Issues = issue.New(issue.Deps{
		DB: db, Bus: events, Settings: a.Settings, Users: a.Users, Projects: a.Projects, Owners: a.Owners, Labels: a.Labels, Milestones: a.Milestones,
		Templates: a.Templates, Clock: now, ExternalURL: base,
	})
	a.Markdown = markdown.New(markdown.Deps{
		Users: a.Users, Groups: a.Groups, Projects: a.Projects, Repositories: a.Repositories, Labels: a.Labels, Milestones: a.Milestones,
		Issues: a.Issues, ExternalURL: cfg.ExternalURL,
	})
	a.Notes = note.New(note.Deps{
		DB: db, Bus: events, Settings: a.Settings, Users: a.Users, Projects: a.Projects, Repositories: a.Repositories, Labels: a.Labels,
		Milestones: a.Milestones, Snippets: a.Snippets, Issues: a.Issues, Clock: now,
	})
	a.Boards = board.New(board.Deps{
		DB: db, Bus: events, Settings: a.Settings, Users: a.Users, Projects: a.Projects, Owners: a.Owners, Labels: a.Labels, Milestones: a.Milestones,
		Issues: a.Issues, Clock: now, ExternalURL: base,
	})
	a.Mentions = mention.New(mention.Deps{
		DB: db, Bus: events, Queue: queue, Users: a.Users, Tokens: a.Tokens, Projects: a.Projects, Repositories: a.Repositories, Issues: a.Issues,
		Notes: a.Notes, Clock: now, ExternalURL: base,
	})
	a.Todos = todo.New(todo.Deps{DB: db, Users: a.Users, Projects: a.Projects, Issues: a.Issues, Clock: now, ExternalURL: base})
	a.Wikis = wiki.New(wiki.Deps{
		DB: db, Bus: events, Settings: a.Settings, Users: a.Users, Owners: a.Owners, Repositories: a.Repositories, Markdown: a.Markdown, Clock: now,
		ExternalURL: base,
	})
	a.paths = gitpath.New(gitpath.Deps{Projects: a.Projects, Groups: a.Groups, Wikis: a.Wikis, Snippets: a.Snippets})
	a.Badges = badge.New(badge.Deps{
		DB: db, Bus: events, Projects: a.Projects, Owners: a.Owners, Repositories: a.Repositories, Clock: now,
	})
	a.Runners = runner.New(runner.Deps{
		DB: db, Bus: events, Box: box, Settings: a.Settings, Groups: a.Groups, Projects: a.Projects, Clock: now, Log: log,
		ExternalURL: base, Names: names,
	})
	a.Artifacts = artifact.New(artifact.Deps{DB: db, Queue: queue, Blobs: p.Blobs, Box: box, Settings: a.Settings, Clock: now})
	a.Pipelines = pipeline.New(pipeline.Deps{
		DB: db, Bus: events, Queue: queue, Box: box, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, Projects: a.Projects,
		Protection: a.Protection, Repositories: a.Repositories, Variables: a.Variables, Artifacts: a.Artifacts, Runners: a.Runners,
		Outbound: a.Outbound, Clock: now, ExternalURL: base, Names: names, Schedules: &up.schedules,
	})
	a.Schedules = schedule.New(schedule.Deps{
		DB: db, Bus: events, Queue: queue, Box: box, Users: a.Users, Tokens: a.Tokens, Projects: a.Projects, Protection: a.Protection, Pipelines: a.Pipelines,
		Clock: now, Names: names, JobTokens: &up.callers,
	})
	a.Alerts = alert.New(alert.Deps{
		DB: db, Bus: events, Queue: queue, Blobs: p.Blobs, Box: box, Settings: a.Settings, Users: a.Users, Projects: a.Projects, Templates: a.Templates, Issues: a.Issues,
		Todos: a.Todos, Clock: now, ExternalURL: base,
	})
	a.Dispatch = dispatch.New(dispatch.Deps{
		DB: db, Bus: events, Box: box, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, OAuth: a.OAuth, Projects: a.Projects,
		Protection: a.Protection, Repositories: a.Repositories, Runners: a.Runners, Artifacts: a.Artifacts, Pipelines: a.Pipelines, Clock: now,
		Log: log, ExternalURL: base, Names: names, Claims: int(cfg.DatabaseMaxConns) / 2, Hold: cfg.JobRequestHold, Draining: a.drain.Done(),
	})
	a.Errors = errortracking.New(errortracking.Deps{
		DB: db, Bus: events, Box: box, Settings: a.Settings, Projects: a.Projects, Limiter: ratelimit.New(now, a.counter()), Clock: now, ExternalURL: base,
		Names: names,
	})
	a.Pages = pages.New(pages.Deps{
		DB: db, Bus: events, Queue: queue, Box: box, Settings: a.Settings, Tokens: a.Tokens, Projects: a.Projects, Artifacts: a.Artifacts,
		Pipelines: a.Pipelines, Blobs: p.Blobs, Resolver: p.resolver(), Clock: now, ExternalURL: cfg.ExternalURL, Root: pages.RootOf(cfg.Pages.ExternalURL), Names: names,
	})
	a.Certificates = acme.New(acme.Deps{
		DB: db, Queue: queue, Box: box, Clock: now, Log: log, Directory: cfg.TLS.Directory, Contact: cfg.TLS.Contact,
		Port80: cfg.TLS.RedirectListen != "",
	}, p.Trust)
	a.Audit = audit.New(audit.Deps{
		DB: db, Bus: events, Queue: queue, Box: box, Outbound: a.Outbound, Settings: a.Settings, Owners: a.Owners, Clock: now, Log: log,
	})
	a.Events = event.New(event.Deps{DB: db, Queue: queue, Settings: a.Settings, Users: a.Users, Projects: a.Projects, Clock: now})
	a.Notifications = notification.New(notification.Deps{
		DB: db, Queue: queue, Box: box, Users: a.Users, Tokens: a.Tokens, Groups: a.Groups, Projects: a.Projects, Owners: a.Owners, Issues: a.Issues,
		Notes: a.Notes, Pipelines: a.Pipelines, Alerts: a.Alerts, Markdown: a.Markdown, Settings: a.Settings, Mail: post, Clock: now, Log: log,
		ExternalURL: cfg.ExternalURL, Names: names,
	})
	a.bind()
	a.metrics = telemetry.NewMetrics(setting.Version, a.Settings.Instance().Revision)
	a.metrics.Sampled(a.gauges)
	for _, room := range []interface{ Register(*jobqueue.Registry) }{
		a.Users, a.SignIns, a.Groups, a.Projects, a.Members, a.OAuth,
		a.Repositories, a.Uploads, a.LFS, a.Mentions, a.Snippets, a.Runners, a.Artifacts, a.Pipelines, a.Schedules, a.Dispatch, a.Audit, a.Events,
		a.Notifications,
		a.Alerts, a.Errors, a.Pages, a.Certificates,
	} {
		room.Register(registry)
	}
	a.react(events)
	return a, nil
}

func (p Parts) resolver() pages.Resolver {
	if p.DNS == nil {
		return net.DefaultResolver
	}
	return p.DNS
}

func storageNames(cfg *config.Config) []string {
	var names []string
	for _, s := range cfg.Storages {
		names = append(names, s.Name)
	}
	return names
}

// Endpoints is the registry: every endpoint of every room, whatever its dialect.
func (a *App) Endpoints() []httpapi.Endpoint {
	var all []httpapi.Endpoint
	for _, room := range []interface{ Endpoints() []httpapi.Endpoint }{
		a.Settings, a.Users, a.Tokens, a.Variables, a.Groups, a.Projects, a.Members, a.Protection, a.Bots, a.DeployTokens, a.OAuth,
		a.Repositories, a.DeployKeys, a.Changelogs, a.Uploads, a.Markdown, a.LFS, a.Runners, a.Pipelines, a.Schedules, a.Dispatch,
		a.Labels, a.Milestones, a.Templates, a.Issues, a.Notes, a.Boards, a.Mentions, a.Todos, a.Badges, a.Wikis, a.Snippets, a.Events,
		a.Notifications, a.Audit, a.Alerts, a.Errors, a.Pages,
	} {
		all = append(all, room.Endpoints()...)
	}
	return all
}

// Handler is the way in over HTTP.
func (a *App) Handler() http.Handler {
	names := wire.Names(a.Config.Identifiers)
	endpoints, limiter := a.Endpoints(), ratelimit.New(a.Clock, a.counter())
	api := &httpapi.Server{
		ExternalURL: a.Config.ExternalURL, SessionCookie: names.SessionCookie(), Endpoints: endpoints,
		Authenticator: a.Tokens, Limits: a.Settings, Limiter: limiter, Clock: a.Clock, Log: a.Log,
		ExposeHeaders: exposed(names),
	}
	throttle := httpapi.Throttle{Limits: a.Settings, Limiter: limiter, Clock: a.Clock}
	provider := &httpapi.Server{
		Dialect: a.OAuth.Dialect(), Endpoints: endpoints, Limits: a.Settings, Limiter: limiter, Clock: a.Clock, Log: a.Log,
	}
	alerts := &httpapi.Server{
		Dialect: a.Alerts.Dialect(), Endpoints: endpoints, Limits: a.Settings, Limiter: limiter, Clock: a.Clock, Log: a.Log,
	}
	reports := &httpapi.Server{
		Dialect: a.Errors.Dialect(), Endpoints: endpoints, Limits: a.Settings, Limiter: limiter, Clock: a.Clock, Log: a.Log,
	}
	people := web.New(web.Deps{
		Users: a.Users, Tokens: a.Tokens, SignIns: a.SignIns, Groups: a.Groups, Projects: a.Projects, Members: a.Members, Pipelines: a.Pipelines,
		Artifacts: a.Artifacts, Runners: a.Runners, Variables: a.Variables, OAuth: a.OAuth, Uploads: a.Uploads, Settings: a.Settings, Throttle: throttle,
		Markdown: a.Markdown, Labels: a.Labels, Milestones: a.Milestones, Templates: a.Templates, Issues: a.Issues, Notes: a.Notes, Boards: a.Boards,
		Todos: a.Todos, Wikis: a.Wikis, Snippets: a.Snippets, Notifications: a.Notifications, Alerts: a.Alerts, Events: a.Events, Audit: a.Audit,
		Box: a.Box, ExternalURL: a.Config.ExternalURL, Names: names, Clock: a.Clock, Log: a.Log,
		Errors: a.Errors, Repositories: a.Repositories, Sites: a.Pages,
	})
	door := &front.Front{
		API: api.Handler(), Docs: apidocs.Handler(endpoints, a.info()), Avatars: a.Users.AvatarHandler(), Git: a.gitServer(endpoints, throttle),
		OAuth: provider.Handler(), Alerts: alert.Door{Next: alerts.Handler()}, Errors: reports.Handler(), Pages: people.Handler(), Title: names.Text(),
		Metrics: a.metrics, Log: a.Log, Clock: a.Clock, Trusted: a.Config.TrustedProxies, Watchers: a.Config.MonitoringAllow,
		Checks: a.checks(), Draining: a.drain.Done(), Database: a.waits,
	}
	return door.Handler()
}

// counter is the count that nodes share; nil on one box.
func (a *App) counter() ratelimit.Counter {
	if a.Redis == nil {
		return nil
	}
	return a.Redis
}

// gitServer is the way in for git over HTTP.
func (a *App) gitServer(endpoints []httpapi.Endpoint, throttle httpapi.Throttle) *githttp.Server {
	large := &httpapi.Server{Dialect: a.LFS.Dialect(), Endpoints: endpoints, Clock: a.Clock, Log: a.Log}
	return githttp.New(githttp.Deps{
		Settings: a.Settings, Users: a.Users, Tokens: a.Tokens, DeployTokens: a.DeployTokens, DeployKeys: a.DeployKeys,
		Projects: a.Projects, Repositories: a.Repositories, Paths: a.paths, LFS: a.LFS, LargeFiles: large.Handler(), Throttle: throttle, Clock: a.Clock, Log: a.Log,
		ExternalURL: a.Config.ExternalURL, Names: wire.Names(a.Config.Identifiers),
		Password: a.SignIns.CheckPassword, Ban: githttp.Ban(a.Config.Git.Ban),
	})
}

// sshDoor is the way in for git over SSH.
func (a *App) sshDoor() *gitssh.Server {
	return gitssh.New(gitssh.Deps{
		Listen: a.Config.SSH.Listen, HostKeys: a.Config.SSH.HostKeys, Settings: a.Settings, Users: a.Users, Tokens: a.Tokens,
		DeployKeys: a.DeployKeys, Projects: a.Projects, Repositories: a.Repositories, Paths: a.paths, LFS: a.LFS, Clock: a.Clock, Log: a.Log,
		ExternalURL: a.Config.ExternalURL, Names: wire.Names(a.Config.Identifiers), Limits: a.sshLimits, Database: a.waits,
	})
}

// SiteHandler is the way in to the sites of projects.
func (a *App) SiteHandler() http.Handler {
	return pagesproxy.New(pagesproxy.Deps{
		Pages: a.Pages, OAuth: a.OAuth, Box: a.Box, Clock: a.Clock, Log: a.Log, ExternalURL: a.Config.ExternalURL,
		Root: pages.RootOf(a.Config.Pages.ExternalURL), Trusted: append([]netip.Prefix{}, a.Config.TrustedProxies...), Database: a.waits,
	})
}

// exposed are the headers of files that scripts of other origins may read.
func exposed(names wire.Names) []string {
	var headers []string
	for _, name := range []string{
		"Blob-Id", "Commit-Id", "Content-Sha256", "Encoding", "File-Name", "File-Path", "Last-Commit-Id", "Ref", "Size",
	} {
		headers = append(headers, names.Header(name))
	}
	return headers
}

func (a *App) checks() []front.Check {
	checks := []front.Check{
		{Name: "db", Do: a.DB.Ping},
		{Name: "storage", Do: a.disks.checkStorages},
		{Name: "disk", Do: a.disks.checkSpace, Optional: true}, // reading goes on, and other nodes have the same disk
	}
	if a.Redis != nil {
		checks = append(checks, front.Check{Name: "cache", Do: a.Redis.Ping, Optional: true})
	}
	return checks
}

// Ready refuses to go on with a schema that is not up to date, or with a key
// file that this database was not written with.
func (a *App) Ready(ctx context.Context) error {
	if err := checkSchema(ctx, a.DB); err != nil {
		return err
	}
	if err := checkKey(ctx, a.DB, a.Box); err != nil {
		return err
	}
	return a.Settings.Load(ctx)
}

func checkSchema(ctx context.Context, db *postgres.DB) error {
	pending, err := schema.Pending(ctx, db)
	if err != nil {
		return fmt.Errorf("asking the database for its schema: %w", err)
	}
	if pending > 0 {
		return fmt.Errorf("the database lacks %d migrations: run `stithy migrate`", pending)
	}
	return nil
}

// Prepare makes what must be there before the first start on a fresh schema.
func (a *App) Prepare(ctx context.Context) error {
	if err := storeKeyCanary(ctx, a.DB, a.Box); err != nil {
		return err
	}
	if err := a.Audit.Prepare(ctx); err != nil {
		return err
	}
	return a.Events.Prepare(ctx)
}

// WaitingRunners is how many runners wait for a job on this node.
func (a *App) WaitingRunners() int { return a.Dispatch.Waiting() }

// Close gives back what New opened.
func (a *App) Close() {
	if a.Store != nil {
		if err := a.Store.Close(); err != nil {
			a.Log.Error("closing the storages", "error", err)
		}
	}
	a.DB.Close()
	if a.Redis != nil {
		_ = a.Redis.Close()
	}
}
