package label

import (
	"context"
	"html"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

var (
	toRead      = owner.Needs{Group: access.ReadGroupLabels, Project: access.ReadProjectLabels}
	toManage    = owner.Needs{Group: access.AdminGroupLabels, Project: access.AdminProjectLabels}
	toSubscribe = owner.Needs{Group: access.SubscribeInGroup, Project: access.SubscribeInProject}
)

const (
	oldForm = "Deprecated: name the label in the path."
	ofGroup = "403 for a label of the group to who may not manage those of the group"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		[]httpapi.Endpoint{
			owner.OnGroup(in, httpapi.Spec{
				Route: "PUT /labels/{label_id}", Summary: "Change a label of a {owner}.",
			}, toManage.Group, s.handleUpdateOfGroup),
			owner.OnProject(in, httpapi.Spec{
				Route: "PUT /labels/{label_id}", Summary: "Change a label of a {owner}.", ExtraRefusals: ofGroup,
			}, toManage.Project, s.handleUpdateOfProject),
			owner.OnGroup(in, httpapi.Spec{
				Route: "PUT /labels", Summary: "Change a label of a {owner}.", Note: oldForm,
			}, toManage.Group, s.handleUpdateOfGroupByName),
			owner.OnProject(in, httpapi.Spec{
				Route: "PUT /labels", Summary: "Change a label of a {owner}.", Note: oldForm, ExtraRefusals: ofGroup,
			}, toManage.Project, s.handleUpdateOfProjectByName),
			owner.OnProject(in, httpapi.Spec{
				Route: "PUT /labels/{label_id}/promote", Summary: "Make a label of a {owner} one of its group.", ExtraRefusals: ofGroup,
				Note: "Labels of the same name in the group's projects and subgroups become that label, too.",
			}, toManage.Project, s.handlePromote),
			owner.OnProject(in, httpapi.Spec{
				Route: "PUT /labels/promote", Summary: "Make a label of a {owner} one of its group.", Note: oldForm, ExtraRefusals: ofGroup,
			}, toManage.Project, s.handlePromoteByName),
		},
		owner.On(in, httpapi.Spec{Route: "GET /labels/{label_id}", Summary: "Show a label of a {owner}."}, toRead, s.handleGet),
		owner.On(in, httpapi.Spec{
			Route: "POST /labels", Status: http.StatusCreated, Summary: "Create a label of a {owner}.",
		}, toManage, s.handleCreate),
		owner.On(in, httpapi.Spec{
			Route: "DELETE /labels/{label_id}", Summary: "Delete a label of a {owner}.", ExtraRefusals: ofGroup,
		}, toManage, s.handleDelete),
		owner.On(in, httpapi.Spec{
			Route: "DELETE /labels", Summary: "Delete a label of a {owner}.", Note: oldForm, ExtraRefusals: ofGroup,
		}, toManage, s.handleDeleteByName),
		owner.On(in, httpapi.Spec{
			Route: "POST /labels/{label_id}/subscribe", Status: http.StatusCreated, Summary: "Subscribe to a label of a {owner}.",
			Note: "304 when one is subscribed already.",
		}, toSubscribe, s.handleSubscribe(true)),
		owner.On(in, httpapi.Spec{
			Route: "POST /labels/{label_id}/unsubscribe", Status: http.StatusCreated, Summary: "Unsubscribe from a label of a {owner}.",
			Note: "304 when one is not subscribed.",
		}, toSubscribe, s.handleSubscribe(false)),
	)
}

// Counts is how many issues carry a label.
type Counts struct{ Opened, Closed int }

// Counter counts the issues of each of some labels that an actor may read in an owner.
type Counter func(ctx context.Context, by access.Actor, in *owner.Owner, labels []int64) (map[int64]Counts, error)

// Lists are the endpoints that list labels. What carries them is counted by a room above this one.
func (s *Service) Lists(count Counter) []httpapi.Endpoint {
	spec := httpapi.Spec{Route: "GET /labels", Summary: "List the labels of a {owner}."}
	return []httpapi.Endpoint{
		owner.OnGroup(s.deps.Owners, spec, toRead.Group, func(ctx context.Context, call httpapi.Call[*owner.Owner, groupListParams]) (httpapi.List[labelForm], error) {
			p := call.Params
			f := Filter{Search: p.Search, Ancestors: p.Ancestors, Descendants: p.Descendants, Projects: !p.OnlyGroup}
			return show(ctx, s, call.Actor, call.Subject, p.listParams, f, count, presentOfGroup)
		}),
		owner.OnProject(s.deps.Owners, spec, toRead.Project, func(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (httpapi.List[projectLabelForm], error) {
			p := call.Params
			return show(ctx, s, call.Actor, call.Subject, p, Filter{Search: p.Search, Ancestors: p.Ancestors}, count, presentOfProject)
		}),
	}
}

func show[Form any](
	ctx context.Context, s *Service, by access.Actor, in *owner.Owner, p listParams, f Filter, count Counter, present func(Seen, *countsForm) Form,
) (none httpapi.List[Form], _ error) {
	req, err := p.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, by, in, f, req)
	if err != nil || !p.WithCounts {
		return httpapi.ListOf(req, page, func(l Seen) Form { return present(l, nil) }), err
	}
	ids := make([]int64, len(page.Items))
	for n, l := range page.Items {
		ids[n] = l.ID
	}
	counts, err := count(ctx, by, in, ids)
	return httpapi.ListOf(req, page, func(l Seen) Form {
		return present(l, &countsForm{OpenIssues: counts[l.ID].Opened, ClosedIssues: counts[l.ID].Closed})
	}), err
}

// labelForm is a label of a group on the wire.
type labelForm struct {
	Details
	*countsForm
	Subscribed bool `json:"subscribed"`
}

// Details is a label on what carries it, for the forms of other rooms.
type Details struct {
	ID              int64   `json:"id"`
	Name            string  `json:"name"`
	Description     *string `json:"description"`
	DescriptionHTML *string `json:"description_html"`
	TextColor       string  `json:"text_color"`
	Color           string  `json:"color"`
}

// maxDetails is how much of a description is shown on what carries a label: a page of issues repeats it for each of them.
const maxDetails = 255

// DetailsOf shows a label on what carries it.
func DetailsOf(l Label) Details {
	if l.Description != nil && utf8.RuneCountInString(*l.Description) > maxDetails {
		l.Description = new(string([]rune(*l.Description)[:maxDetails]))
	}
	return details(l)
}

func details(l Label) Details {
	d := Details{ID: l.ID, Name: l.Name, Description: l.Description, TextColor: TextColor(l.Color), Color: l.Color}
	if l.Description != nil {
		d.DescriptionHTML = new(html.EscapeString(*l.Description))
	}
	return d
}

// countsForm is how much carries a label. There are no merge requests yet.
type countsForm struct {
	OpenIssues        int `json:"open_issues_count"`
	ClosedIssues      int `json:"closed_issues_count"`
	OpenMergeRequests int `json:"open_merge_requests_count"`
}

// projectLabelForm is a label as a project shows it.
type projectLabelForm struct {
	labelForm
	Priority       *int `json:"priority"`
	IsProjectLabel bool `json:"is_project_label"`
}

// presentOfGroup shows a label in a group, with what carries it if that was counted.
func presentOfGroup(l Seen, counts *countsForm) labelForm {
	return labelForm{Details: details(l.Label), countsForm: counts, Subscribed: l.Subscribed}
}

func presentOfProject(l Seen, counts *countsForm) projectLabelForm {
	return projectLabelForm{labelForm: presentOfGroup(l, counts), Priority: l.Priority, IsProjectLabel: l.ProjectID != nil}
}

// ownerLabelForm is a label as its owner shows it.
type ownerLabelForm = httpapi.Either[labelForm, projectLabelForm]

// present shows a label in its owner.
func present(o *owner.Owner, l *Seen, err error) (form ownerLabelForm, _ error) {
	switch {
	case err != nil:
		return form, err
	case o.Project != nil:
		return form.Other(presentOfProject(*l, nil)), nil
	}
	return form.One(presentOfGroup(*l, nil)), nil
}

func oneOfGroup(l *Seen, err error) (labelForm, error) {
	if err != nil {
		return labelForm{}, err
	}
	return presentOfGroup(*l, nil), nil
}

func oneOfProject(l *Seen, err error) (projectLabelForm, error) {
	if err != nil {
		return projectLabelForm{}, err
	}
	return presentOfProject(*l, nil), nil
}

type listParams struct {
	owner.Ref
	WithCounts bool   `param:"with_counts" doc:"Also show how many issues and merge requests have the label, each counted up to 1,000"`
	Ancestors  bool   `param:"include_ancestor_groups" default:"true" doc:"Also labels of groups above"`
	Search     string `param:"search" doc:"Only labels whose name or description holds this"`
	httpapi.Paging
}

type groupListParams struct {
	listParams
	Descendants bool `param:"include_descendant_groups" doc:"Also labels of groups below"`
	OnlyGroup   bool `param:"only_group_labels" default:"true" doc:"No labels of projects"`
}

type labelRef struct {
	owner.Ref
	LabelID string `param:"label_id" doc:"ID or URL-encoded name of the label; what is an ID is no name"`
}

type getParams struct {
	labelRef
	Ancestors bool `param:"include_ancestor_groups" default:"true" doc:"Also look at labels of groups above"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, getParams]) (ownerLabelForm, error) {
	l, err := s.Find(ctx, call.Actor, call.Subject, call.Params.LabelID, call.Params.Ancestors)
	return present(call.Subject, l, err)
}

type createParams struct {
	owner.Ref
	Name        string              `param:"name" required:"true" doc:"Name of the label, 255 characters at the most, without a comma"`
	Color       string              `param:"color" required:"true" doc:"Colour of the label: #rrggbb, #rgb or a name of CSS"`
	Description httpapi.Opt[string] `param:"description" doc:"What the label is for"`
	Priority    httpapi.Opt[int]    `param:"priority" doc:"Place among the project's labels, from 0; not in a group"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (ownerLabelForm, error) {
	p := call.Params
	l, err := s.Create(ctx, call.Actor, call.Subject, Draft{Name: p.Name, Color: p.Color, Description: p.Description.Ptr(), Priority: p.Priority.Ptr()})
	return present(call.Subject, l, err)
}

// changeParams are what can be changed of any label.
type changeParams struct {
	NewName     httpapi.Opt[string] `param:"new_name" doc:"New name of the label"`
	Color       httpapi.Opt[string] `param:"color" doc:"Colour of the label: #rrggbb, #rgb or a name of CSS"`
	Description httpapi.Opt[string] `param:"description" doc:"What the label is for"`
}

func (p changeParams) given() bool { return p.NewName.Given || p.Color.Given || p.Description.Given }

func (p changeParams) change() (c Change) {
	if p.NewName.Given {
		c.Name = &p.NewName.Value
	}
	if p.Color.Given {
		c.Color = &p.Color.Value
	}
	if p.Description.Given {
		c.Description = new(p.Description.Ptr())
	}
	return c
}

// Validate wants something to change.
func (p changeParams) Validate() []string {
	if p.given() {
		return nil
	}
	return []string{"new_name, color, description are missing, at least one parameter must be provided"}
}

// projectChangeParams are what can be changed of a label in a project.
type projectChangeParams struct {
	changeParams
	Priority httpapi.Opt[int] `param:"priority" doc:"Place among the project's labels, from 0; null for none"`
}

func (p projectChangeParams) change() Change {
	c := p.changeParams.change()
	if p.Priority.Given {
		c.Priority = new(p.Priority.Ptr())
	}
	return c
}

// Validate wants something to change.
func (p projectChangeParams) Validate() []string {
	if p.given() || p.Priority.Given {
		return nil
	}
	return []string{"new_name, color, description, priority are missing, at least one parameter must be provided"}
}

type updateOfGroupParams struct {
	labelRef
	changeParams
}

func (s *Service) handleUpdateOfGroup(ctx context.Context, call httpapi.Call[*owner.Owner, updateOfGroupParams]) (labelForm, error) {
	return oneOfGroup(s.Update(ctx, call.Actor, call.Subject, call.Params.LabelID, call.Params.change()))
}

type updateOfProjectParams struct {
	labelRef
	projectChangeParams
}

func (s *Service) handleUpdateOfProject(ctx context.Context, call httpapi.Call[*owner.Owner, updateOfProjectParams]) (projectLabelForm, error) {
	return oneOfProject(s.Update(ctx, call.Actor, call.Subject, call.Params.LabelID, call.Params.change()))
}

// nameParams name a label beside the path.
type nameParams struct {
	owner.Ref
	LabelID httpapi.Opt[int64]  `param:"label_id" doc:"ID of the label"`
	Name    httpapi.Opt[string] `param:"name" doc:"Name of the label"`
}

// one wants the label to be named in one way.
func (p nameParams) one() []string {
	switch {
	case p.LabelID.Given && p.Name.Given:
		return []string{"label_id, name are mutually exclusive"}
	case !p.LabelID.Given && !p.Name.Given:
		return []string{"label_id, name are missing, exactly one parameter must be provided"}
	}
	return nil
}

func (p nameParams) ref() string {
	if p.Name.Given {
		return p.Name.Value
	}
	return strconv.FormatInt(p.LabelID.Value, 10)
}

type updateOfGroupByNameParams struct {
	nameParams
	changeParams
}

// Validate wants one label and something to change.
func (p updateOfGroupByNameParams) Validate() []string {
	return append(p.one(), p.changeParams.Validate()...)
}

func (s *Service) handleUpdateOfGroupByName(ctx context.Context, call httpapi.Call[*owner.Owner, updateOfGroupByNameParams]) (labelForm, error) {
	return oneOfGroup(s.Update(ctx, call.Actor, call.Subject, call.Params.ref(), call.Params.change()))
}

type updateOfProjectByNameParams struct {
	nameParams
	projectChangeParams
}

// Validate wants one label and something to change.
func (p updateOfProjectByNameParams) Validate() []string {
	return append(p.one(), p.projectChangeParams.Validate()...)
}

func (s *Service) handleUpdateOfProjectByName(ctx context.Context, call httpapi.Call[*owner.Owner, updateOfProjectByNameParams]) (projectLabelForm, error) {
	return oneOfProject(s.Update(ctx, call.Actor, call.Subject, call.Params.ref(), call.Params.change()))
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*owner.Owner, labelRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject, call.Params.LabelID)
}

type deleteByNameParams struct{ nameParams }

// Validate wants one label.
func (p deleteByNameParams) Validate() []string { return p.one() }

func (s *Service) handleDeleteByName(ctx context.Context, call httpapi.Call[*owner.Owner, deleteByNameParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject, call.Params.ref())
}

func (s *Service) promote(ctx context.Context, by access.Actor, o *owner.Owner, ref string) (labelForm, error) {
	return oneOfGroup(s.Promote(ctx, by, o, ref))
}

func (s *Service) handlePromote(ctx context.Context, call httpapi.Call[*owner.Owner, labelRef]) (labelForm, error) {
	return s.promote(ctx, call.Actor, call.Subject, call.Params.LabelID)
}

type promoteByNameParams struct {
	owner.Ref
	Name string `param:"name" required:"true" doc:"Name of the label"`
}

func (s *Service) handlePromoteByName(ctx context.Context, call httpapi.Call[*owner.Owner, promoteByNameParams]) (labelForm, error) {
	return s.promote(ctx, call.Actor, call.Subject, call.Params.Name)
}

func (s *Service) handleSubscribe(on bool) func(context.Context, httpapi.Call[*owner.Owner, labelRef]) (ownerLabelForm, error) {
	return func(ctx context.Context, call httpapi.Call[*owner.Owner, labelRef]) (ownerLabelForm, error) {
		l, err := s.Subscribe(ctx, call.Actor, call.Subject, call.Params.LabelID, on)
		return present(call.Subject, l, err)
	}
}
