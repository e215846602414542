package note

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/emoji"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Award is an emoji that somebody gave an issue, a snippet or a note.
type Award struct {
	ID        int64
	UserID    int64
	IssueID   *int64
	SnippetID *int64
	NoteID    *int64 // two of the three are nil
	Name      string
	CreatedAt time.Time
}

// Subject is what emoji are given to: a note, or the thing itself when it is nil. Commits take none.
type Subject struct {
	Place
	Note *Note
}

// keys are the arguments of a statement that begins with the three columns that name the subject.
func (s Subject) keys(args ...any) []any {
	if s.Note != nil {
		return append([]any{(*int64)(nil), (*int64)(nil), &s.Note.ID}, args...)
	}
	k := s.key()
	return append([]any{k.issueID, k.snippetID, (*int64)(nil)}, args...)
}

func noAward(why string) error {
	return fault.WithMessage(fault.NotFound, "404 Award Emoji%s Not Found", why)
}

var (
	errNoAward = noAward("")
	errGiven   = noAward(" Name has already been taken")
	errNoEmoji = noAward(" Name is not a valid emoji name")
)

// Awards reads one page of the emoji of a subject, the oldest first.
func (s *Service) Awards(ctx context.Context, of Subject, req paging.Request) (paging.Result[Award], error) {
	l := postgres.From("award_emoji a").Columns(awardColumns)
	switch k := of.key(); {
	case of.Note != nil:
		l.Where("a.note_id = ?", of.Note.ID)
	case k.snippetID != nil:
		l.Where("a.snippet_id = ?", *k.snippetID)
	default:
		l.Where("a.issue_id = ?", k.issueID)
	}
	return paging.Fetch[Award](ctx, s.deps.DB, l.Order(postgres.Key{Expr: "a.id"}), req, nil)
}

// FindAward reads an emoji of a subject.
func (s *Service) FindAward(ctx context.Context, of Subject, id int64) (*Award, error) {
	a, err := postgres.One[Award](ctx, s.deps.DB, sqlFindAward, of.keys(id)...)
	if errors.Is(err, postgres.ErrNoRows) {
		err = errNoAward
	}
	return &a, err
}

// Give gives an emoji to a subject. What the instance noted takes none, and where the discussion is locked only who may go on with it gives some.
func (s *Service) Give(ctx context.Context, by access.Actor, to Subject, name string) (a *Award, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		a, err = s.give(ctx, tx, by, to, name)
		return err
	})
	return a, err
}

func (s *Service) give(ctx context.Context, tx pgx.Tx, by access.Actor, to Subject, name string) (*Award, error) {
	switch {
	case to.Note != nil && to.Note.System, mayComment(by, to.Place) != nil:
		return nil, errNoAward
	case !emoji.Known(name):
		return nil, errNoEmoji
	}
	now := s.deps.Clock.Now()
	a, err := postgres.One[Award](ctx, tx, sqlInsertAward, to.keys(by.ID(), emoji.Plain(name), now)...)
	if err != nil {
		return nil, awardFaults.Translate(err)
	}
	return &a, s.deps.Bus.Publish(ctx, tx, AwardEvent{By: by, At: now, To: to, Award: a})
}

// awardFaults are what giving an emoji finds when something came or went meanwhile.
var awardFaults = postgres.Faults{
	"award_emoji_issue_key": errGiven, "award_emoji_snippet_key": errGiven, "award_emoji_note_key": errGiven, "award_emoji_issue_id_fkey": errNoAward,
	"award_emoji_snippet_id_fkey": errNoAward, "award_emoji_note_id_fkey": errNoAward, "award_emoji_user_id_fkey": fault.New(fault.Unauthenticated),
}

// Take takes an emoji back. Those of others are for administrators.
func (s *Service) Take(ctx context.Context, by access.Actor, of Subject, id int64) error {
	a, err := s.FindAward(ctx, of, id)
	if err != nil {
		return err
	}
	if !by.Is(a.UserID) && !by.Admin() {
		return fault.New(fault.Unauthenticated)
	}
	_, err = s.deps.DB.Exec(ctx, sqlDeleteAward, a.ID)
	return err
}
