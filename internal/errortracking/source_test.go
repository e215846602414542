package errortracking

import (
	"slices"
	"strings"
	"testing"
)

func TestAReleaseIsLookedForByEachOfItsNames(t *testing.T) {
	t.Parallel()
	for release, want := range map[string][]string{
		"":                     nil,
		"main":                 {"main"},
		"1.4.2":                {"1.4.2", "v1.4.2"},
		"v1.4.2":               {"v1.4.2"},
		"shop@1.4.2":           {"shop@1.4.2", "1.4.2", "v1.4.2"},
		"shop@1.4.2+3f2a9c1b7": {"shop@1.4.2+3f2a9c1b7", "3f2a9c1b7", "1.4.2", "v1.4.2"},
		"@shop/web@2":          {"@shop/web@2", "2", "v2"},
		"shop@":                {"shop@"},
	} {
		if got := Revisions(release); !slices.Equal(got, want) {
			t.Errorf("%s: %q", release, got)
		}
	}
}

func TestAFileIsLookedForBelowEachOfItsFolders(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"":                                nil,
		"/":                               nil,
		"print.go":                        {"print.go"},
		"./cmd/print.go":                  {"cmd/print.go", "print.go"},
		"/srv/app/cmd/print.go":           {"srv/app/cmd/print.go", "app/cmd/print.go", "cmd/print.go", "print.go"},
		`C:\app\print.go`:                 {"C:/app/print.go", "app/print.go", "print.go"},
		"../../etc/passwd":                {"etc/passwd", "passwd"},
		strings.Repeat("a/", 20) + "b.go": nil,
	} {
		got := (&Frame{File: file}).Paths()
		if len(got) > maxPaths || (want != nil || file == "" || file == "/") && !slices.Equal(got, want) {
			t.Errorf("%s: %q", file, got)
		}
	}
}

func TestLinesAroundACallAreQuoted(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	for n := range 40 {
		file.WriteString(strings.Repeat("x", n+1) + "\r\n")
	}
	for _, c := range []struct{ line, first, lines int }{{1, 1, 6}, {3, 1, 8}, {20, 15, 11}, {40, 35, 6}, {41, 0, 0}, {1 << 30, 0, 0}} {
		f := Frame{Line: c.line}
		f.Quote(file.String())
		if f.First != c.first || len(f.Source) != c.lines || (c.lines > 0 && len(f.Source[f.Line-f.First]) != c.line) {
			t.Errorf("line %d: %d lines from %d", c.line, len(f.Source), f.First)
		}
	}
	for _, odd := range []string{"", "a\x00b", "\xff\xfe"} {
		f := Frame{Line: 1}
		if f.Quote(odd); f.Source != nil {
			t.Errorf("%q is quoted as %q", odd, f.Source)
		}
	}
	f := Frame{Line: 1}
	if f.Quote(strings.Repeat("é", 5000)); len(f.Source) != 1 || len(f.Source[0]) > maxName {
		t.Errorf("a long line has %d bytes", len(f.Source[0]))
	}
	if (&Frame{InApp: true, Line: 1, File: "a"}).Wants() == (&Frame{Line: 1, File: "a"}).Wants() {
		t.Error("calls of libraries are looked up like the program's own")
	}
}
