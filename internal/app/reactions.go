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
	events.OnAny(a.Audit.Record)

	// Who was kept out, or whose password changed, is signed out everywhere.
	bus.On(events, func(ctx context.Context, tx pgx.Tx, e user.Event) error {
		switch e.Action {
		case user.WasBlocked, user.WasBanned, user.WasDeactivated, user.PasswordChanged, user.TwoFactorEnabled, user.TwoFactorDisabled, user.Destroyed:
			return a.Tokens.EndSessions(ctx, tx, e.User.ID)
		}
		return nil
	})

	// So is who changes the second factor: the browser that did it signs in anew.
	bus.On(events, func(ctx context.Context, tx pgx.Tx, e signin.Event) error {
		return a.Tokens.EndSessions(ctx, tx, e.By.ID())
	})

	// New addresses are asked for proof; what stood on a password or a second
	// factor goes with it.
	bus.On(events, a.SignIns.OnUser)
	bus.On(events, a.SignIns.OnResetWanted)

	// An account has its namespace, which goes with it; groups keep an owner.
	bus.On(events, a.Groups.OnUser)
	bus.On(events, a.Groups.OnUserUpdated)
	bus.On(events, a.Groups.OnUserLeaving)
	bus.On(events, a.Groups.OnUserRemoving)

	// Projects go where their group goes.
	bus.On(events, a.Projects.OnGroupMarked)
	bus.On(events, a.Projects.OnGroupLowering)
	bus.On(events, a.Projects.OnNamespaceRemoving)

	// A repository comes with a fork or from elsewhere, and goes with its project.
	bus.On(events, a.Repositories.OnProject)
	bus.On(events, a.Repositories.OnPushed)
	bus.On(events, a.Repositories.OnForked)
	bus.On(events, a.Repositories.OnImportAsked)
	bus.On(events, a.Repositories.OnProjectRemoving)
	bus.On(events, a.LFS.OnForked)
	bus.On(events, a.LFS.OnProjectRemoving)
	bus.On(events, a.Uploads.OnProjectRemoving)
	bus.On(events, a.Issues.OnLabel)
	bus.On(events, a.Issues.OnMilestone)

	// What is pushed to a repository of texts changes the wiki or snippet that it is of.
	bus.On(events, a.Wikis.OnTextPushed)
	bus.On(events, a.Snippets.OnTextPushed)
	bus.On(events, a.Snippets.OnUserRemoving)

	// What an issue was is noted when it changes.
	bus.On(events, a.Notes.OnIssue)
	bus.On(events, a.Notes.OnLabel)
	bus.On(events, a.Notes.OnMilestone)
	bus.On(events, a.Notes.OnProjectRemoving)

	// A list of a board stands for something that may go, or become another.
	bus.On(events, a.Boards.OnLabel)
	bus.On(events, a.Boards.OnMilestone)
	bus.On(events, a.Boards.OnUserRemoving)

	// What people are to be mailed about is written down before those are found whom it names.
	bus.On(events, a.Notifications.OnIssue)
	bus.On(events, a.Notifications.OnNote)
	bus.On(events, a.Notifications.OnMention)
	bus.On(events, a.Notifications.OnPipeline)
	bus.On(events, a.Notifications.OnProject)
	bus.On(events, a.Notifications.OnRequest)
	bus.On(events, a.Notifications.OnUnknownEntry)
	bus.On(events, a.Notifications.OnAlerts)

	// What somebody does at an issue marks their to-dos there as done. Then those
	// whom it names get one.
	bus.On(events, a.Todos.OnIssue)
	bus.On(events, a.Todos.OnNote)
	bus.On(events, a.Todos.OnAward)
	bus.On(events, a.Todos.OnMention)
	bus.On(events, a.Todos.OnMark)
	bus.On(events, a.Mentions.OnIssue)
	bus.On(events, a.Mentions.OnNote)
	bus.On(events, a.Artifacts.OnProjectRemoving)
	bus.On(events, a.Runners.OnProjectRemoving)
	bus.On(events, a.Pages.OnProjectRemoving)

	// A job that waits for a runner stands in the queue, in the transaction that
	// lets it wait; one that ended leaves a closed log.
	bus.On(events, a.Dispatch.OnJobQueued)
	bus.On(events, a.Dispatch.OnJobUnqueued)
	bus.On(events, a.Dispatch.OnJobFinished)

	// What a job of Pages left becomes a site.
	bus.On(events, a.Pages.OnJobFinished)

	// What was pushed names issues, and closes them.
	bus.On(events, a.Mentions.OnPushed)

	// What was pushed runs.
	bus.On(events, a.Pipelines.OnPushed)

	// What people do in projects is told to others.
	bus.On(events, a.Events.OnPushed)
	bus.On(events, a.Events.OnProject)
	bus.On(events, a.Events.OnForked)
	bus.On(events, a.Events.OnMember)
	bus.On(events, a.Events.OnIssue)
	bus.On(events, a.Events.OnNote)
	bus.On(events, a.Events.OnMilestone)
	bus.On(events, a.Events.OnWiki)
	bus.On(events, a.Events.OnProjectRemoving)
	bus.On(events, a.Events.OnUserRemoving)

	// A bot lives as long as its token, its membership and its place.
	bus.On(events, a.Bots.OnToken)
	bus.On(events, a.Bots.OnMember)
	bus.On(events, a.Bots.OnNamespaceRemoving)
	bus.On(events, a.Bots.OnProjectRemoving)
}
