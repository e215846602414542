package repository

import (
	_ "embed"
	"path"
	"regexp"
	"strings"
	"sync"
)

// languageTable is what a library knows about names of files, a fact to a line.
// The library itself keeps 16 MB of tables, from the start of the process on,
// for what is asked once after a push; a test holds this against it and writes
// it anew (go test ./internal/repository -run Languages -update).
//
//go:embed languages.txt
var languageTable string

// languages says what names of files speak of.
type languages struct {
	byName   map[string]string // whole names
	byEnding map[string]string // ".go", and longer ones such as ".blade.php"
	foreign  *regexp.Regexp    // what others wrote, and prose
}

// made is what programs write, as far as it is in a language that counts.
var made = regexp.MustCompile(`(?i:\.designer\.(?:cs|vb)|\.feature\.cs|_tlb\.pas)$|.\.zep\.(?:c|h|php)$` +
	`|(?:^|/)(?:Pods|Carthage/Build|htmlcov|\.idea)/|(?:node_modules|__generated__|Godeps)/`)

// readLanguages parses the table when it is first needed.
func readLanguages() func() *languages {
	return sync.OnceValue(func() *languages {
		l := &languages{byName: map[string]string{}, byEnding: map[string]string{}}
		var foreign []string
		for line := range strings.Lines(languageTable) {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			fact, language, _ := strings.Cut(rest, "\t")
			switch kind {
			case "name":
				l.byName[fact] = language
			case "ending":
				l.byEnding[fact] = language
			case "foreign":
				foreign = append(foreign, fact)
			}
		}
		l.foreign = regexp.MustCompile(strings.Join(foreign, "|"))
		return l
	})
}

// counts reports whether a file is code that somebody wrote here.
func (l *languages) counts(file string) bool {
	return !strings.HasPrefix(path.Base(file), ".") && !l.foreign.MatchString(file) && !made.MatchString(file)
}

// of is the programming or markup language that a name speaks of.
func (l *languages) of(file string) string {
	if language, known := l.byName[path.Base(file)]; known {
		return language
	}
	file = strings.ToLower(file)
	for at := strings.IndexByte(file, '.'); at >= 0; {
		if language, known := l.byEnding[file[at:]]; known {
			return language
		}
		next := strings.IndexByte(file[at+1:], '.')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return ""
}
