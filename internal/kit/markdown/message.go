package markdown

import (
	"strings"
	"unicode/utf8"
)

// MaxMessage is how many bytes of a commit message count for what it names.
const MaxMessage = 16 << 10

// Named is an issue that a commit message names.
type Named struct {
	Path   string // of the project, as in a Reference
	Number string
	Closes bool // the message says that the commit closes it
}

// IssuesIn are the issues that a commit message names, each once and in its order. A message is not Markdown: what is indented or stands between
// marks counts, too. base is the address of the instance, without a slash at its end; addresses of issues below it name them.
func IssuesIn(message, base string) []Named {
	if len(message) > MaxMessage {
		message = message[:MaxMessage]
		message = message[:strings.LastIndexAny(message, " \n")+1] // half a number is another one
	}
	return named(shortenAddresses(strings.ToValidUTF8(message, "\uFFFD"), base))
}

// named reads a message in time that grows with its length and no faster.
func named(message string) (all []Named) {
	known := map[Named]int{}
	last, closes := 0, false // where the reference before ends, and whether that one is closed
	for at := 0; ; {
		r, start, end, found := scan(message, at, ' ')
		if !found {
			return all
		}
		between := message[last:start]
		closes = r.Kind == Issue && (endsInClosingWord(between) || (closes && joins(between)))
		at, last = end, end
		if r.Kind != Issue {
			continue
		}
		n := Named{Path: strings.ToLower(r.Path), Number: r.Name}
		place, again := known[n]
		if !again {
			place = len(all)
			known[n], all = place, append(all, n)
		}
		all[place].Closes = all[place].Closes || closes
	}
}

// closingWords are those that close the issues which follow them.
var closingWords = map[string]bool{
	"close": true, "closes": true, "closed": true, "closing": true,
	"fix": true, "fixes": true, "fixed": true, "fixing": true,
	"resolve": true, "resolves": true, "resolved": true, "resolving": true,
	"implement": true, "implements": true, "implemented": true, "implementing": true,
}

// endsInClosingWord reports whether a text ends in a closing word, perhaps with a colon and the word "issue", and at least one space.
func endsInClosingWord(text string) bool {
	rest, spaced := cutSpaces(text)
	if !spaced {
		return false
	}
	rest, word := cutWord(rest)
	if word == "issue" || word == "issues" {
		if rest, spaced = cutSpaces(rest); !spaced {
			return false
		}
		rest, word = cutWord(rest)
	}
	if word == "" {
		if rest, spaced = strings.CutSuffix(rest, ":"); spaced {
			_, word = cutWord(rest)
		}
	}
	return closingWords[word]
}

// joins reports whether what stands between two issues makes one list of them: a comma, "and", or both.
func joins(text string) bool {
	rest := strings.TrimRight(text, " ")
	if before, word := cutWord(rest); word == "issue" || word == "issues" {
		rest = strings.TrimRight(before, " ")
	}
	before, word := cutWord(rest)
	if word == "and" && len(rest) < len(text) {
		rest = strings.TrimRight(before, " ")
		return rest == "," || (rest == "" && before != "")
	}
	return rest == ","
}

func cutSpaces(text string) (rest string, spaced bool) {
	rest = strings.TrimRight(text, " ")
	return rest, len(rest) < len(text)
}

// maxWord is how long the longest closing word is.
const maxWord = len("implementing")

// cutWord cuts the word that a text ends in, in lower case: "" where that is longer than any that counts, or holds other signs than letters.
func cutWord(text string) (rest, word string) {
	at := len(text)
	for at > 0 && len(text)-at <= maxWord && letter(text[at-1]) {
		at--
	}
	if last, _ := utf8.DecodeLastRuneInString(text[:at]); wordly(last) {
		return text, ""
	}
	return text[:at], strings.ToLower(text[at:])
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// shortenAddresses puts the short form of an issue in the place of its address: "g/p#3".
func shortenAddresses(text, base string) string {
	base += "/"
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, base)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		path, number, rest, ok := issueAddress(after)
		if last, _ := utf8.DecodeLastRuneInString(before); ok && !wordly(last) {
			b.WriteString(path + "#" + number)
			text = rest
			continue
		}
		b.WriteString(base)
		text = after
	}
}

// issueAddress reads the path of an issue, with a query or an anchor behind it.
func issueAddress(text string) (path, number, rest string, ok bool) {
	word := text[:count(text, maxPath, pathByte)]
	at := strings.LastIndex(word, "/issues/")
	if at < 0 {
		return "", "", "", false
	}
	path, after := strings.TrimSuffix(word[:at], "/-"), word[at+len("/issues/"):]
	number = after[:count(after, maxNumber, digit)]
	end := at + len("/issues/") + len(number)
	if !strings.Contains(path, "/") || number == "" || begins(text[end:]) || strings.HasPrefix(text[end:], "/") {
		return "", "", "", false
	}
	if rest = text[end:]; strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "#") {
		rest = rest[1+count(rest[1:], len(rest), func(c byte) bool { return pathByte(c) || strings.IndexByte("=&%+#?", c) >= 0 }):]
	}
	return path, number, rest, true
}
