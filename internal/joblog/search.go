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
	fall  []int  // for each beginning of the words, the longest shorter one that it ends with
	most  int
}

// NewSearch looks for words from a line on, until there are so many hits.
func NewSearch(words string, from int64, most int) *Search {
	s := &Search{words: []rune(strings.ToLower(words)), from: from, most: most}
	s.fall = make([]int, len(s.words)+1)
	for i, n := 1, 0; i < len(s.words); i++ {
		n = s.next(n, s.words[i])
		s.fall[i+1] = n
	}
	return s
}

// next is how many of the words are found after one more character.
func (s *Search) next(n int, r rune) int {
	for n > 0 && s.words[n] != r {
		n = s.fall[n]
	}
	if s.words[n] == r {
		n++
	}
	return n
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

// in is where the words are, or -1. It looks at each character once.
func (s *Search) in(cells []Cell) int {
	if len(s.words) == 0 {
		return 0
	}
	n := 0
	for at := range cells {
		if n = s.next(n, lower(cells[at].Rune)); n == len(s.words) {
			return at - n + 1
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
