package event

import (
	"context"
	"encoding/hex"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/member"
	"stithy/internal/milestone"
	"stithy/internal/note"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/wiki"
)

// OnPushed writes an event for each branch and tag that somebody moved, and one for all that moved alike where these are many.
func (s *Service) OnPushed(ctx context.Context, tx pgx.Tx, e repository.Pushed) error {
	if !e.By.SignedIn() {
		return nil
	}
	var many []repository.Move // in the order in which they were met
	alike := map[repository.Move]int{}
	for _, u := range e.Updates {
		m, ok := repository.MoveOf(u)
		if !ok {
			continue
		}
		brought, single := e.Summaries[u.Name]
		if !single {
			if alike[m]++; alike[m] == 1 {
				many = append(many, m)
			}
			continue
		}
		row := s.push(e, m)
		row.CommitCount, row.Title = brought.Commits, brought.Title
		ref := gitstore.Ref{Name: u.Name}
		if row.Ref = ref.Branch(); m.Tag {
			row.Ref = ref.TagName()
		}
		var err error
		if row.CommitFrom, err = bytesOf(u.Old); err != nil {
			return err
		}
		if row.CommitTo, err = bytesOf(u.New); err != nil {
			return err
		}
		if err := s.insert(ctx, tx, row); err != nil {
			return err
		}
	}
	for _, m := range many {
		row := s.push(e, m)
		row.RefCount = new(alike[m])
		if err := s.insert(ctx, tx, row); err != nil {
			return err
		}
	}
	return nil
}

// push is what all events of a push have alike.
func (s *Service) push(e repository.Pushed, m repository.Move) Event {
	row := Event{AuthorID: e.By.ID(), ProjectID: e.Project.ID, Action: Pushed, PushAction: "pushed", RefType: "branch"}
	switch {
	case !m.Old:
		row.PushAction = "created"
	case !m.New:
		row.PushAction = "removed"
	}
	if m.Tag {
		row.RefType = "tag"
	}
	return row
}

// bytesOf are those of an id, none of the zero id.
func bytesOf(id gitstore.OID) ([]byte, error) {
	if id == gitstore.Zero {
		return nil, nil
	}
	return hex.DecodeString(string(id))
}

// OnProject writes that somebody made a project.
func (s *Service) OnProject(ctx context.Context, tx pgx.Tx, e project.Event) error {
	if e.Action != project.Created {
		return nil
	}
	return s.made(ctx, tx, e.Project, e.Project.ImportStatus != "none")
}

// OnForked writes that somebody made a fork.
func (s *Service) OnForked(ctx context.Context, tx pgx.Tx, e project.ForkMade) error {
	return s.made(ctx, tx, e.Fork, false)
}

func (s *Service) made(ctx context.Context, tx pgx.Tx, p *project.Project, imported bool) error {
	if p.CreatorID == nil {
		return nil
	}
	return s.insert(ctx, tx, Event{AuthorID: *p.CreatorID, ProjectID: p.ID, Action: Created, Imported: imported})
}

// OnMember writes that somebody became a member of a project, or is none any more. Whoever it was done by, it is their event.
func (s *Service) OnMember(ctx context.Context, tx pgx.Tx, e member.Event) error {
	row := Event{AuthorID: e.UserID, ProjectID: e.Source.ID}
	switch {
	case e.UserID == 0 || e.Source.Kind != bus.OfProject:
		return nil
	case e.Action == member.Created:
		row.Action = Joined
	case e.Action == member.Destroyed && e.Expired:
		row.Action = Expired
	case e.Action == member.Destroyed:
		row.Action = Left
	default:
		return nil
	}
	return s.insert(ctx, tx, row)
}

// OnIssue writes that somebody opened, closed or reopened an issue. One that moves is closed, and opened where it goes.
func (s *Service) OnIssue(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	act := func(a Action, p *project.Project, i *issue.Issue) error {
		return s.about(ctx, tx, e.By, Event{ProjectID: p.ID, Action: a, TargetType: OfIssue, TargetID: &i.ID})
	}
	switch {
	case e.Action == issue.Created:
		return act(Created, e.Project, &e.Issue)
	case e.Action == issue.Cloned:
		return act(Created, e.In, e.Other)
	case e.Action == issue.Moved:
		if err := act(Created, e.In, e.Other); err != nil || e.Before.Closed {
			return err
		}
		return act(Closed, e.Project, &e.Issue)
	case e.Action == issue.Updated && e.Issue.Closed && !e.Before.Closed:
		return act(Closed, e.Project, &e.Issue)
	case e.Action == issue.Updated && !e.Issue.Closed && e.Before.Closed:
		return act(Reopened, e.Project, &e.Issue)
	}
	return nil
}

// about writes an event of somebody who is signed in.
func (s *Service) about(ctx context.Context, tx pgx.Tx, by access.Actor, row Event) error {
	if !by.SignedIn() {
		return nil
	}
	row.AuthorID = by.ID()
	return s.insert(ctx, tx, row)
}

// OnNote writes that somebody commented on something.
func (s *Service) OnNote(ctx context.Context, tx pgx.Tx, e note.Event) error {
	if e.Action != note.Created || e.Note.System {
		return nil
	}
	kind := ofNote
	switch {
	case e.Note.Thread && e.Note.Position != nil:
		kind = ofDiffNote
	case e.Note.Thread:
		kind = ofDiscussionNote
	}
	return s.about(ctx, tx, e.By, Event{ProjectID: e.Of.In().ID, Action: Commented, TargetType: kind, TargetID: &e.Note.ID})
}

var ofMilestones = map[milestone.Action]Action{
	milestone.Created: Created, milestone.WasClosed: Closed, milestone.WasReopened: Reopened, milestone.Deleted: Destroyed,
}

// OnMilestone writes what somebody did with a milestone of a project. The title of one that goes is kept: nothing else will know it.
func (s *Service) OnMilestone(ctx context.Context, tx pgx.Tx, e milestone.Event) error {
	action, told := ofMilestones[e.Action]
	if !told || e.Milestone.ProjectID == nil {
		return nil
	}
	row := Event{ProjectID: *e.Milestone.ProjectID, Action: action, TargetType: OfMilestone, TargetID: &e.Milestone.ID}
	if action == Destroyed {
		row.Title = e.Milestone.Title
	}
	return s.about(ctx, tx, e.By, row)
}

var ofPages = map[wiki.Action]Action{wiki.Created: Created, wiki.Updated: Updated, wiki.Deleted: Destroyed}

// OnWiki writes what somebody did with a page of the wiki of a project.
func (s *Service) OnWiki(ctx context.Context, tx pgx.Tx, e wiki.Event) error {
	action, told := ofPages[e.Action]
	if !told || e.In.Kind != bus.OfProject {
		return nil
	}
	return s.about(ctx, tx, e.By, Event{
		ProjectID: e.In.ID, Action: action, TargetType: OfWikiPage, Ref: e.Slug, Title: e.Title, Format: string(e.Format),
	})
}
