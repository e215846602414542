package milestone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Owners      *owner.Service
	Clock       clock.Clock
	ExternalURL string
}

// Service is the use cases of milestones.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

var (
	errMissing = fault.WithMessage(fault.NotFound, "404 Not found")
	errMoved   = fault.WithMessage(fault.Conflict, "409 Conflict: Resource lock")
)

func cannotPromote(why string) error {
	return fault.WithMessage(fault.Rejected, "Promotion failed - %s", why)
}

// Find reads a milestone of an owner itself.
func (s *Service) Find(ctx context.Context, of bus.Entity, id int64) (*Milestone, error) {
	namespaceID, projectID := owner.Keys(of)
	return found(postgres.One[Milestone](ctx, s.deps.DB, sqlFind, namespaceID, projectID, id))
}

func found(m Milestone, err error) (*Milestone, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &m, err
}

// Create makes a milestone, with the next number of its owner.
func (s *Service) Create(ctx context.Context, by access.Actor, of bus.Entity, d Draft) (*Milestone, error) {
	namespaceID, projectID := owner.Keys(of)
	m := Milestone{
		NamespaceID: namespaceID, ProjectID: projectID, Title: d.Title, Description: d.Description, State: Active, StartDate: d.StartDate, DueDate: d.DueDate,
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		flaws := m.check()
		if len(flaws) == 0 {
			lineage, err := owner.LockNames(ctx, tx, of)
			if err != nil {
				return err
			}
			if free, err := isFree(ctx, tx, &m, lineage); err != nil {
				return err
			} else if !free {
				flaws.add("title", taken)
			}
		}
		if err := flaws.err("create"); err != nil {
			return err
		}
		if err := s.insert(ctx, tx, &m); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: of, Milestone: m})
	})
	return &m, err
}

// isFree reports whether the title of a milestone is given to no other one of its owner, of groups above, or, of a group's, of anything below it. Names
// are locked.
func isFree(ctx context.Context, tx pgx.Tx, m *Milestone, lineage []int64) (bool, error) {
	used, err := postgres.Value[bool](ctx, tx, sqlTaken, m.Title, m.ProjectID, lineage, m.ID)
	if err != nil || used || m.NamespaceID == nil {
		return !used, err
	}
	below, err := postgres.Values[int64](ctx, tx, sqlBelow, *m.NamespaceID, m.Title)
	return len(below) == 0, err
}

// insert writes a new milestone. The number is taken under the lock of names, in the transaction that uses it: none is left out.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, m *Milestone) (err error) {
	if m.NamespaceID != nil {
		m.IID, err = postgres.Value[int](ctx, tx, sqlNextOfGroup, *m.NamespaceID)
	} else {
		m.IID, err = postgres.Value[int](ctx, tx, sqlNextOfProject, *m.ProjectID)
	}
	if err != nil {
		return err
	}
	*m, err = postgres.One[Milestone](ctx, tx, sqlInsert,
		m.NamespaceID, m.ProjectID, m.IID, m.Title, m.Description, m.State, m.StartDate, m.DueDate, s.deps.Clock.Now())
	return err
}

// lock reads a milestone that was found in its owner again, which nobody else changes from now on, and returns the lineage of the owner. Names are
// locked first, by everyone.
func lock(ctx context.Context, tx pgx.Tx, of bus.Entity, id int64) (*Milestone, []int64, error) {
	lineage, err := owner.LockNames(ctx, tx, of)
	if err != nil {
		return nil, nil, err
	}
	m, err := found(postgres.One[Milestone](ctx, tx, sqlLock, id))
	return m, lineage, err
}

// Update changes a milestone of an owner.
func (s *Service) Update(ctx context.Context, by access.Actor, of bus.Entity, id int64, c Change) (*Milestone, error) {
	m, err := s.Find(ctx, of, id)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		var lineage []int64
		if m, lineage, err = lock(ctx, tx, m.Owner(), id); err != nil {
			return err
		}
		before := *m
		c.apply(m)
		flaws := m.check()
		if len(flaws) == 0 && m.Title != before.Title {
			if free, err := isFree(ctx, tx, m, lineage); err != nil {
				return err
			} else if !free {
				flaws.add("title", taken)
			}
		}
		if err := flaws.err("update"); err != nil {
			return err
		}
		m.UpdatedAt = s.deps.Clock.Now()
		if _, err := tx.Exec(ctx, sqlUpdate, m.ID, m.Title, m.Description, m.State, m.StartDate, m.DueDate, m.UpdatedAt); err != nil {
			return err
		}
		acts := []Action{Updated}
		if m.State != before.State {
			acts = append(acts, map[State]Action{Closed: WasClosed, Active: WasReopened}[m.State])
		}
		for _, act := range acts {
			if err := s.deps.Bus.Publish(ctx, tx, Event{Action: act, By: by, In: of, Milestone: *m}); err != nil {
				return err
			}
		}
		return nil
	})
	return m, err
}

// Delete removes a milestone of an owner.
func (s *Service) Delete(ctx context.Context, by access.Actor, of bus.Entity, id int64) error {
	m, err := s.Find(ctx, of, id)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		m, _, err := lock(ctx, tx, m.Owner(), id)
		if err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, In: of, Milestone: *m}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlDelete, []int64{id})
		return err
	})
}

// Promote makes a milestone of a project one of its group. Milestones of the same title in the group's projects and subgroups become that
// milestone, too.
func (s *Service) Promote(ctx context.Context, by access.Actor, o *owner.Owner, id int64) error {
	if _, err := s.Find(ctx, o.Entity, id); err != nil {
		return err
	}
	if o.Project.NamespaceKind != string(group.Shared) {
		return cannotPromote("Project does not belong to a group.")
	}
	if err := s.checkManagesGroup(ctx, by, o.Project.NamespaceID); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		m, lineage, err := lock(ctx, tx, o.Entity, id)
		if err != nil {
			return err
		}
		if lineage[len(lineage)-1] != o.Project.NamespaceID {
			return errMoved // to a group in which nobody asked for their rights
		}
		into, err := s.groupMilestone(ctx, tx, m, lineage)
		if err != nil {
			return err
		}
		merged, err := postgres.Values[int64](ctx, tx, sqlBelow, *into.NamespaceID, into.Title)
		if err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Promoted, By: by, In: o.Entity, Milestone: into, Merged: merged}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlDelete, merged)
		return err
	})
}

// groupMilestone is the milestone of a group that one of a project becomes: the group's own of that title, which a transfer may have brought together with
// it, or else a new one.
func (s *Service) groupMilestone(ctx context.Context, tx pgx.Tx, m *Milestone, lineage []int64) (Milestone, error) {
	groupID := lineage[len(lineage)-1]
	into, err := postgres.One[Milestone](ctx, tx, sqlOfGroup, groupID, m.Title)
	if !errors.Is(err, postgres.ErrNoRows) {
		return into, err
	}
	into = Milestone{NamespaceID: &groupID, Title: m.Title, Description: m.Description, State: m.State, StartDate: m.StartDate, DueDate: m.DueDate}
	above, err := postgres.Value[bool](ctx, tx, sqlTaken, m.Title, nil, lineage, 0)
	switch {
	case err != nil:
		return into, err
	case above:
		return into, cannotPromote("Title " + taken)
	}
	return into, s.insert(ctx, tx, &into)
}

// checkManagesGroup refuses whoever may not manage the milestones of a group. The group of a project that they see is no secret.
func (s *Service) checkManagesGroup(ctx context.Context, by access.Actor, groupID int64) error {
	g, err := s.deps.Owners.FindGroup(ctx, by, strconv.FormatInt(groupID, 10))
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.Forbidden)
	case err != nil:
		return fmt.Errorf("reading the group of a milestone: %w", err)
	}
	return access.CheckIn(by, access.AdminGroupMilestones, g.Target())
}

// paths are the full paths of the groups that some milestones belong to, by id.
func (s *Service) paths(ctx context.Context, all ...Milestone) (map[int64]string, error) {
	var ids []int64
	for i := range all {
		if id := all[i].NamespaceID; id != nil && !slices.Contains(ids, *id) {
			ids = append(ids, *id)
		}
	}
	if ids == nil {
		return nil, nil
	}
	rows, err := postgres.All[struct {
		ID       int64
		FullPath string
	}](ctx, s.deps.DB, sqlPaths, ids)
	paths := make(map[int64]string, len(rows))
	for _, r := range rows {
		paths[r.ID] = r.FullPath
	}
	return paths, err
}

// FindFor reads a milestone that a project has or inherits.
func (s *Service) FindFor(ctx context.Context, q postgres.Querier, projectID, id int64) (*Milestone, error) {
	lineage, err := owner.Lineage(ctx, q, bus.Entity{Kind: bus.OfProject, ID: projectID})
	if err != nil {
		return nil, err
	}
	return found(postgres.One[Milestone](ctx, q, sqlFindFor, projectID, lineage, id))
}

// FindTitled reads the milestone of a title that a project has or inherits.
func (s *Service) FindTitled(ctx context.Context, q postgres.Querier, projectID int64, title string) (*Milestone, error) {
	lineage, err := owner.Lineage(ctx, q, bus.Entity{Kind: bus.OfProject, ID: projectID})
	if err != nil {
		return nil, err
	}
	return found(postgres.One[Milestone](ctx, q, sqlFindTitled, projectID, lineage, title))
}

func (s *Service) among(ctx context.Context, ids []int64) ([]Milestone, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return postgres.All[Milestone](ctx, s.deps.DB, sqlAmong, ids)
}

// Title is that of a milestone, whoever asks.
func (s *Service) Title(ctx context.Context, q postgres.Querier, id int64) (string, error) {
	title, err := postgres.Value[string](ctx, q, sqlTitle, id)
	if errors.Is(err, postgres.ErrNoRows) {
		err = errMissing
	}
	return title, err
}

// Referred are the milestones that texts of a project name, by what they are called there: their number in the project, or a title, of which the nearest
// is meant.
func (s *Service) Referred(ctx context.Context, of bus.Entity, refs []string) (map[string]Milestone, error) {
	lineage, err := owner.Lineage(ctx, s.deps.DB, of)
	if err != nil {
		return nil, err
	}
	numbers := []int64{}
	for _, ref := range refs {
		if n, err := strconv.ParseInt(ref, 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	found, err := postgres.All[Milestone](ctx, s.deps.DB, sqlReferred, refs, of.ID, lineage, numbers)
	milestones := make(map[string]Milestone, len(found))
	for _, m := range found {
		if _, taken := milestones[m.Title]; !taken {
			milestones[m.Title] = m
		}
	}
	for _, m := range found { // numbers win over titles
		if m.ProjectID != nil && slices.Contains(numbers, int64(m.IID)) {
			milestones[strconv.Itoa(m.IID)] = m
		}
	}
	return milestones, err
}
