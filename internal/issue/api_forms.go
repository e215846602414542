package issue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// basicForm is an issue in lists of other rooms.
type basicForm struct {
	ID                   int64           `json:"id"`
	IID                  int             `json:"iid"`
	ProjectID            int64           `json:"project_id"`
	Title                string          `json:"title"`
	Description          *string         `json:"description"`
	State                string          `json:"state"`
	CreatedAt            httpapi.Time    `json:"created_at"`
	UpdatedAt            httpapi.Time    `json:"updated_at"`
	ClosedAt             *httpapi.Time   `json:"closed_at"`
	ClosedBy             *user.Public    `json:"closed_by"`
	Labels               any             `json:"labels"` // names, or their details
	Milestone            *milestone.Form `json:"milestone"`
	Assignees            []user.Public   `json:"assignees"`
	Author               *user.Public    `json:"author"`
	Type                 string          `json:"type"`
	Assignee             *user.Public    `json:"assignee"`
	UserNotesCount       int             `json:"user_notes_count"`
	MergeRequestsCount   int             `json:"merge_requests_count"`
	Upvotes              int             `json:"upvotes"`
	Downvotes            int             `json:"downvotes"`
	DueDate              *httpapi.Date   `json:"due_date"`
	Confidential         bool            `json:"confidential"`
	DiscussionLocked     *bool           `json:"discussion_locked"`
	IssueType            Type            `json:"issue_type"`
	WebURL               string          `json:"web_url"`
	TimeStats            timeForm        `json:"time_stats"`
	TaskCompletionStatus taskForm        `json:"task_completion_status"`
}

type taskForm struct {
	Count          int `json:"count"`
	CompletedCount int `json:"completed_count"`
}

// timeForm is how long an issue takes and took.
type timeForm struct {
	Estimate      int     `json:"time_estimate"`
	Spent         int     `json:"total_time_spent"`
	HumanEstimate *string `json:"human_time_estimate"`
	HumanSpent    *string `json:"human_total_time_spent"`
}

// issueForm is an issue on the wire.
type issueForm struct {
	basicForm
	Weight             *int           `json:"weight"`
	HealthStatus       *string        `json:"health_status"`
	BlockingCount      int            `json:"blocking_issues_count"`
	HasTasks           bool           `json:"has_tasks"`
	TaskStatus         string         `json:"task_status"`
	Links              linksForm      `json:"_links"`
	References         referencesForm `json:"references"`
	Severity           string         `json:"severity"`
	MovedToID          *int64         `json:"moved_to_id"`
	Imported           bool           `json:"imported"`
	ImportedFrom       string         `json:"imported_from"`
	ServiceDeskReplyTo *string        `json:"service_desk_reply_to"`
	Subscribed         *bool          `json:"subscribed,omitempty"` // of a single issue
}

type linksForm struct {
	Self                string  `json:"self"`
	Notes               string  `json:"notes"`
	AwardEmoji          string  `json:"award_emoji"`
	Project             string  `json:"project"`
	ClosedAsDuplicateOf *string `json:"closed_as_duplicate_of"`
}

type referencesForm struct {
	Short    string `json:"short"`
	Relative string `json:"relative"`
	Full     string `json:"full"`
}

// around is what the forms of some issues need beside them.
type around struct {
	people     map[int64]user.Brief
	labels     map[int64]label.Label
	milestones map[int64]milestone.Form
	projects   map[int64]*project.Project
	lineages   map[int64][]int64 // of projects
}

// inherits reports whether a project has what belongs to a group, or to itself. What an issue kept from a group that its project left is not shown: who
// sees the issue may not see that group.
func (x around) inherits(projectID int64, groupID *int64) bool {
	return groupID == nil || slices.Contains(x.lineages[projectID], *groupID)
}

// gather reads what the forms of some issues need, whose projects the actor sees.
func (s *Service) gather(ctx context.Context, a access.Actor, known *project.Project, all ...Issue) (x around, err error) {
	var people, labels, milestones, projects, homes []int64
	add := func(to *[]int64, ids ...int64) {
		for _, id := range ids {
			if !slices.Contains(*to, id) {
				*to = append(*to, id)
			}
		}
	}
	for n := range all {
		i := &all[n]
		for _, id := range []*int64{i.AuthorID, i.ClosedByID} {
			if id != nil {
				add(&people, *id)
			}
		}
		add(&people, i.AssigneeIDs...)
		add(&labels, i.LabelIDs...)
		if i.MilestoneID != nil {
			add(&milestones, *i.MilestoneID)
		}
		add(&homes, i.ProjectID)
		if known == nil || i.ProjectID != known.ID {
			add(&projects, i.ProjectID)
		}
	}
	if x.people, err = s.deps.Users.Briefs(ctx, people...); err != nil {
		return x, err
	}
	if x.labels, err = s.deps.Labels.Among(ctx, s.deps.DB, labels); err != nil {
		return x, err
	}
	if len(labels)+len(milestones) > 0 {
		if x.lineages, err = owner.Lineages(ctx, s.deps.DB, homes); err != nil {
			return x, err
		}
	}
	x.projects = map[int64]*project.Project{}
	if len(projects) > 0 {
		if x.projects, err = s.deps.Projects.Among(ctx, a, projects); err != nil {
			return x, err
		}
	}
	if known != nil {
		x.projects[known.ID] = known
	}
	x.milestones, err = s.deps.Milestones.Forms(ctx, milestones, func(id int64) string {
		if p := x.projects[id]; p != nil {
			return p.FullPath()
		}
		return ""
	})
	return x, err
}

func (s *Service) person(x around, id *int64) *user.Public {
	if id == nil {
		return nil
	}
	b, known := x.people[*id]
	if !known {
		return nil
	}
	return new(s.deps.Users.PublicForm(b))
}

func (s *Service) basic(x around, i *Issue, details bool) basicForm {
	form := basicForm{
		ID: i.ID, IID: i.IID, ProjectID: i.ProjectID, Title: i.Title, Description: i.Description, State: "opened",
		CreatedAt: httpapi.Time(i.CreatedAt), UpdatedAt: httpapi.Time(i.UpdatedAt), ClosedAt: httpapi.At(i.ClosedAt), ClosedBy: s.person(x, i.ClosedByID),
		Labels: labelsOf(x, i, details), Assignees: []user.Public{}, Author: s.person(x, i.AuthorID), Type: strings.ToUpper(string(i.Type)),
		UserNotesCount: i.NotesCount, Upvotes: i.Upvotes, Downvotes: i.Downvotes, DueDate: httpapi.Day(i.DueDate), Confidential: i.Confidential,
		DiscussionLocked: i.DiscussionLocked, IssueType: i.Type, TimeStats: s.timeForm(i), TaskCompletionStatus: taskForm{i.Tasks, i.TasksDone},
	}
	if i.Closed {
		form.State = "closed"
	}
	for _, id := range i.AssigneeIDs {
		if u := s.person(x, &id); u != nil {
			form.Assignees = append(form.Assignees, *u)
		}
	}
	if len(form.Assignees) > 0 {
		form.Assignee = &form.Assignees[0]
	}
	if i.MilestoneID != nil {
		if m, known := x.milestones[*i.MilestoneID]; known && x.inherits(i.ProjectID, m.GroupID) {
			form.Milestone = &m
		}
	}
	if p := x.projects[i.ProjectID]; p != nil {
		form.WebURL = s.webURL(p, i)
	}
	return form
}

// webURL is the page of an issue.
func (s *Service) webURL(p *project.Project, i *Issue) string {
	return fmt.Sprintf("%s/%s/-/issues/%d", s.deps.ExternalURL, p.FullPath(), i.IID)
}

// labelsOf are the labels of an issue as the API shows them: their names, or all that is known of them.
func labelsOf(x around, i *Issue, details bool) any {
	all := x.labelsOf(i)
	if details {
		forms := make([]label.Details, len(all))
		for n, l := range all {
			forms[n] = label.DetailsOf(l)
		}
		return forms
	}
	names := make([]string, len(all))
	for n, l := range all {
		names[n] = l.Name
	}
	return names
}

func (s *Service) timeForm(i *Issue) timeForm {
	hours := s.deps.Settings.Current().TimeTrackingLimitToHours
	human := func(seconds int) *string {
		if text := FormatDuration(seconds, hours); text != "" {
			return &text
		}
		return nil
	}
	return timeForm{Estimate: i.TimeEstimate, Spent: i.TimeSpent, HumanEstimate: human(i.TimeEstimate), HumanSpent: human(i.TimeSpent)}
}

// full shows an issue as it is seen from a project or group, by its path.
func (s *Service) full(x around, i *Issue, from string, details bool) issueForm {
	short, self := fmt.Sprintf("#%d", i.IID), fmt.Sprintf("%s/api/v4/projects/%d", s.deps.ExternalURL, i.ProjectID)
	path := ""
	if p := x.projects[i.ProjectID]; p != nil {
		path = p.FullPath()
	}
	relative := path + short
	if path == from {
		relative = short
	} else if rest, below := strings.CutPrefix(path, from+"/"); below && from != "" {
		relative = rest + short
	}
	form := issueForm{
		basicForm: s.basic(x, i, details), Weight: i.Weight, HealthStatus: i.HealthStatus, HasTasks: i.Tasks > 0,
		TaskStatus: fmt.Sprintf("%d of %d checklist items completed", i.TasksDone, i.Tasks), Severity: strings.ToUpper(string(i.Severity)), MovedToID: i.MovedToID,
		References: referencesForm{Short: short, Relative: relative, Full: path + short}, ImportedFrom: "none",
	}
	this := fmt.Sprintf("%s/issues/%d", self, i.IID)
	form.Links = linksForm{Self: this, Notes: this + "/notes", AwardEmoji: this + "/award_emoji", Project: self}
	return form
}

// Form is an issue as lists of other things show it.
type Form = issueForm

// Forms are some issues by their ids, for an actor who may read them. References in them are full, as in a list that is of no project.
func (s *Service) Forms(ctx context.Context, a access.Actor, ids []int64) (map[int64]Form, error) {
	forms := make(map[int64]Form, len(ids))
	if len(ids) == 0 {
		return forms, nil
	}
	all, err := postgres.All[Issue](ctx, s.deps.DB, sqlListed, ids)
	if err != nil {
		return nil, err
	}
	x, err := s.gather(ctx, a, nil, all...)
	for n := range all {
		forms[all[n].ID] = s.full(x, &all[n], "", false)
	}
	return forms, err
}

// show presents a single issue of a project.
func (s *Service) show(ctx context.Context, a access.Actor, p *project.Project, i *Issue, err error) (issueForm, error) {
	if err != nil {
		return issueForm{}, err
	}
	x, err := s.gather(ctx, a, p, *i)
	if err != nil {
		return issueForm{}, err
	}
	form := s.full(x, i, p.FullPath(), false)
	on, err := s.subscribed(ctx, a, i)
	form.Subscribed = &on
	if err != nil || i.DuplicateOfID == nil {
		return form, err
	}
	other, in, err := s.FindByID(ctx, a, *i.DuplicateOfID)
	if err != nil {
		return form, nil // what may not be read is not named
	}
	form.Links.ClosedAsDuplicateOf = new(fmt.Sprintf("%s/api/v4/projects/%d/issues/%d", s.deps.ExternalURL, in.ID, other.IID))
	return form, nil
}
