package markdown

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxReferred is how many bytes of a text count for who and what it names.
const MaxReferred = 64 << 10

// References are the people and things that a text names outside of code, in its order; files and commits are left out. A text that takes too long to
// read names nothing. It fails only when the context ends.
func References(ctx context.Context, source string) (all []Reference, err error) {
	if len(source) > MaxReferred {
		source = source[:MaxReferred]
		source = source[:strings.LastIndexAny(source, " \n")+1] // half a name is another one
	}
	spots, err := Spots(ctx, strings.ReplaceAll(strings.ToValidUTF8(source, "\uFFFD"), "\x00", "\uFFFD"))
	for _, s := range spots {
		if s.Kind != Commit && s.Kind != Range {
			all = append(all, s.Reference)
		}
	}
	return all, err
}

// Spot is a reference in a text, and where it stands there.
type Spot struct {
	Reference
	From, To int
}

// Spots are the references of a text outside of code and of addresses, in its order. A text that is too long or takes too long to read has none.
// It fails only when the context ends.
func Spots(ctx context.Context, source string) (all []Spot, err error) {
	if len(source) > MaxText || !strings.ContainsAny(source, "@#!$~%^>") || !modest(source) {
		return nil, nil
	}
	ctx, stop := context.WithTimeoutCause(ctx, budget, errCostly)
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			all, err = nil, ended(r)
		}
		if errors.Is(err, errCostly) {
			err = nil
		}
	}()
	run, _ := parse(ctx, []byte(source))
	for _, in := range run.inserts {
		if r := in.reference; r != nil && r.Kind != Upload {
			all = append(all, Spot{*r, in.from, in.to})
		}
	}
	return all, nil
}

// maxReferences is how many references of a text are looked up; the others stay text.
const maxReferences = 500

// scan finds the next reference in a text, from a position on: what it is and where it begins and ends. before is the
// letter in front of the text.
func scan(text string, from int, before rune) (r Reference, start, end int, found bool) {
	for i := from; i < len(text); {
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(text[:i])
		}
		if !wordly(before) && before != '/' && before != '\\' {
			if r, length := referenceAt(text[i:]); length > 0 {
				r.Text = text[i : i+length]
				return r, i, i + length, true
			}
		}
		// A path or a digest is looked at from its beginning only.
		_, size := utf8.DecodeRuneInString(text[i:])
		if word := wordLength(text[i:]); word > size {
			size = word
		}
		i += size
	}
	return Reference{}, 0, 0, false
}

// wordly letters are part of a word: what follows one begins no reference.
func wordly(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordLength(text string) int {
	n := 0
	for n < len(text) && pathByte(text[n]) {
		n++
	}
	return n
}

func pathByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/'
}

func hexByte(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// count is how many of the first bytes, up to most, are of a kind.
func count(text string, most int, is func(byte) bool) int {
	n := 0
	for n < len(text) && n < most && is(text[n]) {
		n++
	}
	return n
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

const (
	maxNumber = 18
	maxName   = 255
	maxPath   = 1000
	minSHA    = 7
	maxSHA    = 40
)

// signs are the marks of references that follow a path, or stand alone.
var signs = map[byte]Kind{'#': Issue, '!': MergeRequest, '$': Snippet, '~': Label, '%': Milestone}

// referenceAt reads the reference that a text begins with, and its length.
func referenceAt(text string) (Reference, int) {
	switch {
	case text[0] == '@':
		if name := mention(text[1:]); name != "" {
			return Reference{Kind: Mention, Name: name}, 1 + len(name)
		}
		return Reference{}, 0
	case strings.HasPrefix(text, "^alert#"):
		return numbered(Reference{Kind: Alert}, text, len("^alert#"))
	case signs[text[0]] != "":
		return signed(Reference{Kind: signs[text[0]]}, text, 1)
	}
	length := min(wordLength(text), maxPath+1)
	if length == 0 || length > maxPath {
		return Reference{}, 0
	}
	path := text[:length]
	if r, n := digests(Reference{}, text, 0); n > 0 {
		return r, n
	}
	if length == len(text) || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.Contains(path, "//") {
		return Reference{}, 0
	}
	switch sign := text[length]; {
	case sign == '>' && strings.Contains(path, "/"):
		return Reference{Kind: Project, Path: path}, length + 1
	case sign == '@':
		return digests(Reference{Path: path}, text, length+1)
	case strings.HasPrefix(text[length:], "^alert#"):
		return numbered(Reference{Kind: Alert, Path: path}, text, length+len("^alert#"))
	case signs[sign] != "":
		return signed(Reference{Kind: signs[sign], Path: path}, text, length+1)
	}
	return Reference{}, 0
}

// signed reads what follows the sign of a reference.
func signed(r Reference, text string, at int) (Reference, int) {
	if r.Kind != Label && r.Kind != Milestone {
		return numbered(r, text, at)
	}
	if rest := text[at:]; strings.HasPrefix(rest, `"`) {
		name, _, closed := strings.Cut(rest[1:min(len(rest), maxName+3)], `"`)
		if !closed || name == "" || len(name) > maxName || strings.Contains(name, "\n") {
			return Reference{}, 0
		}
		r.Name = name
		return r, at + len(name) + 2
	}
	n := count(text[at:], maxName, func(c byte) bool {
		return c >= utf8.RuneSelf || pathByte(c) && c != '/' || c == ':' || c == '&' || c == '?'
	})
	name := strings.TrimRight(text[at:at+n], ".:?&")
	if name == "" || !utf8.ValidString(name) {
		return Reference{}, 0
	}
	r.Name = name
	return r, at + len(name)
}

// numbered reads a number, and how much of the thing is to be shown.
func numbered(r Reference, text string, at int) (Reference, int) {
	n := count(text[at:], maxNumber, digit)
	rest := text[at+n:]
	if n == 0 || text[at] == '0' || begins(rest) {
		return Reference{}, 0
	}
	r.Name = text[at : at+n]
	for _, show := range []string{"+s", "+"} {
		if strings.HasPrefix(rest, show) && !begins(rest[len(show):]) {
			r.Show = show
			return r, at + n + len(show)
		}
	}
	return r, at + n
}

// begins reports whether a text goes on with a letter or digit.
func begins(text string) bool {
	next, _ := utf8.DecodeRuneInString(text)
	return text != "" && wordly(next)
}

// digests reads the digest of a commit, or a range of two.
func digests(r Reference, text string, at int) (Reference, int) {
	one := count(text[at:], maxSHA, hexByte)
	end := at + one
	if one < minSHA || !mixed(text[at:end]) {
		return Reference{}, 0
	}
	r.Kind, r.Name = Commit, text[at:end]
	for _, dots := range []string{"...", ".."} {
		after, ranged := strings.CutPrefix(text[end:], dots)
		if two := count(after, maxSHA, hexByte); ranged && two >= minSHA && !continues(after[two:]) {
			r.Kind, r.Name = Range, text[at:end+len(dots)+two]
			return r, end + len(dots) + two
		}
	}
	if continues(text[end:]) {
		return Reference{}, 0
	}
	return r, end
}

// continues reports whether a word or path goes on, so that what came before is no digest.
func continues(text string) bool {
	word := text[:wordLength(text)]
	return strings.Trim(word, ".") != "" || begins(text)
}

// mixed digests hold a digit: a word of the letters a to f is a word.
func mixed(sha string) bool { return strings.ContainsAny(sha, "0123456789") }

// mention reads the name of a person or the path of a group.
func mention(text string) string {
	n := count(text, maxPath, pathByte)
	name := strings.TrimRight(text[:n], "./-")
	if name == "" || name[0] == '/' || name[0] == '-' || name[0] == '.' || strings.Contains(name, "//") {
		return ""
	}
	return name
}
