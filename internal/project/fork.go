package project

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// ForkDraft is what a fork may have of its own.
type ForkDraft struct {
	Name, Path, Description *string
	Visibility              *access.Visibility
	MRDefaultTargetSelf     *bool
}

// Fork makes a copy of a project in a namespace. The copy is no more open
// than its source, the namespace, what the instance allows and what was asked
// for.
func (s *Service) Fork(ctx context.Context, by access.Actor, source *Project, home *group.Group, d ForkDraft) (*Project, error) {
	if !access.Holds(by, access.CreateProject, home.Target()) {
		return nil, fault.NotFoundf("Target Namespace")
	}
	p := &Project{
		NamespaceID: home.ID, CreatorID: new(by.ID()), Name: source.Name, Path: source.Path, Description: source.Description,
		DefaultBranch: source.DefaultBranch, Topics: source.Topics, Features: source.Features, Settings: defaultSettings(),
		ForkedFromID: &source.ID, CreatedAt: s.deps.Clock.Now(),
		ImportStatus: "scheduled",
	}
	p.Settings.CIConfigPath = source.Settings.CIConfigPath
	set(&p.Name, d.Name)
	set(&p.Path, d.Path)
	set(&p.Description, d.Description)
	set(&p.Settings.MRDefaultTargetSelf, d.MRDefaultTargetSelf)
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// The tree is locked before the source, as everywhere.
		if _, err := s.deps.Groups.Parent(ctx, tx, home.ID); err != nil {
			return err
		}
		from, err := s.lock(ctx, tx, source.ID)
		if err != nil {
			return err
		}
		p.Visibility = from.Visibility
		if d.Visibility != nil {
			p.Visibility = min(p.Visibility, *d.Visibility)
		}
		for _, lower := range []access.Visibility{access.Internal, access.Private} {
			if s.restricted(by, p.Visibility) {
				p.Visibility = min(p.Visibility, lower)
			}
		}
		if err := s.insert(ctx, tx, by, p, Features{}); err != nil {
			return conflict(err)
		}
		if _, err := tx.Exec(ctx, sqlAddForks, source.ID, 1); err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, ForkMade{Fork: p}); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Forked, By: by, Project: from.Project, Message: "Forked project to " + p.FullPath()})
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, by, p.ID)
}

// conflict says what stands in the way of a fork.
func conflict(err error) error {
	f, ok := fault.Of(err)
	switch {
	case ok && f.Kind == fault.Rejected:
		return &fault.Error{Kind: fault.Conflict, Fields: f.Fields}
	case ok && f.Kind == fault.LimitReached:
		return &fault.Error{Kind: fault.Conflict, Fields: fault.Fields{"limit_reached": {f.Text}}}
	}
	return err
}

// Adopt notes down that a project was forked from another.
func (s *Service) Adopt(ctx context.Context, by access.Actor, id int64, source *Project) (*Project, error) {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockTied(ctx, tx, sqlLockTied, sqlTied, []int64{id, source.ID}, access.Public); err != nil {
			return err
		}
		from, err := s.lock(ctx, tx, source.ID)
		if err != nil {
			return err
		}
		circle, err := postgres.Value[bool](ctx, tx, sqlDescends, source.ID, id)
		if err != nil {
			return err
		}
		if circle {
			return fault.WithMessage(fault.Conflict, "Project cannot be forked from itself or from its own forks")
		}
		p, err := s.lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case p.ForkedFromID != nil:
			return fault.WithMessage(fault.Conflict, "Project already forked")
		case p.Visibility > from.Visibility:
			return fault.Field("visibility_level", "%s is not allowed since the fork source project has lower visibility.", p.Visibility)
		}
		if _, err := tx.Exec(ctx, sqlSetSource, id, source.ID, s.deps.Clock.Now()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlAddForks, source.ID, 1); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Forked, By: by, Project: from.Project, Message: "Forked project to " + p.FullPath()})
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, by, id)
}

// CutFork ends the tie of a fork to its source. It answers NotModified where
// there is none.
func (s *Service) CutFork(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if p.ForkedFromID == nil {
			return fault.New(fault.NotModified)
		}
		if _, err := tx.Exec(ctx, sqlSetSource, id, nil, s.deps.Clock.Now()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlAddForks, *p.ForkedFromID, -1); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: ForkCut, By: by, Project: p.Project, Message: "Removed fork relationship"})
	})
}
