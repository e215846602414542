package note

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/snippet"
)

// Place is a thing that carries notes, loaded with the role of an actor who may read it. A note is about exactly one: an issue, a snippet of a
// project or a commit. What differs between them is in the implementations of Place; everything else is written once, for all.
type Place interface {
	// In is the project of the thing, and Target what abilities are checked against there.
	In() *project.Project
	Target() access.Target

	kind() kind
	key() key
	// id is that of the thing, and number the one in its project, as far as it has them.
	id() *int64
	number() *int

	// notes are those about the thing, and hide leaves out of them what names something that an actor may not read.
	notes() *postgres.List
	hide(ctx context.Context, s *Service, a access.Actor, l *postgres.List) error
	// closedTo reports whether an actor who may comment in the project is kept out of this discussion.
	closedTo(a access.Actor) bool

	// hold keeps the thing as it is until the end of a transaction, and reads it once more.
	hold(ctx context.Context, tx pgx.Tx, by access.Actor) (Place, error)
	// comments counts what people said, up to maxComments: what everybody reads, or what is internal. counted adds to the count that a held thing keeps
	// of what everybody reads, if it keeps one.
	comments(ctx context.Context, tx pgx.Tx, internal bool) (int, error)
	counted(ctx context.Context, tx pgx.Tx, more int, now time.Time) error
	// replace gives what the release before this one kept of a note another text, and with nil removes it.
	replace(ctx context.Context, tx pgx.Tx, n *Note, body *string) error
	// read parses a comment and finds the commands in it that the thing has.
	read(ctx context.Context, s *Service, by access.Actor, text string) (parsedText, error)
}

// kind is what all places of a kind have in common: a name, and the abilities that their notes ask for.
type kind struct {
	name     string // on the wire
	see      access.Ability
	read     access.Ability
	comment  access.Ability
	edit     access.Ability // one's own notes
	admin    access.Ability // notes of others
	award    access.Ability // "" where no emoji are given
	date     access.Ability // to choose when a note was made
	internal access.Ability // for internal notes; "" where there are none
	threads  bool           // a reply to what stands alone makes a discussion of the two
}

// key are the columns of a note that say what it is about. Those of other kinds are null.
type key struct {
	issueID   *int64
	snippetID *int64
	projectID *int64 // of a commit
	sha       []byte
}

// with returns the arguments of a statement whose first four parameters are these columns.
func (k key) with(args ...any) []any {
	return append([]any{k.issueID, k.snippetID, k.projectID, k.sha}, args...)
}

// parsedText is a comment that is about to be made at a place, with the commands in it.
type parsedText interface {
	// hold holds the place and what the commands touch, and returns the text without the commands that are allowed now.
	hold(ctx context.Context, tx pgx.Tx) (here Place, rest string, err error)
	// nothingElse reports whether there is nothing but commands.
	nothingElse(rest string) bool
	// run does the commands.
	run(ctx context.Context, tx pgx.Tx) (issue.Outcome, error)
}

// AtIssue is an issue.
type AtIssue struct{ issue.Placed }

// In is the project of the issue.
func (at AtIssue) In() *project.Project { return at.Project }

func (AtIssue) kind() kind {
	return kind{
		name: "Issue", see: access.ReadIssues, read: access.ReadNotes, comment: access.CreateNotes, edit: access.EditNotes, admin: access.AdminNotes,
		award: access.AwardEmoji, date: access.DeleteIssues, internal: access.ReadInternalNotes, threads: true,
	}
}

func (at AtIssue) key() key     { return key{issueID: &at.Issue.ID} }
func (at AtIssue) id() *int64   { return &at.Issue.ID }
func (at AtIssue) number() *int { return &at.Issue.IID }
func (at AtIssue) notes() *postgres.List {
	return postgres.From("notes n").Where("n.issue_id = ?", at.Issue.ID)
}

// closedTo those who are no members, once the discussion is locked.
func (at AtIssue) closedTo(a access.Actor) bool {
	return or(at.Issue.DiscussionLocked, false) && !a.Admin() && at.Project.Role < access.Guest
}

func (at AtIssue) hold(ctx context.Context, tx pgx.Tx, by access.Actor) (Place, error) {
	return at.held(ctx, tx, by)
}

func (at AtIssue) held(ctx context.Context, tx pgx.Tx, by access.Actor) (AtIssue, error) {
	i, err := issue.Lock(ctx, tx, by, at.Project, at.Issue.IID)
	return AtIssue{issue.Placed{Project: at.Project, Issue: i}}, err
}

func (at AtIssue) comments(ctx context.Context, tx pgx.Tx, internal bool) (int, error) {
	if !internal {
		return at.Issue.NotesCount, nil
	}
	return countNotes(ctx, tx, at.notes().Where("n.internal"))
}

func (at AtIssue) replace(context.Context, pgx.Tx, *Note, *string) error { return nil }

func (at AtIssue) counted(ctx context.Context, tx pgx.Tx, more int, now time.Time) error {
	return issue.AddToNotesCount(ctx, tx, at.Issue.ID, more, now)
}

func (at AtIssue) read(ctx context.Context, s *Service, by access.Actor, text string) (parsedText, error) {
	commands, err := s.deps.Issues.ReadCommands(ctx, by, at.Placed, text, s.commands(by, at)...)
	return &issueText{Commands: commands, at: at, by: by}, err
}

// IssueOf is the issue that a note or an emoji at a place is about, if it is about one.
func IssueOf(at Place) (issue.Placed, bool) {
	i, is := at.(AtIssue)
	return i.Placed, is
}

// basicPlace is what snippets and commits have in common: no discussion is locked, no count kept and no command known.
type basicPlace struct{ Project *project.Project }

// In is the project of the thing.
func (at basicPlace) In() *project.Project { return at.Project }

// Target is the project.
func (at basicPlace) Target() access.Target { return at.Project.Target() }

func (at basicPlace) number() *int                                                       { return nil }
func (at basicPlace) closedTo(access.Actor) bool                                         { return false }
func (at basicPlace) hide(context.Context, *Service, access.Actor, *postgres.List) error { return nil }
func (at basicPlace) counted(context.Context, pgx.Tx, int, time.Time) error              { return nil }
func (at basicPlace) replace(context.Context, pgx.Tx, *Note, *string) error              { return nil }

// countNotes counts up to maxComments, beyond which nobody asks.
func countNotes(ctx context.Context, tx pgx.Tx, l *postgres.List) (int, error) {
	sql, args := l.CountSQL(maxComments)
	return postgres.Value[int](ctx, tx, sql, args...)
}

// AtSnippet is a snippet of a project.
type AtSnippet struct {
	basicPlace
	Snippet *snippet.Snippet
}

func (AtSnippet) kind() kind {
	return kind{
		name: "Snippet", see: access.ReadSnippets, read: access.ReadSnippetNotes, comment: access.CommentSnippets, edit: access.EditSnippetNotes,
		admin: access.AdminSnippetNotes, award: access.AwardSnippets, date: access.DeleteProject,
	}
}

func (at AtSnippet) key() key   { return key{snippetID: &at.Snippet.ID} }
func (at AtSnippet) id() *int64 { return &at.Snippet.ID }

func (at AtSnippet) notes() *postgres.List {
	return postgres.From("notes n").Where("n.snippet_id = ?", at.Snippet.ID)
}

func (at AtSnippet) hold(ctx context.Context, tx pgx.Tx, by access.Actor) (Place, error) {
	held, err := snippet.Lock(ctx, tx, by, at.Project, at.Snippet.ID)
	return AtSnippet{at.basicPlace, held}, err
}

func (at AtSnippet) comments(ctx context.Context, tx pgx.Tx, _ bool) (int, error) {
	return countNotes(ctx, tx, at.notes())
}

func (at AtSnippet) read(_ context.Context, _ *Service, by access.Actor, text string) (parsedText, error) {
	return plainText{at, by, text}, nil
}

// AtCommit is a commit.
type AtCommit struct {
	basicPlace
	Commit *gitstore.Commit
	sha    []byte
}

func newAtCommit(p *project.Project, c *gitstore.Commit) (AtCommit, error) {
	sha, err := hex.DecodeString(string(c.ID))
	return AtCommit{basicPlace{p}, c, sha}, err
}

func (AtCommit) kind() kind {
	return kind{
		name: "Commit", see: access.ReadCode, read: access.ReadCodeNotes, comment: access.CommentCode, edit: access.EditCodeNotes,
		admin: access.AdminCodeNotes, date: access.DeleteProject,
	}
}

func (at AtCommit) key() key   { return key{projectID: &at.Project.ID, sha: at.sha} }
func (at AtCommit) id() *int64 { return nil }

func (at AtCommit) notes() *postgres.List {
	return postgres.From("notes n").Where("n.commit_project_id = ? and n.commit_sha = ?", at.Project.ID, at.sha)
}

// hold takes an advisory lock, for a commit has no row to lock: comments on it are made one after the other.
func (at AtCommit) hold(ctx context.Context, tx pgx.Tx, _ access.Actor) (Place, error) {
	_, err := tx.Exec(ctx, sqlHoldCommit, at.Project.ID, at.Commit.ID)
	return at, err
}

func (at AtCommit) comments(ctx context.Context, tx pgx.Tx, _ bool) (int, error) {
	return countNotes(ctx, tx, at.notes())
}

func (at AtCommit) replace(ctx context.Context, tx pgx.Tx, n *Note, body *string) (err error) {
	switch {
	case !n.First: // a reply, which that release does not know
	case body == nil:
		_, err = tx.Exec(ctx, sqlForgetComment, at.Project.ID, string(at.Commit.ID), n.DiscussionID)
	default:
		_, err = tx.Exec(ctx, sqlReplaceComment, at.Project.ID, string(at.Commit.ID), n.DiscussionID, *body)
	}
	return err
}

func (at AtCommit) read(_ context.Context, _ *Service, by access.Actor, text string) (parsedText, error) {
	return plainText{at, by, text}, nil
}

// plainText is the parsedText of places that have no commands.
type plainText struct {
	at   Place
	by   access.Actor
	text string
}

func (w plainText) hold(ctx context.Context, tx pgx.Tx) (Place, string, error) {
	here, err := w.at.hold(ctx, tx, w.by)
	return here, w.text, err
}

func (w plainText) nothingElse(string) bool { return false }

func (w plainText) run(context.Context, pgx.Tx) (out issue.Outcome, err error) { return out, nil }
