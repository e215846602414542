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

// Place is a thing that carries notes, as an actor who may read it stands there. A note is about exactly one: an issue, a snippet of a project or a
// commit. What differs between them is said by their places; everything else is written once, for all.
type Place interface {
	// In is the project of the thing, and Target what an actor is judged by there.
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
	// comments counts what people said, as far as maxComments; counted tells a held thing that there are more of them, or fewer.
	comments(ctx context.Context, tx pgx.Tx) (int, error)
	counted(ctx context.Context, tx pgx.Tx, more int, now time.Time) error
	// read finds what a text says, and which commands that the thing knows.
	read(ctx context.Context, s *Service, by access.Actor, text string) (speech, error)
}

// kind is what all things of a kind have alike: a name, and the abilities that its notes ask for.
type kind struct {
	name     string // on the wire
	see      access.Ability
	read     access.Ability
	comment  access.Ability
	edit     access.Ability // what oneself said
	admin    access.Ability // what others said
	award    access.Ability // "" where no emoji are given
	date     access.Ability // to say when something was said
	internal access.Ability // for what is said among few; "" where nothing is
	threads  bool           // a reply to what stands alone makes a discussion of the two
}

// key are the columns of a note that say what it is about. Those of other kinds are null.
type key struct {
	issueID   *int64
	snippetID *int64
	projectID *int64 // of a commit
	sha       []byte
}

// with are the arguments of a statement that begins with the four columns.
func (k key) with(args ...any) []any {
	return append([]any{k.issueID, k.snippetID, k.projectID, k.sha}, args...)
}

// speech is something that somebody wants to say at a place.
type speech interface {
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

func (at AtIssue) comments(context.Context, pgx.Tx) (int, error) { return at.Issue.NotesCount, nil }

func (at AtIssue) counted(ctx context.Context, tx pgx.Tx, more int, now time.Time) error {
	return issue.AddToNotesCount(ctx, tx, at.Issue.ID, more, now)
}

func (at AtIssue) read(ctx context.Context, s *Service, by access.Actor, text string) (speech, error) {
	commands, err := s.deps.Issues.ReadCommands(ctx, by, at.Placed, text, s.commands(by, at)...)
	return &issueSpeech{Commands: commands, at: at, by: by}, err
}

// IssueOf is the issue that a note or an emoji at a place is about, if it is about one.
func IssueOf(at Place) (issue.Placed, bool) {
	i, is := at.(AtIssue)
	return i.Placed, is
}

// plain is what the places have alike at which nothing is locked, counted or done by command.
type plain struct{ Project *project.Project }

// In is the project of the thing.
func (at plain) In() *project.Project { return at.Project }

// Target is the project.
func (at plain) Target() access.Target { return at.Project.Target() }

func (at plain) number() *int                                                       { return nil }
func (at plain) closedTo(access.Actor) bool                                         { return false }
func (at plain) hide(context.Context, *Service, access.Actor, *postgres.List) error { return nil }
func (at plain) counted(context.Context, pgx.Tx, int, time.Time) error              { return nil }

// countNotes counts as far as it matters.
func countNotes(ctx context.Context, tx pgx.Tx, l *postgres.List) (int, error) {
	sql, args := l.CountSQL(maxComments)
	return postgres.Value[int](ctx, tx, sql, args...)
}

// AtSnippet is a snippet of a project.
type AtSnippet struct {
	plain
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
	return AtSnippet{at.plain, held}, err
}

func (at AtSnippet) comments(ctx context.Context, tx pgx.Tx) (int, error) {
	return countNotes(ctx, tx, at.notes())
}

func (at AtSnippet) read(_ context.Context, _ *Service, by access.Actor, text string) (speech, error) {
	return words{at, by, text}, nil
}

// AtCommit is a commit.
type AtCommit struct {
	plain
	Commit *gitstore.Commit
	sha    []byte
}

func newAtCommit(p *project.Project, c *gitstore.Commit) (AtCommit, error) {
	sha, err := hex.DecodeString(string(c.ID))
	return AtCommit{plain{p}, c, sha}, err
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

// hold lets one after the other say something about the commit, which has no row to lock.
func (at AtCommit) hold(ctx context.Context, tx pgx.Tx, _ access.Actor) (Place, error) {
	_, err := tx.Exec(ctx, sqlHoldCommit, at.Project.ID, at.Commit.ID)
	return at, err
}

func (at AtCommit) comments(ctx context.Context, tx pgx.Tx) (int, error) {
	return countNotes(ctx, tx, at.notes())
}

func (at AtCommit) read(_ context.Context, _ *Service, by access.Actor, text string) (speech, error) {
	return words{at, by, text}, nil
}

// words are what is said where no commands are known.
type words struct {
	at   Place
	by   access.Actor
	text string
}

func (w words) hold(ctx context.Context, tx pgx.Tx) (Place, string, error) {
	here, err := w.at.hold(ctx, tx, w.by)
	return here, w.text, err
}

func (w words) nothingElse(string) bool { return false }

func (w words) run(context.Context, pgx.Tx) (out issue.Outcome, err error) { return out, nil }
