package repository

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/protection"
)

// maxPattern is the length of a regular expression that a client may send.
const maxPattern = 1000

// filter keeps the names that a search fits: ^ binds it to the beginning, $ to
// the end, * stands for any run of characters; case does not count. A
// regular expression is one of RE2, which cannot run away.
func filter(search, pattern string) (func(string) bool, error) {
	if pattern != "" {
		if search != "" {
			return nil, fault.WithMessage(fault.BadParams, "search, regex are mutually exclusive")
		}
		if len(pattern) > maxPattern {
			return nil, fault.WithMessage(fault.BadParams, "regex is too long (maximum is %d characters)", maxPattern)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fault.WithMessage(fault.BadParams, "regex is invalid")
		}
		return re.MatchString, nil
	}
	if search == "" {
		return nil, nil //nolint:nilnil // no filter is what was asked for
	}
	glob := strings.ToLower(search)
	var begins, ends bool
	glob, begins = strings.CutPrefix(glob, "^")
	glob, ends = strings.CutSuffix(glob, "$")
	if !begins {
		glob = "*" + glob
	}
	if !ends {
		glob += "*"
	}
	return func(name string) bool { return protection.Matches(glob, strings.ToLower(name)) }, nil
}

// first puts the ref of exactly this name before all others.
func first(refs []gitstore.Ref, fullName string) {
	if i := slices.IndexFunc(refs, func(r gitstore.Ref) bool { return r.Name == fullName }); i > 0 {
		hit := refs[i]
		copy(refs[1:i+1], refs[:i])
		refs[0] = hit
	}
}

// byVersion orders names as people number releases: runs of digits count as
// numbers.
func byVersion(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da != "" && db != "" {
			na, nb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if c := cmp.Or(cmp.Compare(len(na), len(nb)), strings.Compare(na, nb)); c != 0 {
				return c
			}
			a, b = a[len(da):], b[len(db):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}
