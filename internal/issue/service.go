package issue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/subscription"
	"stithy/internal/template"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Settings    *setting.Service
	Users       *user.Service
	Projects    *project.Service
	Owners      *owner.Service
	Labels      *label.Service
	Milestones  *milestone.Service
	Templates   *template.Service
	Clock       clock.Clock
	ExternalURL string
}

// Service is the use cases of issues.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errMissing   = fault.WithMessage(fault.NotFound, "404 Not found")
	errLabels    = fault.WithMessage(fault.Conflict, "A label of this issue was merged or deleted meanwhile. Please try again.")
	errDuplicate = fault.WithMessage(fault.Conflict, "Duplicated issue")
)

// faults are what a write finds when something came or went meanwhile.
var faults = postgres.Faults{
	"issues_iid_key": errDuplicate, "issues_project_id_fkey": fault.NotFoundf("Project"), "issue_counters_project_id_fkey": fault.NotFoundf("Project"),
	"issues_author_id_fkey": fault.New(fault.Unauthenticated), "issues_milestone_id_fkey": fault.NotFoundf("Milestone"),
	"issue_assignees_user_id_fkey": fault.NotFoundf("User"), "issue_labels_label_id_fkey": fault.NotFoundf("Label"),
}

// Find reads an issue of a project, for an actor who may.
func (s *Service) Find(ctx context.Context, a access.Actor, p *project.Project, iid int) (*Issue, error) {
	i, err := found(postgres.One[Issue](ctx, s.deps.DB, sqlFind, p.ID, iid))
	if err == nil && !RightsOf(a, p, i).Read {
		err = errMissing
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// FindByID reads an issue wherever it is, with its project, for an actor who may.
func (s *Service) FindByID(ctx context.Context, a access.Actor, id int64) (*Issue, *project.Project, error) {
	i, err := found(postgres.One[Issue](ctx, s.deps.DB, sqlFindByID, id))
	if err != nil {
		return nil, nil, err
	}
	p, err := s.deps.Projects.Find(ctx, a, i.ProjectID)
	if fault.Is(err, fault.NotFound) || (err == nil && !RightsOf(a, p, i).Read) {
		err = errMissing
	}
	if err != nil {
		return nil, nil, err
	}
	return i, p, nil
}

// ReadableAmong are those of some issues that an actor may read, by their ids.
func (s *Service) ReadableAmong(ctx context.Context, a access.Actor, ids []int64) ([]int64, error) {
	all, err := postgres.All[Issue](ctx, s.deps.DB, sqlAmong, ids)
	if err != nil {
		return nil, err
	}
	in := make([]int64, len(all))
	for n := range all {
		in[n] = all[n].ProjectID
	}
	projects, err := s.deps.Projects.Among(ctx, a, in)
	read := []int64{}
	for n := range all {
		if p := projects[all[n].ProjectID]; p != nil && RightsOf(a, p, &all[n]).Read {
			read = append(read, all[n].ID)
		}
	}
	return read, err
}

// Number names an issue by its number in a project, which is loaded with the role of an actor.
type Number struct {
	Project *project.Project
	IID     int
}

// Referred are the issues of some numbers, without their descriptions, each in the place of its number: nil where the actor may read none.
func (s *Service) Referred(ctx context.Context, a access.Actor, numbers []Number) ([]*Issue, error) {
	return Referred(ctx, s.deps.DB, a, numbers)
}

// Referred is Service.Referred on a given connection, which may be a transaction.
func Referred(ctx context.Context, q postgres.Querier, a access.Actor, numbers []Number) ([]*Issue, error) {
	projects, iids := make([]int64, len(numbers)), make([]int, len(numbers))
	for n, k := range numbers {
		projects[n], iids[n] = k.Project.ID, k.IID
	}
	rows, err := postgres.All[Issue](ctx, q, sqlNumbered, projects, iids)
	issues := make([]*Issue, len(numbers))
	for n, k := range numbers {
		at := slices.IndexFunc(rows, func(i Issue) bool { return i.ProjectID == k.Project.ID && i.IID == k.IID })
		if at >= 0 && RightsOf(a, k.Project, &rows[at]).Read {
			issues[n] = &rows[at]
		}
	}
	return issues, err
}

func found(i Issue, err error) (*Issue, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &i, err
}

// Draft is what an issue is made of.
type Draft struct {
	Title            string
	Description      *string
	Type             Type
	Confidential     bool
	DiscussionLocked *bool
	AssigneeIDs      []int64
	Labels           []string
	MilestoneID      *int64
	DueDate          *time.Time
	Weight           *int
	IID              int        // for owners; 0 is the next one
	CreatedAt        *time.Time // for owners
	Severity         Severity   // of an incident; unknown when empty
	UserAgent        string     // of the client that it is made with
	Outcome          *Outcome   // is told what came of the commands in the description that do more than set its fields; may be nil

	// With is done in the transaction that makes the issue, for what stands and falls with it.
	With func(ctx context.Context, tx pgx.Tx, i *Issue) error
}

// Create makes an issue in a project. What the actor may not say about it is left out.
func (s *Service) Create(ctx context.Context, by access.Actor, p *project.Project, d Draft) (*Issue, error) {
	now := s.deps.Clock.Now()
	i := Issue{
		ProjectID: p.ID, AuthorID: new(by.ID()), Title: d.Title, Description: d.Description, Type: s.typeFor(by, p, d.Type), Severity: cmp.Or(d.Severity, Unknown),
		Confidential: d.Confidential, CreatedAt: now, UpdatedAt: now,
	}
	member := by.Admin() || p.Role >= access.Guest
	if member {
		i.DiscussionLocked, i.DueDate = d.DiscussionLocked, d.DueDate
		if s.enterprise() {
			i.Weight = d.Weight
		}
	} else {
		d.Labels, d.AssigneeIDs, d.MilestoneID = nil, nil, nil
	}
	if maySetTimes(by, p) {
		i.IID = d.IID
		if d.CreatedAt != nil {
			i.CreatedAt, i.UpdatedAt = *d.CreatedAt, *d.CreatedAt
		}
	}
	err := s.beginDescription(ctx, by, p, &i)
	if err != nil {
		return nil, err
	}
	if err := i.check(); err != nil {
		return nil, err
	}
	if i.AssigneeIDs, err = s.assignable(ctx, p, d.AssigneeIDs); err != nil {
		return nil, err
	}
	commands, err := s.readDescription(ctx, by, p, &i)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		labels, err := s.findOrCreateLabels(ctx, tx, by, p, d.Labels)
		if err != nil {
			return err
		}
		i.LabelIDs = labels
		if i.MilestoneID, err = s.milestone(ctx, tx, p, d.MilestoneID); err != nil {
			return err
		}
		if err := commands.applyToNew(ctx, tx, &i); err != nil {
			return err
		}
		if err := s.insert(ctx, tx, &i); err != nil {
			return err
		}
		if err := keepAgent(ctx, tx, by, &i, d.UserAgent); err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, At: now, Project: p, Issue: i}); err != nil {
			return err
		}
		if d.With != nil {
			if err := d.With(ctx, tx, &i); err != nil {
				return err
			}
		}
		if d.Outcome != nil {
			*d.Outcome = Outcome{}
		}
		return commands.finish(ctx, tx, &i, d.Outcome)
	})
	return &i, err
}

// maxUserAgent is how many characters are kept of what a client says of itself.
const maxUserAgent = 1000

// keepAgent notes which client made an issue, and from where.
func keepAgent(ctx context.Context, tx pgx.Tx, by access.Actor, i *Issue, agent string) error {
	if agent == "" {
		return nil
	}
	agent = strings.ToValidUTF8(strings.ReplaceAll(agent, "\x00", ""), "")
	if runes := []rune(agent); len(runes) > maxUserAgent {
		agent = string(runes[:maxUserAgent])
	}
	_, err := tx.Exec(ctx, sqlKeepAgent, i.ID, by.ID(), agent, by.Address.String())
	return err
}

// Agent is the client that an issue was made with, and its address.
type Agent struct{ UserAgent, IPAddress string }

// Agent reads which client made an issue. It is for administrators: they look for spam.
func (s *Service) Agent(ctx context.Context, id int64) (Agent, error) {
	a, err := postgres.One[Agent](ctx, s.deps.DB, sqlAgent, id)
	if errors.Is(err, postgres.ErrNoRows) {
		err = fault.NotFoundf("User Agent Detail")
	}
	return a, err
}

// beginDescription gives an issue without a description the one that its project has for those.
func (s *Service) beginDescription(ctx context.Context, by access.Actor, p *project.Project, i *Issue) error {
	if i.Description != nil && *i.Description != "" {
		return nil
	}
	text, err := s.deps.Templates.Default(ctx, by, p)
	if text != "" {
		i.Description = &text
	}
	return err
}

// insert writes a new issue with the number that it has, or the next one, and subscribes its author.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, i *Issue) (err error) {
	if err := owner.Hold(ctx, tx, bus.Entity{Kind: bus.OfProject, ID: i.ProjectID}); err != nil {
		return err
	}
	if i.IID > 0 {
		_, err = tx.Exec(ctx, sqlAtLeast, i.ProjectID, i.IID)
	} else {
		i.IID, err = postgres.Value[int](ctx, tx, sqlNext, i.ProjectID)
	}
	if err != nil {
		return faults.Translate(err)
	}
	i.ID, err = postgres.Value[int64](ctx, tx, sqlInsert, i.ProjectID, i.IID, i.AuthorID, i.Title, i.Description, i.Type, i.Severity, i.Confidential,
		i.DiscussionLocked, i.MilestoneID, i.DueDate, i.Weight, i.HealthStatus, i.TimeEstimate, i.TimeSpent, i.Tasks, i.TasksDone, i.Upvotes, i.Downvotes,
		i.CreatedAt)
	if err != nil {
		return faults.Translate(err)
	}
	if err := saveIDs(ctx, tx, i.ID, nil, i.AssigneeIDs, sqlAssign, sqlUnassign); err != nil {
		return err
	}
	if err := saveLabels(ctx, tx, i, nil); err != nil {
		return err
	}
	if i.AuthorID != nil {
		_, err = subscription.Set(ctx, tx, subscription.Issue, i.ID, *i.AuthorID, i.CreatedAt)
	}
	return err
}

// saveIDs writes the difference between two sets of ids that belong to an issue: its assignees or its labels.
func saveIDs(ctx context.Context, tx pgx.Tx, id int64, before, after []int64, add, remove string) error {
	if gone := without(before, after); len(gone) > 0 {
		if _, err := tx.Exec(ctx, remove, id, gone); err != nil {
			return err
		}
	}
	if come := without(after, before); len(come) > 0 {
		if _, err := tx.Exec(ctx, add, id, come); err != nil {
			return faults.Translate(err)
		}
	}
	return nil
}

// saveLabels holds the labels that an issue gets or loses before it touches anything that hangs on them: who merges labels into one does the same, so
// that neither waits for the other with something that the other needs.
func saveLabels(ctx context.Context, tx pgx.Tx, i *Issue, before []int64) error {
	touched := slices.Concat(without(before, i.LabelIDs), without(i.LabelIDs, before))
	if len(touched) == 0 {
		return nil
	}
	held, err := postgres.Values[int64](ctx, tx, sqlHoldLabels, touched)
	if err != nil {
		return err
	}
	if len(held) < len(touched) {
		return errLabels
	}
	return saveIDs(ctx, tx, i.ID, before, i.LabelIDs, sqlLabel, sqlUnlabel)
}

// without is what is in a and not in b.
func without(a, b []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(a), func(id int64) bool { return slices.Contains(b, id) })
}

// maySetTimes reports whether an actor may set the times of issues of a project, and the number of a new one. Otherwise the instance does.
func maySetTimes(a access.Actor, p *project.Project) bool {
	return access.Holds(a, access.DeleteIssues, p.Target())
}

func (s *Service) enterprise() bool { return s.deps.Settings.Instance().Enterprise() }

// typeFor is the type that an issue of an actor has when they ask for one.
func (s *Service) typeFor(by access.Actor, p *project.Project, t Type) Type {
	switch {
	case t == Task, t == Incident && access.Holds(by, access.PlanIssues, p.Target()), t == TestCase && s.deps.Settings.Instance().Tier == setting.Ultimate:
		return t
	}
	return Plain
}

// assignable are those of some people to whom an issue of a project can be assigned: they are active and may read it.
func (s *Service) assignable(ctx context.Context, p *project.Project, ids []int64) ([]int64, error) {
	most := 1
	if s.enterprise() {
		most = maxAssignees
	}
	all := []int64{}
	for n, id := range ids {
		if len(all) == most || n == maxAssignees {
			break
		}
		if slices.Contains(all, id) {
			continue
		}
		if may, err := s.mayHave(ctx, p, id); err != nil {
			return nil, err
		} else if may {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}

// mayHave reports whether an issue of a project can be assigned to a person.
func (s *Service) mayHave(ctx context.Context, p *project.Project, id int64) (bool, error) {
	u, err := s.deps.Users.Find(ctx, id)
	if fault.Is(err, fault.NotFound) || (err == nil && u.State != user.Active) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	them := access.Actor{Person: u.Person()}
	seen, err := s.deps.Projects.Find(ctx, them, p.ID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && access.Holds(them, access.ReadIssues, seen.Target()), err
}

// findLabels returns the ids of the labels that a project has or inherits by some names. Names without a label are left out.
func (s *Service) findLabels(ctx context.Context, tx pgx.Tx, p *project.Project, names []string) ([]int64, error) {
	return s.ensureLabels(ctx, tx, access.Actor{}, p, names, false)
}

// findOrCreateLabels is findLabels, and creates the missing labels if the actor may manage those of the project.
func (s *Service) findOrCreateLabels(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, names []string) ([]int64, error) {
	return s.ensureLabels(ctx, tx, by, p, names, access.Holds(by, access.AdminProjectLabels, p.Target()))
}

func (s *Service) ensureLabels(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, names []string, create bool) ([]int64, error) {
	if len(names) > maxLabels {
		return nil, fault.Field("labels", "are too many (maximum is %d)", maxLabels)
	}
	found, err := s.deps.Labels.Ensure(ctx, tx, by, owner.OfProject(p), names, create)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(found))
	for n := range found {
		ids[n] = found[n].ID
	}
	slices.Sort(ids)
	return ids, nil
}

// milestone is the one with an id that a project has or inherits, or none.
func (s *Service) milestone(ctx context.Context, tx pgx.Tx, p *project.Project, id *int64) (*int64, error) {
	if id == nil || *id == 0 {
		return nil, nil
	}
	m, err := s.deps.Milestones.FindFor(ctx, tx, p.ID, *id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &m.ID, nil
}

// Lock reads an issue of a project again, which nobody else changes from now on, for an actor who may still read it.
func Lock(ctx context.Context, tx pgx.Tx, a access.Actor, p *project.Project, iid int) (*Issue, error) {
	// It is read after it is held: whoever waits for the row sees the assignees as they were before.
	if _, err := postgres.Value[int64](ctx, tx, sqlHold, p.ID, iid); errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	} else if err != nil {
		return nil, err
	}
	i, err := found(postgres.One[Issue](ctx, tx, sqlFind, p.ID, iid))
	if err == nil && !RightsOf(a, p, i).Read {
		err = errMissing
	}
	return i, err
}

// Delete removes an issue.
func (s *Service) Delete(ctx context.Context, by access.Actor, p *project.Project, iid int) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := Lock(ctx, tx, by, p, iid)
		if err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, At: s.deps.Clock.Now(), Project: p, Issue: *i}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlDelete, i.ID)
		return err
	})
}

// Subscribe lets a person hear of what happens to an issue, or no longer. What is so already is not modified.
func (s *Service) Subscribe(ctx context.Context, by access.Actor, p *project.Project, iid int, on bool) (*Issue, error) {
	var i *Issue
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if i, err = Lock(ctx, tx, by, p, iid); err != nil { // deleting an issue deletes its subscriptions with it
			return err
		}
		return s.subscribe(ctx, tx, by, i, on)
	})
	return i, err
}

func (s *Service) subscribe(ctx context.Context, tx pgx.Tx, by access.Actor, i *Issue, on bool) (err error) {
	var changed bool
	if on {
		changed, err = subscription.Set(ctx, tx, subscription.Issue, i.ID, by.ID(), s.deps.Clock.Now())
	} else {
		changed, err = subscription.Unset(ctx, tx, subscription.Issue, i.ID, by.ID(), s.deps.Clock.Now())
	}
	if err == nil && !changed {
		err = fault.New(fault.NotModified)
	}
	return err
}

func (s *Service) subscribed(ctx context.Context, a access.Actor, i *Issue) (bool, error) {
	if !a.SignedIn() {
		return false, nil
	}
	return postgres.Value[bool](ctx, s.deps.DB, sqlSubscribed, i.ID, a.ID())
}

// AddToNotesCount changes the number of notes that everybody reads, and the time of the last update.
func AddToNotesCount(ctx context.Context, tx pgx.Tx, id int64, notes int, now time.Time) error {
	_, err := tx.Exec(ctx, sqlCount, id, notes, now)
	return err
}

// OnLabel gives issues the group label after a promotion has merged the old labels into it.
func (s *Service) OnLabel(ctx context.Context, tx pgx.Tx, e label.Event) error {
	if e.Action != label.Promoted || len(e.Merged) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, sqlRelabel, e.Merged, e.Label.ID)
	return err
}

// OnMilestone gives issues the group milestone after a promotion has merged the old milestones into it.
func (s *Service) OnMilestone(ctx context.Context, tx pgx.Tx, e milestone.Event) error {
	if e.Action != milestone.Promoted || len(e.Merged) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, sqlReplan, e.Merged, e.Milestone.ID)
	return err
}
