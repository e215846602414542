package group

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stithy/internal/grant"
	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Settings    *setting.Service
	Clock       clock.Clock
	ExternalURL string
	Projects    ProjectLister
}

// ProjectLister is the room of projects, which fills in what a group shows of
// them.
type ProjectLister interface {
	// OfGroup finds, for a viewer, the projects that stand in a group and those
	// that were shared with it.
	OfGroup(ctx context.Context, a access.Actor, g *Group) (projects, shared []any, err error)
}

// Service is the use cases of groups.
type Service struct {
	deps       Deps
	attributes *attribute.Store[*Group]
}

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d)}
	s.attributes = newAttributes(s)
	return s
}

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// Find reads a group or personal namespace by id, for an actor who sees it.
// To anyone else it does not exist.
func (s *Service) Find(ctx context.Context, a access.Actor, id int64) (*Group, error) {
	g, err := found(postgres.One[Group](ctx, s.deps.DB, sqlByID, a.ID(), s.today(), id))
	if err != nil || access.Sees(a, g.Target()) {
		return g, err
	}
	if !a.SignedIn() {
		return nil, fault.NotFoundf("Group")
	}
	below, err := postgres.Value[bool](ctx, s.deps.DB, sqlSeesBelow, a.ID(), s.today(), id)
	if err != nil {
		return nil, err
	}
	if !below {
		return nil, fault.NotFoundf("Group")
	}
	// Who is in something below sees the way there, and no more of it.
	g.Role = access.MinimalAccess
	return g, nil
}

// Among reads those of some groups that the actor, who is signed in, sees, by id.
func (s *Service) Among(ctx context.Context, a access.Actor, ids []int64) (map[int64]*Group, error) {
	rows, err := postgres.All[Group](ctx, s.deps.DB, sqlAmong, a.ID(), s.today(), ids)
	seen, hidden := make(map[int64]*Group, len(rows)), map[int64]*Group{}
	var rest []int64
	for i := range rows {
		if g := &rows[i]; access.Sees(a, g.Target()) {
			seen[g.ID] = g
		} else {
			hidden[g.ID], rest = g, append(rest, g.ID)
		}
	}
	if err != nil || len(rest) == 0 {
		return seen, err
	}
	ways, err := postgres.Values[int64](ctx, s.deps.DB, sqlWaysAmong, a.ID(), s.today(), rest)
	for _, id := range ways {
		hidden[id].Role = access.MinimalAccess // as in Find
		seen[id] = hidden[id]
	}
	return seen, err
}

// FindByRef reads a group by id or full path. Former paths do not count.
func (s *Service) FindByRef(ctx context.Context, a access.Actor, ref string) (*Group, error) {
	g, err := s.NamespaceByRef(ctx, a, ref)
	if err == nil && g.Kind != Shared {
		return nil, fault.NotFoundf("Group")
	}
	return g, err
}

// NamespaceByRef reads a group or personal namespace by id or full path.
func (s *Service) NamespaceByRef(ctx context.Context, a access.Actor, ref string) (*Group, error) {
	if id, err := strconv.ParseUint(ref, 10, 63); err == nil {
		return s.Find(ctx, a, int64(id))
	}
	route, err := Walk(ctx, s.deps.DB, ref)
	if err != nil {
		return nil, err
	}
	if route.NamespaceID == 0 || route.Former {
		return nil, fault.NotFoundf("Group")
	}
	return s.Find(ctx, a, route.NamespaceID)
}

// Route is where a path leads.
type Route struct {
	NamespaceID int64
	ProjectID   int64
	Former      bool // over a path that is no longer in use
}

// Walk follows a full path. The zero Route is a path that leads nowhere.
func Walk(ctx context.Context, q postgres.Querier, path string) (Route, error) {
	segments := strings.Split(strings.ToLower(path), "/")
	if len(segments) > MaxDepth+2 {
		return Route{}, nil
	}
	var namespace, project *int64
	var r Route
	err := q.QueryRow(ctx, sqlWalk, segments).Scan(&namespace, &project, &r.Former)
	if errors.Is(err, postgres.ErrNoRows) {
		return Route{}, nil
	}
	if namespace != nil {
		r.NamespaceID = *namespace
	}
	if project != nil {
		r.ProjectID = *project
	}
	return r, err
}

// errTaken is the path of something else.
var errTaken = fault.Field("path", "has already been taken")

// restingTime is how long a former top-level path is kept from strangers.
const restingTime = 30 * 24 * time.Hour

// Claim takes a path below a parent (0 at the top) for a namespace or a
// project. A former path is free to whoever may create things there; at the
// top, where anyone may, it first rests, lest links and trust pass to a
// stranger (PE-14).
func (s *Service) Claim(ctx context.Context, tx pgx.Tx, by access.Actor, parentID int64, path string, namespaceID, projectID *int64) error {
	held, err := postgres.One[heldPath](ctx, tx, sqlRoute, parentID, path)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == lockNotAvailable {
		return errTaken
	}
	switch {
	case errors.Is(err, postgres.ErrNoRows):
	case err != nil:
		return err
	case !held.Former:
		return errTaken
	default:
		if parentID == 0 && !equal(held.NamespaceID, namespaceID) {
			if err := s.checkRested(ctx, tx, by, held); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, sqlDropRoute, parentID, path); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, sqlPutRoute, parentID, path, namespaceID, projectID, s.deps.Clock.Now())
	return postgres.Faults{"routes_pkey": errTaken}.Translate(err)
}

// lockNotAvailable is a path that someone else is just changing. Two who swap
// their paths at once would wait for each other for ever.
const lockNotAvailable = "55P03"

// heldPath is what stands, or stood, at a path.
type heldPath struct {
	NamespaceID *int64 // nil when it is gone
	Former      bool
	LeftBy      *int64 // who made it go
	CreatedAt   time.Time
}

func equal(a, b *int64) bool { return a != nil && b != nil && *a == *b }

// checkRested refuses a former path to strangers for a while.
func (s *Service) checkRested(ctx context.Context, tx pgx.Tx, by access.Actor, held heldPath) error {
	if by.Admin() || s.deps.Clock.Now().Sub(held.CreatedAt) >= restingTime {
		return nil
	}
	if held.LeftBy != nil && by.Is(*held.LeftBy) {
		return nil
	}
	if held.NamespaceID == nil || !by.SignedIn() {
		return errTaken
	}
	role, err := grant.OnNamespace(ctx, tx, by.ID(), *held.NamespaceID, s.today())
	if err == nil && role < access.Owner {
		err = errTaken
	}
	return err
}

// Retire makes the path of a namespace or project a former one, which leads
// there until something new takes it.
func (s *Service) Retire(ctx context.Context, tx pgx.Tx, namespaceID, projectID *int64) error {
	_, err := tx.Exec(ctx, sqlRetireRoute, namespaceID, projectID, s.deps.Clock.Now())
	return err
}

// errMoved is a namespace that went to another tree while we waited for the
// lock of its old one.
var errMoved = errors.New("group: moved to another tree")

// lockTrees locks the trees that some namespaces stand in, in one order for
// everyone. Each try has a savepoint, whose end gives the locks of a tree back
// that turned out to be the wrong one: nobody waits while holding those.
func lockTrees(ctx context.Context, tx pgx.Tx, lock string, ids ...int64) error {
	for range 5 {
		err := pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
			locked, err := postgres.Values[int64](ctx, sp, lock, ids)
			if err != nil {
				return err
			}
			now, err := postgres.Values[int64](ctx, sp, sqlRoots, ids)
			if err == nil && !slices.Equal(locked, now) {
				err = errMoved
			}
			return err
		})
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return fault.WithMessage(fault.Conflict, "409 Conflict: Resource lock")
}

// change reads a namespace that is about to change its shape or that of what
// is below it.
func (s *Service) change(ctx context.Context, tx pgx.Tx, id int64) (*Group, error) {
	if err := lockTrees(ctx, tx, sqlLockTrees, id); err != nil {
		return nil, err
	}
	return s.read(ctx, tx, id)
}

// Parent reads a namespace that something is about to be created in. Until
// the transaction ends, it stays where it is and as open as it is.
func (s *Service) Parent(ctx context.Context, tx pgx.Tx, id int64) (*Group, error) {
	if err := lockTrees(ctx, tx, sqlShareTrees, id); err != nil {
		return nil, err
	}
	return s.read(ctx, tx, id)
}

// read is for those who hold a lock of the tree.
func (s *Service) read(ctx context.Context, tx pgx.Tx, id int64) (*Group, error) {
	return found(postgres.One[Group](ctx, tx, sqlInTree, id))
}

func found(g Group, err error) (*Group, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.NotFoundf("Group")
	}
	if err != nil {
		return nil, err
	}
	return &g, nil
}
