package board

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/project"
	"stithy/internal/user"
)

// boardForm is a board on the wire.
type boardForm struct {
	ID              int64              `json:"id"`
	Name            string             `json:"name"`
	HideBacklogList bool               `json:"hide_backlog_list"`
	HideClosedList  bool               `json:"hide_closed_list"`
	Project         *project.BasicForm `json:"project"`
	Lists           []listForm         `json:"lists"`
	Group           *groupForm         `json:"group,omitempty"`
	*scopeFields
}

type groupForm struct {
	ID     int64  `json:"id"`
	WebURL string `json:"web_url"`
	Name   string `json:"name"`
}

// scopeFields are there where the tier has them. No board is kept to some issues yet.
type scopeFields struct {
	Milestone *milestone.Form `json:"milestone"`
	Assignee  *user.Public    `json:"assignee"`
	Labels    []label.Details `json:"labels"`
	Weight    *int            `json:"weight"`
}

// listForm is a list on the wire.
type listForm struct {
	ID       int64          `json:"id"`
	Label    *label.Details `json:"label"`
	Position int            `json:"position"`
	*limitFields
	Assignee  *user.Public    `json:"assignee,omitempty"`
	Milestone *milestone.Form `json:"milestone,omitempty"`
}

// limitFields are there where the tier has them. No list has a limit yet.
type limitFields struct {
	MaxIssueCount  int     `json:"max_issue_count"`
	MaxIssueWeight int     `json:"max_issue_weight"`
	LimitMetric    *string `json:"limit_metric"`
}

// forms shows boards of an owner with their lists.
func (s *Service) forms(ctx context.Context, viewer access.Actor, o *owner.Owner, all ...Board) (func(Board) boardForm, error) {
	ids := make([]int64, len(all))
	for n := range all {
		ids[n] = all[n].ID
	}
	lists, err := s.Lists(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var every []List
	for _, of := range lists {
		every = append(every, of...)
	}
	form, err := s.listForms(ctx, o, every...)
	if err != nil {
		return nil, err
	}
	shown := boardForm{}
	if o.Project != nil {
		p, err := s.deps.Projects.BasicForm(ctx, viewer, o.Project)
		if err != nil {
			return nil, err
		}
		shown.Project = &p
	} else {
		shown.Group = &groupForm{ID: o.Group.ID, WebURL: s.deps.ExternalURL + "/groups/" + o.Group.FullPath, Name: o.Group.Name}
	}
	if s.enterprise() {
		shown.scopeFields = &scopeFields{Labels: []label.Details{}}
	}
	return func(b Board) boardForm {
		f := shown
		f.ID, f.Name, f.HideBacklogList, f.HideClosedList, f.Lists = b.ID, b.Name, b.HideBacklogList, b.HideClosedList, []listForm{}
		for _, l := range lists[b.ID] {
			f.Lists = append(f.Lists, form(l))
		}
		return f
	}, nil
}

func (s *Service) present(ctx context.Context, viewer access.Actor, o *owner.Owner, b *Board, err error) (boardForm, error) {
	if err != nil {
		return boardForm{}, err
	}
	form, err := s.forms(ctx, viewer, o, *b)
	if err != nil {
		return boardForm{}, err
	}
	return form(*b), nil
}

// listForms shows lists of an owner's boards.
func (s *Service) listForms(ctx context.Context, o *owner.Owner, all ...List) (func(List) listForm, error) {
	shown, err := s.Show(ctx, o, all...)
	byID := make(map[int64]Shown, len(shown))
	for _, l := range shown {
		byID[l.ID] = l
	}
	return func(l List) listForm {
		f, of := listForm{ID: l.ID, Position: l.Position}, byID[l.ID]
		if s.enterprise() {
			f.limitFields = &limitFields{}
		}
		if of.Label != nil {
			f.Label = new(label.DetailsOf(*of.Label))
		}
		if of.Person != nil {
			f.Assignee = new(s.deps.Users.PublicForm(*of.Person))
		}
		f.Milestone = of.Milestone
		return f
	}, err
}

func (s *Service) presentList(ctx context.Context, o *owner.Owner, l *List, err error) (listForm, error) {
	if err != nil {
		return listForm{}, err
	}
	form, err := s.listForms(ctx, o, *l)
	if err != nil {
		return listForm{}, err
	}
	return form(*l), nil
}
