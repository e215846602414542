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
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/snippet"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Settings     *setting.Service
	Users        *user.Service
	Projects     *project.Service
	Repositories *repository.Service
	Labels       *label.Service
	Milestones   *milestone.Service
	Snippets     *snippet.Service
	Issues       *issue.Service
	Clock        clock.Clock
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
	errOpen         = invalid("confidential", "can not be set for this resource")
)

// Find reads a note about a thing, for an actor who reads the thing.
func (s *Service) Find(ctx context.Context, a access.Actor, at Place, id int64) (*Note, error) {
	n, err := findNote(ctx, s.deps.DB, a, at, id)
	if err != nil {
		return nil, err
	}
	if read, err := s.readsNamed(ctx, a, n); err != nil {
		return nil, err
	} else if !read {
		return nil, errNoNote
	}
	return n, nil
}

// findNote is Find, whatever the note names.
func findNote(ctx context.Context, q postgres.Querier, a access.Actor, at Place, id int64) (*Note, error) {
	n, err := postgres.One[Note](ctx, q, sqlFind, at.key().with(id, a.Admin())...)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && n.Internal && !readsInternal(a, at)) {
		return nil, errNoNote
	}
	return &n, err
}

// Draft is what somebody wants to say.
type Draft struct {
	Body       string
	Internal   bool
	Thread     bool   // begin a discussion
	Discussion []byte // or reply to one
	CreatedAt  *time.Time
	Close      *bool // the issue that it is about, or reopen it: together with the comment, or neither

	position *Position // that was found in what it is about
}

// Create adds a comment on a thing and runs the quick actions in it. A text that holds only quick actions creates no note.
func (s *Service) Create(ctx context.Context, by access.Actor, at Place, d Draft) (*Said, error) {
	if err := checkBody(d.Body); err != nil {
		return nil, err
	}
	if d.Internal && at.kind().internal == "" {
		return nil, errOpen
	}
	now := s.deps.Clock.Now()
	if d.CreatedAt != nil && access.Holds(by, at.kind().date, at.Target()) {
		if d.CreatedAt.Unix() < 0 {
			return nil, invalid("created_at", "The created date provided is too far in the past.")
		}
		now = *d.CreatedAt
	}
	text, err := at.read(ctx, s, by, d.Body)
	if err != nil {
		return nil, err
	}
	var said Said
	// Order matters: lock what the commands touch, lock the thing, choose the commands that are allowed now, store the rest of the text as a note, run the
	// commands.
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		here, rest, err := text.hold(ctx, tx)
		if err != nil {
			return err
		}
		if err := mayComment(by, here); err != nil {
			return err
		}
		d.Body = rest
		n, err := s.begin(ctx, tx, by, here, d)
		if err != nil {
			return err
		}
		only := text.nothingElse(rest)
		if !only {
			if said.Note, err = s.insert(ctx, tx, by, here, n, now); err != nil {
				return err
			}
		}
		said.Commands, err = text.run(ctx, tx)
		if err == nil && only && said.Commands.Done == 0 {
			err = failed(said.Commands)
		}
		if i, is := here.(AtIssue); err == nil && is && d.Close != nil {
			err = s.deps.Issues.SetClosed(ctx, tx, by, i.Project, i.Issue.IID, *d.Close)
		}
		return err
	})
	return &said, err
}

// begin builds a note that is not stored yet: one that stands alone, begins a discussion or replies to one. A reply is about the same as what it answers.
func (s *Service) begin(ctx context.Context, tx pgx.Tx, by access.Actor, at Place, d Draft) (*Note, error) {
	n := &Note{DiscussionID: newDiscussion(), First: true, Thread: d.Thread, Internal: d.Internal, Body: d.Body, Position: d.position}
	if d.Discussion != nil {
		first, err := s.first(ctx, tx, by, at, d.Discussion)
		if err != nil {
			return nil, err
		} else if first.System || (!first.Thread && !at.kind().threads) {
			return nil, errNoReply
		}
		n = &Note{DiscussionID: first.DiscussionID, Thread: true, Internal: first.Internal, Body: d.Body, Position: first.Position}
	}
	if n.Internal && !readsInternal(by, at) {
		return nil, fault.New(fault.Forbidden)
	}
	return n, nil
}

// insert stores a note about a thing that is held.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, by access.Actor, at Place, n *Note, now time.Time) (*Note, error) {
	if count, err := at.comments(ctx, tx, n.Internal); err != nil {
		return nil, err
	} else if count >= maxComments {
		return nil, errMany
	}
	if !n.First {
		if _, err := tx.Exec(ctx, sqlThread, n.DiscussionID); err != nil {
			return nil, err
		}
	}
	kept, err := postgres.One[Note](ctx, tx, sqlInsert,
		at.key().with(by.ID(), n.DiscussionID, n.First, n.Thread, n.Body, n.Internal, n.Position, now)...)
	if err != nil {
		return nil, noteFaults.Translate(err)
	}
	if !kept.Internal { // nobody else learns that there is one
		if err := at.counted(ctx, tx, 1, s.deps.Clock.Now()); err != nil {
			return nil, err
		}
	}
	return &kept, s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, At: s.deps.Clock.Now(), Of: at, Note: kept})
}

// noteFaults are what saying something finds when the project went meanwhile. Other things are held.
var noteFaults = postgres.Faults{"notes_commit_project_id_fkey": fault.NotFoundf("Project")}

// first is the note that a discussion about a thing begins with, for an actor who may read it.
func (s *Service) first(ctx context.Context, q postgres.Querier, a access.Actor, at Place, discussion []byte) (*Note, error) {
	n, err := postgres.One[Note](ctx, q, sqlFirst, at.key().with(discussion, a.Admin())...)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && n.Internal && !readsInternal(a, at)) {
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
		if err := here.replace(ctx, tx, &n, &body); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, At: now, Of: here, Note: n, Before: before.Body})
	})
	return &n, err
}

// Delete deletes a note. Replies stay.
func (s *Service) Delete(ctx context.Context, by access.Actor, at Place, id int64) error {
	return s.change(ctx, by, at, id, func(tx pgx.Tx, here Place, n *Note) error {
		now := s.deps.Clock.Now()
		if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, At: now, Of: here, Note: *n}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDelete, n.ID); err != nil {
			return err
		}
		if err := here.replace(ctx, tx, n, nil); err != nil {
			return err
		}
		if n.First {
			if _, err := tx.Exec(ctx, sqlNextFirst, n.DiscussionID); err != nil {
				return err
			}
		}
		if n.Internal {
			return nil
		}
		return here.counted(ctx, tx, -1, now)
	})
}

// change holds a thing and does something to one of its notes that the actor may change.
func (s *Service) change(ctx context.Context, by access.Actor, at Place, id int64, do func(tx pgx.Tx, here Place, n *Note) error) error {
	if _, err := s.Find(ctx, by, at, id); err != nil {
		return err // to who may not read it, it is not there
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		here, err := at.hold(ctx, tx, by)
		if err != nil {
			return err
		}
		n, err := findNote(ctx, tx, by, here, id)
		if err != nil {
			return err
		}
		if err := mayChange(by, here, n); err != nil {
			return err
		}
		return do(tx, here, n)
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

// OnProjectRemoving removes the notes that name commits of a project that goes: nobody could tell any more who may read them.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	_, err := tx.Exec(ctx, sqlForgetCommits, e.ProjectID)
	return err
}
