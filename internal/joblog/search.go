package joblog

import "strings"

// Hit is a line that holds what was looked for.
type Hit struct {
	Number int64
	Text   string // as much of the line as a list shows
}

const maxHitText = 200

// Search looks for a text in lines, whatever its case, and keeps the first
// hits.
type Search struct {
	Hits  []Hit
	Seen  int64 // the last line that was looked at
	from  int64
	words string
	most  int
}

// NewSearch looks for words from a line on, until there are so many hits.
func NewSearch(words string, from int64, most int) *Search {
	return &Search{words: strings.ToLower(words), from: from, most: most}
}

// Take looks at a line, and reports whether more are wanted.
func (s *Search) Take(l *Line) bool {
	s.Seen = l.Number
	if l.Number < s.from {
		return true
	}
	text := l.Text()
	at := strings.Index(strings.ToLower(text), s.words)
	if at < 0 {
		return true
	}
	// The lower case of a character may be longer or shorter: near is enough.
	from := 0
	if at > maxHitText/2 {
		from = min(at-maxHitText/4, max(0, len(text)-maxHitText))
	}
	s.Hits = append(s.Hits, Hit{Number: l.Number, Text: strings.ToValidUTF8(text[from:min(len(text), from+maxHitText)], "")})
	return len(s.Hits) < s.most
}
