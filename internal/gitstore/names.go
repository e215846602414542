package gitstore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How long names may be. A ref is a file, and its lock has a longer name.
const (
	maxRefName      = 1024
	maxRefComponent = 250
	maxPath         = 4096
	maxRevision     = 1100
)

// hexName is a name that could be taken for an object id, of SHA-1 or SHA-256.
var hexName = regexp.MustCompile(`^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`)

// CheckRefName refuses full ref names that git does not take, and some that git takes: branches and tags that read
// like an id, like HEAD or like a full name, and characters that change how a name is shown.
func CheckRefName(name string) error {
	if !wellFormedRef(name) || !utf8.ValidString(name) || strings.ContainsFunc(name, misleading) {
		return fmt.Errorf("ref name %.100q: %w", name, ErrInvalid)
	}
	for _, prefix := range []string{Branches, Tags} {
		short, ok := strings.CutPrefix(name, prefix)
		if ok && (short[0] == '-' || short == "HEAD" || short == "@" || hexName.MatchString(short) ||
			strings.HasPrefix(short, "refs/")) {
			return fmt.Errorf("ref name %.100q: %w", name, ErrInvalid)
		}
	}
	return nil
}

// wellFormedRef is what git itself wants of a full name. A name that passes is also safe as a path below the
// repository.
func wellFormedRef(name string) bool {
	if len(name) > maxRefName || !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || len(part) > maxRefComponent || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ', c == 0x7f, strings.IndexByte(`~^:?*[\`, c) >= 0:
			return false
		}
	}
	return !strings.Contains(name, "..") && !strings.Contains(name, "@{")
}

// misleading are characters that nobody sees and that change what everybody sees.
func misleading(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// CheckPath refuses paths that may not stand in a commit: empty or dotted parts, control characters, and ".git" in
// every spelling that some file system takes for it.
func CheckPath(path string) error {
	if path == "" || len(path) > maxPath || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return fmt.Errorf("path %.100q: %w", path, ErrInvalid)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || len(part) > 255 {
			return fmt.Errorf("path %.100q: %w", path, ErrInvalid)
		}
		// Windows takes a backslash for a slash.
		for piece := range strings.SplitSeq(part, `\`) {
			if piece == ".." || isDotGit(piece) {
				return fmt.Errorf("path %.100q: %w", path, ErrInvalid)
			}
		}
	}
	return nil
}

// isDotGit tells the names under which Linux, HFS+ or NTFS open ".git".
func isDotGit(name string) bool {
	// HFS+ does not see some characters.
	name = strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	// NTFS has streams behind a colon, drops dots and spaces at the end, and knows long names by short ones.
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || len(name) == len("git~1") && strings.HasPrefix(name, "git~") && name[4] >= '0' && name[4] <= '9'
}

func ignoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == 0xad
}

// CheckRevision refuses what cannot be the name of a commit, before anything is looked up.
func CheckRevision(revision string) error {
	if revision == "" || len(revision) > maxRevision || revision[0] == '-' || !utf8.ValidString(revision) ||
		strings.ContainsFunc(revision, unicode.IsControl) || strings.ContainsAny(revision, ` :?*[\`) ||
		strings.Contains(revision, "..") || strings.Contains(revision, "@{") {
		return fmt.Errorf("revision %.100q: %w", revision, ErrInvalid)
	}
	return nil
}
