package wiki

import (
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a page.
type Action string

const (
	Created Action = "wiki_page_created"
	Updated Action = "wiki_page_updated"
	Deleted Action = "wiki_page_deleted"
)

// Event is an act on a page of a wiki, published in the transaction that notes it, whether it came over the API or was pushed.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	Slug   string
	Title  string
	Format Format
	Commit gitstore.OID
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }
