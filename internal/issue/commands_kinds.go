package issue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/milestone"
	"stithy/internal/platform/postgres"
)

// allKinds are the commands that there are, by each of their names.
func allKinds(more []Command) map[string]*kind {
	all := map[string]*kind{}
	for _, k := range slices.Concat(peopleKinds(), sortKinds(), stateKinds(), planKinds(), timeKinds(), otherKinds(), textKinds(), above(more)) {
		for _, name := range k.names {
			all[name] = &k
		}
	}
	return all
}

func edits(x asked) bool     { return x.rights.Edit }
func plans(x asked) bool     { return x.rights.Plan }
func reports(x asked) bool   { return x.plans && x.rights.Read }
func weighs(x asked) bool    { return x.rights.Plan && x.s.enterprise() }
func hears(x asked) bool     { return access.Holds(x.by, access.SubscribeToIssues, x.Target()) }
func anybody(asked) bool     { return true }
func isLocked(i *Issue) bool { return i.DiscussionLocked != nil && *i.DiscussionLocked }

type readFunc = func(ctx context.Context, x *reading, argument string) (parsedCommand, error)

// says is a command whose argument does not matter.
func says(d parsedCommand) readFunc {
	return func(context.Context, *reading, string) (parsedCommand, error) { return d, nil }
}

// peopleKinds say whom an issue is assigned to.
func peopleKinds() []kind {
	assignees := func(f *CommandsForm, i *Issue) { f.AssigneeIDs = new(append([]int64{}, i.AssigneeIDs...)) }
	return []kind{
		{names: []string{"assign"}, adds: true, new: true, may: plans, read: func(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
			ids, names, err := x.assignees(ctx, argument)
			return parsedCommand{
				change: func(c *Change) { c.assign = append(c.assign, ids...) }, changes: assignees, summary: "Assigned " + names + ".",
			}, err
		}},
		{names: []string{"reassign"}, new: true, may: plans, read: func(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
			ids, names, err := x.assignees(ctx, argument)
			return parsedCommand{
				change: func(c *Change) { c.AssigneeIDs = &ids }, changes: assignees, summary: "Changed assignee(s) to " + names + ".",
			}, err
		}},
		{names: []string{"unassign", "remove_assignee"}, adds: true, may: plans, read: func(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
			if argument == "" {
				return parsedCommand{change: func(c *Change) { c.AssigneeIDs = &[]int64{} }, changes: assignees, summary: "Removed all assignees."}, nil
			}
			ids, names, err := x.users(ctx, argument)
			return parsedCommand{
				change: func(c *Change) { c.unassign = append(c.unassign, ids...) }, changes: assignees,
				summary: "Removed assignee " + strings.Join(names, " ") + ".",
			}, err
		}},
	}
}

// sortKinds say which labels and which milestone an issue has.
func sortKinds() []kind {
	return []kind{
		{names: []string{"label", "labels"}, adds: true, new: true, may: plans, read: func(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
			ids, names, err := x.labels(ctx, argument)
			return parsedCommand{
				change:  func(c *Change) { c.labels.add = append(c.labels.add, ids...) },
				changes: func(f *CommandsForm, _ *Issue) { f.AddLabelIDs = more(f.AddLabelIDs, ids) }, summary: "Added " + names + ".",
			}, err
		}},
		{names: []string{"relabel"}, new: true, may: plans, read: func(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
			ids, names, err := x.labels(ctx, argument)
			return parsedCommand{
				change:  func(c *Change) { c.labels.set = &ids },
				changes: func(f *CommandsForm, _ *Issue) { f.LabelIDs = &ids }, summary: "Replaced all labels with " + names + ".",
			}, err
		}},
		{names: []string{"unlabel", "remove_label"}, adds: true, may: plans, read: func(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
			if argument == "" {
				return parsedCommand{
					change:  func(c *Change) { c.labels.set = &[]int64{} },
					changes: func(f *CommandsForm, _ *Issue) { f.LabelIDs = &[]int64{} }, summary: "Removed all labels.",
				}, nil
			}
			ids, names, err := x.labels(ctx, argument)
			return parsedCommand{
				change:  func(c *Change) { c.labels.remove = append(c.labels.remove, ids...) },
				changes: func(f *CommandsForm, _ *Issue) { f.RemoveLabelIDs = more(f.RemoveLabelIDs, ids) }, summary: "Removed " + names + ".",
			}, err
		}},
		{names: []string{"milestone"}, new: true, may: plans, read: readMilestone},
		{names: []string{"remove_milestone"}, may: func(x asked) bool { return plans(x) && x.Issue.MilestoneID != nil }, read: says(parsedCommand{
			change:  func(c *Change) { c.MilestoneID = new((*int64)(nil)) },
			changes: func(f *CommandsForm, _ *Issue) { f.MilestoneID = new((*int64)(nil)) }, summary: "Removed the milestone.",
		})},
		{names: []string{"copy_metadata"}, new: true, may: plans, read: readCopyMetadata},
	}
}

func more(have *[]int64, ids []int64) *[]int64 {
	if have == nil {
		return &ids
	}
	return new(slices.Concat(*have, ids))
}

func readMilestone(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	var m *milestone.Milestone
	err := x.take()
	if err == nil {
		title := strings.Join(names(argument, '%'), " ")
		m, err = x.s.deps.Milestones.FindTitled(ctx, x.s.deps.DB, x.at.Project.ID, title)
	}
	if fault.Is(err, fault.NotFound) {
		err = errNoMilestone
	}
	if err != nil {
		return parsedCommand{}, err
	}
	return parsedCommand{
		change:  func(c *Change) { c.MilestoneID = new(&m.ID) },
		changes: func(f *CommandsForm, _ *Issue) { f.MilestoneID = new(&m.ID) }, summary: fmt.Sprintf("Set the milestone to %%%q.", m.Title),
	}, nil
}

// readCopyMetadata takes labels and milestone from another issue of the project.
func readCopyMetadata(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	from, err := x.issue(ctx, argument)
	if err == nil && from.Project.ID != x.at.Project.ID {
		err = errNoIssue
	}
	if err != nil {
		return parsedCommand{}, err
	}
	had := from.Issue
	return parsedCommand{
		change: func(c *Change) {
			if c.labels.add = append(c.labels.add, had.LabelIDs...); had.MilestoneID != nil {
				c.MilestoneID = new(had.MilestoneID)
			}
		},
		changes: func(f *CommandsForm, _ *Issue) {
			if f.AddLabelIDs = more(f.AddLabelIDs, had.LabelIDs); had.MilestoneID != nil {
				f.MilestoneID = new(had.MilestoneID)
			}
		},
		summary: fmt.Sprintf("Copied labels and milestone from #%d.", had.IID),
	}, nil
}

// stateKinds say whether an issue is open, what it is called, and who speaks there.
func stateKinds() []kind {
	state := func(closed bool, event, summary string) kind {
		return kind{names: []string{event}, may: func(x asked) bool { return edits(x) && x.Issue.Closed != closed && (closed || !isLocked(x.Issue)) }, read: says(parsedCommand{
			change: func(c *Change) { c.Close = &closed }, changes: func(f *CommandsForm, _ *Issue) { f.StateEvent = &event }, summary: summary,
		})}
	}
	lock := func(on bool, name, summary string) kind {
		return kind{names: []string{name}, may: func(x asked) bool { return plans(x) && isLocked(x.Issue) != on }, read: says(parsedCommand{
			change: func(c *Change) { c.DiscussionLocked = &on }, changes: func(f *CommandsForm, _ *Issue) { f.DiscussionLocked = &on }, summary: summary,
		})}
	}
	return []kind{
		state(true, "close", "Closed this issue."), state(false, "reopen", "Reopened this issue."),
		lock(true, "lock", "Locked the discussion."), lock(false, "unlock", "Unlocked the discussion."),
		{names: []string{"title"}, new: true, may: edits, read: func(_ context.Context, _ *reading, argument string) (parsedCommand, error) {
			if argument == "" || utf8.RuneCountInString(argument) > maxTitle {
				return parsedCommand{}, errTitle
			}
			return parsedCommand{
				change: func(c *Change) { c.Title = &argument }, changes: func(f *CommandsForm, _ *Issue) { f.Title = &argument },
				summary: fmt.Sprintf("Changed the title to %q.", argument),
			}, nil
		}},
		{names: []string{"confidential"}, new: true, may: mayHide, read: says(parsedCommand{
			change:  func(c *Change) { c.Confidential = new(true) },
			changes: func(f *CommandsForm, _ *Issue) { f.Confidential = new(true) }, summary: "Made this issue confidential.",
		})},
	}
}

// mayHide is for those who plan, and for whoever makes the issue.
func mayHide(x asked) bool { return !x.Issue.Confidential && (plans(x) || x.Issue.ID == 0) }

// planKinds say when an issue is due, what it is and how it goes.
func planKinds() []kind {
	return []kind{
		{names: []string{"due"}, new: true, may: plans, read: func(_ context.Context, x *reading, argument string) (parsedCommand, error) {
			t, err := x.date(argument)
			return parsedCommand{
				change: func(c *Change) { c.DueDate = new(&t) }, changes: func(f *CommandsForm, _ *Issue) { f.due(&t) },
				summary: "Set the due date to " + t.Format("Jan 2, 2006") + ".",
			}, err
		}},
		{names: []string{"remove_due_date"}, may: func(x asked) bool { return plans(x) && x.Issue.DueDate != nil }, read: says(parsedCommand{
			change:  func(c *Change) { c.DueDate = new((*time.Time)(nil)) },
			changes: func(f *CommandsForm, _ *Issue) { f.due(nil) }, summary: "Removed the due date.",
		})},
		{names: []string{"promote_to_incident"}, new: true, may: func(x asked) bool { return reports(x) && x.Issue.Type == Plain }, read: says(parsedCommand{
			change:  func(c *Change) { c.Type = new(Incident) },
			changes: func(f *CommandsForm, _ *Issue) { f.IssueType = new(Incident) }, summary: "Promoted this issue to incident.",
		})},
		{names: []string{"severity"}, new: true, may: func(x asked) bool { return reports(x) && x.incident }, read: readSeverity},
		{names: []string{"weight"}, new: true, may: weighs, read: func(_ context.Context, _ *reading, argument string) (parsedCommand, error) {
			n, err := strconv.Atoi(argument)
			if err != nil || n < 0 || n > math.MaxInt32 {
				return parsedCommand{}, errValue
			}
			return parsedCommand{
				change: func(c *Change) { c.Weight = new(&n) }, changes: func(f *CommandsForm, _ *Issue) { f.Weight = new(&n) },
				summary: fmt.Sprintf("Set weight to %d.", n),
			}, nil
		}},
		{names: []string{"clear_weight"}, may: func(x asked) bool { return weighs(x) && x.Issue.Weight != nil }, read: says(parsedCommand{
			change:  func(c *Change) { c.Weight = new((*int)(nil)) },
			changes: func(f *CommandsForm, _ *Issue) { f.Weight = new((*int)(nil)) }, summary: "Removed weight.",
		})},
		{names: []string{"health_status"}, new: true, may: weighs, read: func(_ context.Context, _ *reading, argument string) (parsedCommand, error) {
			if !slices.Contains([]string{"on_track", "needs_attention", "at_risk"}, argument) {
				return parsedCommand{}, errValue
			}
			return parsedCommand{
				change: func(c *Change) { c.HealthStatus = new(&argument) }, changes: func(f *CommandsForm, _ *Issue) { f.HealthStatus = new(&argument) },
				summary: "Set health status to " + argument + ".",
			}, nil
		}},
		{names: []string{"clear_health_status"}, may: func(x asked) bool { return weighs(x) && x.Issue.HealthStatus != nil }, read: says(parsedCommand{
			change:  func(c *Change) { c.HealthStatus = new((*string)(nil)) },
			changes: func(f *CommandsForm, _ *Issue) { f.HealthStatus = new((*string)(nil)) }, summary: "Cleared health status.",
		})},
	}
}

// readSeverity knows severities by their names and by their numbers, of which 1 is the worst.
func readSeverity(_ context.Context, _ *reading, argument string) (parsedCommand, error) {
	all := []Severity{Unknown, "critical", "high", "medium", "low"}
	word := strings.ToLower(argument)
	severity := Severity(word)
	if n := slices.Index([]string{"", "s1", "s2", "s3", "s4"}, word); n > 0 {
		severity = all[n]
	}
	if !slices.Contains(all, severity) {
		return parsedCommand{}, errValue
	}
	return parsedCommand{
		change: func(c *Change) { c.Severity = &severity }, changes: func(f *CommandsForm, _ *Issue) { f.Severity = &severity },
		summary: fmt.Sprintf("Set severity to %s.", severity),
	}, nil
}

// timeKinds say how long an issue takes and took.
func timeKinds() []kind {
	return []kind{
		{names: []string{"estimate", "estimate_time"}, new: true, may: reports, read: func(_ context.Context, x *reading, argument string) (parsedCommand, error) {
			seconds, ok := ParseDuration(argument)
			if !ok || seconds < 0 {
				return parsedCommand{}, errDuration
			}
			return x.estimates(seconds, "Set time estimate to "+FormatDuration(seconds, false)+"."), nil
		}},
		{names: []string{"remove_estimate", "remove_time_estimate"}, may: reports, read: func(_ context.Context, x *reading, _ string) (parsedCommand, error) {
			return x.estimates(0, "Removed time estimate."), nil
		}},
		{names: []string{"spend", "spent", "spend_time"}, new: true, may: reports, read: readSpend},
		{names: []string{"remove_time_spent"}, may: reports, read: func(_ context.Context, x *reading, _ string) (parsedCommand, error) {
			return parsedCommand{do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
				_, err := x.s.resetSpent(ctx, tx, x.timed(), i.IID)
				return err
			}, summary: "Removed spent time."}, nil
		}},
	}
}

func (x *reading) timed() Event { return Event{Action: Timed, By: x.by, Project: x.at.Project} }

func (x *reading) estimates(seconds int, summary string) parsedCommand {
	return parsedCommand{do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		_, err := x.s.estimate(ctx, tx, x.timed(), i.IID, seconds)
		return err
	}, changes: func(f *CommandsForm, _ *Issue) { f.TimeEstimate = &seconds }, summary: summary}
}

func readSpend(_ context.Context, x *reading, argument string) (parsedCommand, error) {
	seconds, on, err := x.spent(argument)
	if err != nil {
		return parsedCommand{}, err
	}
	summary, day := "Added "+FormatDuration(seconds, false)+" spent time.", x.s.deps.Clock.Now()
	if seconds < 0 {
		summary = "Subtracted " + FormatDuration(-seconds, false) + " spent time."
	}
	if on != nil {
		day = *on
	}
	return parsedCommand{do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		e := x.timed()
		e.SpentOn = on
		_, err := x.s.spend(ctx, tx, e, i.IID, seconds, "")
		return err
	}, changes: func(f *CommandsForm, _ *Issue) { f.spent(seconds, x.by.ID(), day) }, summary: summary}, nil
}

// otherKinds are about an issue and others, and who hears of it.
func otherKinds() []kind {
	subscribe := func(on bool, name, summary string) kind {
		return kind{names: []string{name}, may: hears, read: func(_ context.Context, x *reading, _ string) (parsedCommand, error) {
			return parsedCommand{
				do:      func(ctx context.Context, tx pgx.Tx, i *Issue) error { return x.s.subscribe(ctx, tx, x.by, i, on) },
				changes: func(f *CommandsForm, _ *Issue) { f.SubscriptionEvent = &name }, summary: summary,
			}, nil
		}}
	}
	mark := func(done bool, name, event, summary string) kind {
		return kind{names: []string{name}, new: !done, may: hears, read: func(_ context.Context, x *reading, _ string) (parsedCommand, error) {
			return parsedCommand{
				do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
					return x.s.deps.Bus.Publish(ctx, tx, MarkEvent{By: x.by, At: x.s.deps.Clock.Now(), Issue: *i, Done: done})
				},
				changes: func(f *CommandsForm, _ *Issue) { f.TodoEvent = &event }, summary: summary,
			}, nil
		}}
	}
	return []kind{
		mark(false, "todo", "add", "Added a to-do item."), mark(true, "done", "done", "Marked to-do item as done."),
		subscribe(true, "subscribe", "Subscribed to this issue."), subscribe(false, "unsubscribe", "Unsubscribed from this issue."),
		{names: []string{"relate"}, adds: true, new: true, may: reports, read: readRelate},
		{names: []string{"unlink"}, adds: true, may: reports, read: readUnlink},
		{names: []string{"duplicate"}, may: edits, read: readDuplicate},
		{names: []string{"move"}, may: reports, read: readMove},
		{names: []string{"clone"}, may: reports, read: readClone},
	}
}

// ids are those of some issues.
func ids(all ...Placed) []int64 {
	list := make([]int64, len(all))
	for n := range all {
		list[n] = all[n].Issue.ID
	}
	return list
}

func readRelate(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	others, err := x.issues(ctx, argument)
	if err != nil {
		return parsedCommand{}, err
	}
	return parsedCommand{others: ids(others...), do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		for _, other := range others {
			if _, err := x.s.addLink(ctx, tx, x.by, Placed{Project: x.at.Project, Issue: i}, other, RelatesTo); err != nil {
				return err
			}
		}
		return nil
	}, summary: "Marked this issue as related to " + argument + "."}, nil
}

func readUnlink(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	other, err := x.issue(ctx, argument)
	if err != nil {
		return parsedCommand{}, err
	}
	return parsedCommand{others: ids(other), do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		l, err := postgres.One[Link](ctx, tx, sqlLinkOf, i.ID, other.Issue.ID)
		if errors.Is(err, postgres.ErrNoRows) {
			return errNotLinked
		} else if err != nil {
			return err
		}
		return x.s.removeLink(ctx, tx, x.by, Placed{Project: x.at.Project, Issue: i}, other, &l)
	}, summary: "Removed the link with " + argument + "."}, nil
}

func readDuplicate(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	of, err := x.issue(ctx, argument)
	if err != nil {
		return parsedCommand{}, err
	} else if of.Issue.ID == x.at.Issue.ID || !access.Holds(x.by, access.CreateNotes, of.Target()) {
		return parsedCommand{}, errNoIssue
	}
	return parsedCommand{others: ids(of), do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		return x.s.duplicate(ctx, tx, x.by, Placed{Project: x.at.Project, Issue: i}, of)
	}, changes: func(f *CommandsForm, _ *Issue) { f.CanonicalIssueID = &of.Issue.ID },
		summary: "Closed this issue. Marked as related to, and a duplicate of, " + argument + "."}, nil
}

func readMove(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	if argument == "" {
		return parsedCommand{}, errNoProject
	}
	c, err := x.project(ctx, argument)
	if err != nil {
		return parsedCommand{}, err
	}
	return parsedCommand{last: true, copies: c.to.ID, do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		_, err := x.s.move(ctx, tx, x.by, x.at.Project, i.IID, c.to, c.assignees)
		return err
	}, summary: "Moved this issue to " + c.to.FullPath() + "."}, nil
}

func readClone(ctx context.Context, x *reading, argument string) (parsedCommand, error) {
	path, notes := strings.CutSuffix(argument, "--with_notes")
	c, err := x.project(ctx, strings.TrimSpace(path))
	if err != nil {
		return parsedCommand{}, err
	}
	return parsedCommand{last: true, copies: c.to.ID, do: func(ctx context.Context, tx pgx.Tx, i *Issue) error {
		_, err := x.s.clone(ctx, tx, x.by, x.at.Project, i.IID, c.to, c.assignees, notes)
		return err
	}, changes: func(f *CommandsForm, _ *Issue) { f.CloneWithNotes = &notes }, summary: "Cloned this issue to " + c.to.FullPath() + "."}, nil
}

// textKinds stand for a text.
func textKinds() []kind {
	puts := func(name, text string) kind {
		return kind{names: []string{name}, adds: true, new: true, may: anybody, read: func(_ context.Context, _ *reading, argument string) (parsedCommand, error) {
			return parsedCommand{instead: strings.TrimSpace(argument + " " + text)}, nil
		}}
	}
	return []kind{puts("shrug", `¯\＿(ツ)＿/¯`), puts("tableflip", `(╯°□°)╯︵ ┻━┻`)}
}

// above are the commands of rooms above.
func above(more []Command) (all []kind) {
	for _, m := range more {
		all = append(all, kind{
			names: []string{m.Name}, may: func(x asked) bool { return m.May(x.Issue) }, read: func(_ context.Context, _ *reading, argument string) (parsedCommand, error) {
				d, err := m.Read(argument)
				return parsedCommand{do: d.Do, changes: func(f *CommandsForm, _ *Issue) { d.Changes(f) }, summary: d.Summary}, err
			},
		})
	}
	return all
}
