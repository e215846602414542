package gitstore

import "strings"

// Trailer is one line "Key: value".
type Trailer struct{ Key, Value string }

// Trailers reads the trailers at the end of a message, in order. It sees them where git does: in the last
// paragraph, unless that is the title, when all of its lines are trailers, or a quarter of them and one is of git's
// own making. A value over several lines becomes one line.
func Trailers(message string) []Trailer {
	for message != "" && isBlank(lineAt(message, 0)) {
		message = message[len(lineAt(message, 0)):]
	}
	end := endOfText(message)
	text := message[startOfTrailers(message[:end]):end]
	var found []Trailer
	open := -1 // where the value of the last trailer begins
	for at := 0; at < len(text); {
		line := lineAt(text, at)
		if open < 0 || !isSpace(line[0]) {
			open = -1
			if i := separator(line); i >= 1 {
				open = at + i + 1
				found = append(found, Trailer{Key: strings.Trim(line[:i], spaces)})
			}
		}
		at += len(line)
		if open >= 0 {
			found[len(found)-1].Value = text[open:at]
		}
	}
	for i := range found {
		found[i].Value = unfold(found[i].Value)
	}
	return found
}

// unfold makes one line of a value.
func unfold(value string) string {
	var b strings.Builder
	for value = strings.Trim(value, spaces); value != ""; {
		line, rest, more := strings.Cut(value, "\n")
		b.WriteString(line)
		if value = strings.TrimLeft(rest, spaces); more {
			b.WriteByte(' ')
		}
	}
	return strings.Trim(b.String(), spaces)
}

// spaces are those that git knows.
const spaces = " \t\r\n"

// cutLine is what git puts above a diff in the editor.
const cutLine = "# ------------------------ >8 ------------------------\n"

// endOfText is where trailing blank lines, comments and lists of conflicts begin.
func endOfText(message string) int {
	cut := len(message)
	if strings.HasPrefix(message, cutLine) {
		cut = 0
	} else if i := strings.Index(message, "\n"+cutLine); i >= 0 {
		cut = i + 1
	}
	at, tail := 0, -1
	conflicts := false
	for at < cut {
		line := lineAt(message, at)
		switch {
		case line[0] == '#' || line[0] == '\n':
			if tail < 0 {
				tail = at
			}
		case line == "Conflicts:\n":
			conflicts = true
			if tail < 0 {
				tail = at
			}
		case conflicts && line[0] == '\t':
		case tail >= 0:
			tail, conflicts = -1, false
		}
		at += len(line)
	}
	if tail > 0 { // git takes a tail at the very beginning for none
		return tail
	}
	return cut
}

// startOfTrailers reads paragraphs from the end.
func startOfTrailers(text string) int {
	endOfTitle := 0
	for endOfTitle < len(text) {
		line := lineAt(text, endOfTitle)
		if line[0] != '#' && isBlank(line) {
			break
		}
		endOfTitle += len(line)
	}
	var trailers, others, continued int
	onlySpaces, ours := true, false
	for l := lastLine(text); l >= endOfTitle && l >= 0; l = lastLine(text[:l]) {
		line := lineAt(text, l)
		switch {
		case line[0] == '#':
			others += continued
			continued = 0
		case isBlank(line):
			if onlySpaces {
				continue
			}
			others += continued
			if ours && trailers*3 >= others || trailers > 0 && others == 0 {
				return l + len(line)
			}
			return len(text)
		case strings.HasPrefix(line, "Signed-off-by: "), strings.HasPrefix(line, "(cherry picked from commit "):
			onlySpaces, ours = false, true
			trailers++
			continued = 0
		case isSpace(line[0]):
			onlySpaces = false
			continued++
		case separator(line) >= 1:
			onlySpaces = false
			trailers++
			continued = 0
		default:
			onlySpaces = false
			others += 1 + continued
			continued = 0
		}
	}
	return len(text)
}

// separator is where the key ends, or -1: letters, digits and hyphens, then perhaps blanks, then a colon.
func separator(line string) int {
	blanks := false
	for i := range len(line) {
		c := line[i]
		switch {
		case c == ':':
			return i
		case !blanks && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-'):
		case i > 0 && (c == ' ' || c == '\t'):
			blanks = true
		default:
			return -1
		}
	}
	return -1
}

// lineAt is the line from i on with its end.
func lineAt(s string, i int) string {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return s[i : i+n+1]
	}
	return s[i:]
}

// lastLine is where the last line begins, -1 when there is none.
func lastLine(s string) int {
	if s == "" {
		return -1
	}
	return strings.LastIndexByte(s[:len(s)-1], '\n') + 1
}

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

func isBlank(line string) bool { return strings.Trim(line, spaces) == "" }
