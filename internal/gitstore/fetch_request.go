package gitstore

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fetchChecker checks the lines of a fetch request before git sees them. Git
// ends with an error at lines that it does not understand, and takes a minute
// over some that it does.
type fetchChecker struct {
	filtered, deep, shallow bool

	without []string // names of refs whose history is not wanted
}

// maxWithout is how many names there may be: git walks the history of each.
const maxWithout = 100

// line takes note of a line and reports whether git may see it. All lines but
// flags are a word, a space and a value.
func (a *fetchChecker) line(word, value string, isPair bool) bool {
	if !isPair {
		return slices.Contains([]string{"done", "wait-for-done", "include-tag", "thin-pack", "no-progress", "ofs-delta", "deepen-relative"}, word)
	}
	switch word {
	case "have", "shallow":
		return IsOID(value)
	case "deepen":
		depth, err := strconv.ParseInt(value, 10, 32)
		repeated := a.deep || a.shallow
		a.deep = true
		return err == nil && depth > 0 && !repeated
	case "deepen-since":
		since, err := strconv.ParseInt(value, 10, 64)
		a.shallow = true
		return err == nil && since >= 0 && !a.deep
	case "deepen-not":
		a.shallow = true
		if !slices.Contains(a.without, value) {
			a.without = append(a.without, value)
		}
		return value != "" && !a.deep && len(a.without) <= maxWithout
	case "filter":
		repeated := a.filtered
		a.filtered = true
		return !repeated && knownFilter(value, true)
	}
	return false
}

// What a filter may be made of.
const (
	maxFilter   = 1000 // bytes
	maxCombined = 8
	mustEscape  = "~`!@#$^&*()[]{}\\;'\",<>?"
)

// knownFilter reports whether git may apply a filter. Combinations are not
// nested: git takes a minute over a few thousand of them inside each other.
// Filters by patterns from a file of the repository (sparse) are refused: an
// attacker can write patterns that take for ever to match, and they may name
// any revision.
func knownFilter(spec string, combines bool) bool {
	kind, value, _ := strings.Cut(spec, ":")
	switch {
	case len(spec) > maxFilter:
		return false
	case kind == "blob" && strings.HasPrefix(value, "limit="):
		number, bits := strings.TrimPrefix(value, "limit="), 63
		if unit := len(number) - 1; unit > 0 && strings.IndexByte("kKmMgG", number[unit]) >= 0 {
			number, bits = number[:unit], 33
		}
		_, err := strconv.ParseUint(number, 10, bits)
		return err == nil
	case kind == "blob":
		return value == "none"
	case kind == "tree":
		_, err := strconv.ParseUint(value, 10, 32)
		return err == nil
	case kind == "object":
		return slices.Contains([]string{"type=blob", "type=tree", "type=commit", "type=tag"}, value)
	case kind == "combine" && combines:
		parts := strings.Split(value, "+")
		return len(parts) <= maxCombined && !slices.ContainsFunc(parts, func(part string) bool {
			plain, err := url.PathUnescape(part)
			strange := strings.ContainsFunc(part, func(c rune) bool { return c <= ' ' || strings.ContainsRune(mustEscape, c) })
			return err != nil || strange || !knownFilter(plain, false)
		})
	}
	return false
}

// refusals are parts of git's messages about requests that name what the
// repository does not have: the client's mistake, and not ours.
var refusals = []string{"ambiguous deepen-not", "invalid shallow object", "no commits selected for shallow requests"}

// checkWithout refuses names of refs that the client does not see: from what git answers, it could tell which hidden refs exist.
func (a *fetchChecker) checkWithout(refs []Ref) error {
	if len(a.without) == 0 {
		return nil
	}
	shown := make(map[string]struct{}, 3*len(refs))
	for _, ref := range refs {
		shown[ref.Name] = struct{}{}
		shown[strings.TrimPrefix(ref.Name, "refs/")] = struct{}{}
		shown[cmp.Or(ref.Branch(), ref.TagName())] = struct{}{}
	}
	for _, name := range a.without {
		if _, known := shown[name]; !known {
			return &RefusedError{Text: "upload-pack: ambiguous deepen-not: " + clean(name)}
		}
	}
	return nil
}

// upload lets git answer a fetch. What it refuses is told to the client.
func (r *Repo) upload(ctx context.Context, c call, out io.Writer) error {
	err := r.run(ctx, c, out)
	failure, ok := errors.AsType[*commandError](err)
	if ok && slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(failure.text, words) }) {
		return &RefusedError{Text: strings.TrimPrefix(failure.text, "fatal: ")}
	}
	return err
}
