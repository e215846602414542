package app

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/user"
)

// react says, on one screen, what follows from what. Every reaction runs in
// the transaction of its event.
func (a *App) react(events *bus.Bus) {
	// What an administrator does leaves a trace.
	events.Always(a.audit.Witness)

	// Who was kept out, or whose password changed, is signed out everywhere.
	bus.When(events, func(ctx context.Context, tx pgx.Tx, e user.Event) error {
		switch e.What {
		case user.WasBlocked, user.WasBanned, user.WasDeactivated, user.PasswordChanged, user.TwoFactorDisabled, user.Destroyed:
			return a.Tokens.EndSessions(ctx, tx, e.User.ID)
		}
		return nil
	})

	// An account has its namespace, which goes with it; groups keep an owner.
	bus.When(events, a.groups.OnUser)
	bus.When(events, a.groups.OnUserUpdated)
	bus.When(events, a.groups.OnUserLeaving)
	bus.When(events, a.groups.OnUserRemoving)

	// Projects go where their group goes.
	bus.When(events, a.projects.OnGroupMarked)
	bus.When(events, a.projects.OnGroupLowering)
	bus.When(events, a.projects.OnNamespaceRemoving)

	// A bot lives as long as its token, its membership and its place.
	bus.When(events, a.bots.OnToken)
	bus.When(events, a.bots.OnMember)
	bus.When(events, a.bots.OnNamespaceRemoving)
	bus.When(events, a.bots.OnProjectRemoving)
}
