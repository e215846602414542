package issue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/project"
)

// matchParams are what can be asked for, and asked to be left out.
type matchParams struct {
	Labels           httpapi.Opt[[]string] `param:"labels" split:"comma" doc:"Only issues with all of these labels; None for those without any, Any for those with some"`
	Milestone        httpapi.Opt[string]   `param:"milestone" doc:"Only issues of the milestone with this title; None, Any"`
	MilestoneID      httpapi.Opt[string]   `param:"milestone_id" doc:"None, Any, Upcoming or Started"`
	IIDs             []int                 `param:"iids" split:"comma" doc:"Only issues with these numbers"`
	AuthorID         httpapi.Opt[int64]    `param:"author_id" doc:"Only issues of this author"`
	AuthorUsername   httpapi.Opt[string]   `param:"author_username" doc:"Only issues of the author with this name"`
	AssigneeID       httpapi.Opt[string]   `param:"assignee_id" doc:"Only issues that are given to this person; None, Any"`
	AssigneeUsername httpapi.Opt[[]string] `param:"assignee_username" split:"comma" doc:"Only issues that are given to the person with this name"`
	Weight           httpapi.Opt[string]   `param:"weight" doc:"Only issues of this weight; None, Any"`
	HealthStatus     httpapi.Opt[string]   `param:"health_status" doc:"Only issues of which this is said: on_track, needs_attention or at_risk; None, Any"`
	EpicID           httpapi.Opt[string]   `param:"epic_id" doc:"There are no epics: None for all issues, anything else for none"`
	IterationID      httpapi.Opt[string]   `param:"iteration_id" doc:"There are no iterations: None for all issues, anything else for none"`
	IterationTitle   httpapi.Opt[string]   `param:"iteration_title" doc:"There are no iterations: no issue has one of this title"`
}

// validate wants one name for one thing. wrap is how a name is written in a refusal.
func (p matchParams) validate(wrap func(string) string) (texts []string) {
	exclusive := func(a string, givenA bool, b string, givenB bool) {
		if givenA && givenB {
			texts = append(texts, wrap(a)+", "+wrap(b)+" are mutually exclusive")
		}
	}
	exclusive("milestone", p.Milestone.Given, "milestone_id", p.MilestoneID.Given)
	exclusive("author_id", p.AuthorID.Given, "author_username", p.AuthorUsername.Given)
	exclusive("assignee_id", p.AssigneeID.Given, "assignee_username", p.AssigneeUsername.Given)
	exclusive("iteration_id", p.IterationID.Given, "iteration_title", p.IterationTitle.Given)
	if id := p.MilestoneID.Or(""); id != "" && !slices.Contains([]string{"None", "Any", "Upcoming", "Started"}, id) {
		texts = append(texts, wrap("milestone_id")+" does not have a valid value")
	}
	number := func(name, value string) {
		if value == "" || isPresence(value) {
			return
		}
		if _, err := strconv.ParseUint(value, 10, 63); err != nil {
			texts = append(texts, wrap(name)+" should be an integer, none, or any, however got "+value)
		}
	}
	number("assignee_id", p.AssigneeID.Or(""))
	number("weight", p.Weight.Or(""))
	if health := p.HealthStatus.Or(""); health != "" && !isPresence(health) && !slices.Contains([]string{"on_track", "needs_attention", "at_risk"}, health) {
		texts = append(texts, wrap("health_status")+" does not have a valid value")
	}
	return texts
}

var presences = map[string]Presence{"none": None, "any": Any, "upcoming": Upcoming, "started": Started}

// isPresence reports whether a text is None or Any.
func isPresence(text string) bool {
	here := presences[strings.ToLower(text)]
	return here == None || here == Any
}

const (
	maxNames      = 100
	maxLabelNames = 20 // each is a condition of its own
)

// match finds out whom names mean. only is whether the list holds what matches, or what does not.
func (s *Service) match(ctx context.Context, p matchParams, only bool) (m Match, err error) {
	m.IIDs = p.IIDs
	if text := p.Weight.Or(""); isPresence(text) {
		m.Weighed = presences[strings.ToLower(text)]
	} else if n, err := strconv.Atoi(text); err == nil {
		m.Weight = &n
	}
	if text := p.HealthStatus.Or(""); isPresence(text) {
		m.HealthSaid = presences[strings.ToLower(text)]
	} else {
		m.Health = text
	}
	for _, id := range []string{p.EpicID.Or(""), p.IterationID.Or(""), p.IterationTitle.Or("")} {
		m.NobodyKnown = m.NobodyKnown || (only && id != "" && !strings.EqualFold(id, "none"))
	}
	for _, name := range p.Labels.Or(nil) {
		if here := presences[strings.ToLower(name)]; here == None || here == Any {
			m.Label, m.Labels = here, nil
			break
		}
		m.Labels = append(m.Labels, name)
	}
	slices.Sort(m.Labels)
	m.Labels = slices.Compact(m.Labels)
	if len(m.Labels) > maxLabelNames || len(m.IIDs) > maxNames*10 {
		return m, fault.WithMessage(fault.BadParams, "too many values are asked for at once")
	}
	if title := p.Milestone.Or(""); title != "" {
		if here := presences[strings.ToLower(title)]; here != Whatever {
			m.InMilestone = here
		} else {
			m.Milestone = &title
		}
	}
	if id := p.MilestoneID.Or(""); id != "" {
		m.InMilestone = presences[strings.ToLower(id)]
	}
	if id := p.AuthorID.Or(0); id != 0 {
		m.AuthorIDs = []int64{id}
	}
	if name := p.AuthorUsername.Or(""); name != "" {
		if m.AuthorIDs, err = s.people(ctx, []string{name}); err != nil {
			return m, err
		}
		m.NobodyKnown = m.NobodyKnown || (only && len(m.AuthorIDs) == 0)
	}
	switch id := strings.ToLower(p.AssigneeID.Or("")); id {
	case "":
	case "0", "none":
		m.Assigned = None
	case "any":
		m.Assigned = Any
	default:
		n, _ := strconv.ParseInt(id, 10, 64)
		m.AssigneeIDs = []int64{n}
	}
	if names := p.AssigneeUsername.Or(nil); len(names) > 0 {
		if only && len(names) > 1 && !s.enterprise() {
			return m, fault.WithMessage(fault.BadParams, "assignee_username allows one value, but found %d: %s", len(names), strings.Join(names, ", "))
		}
		if m.AssigneeIDs, err = s.people(ctx, names); err != nil {
			return m, err
		}
		m.NobodyKnown = m.NobodyKnown || (only && len(m.AssigneeIDs) < len(names))
	}
	return m, nil
}

func (s *Service) people(ctx context.Context, names []string) (ids []int64, err error) {
	if len(names) > maxNames {
		return nil, fault.WithMessage(fault.BadParams, "too many values are asked for at once")
	}
	for _, name := range names {
		u, err := s.deps.Users.FindByUsername(ctx, strings.TrimPrefix(name, "@"))
		switch {
		case fault.Is(err, fault.NotFound):
		case err != nil:
			return nil, err
		default:
			ids = append(ids, u.ID)
		}
	}
	return ids, nil
}

// filterParams are those of lists and counts alike.
type filterParams struct {
	matchParams
	Not           matchParams            `param:"not" doc:"Leave out issues that match any of these: labels, milestone, milestone_id, iids, author_id, author_username, assignee_id, assignee_username, weight, health_status"`
	State         string                 `param:"state" enum:"opened,closed,all" default:"all" doc:"Only issues in this state"`
	Scope         string                 `param:"scope" enum:"created_by_me,created-by-me,assigned_to_me,assigned-to-me,all" doc:"Whose issues"`
	Search        string                 `param:"search" doc:"Only issues whose title or description holds this"`
	In            string                 `param:"in" doc:"Where to search: title, description or both, joined by a comma"`
	CreatedAfter  httpapi.Opt[time.Time] `param:"created_after" doc:"Only issues that were created since"`
	CreatedBefore httpapi.Opt[time.Time] `param:"created_before" doc:"Only issues that were created by then"`
	UpdatedAfter  httpapi.Opt[time.Time] `param:"updated_after" doc:"Only issues that were changed since"`
	UpdatedBefore httpapi.Opt[time.Time] `param:"updated_before" doc:"Only issues that were last changed by then"`
	DueDate       string                 `param:"due_date" enum:"0,any,today,tomorrow,overdue,week,month,next_month_and_previous_two_weeks," doc:"Only issues that are due then; 0 for those without a date"`
	Confidential  httpapi.Opt[bool]      `param:"confidential" doc:"Only issues that are confidential, or that are not"`
	IssueType     []string               `param:"issue_type" split:"comma" enum:"issue,incident,test_case,task,requirement" doc:"Only issues of one of these types"`
	Types         []string               `param:"type" split:"comma" enum:"issue,incident,test_case,task,requirement,ISSUE,INCIDENT,TEST_CASE,TASK,REQUIREMENT" doc:"The same as issue_type"`
	MyReaction    string                 `param:"my_reaction_emoji" doc:"Only issues that one gave this emoji; None for those that one gave none, Any for those that one gave some"`
	NonArchived   httpapi.Opt[bool]      `param:"non_archived" doc:"Only issues of projects that are not archived"`
}

// Validate wants one name for one thing.
func (p filterParams) Validate() []string {
	return slices.Concat(
		p.matchParams.validate(func(name string) string { return name }),
		p.Not.validate(func(name string) string { return "not[" + name + "]" }),
	)
}

// filter reads the parameters. own is the scope of a list that has none; archived whether it holds issues of archived projects.
func (s *Service) filter(ctx context.Context, a access.Actor, p filterParams, own string, archived bool) (f Filter, err error) {
	f = Filter{
		Search: p.Search, CreatedAfter: p.CreatedAfter.Ptr(), CreatedBefore: p.CreatedBefore.Ptr(), UpdatedAfter: p.UpdatedAfter.Ptr(),
		UpdatedBefore: p.UpdatedBefore.Ptr(), Due: p.DueDate, Confidential: p.Confidential.Ptr(), NonArchived: p.NonArchived.Or(!archived),
	}
	for _, name := range slices.Concat(p.IssueType, p.Types) {
		if t := Type(strings.ToLower(name)); !slices.Contains(f.Types, t) {
			f.Types = append(f.Types, t)
		}
	}
	for where := range strings.SplitSeq(p.In, ",") {
		f.InTitle, f.InDescription = f.InTitle || where == "title", f.InDescription || where == "description"
	}
	if f.Reacted = presences[strings.ToLower(p.MyReaction)]; f.Reacted != None && f.Reacted != Any {
		f.Reacted, f.Reaction = Whatever, p.MyReaction
	}
	if p.State != "all" {
		f.Closed = new(p.State == "closed")
	}
	if f.Match, err = s.match(ctx, p.matchParams, true); err != nil {
		return f, err
	}
	if f.Not, err = s.match(ctx, p.Not, false); err != nil {
		return f, err
	}
	scope := strings.ReplaceAll(p.Scope, "-", "_")
	if scope == "" {
		scope = own
	}
	if scope == "all" {
		return f, nil
	}
	if !a.SignedIn() {
		return f, fault.New(fault.Unauthenticated)
	}
	mine := &f.AuthorIDs
	if scope == "assigned_to_me" {
		mine = &f.AssigneeIDs
	}
	if len(*mine) > 0 && !slices.Contains(*mine, a.ID()) {
		f.NobodyKnown = true
	}
	*mine = []int64{a.ID()}
	return f, nil
}

type listParams struct {
	filterParams
	OrderBy string `param:"order_by" enum:"created_at,due_date,label_priority,milestone_due,popularity,priority,relative_position,title,updated_at,weight" default:"created_at" doc:"What the list is ordered by"`
	Sort    string `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction of the order"`
	Details bool   `param:"with_labels_details" doc:"Show labels with their colours and descriptions"`
	httpapi.KeysetPaging
}

// offer is what can be turned by cursor: what an index has in order.
var offer = httpapi.Offer{Model: "Issue", OrderBy: []string{"created_at", "updated_at"}}

// list reads a page. from is the path of where it is asked.
func (s *Service) list(ctx context.Context, a access.Actor, in Scope, from string, p listParams, f Filter) (none httpapi.List[issueForm], err error) {
	req, err := p.Request(p.OrderBy, p.Sort, offer)
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, a, in, f, req)
	if err != nil {
		return none, err
	}
	x, err := s.gather(ctx, a, in.Project, page.Items...)
	return httpapi.ListOf(req, page, func(i Issue) issueForm { return s.full(x, &i, from, p.Details) }), err
}

func (s *Service) handleListAll(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (httpapi.List[issueForm], error) {
	f, err := s.filter(ctx, call.Actor, call.Params.filterParams, "created_by_me", false)
	if err != nil {
		return httpapi.List[issueForm]{}, err
	}
	return s.list(ctx, call.Actor, Scope{}, "", call.Params, f)
}

type groupListParams struct {
	owner.Ref
	listParams
}

func (s *Service) handleListOfGroup(ctx context.Context, call httpapi.Call[*owner.Owner, groupListParams]) (httpapi.List[issueForm], error) {
	f, err := s.filter(ctx, call.Actor, call.Params.filterParams, "all", false)
	if err != nil {
		return httpapi.List[issueForm]{}, err
	}
	return s.list(ctx, call.Actor, Scope{Group: call.Subject.Group}, call.Subject.Path, call.Params.listParams, f)
}

type projectListParams struct {
	project.Ref
	listParams
}

func (s *Service) handleListOfProject(ctx context.Context, call httpapi.Call[*project.Project, projectListParams]) (httpapi.List[issueForm], error) {
	f, err := s.filter(ctx, call.Actor, call.Params.filterParams, "all", true)
	if err != nil {
		return httpapi.List[issueForm]{}, err
	}
	return s.list(ctx, call.Actor, Scope{Project: call.Subject}, call.Subject.FullPath(), call.Params.listParams, f)
}

// milestoneListParams are those of the issues of a milestone.
type milestoneListParams struct {
	owner.Ref
	MilestoneID int64 `param:"milestone_id" doc:"ID of the milestone; not its iid"`
	httpapi.Paging
}

func (s *Service) handleListOfMilestone(ctx context.Context, call httpapi.Call[*owner.Owner, milestoneListParams]) (none httpapi.List[basicForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	m, err := s.deps.Milestones.Find(ctx, call.Subject.Entity, call.Params.MilestoneID)
	if err != nil {
		return none, err
	}
	req.OrderBy, req.Desc = "created_at", true
	in := Scope{Project: call.Subject.Project, Group: call.Subject.Group}
	if in.Project != nil && !access.Holds(call.Actor, access.ReadIssues, in.Project.Target()) {
		return httpapi.List[basicForm]{Request: req}, nil
	}
	page, err := s.List(ctx, call.Actor, in, Filter{Match: Match{MilestoneID: m.ID}}, req)
	if err != nil {
		return none, err
	}
	x, err := s.gather(ctx, call.Actor, in.Project, page.Items...)
	return httpapi.ListOf(req, page, func(i Issue) basicForm { return s.basic(x, &i, false) }), err
}

// statisticsForm is how many issues there are.
type statisticsForm struct {
	Statistics struct {
		Counts struct {
			All    int `json:"all"`
			Closed int `json:"closed"`
			Opened int `json:"opened"`
		} `json:"counts"`
	} `json:"statistics"`
}

func (s *Service) statistics(ctx context.Context, a access.Actor, in Scope, f Filter, err error) (form statisticsForm, _ error) {
	if err != nil {
		return form, err
	}
	c, err := s.Count(ctx, a, in, f)
	counts := &form.Statistics.Counts
	counts.All, counts.Closed, counts.Opened = c.Opened+c.Closed, c.Closed, c.Opened
	return form, err
}

func (s *Service) handleCountAll(ctx context.Context, call httpapi.Call[httpapi.None, filterParams]) (statisticsForm, error) {
	f, err := s.filter(ctx, call.Actor, call.Params, "created_by_me", false)
	return s.statistics(ctx, call.Actor, Scope{}, f, err)
}

type groupCountParams struct {
	owner.Ref
	filterParams
}

func (s *Service) handleCountOfGroup(ctx context.Context, call httpapi.Call[*owner.Owner, groupCountParams]) (statisticsForm, error) {
	f, err := s.filter(ctx, call.Actor, call.Params.filterParams, "all", false)
	return s.statistics(ctx, call.Actor, Scope{Group: call.Subject.Group}, f, err)
}

type projectCountParams struct {
	project.Ref
	filterParams
}

func (s *Service) handleCountOfProject(ctx context.Context, call httpapi.Call[*project.Project, projectCountParams]) (statisticsForm, error) {
	f, err := s.filter(ctx, call.Actor, call.Params.filterParams, "all", true)
	return s.statistics(ctx, call.Actor, Scope{Project: call.Subject}, f, err)
}
