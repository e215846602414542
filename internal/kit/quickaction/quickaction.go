// Package quickaction finds the commands in what people write: lines like "/close" or "/label ~bug". It knows what a command looks like, and neither
// what there is to command nor who may. A text of others is read once, from its beginning to its end.
package quickaction

import "strings"

// Command is a line of a text that commands something.
type Command struct {
	Name     string // in small letters, without the slash
	Argument string // the rest of the line, without blanks around it
	Instead  string // what takes the place of the line when it is taken out of the text

	begin, end int // of the line, with its end
}

// Max is how many commands a text has; what looks like one after them is text.
const Max = 100

// Find are the commands in a text with the names that are known, as they stand there. What is in code, in a quote or in HTML commands nothing.
func Find(text string, known func(name string) bool) []Command {
	if !strings.Contains(text, "/") {
		return nil
	}
	var all []Command
	s := scanner{ends: ends(text)}
	at := 0
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		if line = strings.TrimRight(line, "\r\n"); s.outside(line, begin) && len(all) < Max {
			if c, ok := parse(line); ok && known(c.Name) {
				c.begin, c.end = begin, at
				all = append(all, c)
			}
		}
	}
	return all
}

// Remove is a text without some of its commands, in the order in which they were found. A text from which nothing is taken is as it was; else the
// blank lines at both ends go, too.
func Remove(text string, done []Command) string {
	if len(done) == 0 {
		return text
	}
	var rest strings.Builder
	from := 0
	for _, c := range done {
		rest.WriteString(text[from:c.begin])
		if from = c.end; c.Instead != "" {
			rest.WriteString(c.Instead + "\n")
		}
	}
	rest.WriteString(text[from:])
	return trim(rest.String())
}

// trim takes blank lines from the beginning of a text, and all blanks from its end. How far its first line is indented means something.
func trim(text string) string {
	text = strings.TrimRight(text, blanks+"\n")
	for line := range strings.Lines(text) {
		if strings.Trim(line, blanks+"\n") != "" {
			break
		}
		text = text[len(line):]
	}
	return text
}

const blanks = " \t\r"

// parse reads a line that begins with a slash, a name, and nothing or a blank after it.
func parse(line string) (Command, bool) {
	rest, ok := strings.CutPrefix(line, "/")
	name := rest[:lengthOf(rest, inName)]
	if rest = rest[len(name):]; !ok || name == "" || (rest != "" && rest[0] != ' ' && rest[0] != '\t') {
		return Command{}, false
	}
	return Command{Name: strings.ToLower(name), Argument: strings.Trim(rest, blanks)}, true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func inName(c byte) bool { return letter(c) || c == '_' }

// lengthOf is how much of a text, from its beginning, are bytes of a kind.
func lengthOf(text string, is func(byte) bool) int {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}
