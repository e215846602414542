package note

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/emoji"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Said is what came of something that somebody said: the note, and what the commands in it did.
type Said struct {
	Note     *Note // nil when there was nothing but commands
	Commands issue.Outcome
}

// commands are those about an issue that this room knows, next to those that the issue itself knows. Whoever keeps more about issues adds theirs here.
func (s *Service) commands(by access.Actor, at Place) []issue.Command {
	return []issue.Command{
		{
			Name: "award", May: func(*issue.Issue) bool { return access.Holds(by, access.AwardEmoji, at.Target()) },
			Read: func(argument string) (issue.Deed, error) {
				name := strings.Trim(argument, ":")
				if !emoji.Known(name) {
					return issue.Deed{}, fault.WithMessage(fault.Unprocessable, "Failed to find this emoji.")
				}
				return issue.Deed{
					Do: func(ctx context.Context, tx pgx.Tx, i *issue.Issue) error {
						return s.toggle(ctx, tx, by, Subject{Place: Place{Project: at.Project, Issue: i}}, name)
					},
					Changes: func(f *issue.CommandsForm) { f.EmojiAward = &name },
					Summary: "Toggled :" + name + ": emoji award.",
				}, nil
			},
		},
	}
}

// toggle gives an emoji to a subject, or takes back the one that the actor gave before.
func (s *Service) toggle(ctx context.Context, tx pgx.Tx, by access.Actor, to Subject, name string) error {
	issueID, noteID := to.keys()
	given, err := postgres.Value[int64](ctx, tx, sqlOwnAward, by.ID(), emoji.Plain(name), issueID, noteID)
	switch {
	case errors.Is(err, postgres.ErrNoRows):
		_, err = s.give(ctx, tx, by, to, name)
	case err == nil:
		_, err = tx.Exec(ctx, sqlDeleteAward, given)
	}
	return err
}

// failed is that a text was nothing but commands of which none could be done.
func failed(out issue.Outcome) error {
	return fault.WithMessage(fault.Rejected, `400 Bad request - Note {:commands_only=>[%q]}`, strings.Join(append(out.Summary, "Failed to apply commands."), " "))
}
