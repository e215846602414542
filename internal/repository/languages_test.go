package repository

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-enry/go-enry/v2"
	"github.com/go-enry/go-enry/v2/data"
)

var update = flag.Bool("update", false, "write languages.txt")

// spoken is the language of a name as the library has it, if it counts.
func spoken(file string) string {
	language, _ := enry.GetLanguageByFilename(file)
	if language == "" {
		language, _ = enry.GetLanguageByExtension(file)
	}
	return ifCode(language)
}

func ifCode(language string) string {
	switch enry.GetLanguageType(language) {
	case enry.Programming, enry.Markup:
		if group := enry.GetLanguageGroup(language); group != "" {
			return group
		}
		return language
	}
	return ""
}

func TestTheTableOfLanguagesIsTheLibrarys(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for _, facts := range []struct {
		kind string
		of   map[string][]string
	}{{"name", data.LanguagesByFilename}, {"ending", data.LanguagesByExtension}} {
		for _, fact := range slices.Sorted(maps.Keys(facts.of)) {
			fmt.Fprintf(&want, "%s\t%s\t%s\n", facts.kind, fact, ifCode(facts.of[fact][0]))
		}
	}
	for _, r := range slices.Concat(data.VendorMatchers, data.DocumentationMatchers) {
		fmt.Fprintf(&want, "foreign\t%s\n", r)
	}
	if *update {
		if err := os.WriteFile("languages.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if languageTable != want.String() {
		t.Error("languages.txt is stale: go test ./internal/repository -run Languages -update")
	}
}

func TestLanguagesOfNamesAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	l := readLanguages()()
	folders := []string{
		"", "src/", "vendor/", "vendor/example.com/x/", "node_modules/a/", "docs/", "Pods/x/", "a/Carthage/Build/", "htmlcov/", ".idea/", "x/__generated__/",
		"Godeps/", "dist/", "test/fixtures/", "third.party/", "examples/", "a/.git/b/",
	}
	names := []string{
		"main.go", "Makefile", "a.min.js", "jquery.js", "x.designer.cs", "Form.Designer.vb", "y.feature.cs", "a.zep.c", "b_TLB.pas", "page.blade.php", "X.PY",
		"README.md", "LICENSE", "CHANGELOG.rb", "noending", ".hidden.go", "a.", "a..go", "go.mod", "package-lock.json", "style.css", "schema.pb.go", "a.h", "b.m",
		"Cargo.lock", "Dockerfile", "a.d.ts", "x.tar.gz", "poetry.lock", "parser.tab.c", "a.xcworkspacedata", ".pnp.cjs", "b.generated.cs", "config.guess",
	}
	var files []string
	for _, folder := range folders {
		for _, name := range names {
			files = append(files, folder+name)
		}
	}
	for name := range data.LanguagesByFilename {
		files = append(files, "src/"+name)
	}
	for ending := range data.LanguagesByExtension {
		files = append(files, "a"+ending)
	}
	for _, file := range files {
		want, got := "", ""
		if !enry.IsVendor(file) && !enry.IsDotFile(file) && !enry.IsDocumentation(file) && !enry.IsGenerated(file, nil) {
			want = spoken(file)
		}
		if l.counts(file) {
			got = l.of(file)
		}
		if got != want {
			t.Errorf("%s: %q, the library says %q", file, got, want)
		}
	}
}
