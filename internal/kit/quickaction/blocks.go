package quickaction

import "strings"

// scanner goes over the lines of a text and knows which of them are in a block that commands nothing.
type scanner struct {
	ends  map[string]int // where the last line is that can end a block
	fence string         // the mark of the code that we are in
	until string         // the line that ends the quote or HTML that we are in; a blank one with blank
	blank bool
}

const quoted = ">>>" // the line before and after a quote of many lines

// ends are the last lines of a text that end a quote or an element, by what they begin with.
func ends(text string) map[string]int {
	last, at := map[string]int{}, 0
	for line := range strings.Lines(text) {
		if end := endOf(strings.TrimRight(line, blanks+"\n")); end != "" {
			last[end] = at
		}
		at += len(line)
	}
	return last
}

// endOf is what a line that can end a block begins with.
func endOf(line string) string {
	switch {
	case line == quoted:
		return quoted
	case strings.Contains(line, commentEnd):
		return commentEnd
	case strings.HasPrefix(line, "</"):
		return "</" + tagName(line[2:])
	}
	return ""
}

const (
	comment    = "<!--"
	commentEnd = "-->"
)

// outside reports whether a line is in no block and begins none, and keeps in mind what it begins or ends. begin is where it stands in the text.
func (s *scanner) outside(line string, begin int) bool {
	indent := lengthOf(line, func(c byte) bool { return c == ' ' })
	text := strings.TrimRight(line[indent:], blanks)
	switch {
	case s.fence != "":
		if mark := fenceOf(text); indent < 4 && mark == text && strings.HasPrefix(mark, s.fence) {
			s.fence = ""
		}
		return false
	case s.until != "":
		if endOf(strings.TrimRight(line, blanks)) == s.until {
			s.until = ""
		}
		return false
	case s.blank:
		s.blank = text != ""
		return false
	case indent > 3:
		return false // code, or what follows on a line of text
	}
	s.enter(indent, text, begin)
	return s.fence == "" && s.until == "" && !s.blank
}

// enter begins the block that a line begins, if it does.
func (s *scanner) enter(indent int, text string, begin int) {
	if mark := fenceOf(text); mark != "" && (mark[0] != '`' || !strings.Contains(text[len(mark):], "`")) {
		s.fence = mark
		return
	}
	var until string
	switch name := tagName(strings.TrimPrefix(text, "<")); {
	case indent == 0 && text == quoted:
		until = quoted
	case strings.HasPrefix(text, comment):
		if strings.Contains(text[len(comment):], commentEnd) {
			return
		}
		until = commentEnd
	case strings.HasPrefix(text, "<") && name != "" && !strings.Contains(text, "</"+name):
		until = "</" + name
	default:
		return
	}
	if s.ends[until] > begin {
		s.until = until
	} else if until != quoted {
		s.blank = true // of what nobody ends the next blank line is the end
	}
}

// tagName is the name of the element whose tag a text is inside of, in small letters; "" where it is no tag.
func tagName(text string) string {
	n := lengthOf(text, func(c byte) bool { return letter(c) || c == '-' || c >= '0' && c <= '9' })
	if n == 0 || !letter(text[0]) || (n < len(text) && !strings.ContainsRune(" \t/>", rune(text[n]))) {
		return ""
	}
	return strings.ToLower(text[:n])
}

// fenceOf is the mark that begins or ends a block of code.
func fenceOf(text string) string {
	for _, c := range []byte{'`', '~'} {
		if n := lengthOf(text, func(b byte) bool { return b == c }); n >= 3 {
			return text[:n]
		}
	}
	return ""
}
