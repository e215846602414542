// Package event owns activity events: what people did in projects, for others to follow. It listens to the bus, and no room knows it. A row is
// written in the transaction of what happened, so that neither exists without the other, and is never changed afterwards.
//
// It does not own what events are about, nor who may read that: rights are asked for when events are read, of what is there then.
//
// Table: events, one partition a month.
package event

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Action is what somebody did.
type Action string

const (
	Created   Action = "created"
	Updated   Action = "updated"
	Closed    Action = "closed"
	Reopened  Action = "reopened"
	Pushed    Action = "pushed"
	Commented Action = "commented"
	Merged    Action = "merged"
	Joined    Action = "joined"
	Left      Action = "left"
	Destroyed Action = "destroyed"
	Expired   Action = "expired"
	Approved  Action = "approved"
)

// What events are about, as they name it.
const (
	OfIssue          = "Issue"
	OfMilestone      = "Milestone"
	ofNote           = "Note"
	ofDiscussionNote = "DiscussionNote"
	ofDiffNote       = "DiffNote"
	OfWikiPage       = "WikiPage::Meta"
)

// targets are what an event may be asked to be about, and what it then names. Of some things there are no events.
var targets = map[string][]string{
	"issue": {OfIssue, "WorkItem"}, "milestone": {OfMilestone}, "note": {ofNote, ofDiscussionNote, ofDiffNote}, "wiki": {OfWikiPage},
	"merge_request": {"MergeRequest"}, "design": {"DesignManagement::Design"}, "project": nil, "snippet": nil, "user": nil,
}

// Event is one thing that somebody did in a project.
type Event struct {
	ID         int64
	CreatedAt  time.Time
	AuthorID   int64
	ProjectID  int64
	Action     Action
	TargetType string // "" where it is about the project itself, a membership or a push
	TargetID   *int64
	Imported   bool // of a project that was made: from elsewhere

	PushAction  string // of a push: created, pushed, removed
	RefType     string // branch, tag
	RefCount    *int   // of a push that moved many refs alike: how many, and nothing else is known
	CommitCount int
	CommitFrom  []byte
	CommitTo    []byte

	Ref    string // the branch or tag, or the slug of a wiki page
	Title  string // of the last commit, of a wiki page, or of a milestone that is gone
	Format string // of a wiki page
}

// Name is what an event is called on the wire.
func (e *Event) Name() string {
	switch {
	case e.Action == Pushed && e.PushAction == "created" && e.RefCount == nil:
		return "pushed new"
	case e.Action == Pushed && e.PushAction == "removed" && e.RefCount == nil:
		return "deleted"
	case e.Action == Pushed:
		return "pushed to"
	case e.Action == Merged:
		return "accepted"
	case e.Action == Expired:
		return "removed due to membership expiration from"
	case e.Action == Commented:
		return "commented on"
	case e.Action == Created && e.Imported:
		return "imported"
	case e.TargetType == OfWikiPage, e.TargetType == "" && e.Action == Created:
		return string(e.Action)
	case e.Action == Created, e.Action == Reopened, e.Action == Updated:
		return "opened"
	}
	return string(e.Action) // closed, joined, left, destroyed, approved
}

// Bounds of texts, in characters, as the table has them.
const (
	maxRef    = 1024
	maxTitle  = 255
	maxFormat = 30
)

// cut keeps a text within its column, on a whole character.
func cut(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
