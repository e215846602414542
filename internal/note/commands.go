package note

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/emoji"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Said is the outcome of a comment: the note, and what the commands in it did.
type Said struct {
	Note     *Note // nil when there was nothing but commands
	Commands issue.Outcome
}

// issueText is the parsedText of issues.
type issueText struct {
	*issue.Commands
	at AtIssue
	by access.Actor
}

func (c *issueText) hold(ctx context.Context, tx pgx.Tx) (here Place, rest string, err error) {
	if err := c.LockTargets(ctx, tx); err != nil {
		return nil, "", err
	}
	if c.at, err = c.at.held(ctx, tx, c.by); err != nil {
		return nil, "", err
	}
	return c.at, c.SelectAllowed(c.at.Issue), nil
}

func (c *issueText) nothingElse(rest string) bool { return c.NothingElse(rest) }

func (c *issueText) run(ctx context.Context, tx pgx.Tx) (issue.Outcome, error) {
	return c.Run(ctx, tx, c.at.Issue)
}

// commands are those about an issue that this room knows, next to those that the issue itself knows. Whoever keeps more about issues adds theirs here.
func (s *Service) commands(by access.Actor, at AtIssue) []issue.Command {
	return []issue.Command{
		{
			Name: "award", May: func(*issue.Issue) bool { return access.Holds(by, access.AwardEmoji, at.Target()) },
			Read: func(argument string) (issue.CommandEffect, error) {
				name := strings.Trim(argument, ":")
				if !emoji.Known(name) {
					return issue.CommandEffect{}, fault.WithMessage(fault.Unprocessable, "Failed to find this emoji.")
				}
				return issue.CommandEffect{
					Do: func(ctx context.Context, tx pgx.Tx, i *issue.Issue) error {
						return s.toggle(ctx, tx, by, Subject{Place: AtIssue{issue.Placed{Project: at.Project, Issue: i}}}, name)
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
	given, err := postgres.Value[int64](ctx, tx, sqlOwnAward, to.keys(by.ID(), emoji.Plain(name))...)
	switch {
	case errors.Is(err, postgres.ErrNoRows):
		_, err = s.give(ctx, tx, by, to, name)
	case err == nil:
		_, err = tx.Exec(ctx, sqlDeleteAward, given)
	}
	return err
}

// failed is that a text was nothing but commands of which none could be done, in the form that clients of this API look for and by field.
func failed(out issue.Outcome) error {
	why := strings.Join(append(out.Summary, "Failed to apply commands."), " ")
	return &fault.Error{Kind: fault.Rejected, Text: fmt.Sprintf(`400 Bad request - Note {:commands_only=>[%q]}`, why), Fields: fault.Fields{"note": {why}}}
}
