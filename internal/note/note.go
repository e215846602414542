// Package note owns what is said about issues, snippets of projects and commits: comments and the discussions that they make, and what people say with
// one emoji; of issues also the notes that the instance adds when one changes, and which states, labels and milestones it had when.
//
// It does not own these things, nor who may read them (issue, snippet, repository). What it notes of a change it notes in the transaction of the change.
//
// Tables: notes, award_emoji, resource_events, issue_commits; commit_comments, to which the release before this one writes.
package note

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Note is one thing that was said, or noted.
type Note struct {
	ID           int64
	AuthorID     *int64
	DiscussionID []byte
	First        bool   // of its discussion
	Thread       bool   // it belongs to a discussion, or it stands alone
	Body         string // in lists a part of it
	Bytes        int    // of the whole body
	System       bool
	Internal     bool // for reporters alone
	Position     *Position
	RefersToID   *int64 // of a system note: another issue that it names
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Cut reports whether a list left out a part of the body.
func (n *Note) Cut() bool { return len(n.Body) < n.Bytes }

// Discussion is the id of the discussion as it is written.
func (n *Note) Discussion() string { return hex.EncodeToString(n.DiscussionID) }

// newDiscussion is an id that no other discussion has.
func newDiscussion() []byte {
	id := make([]byte, discussionBytes)
	_, _ = rand.Read(id)
	return id
}

// parseDiscussion reads an id as it is written.
func parseDiscussion(text string) ([]byte, bool) {
	id, err := hex.DecodeString(text)
	return id, err == nil && len(id) == discussionBytes
}

const (
	discussionBytes = 20
	maxBody         = 1 << 20 // bytes
	maxCharacters   = 1_000_000
	maxComments     = 5_000 // of one thing
	maxPath         = 4_096 // bytes, of a file that something is said about
)

// readsInternal reports whether an actor reads internal notes at a place.
func readsInternal(a access.Actor, at Place) bool {
	needs := at.kind().internal
	return needs != "" && access.Holds(a, needs, at.Target())
}

// mayComment refuses who may read a thing and may not say anything about it.
func mayComment(a access.Actor, at Place) error {
	if !access.Holds(a, at.kind().comment, at.Target()) || at.closedTo(a) {
		return fault.New(fault.Forbidden)
	}
	return nil
}

// mayChange refuses who may read a note and may not change it.
func mayChange(a access.Actor, at Place, n *Note) error {
	own := n.AuthorID != nil && a.Is(*n.AuthorID)
	switch {
	case n.System:
		return fault.New(fault.Forbidden)
	case access.Holds(a, at.kind().admin, at.Target()):
		return nil
	case own:
		return mayComment(a, at)
	}
	return fault.New(fault.Forbidden)
}

// invalid is why a note is not kept, in the words that clients know.
func invalid(attribute string, why ...string) error {
	return fault.WithMessage(fault.Rejected, `400 Bad request - Note {:%s=>["%s"]}`, attribute, strings.Join(why, `", "`))
}

// flaw says what is wrong with what somebody wants to say, "" for nothing.
func flaw(body string) string {
	switch {
	case len(body) > maxBody || utf8.RuneCountInString(body) > maxCharacters:
		return "is too long (maximum is 1000000 characters)"
	case strings.TrimSpace(body) == "":
		return "can't be blank"
	}
	return ""
}

func checkBody(body string) error {
	if why := flaw(body); why != "" {
		return invalid("note", why)
	}
	return nil
}
