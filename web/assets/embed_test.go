package assets_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"stithy/web/assets"
)

func TestSU05_TheLockPinsContentAndNamesNoHost(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("../package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), "://") || !strings.Contains(string(lock), `"integrity": "sha512-`) {
		t.Error("package-lock.json names a host, or pins no content")
	}
}

func TestStyleSheetsLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	sheets, err := fs.Glob(assets.Files, "*.css")
	if err != nil || len(sheets) == 0 {
		t.Fatalf("no style sheets: %v", err)
	}
	for _, name := range sheets {
		text, err := fs.ReadFile(assets.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, remote := range []string{"@import", "url(http", "url(//", `url("http`, `url("//`, "url('http"} {
			if strings.Contains(string(text), remote) {
				t.Errorf("%s has %s", name, remote)
			}
		}
	}
}
