package board

import (
	"context"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
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

// listForms shows lists of an owner's boards. What a project inherited from a group that it left is not shown: who sees the project may not see
// that group.
func (s *Service) listForms(ctx context.Context, o *owner.Owner, all ...List) (func(List) listForm, error) {
	m := marksOf(all)
	lineage, err := owner.Lineage(ctx, s.deps.DB, o.Entity)
	if fault.Is(err, fault.NotFound) {
		lineage, err = nil, nil // it goes at this moment
	}
	if err != nil {
		return nil, err
	}
	labels, err := s.deps.Labels.Among(ctx, s.deps.DB, m.LabelIDs)
	if err != nil {
		return nil, err
	}
	people, err := s.deps.Users.Briefs(ctx, m.AssigneeIDs...)
	if err != nil {
		return nil, err
	}
	milestones, err := s.deps.Milestones.Forms(ctx, m.MilestoneIDs, func(int64) string { return o.Path })
	return func(l List) listForm {
		f := listForm{ID: l.ID, Position: l.Position}
		if s.enterprise() {
			f.limitFields = &limitFields{}
		}
		if l.LabelID != nil {
			if shown, known := labels[*l.LabelID]; known && inherited(lineage, shown.NamespaceID) {
				f.Label = new(label.DetailsOf(shown))
			}
		}
		if l.MilestoneID != nil {
			if shown, known := milestones[*l.MilestoneID]; known && inherited(lineage, shown.GroupID) {
				f.Milestone = &shown
			}
		}
		if l.UserID != nil {
			if shown, known := people[*l.UserID]; known {
				f.Assignee = new(s.deps.Users.PublicForm(shown))
			}
		}
		return f
	}, err
}

// inherited reports whether something belongs to an owner itself or to a group that it stands in.
func inherited(lineage []int64, groupID *int64) bool {
	return groupID == nil || slices.Contains(lineage, *groupID)
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
