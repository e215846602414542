// Package joblog is the language of job logs: which lines a log has, how they
// are coloured, which of them fold away, and how people see all that. Whoever
// writes a job writes its log, so nothing in a log acts. Escape codes colour,
// overwrite and erase within one line, section marks fold, addresses of web
// pages are links; everything else is text or is dropped. It is pure: bytes
// go in, lines and HTML come out.
package joblog

const (
	// maxCells is how many characters one line may show, maxLine how many
	// bytes of overwritten ones and codes may be in it. What is longer goes on
	// in the next, so that no line costs more than a window of lines.
	maxCells = 2048
	maxLine  = 64 << 10
	// maxEscape is how long an escape code may be. What is longer is none.
	maxEscape = 4 << 10
	// maxDepth is how deep sections nest; those below are not folded.
	maxDepth = 8
	// maxColumn is how far codes move the cursor beyond the text of a line.
	maxColumn = 160
)

// Colour is one of a few that can be read on every ground that pages have.
type Colour uint8

// The colours, in the order of escape codes. Plain is what text has by itself.
const (
	Plain Colour = iota
	Black
	Red
	Green
	Yellow
	Blue
	Magenta
	Cyan
	White
	Grey
)

// Look is what a style has beside colours.
type Look uint8

const (
	bold Look = 1 << iota
	faint
	italic
	underline
	strike
	inverse
)

// Style is how a character looks.
type Style struct {
	Ink    Colour `json:"i,omitempty"`
	Ground Colour `json:"g,omitempty"`
	Look   Look   `json:"l,omitempty"`
}

// Cell is one character of a line.
type Cell struct {
	Rune  rune
	Style Style
}

// Section is a part of a log that folds. It is known by the line that heads it.
type Section struct {
	Name      string `json:"n"`
	Line      int64  `json:"l"`
	Began     int64  `json:"b"` // Unix seconds, as whoever wrote the log says
	Collapsed bool   `json:"-"`
}

// Ended is a section that ended, and how many seconds it took.
type Ended struct{ Line, Seconds int64 }

// Line is one line of a log. It is only valid while it is handed over.
type Line struct {
	Number int64 // from 1
	Stamp  Stamp // when and where it was written; empty where the runner does not say
	Cells  []Cell
	Opens  *Section  // the section that it heads
	Within []Section // the open sections, outermost first, without the one it heads
	Ended  []Ended   // what ended since the line before
}

// Text is what the line says.
func (l *Line) Text() string {
	text := make([]rune, len(l.Cells))
	for i, c := range l.Cells {
		text[i] = c.Rune
	}
	return string(text)
}

// State is all that a line needs of what comes before it. With it a log can be
// read from the middle.
type State struct {
	Line     int64     `json:"l"` // its number
	Offset   int64     `json:"o"` // of its first byte
	Style    Style     `json:"s,omitzero"`
	Sections []Section `json:"in,omitempty"`
	Stamped  bool      `json:"st,omitempty"`  // lines of the log begin with stamps
	Inside   bool      `json:"mid,omitempty"` // it is the rest of a line that was too long
	Stamp    Stamp     `json:"t,omitempty"`   // of that long line
}

// Start is the state at the beginning of every log.
func Start() State { return State{Line: 1} }
