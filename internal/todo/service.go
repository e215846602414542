package todo

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/mention"
	"stithy/internal/note"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB       *postgres.DB
	Users    *user.Service
	Projects *project.Service
	Issues   *issue.Service
	Clock    clock.Clock

	ExternalURL string
}

// Service is the use cases of to-dos.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// reason is why a to-do for an issue is added.
type reason struct {
	issue  *issue.Issue
	noteID *int64
	by     access.Actor
	action Action
	at     time.Time
}

// add adds a to-do for each of some people who has no pending one for the issue, and reports whether it added any.
func add(ctx context.Context, tx pgx.Tx, userIDs []int64, r reason) (bool, error) {
	if len(userIDs) == 0 || !r.by.SignedIn() {
		return false, nil
	}
	tag, err := tx.Exec(ctx, sqlAdd, userIDs, r.issue.ProjectID, r.issue.ID, r.noteID, r.by.ID(), r.action, r.at)
	return tag.RowsAffected() > 0, err
}

// OnIssue adds a to-do for each new assignee. It marks as done: the actor's own to-dos for the issue, those of people who were unassigned, and, when the
// issue is closed, those of its assignees.
func (s *Service) OnIssue(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	switch e.Action {
	case issue.Created:
		return s.addForAssignees(ctx, tx, e, &e.Issue, nil)
	case issue.Cloned:
		return s.addForAssignees(ctx, tx, e, e.Other, nil)
	case issue.Deleted:
		return nil
	}
	if err := finishOwn(ctx, tx, e.By, e.Issue.ID, e.At); err != nil {
		return err
	}
	switch e.Action {
	case issue.Moved:
		_, err := tx.Exec(ctx, sqlMove, e.Issue.ID, e.Other.ID, e.Other.ProjectID)
		return err
	case issue.Updated:
		gone := without(e.Before.AssigneeIDs, e.Issue.AssigneeIDs)
		if e.Issue.Closed && !e.Before.Closed {
			gone = slices.Concat(gone, e.Issue.AssigneeIDs)
		}
		if len(gone) > 0 {
			if _, err := tx.Exec(ctx, sqlUnassigned, e.Issue.ID, gone, e.At); err != nil {
				return err
			}
		}
		return s.addForAssignees(ctx, tx, e, &e.Issue, e.Before.AssigneeIDs)
	}
	return nil
}

// addForAssignees adds a to-do for each new assignee but the actor. Assignees may read the issue: the issue room checks that.
func (s *Service) addForAssignees(ctx context.Context, tx pgx.Tx, e issue.Event, to *issue.Issue, before []int64) error {
	_, err := add(ctx, tx, without(to.AssigneeIDs, append(slices.Clone(before), e.By.ID())), reason{issue: to, by: e.By, action: Assigned, at: e.At})
	return err
}

// without is what is in a and not in b.
func without(a, b []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(a), func(id int64) bool { return slices.Contains(b, id) })
}

// finishOwn marks the actor's to-dos for an issue as done, except one that they added themselves (Marked).
func finishOwn(ctx context.Context, tx pgx.Tx, by access.Actor, issueID int64, now time.Time) error {
	if !by.SignedIn() {
		return nil
	}
	_, err := tx.Exec(ctx, sqlFinishOwn, issueID, by.ID(), now)
	return err
}

// OnNote marks the commenter's to-dos for the issue as done.
func (s *Service) OnNote(ctx context.Context, tx pgx.Tx, e note.Event) error {
	of, is := note.IssueOf(e.Of)
	if !is || e.Action != note.Created {
		return nil
	}
	return finishOwn(ctx, tx, e.By, of.Issue.ID, e.At)
}

// OnAward marks the to-dos for the issue as done of the person who reacts with an emoji.
func (s *Service) OnAward(ctx context.Context, tx pgx.Tx, e note.AwardEvent) error {
	of, is := note.IssueOf(e.To.Place)
	if !is {
		return nil
	}
	return finishOwn(ctx, tx, e.By, of.Issue.ID, e.At)
}

// OnMention adds a to-do for each person whom a text mentions.
func (s *Service) OnMention(ctx context.Context, tx pgx.Tx, e mention.Event) error {
	r := reason{issue: e.Issue, by: e.By, action: Mentioned, at: e.At}
	if e.Note != nil {
		r.noteID = &e.Note.ID
	}
	var addressed, mentioned []int64
	for _, who := range e.People {
		if who.Direct {
			addressed = append(addressed, who.ID)
		} else {
			mentioned = append(mentioned, who.ID)
		}
	}
	if _, err := add(ctx, tx, mentioned, r); err != nil {
		return err
	}
	r.action = Addressed
	_, err := add(ctx, tx, addressed, r)
	return err
}

// OnMark adds a to-do for an issue to the list of the person who commands it, or marks as done what is there.
func (s *Service) OnMark(ctx context.Context, tx pgx.Tx, e issue.MarkEvent) error {
	if e.Done {
		return s.FinishIn(ctx, tx, e.By, &e.Issue)
	}
	_, err := s.MarkIn(ctx, tx, e.By, &e.Issue)
	return err
}

// Mark adds a to-do for an issue to the actor's own list. If they have a pending one, it answers NotModified.
func (s *Service) Mark(ctx context.Context, by access.Actor, p *project.Project, iid int) (*Todo, error) {
	var id int64
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := issue.Lock(ctx, tx, by, p, iid)
		if err != nil {
			return err
		}
		marked, err := s.MarkIn(ctx, tx, by, i)
		if err == nil && !marked {
			err = fault.New(fault.NotModified)
		}
		if err == nil {
			id, err = postgres.Value[int64](ctx, tx, sqlPending, i.ID, by.ID())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Find(ctx, by, id)
}

// MarkIn is Mark in a transaction that holds the issue, which the actor may read. It reports whether it was added.
func (s *Service) MarkIn(ctx context.Context, tx pgx.Tx, by access.Actor, i *issue.Issue) (bool, error) {
	return add(ctx, tx, []int64{by.ID()}, reason{issue: i, by: by, action: Marked, at: s.deps.Clock.Now()})
}

// FinishIn marks all of an actor's to-dos for an issue as done, those included that they added themselves, in a transaction.
func (s *Service) FinishIn(ctx context.Context, tx pgx.Tx, by access.Actor, i *issue.Issue) error {
	_, err := tx.Exec(ctx, sqlFinish, i.ID, by.ID(), s.deps.Clock.Now())
	return err
}

// Done marks a to-do of an actor as done. One that is done stays so.
func (s *Service) Done(ctx context.Context, by access.Actor, id int64) (*Todo, error) {
	if _, err := s.deps.DB.Exec(ctx, sqlDone, id, by.ID(), s.deps.Clock.Now()); err != nil {
		return nil, err
	}
	return s.Find(ctx, by, id)
}

// doneBatch is how many to-dos one statement marks as done.
const doneBatch = 1_000

// DoneAll marks all to-dos of an actor as done.
func (s *Service) DoneAll(ctx context.Context, by access.Actor) error {
	return s.deps.DB.InBatches(ctx, doneBatch, sqlDoneAll, by.ID(), s.deps.Clock.Now())
}
