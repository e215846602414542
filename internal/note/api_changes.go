package note

import (
	"context"
	"slices"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/user"
)

// changeForm is what every change of an issue says on the wire.
type changeForm struct {
	ID           int64        `json:"id"`
	User         *user.Public `json:"user"`
	CreatedAt    httpapi.Time `json:"created_at"`
	ResourceType string       `json:"resource_type"`
	ResourceID   int64        `json:"resource_id"`
}

type stateForm struct {
	changeForm
	State string `json:"state"`
}

type labelForm struct {
	changeForm
	Label  *label.Details `json:"label"` // null when it is gone
	Action string         `json:"action"`
}

type milestoneForm struct {
	changeForm
	Milestone *milestone.Form `json:"milestone"`
	Action    string          `json:"action"`
	State     string          `json:"state"` // of the issue
}

func (s *Service) changeEndpoints() []httpapi.Endpoint {
	return slices.Concat(
		changesOf(s, State, s.presentStates),
		changesOf(s, Labels, s.presentLabels),
		changesOf(s, Milestone, s.presentMilestones),
	)
}

type changesParams struct {
	issue.Ref
	httpapi.Paging
}

type changeRef struct {
	issue.Ref
	EventID int64 `param:"event_id" doc:"ID of the change"`
}

// present makes the forms of some changes, and says of each whether it shows all that it is about.
type present[F any] func(ctx context.Context, at issue.Placed, all []Change, person func(*int64) *user.Public) (func(Change) (form F, whole bool), error)

// changesOf are the two endpoints of a kind of changes.
func changesOf[F any](s *Service, kind Resource, present present[F]) []httpapi.Endpoint {
	name := string(kind)
	path := ofIssue + "/resource_" + name + "_events"
	forms := func(ctx context.Context, at issue.Placed, all ...Change) (func(Change) (F, bool), error) {
		people := make([]*int64, len(all))
		for n := range all {
			people[n] = all[n].UserID
		}
		person, err := s.deps.Users.PublicForms(ctx, people...)
		if err != nil {
			return nil, err
		}
		return present(ctx, at, all, person)
	}
	return []httpapi.Endpoint{
		issue.Below(s.deps.Issues, httpapi.Spec{
			Route: "GET " + path, Needs: access.ReadNotes, Summary: "List the changes of the " + name + " of an issue.",
		}, func(ctx context.Context, call httpapi.Call[issue.Placed, changesParams]) (none httpapi.List[F], err error) {
			req, err := call.Params.Request()
			if err != nil {
				return none, err
			}
			page, err := s.Changes(ctx, call.Subject, kind, req)
			if err != nil {
				return none, err
			}
			form, err := forms(ctx, call.Subject, page.Items...)
			if err != nil {
				return none, err
			}
			return httpapi.ListOf(req, page, func(c Change) F {
				shown, _ := form(c)
				return shown
			}), nil
		}),
		issue.Below(s.deps.Issues, httpapi.Spec{
			Route: "GET " + path + "/{event_id:digits}", Needs: access.ReadNotes, Summary: "Show a change of the " + name + " of an issue.",
		}, func(ctx context.Context, call httpapi.Call[issue.Placed, changeRef]) (none F, err error) {
			c, err := s.FindChange(ctx, call.Subject, kind, call.Params.EventID)
			if err != nil {
				return none, err
			}
			form, err := forms(ctx, call.Subject, *c)
			if err != nil {
				return none, err
			}
			shown, whole := form(*c)
			if !whole {
				return none, fault.NotFoundf("ResourceLabelEvent")
			}
			return shown, nil
		}),
	}
}

func plainChange(c Change, person func(*int64) *user.Public) changeForm {
	return changeForm{ID: c.ID, User: person(c.UserID), CreatedAt: httpapi.Time(c.CreatedAt), ResourceType: "Issue", ResourceID: c.IssueID}
}

func (s *Service) presentStates(_ context.Context, _ issue.Placed, _ []Change, person func(*int64) *user.Public) (func(Change) (stateForm, bool), error) {
	return func(c Change) (stateForm, bool) { return stateForm{plainChange(c, person), c.Action}, true }, nil
}

// lineage are the groups above the project of an issue. What it kept from a group that its project left is not shown: who sees the issue may not see
// that group.
func (s *Service) lineage(ctx context.Context, at issue.Placed) ([]int64, error) {
	return owner.Lineage(ctx, s.deps.DB, bus.Entity{Kind: bus.OfProject, ID: at.Project.ID})
}

func (s *Service) presentLabels(ctx context.Context, at issue.Placed, all []Change, person func(*int64) *user.Public) (func(Change) (labelForm, bool), error) {
	var ids []int64
	for _, c := range all {
		if c.LabelID != nil {
			ids = append(ids, *c.LabelID)
		}
	}
	labels, err := s.deps.Labels.Among(ctx, s.deps.DB, ids)
	if err != nil {
		return nil, err
	}
	groups, err := s.lineage(ctx, at)
	return func(c Change) (labelForm, bool) {
		form := labelForm{changeForm: plainChange(c, person), Action: c.Action}
		if c.LabelID == nil {
			return form, true
		}
		l, found := labels[*c.LabelID]
		if own := l.ProjectID != nil && *l.ProjectID == at.Project.ID; found && (own || (l.NamespaceID != nil && slices.Contains(groups, *l.NamespaceID))) {
			form.Label = new(label.DetailsOf(l))
		}
		return form, form.Label != nil
	}, err
}

func (s *Service) presentMilestones(ctx context.Context, at issue.Placed, all []Change, person func(*int64) *user.Public) (func(Change) (milestoneForm, bool), error) {
	var ids []int64
	for _, c := range all {
		if c.MilestoneID != nil {
			ids = append(ids, *c.MilestoneID)
		}
	}
	forms, err := s.deps.Milestones.Forms(ctx, ids, func(int64) string { return at.Project.FullPath() })
	if err != nil {
		return nil, err
	}
	groups, err := s.lineage(ctx, at)
	return func(c Change) (milestoneForm, bool) {
		form := milestoneForm{changeForm: plainChange(c, person), Action: c.Action, State: "opened"}
		if c.Closed {
			form.State = "closed"
		}
		if c.MilestoneID == nil {
			return form, true
		}
		m, found := forms[*c.MilestoneID]
		if own := m.ProjectID != nil && *m.ProjectID == at.Project.ID; found && (own || (m.GroupID != nil && slices.Contains(groups, *m.GroupID))) {
			form.Milestone = &m
		}
		return form, true
	}, err
}
