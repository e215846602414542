// Package paging says which part of a list is asked for and which part it
// got. It is what a room's list and the API's headers have in common; it does
// not know how either looks.
package paging

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// MaxTotal is how far a list is counted. Beyond it a list has "more", and the
// price of a page does not grow with the table.
const MaxTotal = 10_000

// Request is one page of a list.
type Request struct {
	Page    int // from 1; offset paging only
	PerPage int
	Keyset  bool
	OrderBy string // a name the list offers
	Desc    bool
	Cursor  *Cursor // nil asks for the first keyset page

	// ByID turns keyset pages by a filter on the id in place of a cursor, for
	// lists whose clients know the filter.
	ByID bool
}

// Offset is how many rows come before the page.
func (r Request) Offset() int { return (r.Page - 1) * r.PerPage }

// Result is the page and what is known of the whole.
type Result[T any] struct {
	Items []T
	Total int     // meaningful when Counted
	More  bool    // rows follow this page
	Next  *Cursor // keyset paging: where the next page starts
	Token string  // keyset paging of a list that no table holds: what the next page starts after
	Last  int64   // keyset paging by id: the last id of the page, if there is one
}

// Counted reports whether the total is exact.
func (r Result[T]) Counted() bool { return r.Total <= MaxTotal }

// Cut is one page of a list that is whole in memory.
func Cut[T any](all []T, req Request) Result[T] {
	from := min(req.Offset(), len(all))
	to := min(from+req.PerPage, len(all))
	return Result[T]{Items: all[from:to], Total: len(all), More: to < len(all)}
}

// Map presents the items of a page.
func Map[T, U any](r Result[T], present func(T) U) Result[U] {
	out := Result[U]{Items: make([]U, len(r.Items)), Total: r.Total, More: r.More, Next: r.Next, Token: r.Token, Last: r.Last}
	for i, item := range r.Items {
		out.Items[i] = present(item)
	}
	return out
}

// Cursor is the place after a row: the values that the list is ordered by.
// Clients carry it around and do not look inside. It is no secret and needs
// no signature: its values only ever reach SQL as arguments.
type Cursor struct {
	OrderBy string   `json:"o"`
	Desc    bool     `json:"d,omitempty"`
	After   []string `json:"a"`
}

var errCursor = errors.New("paging: not a cursor")

// Parse reads what String wrote.
func Parse(s string) (*Cursor, error) {
	if len(s) > 4096 {
		return nil, errCursor
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, errCursor
	}
	var c Cursor
	if err := json.Unmarshal(text, &c); err != nil || len(c.After) == 0 {
		return nil, errCursor
	}
	for _, value := range c.After {
		if strings.IndexByte(value, 0) >= 0 { // no database takes it as text
			return nil, errCursor
		}
	}
	return &c, nil
}

func (c Cursor) String() string {
	text, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(text)
}
