package joblog

import "sort"

// stride is how many bytes lie between two marks of an index: what a reader
// of some lines has to read before them at the most, but for one long line.
const stride = 128 << 10

// Version says by which rules lines are told apart. An index of another version
// is not to be used.
const Version = 3

// Index says where the lines of a log are.
type Index struct {
	Version int     `json:"version"`
	Lines   int64   `json:"lines"` // how many there are
	Size    int64   `json:"size"`  // how many bytes were read for it
	Marks   []State `json:"marks"` // some lines, in their order
}

// Before is the last mark that is not after a line.
func (x Index) Before(line int64) State {
	i := sort.Search(len(x.Marks), func(i int) bool { return x.Marks[i].Line > line })
	if i == 0 {
		return Start()
	}
	return x.Marks[i-1]
}

// Indexer makes an index of the bytes of a log. It can be asked at any time,
// and goes on.
type Indexer struct {
	parser *Parser
	marks  []State
	lines  int64
	last   int64 // offset of the last mark
}

// NewIndexer begins at the beginning of a log.
func NewIndexer() *Indexer {
	x := &Indexer{}
	x.parser = NewParser(Start(), func(l *Line) bool {
		x.lines = l.Number
		return true
	})
	x.parser.began = x.mark
	return x
}

// Write reads the next bytes. It never fails.
func (x *Indexer) Write(piece []byte) (int, error) { return x.parser.Write(piece) }

// mark notes where a line begins, now and then. Many of a file may make none that is shown.
func (x *Indexer) mark() {
	if at := x.parser.begun; at.Offset-x.last >= stride {
		x.marks, x.last = append(x.marks, at), at.Offset
	}
}

// Index is what is known now. A last line without an end counts.
func (x *Indexer) Index() Index {
	return Index{Version: Version, Lines: x.lines + x.parser.unfinished(), Size: x.parser.offset, Marks: x.marks}
}
