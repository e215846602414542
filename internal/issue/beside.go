package issue

import (
	"context"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Beside is an issue with what people see beside it.
type Beside struct {
	Issue
	Author    *user.Brief
	ClosedBy  *user.Brief
	Assignees []user.Brief
	Labels    []label.Label   // by name
	Milestone *milestone.Form // nil where the project does not take part in it any more
	Project   *project.Project
}

// Beside reads what stands beside some issues that an actor may read. known is their project, nil where they are of several.
func (s *Service) Beside(ctx context.Context, a access.Actor, known *project.Project, all ...Issue) ([]Beside, error) {
	x, err := s.gather(ctx, a, known, all...)
	if err != nil {
		return nil, err
	}
	shown := make([]Beside, len(all))
	for n, i := range all {
		b := Beside{Issue: i, Author: x.brief(i.AuthorID), ClosedBy: x.brief(i.ClosedByID), Project: x.projects[i.ProjectID], Labels: x.labelsOf(&i)}
		for _, id := range i.AssigneeIDs {
			if u := x.brief(&id); u != nil {
				b.Assignees = append(b.Assignees, *u)
			}
		}
		if i.MilestoneID != nil {
			if m, found := x.milestones[*i.MilestoneID]; found && x.inherits(i.ProjectID, m.GroupID) {
				b.Milestone = &m
			}
		}
		shown[n] = b
	}
	return shown, nil
}

func (x around) brief(id *int64) *user.Brief {
	if id == nil {
		return nil
	}
	if b, found := x.people[*id]; found {
		return &b
	}
	return nil
}

// labelsOf are the labels of an issue that its project has, by name.
func (x around) labelsOf(i *Issue) []label.Label {
	all := make([]label.Label, 0, len(i.LabelIDs))
	for _, id := range i.LabelIDs {
		if l, known := x.labels[id]; known && x.inherits(i.ProjectID, l.NamespaceID) {
			all = append(all, l)
		}
	}
	sorting.By(all, func(a, b label.Label) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// CountUpTo counts the issues that an actor may read, each state as far as most. Of a search among many, which finds many, it counts those that it
// meets among the first.
func (s *Service) CountUpTo(ctx context.Context, by access.Actor, in Scope, f Filter, most int) (Counts, error) {
	return s.countStates(ctx, by, in, f, most, true)
}

// enoughMet is how many issues a search meets among the first when there may be too many to find them all.
const enoughMet = 20

func (s *Service) countStates(ctx context.Context, by access.Actor, in Scope, f Filter, most int, soon bool) (c Counts, err error) {
	asked := f.Closed
	for _, state := range []struct {
		closed bool
		count  *int
	}{{false, &c.Opened}, {true, &c.Closed}} {
		if asked != nil && *asked != state.closed {
			continue
		}
		f.Closed = &state.closed
		l, empty, err := s.listing(ctx, by, in, f)
		if err != nil || empty {
			return c, err
		}
		if soon {
			if l.first, err = s.vast(ctx, l, paging.Request{}); err != nil {
				return c, err
			}
		}
		if *state.count, err = s.count(ctx, l, most); err == nil && l.first {
			if *state.count > enoughMet {
				c.More = true
				continue
			}
			l.first = false
			*state.count, err = s.count(ctx, l, most)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func (s *Service) count(ctx context.Context, l *listing, most int) (int, error) {
	parts, err := s.parts(ctx, l)
	if err != nil {
		return 0, err
	}
	return s.countParts(ctx, parts, paging.Request{OrderBy: "created_at", Desc: true}, most)
}

// maxOfLabel is how far the issues of a label are counted where many labels are listed.
const maxOfLabel = 1000

// countOfLabels counts the issues of each of some labels that an actor may read in an owner, each state as far as maxOfLabel.
func (s *Service) countOfLabels(ctx context.Context, by access.Actor, in *owner.Owner, labels []int64) (map[int64]label.Counts, error) {
	counts := map[int64]label.Counts{}
	if in.Project != nil && !access.Holds(by, access.ReadIssues, in.Project.Target()) {
		return counts, nil
	}
	l, empty, err := s.listing(ctx, by, Scope{Project: in.Project, Group: in.Group}, Filter{})
	if err != nil || empty {
		return counts, err
	}
	l.large = nil // rows of a label are few enough
	for _, id := range labels {
		l.labels = [][]int64{{id}}
		var c label.Counts
		l.Closed = new(false)
		if c.Opened, err = s.count(ctx, l, maxOfLabel); err != nil {
			return nil, err
		}
		l.Closed = new(true)
		if c.Closed, err = s.count(ctx, l, maxOfLabel); err != nil {
			return nil, err
		}
		counts[id] = c
	}
	return counts, nil
}

// Subscribed reports whether a person hears of what happens to an issue.
func (s *Service) Subscribed(ctx context.Context, a access.Actor, i *Issue) (bool, error) {
	return s.subscribed(ctx, a, i)
}
