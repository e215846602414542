package notification

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/grant"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
	"stithy/internal/subscription"
	"stithy/internal/user"
)

// thread is what mails belong together about.
type thread string

const (
	ofIssue    thread = "issue"
	ofPipeline thread = "pipeline"
	ofProject  thread = "project"

	// To one person each, about themselves or what they look after. Nobody subscribes to these.
	ofProjectAccess thread = "project_access"
	ofGroupAccess   thread = "group_access"
	ofAccount       thread = "account"
)

// declines reports whether somebody can decline the mails of a thread by a link in them.
func (t thread) declines() bool {
	return t == ofIssue || t == ofPipeline || t == ofProject || t == ofAlerts
}

// subject is what somebody declines who wants no more mails of a thread.
func (t thread) subject() subscription.Kind {
	switch t {
	case ofIssue:
		return subscription.Issue
	case ofPipeline:
		return subscription.Pipelines
	case ofAlerts:
		return subscription.Alerts
	default:
		return subscription.Project
	}
}

// declinable is the id of that subject.
func (t thread) declinable(id, projectID int64) int64 {
	if t == ofIssue {
		return id
	}
	return projectID
}

func (h *happening) thread() (thread, int64) {
	switch {
	case h.IssueID != nil:
		return ofIssue, *h.IssueID
	case h.PipelineID != nil:
		return ofPipeline, *h.PipelineID
	default:
		return ofProject, h.ProjectID
	}
}

// cause is who is answerable for how many mails follow: the author, who started a pipeline, who wrote an issue that is due. Nil: the instance.
func (h *happening) cause() *int64 {
	if h.PipelineID != nil && len(h.People) == 1 {
		return &h.People[0]
	}
	return h.ByID
}

// names reports whether a person is named by what happened, or given an issue by it. Nobody is named by a pipeline.
func (h *happening) names(userID int64) bool {
	return h.IssueID != nil && slices.Contains(h.People, userID)
}

const (
	spreadPage = 500         // people who are asked at a time
	window     = time.Minute // in which what happens to an issue goes into one mail

	// mostCaused is how many mails one person causes within an hour, to whomever: a fifth of the 100,000 that an instance is built to send.
	mostCaused = 20_000
)

// candidate is somebody who may want to be told.
type candidate struct {
	UserID       int64
	Participates bool
}

// instance reads what a job is about. Whom the job tells of it is decided by their own rights.
var instance = access.Actor{Person: &access.Person{Admin: true}}

// Spread finds the people who are to be mailed about something, in parts. Each part is a transaction that also notes how far it came: the job may be
// run any number of times, and nobody is found twice.
func (s *Service) Spread(ctx context.Context, args SpreadArgs) error {
	return s.inParts(ctx, args.EventID, s.spreadPart)
}

// inParts does one part after the other of what happened, until there is none.
func (s *Service) inParts(ctx context.Context, eventID int64, part func(context.Context, *happening) error) error {
	for {
		h, err := postgres.One[happening](ctx, s.deps.DB, sqlHappening, eventID)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := part(ctx, &h); err != nil {
			return err
		}
	}
}

func (s *Service) spreadPart(ctx context.Context, h *happening) error {
	found, err := s.candidates(ctx, h)
	if err != nil {
		return err
	}
	wanting, err := s.wanting(ctx, h, found)
	if err != nil {
		return err
	}
	next := int64(0)
	if len(found) == spreadPage && h.Everyone {
		next = found[len(found)-1].UserID
	}
	return s.notePart(ctx, h, next, func(tx pgx.Tx) error { return s.queue(ctx, tx, h, wanting) })
}

// notePart leaves the mails of a part and notes how far it came: behind whom the next part begins, 0 where this was the last.
func (s *Service) notePart(ctx context.Context, h *happening, next int64, queue func(tx pgx.Tx) error) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		reached, err := postgres.Value[int64](ctx, tx, sqlHold, h.ID)
		if errors.Is(err, postgres.ErrNoRows) || (err == nil && reached != h.Reached) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		if err := queue(tx); err != nil {
			return err
		}
		if next == 0 {
			_, err = tx.Exec(ctx, sqlSpread, h.ID)
		} else {
			_, err = tx.Exec(ctx, sqlReached, h.ID, next)
		}
		return err
	})
}

// queue leaves a mail for each of some people, and a job for each. What is many goes after what is few.
func (s *Service) queue(ctx context.Context, tx pgx.Tx, h *happening, all []candidate) error {
	of, id := h.thread()
	var options []jobqueue.Option
	if of == ofIssue {
		options = append(options, jobqueue.At(s.deps.Clock.Now().Add(window)))
	}
	if h.Reached > 0 || len(all) == spreadPage {
		options = append(options, jobqueue.Bulk())
	}
	return s.put(ctx, tx, of, id, h, all, nil, options...)
}

// put leaves mails of a thread, in the order of the ids of their readers, as far as whoever caused them may cause more. Each may be about a subject.
func (s *Service) put(
	ctx context.Context, tx pgx.Tx, of thread, id int64, h *happening, all []candidate, subjects []int64, options ...jobqueue.Option,
) error {
	all, err := s.allowed(ctx, tx, h, all)
	if err != nil || len(all) == 0 {
		return err
	}
	now := s.deps.Clock.Now()
	by := h.ByID
	if h.Event == IssueDue.Name() {
		by = nil // nobody did anything
	}
	ids, parts, named := make([]int64, len(all)), make([]bool, len(all)), make([]bool, len(all))
	for n, c := range all {
		ids[n], parts[n], named[n] = c.UserID, c.Participates, h.names(c.UserID)
	}
	_, err = tx.Exec(ctx, sqlQueue, ids, parts, named, of, id, h.ProjectID, h.Event, h.NoteID, by, h.Detail, h.HappenedAt, now, subjects)
	if err != nil {
		return err
	}
	for _, to := range slices.Compact(ids) {
		if err := s.deps.Queue.Insert(ctx, tx, MailArgs{UserID: to, Thread: of, ThreadID: id}, append(options, jobqueue.Unique())...); err != nil {
			return err
		}
	}
	return nil
}

// allowed are those of some people who are still mailed because of somebody within the hour, in their order. When there are too many, those go first
// whom it concerns by name, then those who take part.
func (s *Service) allowed(ctx context.Context, tx pgx.Tx, h *happening, all []candidate) ([]candidate, error) {
	by := h.cause()
	if by == nil || len(all) == 0 {
		return all, nil
	}
	caused, err := postgres.Value[int64](ctx, tx, sqlCaused, *by, s.deps.Clock.Now().UTC().Truncate(time.Hour), len(all))
	if err != nil {
		return nil, err
	}
	dropped := int(min(max(caused-mostCaused, 0), int64(len(all))))
	if dropped == 0 {
		return all, nil
	}
	s.dropped.Add(int64(dropped))
	s.deps.Log.WarnContext(ctx, "mails were dropped: one account caused too many within an hour", "by_id", *by, "project_id", h.ProjectID, "dropped", dropped)
	rank := func(c candidate) int {
		switch {
		case h.names(c.UserID):
			return 0
		case c.Participates:
			return 1
		default:
			return 2
		}
	}
	all = slices.Clone(all)
	sorting.Stably(all, func(a, b candidate) int { return rank(a) - rank(b) })
	all = all[:len(all)-dropped]
	sorting.By(all, func(a, b candidate) int { return cmp.Compare(a.UserID, b.UserID) })
	return all, nil
}

// Dropped is how many mails this process dropped because one account caused too many.
func (s *Service) Dropped() int64 { return s.dropped.Load() }

// candidates are the next people to ask, in the order of their ids.
func (s *Service) candidates(ctx context.Context, h *happening) ([]candidate, error) {
	if !h.Everyone {
		var all []candidate
		for _, id := range slices.Compact(slices.Sorted(slices.Values(h.People))) {
			all = append(all, candidate{UserID: id, Participates: h.PipelineID != nil})
		}
		return all, nil
	}
	if h.IssueID == nil {
		return postgres.All[candidate](ctx, s.deps.DB, sqlWatchers, h.ProjectID, h.Reached, spreadPage, s.today())
	}
	return postgres.All[candidate](ctx, s.deps.DB, sqlCandidates, h.ProjectID, h.Reached, spreadPage, s.today(), *h.IssueID, h.People, h.Event == NewIssue.Name())
}

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// wanting are those of some people who want to be told and may know. What holds now may not hold when a mail is sent: all of it is asked again then.
func (s *Service) wanting(ctx context.Context, h *happening, found []candidate) ([]candidate, error) {
	ids := make([]int64, 0, len(found))
	for _, c := range found {
		if h.ByID == nil || c.UserID != *h.ByID || h.Event == IssueDue.Name() {
			ids = append(ids, c.UserID)
		}
	}
	readers, err := s.readers(ctx, h, ids)
	if err != nil || len(readers) == 0 {
		return nil, err
	}
	resolved, err := s.Resolve(ctx, h.ProjectID, readers)
	if err != nil {
		return nil, err
	}
	of, id := h.thread()
	declined, err := subscription.Declined(ctx, s.deps.DB, of.subject(), of.declinable(id, h.ProjectID), readers)
	if err != nil {
		return nil, err
	}
	event, known := eventNamed(h.Event)
	if !known {
		return nil, nil // of a release after this one
	}
	if event, err = s.fixed(ctx, h, event); err != nil {
		return nil, err
	}
	h.Event = event.Name()
	var all []candidate
	for _, c := range found {
		r, some := resolved[c.UserID]
		named := h.names(c.UserID)
		if some && Wants(r.Level, r.Flags, event, c.Participates, named) && (named || !slices.Contains(declined, c.UserID)) {
			all = append(all, c)
		}
	}
	return all, nil
}

// fixed is the event of a pipeline that succeeded, where the one before it on the same branch failed.
func (s *Service) fixed(ctx context.Context, h *happening, event Event) (Event, error) {
	if event != SuccessPipeline || h.PipelineID == nil {
		return event, nil
	}
	before, err := postgres.Values[string](ctx, s.deps.DB, sqlStatusBefore, *h.PipelineID)
	if err == nil && len(before) == 1 && before[0] == "failed" {
		event = FixedPipeline
	}
	return event, err
}

// readers are those of some people who can be mailed and may read what it is about now, in the order of their ids.
func (s *Service) readers(ctx context.Context, h *happening, ids []int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if silent, err := postgres.Value[bool](ctx, s.deps.DB, sqlSilentProject, h.ProjectID); err != nil || silent {
		return nil, err
	}
	may, p, err := s.readable(ctx, h)
	if may == nil || err != nil {
		return nil, err
	}
	accounts, err := postgres.All[user.AccountState](ctx, s.deps.DB, sqlMailable, ids)
	if err != nil {
		return nil, err
	}
	roles, err := grant.RolesOnProject(ctx, s.deps.DB, ids, p.ID, s.today())
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, u := range accounts {
		there := *p
		there.Role = roles[u.ID]
		if may(access.Actor{Person: u.Person()}, &there) {
			all = append(all, u.ID)
		}
	}
	return all, nil
}

// readable says who may read what happened, by the rules of the rooms that it happened in. It is nil if that is gone.
func (s *Service) readable(ctx context.Context, h *happening) (func(access.Actor, *project.Project) bool, *project.Project, error) {
	if h.IssueID == nil {
		p, err := s.deps.Projects.Find(ctx, instance, h.ProjectID)
		if fault.Is(err, fault.NotFound) {
			return nil, nil, nil
		}
		return func(a access.Actor, p *project.Project) bool {
			return access.Sees(a, p.Target()) && (h.PipelineID == nil || access.Holds(a, access.ReadPipelines, p.Target()))
		}, p, err
	}
	i, p, err := s.deps.Issues.FindByID(ctx, instance, *h.IssueID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil, nil
	}
	return func(a access.Actor, p *project.Project) bool { return issue.RightsOf(a, p, i).Read }, p, err
}
