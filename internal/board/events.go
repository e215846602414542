package board

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a board.
type Action string

const (
	Created Action = "board_created"
	Updated Action = "board_updated" // its lists, too
	Deleted Action = "board_deleted"
)

// Event is an act on a board, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	Board  Board
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }
