package issue

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/project"
)

// Placed is an issue in its project, as an actor who reads it stands there.
type Placed struct {
	Project *project.Project
	Issue   *Issue
}

// Target is the project.
func (p Placed) Target() access.Target { return p.Project.Target() }

// Ref names an issue in routes. Embed it in params.
type Ref struct {
	project.Ref
	IssueIID int `param:"issue_iid" doc:"Number of the issue in its project"`
}

func (r Ref) issue() (string, int) { return r.ID, r.IssueIID }

// Params are those of a route below an issue: they embed Ref.
type Params interface {
	issue() (project string, iid int)
}

// On declares an endpoint below an issue, whose handler gets it as the actor may read it. To anyone else it does not exist; who may not do such a thing in
// the project at all is told so before the issue is looked for.
func On[P Params, R any](s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[Placed, P]) (R, error)) httpapi.Endpoint {
	return httpapi.On(spec, func(ctx context.Context, a access.Actor, in P) (Placed, error) {
		ref, iid := in.issue()
		return s.findPlaced(ctx, a, spec.Needs, ref, iid)
	}, handle)
}

// Below is On for what other rooms keep about an issue: one that does not exist is named.
func Below[P Params, R any](s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[Placed, P]) (R, error)) httpapi.Endpoint {
	return httpapi.On(spec, func(ctx context.Context, a access.Actor, in P) (Placed, error) {
		ref, iid := in.issue()
		return s.FindBelow(ctx, a, spec.Needs, ref, iid)
	}, handle)
}

// FindBelow finds the issue that a route names, for what other rooms keep about it.
func (s *Service) FindBelow(ctx context.Context, a access.Actor, needs access.Ability, ref string, iid int) (Placed, error) {
	at, err := s.findPlaced(ctx, a, needs, ref, iid)
	if errors.Is(err, errMissing) {
		err = fault.NotFoundf("Issue")
	}
	return at, err
}

func (s *Service) findPlaced(ctx context.Context, a access.Actor, needs access.Ability, ref string, iid int) (Placed, error) {
	p, err := s.deps.Projects.FindPresent(ctx, a, ref)
	if err == nil {
		err = access.CheckIn(a, needs, p.Target())
	}
	if err != nil {
		return Placed{}, err
	}
	i, err := s.Find(ctx, a, p, iid)
	return Placed{Project: p, Issue: i}, err
}

// maxBody is more than a description of the greatest length takes.
const maxBody = 2 << 20

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	const (
		one             = "/projects/{id}/issues/{issue_iid:digits}"
		cut             = "Descriptions are cut after 65,536 characters, and after 1,000 when those of the page take two megabytes; those of labels after 255; a search looks at the first 100 characters of its text and the first 10,000 of a description."
		noMergeRequests = "There are no merge requests yet: the list is empty."
		plans           = "403 to who is neither a reporter nor the author or an assignee"
	)
	projects := s.deps.Projects
	return slices.Concat([]httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /issues", Needs: access.Anyone, Summary: "List issues.", Note: cut, ExtraRefusals: "401 to anonymous callers unless scope is all",
		}, s.handleListAll),
		httpapi.Do(httpapi.Spec{
			Route: "GET /issues_statistics", Needs: access.Anyone, Summary: "Count issues.", ExtraRefusals: "401 to anonymous callers unless scope is all",
			Note: "Counts end at 100,000.",
		}, s.handleCountAll),
		httpapi.Do(httpapi.Spec{Route: "GET /issues/{issue_id:digits}", Needs: access.Administer, Summary: "Show an issue by its ID."}, s.handleGetByID),
		owner.OnGroup(s.deps.Owners, httpapi.Spec{
			Route: "GET /issues", Summary: "List the issues of a {owner} and of those below it.", Note: cut,
		}, access.ReadGroupIssues, s.handleListOfGroup),
		owner.OnGroup(s.deps.Owners, httpapi.Spec{
			Route: "GET /issues_statistics", Summary: "Count the issues of a {owner} and of those below it.", Note: "Counts end at 100,000.",
		}, access.ReadGroupIssues, s.handleCountOfGroup),
		project.On(projects, httpapi.Spec{Route: "GET /projects/{id}/issues", Needs: access.ReadIssues, Summary: "List the issues of a project.", Note: cut}, s.handleListOfProject),
		project.On(projects, httpapi.Spec{
			Route: "GET /projects/{id}/issues_statistics", Needs: access.ReadIssues, Summary: "Count the issues of a project.", Note: "Counts end at 100,000.",
		}, s.handleCountOfProject),
		project.On(projects, httpapi.Spec{
			Route: "POST /projects/{id}/issues", Needs: access.CreateIssues, Status: http.StatusCreated, Summary: "Create an issue.", MaxBody: maxBody,
			Limit: "issues_create", Note: "Lines of the description that are commands, like /label ~bug, are done with the rights of the caller and taken out of it.",
		}, s.handleCreate),
		On(s, httpapi.Spec{Route: "GET " + one, Needs: access.ReadIssues, Summary: "Show an issue."}, s.handleGet),
		On(s, httpapi.Spec{Route: "PUT " + one, Needs: access.EditIssues, Summary: "Change an issue.", ExtraRefusals: plans, MaxBody: maxBody, Limit: "issues_update"}, s.handleUpdate),
		On(s, httpapi.Spec{Route: "DELETE " + one, Needs: access.DeleteIssues, Summary: "Delete an issue."}, s.handleDelete),
		On(s, httpapi.Spec{
			Route: "PUT " + one + "/reorder", Needs: access.EditIssues, Summary: "Put an issue before or after another of its project.", ExtraRefusals: plans,
			Limit: "issues_update",
		}, s.handleReorder),
		On(s, httpapi.Spec{
			Route: "POST " + one + "/move", Needs: access.CreateIssues, Status: http.StatusCreated, Summary: "Move an issue to another project.",
			Limit: "issues_create", ExtraRefusals: "400 to who is not a reporter of both projects",
		}, s.handleMove),
		On(s, httpapi.Spec{
			Route: "POST " + one + "/clone", Needs: access.CreateIssues, Status: http.StatusCreated, Summary: "Make a copy of an issue.",
			Limit: "issues_create", ExtraRefusals: "400 to who is not a reporter of both projects",
		}, s.handleClone),
		On(s, httpapi.Spec{
			Route: "POST " + one + "/subscribe", Needs: access.SubscribeToIssues, Status: http.StatusCreated, Summary: "Subscribe to an issue.",
			Note: "304 when one is subscribed already.",
		}, s.handleSubscribe(true)),
		On(s, httpapi.Spec{
			Route: "POST " + one + "/unsubscribe", Needs: access.SubscribeToIssues, Status: http.StatusCreated, Summary: "Unsubscribe from an issue.",
			Note: "304 when one is not subscribed.",
		}, s.handleSubscribe(false)),
		httpapi.On(httpapi.Spec{
			Route: "GET " + one + "/user_agent_detail", Needs: access.Administer, Summary: "Show what an issue was made with.",
			Note: "404 where that is not known.",
		}, func(ctx context.Context, a access.Actor, in Ref) (Placed, error) {
			return s.findPlaced(ctx, a, access.ReadIssues, in.ID, in.IssueIID)
		}, s.handleAgent),
		On(s, httpapi.Spec{Route: "GET " + one + "/time_stats", Needs: access.ReadIssues, Summary: "Show how long an issue takes and took."}, s.handleTime),
		On(s, httpapi.Spec{Route: "POST " + one + "/time_estimate", Needs: access.PlanIssues, Summary: "Say how long an issue takes."}, s.handleEstimate),
		On(s, httpapi.Spec{Route: "POST " + one + "/reset_time_estimate", Needs: access.PlanIssues, Summary: "Forget how long an issue takes."}, s.handleResetEstimate),
		On(s, httpapi.Spec{
			Route: "POST " + one + "/add_spent_time", Needs: access.PlanIssues, Status: http.StatusCreated, Summary: "Note time that was spent on an issue.",
		}, s.handleSpend),
		On(s, httpapi.Spec{Route: "POST " + one + "/reset_spent_time", Needs: access.PlanIssues, Summary: "Take back all time that was spent on an issue."}, s.handleResetSpent),
		On(s, httpapi.Spec{Route: "GET " + one + "/links", Needs: access.ReadIssues, Summary: "List the issues that an issue is linked to.", Note: cut}, s.handleLinks),
		On(s, httpapi.Spec{Route: "GET " + one + "/links/{issue_link_id:digits}", Needs: access.ReadIssues, Summary: "Show a link of an issue."}, s.handleGetLink),
		On(s, httpapi.Spec{
			Route: "POST " + one + "/links", Needs: access.PlanIssues, Status: http.StatusCreated, Summary: "Link an issue to another.",
			ExtraRefusals: "403 to who is not a reporter of the other project",
		}, s.handleAddLink),
		On(s, httpapi.Spec{
			Route: "DELETE " + one + "/links/{issue_link_id:digits}", Needs: access.PlanIssues, Summary: "Cut a link of an issue.",
			ExtraRefusals: "404 to who is not a reporter of the other project",
		}, s.handleRemoveLink),
		On(s, httpapi.Spec{
			Route: "GET " + one + "/related_merge_requests", Needs: access.ReadIssues, Summary: "List the merge requests that an issue names.", Note: noMergeRequests,
		}, s.handleMergeRequests),
		On(s, httpapi.Spec{
			Route: "GET " + one + "/closed_by", Needs: access.ReadIssues, Summary: "List the merge requests that close an issue.", Note: noMergeRequests,
		}, s.handleMergeRequests),
	}, owner.On(s.deps.Owners, httpapi.Spec{
		Route: "GET /milestones/{milestone_id:digits}/issues", Summary: "List the issues of a milestone of a {owner}.",
	}, owner.Needs{Group: access.ReadGroupMilestones, Project: access.ReadProjectMilestones}, s.handleListOfMilestone), s.deps.Labels.Lists(s.countOfLabels))
}

type idParams struct {
	IssueID int64 `param:"issue_id" doc:"ID of the issue on the instance"`
}

func (s *Service) handleGetByID(ctx context.Context, call httpapi.Call[httpapi.None, idParams]) (issueForm, error) {
	i, p, err := s.FindByID(ctx, call.Actor, call.Params.IssueID)
	return s.show(ctx, call.Actor, p, i, err)
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[Placed, Ref]) (issueForm, error) {
	return s.show(ctx, call.Actor, call.Subject.Project, call.Subject.Issue, nil)
}

// day reads a due date; what is none means none.
func day(text string) *time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1 {
		return nil
	}
	return &t
}

// attributeParams are what can be said of an issue when it is made and later.
type attributeParams struct {
	Description      httpapi.Opt[string]   `param:"description" bytes:"1048576" doc:"What is to be done, in Markdown"`
	AssigneeIDs      httpapi.Opt[[]int64]  `param:"assignee_ids" split:"comma" doc:"IDs of the people whom it is given to"`
	AssigneeID       httpapi.Opt[int64]    `param:"assignee_id" doc:"ID of the person whom it is given to; 0 for nobody"`
	Labels           httpapi.Opt[[]string] `param:"labels" split:"comma" doc:"Names of its labels; those that are missing are made for who may"`
	MilestoneID      httpapi.Opt[int64]    `param:"milestone_id" doc:"ID of a milestone of the project or of groups above; 0 for none"`
	DueDate          httpapi.Opt[string]   `param:"due_date" format:"date" doc:"Day on which it is due, YYYY-MM-DD"`
	Confidential     httpapi.Opt[bool]     `param:"confidential" blank:"refuse" doc:"Whether reporters, the author and assignees alone may read it"`
	DiscussionLocked httpapi.Opt[bool]     `param:"discussion_locked" doc:"Whether members of the project alone may comment"`
	IssueType        httpapi.Opt[string]   `param:"issue_type" enum:"issue,incident,test_case,task" doc:"What it is"`
	Weight           httpapi.Opt[int]      `param:"weight" doc:"How much it weighs; not on the free tier"`
}

// assignees are the people who are asked for.
func (p attributeParams) assignees() (ids []int64, given bool) {
	switch {
	case p.AssigneeIDs.Given:
		ids = p.AssigneeIDs.Or(nil)
	case p.AssigneeID.Given:
		ids = []int64{p.AssigneeID.Or(0)}
	default:
		return nil, false
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return id == 0 }), true
}

type createParams struct {
	project.Ref
	Title string `param:"title" required:"true" doc:"Title of the issue, 255 characters at the most"`
	attributeParams
	IID       int                    `param:"iid" doc:"Number of the issue; for owners of the project"`
	CreatedAt httpapi.Opt[time.Time] `param:"created_at" doc:"When it was created; for owners of the project"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*project.Project, createParams]) (issueForm, error) {
	p := call.Params
	d := Draft{
		Title: p.Title, Description: p.Description.Ptr(), Type: Type(p.IssueType.Or("")), Confidential: p.Confidential.Or(false),
		DiscussionLocked: p.DiscussionLocked.Ptr(), Labels: p.Labels.Or(nil), MilestoneID: p.MilestoneID.Ptr(), DueDate: day(p.DueDate.Or("")),
		Weight: p.Weight.Ptr(), IID: max(p.IID, 0), CreatedAt: p.CreatedAt.Ptr(), UserAgent: call.Header("User-Agent"),
	}
	d.AssigneeIDs, _ = p.assignees()
	i, err := s.Create(ctx, call.Actor, call.Subject, d)
	return s.show(ctx, call.Actor, call.Subject, i, err)
}

type updateParams struct {
	Ref
	Title httpapi.Opt[string] `param:"title" doc:"Title of the issue, 255 characters at the most"`
	attributeParams
	AddLabels    []string               `param:"add_labels" split:"comma" doc:"Names of labels that it gets"`
	RemoveLabels []string               `param:"remove_labels" split:"comma" doc:"Names of labels that it loses"`
	StateEvent   httpapi.Opt[string]    `param:"state_event" enum:"close,reopen" doc:"close or reopen"`
	HealthStatus httpapi.Opt[string]    `param:"health_status" enum:"on_track,needs_attention,at_risk" doc:"How it goes; not on the free tier"`
	Severity     httpapi.Opt[string]    `param:"severity" enum:"unknown,low,medium,high,critical" doc:"How bad an incident is"`
	CreatedAt    httpapi.Opt[time.Time] `param:"created_at" doc:"Is not changed"`
	UpdatedAt    httpapi.Opt[time.Time] `param:"updated_at" doc:"When it was changed; for owners of the project"`
}

// Validate wants something to change.
func (p updateParams) Validate() []string {
	_, assigned := p.assignees()
	if assigned || p.Title.Given || p.Description.Given || p.Labels.Given || p.MilestoneID.Given || p.DueDate.Given || p.Confidential.Given ||
		p.DiscussionLocked.Given || p.IssueType.Given || p.Weight.Given || len(p.AddLabels) > 0 || len(p.RemoveLabels) > 0 || p.StateEvent.Given ||
		p.HealthStatus.Given || p.Severity.Given || p.CreatedAt.Given {
		return nil
	}
	return []string{"assignee_id, assignee_ids, confidential, created_at, description, discussion_locked, due_date, labels, add_labels, remove_labels, " +
		"milestone_id, state_event, title, issue_type are missing, at least one parameter must be provided"}
}

func (p updateParams) change() Change {
	c := Change{
		Title: p.Title.Ptr(), Confidential: p.Confidential.Ptr(), DiscussionLocked: p.DiscussionLocked.Ptr(), AddLabels: p.AddLabels, RemoveLabels: p.RemoveLabels,
		UpdatedAt: p.UpdatedAt.Ptr(),
	}
	if p.Title.Given && p.Title.Null {
		c.Title = new("")
	}
	if p.Description.Given {
		c.Description = new(p.Description.Ptr())
	}
	if p.StateEvent.Given {
		c.Close = new(p.StateEvent.Value == "close")
	}
	if p.IssueType.Given {
		c.Type = new(Type(p.IssueType.Value))
	}
	if p.Severity.Given {
		c.Severity = new(Severity(p.Severity.Value))
	}
	if ids, given := p.assignees(); given {
		c.AssigneeIDs = &ids
	}
	if p.Labels.Given {
		c.Labels = new(p.Labels.Or(nil))
	}
	if p.MilestoneID.Given {
		c.MilestoneID = new(p.MilestoneID.Ptr())
	}
	if p.DueDate.Given {
		c.DueDate = new(day(p.DueDate.Or("")))
	}
	if p.Weight.Given {
		c.Weight = new(p.Weight.Ptr())
	}
	if p.HealthStatus.Given {
		c.HealthStatus = new(p.HealthStatus.Ptr())
	}
	return c
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[Placed, updateParams]) (issueForm, error) {
	p := call.Subject.Project
	i, err := s.Update(ctx, call.Actor, p, call.Params.IssueIID, call.Params.change())
	return s.show(ctx, call.Actor, p, i, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[Placed, Ref]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID)
}

type reorderParams struct {
	Ref
	After  int64 `param:"move_after_id" doc:"ID of the issue that it comes after"`
	Before int64 `param:"move_before_id" doc:"ID of the issue that it comes before"`
}

// Validate wants a place.
func (p reorderParams) Validate() []string {
	if p.After == 0 && p.Before == 0 {
		return []string{"move_after_id, move_before_id are missing, at least one parameter must be provided"}
	}
	return nil
}

func (s *Service) handleReorder(ctx context.Context, call httpapi.Call[Placed, reorderParams]) (issueForm, error) {
	p := call.Subject.Project
	i, err := s.Reorder(ctx, call.Actor, p, call.Params.IssueIID, call.Params.After, call.Params.Before)
	return s.show(ctx, call.Actor, p, i, err)
}

type moveParams struct {
	Ref
	ToProjectID int64 `param:"to_project_id" required:"true" doc:"ID of the project that it moves to"`
}

func (s *Service) handleMove(ctx context.Context, call httpapi.Call[Placed, moveParams]) (issueForm, error) {
	to, err := s.deps.Projects.Find(ctx, call.Actor, call.Params.ToProjectID)
	if err != nil {
		return issueForm{}, err
	}
	i, err := s.Move(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID, to)
	return s.show(ctx, call.Actor, to, i, err)
}

type cloneParams struct {
	moveParams
	WithNotes bool `param:"with_notes" doc:"Also copy what was said"`
}

func (s *Service) handleClone(ctx context.Context, call httpapi.Call[Placed, cloneParams]) (issueForm, error) {
	to, err := s.deps.Projects.Find(ctx, call.Actor, call.Params.ToProjectID)
	if err != nil {
		return issueForm{}, err
	}
	i, err := s.Clone(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID, to, call.Params.WithNotes)
	return s.show(ctx, call.Actor, to, i, err)
}

func (s *Service) handleSubscribe(on bool) func(context.Context, httpapi.Call[Placed, Ref]) (issueForm, error) {
	return func(ctx context.Context, call httpapi.Call[Placed, Ref]) (issueForm, error) {
		p := call.Subject.Project
		i, err := s.Subscribe(ctx, call.Actor, p, call.Params.IssueIID, on)
		return s.show(ctx, call.Actor, p, i, err)
	}
}

func (s *Service) handleTime(_ context.Context, call httpapi.Call[Placed, Ref]) (timeForm, error) {
	return s.timeForm(call.Subject.Issue), nil
}

// agentForm is what an issue was made with.
type agentForm struct {
	UserAgent        string `json:"user_agent"`
	IPAddress        string `json:"ip_address"`
	AkismetSubmitted bool   `json:"akismet_submitted"` // nothing is sent anywhere
}

func (s *Service) handleAgent(ctx context.Context, call httpapi.Call[Placed, Ref]) (agentForm, error) {
	a, err := s.Agent(ctx, call.Subject.Issue.ID)
	return agentForm{UserAgent: a.UserAgent, IPAddress: a.IPAddress}, err
}

type durationParams struct {
	Ref
	Duration string `param:"duration" required:"true" doc:"How long, as in 3h 30m"`
}

// timed shows the time of an issue that was just changed.
func (s *Service) timed(i *Issue, err error) (timeForm, error) {
	if err != nil {
		return timeForm{}, err
	}
	return s.timeForm(i), nil
}

func (s *Service) handleEstimate(ctx context.Context, call httpapi.Call[Placed, durationParams]) (timeForm, error) {
	return s.timed(s.Estimate(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID, call.Params.Duration))
}

func (s *Service) handleResetEstimate(ctx context.Context, call httpapi.Call[Placed, Ref]) (timeForm, error) {
	return s.timed(s.Estimate(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID, "0"))
}

type spendParams struct {
	durationParams
	Summary string `param:"summary" doc:"What was done, 255 characters at the most"`
}

func (s *Service) handleSpend(ctx context.Context, call httpapi.Call[Placed, spendParams]) (timeForm, error) {
	return s.timed(s.Spend(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID, call.Params.Duration, call.Params.Summary))
}

func (s *Service) handleResetSpent(ctx context.Context, call httpapi.Call[Placed, Ref]) (timeForm, error) {
	return s.timed(s.ResetSpent(ctx, call.Actor, call.Subject.Project, call.Params.IssueIID))
}

// relatedForm is an issue that another is linked to.
type relatedForm struct {
	issueForm
	IssueLinkID   int64        `json:"issue_link_id"`
	LinkType      LinkKind     `json:"link_type"`
	LinkCreatedAt httpapi.Time `json:"link_created_at"`
	LinkUpdatedAt httpapi.Time `json:"link_updated_at"`
}

func (s *Service) handleLinks(ctx context.Context, call httpapi.Call[Placed, Ref]) ([]relatedForm, error) {
	p, i := call.Subject.Project, call.Subject.Issue
	related, err := s.Links(ctx, call.Actor, i)
	if err != nil {
		return nil, err
	}
	issues := make([]Issue, len(related))
	for n := range related {
		issues[n] = related[n].Issue
	}
	x, err := s.gather(ctx, call.Actor, p, issues...)
	forms := make([]relatedForm, len(related))
	for n, r := range related {
		link := Link{SourceID: r.SourceID, TargetID: r.TargetID, Kind: r.Kind}
		forms[n] = relatedForm{
			issueForm: s.full(x, &r.Issue, p.FullPath(), false), IssueLinkID: r.LinkID, LinkType: link.As(i.ID),
			LinkCreatedAt: httpapi.Time(r.LinkCreatedAt), LinkUpdatedAt: httpapi.Time(r.LinkUpdatedAt),
		}
	}
	return forms, err
}

type mergeRequestsParams struct {
	Ref
	httpapi.Paging
}

// mergeRequestForm is a merge request that has to do with an issue.
type mergeRequestForm struct {
	IID int `json:"iid"`
}

// handleMergeRequests answers clients that ask what is about to close an issue.
func (s *Service) handleMergeRequests(_ context.Context, call httpapi.Call[Placed, mergeRequestsParams]) (httpapi.List[mergeRequestForm], error) {
	req, err := call.Params.Request()
	return httpapi.List[mergeRequestForm]{Request: req}, err
}

// linkForm is a link of two issues.
type linkForm struct {
	ID       int64     `json:"id"`
	Source   basicForm `json:"source_issue"`
	Target   basicForm `json:"target_issue"`
	LinkType LinkKind  `json:"link_type"`
}

// showLink presents a link of an issue to another of which the actor sees the project.
func (s *Service) showLink(ctx context.Context, a access.Actor, p Placed, l *Link, other *Issue, err error) (linkForm, error) {
	if err != nil {
		return linkForm{}, err
	}
	x, err := s.gather(ctx, a, p.Project, *p.Issue, *other)
	return linkForm{ID: l.ID, Source: s.basic(x, p.Issue, false), Target: s.basic(x, other, false), LinkType: l.As(p.Issue.ID)}, err
}

type linkParams struct {
	Ref
	LinkID int64 `param:"issue_link_id" doc:"ID of the link"`
}

func (s *Service) handleGetLink(ctx context.Context, call httpapi.Call[Placed, linkParams]) (linkForm, error) {
	l, other, _, err := s.FindLink(ctx, call.Actor, call.Subject.Issue, call.Params.LinkID)
	return s.showLink(ctx, call.Actor, call.Subject, l, other, err)
}

type addLinkParams struct {
	Ref
	TargetProjectID string `param:"target_project_id" required:"true" doc:"ID or path of the project of the other issue"`
	TargetIssueIID  int    `param:"target_issue_iid" required:"true" doc:"Number of the other issue in its project"`
	LinkType        string `param:"link_type" enum:"relates_to,blocks,is_blocked_by" default:"relates_to" doc:"What they have to do with each other; blocks and is_blocked_by not on the free tier"`
}

func (s *Service) handleAddLink(ctx context.Context, call httpapi.Call[Placed, addLinkParams]) (linkForm, error) {
	p, kind := call.Params, LinkKind(call.Params.LinkType)
	if kind != RelatesTo && !s.enterprise() {
		return linkForm{}, fault.WithMessage(fault.BadParams, "link_type does not have a valid value")
	}
	to, _, err := s.deps.Projects.FindByRef(ctx, call.Actor, p.TargetProjectID)
	if fault.Is(err, fault.NotFound) {
		return linkForm{}, errNoTarget
	} else if err != nil {
		return linkForm{}, err
	}
	l, other, err := s.AddLink(ctx, call.Actor, call.Subject.Project, call.Subject.Issue, to, p.TargetIssueIID, kind)
	return s.showLink(ctx, call.Actor, call.Subject, l, other, err)
}

func (s *Service) handleRemoveLink(ctx context.Context, call httpapi.Call[Placed, linkParams]) (linkForm, error) {
	l, other, _, err := s.RemoveLink(ctx, call.Actor, call.Subject.Project, call.Subject.Issue, call.Params.LinkID)
	return s.showLink(ctx, call.Actor, call.Subject, l, other, err)
}
