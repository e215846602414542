package label

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/subscription"
)

// Deps is what the room needs from below.
type Deps struct {
	DB     *postgres.DB
	Bus    *bus.Bus
	Owners *owner.Service
	Clock  clock.Clock
}

// Service is the use cases of labels.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errMissing = fault.NotFoundf("Label")
	errTaken   = fault.WithMessage(fault.Conflict, "Label already exists")
	errMoved   = fault.WithMessage(fault.Conflict, "409 Conflict: Resource lock")
	errPromote = fault.WithMessage(fault.Rejected, "Failed to promote project label to group label")
)

// faults are what a write finds when something was created or deleted concurrently.
var faults = postgres.Faults{
	"labels_namespace_key": errTaken, "labels_project_key": errTaken,
	"label_priorities_label_id_fkey": errMissing, "label_priorities_project_id_fkey": fault.NotFoundf("Project"),
}

// view is for whom labels are read: their subscriptions, and the priorities in one project. projectID is nil in a group, which has no priorities.
type view struct {
	userID    int64
	projectID *int64
}

func viewOf(by access.Actor, o *owner.Owner) view {
	_, projectID := owner.Keys(o.Entity)
	return view{userID: by.ID(), projectID: projectID}
}

// Find reads a label that an owner has or inherits, by its id or else by its name. If above is false, groups above the direct one of a
// project, or above a group, do not count.
func (s *Service) Find(ctx context.Context, by access.Actor, o *owner.Owner, ref string, above bool) (*Seen, error) {
	lineage, err := owner.Lineage(ctx, s.deps.DB, o.Entity)
	if err != nil {
		return nil, err
	}
	return find(ctx, s.deps.DB, viewOf(by, o), o, lineage, ref, above)
}

func find(ctx context.Context, q postgres.Querier, v view, o *owner.Owner, lineage []int64, ref string, above bool) (*Seen, error) {
	if tooLong(ref) {
		return nil, errMissing
	}
	if !above {
		lineage = lineage[len(lineage)-1:]
	}
	_, projectID := owner.Keys(o.Entity)
	if id, err := strconv.ParseUint(ref, 10, 63); err == nil {
		l, err := found(postgres.One[Seen](ctx, q, sqlByID, v.userID, v.projectID, projectID, lineage, int64(id)))
		if !errors.Is(err, errMissing) {
			return l, err
		}
	}
	return found(postgres.One[Seen](ctx, q, sqlByName, v.userID, v.projectID, projectID, lineage, ref))
}

func found(l Seen, err error) (*Seen, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &l, err
}

// Create makes a label.
func (s *Service) Create(ctx context.Context, by access.Actor, o *owner.Owner, d Draft) (*Seen, error) {
	namespaceID, projectID := owner.Keys(o.Entity)
	l := Seen{Label: Label{NamespaceID: namespaceID, ProjectID: projectID, Name: d.Name, Color: d.Color, Description: d.Description}}
	if err := l.check(); err != nil {
		return nil, err
	}
	if projectID != nil {
		if err := checkPriority(d.Priority); err != nil {
			return nil, err
		}
		l.Priority = d.Priority
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		lineage, err := owner.LockNames(ctx, tx, o.Entity)
		if err != nil {
			return err
		}
		if err := s.insert(ctx, tx, &l.Label, lineage); err != nil {
			return err
		}
		if l.Priority != nil {
			if err := setPriority(ctx, tx, l.ID, *projectID, l.Priority); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: o.Entity, Label: l.Label})
	})
	return &l, err
}

// insert writes a new label of an owner whose names are locked.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, l *Label, lineage []int64) (err error) {
	if err := checkFree(ctx, tx, l, lineage); err != nil {
		return err
	}
	*l, err = postgres.One[Label](ctx, tx, sqlInsert, l.NamespaceID, l.ProjectID, l.Name, l.Description, l.Color, s.deps.Clock.Now())
	return faults.Translate(err)
}

// checkFree refuses a name that the label's owner, or a group above it, already uses.
func checkFree(ctx context.Context, tx pgx.Tx, l *Label, lineage []int64) error {
	taken, err := postgres.Value[bool](ctx, tx, sqlTaken, l.Name, l.ProjectID, lineage, l.ID)
	if err == nil && taken {
		err = errTaken
	}
	return err
}

// setPriority sets the priority of a label in a project; nil removes it.
func setPriority(ctx context.Context, tx pgx.Tx, id, projectID int64, priority *int) error {
	if priority == nil {
		_, err := tx.Exec(ctx, sqlUnsetPriority, id, projectID)
		return err
	}
	_, err := tx.Exec(ctx, sqlSetPriority, id, projectID, *priority)
	return faults.Translate(err)
}

// Update changes a label of an owner, or of the direct group of a project if the actor may change the labels of that group. The priority
// is the project's own.
func (s *Service) Update(ctx context.Context, by access.Actor, o *owner.Owner, ref string, c Change) (*Seen, error) {
	if c.Priority != nil {
		if err := checkPriority(*c.Priority); err != nil {
			return nil, err
		}
	}
	l, err := s.Find(ctx, by, o, ref, false)
	if err == nil && c.ofLabel() {
		err = s.checkMayChange(ctx, by, o, &l.Label)
	}
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		lineage, err := lock(ctx, tx, &l.Label)
		if err != nil {
			return err
		}
		if c.Priority != nil {
			l.Priority = *c.Priority
			if o.Project != nil {
				if err := setPriority(ctx, tx, l.ID, o.Project.ID, l.Priority); err != nil {
					return err
				}
			}
		}
		if c.ofLabel() {
			if err := s.change(ctx, tx, &l.Label, lineage, c); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, In: o.Entity, Label: l.Label})
	})
	return l, err
}

// change writes what a locked label becomes.
func (s *Service) change(ctx context.Context, tx pgx.Tx, l *Label, lineage []int64, c Change) error {
	before := l.Name
	c.apply(l)
	if err := l.check(); err != nil {
		return err
	}
	if l.Name != before {
		if err := checkFree(ctx, tx, l, lineage); err != nil {
			return err
		}
	}
	l.UpdatedAt = s.deps.Clock.Now()
	_, err := tx.Exec(ctx, sqlUpdate, l.ID, l.Name, l.Description, l.Color, l.UpdatedAt)
	return faults.Translate(err)
}

// lock reads a label again that nobody else changes from now on, and returns the lineage of its owner. Names are locked first, by everyone.
func lock(ctx context.Context, tx pgx.Tx, l *Label) ([]int64, error) {
	lineage, err := owner.LockNames(ctx, tx, l.Owner())
	if err != nil {
		return nil, err
	}
	now, err := postgres.One[Label](ctx, tx, sqlLock, l.ID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	*l = now
	return lineage, err
}

// checkMayChange refuses to change a group's label through a project unless the actor may manage that group's labels.
func (s *Service) checkMayChange(ctx context.Context, by access.Actor, o *owner.Owner, l *Label) error {
	if o.Project == nil || l.ProjectID != nil {
		return nil
	}
	return s.checkManagesGroup(ctx, by, *l.NamespaceID)
}

// checkManagesGroup refuses anyone who may not manage the labels of a group. It answers 403, not 404: whoever sees the project knows that its group exists.
func (s *Service) checkManagesGroup(ctx context.Context, by access.Actor, groupID int64) error {
	g, err := s.deps.Owners.FindGroup(ctx, by, strconv.FormatInt(groupID, 10))
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.Forbidden)
	case err != nil:
		return fmt.Errorf("reading the group of a label: %w", err)
	}
	return access.CheckIn(by, access.AdminGroupLabels, g.Target())
}

// Delete removes a label of an owner, or of the direct group of a project if the actor may change the labels of that group.
func (s *Service) Delete(ctx context.Context, by access.Actor, o *owner.Owner, ref string) error {
	l, err := s.Find(ctx, by, o, ref, false)
	if err == nil {
		err = s.checkMayChange(ctx, by, o, &l.Label)
	}
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := lock(ctx, tx, &l.Label); err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, In: o.Entity, Label: l.Label}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlDelete, []int64{l.ID})
		return err
	})
}

// Promote makes a label of a project one of its group. Labels of the same name in the group's projects and subgroups become that label too,
// with their priorities and subscriptions.
func (s *Service) Promote(ctx context.Context, by access.Actor, o *owner.Owner, ref string) (*Seen, error) {
	l, err := s.Find(ctx, by, o, ref, false)
	switch {
	case err != nil:
		return nil, err
	case l.ProjectID == nil || o.Project.NamespaceKind != string(group.Shared):
		return nil, errPromote
	}
	if err := s.checkManagesGroup(ctx, by, o.Project.NamespaceID); err != nil {
		return nil, err
	}
	promoted := &Seen{}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		lineage, err := lock(ctx, tx, &l.Label)
		if err != nil {
			return err
		}
		if lineage[len(lineage)-1] != o.Project.NamespaceID {
			return errMoved // the project was transferred meanwhile; the actor's rights were checked in the old group
		}
		into, err := s.groupLabel(ctx, tx, &l.Label, lineage)
		if err != nil {
			return err
		}
		merged, err := postgres.Values[int64](ctx, tx, sqlBelow, *into.NamespaceID, into.Name)
		if err != nil {
			return err
		}
		if err := s.merge(ctx, tx, Event{Action: Promoted, By: by, In: o.Entity, Label: into, Merged: merged}); err != nil {
			return err
		}
		promoted, err = found(postgres.One[Seen](ctx, tx, sqlByID, by.ID(), nil, nil, lineage, into.ID))
		return err
	})
	return promoted, err
}

// groupLabel finds the label of the group that a label of a project is promoted to: the one of that name, or else a new one.
func (s *Service) groupLabel(ctx context.Context, tx pgx.Tx, l *Label, lineage []int64) (Label, error) {
	groupID := lineage[len(lineage)-1]
	into, err := postgres.One[Label](ctx, tx, sqlOfGroup, groupID, l.Name)
	if errors.Is(err, postgres.ErrNoRows) {
		into = Label{NamespaceID: &groupID, Name: l.Name, Description: l.Description, Color: l.Color}
		err = s.insert(ctx, tx, &into, lineage)
	}
	return into, err
}

// merge replaces the labels e.Merged with e.Label everywhere, and deletes them.
func (s *Service) merge(ctx context.Context, tx pgx.Tx, e Event) error {
	if _, err := tx.Exec(ctx, sqlMergePriorities, e.Merged, e.Label.ID); err != nil {
		return postgres.Faults{"label_priorities_project_id_fkey": errMoved}.Translate(err) // a project is deleted concurrently
	}
	if err := subscription.Merge(ctx, tx, subscription.Label, e.Merged, e.Label.ID); err != nil {
		return err
	}
	if err := s.deps.Bus.Publish(ctx, tx, e); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlDelete, e.Merged)
	return err
}

// Subscribe subscribes a person to a label, or unsubscribes them. If nothing changes, it fails with NotModified.
func (s *Service) Subscribe(ctx context.Context, by access.Actor, o *owner.Owner, ref string, on bool) (*Seen, error) {
	l, err := s.Find(ctx, by, o, ref, true)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// If the label is deleted concurrently, its subscriptions must be deleted with it: hold it.
		if _, err := postgres.Value[int64](ctx, tx, sqlHold, l.ID); err != nil {
			if errors.Is(err, postgres.ErrNoRows) {
				err = errMissing
			}
			return err
		}
		var changed bool
		var err error
		if on {
			changed, err = subscription.Set(ctx, tx, subscription.Label, l.ID, by.ID(), s.deps.Clock.Now())
		} else {
			changed, err = subscription.Unset(ctx, tx, subscription.Label, l.ID, by.ID(), s.deps.Clock.Now())
		}
		if err == nil && !changed {
			err = fault.New(fault.NotModified)
		}
		return err
	})
	l.Subscribed = on
	return l, err
}

// DefaultColor is the colour of a label that was created by naming it at an issue.
const DefaultColor = "#6699cc"

// Ensure finds labels by name that a project has or inherits. If create is true, missing ones are created in tx; otherwise they are left out. Invalid names
// are always left out.
func (s *Service) Ensure(ctx context.Context, tx pgx.Tx, by access.Actor, o *owner.Owner, names []string, create bool) ([]Label, error) {
	lineage, err := owner.Lineage(ctx, tx, o.Entity)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	_, projectID := owner.Keys(o.Entity)
	all, err := postgres.All[Label](ctx, tx, sqlNamed, names, projectID, lineage)
	if err != nil || !create || len(all) == len(names) {
		return all, err
	}
	if lineage, err = owner.LockNames(ctx, tx, o.Entity); err != nil {
		return nil, err
	}
	if all, err = postgres.All[Label](ctx, tx, sqlNamed, names, projectID, lineage); err != nil {
		return nil, err
	}
	for _, name := range names {
		l := Label{ProjectID: projectID, Name: name, Color: DefaultColor}
		if l.check() != nil || slices.ContainsFunc(all, func(have Label) bool { return have.Name == l.Name }) {
			continue
		}
		if err := s.insert(ctx, tx, &l, lineage); err != nil {
			return nil, err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: o.Entity, Label: l}); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// Among reads labels by id without checking rights: callers have checked that the actor may see what carries them.
func (s *Service) Among(ctx context.Context, q postgres.Querier, ids []int64) (map[int64]Label, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[Label](ctx, q, sqlAmong, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]Label, len(rows))
	for _, l := range rows {
		byID[l.ID] = l
	}
	return byID, nil
}

// Referred returns the labels that references in a text stand for, keyed by the reference: an id, or a name, for which the nearest label counts.
func (s *Service) Referred(ctx context.Context, of bus.Entity, refs []string) (map[string]Label, error) {
	lineage, err := owner.Lineage(ctx, s.deps.DB, of)
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	for _, ref := range refs {
		if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	found, err := postgres.All[Label](ctx, s.deps.DB, sqlReferred, refs, of.ID, lineage, ids)
	if err != nil {
		return nil, err
	}
	labels := make(map[string]Label, len(found))
	for _, l := range found { // by name: the nearest label comes first
		if _, taken := labels[l.Name]; !taken {
			labels[l.Name] = l
		}
	}
	for _, l := range found { // then by id, which overwrites a label whose name is that number
		if id := strconv.FormatInt(l.ID, 10); slices.Contains(ids, l.ID) {
			labels[id] = l
		}
	}
	return labels, nil
}
