package issue

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// LinkKind says how an issue relates to another.
type LinkKind string

const (
	RelatesTo LinkKind = "relates_to"
	Blocks    LinkKind = "blocks"
	BlockedBy LinkKind = "is_blocked_by" // is kept as Blocks, the other way round
)

// Link is a relation between two issues.
type Link struct {
	ID        int64
	SourceID  int64
	TargetID  int64
	Kind      LinkKind
	CreatedAt time.Time
	UpdatedAt time.Time
}

// As is the kind of the link, seen from one of its two issues.
func (l *Link) As(id int64) LinkKind {
	if l.Kind == Blocks && l.TargetID == id {
		return BlockedBy
	}
	return l.Kind
}

// Related is an issue that another one is linked to.
type Related struct {
	LinkID        int64
	Kind          LinkKind
	SourceID      int64
	TargetID      int64
	LinkCreatedAt time.Time
	LinkUpdatedAt time.Time
	Issue
}

var (
	errNoLink     = fault.WithMessage(fault.NotFound, "No Issue Link found")
	errNoTarget   = fault.WithMessage(fault.NotFound, "No matching issue found. Make sure that you are adding a valid issue URL.")
	errLinked     = fault.WithMessage(fault.Conflict, "Issue(s) already assigned")
	errMayNotLink = fault.WithMessage(fault.Forbidden, "Couldn't link issue. You must have at least the Reporter role in both projects.")
	errManyLinks  = fault.WithMessage(fault.Unprocessable, "This issue would exceed the maximum number of linked issues (%d).", maxLinks)
)

// Links are the issues that an issue is linked to, as far as the actor may read them.
func (s *Service) Links(ctx context.Context, a access.Actor, i *Issue) ([]Related, error) {
	all, err := postgres.All[Related](ctx, s.deps.DB, sqlLinked, i.ID)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(all))
	for n := range all {
		ids[n] = all[n].ProjectID
	}
	projects, err := s.deps.Projects.Among(ctx, a, ids)
	seen := all[:0]
	for n := range all {
		if p := projects[all[n].ProjectID]; p != nil && RightsOf(a, p, &all[n].Issue).Read {
			seen = append(seen, all[n])
		}
	}
	return seen, err
}

// FindLink reads a link of an issue, with the other one and its project, for an actor who may read both.
func (s *Service) FindLink(ctx context.Context, a access.Actor, i *Issue, id int64) (*Link, *Issue, *project.Project, error) {
	l, err := postgres.One[Link](ctx, s.deps.DB, sqlFindLink, i.ID, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, nil, nil, errNoLink
	} else if err != nil {
		return nil, nil, nil, err
	}
	id = l.TargetID
	if id == i.ID {
		id = l.SourceID
	}
	other, p, err := s.FindByID(ctx, a, id)
	if fault.Is(err, fault.NotFound) {
		err = errNoLink
	}
	return &l, other, p, err
}

// AddLink links an issue to one of a project that the actor sees.
func (s *Service) AddLink(ctx context.Context, by access.Actor, p *project.Project, i *Issue, to *project.Project, iid int, kind LinkKind) (*Link, *Issue, error) {
	target, err := s.Find(ctx, by, to, iid)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, nil, errNoTarget
	case err != nil:
		return nil, nil, err
	}
	var l *Link
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		l, err = s.addLink(ctx, tx, by, Placed{Project: p, Issue: i}, Placed{Project: to, Issue: target}, kind)
		return err
	})
	return l, target, err
}

// addLink links an issue to another that the actor may read.
func (s *Service) addLink(ctx context.Context, tx pgx.Tx, by access.Actor, from, to Placed, kind LinkKind) (*Link, error) {
	i, target := from.Issue, to.Issue
	switch {
	case !access.Holds(by, access.PlanIssues, to.Target()):
		return nil, errMayNotLink
	case target.ID == i.ID:
		return nil, fault.WithMessage(fault.Unprocessable, "#%s cannot be added: cannot be related to itself", strconv.Itoa(target.IID))
	}
	source, sink := i.ID, target.ID
	if kind == BlockedBy {
		source, sink, kind = target.ID, i.ID, Blocks
	}
	if locked, err := postgres.Values[int64](ctx, tx, sqlHoldAll, []int64{i.ID, target.ID}); err != nil {
		return nil, err
	} else if len(locked) < 2 {
		return nil, errNoTarget // one of them went meanwhile
	}
	for _, id := range []int64{i.ID, target.ID} {
		if n, err := postgres.Value[int](ctx, tx, sqlCountLinks, id); err != nil {
			return nil, err
		} else if n >= maxLinks {
			return nil, errManyLinks
		}
	}
	l, err := postgres.One[Link](ctx, tx, sqlInsertLink, source, sink, kind, s.deps.Clock.Now())
	if err != nil {
		return nil, postgres.Faults{"issue_links_pair_key": errLinked}.Translate(err)
	}
	return &l, s.deps.Bus.Publish(ctx, tx, Event{
		Action: Linked, By: by, At: l.CreatedAt, Project: from.Project, Issue: *i, Other: target, In: to.Project, Kind: l.As(i.ID),
	})
}

// duplicate closes an issue that is another once more, which the actor may read. The two are linked where the actor may do that.
func (s *Service) duplicate(ctx context.Context, tx pgx.Tx, by access.Actor, at, of Placed) error {
	i, err := Lock(ctx, tx, by, at.Project, at.Issue.IID)
	if err != nil {
		return err
	}
	if !RightsOf(by, at.Project, i).Edit {
		return fault.New(fault.Forbidden)
	}
	before := *i
	i.setClosed(true, by.ID(), s.deps.Clock.Now())
	i.DuplicateOfID = &of.Issue.ID
	if err := s.save(ctx, tx, Event{Action: Updated, By: by, Project: at.Project, Before: before, Other: of.Issue, In: of.Project}, i, nil); err != nil {
		return err
	}
	if _, err := postgres.One[Link](ctx, tx, sqlLinkOf, i.ID, of.Issue.ID); !errors.Is(err, postgres.ErrNoRows) {
		return err
	}
	if !access.Holds(by, access.PlanIssues, at.Target()) || !access.Holds(by, access.PlanIssues, of.Target()) {
		return nil
	}
	if _, err = s.addLink(ctx, tx, by, Placed{Project: at.Project, Issue: i}, of, RelatesTo); errors.Is(err, errManyLinks) {
		err = nil
	}
	return err
}

// RemoveLink cuts a link of an issue.
func (s *Service) RemoveLink(ctx context.Context, by access.Actor, p *project.Project, i *Issue, id int64) (*Link, *Issue, *project.Project, error) {
	l, other, in, err := s.FindLink(ctx, by, i, id)
	if err != nil {
		return nil, nil, nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.removeLink(ctx, tx, by, Placed{Project: p, Issue: i}, Placed{Project: in, Issue: other}, l)
	})
	return l, other, in, err
}

// removeLink cuts a link of an issue to another that the actor may read.
func (s *Service) removeLink(ctx context.Context, tx pgx.Tx, by access.Actor, from, to Placed, l *Link) error {
	if !access.Holds(by, access.PlanIssues, to.Target()) {
		return errNoLink
	}
	// Issues are held before their links, by everyone.
	if _, err := tx.Exec(ctx, sqlHoldAll, []int64{l.SourceID, l.TargetID}); err != nil {
		return err
	}
	done, err := tx.Exec(ctx, sqlDeleteLink, l.ID)
	if err != nil {
		return err
	} else if done.RowsAffected() == 0 {
		return errNoLink // somebody else cut it meanwhile
	}
	return s.deps.Bus.Publish(ctx, tx, Event{
		Action: Cut, By: by, At: s.deps.Clock.Now(), Project: from.Project, Issue: *from.Issue, Other: to.Issue, In: to.Project, Kind: l.As(from.Issue.ID),
	})
}
