package note

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB         *postgres.DB
	Bus        *bus.Bus
	Settings   *setting.Service
	Users      *user.Service
	Labels     *label.Service
	Milestones *milestone.Service
	Issues     *issue.Service
	Clock      clock.Clock
}

// Service is the use cases of notes.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errNoNote       = fault.WithMessage(fault.NotFound, "404 Note Not Found")
	errNoDiscussion = fault.WithMessage(fault.NotFound, "404 Discussion Not Found")
	errNoReply      = fault.WithMessage(fault.Rejected, "400 Bad request - Discussion can not be replied to.")
	errMany         = invalid("base", "Maximum number of comments exceeded")
)

// Find reads a note about an issue, for an actor who reads the issue.
func (s *Service) Find(ctx context.Context, a access.Actor, at Place, id int64) (*Note, error) {
	n, err := postgres.One[Note](ctx, s.deps.DB, sqlFind, id, at.Issue.ID, a.Admin())
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && n.Internal && !readsInternal(a, at.Project)) {
		return nil, errNoNote
	} else if err != nil {
		return nil, err
	}
	if n.RefersToID != nil {
		read, err := s.deps.Issues.ReadableAmong(ctx, a, []int64{*n.RefersToID})
		if err != nil {
			return nil, err
		} else if len(read) == 0 {
			return nil, errNoNote
		}
	}
	return &n, nil
}

// Draft is what somebody wants to say.
type Draft struct {
	Body       string
	Internal   bool
	Thread     bool   // begin a discussion
	Discussion []byte // or reply to one
	CreatedAt  *time.Time
}

// Create adds a comment to an issue and runs the quick actions in it. A text that holds only quick actions creates no note.
func (s *Service) Create(ctx context.Context, by access.Actor, at Place, d Draft) (*Said, error) {
	if err := checkBody(d.Body); err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now()
	if d.CreatedAt != nil && issue.MaySetTimes(by, at.Project) {
		if d.CreatedAt.Unix() < 0 {
			return nil, invalid("created_at", "The created date provided is too far in the past.")
		}
		now = *d.CreatedAt
	}
	commands, err := s.deps.Issues.ReadCommands(ctx, by, at, d.Body, s.commands(by, at)...)
	if err != nil {
		return nil, err
	}
	var said Said
	// Order matters: lock what the commands touch, lock this issue, choose the commands that are allowed now, store the rest of the text as a note, run the
	// commands.
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := commands.LockTargets(ctx, tx); err != nil {
			return err
		}
		i, err := issue.Lock(ctx, tx, by, at.Project, at.Issue.IID)
		if err != nil {
			return err
		}
		here := Place{Project: at.Project, Issue: i}
		if err := mayComment(by, here); err != nil {
			return err
		}
		d.Body = commands.SelectAllowed(i)
		n, err := s.begin(ctx, tx, by, here, d)
		if err != nil {
			return err
		}
		only := commands.NothingElse(d.Body)
		if !only {
			if said.Note, err = s.insert(ctx, tx, by, here, n, now); err != nil {
				return err
			}
		}
		said.Commands, err = commands.Run(ctx, tx, i)
		if err == nil && only && said.Commands.Done == 0 {
			err = failed(said.Commands)
		}
		return err
	})
	return &said, err
}

// begin builds a note that is not stored yet: one that stands alone, begins a discussion or replies to one.
func (s *Service) begin(ctx context.Context, tx pgx.Tx, by access.Actor, at Place, d Draft) (*Note, error) {
	n := &Note{DiscussionID: newDiscussion(), First: true, Thread: d.Thread, Internal: d.Internal, Body: d.Body}
	if d.Discussion != nil {
		first, err := s.first(ctx, tx, by, at, d.Discussion)
		if err != nil {
			return nil, err
		} else if first.System {
			return nil, errNoReply
		}
		n = &Note{DiscussionID: first.DiscussionID, Thread: true, Internal: first.Internal, Body: d.Body}
	}
	if n.Internal && !readsInternal(by, at.Project) {
		return nil, fault.New(fault.Forbidden)
	}
	return n, nil
}

// insert stores a note about a locked issue.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, by access.Actor, at Place, n *Note, now time.Time) (*Note, error) {
	if at.Issue.NotesCount >= maxComments {
		return nil, errMany
	}
	if !n.First {
		if _, err := tx.Exec(ctx, sqlThread, n.DiscussionID); err != nil {
			return nil, err
		}
	}
	kept, err := postgres.One[Note](ctx, tx, sqlInsert, at.Issue.ID, by.ID(), n.DiscussionID, n.First, n.Thread, n.Body, n.Internal, now)
	if err != nil {
		return nil, err
	}
	if err := issue.AddToNotesCount(ctx, tx, at.Issue.ID, 1, s.deps.Clock.Now()); err != nil {
		return nil, err
	}
	return &kept, s.deps.Bus.Publish(ctx, tx, Event{
		Action: Created, By: by, At: s.deps.Clock.Now(), Project: at.Project, Issue: *at.Issue, Note: kept,
	})
}

// first is the note that a discussion about an issue begins with, for an actor who may read it.
func (s *Service) first(ctx context.Context, q postgres.Querier, a access.Actor, at Place, discussion []byte) (*Note, error) {
	n, err := postgres.One[Note](ctx, q, sqlFirst, discussion, at.Issue.ID, a.Admin())
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && n.Internal && !readsInternal(a, at.Project)) {
		return nil, errNoDiscussion
	}
	return &n, err
}

// Update changes what was said.
func (s *Service) Update(ctx context.Context, by access.Actor, at Place, id int64, body string) (*Note, error) {
	if err := checkBody(body); err != nil {
		return nil, err
	}
	var n Note
	err := s.change(ctx, by, at, id, func(tx pgx.Tx, here Place, before *Note) error {
		n = *before
		if n.Body == body {
			return nil
		}
		now := s.deps.Clock.Now()
		var err error
		if n, err = postgres.One[Note](ctx, tx, sqlUpdate, n.ID, body, now); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{
			Action: Updated, By: by, At: now, Project: at.Project, Issue: *here.Issue, Note: n, Before: before.Body,
		})
	})
	return &n, err
}

// Delete deletes a note. Replies stay.
func (s *Service) Delete(ctx context.Context, by access.Actor, at Place, id int64) error {
	return s.change(ctx, by, at, id, func(tx pgx.Tx, here Place, n *Note) error {
		now := s.deps.Clock.Now()
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, At: now, Project: at.Project, Issue: *here.Issue, Note: *n}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDelete, n.ID); err != nil {
			return err
		}
		if n.First {
			if _, err := tx.Exec(ctx, sqlNextFirst, n.DiscussionID); err != nil {
				return err
			}
		}
		return issue.AddToNotesCount(ctx, tx, n.IssueID, -1, now)
	})
}

// change locks an issue and does something to one of its notes that the actor may change.
func (s *Service) change(ctx context.Context, by access.Actor, at Place, id int64, do func(tx pgx.Tx, here Place, n *Note) error) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := issue.Lock(ctx, tx, by, at.Project, at.Issue.IID)
		if err != nil {
			return err
		}
		here := Place{Project: at.Project, Issue: i}
		n, err := postgres.One[Note](ctx, tx, sqlFind, id, i.ID, by.Admin())
		if errors.Is(err, postgres.ErrNoRows) || (err == nil && n.Internal && !readsInternal(by, at.Project)) {
			return errNoNote
		} else if err != nil {
			return err
		}
		if err := mayChange(by, here, &n); err != nil {
			return err
		}
		return do(tx, here, &n)
	})
}

// OnLabel points recorded label changes at the group label after a promotion has merged the old labels into it.
func (s *Service) OnLabel(ctx context.Context, tx pgx.Tx, e label.Event) error {
	if e.Action != label.Promoted || len(e.Merged) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, sqlRelabel, e.Merged, e.Label.ID)
	return err
}

// OnMilestone points recorded milestone changes at the group milestone after a promotion has merged the old milestones into it.
func (s *Service) OnMilestone(ctx context.Context, tx pgx.Tx, e milestone.Event) error {
	if e.Action != milestone.Promoted || len(e.Merged) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, sqlReplan, e.Merged, e.Milestone.ID)
	return err
}
