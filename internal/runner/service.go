package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
)

// Kinds keep the digests of runners' tokens apart from those of any other.
const (
	kind             access.Kind = "runner"
	registrationKind access.Kind = "runner_registration"
)

const randomLength = 20

// registeredPrefix marks the token of a runner that registered itself. A
// runner takes the other prefix for one that a person made, and then leaves
// the record alone when it is unregistered.
const registeredPrefix = "glrtr-"

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Box         *secretbox.Box
	Settings    *setting.Service
	Groups      *group.Service
	Projects    *project.Service
	Clock       clock.Clock
	Log         *slog.Logger
	ExternalURL string
	Names       wire.Names
}

// Service is the use cases of runners.
type Service struct {
	deps     Deps
	contacts contacts
}

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errUnknown      = fault.New(fault.Forbidden)
	errMissing      = fault.WithMessage(fault.NotFound, "404 Not found")
	errNoAccess     = fault.WithReason(fault.Forbidden, "No access granted")
	errInsufficient = fault.WithReason(fault.Forbidden, "Insufficient permissions")
	errInvalidToken = fault.WithReason(fault.Forbidden, "invalid token supplied")
	errDisallowed   = fault.WithReason(fault.Gone, "runner registration disallowed")
	errOfGroup      = fault.WithReason(fault.Forbidden, "Runner is a group runner")
	errLocked       = fault.WithReason(fault.Forbidden, "Runner is locked")
	errMany         = fault.WithReason(fault.Forbidden, "Runner associated with more than one project")
	errLast         = fault.WithReason(fault.Forbidden, "Only one project associated with the runner. Please remove the runner instead")
	errNoRunner     = fault.NotFoundf("Runner")
)

// row is a runner as it is read.
type row struct {
	ID              int64
	RunnerType      Type
	NamespaceID     *int64
	CreatorID       *int64
	TokenExpiresAt  *time.Time
	Registered      bool
	Description     string
	MaintenanceNote string
	Name            string
	Tags            []string
	RunUntagged     bool
	AccessLevel     AccessLevel
	MaximumTimeout  *int
	Paused          bool
	Locked          bool
	ContactedAt     *time.Time
	CreatedAt       time.Time
	ProjectIDs      []int64
}

func (r row) runner() Runner {
	return Runner{
		ID: r.ID, Type: r.RunnerType, GroupID: r.NamespaceID, ProjectIDs: r.ProjectIDs, CreatorID: r.CreatorID, TokenExpiresAt: r.TokenExpiresAt,
		Registered: r.Registered, Description: r.Description, MaintenanceNote: r.MaintenanceNote, Name: r.Name, Tags: r.Tags,
		RunUntagged: r.RunUntagged, AccessLevel: r.AccessLevel, MaximumTimeout: r.MaximumTimeout, Paused: r.Paused, Locked: r.Locked,
		ContactedAt: r.ContactedAt, CreatedAt: r.CreatedAt,
	}
}

func (r Runner) draft() Draft {
	return Draft{
		Description: r.Description, MaintenanceNote: r.MaintenanceNote, Tags: r.Tags, RunUntagged: r.RunUntagged, AccessLevel: r.AccessLevel,
		MaximumTimeout: r.MaximumTimeout, Paused: r.Paused, Locked: r.Locked,
	}
}

// Find reads a runner.
func (s *Service) Find(ctx context.Context, id int64) (Runner, error) {
	return find(ctx, s.deps.DB, sqlFind, id)
}

func find(ctx context.Context, q postgres.Querier, sql string, id int64) (Runner, error) {
	r, err := postgres.One[row](ctx, q, sql, id)
	if errors.Is(err, postgres.ErrNoRows) {
		err = errMissing
	}
	return r.runner(), err
}

// Serving reads the runners that may serve a project, paused ones too, up to a
// limit: what "why does nobody take this job" is answered from.
func (s *Service) Serving(ctx context.Context, job JobFacts, limit int) ([]Runner, error) {
	rows, err := postgres.All[row](ctx, s.deps.DB, sqlServing, job.ProjectID, job.GroupIDs, limit)
	runners := make([]Runner, 0, len(rows))
	for _, r := range rows {
		runners = append(runners, r.runner())
	}
	return runners, err
}

// typeOf is the kind of runner that serves everyone, a group or a project.
func typeOf(of bus.Entity) Type {
	switch of.Kind {
	case bus.OfGroup:
		return Group
	case bus.OfProject:
		return Project
	}
	return Instance
}

// allowed reports whether the settings let groups or projects have runners of
// their own.
func (s *Service) allowed(t Type) bool {
	name := map[Type]string{Group: "group", Project: "project"}[t]
	if name == "" {
		return true
	}
	for _, registrar := range s.deps.Settings.Current().ValidRunnerRegistrars {
		if registrar == name {
			return true
		}
	}
	return false
}

// Target is whom a person wants a new runner to serve.
type Target struct {
	Type      Type
	GroupID   int64
	ProjectID int64
}

// Create makes a runner as a person who may, and returns its token, which is
// not kept. Who may not is not told whether the group or project exists.
func (s *Service) Create(ctx context.Context, by access.Actor, t Target, d Draft) (Runner, secretbox.Secret, error) {
	in, err := s.target(ctx, by, t)
	if err != nil {
		return Runner{}, "", err
	}
	r, token, err := s.create(ctx, by, in, d, false, Info{})
	if text, ok := sentences(err); ok {
		err = fault.WithReason(fault.Rejected, "%s", text)
	}
	return r, token, err
}

func (s *Service) target(ctx context.Context, by access.Actor, t Target) (bus.Entity, error) {
	if !s.allowed(t.Type) {
		return bus.Entity{}, errInsufficient
	}
	switch t.Type {
	case Instance:
		if by.Admin() {
			return bus.Instance(), nil
		}
	case Group:
		g, err := s.deps.Groups.Find(ctx, by, t.GroupID)
		if err == nil && access.Holds(by, access.AdminGroupRunners, g.Target()) {
			return g.Entity(), nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return bus.Entity{}, err
		}
	case Project:
		p, err := s.deps.Projects.Find(ctx, by, t.ProjectID)
		if err == nil && access.Holds(by, access.CreateProjectRunner, p.Target()) {
			return p.Entity(), nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return bus.Entity{}, err
		}
	}
	return bus.Entity{}, errInsufficient
}

// expiry is until when the token of a new runner works.
func (s *Service) expiry(t Type) *time.Time {
	now := s.deps.Settings.Current()
	seconds := map[Type]*int{
		Instance: now.RunnerTokenExpirationInterval, Group: now.GroupRunnerTokenExpirationInterval, Project: now.ProjectRunnerTokenExpirationInterval,
	}[t]
	if seconds == nil {
		return nil
	}
	at := s.deps.Clock.Now().Add(time.Duration(*seconds) * time.Second)
	return &at
}

func (s *Service) newToken(registered bool) secretbox.Secret {
	prefix := s.deps.Names.TokenPrefix(wire.RunnerToken)
	if registered {
		prefix = registeredPrefix
	}
	return secretbox.Secret(prefix + secretbox.RandomToken(randomLength))
}

func (s *Service) digest(token string) []byte { return s.deps.Box.Digest(string(kind), token) }

// gone is an owner that went while a runner was to be made for it.
var gone = postgres.Faults{
	"runners_namespace_id_fkey": fault.NotFoundf("Group"), "runner_projects_project_id_fkey": fault.NotFoundf("Project"),
	"runner_registration_tokens_namespace_id_fkey": fault.NotFoundf("Group"), "runner_registration_tokens_project_id_fkey": fault.NotFoundf("Project"),
	"runner_projects_key": fault.Field("runner", "has already been taken"),
}

func (s *Service) create(ctx context.Context, by access.Actor, in bus.Entity, d Draft, registered bool, info Info) (r Runner, token secretbox.Secret, err error) {
	d.Tags = clean(d.Tags)
	if err := d.check(); err != nil {
		return Runner{}, "", err
	}
	token = s.newToken(registered)
	info = info.cut()
	now := s.deps.Clock.Now()
	groupID, projectID := owner.Keys(in)
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := roomFor(ctx, tx, in, now); err != nil {
			return err
		}
		var creator *int64
		if by.SignedIn() {
			id := by.ID()
			creator = &id
		}
		id, err := postgres.Value[int64](ctx, tx, sqlCreate, typeOf(in), groupID, creator, s.digest(token.Reveal()), s.expiry(typeOf(in)), registered,
			d.Description, d.MaintenanceNote, info.Name, d.Tags, d.RunUntagged, d.AccessLevel, d.MaximumTimeout, d.Paused, d.Locked, now)
		if err != nil {
			return gone.Translate(err)
		}
		if projectID != nil {
			if _, err := tx.Exec(ctx, sqlAssign, id, *projectID, true, now); err != nil {
				return gone.Translate(err)
			}
		}
		if r, err = find(ctx, tx, sqlFind, id); err != nil {
			return err
		}
		action := Created
		if registered {
			action = Registered
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: action, By: by, In: in, Runner: r})
	})
	return r, token, err
}

// roomFor refuses a runner too many in a group or project.
func roomFor(ctx context.Context, tx pgx.Tx, in bus.Entity, now time.Time) error {
	sql := sqlRecentOfProject
	switch in.Kind {
	case bus.OfInstance:
		return nil
	case bus.OfGroup:
		sql = sqlRecentOfGroup
	}
	n, err := postgres.Value[int](ctx, tx, sql, in.ID, now.Add(-recent), maxRecent)
	if err == nil && n >= maxRecent {
		err = fault.Field("base", "Maximum number of ci registered %s runners (%d) exceeded", owner.Noun(in), maxRecent)
	}
	return err
}

// Enrol makes a runner for whoever presents a registration token; the token
// says whom it will serve.
func (s *Service) Enrol(ctx context.Context, by access.Actor, token string, d Draft, info Info) (Runner, secretbox.Secret, error) {
	t, err := postgres.One[struct {
		NamespaceID *int64
		ProjectID   *int64
	}](ctx, s.deps.DB, sqlRegistration, s.deps.Box.Digest(string(registrationKind), token))
	if errors.Is(err, postgres.ErrNoRows) {
		return Runner{}, "", errInvalidToken
	}
	if err != nil {
		return Runner{}, "", err
	}
	in := owner.OfKeys(t.NamespaceID, t.ProjectID)
	if !s.deps.Settings.Current().AllowRunnerRegistrationToken || !s.allowed(typeOf(in)) {
		return Runner{}, "", errDisallowed
	}
	return s.create(ctx, by, in, d, true, info)
}

// ResetRegistration gives an owner, or the instance, a new registration token, and ends the old
// one.
func (s *Service) ResetRegistration(ctx context.Context, by access.Actor, of bus.Entity) (token secretbox.Secret, err error) {
	namespaceID, projectID := owner.Keys(of)
	token = secretbox.Secret(secretbox.RandomToken(randomLength))
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		digest := s.deps.Box.Digest(string(registrationKind), token.Reveal())
		// Who finds that somebody else made the first one meanwhile replaces it.
		for _, sql := range []string{sqlRenewRegistration, sqlNewRegistration, sqlRenewRegistration} {
			done, err := tx.Exec(ctx, sql, namespaceID, projectID, digest, s.deps.Clock.Now())
			if err != nil {
				return gone.Translate(err)
			}
			if done.RowsAffected() > 0 {
				break
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: RegistrationReset, By: by, In: of})
	})
	return token, err
}

// entityOf is the trail that acts on a runner belong to.
func entityOf(r Runner) bus.Entity {
	switch {
	case r.GroupID != nil:
		return owner.OfKeys(r.GroupID, nil)
	case len(r.ProjectIDs) > 0:
		return owner.OfKeys(nil, &r.ProjectIDs[0])
	}
	return bus.Instance()
}

// change locks a runner, lets the caller look at it and change it, and tells
// what happened.
func (s *Service) change(ctx context.Context, by access.Actor, id int64, what Action, do func(tx pgx.Tx, r *Runner) error) (r Runner, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if r, err = find(ctx, tx, sqlLock, id); err != nil {
			return err
		}
		in := entityOf(r)
		if err := do(tx, &r); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: what, By: by, In: in, Runner: r})
	})
	return r, err
}

// Update changes a runner.
func (s *Service) Update(ctx context.Context, by access.Actor, id int64, change func(*Draft)) (Runner, error) {
	return s.change(ctx, by, id, Updated, func(tx pgx.Tx, r *Runner) error {
		d := r.draft()
		change(&d)
		d.Tags = clean(d.Tags)
		if err := d.check(); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUpdate, id, d.Description, d.MaintenanceNote, d.Tags, d.RunUntagged, d.AccessLevel, d.MaximumTimeout,
			d.Paused, d.Locked, s.deps.Clock.Now()); err != nil {
			return err
		}
		var err error
		*r, err = find(ctx, tx, sqlFind, id)
		return err
	})
}

// Remove ends a runner. Jobs that it works on are found by the rooms above.
func (s *Service) Remove(ctx context.Context, by access.Actor, id int64) error {
	_, err := s.change(ctx, by, id, Removed, func(tx pgx.Tx, r *Runner) error {
		if len(r.ProjectIDs) > 1 && !by.Admin() && by.SignedIn() {
			return errMany
		}
		_, err := tx.Exec(ctx, sqlDelete, id)
		return err
	})
	return err
}

// ResetToken gives a runner a new token, and ends the old one.
func (s *Service) ResetToken(ctx context.Context, by access.Actor, id int64) (r Runner, token secretbox.Secret, err error) {
	r, err = s.change(ctx, by, id, TokenReset, func(tx pgx.Tx, r *Runner) error {
		token, r.TokenExpiresAt = s.newToken(r.Registered), s.expiry(r.Type)
		_, err := tx.Exec(ctx, sqlResetToken, id, s.digest(token.Reveal()), r.TokenExpiresAt, s.deps.Clock.Now())
		return err
	})
	return r, token, err
}

// Assign lets a project runner serve one more project. The actor manages the
// project already, and must manage the runner, too.
func (s *Service) Assign(ctx context.Context, by access.Actor, id int64, p *project.Project) (Runner, error) {
	known, err := s.Find(ctx, id)
	if err != nil {
		return Runner{}, err
	}
	mine, err := s.manages(ctx, by, known)
	if err != nil {
		return Runner{}, err
	}
	return s.change(ctx, by, id, Assigned, func(tx pgx.Tx, r *Runner) error {
		switch {
		case r.Type == Group:
			return errOfGroup
		case r.Locked && !by.Admin():
			return errLocked
		case !mine || r.Type != Project:
			return errNoAccess
		}
		if _, err := tx.Exec(ctx, sqlAssign, id, p.ID, false, s.deps.Clock.Now()); err != nil {
			return gone.Translate(err)
		}
		r.ProjectIDs = append(r.ProjectIDs, p.ID)
		return nil
	})
}

// Unassign ends that a runner serves a project. The last project goes with the
// runner alone.
func (s *Service) Unassign(ctx context.Context, by access.Actor, id int64, p *project.Project) error {
	_, err := s.change(ctx, by, id, Unassigned, func(tx pgx.Tx, r *Runner) error {
		done, err := tx.Exec(ctx, sqlUnassign, id, p.ID)
		switch {
		case err != nil:
			return err
		case done.RowsAffected() == 0:
			return errNoRunner
		case len(r.ProjectIDs) == 1:
			return errLast
		}
		return nil
	})
	if errors.Is(err, errMissing) {
		err = errNoRunner
	}
	return err
}

// OnProjectRemoving ends the runners that serve nobody else.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	_, err := tx.Exec(ctx, sqlOnlyOf, e.ProjectID)
	return err
}

// manages reports whether an actor may change a runner: administrators all,
// owners of a group its runners, and of a runner of projects those who maintain
// the project that it was made for, or all that it serves. Who changes a runner
// decides where the jobs of all of them go, and their secrets.
func (s *Service) manages(ctx context.Context, by access.Actor, r Runner) (bool, error) {
	if r.Type != Project || by.Admin() {
		return s.uses(ctx, by, r)
	}
	managed, err := s.Managed(ctx, by, r.ID)
	return managed[r.ID], err
}

// uses reports whether an actor sees how a runner is set up: who manages it,
// and maintainers of any project that it serves.
func (s *Service) uses(ctx context.Context, by access.Actor, r Runner) (bool, error) {
	switch {
	case by.Admin():
		return true, nil
	case !by.SignedIn() || r.Type == Instance:
		return false, nil
	case r.GroupID != nil:
		g, err := s.deps.Groups.Find(ctx, by, *r.GroupID)
		if fault.Is(err, fault.NotFound) {
			return false, nil
		}
		return err == nil && access.Holds(by, access.AdminGroupRunners, g.Target()), err
	}
	return postgres.Value[bool](ctx, s.deps.DB, sqlMaintains, by.ID(), s.deps.Clock.Now().UTC(), r.ID)
}

// Managed says which of some runners of projects a person manages by their
// roles.
func (s *Service) Managed(ctx context.Context, by access.Actor, ids ...int64) (map[int64]bool, error) {
	if !by.SignedIn() || len(ids) == 0 {
		return nil, nil
	}
	found, err := postgres.Values[int64](ctx, s.deps.DB, sqlManaged, by.ID(), s.deps.Clock.Now().UTC(), ids)
	managed := make(map[int64]bool, len(found))
	for _, id := range found {
		managed[id] = true
	}
	return managed, err
}

// Owned finds a runner that the actor manages.
func (s *Service) Owned(ctx context.Context, by access.Actor, id int64) (Runner, error) {
	return s.findFor(ctx, by, id, s.manages)
}

// Used finds a runner that the actor sees from one of the projects it serves.
func (s *Service) Used(ctx context.Context, by access.Actor, id int64) (Runner, error) {
	return s.findFor(ctx, by, id, s.uses)
}

func (s *Service) findFor(ctx context.Context, by access.Actor, id int64,
	may func(context.Context, access.Actor, Runner) (bool, error),
) (Runner, error) {
	r, err := s.Find(ctx, id)
	if err != nil {
		return Runner{}, err
	}
	ok, err := may(ctx, by, r)
	if err == nil && !ok {
		err = errNoAccess
	}
	return r, err
}

// lineage is the line of groups that ends in a namespace.
func (s *Service) lineage(ctx context.Context, namespaceID int64) ([]int64, error) {
	line, err := postgres.Value[[]int64](ctx, s.deps.DB, sqlLineage, namespaceID)
	if err != nil {
		return nil, fmt.Errorf("reading a line of groups: %w", err)
	}
	return line, nil
}
