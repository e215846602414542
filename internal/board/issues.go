package board

import (
	"context"
	"slices"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/project"
)

var toReadIssues = owner.Needs{Group: access.ReadGroupIssues, Project: access.ReadIssues}

// Issues reads one page of the issues in a list of a board that an actor may read, in the order that people gave them. The filter narrows it
// further.
func (s *Service) Issues(
	ctx context.Context, by access.Actor, o *owner.Owner, b *Board, c Column, f issue.Filter, req paging.Request,
) (none paging.Result[issue.Issue], err error) {
	lists, err := s.Lists(ctx, b.ID)
	if err != nil {
		return none, err
	}
	pages, err := s.IssuesIn(ctx, by, o, lists[b.ID], []Column{c}, f, req)
	if err != nil {
		return none, err
	}
	return pages[0], nil
}

// IssuesIn does so for several lists of a board, of which all lists are given.
func (s *Service) IssuesIn(
	ctx context.Context, by access.Actor, o *owner.Owner, lists []List, columns []Column, f issue.Filter, req paging.Request,
) ([]paging.Result[issue.Issue], error) {
	if !toReadIssues.Held(by, o) {
		return nil, errMissing
	}
	parts := make([]issue.Part, len(columns))
	for n, c := range columns {
		list, err := c.find(lists)
		if err != nil {
			return nil, err
		}
		switch {
		case list != nil:
			parts[n].Marked = list.marks()
		case c == Open:
			parts[n].Unmarked = marksOf(lists)
		}
		parts[n].Closed = c == Closed
	}
	f.NonArchived = f.NonArchived || o.Group != nil
	req.OrderBy, req.Desc, req.Keyset = "relative_position", false, false
	return s.deps.Issues.ListParts(ctx, by, issue.Scope{Project: o.Project, Group: o.Group}, f, parts, req)
}

// Move puts an issue into a list of a board, for an actor who may plan it: what it is sorted by, its state and its place change together.
func (s *Service) Move(ctx context.Context, by access.Actor, o *owner.Owner, b *Board, d Drop) (*issue.Issue, error) {
	i, p, err := s.deps.Issues.FindByID(ctx, by, d.IssueID)
	if err != nil {
		return nil, err
	}
	if err := s.checkOn(ctx, o, p); err != nil {
		return nil, err
	}
	lists, err := s.Lists(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	sorting, err := d.sorting(lists[b.ID])
	if err != nil {
		return nil, err
	}
	return s.deps.Issues.Sort(ctx, by, p, i.IID, sorting)
}

// checkOn refuses issues of projects whose issues the boards of an owner do not show.
func (s *Service) checkOn(ctx context.Context, o *owner.Owner, p *project.Project) error {
	if o.Project != nil {
		if o.Project.ID != p.ID {
			return errMissing
		}
		return nil
	}
	lineage, err := owner.Lineage(ctx, s.deps.DB, bus.Entity{Kind: bus.OfProject, ID: p.ID})
	if fault.Is(err, fault.NotFound) || (err == nil && !slices.Contains(lineage, o.Group.ID)) {
		return errMissing
	}
	return err
}
