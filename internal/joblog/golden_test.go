package joblog

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the logs in testdata look like; read it before committing")

// The logs are of real jobs, which TestALogOfTheRunnerIsReadable ran.
func TestLogsOfARunnerLookAsTheyDid(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) < 11 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	for _, path := range logs {
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := rendered(string(log))
		if found := hostile(page); found != "" {
			t.Errorf("%s: %s", path, found)
		}
		if pieces := rendered(string(log), 7, 31, 32, 33, 100, 1, 1, 1, 500); pieces != page {
			t.Errorf("%s is another in pieces", path)
		}
		golden := strings.TrimSuffix(path, ".log") + ".html"
		if *update {
			if err := os.WriteFile(golden, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if page != string(want) {
			t.Errorf("%s looks like\n%s\ninstead of\n%s", path, page, want)
		}
	}
}
