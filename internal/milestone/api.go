package milestone

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

var (
	toRead   = owner.Needs{Group: access.ReadGroupMilestones, Project: access.ReadProjectMilestones}
	toManage = owner.Needs{Group: access.AdminGroupMilestones, Project: access.AdminProjectMilestones}
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		owner.On(in, httpapi.Spec{Route: "GET /milestones", Summary: "List the milestones of a {owner}."}, toRead, s.handleList),
		owner.On(in, httpapi.Spec{
			Route: "POST /milestones", Status: http.StatusCreated, Summary: "Create a milestone of a {owner}.",
		}, toManage, s.handleCreate),
		owner.On(in, httpapi.Spec{Route: "GET /milestones/{milestone_id}", Summary: "Show a milestone of a {owner}."}, toRead, s.handleGet),
		owner.On(in, httpapi.Spec{Route: "PUT /milestones/{milestone_id}", Summary: "Change a milestone of a {owner}."}, toManage, s.handleUpdate),
		owner.On(in, httpapi.Spec{Route: "DELETE /milestones/{milestone_id}", Summary: "Delete a milestone of a {owner}."}, toManage, s.handleDelete),
		[]httpapi.Endpoint{owner.OnProject(in, httpapi.Spec{
			Route: "POST /milestones/{milestone_id}/promote", Summary: "Make a milestone of a {owner} one of its group.",
			Note:          "Milestones of the same title in the group's projects and subgroups become that milestone, too.",
			ExtraRefusals: "403 to who may not manage the milestones of the group",
		}, toManage.Project, s.handlePromote)},
	)
}

// milestoneForm is a milestone on the wire.
type milestoneForm struct {
	ID          int64         `json:"id"`
	IID         int           `json:"iid"`
	ProjectID   *int64        `json:"project_id,omitempty"`
	GroupID     *int64        `json:"group_id,omitempty"`
	Title       string        `json:"title"`
	Description *string       `json:"description"`
	State       State         `json:"state"`
	CreatedAt   httpapi.Time  `json:"created_at"`
	UpdatedAt   httpapi.Time  `json:"updated_at"`
	DueDate     *httpapi.Date `json:"due_date"`
	StartDate   *httpapi.Date `json:"start_date"`
	Expired     bool          `json:"expired"`
	WebURL      string        `json:"web_url"`
}

// Form is a milestone on the wire, for the forms of other rooms.
type Form = milestoneForm

// Forms presents some milestones by their ids, whoever asks: that something has a milestone is told by who may see that thing. pathOf is the path of a
// project by its id.
func (s *Service) Forms(ctx context.Context, ids []int64, pathOf func(projectID int64) string) (map[int64]Form, error) {
	all, err := s.among(ctx, ids)
	if err != nil || all == nil {
		return nil, err
	}
	paths, err := s.paths(ctx, all...)
	forms := make(map[int64]Form, len(all))
	for _, m := range all {
		if m.NamespaceID != nil {
			forms[m.ID] = s.form(m, "groups/"+paths[*m.NamespaceID])
		} else {
			forms[m.ID] = s.form(m, pathOf(*m.ProjectID))
		}
	}
	return forms, err
}

// form shows a milestone of an owner that has this path.
func (s *Service) form(m Milestone, path string) milestoneForm {
	return milestoneForm{
		ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, GroupID: m.NamespaceID, Title: m.Title, Description: m.Description, State: m.State,
		CreatedAt: httpapi.Time(m.CreatedAt), UpdatedAt: httpapi.Time(m.UpdatedAt), DueDate: httpapi.Day(m.DueDate), StartDate: httpapi.Day(m.StartDate),
		Expired: m.Expired(s.today()), WebURL: s.deps.ExternalURL + "/" + path + "/-/milestones/" + strconv.Itoa(m.IID),
	}
}

// forms shows milestones in an owner, of which all may be of groups above.
func (s *Service) forms(ctx context.Context, o *owner.Owner, all ...Milestone) (func(Milestone) milestoneForm, error) {
	paths, err := s.paths(ctx, all...)
	return func(m Milestone) milestoneForm {
		path := o.Path
		if m.NamespaceID != nil {
			path = "groups/" + paths[*m.NamespaceID]
		}
		return s.form(m, path)
	}, err
}

func (s *Service) present(ctx context.Context, o *owner.Owner, m *Milestone, err error) (milestoneForm, error) {
	if err != nil {
		return milestoneForm{}, err
	}
	form, err := s.forms(ctx, o, *m)
	return form(*m), err
}

type listParams struct {
	owner.Ref
	IIDs             []int                  `param:"iids" doc:"Only milestones with these numbers; without effect where those of groups above are listed"`
	State            string                 `param:"state" enum:"active,closed,all" default:"all" doc:"Only milestones in this state"`
	Title            httpapi.Opt[string]    `param:"title" doc:"Only the milestone with exactly this title"`
	Search           string                 `param:"search" doc:"Only milestones whose title or description holds this"`
	IncludeParents   httpapi.Opt[bool]      `param:"include_parent_milestones" doc:"Also milestones of groups above; the older name of include_ancestors"`
	IncludeAncestors httpapi.Opt[bool]      `param:"include_ancestors" doc:"Also milestones of groups above"`
	UpdatedBefore    httpapi.Opt[time.Time] `param:"updated_before" doc:"Only milestones that were last changed by then"`
	UpdatedAfter     httpapi.Opt[time.Time] `param:"updated_after" doc:"Only milestones that were changed since"`
	httpapi.Paging
}

// Validate wants one name for one thing.
func (p listParams) Validate() []string {
	if p.IncludeParents.Given && p.IncludeAncestors.Given {
		return []string{"include_parent_milestones, include_ancestors are mutually exclusive"}
	}
	return nil
}

func (p listParams) filter() Filter {
	f := Filter{
		IIDs: p.IIDs, Title: p.Title.Ptr(), Search: p.Search, Ancestors: p.IncludeParents.Or(false) || p.IncludeAncestors.Or(false),
		UpdatedAfter: p.UpdatedAfter.Ptr(), UpdatedBefore: p.UpdatedBefore.Ptr(),
	}
	if p.State != "all" {
		f.State = State(p.State)
	}
	return f
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (none httpapi.List[milestoneForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Subject.Entity, call.Params.filter(), req)
	if err != nil {
		return none, err
	}
	form, err := s.forms(ctx, call.Subject, page.Items...)
	return httpapi.ListOf(req, page, form), err
}

type milestoneRef struct {
	owner.Ref
	MilestoneID int64 `param:"milestone_id" doc:"ID of the milestone; not its iid"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, milestoneRef]) (milestoneForm, error) {
	m, err := s.Find(ctx, call.Subject.Entity, call.Params.MilestoneID)
	return s.present(ctx, call.Subject, m, err)
}

// day is a date as clients write it. It is text, because one that no calendar of ours has is answered in other words than what is no date.
type day = httpapi.Opt[string]

var afterAll = regexp.MustCompile(`^[0-9]{5,9}-[0-9]{2}-[0-9]{2}$`)

// date reads a day; nothing for an empty one.
func date(name string, d day) (*time.Time, error) {
	if !d.Given || d.Null || d.Value == "" {
		return nil, nil
	}
	if len(d.Value) <= 40 {
		for _, layout := range []string{time.DateOnly, time.RFC3339} {
			if t, err := time.Parse(layout, d.Value); err == nil && t.Year() > 0 {
				return new(t.UTC().Truncate(24 * time.Hour)), nil
			}
		}
		if afterAll.MatchString(d.Value) {
			return new(lastDay.AddDate(0, 0, 1)), nil
		}
	}
	return nil, fault.WithMessage(fault.BadParams, "%s is invalid", name)
}

type createParams struct {
	owner.Ref
	Title       string              `param:"title" required:"true" doc:"Title of the milestone, 255 characters at the most"`
	Description httpapi.Opt[string] `param:"description" doc:"What the milestone is about"`
	DueDate     day                 `param:"due_date" format:"date" doc:"Day on which it is due, YYYY-MM-DD"`
	StartDate   day                 `param:"start_date" format:"date" doc:"Day on which it begins, YYYY-MM-DD"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (milestoneForm, error) {
	p := call.Params
	d := Draft{Title: p.Title, Description: p.Description.Ptr()}
	var err error
	if d.DueDate, err = date("due_date", p.DueDate); err != nil {
		return milestoneForm{}, err
	}
	if d.StartDate, err = date("start_date", p.StartDate); err != nil {
		return milestoneForm{}, err
	}
	m, err := s.Create(ctx, call.Actor, call.Subject.Entity, d)
	return s.present(ctx, call.Subject, m, err)
}

type updateParams struct {
	milestoneRef
	Title       httpapi.Opt[string] `param:"title" doc:"Title of the milestone, 255 characters at the most"`
	Description httpapi.Opt[string] `param:"description" doc:"What the milestone is about"`
	DueDate     day                 `param:"due_date" format:"date" doc:"Day on which it is due, YYYY-MM-DD"`
	StartDate   day                 `param:"start_date" format:"date" doc:"Day on which it begins, YYYY-MM-DD"`
	StateEvent  httpapi.Opt[string] `param:"state_event" enum:"close,activate" doc:"close or activate"`
}

// Validate wants something to change.
func (p updateParams) Validate() []string {
	if p.Title.Given || p.Description.Given || p.DueDate.Given || p.StartDate.Given || p.StateEvent.Given {
		return nil
	}
	return []string{"title, description, start_date, due_date, state_event are missing, at least one parameter must be provided"}
}

var states = map[string]State{"close": Closed, "activate": Active}

func (p updateParams) change() (c Change, err error) {
	if p.Title.Given {
		c.Title = &p.Title.Value
	}
	if p.Description.Given {
		c.Description = new(p.Description.Ptr())
	}
	if p.DueDate.Given {
		d, err := date("due_date", p.DueDate)
		if c.DueDate = &d; err != nil {
			return c, err
		}
	}
	if p.StartDate.Given {
		d, err := date("start_date", p.StartDate)
		if c.StartDate = &d; err != nil {
			return c, err
		}
	}
	if state, asked := states[p.StateEvent.Value]; asked {
		c.State = &state
	}
	return c, nil
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*owner.Owner, updateParams]) (milestoneForm, error) {
	c, err := call.Params.change()
	if err != nil {
		return milestoneForm{}, err
	}
	m, err := s.Update(ctx, call.Actor, call.Subject.Entity, call.Params.MilestoneID, c)
	return s.present(ctx, call.Subject, m, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*owner.Owner, milestoneRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Entity, call.Params.MilestoneID)
}

func (s *Service) handlePromote(ctx context.Context, call httpapi.Call[*owner.Owner, milestoneRef]) (httpapi.EmptyBody, error) {
	return httpapi.EmptyBody{}, s.Promote(ctx, call.Actor, call.Subject, call.Params.MilestoneID)
}
