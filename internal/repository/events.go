package repository

import (
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/project"
)

// Pushed tells that refs moved, in the transaction that notes it. It is
// published once for every push, whichever door it came through, also when
// the process that took the push did not live to see its end.
type Pushed struct {
	Push    Push
	Project *project.Project
	By      access.Actor         // nobody when the account is gone
	Updates []gitstore.RefUpdate // what moved, which may be less than was asked for

	// Summaries are what moves of branches and tags brought, by the names of the refs. A push that moves many refs alike has none of those: it is
	// told of as a whole.
	Summaries map[string]Summary
}

// EventName is for logs.
func (Pushed) EventName() string { return "pushed" }

// TextPushed tells that the branch of a repository of texts moved, as Pushed
// does.
type TextPushed struct {
	Push     Push
	TextID   int64
	By       access.Actor // nobody when the account is gone
	Old, New gitstore.OID
	Files    []string            // paths, where the repository may hold a few files only
	Changed  []gitstore.FileDiff // else which files changed, the first maxChanged of them
}

// EventName is for logs.
func (TextPushed) EventName() string { return "text_pushed" }
