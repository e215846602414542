package app

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/signin"
	"stithy/internal/user"
)

// react says, on one screen, what follows from what. Every reaction runs in
// the transaction of its event.
func (a *App) react(events *bus.Bus) {
	// What an administrator does leaves a trace.
	events.Always(a.Audit.Witness)

	// Who was kept out, or whose password changed, is signed out everywhere.
	bus.When(events, func(ctx context.Context, tx pgx.Tx, e user.Event) error {
		switch e.What {
		case user.WasBlocked, user.WasBanned, user.WasDeactivated, user.PasswordChanged, user.TwoFactorEnabled, user.TwoFactorDisabled, user.Destroyed:
			return a.Tokens.EndSessions(ctx, tx, e.User.ID)
		}
		return nil
	})

	// So is who changes the second factor: the browser that did it signs in anew.
	bus.When(events, func(ctx context.Context, tx pgx.Tx, e signin.Event) error {
		return a.Tokens.EndSessions(ctx, tx, e.By.ID())
	})

	// New addresses are asked for proof; what stood on a password or a second
	// factor goes with it.
	bus.When(events, a.SignIns.OnUser)
	bus.When(events, a.SignIns.OnResetWanted)

	// An account has its namespace, which goes with it; groups keep an owner.
	bus.When(events, a.Groups.OnUser)
	bus.When(events, a.Groups.OnUserUpdated)
	bus.When(events, a.Groups.OnUserLeaving)
	bus.When(events, a.Groups.OnUserRemoving)

	// Projects go where their group goes.
	bus.When(events, a.Projects.OnGroupMarked)
	bus.When(events, a.Projects.OnGroupLowering)
	bus.When(events, a.Projects.OnNamespaceRemoving)

	// A repository comes with a fork or from elsewhere, and goes with its project.
	bus.When(events, a.Repositories.OnProject)
	bus.When(events, a.Repositories.OnPushed)
	bus.When(events, a.Repositories.OnForked)
	bus.When(events, a.Repositories.OnImportAsked)
	bus.When(events, a.Repositories.OnProjectRemoving)
	bus.When(events, a.LFS.OnForked)
	bus.When(events, a.LFS.OnProjectRemoving)
	bus.When(events, a.Artifacts.OnProjectRemoving)
	bus.When(events, a.Runners.OnProjectRemoving)

	// A job that waits for a runner stands in the queue, in the transaction that
	// lets it wait; one that ended leaves a closed log.
	bus.When(events, a.Dispatch.OnJobQueued)
	bus.When(events, a.Dispatch.OnJobUnqueued)
	bus.When(events, a.Dispatch.OnJobFinished)

	// What was pushed runs.
	bus.When(events, a.Pipelines.OnPushed)

	// A bot lives as long as its token, its membership and its place.
	bus.When(events, a.Bots.OnToken)
	bus.When(events, a.Bots.OnMember)
	bus.When(events, a.Bots.OnNamespaceRemoving)
	bus.When(events, a.Bots.OnProjectRemoving)
}
