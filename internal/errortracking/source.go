package errortracking

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Revisions are the names that a release may have in the repository of its project, the likeliest first: as it is, and without the name of the package
// before it, "shop@1.4.2", where tags may have a v. A build that is appended, "1.4.2+3f2a9c1b", may be a commit.
func Revisions(release string) (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(release)
	version := release[strings.LastIndexByte(release, '@')+1:]
	version, build, _ := strings.Cut(version, "+")
	add(build)
	add(version)
	if version != "" && version[0] >= '0' && version[0] <= '9' {
		add("v" + version)
	}
	return names
}

// maxPaths is how many folders of the machine that a program ran on are tried to be left out.
const maxPaths = 8

// Paths are where the file of a call may be in the repository, the longest first: programs name files by where they are on the machine.
func (f *Frame) Paths() (paths []string) {
	file := path.Clean("/" + strings.ReplaceAll(f.File, `\`, "/"))[1:]
	for file != "" && len(paths) < maxPaths {
		paths = append(paths, file)
		_, rest, deeper := strings.Cut(file, "/")
		if !deeper {
			break
		}
		file = rest
	}
	return paths
}

// Wants reports whether the call is the program's own, and came without its lines.
func (f *Frame) Wants() bool { return f.InApp && f.Line > 0 && f.File != "" && len(f.Source) == 0 }

// Quote takes the lines around the call from its file. A file that is no text, or shorter, has none.
func (f *Frame) Quote(file string) {
	if !utf8.ValidString(file) || strings.ContainsRune(file, 0) {
		return
	}
	const each = maxLines / 2
	number := 0
	var lines []string
	for line := range strings.Lines(file) {
		if number++; number > f.Line+each {
			break
		}
		if number >= f.Line-each {
			lines = append(lines, clean(strings.TrimRight(line, "\r\n"), maxName))
		}
	}
	if number >= f.Line {
		f.First, f.Source = max(1, f.Line-each), lines
	}
}
