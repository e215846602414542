// Package unpack bounds what it may cost to unpack what a client sent: how many
// bytes come out, how many entries there are, and how deep they are nested.
// Whoever unpacks something says beforehand what it may have, and reads it as a
// stream.
package unpack

import (
	"errors"
	"io"
)

// ErrTooMuch is what unpacking ends with when its budget is spent.
var ErrTooMuch = errors.New("unpack: there is more than is allowed")

// Budget is what may still be unpacked. It belongs to one unpacking, with all
// that is packed inside.
type Budget struct {
	Bytes   int64
	Entries int
	Depth   int
}

// Spend takes bytes out of the budget.
func (b *Budget) Spend(n int64) error {
	if b.Bytes -= n; b.Bytes < 0 {
		return ErrTooMuch
	}
	return nil
}

// Entry takes one entry out of the budget.
func (b *Budget) Entry() error {
	if b.Entries--; b.Entries < 0 {
		return ErrTooMuch
	}
	return nil
}

// Enter goes one level deeper. Whoever enters leaves.
func (b *Budget) Enter() error {
	if b.Depth--; b.Depth < 0 {
		return ErrTooMuch
	}
	return nil
}

// Leave comes back from a level.
func (b *Budget) Leave() { b.Depth++ }

// Reader gives what another gives, and pays for it. What goes beyond the budget
// is not given.
func (b *Budget) Reader(from io.Reader) io.Reader { return &reader{from, b} }

type reader struct {
	from   io.Reader
	budget *Budget
}

func (r *reader) Read(p []byte) (int, error) {
	// One byte more than is left shows whether there is more.
	if most := max(r.budget.Bytes, 0) + 1; int64(len(p)) > most {
		p = p[:most]
	}
	n, err := r.from.Read(p)
	if r.budget.Spend(int64(n)) != nil {
		return 0, ErrTooMuch
	}
	return n, err
}
