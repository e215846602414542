package notification

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/mention"
	"stithy/internal/note"
	"stithy/internal/pipeline"
	"stithy/internal/project"
)

// happening is something that people are to be mailed about.
type happening struct {
	ID         int64
	Event      string
	ProjectID  int64
	IssueID    *int64
	NoteID     *int64
	PipelineID *int64
	ByID       *int64
	People     []int64 // whom it concerns by name
	Everyone   bool    // or those alone
	Detail     *string
	HappenedAt time.Time
	Reached    int64
}

// maxDetail is how much is kept of what nothing else will know later.
const maxDetail = 1_000

// record writes down what happened, and leaves a job behind that finds the people. On an instance without mail nobody is told anything.
func (s *Service) record(ctx context.Context, tx pgx.Tx, h happening) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	if h.People == nil {
		h.People = []int64{}
	}
	err := tx.QueryRow(ctx, sqlRecord, h.Event, h.ProjectID, h.IssueID, h.NoteID, h.PipelineID, h.ByID, h.People, h.Everyone, h.Detail, h.HappenedAt).Scan(&h.ID)
	if err != nil {
		return err
	}
	args := SpreadArgs{EventID: h.ID}
	if by := h.cause(); by != nil {
		args.ByID = *by
	}
	return s.deps.Queue.Insert(ctx, tx, args)
}

// OnIssue records that an issue is new, or was closed, reopened or given to others.
func (s *Service) OnIssue(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	about := func(event Event, in *project.Project, i *issue.Issue, people []int64) error {
		h := happening{Event: event.Name(), ProjectID: in.ID, IssueID: &i.ID, People: people, Everyone: true, HappenedAt: e.At}
		if e.By.SignedIn() {
			h.ByID = new(e.By.ID())
		}
		return s.record(ctx, tx, h)
	}
	switch e.Action {
	case issue.Created:
		return about(NewIssue, e.Project, &e.Issue, nil)
	case issue.Cloned:
		return about(NewIssue, e.In, e.Other, nil)
	case issue.Updated:
		if moved := exchanged(e.Before.AssigneeIDs, e.Issue.AssigneeIDs); len(moved) > 0 {
			if err := about(ReassignIssue, e.Project, &e.Issue, moved); err != nil {
				return err
			}
		}
		if e.Issue.Closed && !e.Before.Closed {
			return about(CloseIssue, e.Project, &e.Issue, nil)
		}
		if !e.Issue.Closed && e.Before.Closed {
			return about(ReopenIssue, e.Project, &e.Issue, nil)
		}
	}
	return nil
}

// exchanged are those who are in one of two lists alone.
func exchanged(a, b []int64) (all []int64) {
	for _, id := range slices.Concat(a, b) {
		if slices.Contains(a, id) != slices.Contains(b, id) {
			all = append(all, id)
		}
	}
	return all
}

// OnNote records a new comment on an issue. Comments on other things have no subscribers yet.
func (s *Service) OnNote(ctx context.Context, tx pgx.Tx, e note.Event) error {
	of, is := note.IssueOf(e.Of)
	if !is || e.Action != note.Created || e.Note.System {
		return nil
	}
	return s.record(ctx, tx, happening{
		Event: NewNote.Name(), ProjectID: of.Project.ID, IssueID: &of.Issue.ID, NoteID: &e.Note.ID, ByID: e.Note.AuthorID, Everyone: true, HappenedAt: e.At,
	})
}

// OnMention adds those whom a new text names to what was recorded of it. It runs after OnIssue and OnNote. Of a text that was there before, those
// whom it names now are told alone.
func (s *Service) OnMention(ctx context.Context, tx pgx.Tx, e mention.Event) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	h := happening{Event: NewIssue.Name(), ProjectID: e.Project.ID, IssueID: &e.Issue.ID, HappenedAt: e.At}
	if e.Note != nil {
		h.Event, h.NoteID = NewNote.Name(), &e.Note.ID
	}
	if e.By.SignedIn() {
		h.ByID = new(e.By.ID())
	}
	for _, who := range e.People {
		h.People = append(h.People, who.ID)
	}
	added, err := tx.Exec(ctx, sqlAddPeople, h.Event, h.IssueID, h.NoteID, h.People)
	if err != nil || added.RowsAffected() > 0 {
		return err
	}
	return s.record(ctx, tx, h)
}

// OnPipeline records that a pipeline failed or succeeded. Who started it is told. A child is part of its parent, which tells of it.
func (s *Service) OnPipeline(ctx context.Context, tx pgx.Tx, e pipeline.PipelineChanged) error {
	event := FailedPipeline
	switch p := e.Pipeline; {
	case p.UserID == nil || p.Child:
		return nil
	case p.Status == pipeline.Success:
		event = SuccessPipeline
	case p.Status != pipeline.Failed:
		return nil
	}
	p := e.Pipeline
	return s.record(ctx, tx, happening{
		Event: event.Name(), ProjectID: p.ProjectID, PipelineID: &p.ID, People: []int64{*p.UserID}, HappenedAt: s.deps.Clock.Now(),
	})
}

// OnProject records that a project was moved to another group. From where is not told: whoever reads it now may not have been meant to know that.
func (s *Service) OnProject(ctx context.Context, tx pgx.Tx, e project.Event) error {
	if e.Action != project.Moved {
		return nil
	}
	h := happening{Event: MovedProject.Name(), ProjectID: e.Project.ID, Everyone: true, HappenedAt: s.deps.Clock.Now()}
	if e.By.SignedIn() {
		h.ByID = new(e.By.ID())
	}
	return s.record(ctx, tx, h)
}
