package note

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
)

// NoteCommit notes at an issue that the message of a commit names it: once, however often the commit comes along.
func (s *Service) NoteCommit(ctx context.Context, tx pgx.Tx, by access.Actor, at issue.Placed, c issue.Commit, now time.Time) error {
	kept, err := tx.Exec(ctx, sqlKeepCommit, at.Issue.ID, c.Project.ID, c.SHA, now, at.Project.ID)
	if err != nil || kept.RowsAffected() == 0 {
		return err
	}
	_, err = tx.Exec(ctx, sqlInsertCommitNote, at.Issue.ID, c.Project.ID, c.SHA, actor(by), newDiscussion(), c.Reference(at.Project), now)
	return err
}

// BeginClosing notes that a commit is about to close an issue, and reports whether it is the first time. An issue that was reopened since then is not
// closed by the same commit again.
func (s *Service) BeginClosing(ctx context.Context, tx pgx.Tx, at issue.Placed, c issue.Commit, now time.Time) (first bool, err error) {
	kept, err := tx.Exec(ctx, sqlObeyCommit, at.Issue.ID, c.Project.ID, c.SHA, now)
	return kept.RowsAffected() > 0, err
}

// noteClosing keeps that a commit closed an issue, after BeginClosing.
func (s *Service) noteClosing(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	_, err := tx.Exec(ctx, sqlInsertClosing, e.Issue.ID, e.Commit.Project.ID, e.Commit.SHA, actor(e.By), e.At)
	return err
}

// closing is a change of state that a commit made.
type closing struct {
	EventID   int64
	ProjectID int64
	SHA       string
}

// fillCommits adds which commits closed the issue, as far as the reader may read their code.
func (s *Service) fillCommits(ctx context.Context, a access.Actor, at AtIssue, all []Moment) error {
	index := map[int64]int{}
	var events []int64
	for n, m := range all {
		if m.Change != nil && m.Change.Kind == State && m.Change.Action == closed {
			index[m.Change.ID] = n
			events = append(events, m.Change.ID)
		}
	}
	if len(events) == 0 {
		return nil
	}
	closings, err := postgres.All[closing](ctx, s.deps.DB, sqlClosings, events)
	if err != nil || len(closings) == 0 {
		return err
	}
	in := make([]int64, len(closings))
	for n := range closings {
		in[n] = closings[n].ProjectID
	}
	projects, err := s.deps.Projects.Among(ctx, a, in)
	for _, c := range closings {
		if p := projects[c.ProjectID]; p != nil && access.Holds(a, access.ReadCode, p.Target()) {
			all[index[c.EventID]].Via = "commit " + issue.Commit{Project: p, SHA: c.SHA}.Reference(at.Project)
		}
	}
	return err
}
