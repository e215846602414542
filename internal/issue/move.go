package issue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/markdown"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
)

func cannot(do, why string) error {
	return fault.WithMessage(fault.Rejected, "Cannot %s issue %s", do, why)
}

// checkMayCopy refuses to move or clone an issue to where the actor may not, or what cannot be there.
func checkMayCopy(by access.Actor, do string, from, to *project.Project, i *Issue) error {
	switch {
	case i.Type != Plain && i.Type != Incident:
		return fault.WithMessage(fault.Rejected, "Cannot %s issues of '%s' type.", do, i.Type)
	case do == "move" && from.ID == to.ID:
		return cannot(do, "to project it originates from!")
	case do == "move" && i.MovedToID != nil, !access.Holds(by, access.PlanIssues, from.Target()), !access.Holds(by, access.PlanIssues, to.Target()):
		return cannot(do, "due to insufficient permissions!")
	}
	return nil
}

// Move makes an issue one of another project: a new one there, with its links, time and subscriptions, and what others keep about it. The old one
// is closed and says where it went.
func (s *Service) Move(ctx context.Context, by access.Actor, p *project.Project, iid int, to *project.Project) (*Issue, error) {
	assignees, err := s.assigneesIn(ctx, by, p, iid, to)
	if err != nil {
		return nil, err
	}
	var moved *Issue
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		moved, err = s.move(ctx, tx, by, p, iid, to, assignees)
		return err
	})
	return moved, err
}

func (s *Service) move(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, iid int, to *project.Project, assignees []int64) (*Issue, error) {
	i, err := s.lockForCopy(ctx, tx, by, "move", p, iid, to)
	if err != nil {
		return nil, err
	}
	moved := *i
	moved.NotesCount = 0 // whoever copies what was said counts it
	if err := s.copy(ctx, tx, &moved, p, to, assignees); err != nil {
		return nil, err
	}
	for _, sql := range []string{sqlMoveLinks, sqlMoveTime, sqlMoveSubscriptions} {
		if _, err := tx.Exec(ctx, sql, i.ID, moved.ID); err != nil {
			return nil, err
		}
	}
	before, now := *i, s.deps.Clock.Now()
	i.MovedToID = &moved.ID
	i.setClosed(true, by.ID(), now)
	return &moved, s.save(ctx, tx, Event{Action: Moved, By: by, At: now, Project: p, Before: before, Other: &moved, In: to}, i, nil)
}

// lockForCopy locks an issue that the actor may move or clone to a project.
func (s *Service) lockForCopy(ctx context.Context, tx pgx.Tx, by access.Actor, do string, p *project.Project, iid int, to *project.Project) (*Issue, error) {
	// Numbers are taken before issues are held, by everyone.
	if _, err := tx.Exec(ctx, sqlAtLeast, to.ID, 0); err != nil {
		return nil, faults.Translate(err)
	}
	i, err := Lock(ctx, tx, by, p, iid)
	if err != nil {
		return nil, err
	}
	return i, checkMayCopy(by, do, p, to, i)
}

// Clone makes a copy of an issue, of which the actor is the author.
func (s *Service) Clone(ctx context.Context, by access.Actor, p *project.Project, iid int, to *project.Project, notes bool) (*Issue, error) {
	assignees, err := s.assigneesIn(ctx, by, p, iid, to)
	if err != nil {
		return nil, err
	}
	var clone *Issue
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		clone, err = s.clone(ctx, tx, by, p, iid, to, assignees, notes)
		return err
	})
	return clone, err
}

func (s *Service) clone(
	ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, iid int, to *project.Project, assignees []int64, notes bool,
) (*Issue, error) {
	i, err := s.lockForCopy(ctx, tx, by, "clone", p, iid, to)
	if err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now()
	clone := *i
	clone.AuthorID, clone.CreatedAt, clone.TimeSpent, clone.TimeEstimate = new(by.ID()), now, 0, 0
	clone.NotesCount, clone.Upvotes, clone.Downvotes = 0, 0, 0
	if err := s.copy(ctx, tx, &clone, p, to, assignees); err != nil {
		return nil, err
	}
	return &clone, s.deps.Bus.Publish(ctx, tx, Event{Action: Cloned, By: by, At: now, Project: p, Issue: *i, Other: &clone, In: to, Notes: notes})
}

// assigneesIn are those of an issue's assignees to whom it can be given in another project.
func (s *Service) assigneesIn(ctx context.Context, by access.Actor, p *project.Project, iid int, to *project.Project) ([]int64, error) {
	i, err := s.Find(ctx, by, p, iid)
	if err != nil {
		return nil, err
	}
	return s.assignable(ctx, to, i.AssigneeIDs)
}

// copy writes an open issue like one of another project: with the labels and the milestone that have the same names there, and those assignees who may
// read it.
func (s *Service) copy(ctx context.Context, tx pgx.Tx, i *Issue, from, to *project.Project, assignees []int64) error {
	i.ProjectID, i.IID, i.Closed, i.ClosedAt, i.ClosedByID, i.MovedToID, i.DuplicateOfID = to.ID, 0, false, nil, nil, nil, nil
	if from.ID != to.ID {
		had, err := s.deps.Labels.Among(ctx, tx, i.LabelIDs)
		if err != nil {
			return err
		}
		var names []string
		for _, l := range had {
			names = append(names, l.Name)
		}
		same, err := s.deps.Labels.Ensure(ctx, tx, access.Actor{}, owner.OfProject(to), names, false)
		if err != nil {
			return err
		}
		i.LabelIDs = nil
		for _, l := range same {
			i.LabelIDs = append(i.LabelIDs, l.ID)
		}
		if i.MilestoneID, err = s.sameMilestone(ctx, tx, i.MilestoneID, to); err != nil {
			return err
		}
		if i.Description != nil {
			texts, err := InFull(ctx, tx, from, []string{*i.Description})
			if err != nil {
				return err
			}
			if len(texts[0]) <= maxDescription {
				i.Description = &texts[0]
			}
		}
		i.AssigneeIDs = without(i.AssigneeIDs, without(i.AssigneeIDs, assignees))
	}
	created := i.CreatedAt
	if err := s.insert(ctx, tx, i); err != nil {
		return err
	}
	i.UpdatedAt = created
	return nil
}

// InFull are some texts of a project as they are written elsewhere: the issues of the project that they name by a number alone are named with its path.
func InFull(ctx context.Context, q postgres.Querier, from *project.Project, texts []string) ([]string, error) {
	spots := make([][]markdown.Spot, len(texts))
	var numbers []int
	for n, text := range texts {
		all, err := markdown.Spots(ctx, text)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if iid, err := strconv.ParseInt(s.Name, 10, 32); err == nil && s.Kind == markdown.Issue && s.Path == "" && text[s.From:s.To] == s.Text {
				spots[n], numbers = append(spots[n], s), append(numbers, int(iid))
			}
		}
	}
	if len(numbers) == 0 {
		return texts, nil
	}
	there, err := postgres.Values[int](ctx, q, sqlThere, from.ID, numbers)
	if err != nil {
		return nil, err
	}
	full := make([]string, len(texts))
	for n, text := range texts {
		var b strings.Builder
		at := 0
		sorting.By(spots[n], func(a, b markdown.Spot) int { return cmp.Compare(a.From, b.From) })
		for _, s := range spots[n] {
			if iid, _ := strconv.Atoi(s.Name); s.From >= at && slices.Contains(there, iid) {
				b.WriteString(text[at:s.From] + from.FullPath() + s.Text)
				at = s.To
			}
		}
		full[n] = b.String() + text[at:]
	}
	return full, nil
}

// sameMilestone is the milestone of another project that has the title of one.
func (s *Service) sameMilestone(ctx context.Context, tx pgx.Tx, id *int64, to *project.Project) (*int64, error) {
	if id == nil {
		return nil, nil
	}
	title, err := s.deps.Milestones.Title(ctx, tx, *id)
	if err != nil {
		return nil, err
	}
	m, err := s.deps.Milestones.FindTitled(ctx, tx, to.ID, title)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &m.ID, nil
}

// ErrPlace is that an issue cannot come to stand beside what was named: that is gone, or in another order.
var ErrPlace = fault.WithMessage(fault.Unprocessable, "Unprocessable Entity")

// Reorder puts an issue after one of its project, before one, or between two.
func (s *Service) Reorder(ctx context.Context, by access.Actor, p *project.Project, iid int, after, before int64) (*Issue, error) {
	var i *Issue
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		// Positions of a project are given by one at a time: the counter stands for them.
		if _, err := tx.Exec(ctx, sqlAtLeast, p.ID, 0); err != nil {
			return faults.Translate(err)
		}
		if i, err = Lock(ctx, tx, by, p, iid); err != nil {
			return err
		}
		if !RightsOf(by, p, i).Edit {
			return fault.New(fault.Forbidden)
		}
		for _, id := range []int64{after, before} {
			if id != 0 {
				if other, err := found(postgres.One[Issue](ctx, tx, sqlFindByID, id)); err != nil || other.ProjectID != p.ID || !RightsOf(by, p, other).Read {
					return errors.Join(ErrPlace, err) // what may not be read is as good as missing
				}
			}
		}
		return put(ctx, tx, i, after, before, RightsOf(by, p, i).Plan)
	})
	return i, err
}

// put gives a locked issue a position after one issue and before another of its project, of which one may be 0. With spread, all issues of
// the project get new positions where there is no room.
func put(ctx context.Context, tx pgx.Tx, i *Issue, after, before int64, spread bool) error {
	place, ok, err := between(ctx, tx, i.ProjectID, after, before)
	if err == nil && !ok && spread {
		if _, err = tx.Exec(ctx, sqlSpread, i.ProjectID); err == nil {
			place, ok, err = between(ctx, tx, i.ProjectID, after, before)
		}
	}
	if err != nil {
		return err
	} else if !ok {
		return ErrPlace
	}
	_, err = tx.Exec(ctx, sqlPlace, i.ID, place)
	return err
}

// positionOf is where an issue stands.
func positionOf(ctx context.Context, tx pgx.Tx, id int64) (int64, error) {
	at, err := postgres.Value[*int64](ctx, tx, sqlPosition, id)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && at == nil) {
		return 0, ErrPlace
	} else if err != nil {
		return 0, err
	}
	return *at, nil
}

// between is a position after one issue and before another, of which one may be 0. ok is false where there is no room.
func between(ctx context.Context, tx pgx.Tx, projectID, after, before int64) (place int64, ok bool, err error) {
	next := func(sql string, from, otherwise int64) (int64, error) {
		at, err := postgres.Value[int64](ctx, tx, sql, projectID, from)
		if errors.Is(err, postgres.ErrNoRows) {
			return otherwise, nil
		}
		return at, err
	}
	var low, high int64
	switch {
	case after != 0:
		if low, err = positionOf(ctx, tx, after); err != nil {
			return 0, false, err
		}
		if high, err = next(sqlPositionAfter, low, low+1024); before != 0 && err == nil {
			high, err = positionOf(ctx, tx, before)
		}
	default:
		if high, err = positionOf(ctx, tx, before); err != nil {
			return 0, false, err
		}
		low, err = next(sqlPositionBefore, high, high-1024)
	}
	if err == nil && low >= high {
		err = ErrPlace // no room could be made there
	}
	place = low + (high-low)/2
	return place, place > low && place < high, err
}
