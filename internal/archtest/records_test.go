package archtest

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var titleOfRecord = regexp.MustCompile(`^# (\d{4}): (.+)\n`)

func TestTheListOfDecisionsNamesEachRecord(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/adr/0*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d records are found: %v", len(files), err)
	}
	var want []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		title := titleOfRecord.FindStringSubmatch(string(text))
		if title == nil || !strings.HasPrefix(name, title[1]+"-") {
			t.Errorf("%s does not begin with its number and its title", name)
			continue
		}
		want = append(want, fmt.Sprintf("| [%s](%s) | %s |", title[1], name, title[2]))
	}
	text, err := os.ReadFile("../../docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| [") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/adr/README.md (-want +got):\n%s", diff)
	}
}

var quotedName = regexp.MustCompile("`([a-z0-9/]+)`")

// ARCHITECTURE.md has a row for each floor, and names its packages in full or by their last part.
func TestThePageOnArchitectureShowsTheFloorsInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Package (below `internal/`) | Owns |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	for i, floor := range floors {
		if i >= len(rows) {
			t.Fatalf("%q and what is above it has no row", floor)
		}
		cell := strings.Split(rows[i], "|")[1]
		named := map[string]bool{}
		for _, name := range quotedName.FindAllStringSubmatch(cell, -1) {
			named[path.Base(name[1])] = true
		}
		delete(named, "internal") // of a remark
		var want []string
		for _, name := range floor {
			want = append(want, path.Base(name))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(named))); diff != "" {
			t.Errorf("row %d of ARCHITECTURE.md (-want +got):\n%s", i+1, diff)
		}
	}
	if len(rows) != len(floors) {
		t.Errorf("ARCHITECTURE.md has %d rows for %d floors", len(rows), len(floors))
	}
}
