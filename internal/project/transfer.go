package project

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Transfer moves a project to a namespace that the actor sees. It becomes no
// more open than that namespace, and its old path leads to it.
func (s *Service) Transfer(ctx context.Context, by access.Actor, id int64, target *group.Group) (*Project, error) {
	failed := func(why string) error {
		return fault.WithMessage(fault.Rejected, `Failed to transfer project {:new_namespace=>[%q]}`, why)
	}
	if !access.Holds(by, access.CreateProject, target.Target()) {
		return nil, failed("You don't have permission to transfer projects into that namespace.")
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// The tree that the project leaves needs no lock: whoever takes it apart
		// waits for the row, and then finds it elsewhere.
		home, err := s.deps.Groups.Parent(ctx, tx, target.ID)
		if err != nil {
			return err
		}
		p, err := s.lockWithForks(ctx, tx, id, home.Visibility)
		if err != nil {
			return err
		}
		before := *p.Project
		if p.NamespaceID == home.ID {
			return failed("Project is already in this namespace.")
		}
		err = s.checkLimit(ctx, tx, home)
		if fault.Is(err, fault.LimitReached) {
			return failed("You don't have permission to transfer projects into that namespace.")
		}
		if err != nil {
			return err
		}
		p.stand(home)
		p.Visibility = min(p.Visibility, home.Visibility)
		err = s.checkTaken(ctx, tx, home, p.Project)
		if err == nil {
			err = s.write(ctx, tx, by, &before, p.Project)
		}
		if fault.Is(err, fault.Rejected) {
			return failed("Project with same name or path in target namespace already exists")
		}
		if err != nil {
			return err
		}
		moved := Event{Action: Moved, By: by, Project: p.Project, Change: &bus.Change{What: "namespace", From: before.FullPath(), To: p.FullPath()}}
		if err := s.deps.Bus.Publish(ctx, tx, moved); err != nil || p.Visibility == before.Visibility {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: VisibilityChanged, By: by, Project: p.Project, Change: &bus.Change{
			What: "visibility", From: visibilityTitle[before.Visibility], To: visibilityTitle[p.Visibility],
		}})
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, by, id)
}

// targets are the groups that the actor may move a project to.
func (s *Service) targets(ctx context.Context, a access.Actor, p *Project, search string, req paging.Request) (paging.Result[relative], error) {
	if search != "" {
		search = postgres.LikeContains(search)
	}
	args := []any{a.ID(), s.today(), access.Developer, a.Admin(), p.NamespaceID, search}
	groups, err := postgres.All[relative](ctx, s.deps.DB, sqlTargets, append(args, req.PerPage+1, req.Offset())...)
	if err != nil {
		return paging.Result[relative]{}, err
	}
	total, err := postgres.Value[int](ctx, s.deps.DB, sqlCountTargets, append(args, paging.MaxTotal+1)...)
	return paging.Result[relative]{Items: groups[:min(len(groups), req.PerPage)], Total: total, More: len(groups) > req.PerPage}, err
}
