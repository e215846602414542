// Package ledger ties what the documents promise to the tests that show it. It reads docs/spec/ledger.md, the rules of
// the API that hold, and docs/threats.md, the dangers that are guarded against, finds every test in the source tree, and
// says where the two disagree.
//
// It runs no test, and it owns neither document.
package ledger

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Row is one promise.
type Row struct {
	Line    int
	ID      string // "USER-17"
	Rule    string
	ShownBy string
}

var (
	rowID   = regexp.MustCompile(`^[A-Z][A-Z0-9]*-[0-9]{2,}$`)
	divider = regexp.MustCompile(`^:?-+:?$`)
)

// Parse reads the rows of all tables of a Markdown document whose first column is headed "id". Tables have three
// columns, and no id stands twice.
func Parse(document string) ([]Row, error) {
	var rows []Row
	inside := false
	lineOf := map[string]int{}
	for i, text := range strings.Split(document, "\n") {
		line := i + 1
		inner, isRow := strings.CutPrefix(strings.TrimSpace(text), "|")
		if !isRow {
			inside = false
			continue
		}
		cells := strings.Split(strings.TrimSuffix(inner, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !inside {
			inside = cells[0] == "id"
			continue
		}
		if divider.MatchString(cells[0]) {
			continue
		}
		if len(cells) != 3 {
			return nil, fmt.Errorf("line %d: %d columns instead of 3", line, len(cells))
		}
		row := Row{Line: line, ID: cells[0], Rule: cells[1], ShownBy: cells[2]}
		switch {
		case !rowID.MatchString(row.ID):
			return nil, fmt.Errorf("line %d: %q is not an id", line, row.ID)
		case lineOf[row.ID] != 0:
			return nil, fmt.Errorf("line %d: %s stands on line %d already", line, row.ID, lineOf[row.ID])
		case row.Rule == "" || row.ShownBy == "":
			return nil, fmt.Errorf("line %d: %s has an empty cell", line, row.ID)
		}
		lineOf[row.ID] = line
		rows = append(rows, row)
	}
	return rows, nil
}

// Unshown names the rows that point to no test, or to one that does not exist. What a row points to is separated by
// commas: a test as TestName, pkg.TestName or TestName/subtest, or a script of the end-to-end tests as e2e:name.
func Unshown(rows []Row, tests *Tests) []string {
	var problems []string
	for _, row := range rows {
		for name := range strings.SplitSeq(row.ShownBy, ",") {
			if name = strings.Trim(name, " `"); !tests.Has(name) {
				problems = append(problems, fmt.Sprintf("line %d: %s is shown by %q, which does not exist", row.Line, row.ID, name))
			}
		}
	}
	return problems
}

// Threats pairs claimed rows with the tests that carry their id, TestAU01_… for AU-01, and says which row has none and
// which test names no row.
func Threats(rows []Row, tests *Tests) (shown map[string][]string, problems []string) {
	shown = tests.ByThreat()
	claimed := map[string]bool{}
	for _, row := range rows {
		claimed[row.ID] = true
		if len(shown[row.ID]) == 0 {
			problems = append(problems, fmt.Sprintf("line %d: no test carries the id of %s", row.Line, row.ID))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		if !claimed[id] {
			problems = append(problems, fmt.Sprintf("%s: no row has the id %s", strings.Join(shown[id], ", "), id))
		}
	}
	return shown, problems
}
