package joblog

import (
	"strings"
	"unicode"
)

// Hit is a line that holds what was looked for.
type Hit struct {
	Number int64
	Text   string // as much of the line as a list shows
}

// maxHitText is how many characters of a line a list shows.
const maxHitText = 200

// Search looks for a text in lines, whatever its case, and keeps the first
// hits.
type Search struct {
	Hits  []Hit
	Seen  int64 // the last line that was looked at
	from  int64
	words []rune // in lower case
	most  int
}

// NewSearch looks for words from a line on, until there are so many hits.
func NewSearch(words string, from int64, most int) *Search {
	return &Search{words: []rune(strings.ToLower(words)), from: from, most: most}
}

// Take looks at a line, and reports whether more are wanted.
func (s *Search) Take(l *Line) bool {
	s.Seen = l.Number
	if l.Number < s.from {
		return true
	}
	at := s.in(l.Cells)
	if at < 0 {
		return true
	}
	from := max(0, min(at-maxHitText/4, len(l.Cells)-maxHitText))
	part := Line{Cells: l.Cells[from:min(len(l.Cells), from+maxHitText)]}
	s.Hits = append(s.Hits, Hit{Number: l.Number, Text: part.Text()})
	return len(s.Hits) < s.most
}

// in is where the words are, or -1.
func (s *Search) in(cells []Cell) int {
	for at := 0; at+len(s.words) <= len(cells); at++ {
		n := 0
		for n < len(s.words) && lower(cells[at+n].Rune) == s.words[n] {
			n++
		}
		if n == len(s.words) {
			return at
		}
	}
	return -1
}

func lower(r rune) rune {
	if r < 0x80 {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}
