package errortracking

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// version is a release by its numbers: "shop@1.4.2-rc.1".
type version struct {
	of      string // the package before it, or ""
	numbers []int
	before  string // what is appended to those that come before the release of these numbers
}

// versionOf reads a release; not every one is a version.
func versionOf(release string) (v version, ok bool) {
	if at := strings.LastIndexByte(release, '@'); at >= 0 {
		v.of, release = release[:at], release[at+1:]
	}
	release, _, _ = strings.Cut(strings.TrimPrefix(release, "v"), "+")
	release, v.before, _ = strings.Cut(release, "-")
	for part := range strings.SplitSeq(release, ".") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return version{}, false
		}
		v.numbers = append(v.numbers, int(n))
	}
	for len(v.numbers) > 1 && v.numbers[len(v.numbers)-1] == 0 { // 1.0 is 1
		v.numbers = v.numbers[:len(v.numbers)-1]
	}
	return v, true
}

// compare says which of two versions is the later one.
func (v version) compare(w version) int {
	return cmp.Or(slices.Compare(v.numbers, w.numbers), -present(v.before).compare(present(w.before)), slices.CompareFunc(
		strings.Split(v.before, "."), strings.Split(w.before, "."), func(a, b string) int {
			m, merr := strconv.Atoi(a)
			n, nerr := strconv.Atoi(b)
			if merr == nil && nerr == nil {
				return cmp.Compare(m, n)
			}
			return cmp.Compare(a, b)
		}))
}

type present string

func (p present) compare(q present) int { return cmp.Compare(min(1, len(p)), min(1, len(q))) }

// precedes reports whether a release is known to be earlier than another. Of commits and branches it is not.
func precedes(release, other string) bool {
	v, ok := versionOf(release)
	w, too := versionOf(other)
	return ok && too && (v.of == w.of || v.of == "" || w.of == "") && v.compare(w) < 0
}
