package issue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/owner"
	"stithy/internal/project"
)

// maxNamed is how many people, labels, issues and projects the commands of a text name.
const maxNamed = 100

// reading looks up what commands name.
type reading struct {
	*Commands
	left   int     // how many names are still looked up
	people []int64 // whom the issue is to be assigned to
	copies []*copying
}

// copying is a project that the issue is moved or cloned to, with those of its people who may have it there.
type copying struct {
	to        *project.Project
	assignees []int64
}

func cannotDo(why string) error { return fault.WithMessage(fault.Unprocessable, "%s", why) }

var (
	errNobody      = cannotDo("Failed to find users.")
	errNoLabels    = cannotDo("Failed to find labels.")
	errNoMilestone = cannotDo("Failed to find the milestone.")
	errNoIssue     = cannotDo("Failed to find this issue.")
	errNoProject   = cannotDo("Failed to find this project.")
	errManyNames   = cannotDo("The commands name too much.")
	errNotLinked   = cannotDo("The issues are not linked.")
	errDate        = cannotDo("The date is not valid.")
	errTitle       = cannotDo("The title is blank or too long.")
	errDuration    = cannotDo("The time is not valid.")
	errValue       = cannotDo("The value is not valid.")
)

// take counts a name.
func (x *reading) take() error {
	if x.left--; x.left < 0 {
		return errManyNames
	}
	return nil
}

// users are the people that an argument names: "@a @b", "me". Names that nobody has are left out.
func (x *reading) users(ctx context.Context, argument string) (ids []int64, names []string, err error) {
	for word := range strings.FieldsSeq(strings.ReplaceAll(argument, ",", " ")) {
		if err := x.take(); err != nil {
			return nil, nil, err
		}
		name, marked := strings.CutPrefix(word, "@")
		if name == "me" {
			ids, names = append(ids, x.by.ID()), append(names, "@"+x.by.Person.Username)
			continue
		} else if !marked {
			continue
		}
		u, err := x.s.deps.Users.FindByUsername(ctx, name)
		if fault.Is(err, fault.NotFound) {
			continue
		} else if err != nil {
			return nil, nil, err
		}
		ids, names = append(ids, u.ID), append(names, "@"+u.Username)
	}
	if len(ids) == 0 {
		return nil, nil, errNobody
	}
	return ids, names, nil
}

// assignees are the people that an argument names, as far as the issue can be assigned to them.
func (x *reading) assignees(ctx context.Context, argument string) (ids []int64, names string, err error) {
	all, called, err := x.users(ctx, argument)
	if err != nil {
		return nil, "", err
	}
	if ids, err = x.s.assignable(ctx, x.at.Project, all); err != nil {
		return nil, "", err
	} else if len(ids) == 0 {
		return nil, "", errNobody
	}
	x.people = append(x.people, ids...)
	var given []string
	for n, id := range all {
		if slices.Contains(ids, id) && !slices.Contains(given, called[n]) {
			given = append(given, called[n])
		}
	}
	return ids, strings.Join(given, " "), nil
}

// names are those in an argument, with a sign before them or not: ~bug ~"to do" later.
func names(argument string, sign byte) (all []string) {
	rest := strings.TrimSpace(argument)
	for rest != "" {
		rest = strings.TrimPrefix(rest, string(sign))
		var name string
		if quoted, marked := strings.CutPrefix(rest, `"`); marked {
			name, rest, _ = strings.Cut(quoted, `"`)
		} else {
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		if name != "" {
			all = append(all, name)
		}
		rest = strings.TrimLeft(rest, " \t,")
	}
	return all
}

// labels are those that the project has or inherits of the names in an argument.
func (x *reading) labels(ctx context.Context, argument string) (ids []int64, called string, err error) {
	wanted := names(argument, '~')
	for range wanted {
		if err := x.take(); err != nil {
			return nil, "", err
		}
	}
	var found []label.Label
	err = x.s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		found, err = x.s.deps.Labels.Ensure(ctx, tx, x.by, owner.OfProject(x.at.Project), wanted, false)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(found, func(l label.Label) bool { return l.Name == name }) {
			x.missing = append(x.missing, name)
		}
	}
	if len(found) == 0 {
		return nil, "", errNoLabels
	}
	var marked []string
	for _, l := range found {
		ids, marked = append(ids, l.ID), append(marked, `~"`+l.Name+`"`)
	}
	slices.Sort(ids)
	return ids, strings.Join(marked, " "), nil
}

// issue is the one that a reference names, as far as the actor may read it: "#1", "group/project#1", or its address.
func (x *reading) issue(ctx context.Context, reference string) (at Placed, err error) {
	if err := x.take(); err != nil {
		return at, err
	}
	path, number, ok := strings.Cut(reference, "#")
	if address, ours := strings.CutPrefix(reference, x.s.deps.ExternalURL+"/"); ours {
		path, number, ok = strings.Cut(address, "/-/issues/")
	}
	iid, err := strconv.ParseUint(number, 10, 31)
	if !ok || err != nil {
		return at, errNoIssue
	}
	if at.Project = x.at.Project; path != "" {
		at.Project, _, err = x.s.deps.Projects.FindByRef(ctx, x.by, path)
	}
	if err == nil {
		at.Issue, err = x.s.Find(ctx, x.by, at.Project, int(iid))
	}
	if fault.Is(err, fault.NotFound) {
		err = errNoIssue
	}
	return at, err
}

// issues are those that an argument names.
func (x *reading) issues(ctx context.Context, argument string) (all []Placed, err error) {
	for word := range strings.FieldsSeq(strings.ReplaceAll(argument, ",", " ")) {
		at, err := x.issue(ctx, word)
		if err != nil {
			return nil, err
		}
		all = append(all, at)
	}
	if len(all) == 0 {
		return nil, errNoIssue
	}
	return all, nil
}

// project is the one of a path, as far as the actor sees it; none is that of the issue.
func (x *reading) project(ctx context.Context, path string) (*copying, error) {
	c := &copying{to: x.at.Project}
	if path != "" {
		if err := x.take(); err != nil {
			return nil, err
		}
		to, _, err := x.s.deps.Projects.FindByRef(ctx, x.by, strings.Trim(path, "/"))
		if fault.Is(err, fault.NotFound) {
			return nil, errNoProject
		} else if err != nil {
			return nil, err
		}
		c.to = to
	}
	x.copies = append(x.copies, c)
	return c, nil
}

// assigneesOfCopies finds out which assignees, present ones and those that its commands add, the issue can have in the project that it goes to.
func (x *reading) assigneesOfCopies(ctx context.Context) error {
	people := slices.Concat(x.at.Issue.AssigneeIDs, x.people)
	slices.Sort(people)
	for _, c := range x.copies {
		for _, id := range slices.Compact(people) {
			if may, err := x.s.mayHave(ctx, c.to, id); err != nil {
				return err
			} else if may {
				c.assignees = append(c.assignees, id)
			}
		}
	}
	return nil
}

// date reads a day: 2024-03-15, today, tomorrow, in 3 days.
func (x *reading) date(text string) (time.Time, error) {
	today := x.s.deps.Clock.Now().UTC().Truncate(24 * time.Hour)
	words := strings.Fields(strings.ToLower(text))
	switch {
	case len(words) == 1 && words[0] == "today":
		return today, nil
	case len(words) == 1 && words[0] == "tomorrow":
		return today.AddDate(0, 0, 1), nil
	case len(words) == 1:
		if t := day(words[0]); t != nil {
			return *t, nil
		}
	case len(words) == 3 && words[0] == "in":
		n, err := strconv.ParseUint(words[1], 10, 10)
		if err != nil {
			break
		}
		switch strings.TrimSuffix(words[2], "s") {
		case "day":
			return today.AddDate(0, 0, int(n)), nil
		case "week":
			return today.AddDate(0, 0, 7*int(n)), nil
		case "month":
			return today.AddDate(0, int(n), 0), nil
		}
	}
	return time.Time{}, errDate
}

// spent reads a time, and the day on which it was spent if one is said: 1h 30m 2024-03-15.
func (x *reading) spent(argument string) (seconds int, on *time.Time, err error) {
	words := strings.Fields(argument)
	if n := len(words) - 1; n > 0 {
		if on = day(words[n]); on != nil {
			words = words[:n]
		}
	}
	seconds, ok := ParseDuration(strings.Join(words, " "))
	if !ok || seconds == 0 {
		return 0, nil, errDuration
	}
	today := x.s.deps.Clock.Now().UTC().Truncate(24 * time.Hour)
	switch {
	case on == nil:
	case on.After(today):
		return 0, nil, errDate
	case on.Equal(today):
		on = nil
	}
	return seconds, on, nil
}
