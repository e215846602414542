package issue

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/quickaction"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Commands are the quick actions in a text about an issue. They are parsed before the transaction that runs them, because that looks up what
// they name. SelectAllowed then keeps those that the actor may give, and Run does them as the API would.
type Commands struct {
	s    *Service
	by   access.Actor
	text string
	new  bool // the issue is being made
	at   Placed

	parsed  []parsedCommand
	allowed []parsedCommand
	missing []string // labels that commands name and that are not there
}

// Command is a quick action that a package above this one adds.
type Command struct {
	Name string
	May  func(i *Issue) bool
	Read func(argument string) (CommandEffect, error)
}

// CommandEffect is what a Command does once it is parsed: Do runs it, Changes and Summary tell of it.
type CommandEffect struct {
	Do      func(ctx context.Context, tx pgx.Tx, i *Issue) error
	Changes func(f *CommandsForm)
	Summary string
}

// kind declares one quick action: its names, who may give it and how its argument is read.
type kind struct {
	names []string
	adds  bool // several of them are done; of others the last one
	new   bool // also while an issue is being made
	may   func(x asked) bool
	read  func(ctx context.Context, x *reading, argument string) (parsedCommand, error)
}

// asked is what decides whether a command is allowed: who gives it, and about which issue.
type asked struct {
	by access.Actor
	s  *Service
	Placed
	rights   Rights
	plans    bool // issues of the project, whatever this one is
	incident bool // it is one, or becomes one
}

// parsedCommand is a command that was found in a text, with what it would do.
type parsedCommand struct {
	kind    *kind
	found   quickaction.Command // where it stands in the text
	failed  string              // why it cannot be done
	change  func(c *Change)
	do      func(ctx context.Context, tx pgx.Tx, i *Issue) error
	changes func(f *CommandsForm, i *Issue)
	summary string
	instead string // text that replaces the command, as for /shrug

	others []int64 // issues that it changes
	copies int64   // the project in which it makes an issue
	last   bool    // it is done after all others
}

// ReadCommands finds the commands of a text that an actor may give about an issue, and what they name.
func (s *Service) ReadCommands(ctx context.Context, by access.Actor, at Placed, text string, more ...Command) (*Commands, error) {
	return s.readCommands(ctx, &Commands{s: s, by: by, text: text, at: at}, more)
}

func (s *Service) readCommands(ctx context.Context, c *Commands, more []Command) (*Commands, error) {
	if !strings.Contains(c.text, "/") {
		return c, nil
	}
	kinds := allKinds(more)
	known := func(name string) bool { return kinds[name] != nil && (kinds[name].new || !c.new) }
	x := &reading{Commands: c, left: maxNamed}
	ask := c.asked(c.at.Issue)
	for _, found := range quickaction.Find(c.text, known) {
		k := kinds[found.Name]
		ask.incident = ask.incident || k.names[0] == "promote_to_incident"
		if !k.may(ask) {
			continue
		}
		d, err := k.read(ctx, x, found.Argument)
		if said, ok := fault.Of(err); ok {
			d = parsedCommand{failed: said.Error()}
		} else if err != nil {
			return nil, err
		}
		d.kind, d.found = k, found
		d.found.Instead = d.instead
		c.parsed = append(c.parsed, d)
	}
	return c, x.assigneesOfCopies(ctx)
}

func (c *Commands) asked(i *Issue) asked {
	x := asked{by: c.by, s: c.s, Placed: Placed{Project: c.at.Project, Issue: i}, incident: i.Type == Incident}
	x.plans = access.Holds(c.by, access.PlanIssues, x.Target())
	x.rights = RightsOf(c.by, c.at.Project, i)
	if c.new {
		// Members may say of an issue that they make what later reporters may.
		member := c.by.Admin() || c.at.Project.Role >= access.Guest
		x.rights = Rights{Read: true, Edit: true, Plan: member}
	}
	return x
}

// LockTargets locks what the commands touch, in the order that everyone keeps: counters of numbers by project, then issues by id.
func (c *Commands) LockTargets(ctx context.Context, tx pgx.Tx) error {
	var projects, issues []int64
	for _, d := range c.parsed {
		if d.copies != 0 {
			projects = append(projects, d.copies)
		}
		issues = append(issues, d.others...)
	}
	slices.Sort(projects)
	for _, id := range slices.Compact(projects) {
		if _, err := tx.Exec(ctx, sqlAtLeast, id, 0); err != nil {
			return faults.Translate(err)
		}
	}
	if len(issues) == 0 {
		return nil
	}
	_, err := postgres.Values[int64](ctx, tx, sqlHoldAll, append(issues, c.at.Issue.ID))
	return err
}

// SelectAllowed chooses the commands that the actor may give about an issue as it is now, and returns the text without them.
func (c *Commands) SelectAllowed(i *Issue) (rest string) {
	ask := c.asked(i)
	var done []quickaction.Command
	for _, d := range c.parsed {
		ask.incident = ask.incident || d.kind.names[0] == "promote_to_incident"
		if !d.kind.may(ask) {
			continue
		}
		done = append(done, d.found)
		if !d.kind.adds {
			c.allowed = slices.DeleteFunc(c.allowed, func(e parsedCommand) bool { return e.kind == d.kind })
		}
		c.allowed = append(c.allowed, d)
	}
	return quickaction.Remove(c.text, done)
}

// NothingElse reports whether a text holds allowed commands and nothing else.
func (c *Commands) NothingElse(rest string) bool {
	return len(c.allowed) > 0 && strings.TrimSpace(rest) == ""
}

// Outcome is what came of commands.
type Outcome struct {
	Changes CommandsForm
	Summary []string
	Done    int      // how many were done
	Missing []string // labels that they name and that are not there
}

// Run does the allowed commands, each as far as it can be done: what fails is told and leaves nothing behind.
func (c *Commands) Run(ctx context.Context, tx pgx.Tx, i *Issue) (Outcome, error) {
	out := Outcome{Missing: c.missing}
	i, err := c.change(ctx, tx, i, &out)
	if err != nil {
		return out, err
	}
	return out, c.act(ctx, tx, i, &out)
}

// changed is all that the commands change about the issue itself.
func (c *Commands) changed() (change Change, some bool) {
	for _, d := range c.allowed {
		if d.change != nil {
			d.change(&change)
			some = true
		}
	}
	return change, some
}

// change does, as one change, what the commands change about the issue itself.
func (c *Commands) change(ctx context.Context, tx pgx.Tx, i *Issue, out *Outcome) (*Issue, error) {
	change, some := c.changed()
	if !some {
		return i, nil
	}
	var after *Issue
	failed, err := try(ctx, tx, func(sp pgx.Tx) (err error) {
		after, err = c.s.update(ctx, sp, c.by, c.at.Project, i.IID, change)
		return err
	})
	if err != nil {
		return nil, err
	} else if failed != "" {
		out.Summary = append(out.Summary, failed)
		return i, nil
	}
	c.tellChanges(after, out)
	return after, nil
}

// tellChanges adds to the outcome what was changed about the issue itself.
func (c *Commands) tellChanges(after *Issue, out *Outcome) {
	for _, d := range c.allowed {
		if d.change != nil {
			out.add(d, after)
		}
	}
}

// act runs the commands that do more than change fields of the issue. Those that end it, such as /move, come last.
func (c *Commands) act(ctx context.Context, tx pgx.Tx, i *Issue, out *Outcome) error {
	for _, last := range []bool{false, true} {
		for _, d := range c.allowed {
			switch {
			case d.last != last, d.change != nil:
				continue
			case d.failed != "":
				out.Summary = append(out.Summary, d.failed)
				continue
			case d.do == nil:
				continue // it was text
			}
			failed, err := try(ctx, tx, func(sp pgx.Tx) error { return d.do(ctx, sp, i) })
			if err != nil {
				return err
			} else if failed != "" {
				out.Summary = append(out.Summary, failed)
				continue
			}
			out.add(d, i)
		}
	}
	return nil
}

func (o *Outcome) add(d parsedCommand, i *Issue) {
	if o.Done++; d.changes != nil {
		d.changes(&o.Changes, i)
	}
	if d.summary != "" {
		o.Summary = append(o.Summary, d.summary)
	}
}

// try does something that leaves nothing behind when it is refused. What is so already is done.
func try(ctx context.Context, tx pgx.Tx, do func(sp pgx.Tx) error) (refused string, err error) {
	err = pgx.BeginFunc(ctx, tx, do)
	said, ok := fault.Of(err)
	switch {
	case !ok:
		return "", err
	case said.Kind == fault.NotModified:
		return "", nil
	}
	return said.Error(), nil
}

// readDescription finds the commands in the description of an issue that is being made, and takes them out of it.
func (s *Service) readDescription(ctx context.Context, by access.Actor, p *project.Project, i *Issue) (*Commands, error) {
	c := &Commands{s: s, by: by, new: true, at: Placed{Project: p, Issue: i}}
	if i.Description == nil {
		return c, nil
	}
	c.text = *i.Description
	if _, err := s.readCommands(ctx, c, nil); err != nil {
		return nil, err
	}
	i.Description = new(c.SelectAllowed(i))
	return c, nil
}

// applyToNew applies the commands of the description to an issue that is not yet written.
func (c *Commands) applyToNew(ctx context.Context, tx pgx.Tx, i *Issue) error {
	change, some := c.changed()
	if !some {
		return nil
	}
	labels, err := c.s.changedLabels(ctx, tx, c.by, c.at.Project, change)
	if err != nil {
		return err
	}
	return c.s.apply(ctx, tx, c.by, c.at.Project, i, change, labels, true)
}

// finish runs, for a new issue, the commands that do more than change fields of it. What fails is told to out, which may be nil: the answer of the API
// to a creation has no place for it.
func (c *Commands) finish(ctx context.Context, tx pgx.Tx, i *Issue, out *Outcome) error {
	if len(c.allowed) == 0 {
		return nil
	}
	if out == nil {
		out = &Outcome{}
	}
	out.Missing = c.missing
	if err := c.LockTargets(ctx, tx); err != nil {
		return err
	}
	if err := c.act(ctx, tx, i, out); err != nil {
		return err
	}
	now, err := found(postgres.One[Issue](ctx, tx, sqlFindByID, i.ID)) // some of it writes the issue
	if err == nil {
		*i = *now
	}
	return err
}
