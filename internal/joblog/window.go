package joblog

import "slices"

// A page shows so much of a log at a time, and a browser has as many elements
// to lay out. One line is less than either.
const (
	windowLines    = 500
	windowBytes    = 112 << 10
	windowElements = 4500
	// lineBytes is what a line costs beside what it says.
	lineBytes = 96
)

// Window is some lines in a row that a page can show, with one among them that
// must be.
type Window struct {
	first, last int64 // the lines that are wanted
	anchor      int64 // the one that must be there
	pieces      []piece
	bytes       int
	elements    int
}

// From is the window that begins with a line.
func From(line int64) *Window {
	line = max(1, line)
	return &Window{first: line, last: line + windowLines - 1, anchor: line}
}

// Until is the window that ends with a line.
func Until(line int64) *Window {
	line = max(1, line)
	return &Window{first: max(1, line-windowLines+1), last: line, anchor: line}
}

// Around is a window with a line in its middle.
func Around(line int64) *Window {
	line = max(1, line)
	first := max(1, line-windowLines/3)
	return &Window{first: first, last: first + windowLines - 1, anchor: line}
}

// First is the first line that is wanted: from here on, or from before, the log
// is to be read.
func (w *Window) First() int64 { return w.first }

// Take looks at a line, and reports whether more are wanted.
func (w *Window) Take(l *Line) bool {
	if l.Number < w.first {
		return true
	}
	if l.Number > w.last {
		return false
	}
	p := newPiece(l)
	w.pieces = append(w.pieces, p)
	w.bytes += len(p.body) + lineBytes
	w.elements += p.elements
	share := 1
	if l.Number < w.anchor && w.last > w.anchor {
		share = 2 // leave room for what follows the anchor
	}
	for len(w.pieces) > 1 && (w.bytes > windowBytes/share || w.elements > windowElements/share) {
		if l.Number > w.anchor {
			w.drop(len(w.pieces) - 1)
			return false
		}
		w.drop(0)
	}
	return l.Number < w.last
}

func (w *Window) drop(i int) {
	w.bytes -= len(w.pieces[i].body) + lineBytes
	w.elements -= w.pieces[i].elements
	if i == 0 {
		w.pieces = w.pieces[1:]
	} else {
		w.pieces = w.pieces[:i]
	}
}

// Shown is the first and the last line of the window; both are 0 when it is
// empty.
func (w *Window) Shown() (first, last int64) {
	if len(w.pieces) == 0 {
		return 0, 0
	}
	return w.pieces[0].Number, w.pieces[len(w.pieces)-1].Number
}

// Stamped reports whether lines of the window say when they were written.
func (w *Window) Stamped() bool {
	return slices.ContainsFunc(w.pieces, func(p piece) bool { return p.Stamp != "" })
}

// HTML is the window as people see it.
func (w *Window) HTML() []byte {
	var h HTML
	for _, p := range w.pieces {
		h.add(p)
	}
	h.Close()
	return h.Bytes()
}
