package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
