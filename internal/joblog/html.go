package joblog

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HTML writes lines as people see them. Each has its number as a link to
// itself, sections fold, and every other byte of the log is escaped text.
type HTML struct {
	out      []byte
	open     []Section
	elements int
	begun    bool
}

// Bytes is what was written. Close comes first.
func (h *HTML) Bytes() []byte { return h.out }

// Elements is how many elements were written.
func (h *HTML) Elements() int { return h.elements }

// Line adds a line. The first may be in the middle of sections: these are
// opened again, with a link to where they begin.
func (h *HTML) Line(l *Line) { h.add(newPiece(l)) }

// piece is a line whose characters are written already.
type piece struct {
	Line
	body     []byte
	elements int
}

func newPiece(l *Line) piece {
	var h HTML
	h.cells(l.Cells)
	p := piece{Line: *l, body: h.out, elements: h.elements + 2}
	if l.Opens != nil && len(l.Cells) == 0 {
		h.text(l.Opens.Name)
		p.body = h.out
	}
	p.Cells = nil
	return p
}

func (h *HTML) add(l piece) {
	h.settle(&l.Line)
	n := strconv.FormatInt(l.Number, 10)
	h.elements += l.elements
	if l.Opens != nil {
		h.section(l.Opens, "#L"+n)
		h.raw(`<summary id="L`, n, `"`)
		h.stamp(l.Stamp)
		h.raw(">")
		h.out = append(h.out, l.body...)
		h.raw("</summary>\n")
		return
	}
	h.raw(`<div id="L`, n, `"`)
	h.stamp(l.Stamp)
	// Whoever goes by keyboard goes past the numbers: there are thousands of them.
	h.raw(`><a href="#L`, n, `" tabindex="-1">`, n, "</a>")
	h.out = append(h.out, l.body...)
	h.raw("</div>\n")
}

// stamp says when a line was written, and whether to standard error.
func (h *HTML) stamp(s Stamp) {
	if clock := s.Clock(); clock != "" {
		h.raw(` data-t="`, clock, `"`)
	}
	if s.Errors() {
		h.raw(` class="err" title="stderr"`)
	}
}

// Close ends the sections that are still open.
func (h *HTML) Close() {
	for range h.open {
		h.raw("</details></div>\n")
	}
	h.open = nil
}

// settle closes sections that ended, and opens those that a window begins in.
func (h *HTML) settle(l *Line) {
	if !h.begun {
		h.begun = true
		for _, s := range l.Within {
			s.Collapsed = false
			n := strconv.FormatInt(s.Line, 10)
			h.section(&s, "?line="+n+"#L"+n)
			h.raw("<summary>")
			h.elements++
			h.text(s.Name)
			h.raw(" goes on</summary>\n")
		}
		return
	}
	same := 0
	for same < len(h.open) && same < len(l.Within) && h.open[same].Line == l.Within[same].Line {
		same++
	}
	for i := len(h.open) - 1; i >= same; i-- {
		// How long it took stands beside what folds, to be seen in either state.
		h.raw("</details>")
		if e := slices.IndexFunc(l.Ended, func(e Ended) bool { return e.Line == h.open[i].Line }); e >= 0 {
			h.raw("<small>", took(l.Ended[e].Seconds), "</small>")
			h.elements++
		}
		h.raw("</div>\n")
	}
	h.open = h.open[:same]
}

// took is how long something took, as a clock shows it.
func took(seconds int64) string {
	pad := func(n int64) string {
		if n < 10 {
			return "0" + strconv.FormatInt(n, 10)
		}
		return strconv.FormatInt(n, 10)
	}
	if seconds >= 3600 {
		return strconv.FormatInt(seconds/3600, 10) + ":" + pad(seconds/60%60) + ":" + pad(seconds%60)
	}
	return pad(seconds/60) + ":" + pad(seconds%60)
}

// section begins a part that folds. The link to its first line stands beside
// it: what folds is a button, and no button may hold another.
func (h *HTML) section(s *Section, to string) {
	n := strconv.FormatInt(s.Line, 10)
	h.raw(`<div data-s="`, n, `"><a href="`, to, `">`, n, "</a><details")
	if !s.Collapsed {
		h.raw(" open")
	}
	h.raw(">")
	h.elements += 3
	h.open = append(h.open, *s)
}

func (h *HTML) raw(parts ...string) {
	for _, part := range parts {
		h.out = append(h.out, part...)
	}
}

func (h *HTML) text(s string) {
	for _, r := range s {
		h.char(r)
	}
}

func (h *HTML) char(r rune) {
	switch r {
	case '<':
		h.raw("&lt;")
	case '>':
		h.raw("&gt;")
	case '&':
		h.raw("&amp;")
	case '"':
		h.raw("&#34;")
	case '\'':
		h.raw("&#39;")
	default:
		h.out = utf8.AppendRune(h.out, r)
	}
}

// cells writes characters, with links where addresses are.
func (h *HTML) cells(cells []Cell) {
	misses := maxMisses
	for len(cells) > 0 {
		from, to, address := link(cells, &misses)
		h.runs(cells[:from])
		if from < to {
			h.raw(`<a href="`)
			h.text(address)
			h.raw(`" rel="nofollow noopener noreferrer">`)
			h.elements++
			h.runs(cells[from:to])
			h.raw("</a>")
		}
		cells = cells[to:]
	}
}

// runs writes characters of one style after the other.
func (h *HTML) runs(cells []Cell) {
	for len(cells) > 0 {
		style, n := cells[0].Style, 0
		class := style.Class()
		if class != "" {
			h.raw(`<span class="`, class, `">`)
			h.elements++
		}
		for n < len(cells) && cells[n].Style == style {
			h.char(cells[n].Rune)
			n++
		}
		if class != "" {
			h.raw("</span>")
		}
		cells = cells[n:]
	}
}

const (
	maxAddress = 2048
	// maxMisses is how many times a line may look like an address and have none.
	// Each costs as much as the rest of the line is long.
	maxMisses = 8
)

// link finds the first address of a web page. Without one, from and to are the
// length. misses is how often it may still look in vain.
func link(cells []Cell, misses *int) (from, to int, address string) {
	for i := range cells {
		if cells[i].Rune != 'h' && cells[i].Rune != 'H' {
			continue
		}
		if i > 0 && (unicode.IsLetter(cells[i-1].Rune) || unicode.IsDigit(cells[i-1].Rune)) {
			continue
		}
		if *misses == 0 || !startsLink(cells[i:]) {
			continue
		}
		if address := addressAt(cells[i:]); address != "" {
			return i, i + len(address), address
		}
		*misses--
	}
	return len(cells), len(cells), ""
}

// startsLink reports whether characters begin as the address of a web page.
func startsLink(cells []Cell) bool {
	return begins(cells, "http://") || begins(cells, "https://")
}

func begins(cells []Cell, text string) bool {
	for i := range len(text) {
		if i == len(cells) || lower(cells[i].Rune) != rune(text[i]) {
			return false
		}
	}
	return true
}

// addressAt is the address that some characters begin with, all of one byte.
func addressAt(cells []Cell) string {
	text := make([]byte, 0, 64)
	for _, c := range cells {
		if c.Rune <= ' ' || c.Rune >= 0x7f || strings.ContainsRune("<>\"'`{}|\\^", c.Rune) || len(text) == maxAddress {
			break
		}
		text = append(text, byte(c.Rune))
	}
	address := strings.TrimRight(string(text), ".,;:!?")
	if !strings.Contains(address, "(") {
		address = strings.TrimRight(address, ".,;:!?)")
	}
	u, err := url.Parse(address)
	// A name before an @ would be taken for the host by those who read.
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return ""
	}
	return address
}
