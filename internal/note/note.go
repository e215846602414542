// Package note owns what is said about issues: comments and the discussions that they make, the notes that the instance adds when an issue changes,
// what people say with one emoji, and which states, labels and milestones an issue had when.
//
// It does not own the issues, nor who may read them (issue). What it notes of a change it notes in the transaction of the change.
//
// Tables: notes, award_emoji, resource_events.
package note

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// Note is one thing that was said, or noted.
type Note struct {
	ID           int64
	IssueID      int64
	AuthorID     *int64
	DiscussionID []byte
	First        bool   // of its discussion
	Thread       bool   // it belongs to a discussion, or it stands alone
	Body         string // in lists a part of it
	Bytes        int    // of the whole body
	System       bool
	Internal     bool   // for reporters alone
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
	maxComments     = 5_000 // of an issue
)

// Place is an issue in its project, as somebody stands there.
type Place = issue.Placed

// readsInternal reports whether an actor reads internal notes of a project.
func readsInternal(a access.Actor, p *project.Project) bool {
	return access.Holds(a, access.ReadInternalNotes, p.Target())
}

// mayComment refuses who may read an issue and may not say anything about it: it is locked, and they are no members of the project.
func mayComment(a access.Actor, at Place) error {
	locked := at.Issue.DiscussionLocked != nil && *at.Issue.DiscussionLocked
	if !access.Holds(a, access.CreateNotes, at.Target()) || (locked && !a.Admin() && at.Project.Role < access.Guest) {
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
	case access.Holds(a, access.AdminNotes, at.Target()):
		return nil
	case own:
		return mayComment(a, at)
	}
	return fault.New(fault.Forbidden)
}

// invalid is why a note is not kept, in the words that clients know.
func invalid(attribute, why string) error {
	return fault.WithMessage(fault.Rejected, `400 Bad request - Note {:%s=>["%s"]}`, attribute, why)
}

// checkBody says what is wrong with what somebody wants to say.
func checkBody(body string) error {
	switch {
	case len(body) > maxBody || utf8.RuneCountInString(body) > maxCharacters:
		return invalid("note", "is too long (maximum is 1000000 characters)")
	case strings.TrimSpace(body) == "":
		return invalid("note", "can't be blank")
	}
	return nil
}
