package notification

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/alert"
	"stithy/internal/group"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/markdown"
	"stithy/internal/note"
	"stithy/internal/owner"
	"stithy/internal/pipeline"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Queue       *jobqueue.Queue
	Box         *secretbox.Box
	Users       *user.Service
	Tokens      *token.Service
	Groups      *group.Service
	Projects    *project.Service
	Owners      *owner.Service
	Issues      *issue.Service
	Notes       *note.Service
	Pipelines   *pipeline.Service
	Alerts      *alert.Service
	Markdown    *markdown.Service
	Settings    *setting.Service
	Mail        *mail.Sender
	Clock       clock.Clock
	Log         *slog.Logger
	ExternalURL *url.URL
	Names       wire.Names
}

// Service is the use cases of notification settings.
type Service struct {
	deps    Deps
	dropped atomic.Int64 // mails that one account caused too many of
}

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var errNotVerified = fault.Field("notification_email", "must be an email you have verified")

// gone is a person or an owner that went while they chose something.
var gone = func() postgres.Faults {
	all := owner.Gone("notification_settings")
	all["notification_settings_user_id_fkey"] = fault.NotFoundf("User")
	return all
}()

// initial is the level of a place where nobody chose one.
func initial(in bus.Entity) Level {
	if in.Kind == bus.OfInstance {
		return Participating
	}
	return Global
}

// Find reads what a person chose in a group or project, or everywhere (bus.Instance).
func (s *Service) Find(ctx context.Context, userID int64, in bus.Entity) (Setting, error) {
	return find(ctx, s.deps.DB, userID, in)
}

func find(ctx context.Context, q postgres.Querier, userID int64, in bus.Entity) (Setting, error) {
	sql, args := sqlFind, []any{userID}
	switch in.Kind {
	case bus.OfGroup:
		sql, args = sqlFindOfGroup, append(args, in.ID)
	case bus.OfProject:
		sql, args = sqlFindOfProject, append(args, in.ID)
	}
	found, err := postgres.One[Setting](ctx, q, sql, args...)
	if errors.Is(err, postgres.ErrNoRows) {
		return Setting{Level: initial(in)}, nil
	}
	return found, err
}

// Update changes what a person chose in a group or project, or everywhere. A project has no address of its own.
func (s *Service) Update(ctx context.Context, userID int64, in bus.Entity, c Change) (after Setting, err error) {
	if c.Level != nil {
		if err := c.Level.check(); err != nil {
			return Setting{}, err
		}
	}
	if c.empty() {
		return s.Find(ctx, userID, in)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := put(ctx, tx, userID, in, c, s.deps.Clock.Now()); err != nil {
			return err
		}
		after, err = find(ctx, tx, userID, in)
		return err
	})
	return after, err
}

func put(ctx context.Context, tx pgx.Tx, userID int64, in bus.Entity, c Change, now time.Time) error {
	var address *string
	if c.Email != nil && *c.Email != "" {
		normal, err := user.HoldVerified(ctx, tx, userID, *c.Email)
		if err != nil {
			return err
		}
		if normal == "" || in.Kind == bus.OfProject {
			return errNotVerified
		}
		address = &normal
	}
	sql := sqlPut
	switch in.Kind {
	case bus.OfGroup:
		sql = sqlPutOfGroup
	case bus.OfProject:
		sql = sqlPutOfProject
	}
	namespaceID, projectID := owner.Keys(in)
	_, err := tx.Exec(ctx, sql, userID, namespaceID, projectID, c.Level, c.EventsSet, c.EventsOn&c.EventsSet, c.Email != nil, address, now, initial(in))
	return gone.Translate(err)
}

// Place is a group or project that somebody chose something for.
type Place struct {
	Owner *owner.Owner
	Level Level
	Email *string
}

// Own are the groups and projects that an actor chose a level or an address for, the latest first, up to a number. What they see no more is left out.
func (s *Service) Own(ctx context.Context, by access.Actor, most int) ([]Place, error) {
	rows, err := postgres.All[struct {
		NamespaceID, ProjectID *int64
		Level                  Level
		Email                  *string
	}](ctx, s.deps.DB, sqlOwn, by.ID(), most)
	if err != nil {
		return nil, err
	}
	var groupIDs, projectIDs []int64
	for _, r := range rows {
		if r.NamespaceID != nil {
			groupIDs = append(groupIDs, *r.NamespaceID)
		} else {
			projectIDs = append(projectIDs, *r.ProjectID)
		}
	}
	groups, err := s.deps.Groups.Among(ctx, by, groupIDs)
	if err != nil {
		return nil, err
	}
	projects, err := s.deps.Projects.Among(ctx, by, projectIDs)
	if err != nil {
		return nil, err
	}
	var all []Place
	for _, r := range rows {
		p := Place{Level: r.Level, Email: r.Email}
		if r.NamespaceID != nil {
			if g := groups[*r.NamespaceID]; g != nil {
				p.Owner = owner.OfGroup(g)
			}
		} else if found := projects[*r.ProjectID]; found != nil {
			p.Owner = owner.OfProject(found)
		}
		if p.Owner != nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// Resolve says what holds for some people in a project, by their ids. Whoever does not exist is left out, and so is everybody if the project does
// not.
func (s *Service) Resolve(ctx context.Context, projectID int64, userIDs []int64) (map[int64]Resolved, error) {
	return resolveIn(ctx, s.deps.DB, sqlResolve, projectID, userIDs)
}

// resolveIn does so in a project or a group, as the statement says.
func resolveIn(ctx context.Context, q postgres.Querier, sql string, placeID int64, userIDs []int64) (map[int64]Resolved, error) {
	rows, err := postgres.All[resolveRow](ctx, q, sql, userIDs, placeID)
	if err != nil {
		return nil, err
	}
	people := map[int64]*chosen{}
	for _, r := range rows {
		c := people[r.UserID]
		if c == nil {
			c = &chosen{primary: r.Primary}
			people[r.UserID] = c
		}
		r.add(c)
	}
	all := make(map[int64]Resolved, len(people))
	for id, c := range people {
		all[id] = resolve(*c)
	}
	return all, nil
}

// resolveRow is a setting of somebody on the way to a project. The nearest comes first.
type resolveRow struct {
	UserID  int64
	Primary string
	Place   *int // everywhere, then a group by its depth, or the project; nil for somebody who chose nothing
	Setting
}

// Places of settings that are not those of groups.
const (
	everywhere = 0
	inProject  = 100 // deeper than any group
)

func (r resolveRow) add(c *chosen) {
	switch {
	case r.Place == nil:
	case *r.Place == everywhere:
		c.global = &r.Setting
	case *r.Place == inProject:
		c.project = &r.Setting
	default:
		c.groups = append(c.groups, r.Setting)
	}
}
