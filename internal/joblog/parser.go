package joblog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mode is what the next byte is part of.
type mode uint8

const (
	ground       mode = iota // text
	escape                   // after ESC
	intermediate             // an escape code of several bytes that means nothing here
	control                  // ESC [
	text                     // a string for the terminal: title, link, image
	textEscape               // ESC in such a string
)

// Parser makes lines of the bytes of a log. Whatever the pieces are that they
// come in, the lines are the same.
type Parser struct {
	to     func(*Line) bool
	began  func() // is told where a line of the file begins, if it is set
	done   bool
	offset int64 // of the next byte
	raw    int   // bytes of this line so far, and characters that codes wrote

	begun    State // where this line of the file begins; section marks make several of one
	stamped  bool  // lines begin with stamps
	stamp    Stamp // of this line
	inside   bool  // this line is the rest of a long one
	starts   bool  // a stamp may come
	waits    bool  // the line before it may go on
	next     int64 // offset of the stamp that may come
	head     []byte
	number   int64 // of the next line
	style    Style
	sections []Section // never changed in place: lines and states share it
	ended    []Ended

	cells  []Cell
	cursor int
	opens  *Section
	marked bool // a mark was taken out of this line
	back   bool // the cursor has just returned
	backAt int  // from here

	mode    mode
	code    []byte // of the escape code that is being read
	length  int    // of the string that is being read
	partial []byte // the beginning of a character
}

// NewParser reads on from a state and hands over each line, until told that
// no more are wanted.
func NewParser(from State, to func(*Line) bool) *Parser {
	return &Parser{
		to: to, offset: from.Offset, begun: from, number: from.Line, style: from.Style, sections: from.Sections,
		stamped: from.Stamped, stamp: from.Stamp, inside: from.Inside, next: from.Offset, starts: from.Offset == 0 || from.Stamped && !from.Inside,
	}
}

// Done reports whether no more lines are wanted.
func (p *Parser) Done() bool { return p.done }

// Begun is the state at the beginning of the line that is being read: from
// here on a log that grows is read again.
func (p *Parser) Begun() State { return p.begun }

// Write reads the next bytes. It never fails.
func (p *Parser) Write(piece []byte) (int, error) {
	for i := 0; i < len(piece) && !p.done; i++ {
		if p.starts {
			p.offset++
			p.readStamp(piece[i])
			p.cutLong()
			continue
		}
		if n := p.run(piece[i:]); n > 0 {
			p.offset, p.raw, i = p.offset+int64(n), p.raw+n, i+n-1
		} else {
			p.offset++
			p.raw++
			p.step(piece[i])
		}
		p.cutLong()
	}
	return len(piece), nil
}

// cutLong ends a line that is too long; its rest is the next one.
func (p *Parser) cutLong() {
	if p.long() && p.mode == ground && len(p.partial) == 0 && !p.starts {
		p.next = p.offset
		p.endLine(true)
	}
}

func (p *Parser) long() bool { return p.raw >= maxLine || p.cursor >= maxCells }

// readStamp reads a byte where a line begins.
func (p *Parser) readStamp(c byte) {
	if fitsStamp(c, len(p.head)) {
		if p.head = append(p.head, c); len(p.head) == len(stampForm) {
			p.takeStamp()
		}
		return
	}
	p.noStamp()
	if !p.done {
		p.raw++
		p.step(c)
	}
}

// takeStamp begins a line with a stamp, or goes on with the one before.
func (p *Parser) takeStamp() {
	stamp, joins := Stamp(p.head[:stampSize]), p.head[stampSize] == '+'
	p.head, p.starts, p.stamped = p.head[:0], false, true
	if p.waits && joins && stamp.sameStream(p.stamp) {
		p.waits, p.raw = false, p.raw+len(stampForm)
		return
	}
	p.endWaiting()
	// The rest of a line that another one came after is a line if it says something.
	p.raw, p.stamp, p.inside, p.begun.Stamped = len(stampForm), stamp, joins, true
}

// noStamp takes what was read for a stamp as the text that it is.
func (p *Parser) noStamp() {
	p.starts = false
	p.endWaiting()
	p.stamp = ""
	head := p.head
	p.head = p.head[:0]
	for _, c := range head {
		if !p.done {
			p.raw++
			p.step(c)
		}
	}
}

// endWaiting ends the line that did not go on.
func (p *Parser) endWaiting() {
	if p.waits {
		p.waits = false
		p.cutOff()
		p.mode = ground
		p.endLine(false)
	}
}

// run takes plain text at the end of a line, as far as it goes: that is what
// logs are made of.
func (p *Parser) run(piece []byte) (n int) {
	if p.mode != ground || p.cursor != len(p.cells) || len(p.partial) > 0 {
		return 0
	}
	piece = piece[:min(len(piece), maxCells-p.cursor, maxLine-p.raw)]
	for n < len(piece) && piece[n] >= ' ' && piece[n] < 0x7f {
		p.cells = append(p.cells, Cell{rune(piece[n]), p.style})
		n++
	}
	if n > 0 {
		p.cursor, p.back = p.cursor+n, false
	}
	return n
}

// Finish hands over a last line that has no end, or may go on.
func (p *Parser) Finish() {
	if len(p.head) > 0 {
		p.noStamp()
	}
	p.cutOff()
	if !p.done && (len(p.cells) > 0 || p.opens != nil || p.waits && p.visible()) {
		p.emit()
	}
}

// unfinished is how many lines Finish would hand over.
func (p *Parser) unfinished() (n int64) {
	if len(p.cells) > 0 || len(p.partial) > 0 || p.opens != nil || p.waits && p.visible() {
		n++
	}
	if len(p.head) > 0 {
		n++
	}
	return n
}

// visible reports whether a line counts that has nothing in it.
func (p *Parser) visible() bool { return !p.marked && !p.inside && p.raw < maxLine }

func (p *Parser) step(c byte) {
	if c == '\n' {
		p.next = p.offset
		if p.stamped {
			p.starts, p.waits = true, true
			return
		}
		// Whatever is unfinished ends here, so that no code swallows a log.
		p.cutOff()
		p.mode = ground
		p.endLine(false)
		return
	}
	switch p.mode {
	case ground:
		p.plain(c)
	case escape:
		p.afterEscape(c)
	case intermediate:
		if c == 0x1b {
			p.mode = escape
		} else if c < ' ' || c > '/' {
			p.mode = ground
		}
	case control:
		p.inControl(c)
	case text:
		p.length++
		switch {
		case c == 0x1b:
			p.mode = textEscape
		case c == 0x07 || c == 0x18 || c == 0x1a || p.length > maxEscape:
			p.mode = ground
		}
	case textEscape:
		p.mode = ground
		if c != '\\' {
			p.mode = escape
			p.afterEscape(c)
		}
	}
}

func (p *Parser) plain(c byte) {
	if c >= utf8.RuneSelf {
		p.partial = append(p.partial, c)
		for len(p.partial) > 0 && utf8.FullRune(p.partial) {
			r, size := utf8.DecodeRune(p.partial)
			p.partial = p.partial[size:]
			p.put(r)
		}
		return
	}
	if len(p.partial) > 0 {
		p.cutOff()
		if p.long() { // before a code may begin, in which no line is cut
			p.next = p.offset - 1
			p.endLine(true)
			p.raw = 1
		}
	}
	switch {
	case p.done:
	case c == 0x1b:
		p.mode = escape
	case c == '\r':
		if !p.back {
			p.back, p.backAt = true, p.cursor
		}
		p.cursor = 0
	case c == '\b':
		p.move(p.cursor - 1)
	case c == '\t' || c >= ' ':
		p.put(rune(c))
	}
}

// cutOff ends a character that lacks its rest.
func (p *Parser) cutOff() {
	for range p.partial {
		p.put(utf8.RuneError)
	}
	p.partial = p.partial[:0]
}

func (p *Parser) afterEscape(c byte) {
	p.code, p.length = p.code[:0], 0
	switch {
	case c == '[':
		p.mode = control
	case strings.IndexByte("]PX^_", c) >= 0:
		p.mode = text
	case c >= ' ' && c <= '/':
		p.mode = intermediate
	case c == 0x1b:
	case c < ' ' || c >= utf8.RuneSelf:
		p.mode = ground
		p.plain(c)
	default:
		p.mode = ground
	}
}

// maxControl is how long a code with numbers may be.
const maxControl = 128

func (p *Parser) inControl(c byte) {
	switch {
	case c == 0x1b:
		p.mode = escape
	case c < ' ' || c >= 0x7f || len(p.code) >= maxControl:
		p.mode = ground
		p.plain(c)
	case c < '@':
		p.code = append(p.code, c)
	default:
		p.mode = ground
		switch c {
		case 'm':
			p.style = p.style.after(string(p.code))
		case 'K':
			p.erase(string(p.code))
		case 'C':
			p.move(p.cursor + max(1, count(p.code)))
		case 'D':
			p.move(p.cursor - max(1, count(p.code)))
		case 'G', '`':
			p.move(count(p.code) - 1)
		}
	}
}

// count is the number in a code that moves the cursor; 0 is none.
func count(code []byte) int {
	n, err := strconv.ParseUint(string(code), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// move puts the cursor into a column, one of the text or a little beyond it.
func (p *Parser) move(column int) {
	p.back = false
	p.cursor = max(0, min(column, max(len(p.cells), maxColumn)))
}

// blank is a line with nothing on it. A character that lacks its rest may come behind the last column.
var blank = slices.Repeat([]Cell{{Rune: ' '}}, maxCells+utf8.UTFMax)

// put writes a character where the cursor is. Characters that turn the order
// of others around, or are none, are left out.
func (p *Parser) put(r rune) {
	switch {
	case r >= 0x7f && r <= 0x9f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return
	}
	p.back = false
	if n := p.cursor - len(p.cells); n > 0 {
		p.cells = append(p.cells, blank[:n]...)
		p.raw += n // work counts as bytes: a few must not cause much of it
	}
	if p.cursor < len(p.cells) {
		p.cells[p.cursor] = Cell{r, p.style}
	} else {
		p.cells = append(p.cells, Cell{r, p.style})
	}
	p.cursor++
}

// erase removes what is behind the cursor, before it, or both.
func (p *Parser) erase(what string) {
	if (what == "" || what == "0") && p.back && p.backAt == len(p.cells) && p.mark() {
		return
	}
	p.back = false
	switch what {
	case "", "0":
		p.cells = p.cells[:min(p.cursor, len(p.cells))]
	case "1":
		p.raw += copy(p.cells, blank[:p.cursor])
	case "2":
		p.cells = p.cells[:0]
	}
}

// maxMark is longer than every mark.
const maxMark = 320

// mark takes a section mark off the end of the line, and reports whether there
// was one. What stands before it is a line of its own.
func (p *Parser) mark() bool {
	from := max(0, len(p.cells)-maxMark)
	var room [maxMark]byte
	end := room[:0]
	for _, c := range p.cells[from:] {
		end = append(end, byte(min(c.Rune, 0xff)))
	}
	at := max(bytes.LastIndex(end, []byte("section_start:")), bytes.LastIndex(end, []byte("section_end:"))) // names may have the word, too
	if at < 0 {
		return false
	}
	m, ok := parseMark(string(end[at:]))
	if !ok {
		return false
	}
	p.cells = p.cells[:from+at]
	if len(p.cells) > 0 || p.opens != nil {
		p.emit()
	}
	p.cells, p.cursor, p.back, p.marked = p.cells[:0], 0, false, true
	if m.ends {
		p.endSection(m.name, m.when)
	} else if len(p.sections) < maxDepth {
		p.opens = &Section{Name: strings.Clone(m.name), Began: m.when, Collapsed: slices.Contains(strings.Split(m.options, ","), "collapsed=true")}
	}
	return true
}

// mark is what a runner writes where a section begins or ends: section_start:1700000000:name[collapsed=true].
type mark struct {
	ends          bool
	when          int64
	name, options string
}

// parseMark reads a mark that begins with "section_". Logs can be made of them, so it costs little.
func parseMark(s string) (m mark, ok bool) {
	s = strings.TrimPrefix(s, "section_")
	if s, ok = strings.CutPrefix(s, "end:"); ok {
		m.ends = true
	} else if s, ok = strings.CutPrefix(s, "start:"); !ok {
		return m, false
	}
	when, s, ok := strings.Cut(s, ":")
	if !ok || len(when) > 12 || strings.Trim(when, "0123456789") != "" {
		return m, false
	}
	var err error
	if m.when, err = strconv.ParseInt(when, 10, 64); err != nil {
		return m, false
	}
	m.name = s
	if s, ok = strings.CutSuffix(s, "]"); ok {
		if m.name, m.options, ok = strings.Cut(s, "["); !ok || len(m.options) > 128 || strings.ContainsAny(m.options, "[]") {
			return m, false
		}
	}
	return m, m.name != "" && len(m.name) <= 128 && strings.Trim(m.name, nameBytes) == ""
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// endSection ends the innermost section of a name, and those in it.
func (p *Parser) endSection(name string, when int64) {
	for i := len(p.sections) - 1; i >= 0; i-- {
		if p.sections[i].Name == name {
			p.ended = append(p.ended, Ended{p.sections[i].Line, max(0, when-p.sections[i].Began)})
			p.sections = p.sections[:i]
			return
		}
	}
}

// endLine begins the next line of the file, or the rest of one that was cut.
func (p *Parser) endLine(cut bool) {
	if len(p.cells) > 0 || p.opens != nil || p.visible() {
		p.emit()
	}
	p.cursor, p.raw, p.marked, p.back, p.inside = 0, 0, false, false, false
	p.begun = State{Line: p.number, Offset: p.next, Style: p.style, Sections: p.sections, Stamped: p.stamped}
	if cut {
		p.inside, p.begun.Inside, p.begun.Stamp = true, true, p.stamp
	}
	if p.began != nil {
		p.began()
	}
}

func (p *Parser) emit() {
	l := Line{Number: p.number, Stamp: p.stamp, Cells: p.cells, Opens: p.opens, Within: p.sections, Ended: p.ended}
	if p.opens != nil {
		p.opens.Line = p.number
		p.sections = append(slices.Clip(p.sections), *p.opens)
	}
	p.done = !p.to(&l)
	p.number++
	p.cells, p.opens, p.ended = p.cells[:0], nil, nil
}
