package changelog

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/gitstore"
)

func TestAVersionIsSemantic(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"1.2.3", "v1.2.3", "0.0.0", "1.2.3-rc.1", "1.2.3+build.5", "10.20.30-a-b+c"} {
		if _, err := parseVersion(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "x1.2.3", "1.2.3\n", "1.2.3 ## x", "99999999999999999999.0.0", "v", strings.Repeat("1", 300) + ".0.0"} {
		if _, err := parseVersion(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func tags(names ...string) (refs []gitstore.Ref) {
	for i, name := range names {
		refs = append(refs, gitstore.Ref{Name: gitstore.Tags + name, Peeled: gitstore.OID(fmt.Sprintf("%040d", i))})
	}
	return refs
}

func always() bool { return true }

func TestTheRangeBeginsAtTheLastStableVersionBefore(t *testing.T) {
	t.Parallel()
	usual, err := compileTags(defaultTagPattern)
	if err != nil {
		t.Fatal(err)
	}
	all := tags("v1.0.0", "1.9.0", "v1.10.0", "1.11.0-rc1", "nightly", "v2.0.0", "v1.10.0-pre", "1.10", "v3.0.0+ee", "x1.9.9", "99999999999999999999.0.0")
	for version, want := range map[string]string{
		"1.11.0": "v1.10.0", "1.10.0": "1.9.0", "1.0.1": "v1.0.0", "2.0.0-rc1": "v1.10.0", "9.9.9": "v3.0.0+ee", "2.5.0": "v2.0.0",
	} {
		v, _ := parseVersion(version)
		if got, err := usual.before(v, all, always); err != nil || got.TagName() != want {
			t.Errorf("%s: got %s, %v", version, got.Name, err)
		}
	}
	v, _ := parseVersion("1.0.0")
	if _, err := usual.before(v, all, always); err == nil || err.Error() != "The commit start range is unspecified, and no previous tag could be found to use instead" {
		t.Errorf("got %v", err)
	}
	own, err := compileTags(`^release-(?<major>\d+)_(?<minor>\d+)_(?<patch>\d+)$`)
	if err != nil {
		t.Fatal(err)
	}
	v, _ = parseVersion("2.0.0")
	if got, err := own.before(v, tags("1.9.9", "release-1_2_3"), always); err != nil || got.TagName() != "release-1_2_3" {
		t.Errorf("got %s, %v", got.Name, err)
	}
}

// DO-01: the pattern of tags is a project's own, and costs what any other does.
// cpu is what f costs on its thread, however busy the machine is.
func cpu(t *testing.T, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		const thread = 1 // RUSAGE_THREAD
		var u syscall.Rusage
		if err := syscall.Getrusage(thread, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}

func TestDO01_ThePatternOfTagsIsBounded(t *testing.T) {
	t.Parallel()
	groups := `(?P<major>\d+)\.(?P<minor>\d+)\.(?P<patch>\d+)`
	for name, pattern := range map[string]string{
		"not a pattern": "(", "without groups": `^v\d+`, "looking ahead": `(?=a)` + groups, "long": groups + strings.Repeat("a", 1_000),
		"large": groups + strings.Repeat(".{999}", 100), "nested": groups + "((a{30}){30}){30}",
	} {
		var err error
		took := cpu(t, func() { _, err = compileTags(pattern) })
		if err == nil || !strings.HasPrefix(err.Error(), "The regular expression to use for finding the previous tag for a version is invalid: ") {
			t.Errorf("%s: got %v", name, err)
		}
		if took > time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
	usual, _ := compileTags(defaultTagPattern)
	v, _ := parseVersion("2.0.0")
	asked := 0
	never := func() bool { asked++; return asked < 3 }
	if _, err := usual.before(v, tags(make([]string, 5_000)...), never); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("got %v", err)
	}
	// The most that a pattern may cost: every tag is long, and every step of the pattern is alive at every letter.
	costly, err := compileTags(groups + strings.Repeat("(.*a)", 100) + "$")
	if err != nil {
		t.Fatal(err)
	}
	if took := cpu(t, func() { costly.version("1.2.3" + strings.Repeat("a", 250)) }); took > time.Second {
		t.Errorf("one tag took %v", took)
	}
}

func TestDatesAreWrittenByTheFormat(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 3, 4, 5, 6, 789e6, time.UTC)
	for format, want := range map[string]string{
		"%Y-%m-%d": "2024-02-03", "%-d. %B %y": "3. February 24", "%e|%k": " 3| 4", "%^a %b %j": "SAT Feb 034", "%H:%M:%S.%L": "04:05:06.789",
		"%I %l %p %P": "04  4 AM am", "%F %T %R %D": "2024-02-03 04:05:06 04:05 02/03/24", "%u%w %V %G %C": "66 05 2024 20", "%s": "1706933106",
		"%z %Z": "+0000 UTC", "100%%": "100%", "%Q %": "%Q %", "%-": "%-", "plain": "plain", "%n%t": "\n\t", "%_m": " 2", "%0e": "03",
	} {
		if got := strftime(format, at); got != want {
			t.Errorf("%q: got %q, want %q", format, got, want)
		}
	}
}

func TestASectionJoinsTheFileInTheOrderOfVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, version, want string }{
		"a new file":      {"", "1.0.0", "NEW\n"},
		"on top":          {"## 1.0.0 (x)\n\na\n", "1.1.0", "NEW\n## 1.0.0 (x)\n\na\n"},
		"below a preface": {"# Log\n\n## 1.0.0\n", "2.0.0", "# Log\n\nNEW\n## 1.0.0\n"},
		"between":         {"## 1.10.0\n\n## 1.2.0\n", "1.9.0", "## 1.10.0\n\nNEW\n## 1.2.0\n"},
		"at the end":      {"## 2.0.0\n\na\n", "1.0.0", "## 2.0.0\n\na\n\nNEW\n"},
		"no line at end":  {"## 2.0.0", "1.0.0", "## 2.0.0\n\nNEW\n"},
		"of text":         {"hello\n", "1.0.0", "hello\n\nNEW\n"},
		"letters":         {"## v1.0.0\n", "v1.1.0", "NEW\n## v1.0.0\n"},
		"not in order":    {"## 1.0.0\n\n## 3.0.0\n\n## 2.0.0\n", "2.5.0", "## 1.0.0\n\n## 3.0.0\n\nNEW\n## 2.0.0\n"},
		"other headings":  {"## Unreleased\n\n## 1.0.0\n", "2.0.0", "## Unreleased\n\nNEW\n## 1.0.0\n"},
		"a pre-release":   {"## 1.0.0-rc1 (x)\n", "1.0.0", "NEW\n## 1.0.0-rc1 (x)\n"},
		"there already":   {"## 1.0.0 (x)\n", "1.0.0", ""},
		"there, as v":     {"## v1.0.0 (x)\n", "1.0.0", ""},
	} {
		got, changed := join(c.file, c.version, "NEW\n")
		if want := c.want; changed != (want != "") || changed && got != want {
			t.Errorf("%s: got %q, %v", name, got, changed)
		}
	}
}

func TestSectionsStayInOrderHoweverTheyCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file := ""
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 1, 12).Draw(t, "minors") {
			version := fmt.Sprintf("1.%d.0", n)
			file, _ = join(file, version, section(version, "x", "body"))
		}
		var seen []int
		for _, m := range heading.FindAllStringSubmatch(file, -1) {
			var minor int
			_, _ = fmt.Sscanf(m[1], "1.%d.0", &minor)
			if len(seen) > 0 && seen[len(seen)-1] <= minor {
				t.Fatalf("got %s", file)
			}
			seen = append(seen, minor)
		}
	})
}

func TestAConfigurationIsReadOverTheDefaults(t *testing.T) {
	t.Parallel()
	for _, empty := range []string{"", "---\n", "# nothing\n", "other: 1\n"} {
		c, err := parseConfig([]byte(empty))
		if err != nil || c.dateFormat != "%Y-%m-%d" || c.titleOf("fix") != "fix" || c.template == nil || c.tags == nil {
			t.Errorf("%q: got %+v, %v", empty, c, err)
		}
	}
	c, err := parseConfig([]byte("date_format: '%d.%m.%Y'\ncategories:\n  feature: Features\n  bug: Fixes\ninclude_groups:\n  - a/b\n  - /c/\ntemplate: 'x'\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/b", "c"}, c.includeGroups); diff != "" {
		t.Error(diff)
	}
	if c.titleOf("bug") != "Fixes" || c.titleOf("other") != "other" || c.categories[0].value != "feature" || c.dateFormat != "%d.%m.%Y" {
		t.Errorf("got %+v", c)
	}
	for text, want := range map[string]string{
		"categories: []":          `The "categories" configuration key must be a Hash`,
		"categories: x":           `The "categories" configuration key must be a Hash`,
		"template: [1]":           `The "template" configuration key must be a String`,
		"template: '{{'":          "Failed to parse the template",
		"include_groups: x":       `The "include_groups"`,
		"tag_regex: '('":          "The regular expression",
		"- a":                     "must be a Hash",
		"a: [":                    "not valid YAML",
		"a: &x 1\ntemplate: *x":   "aliases",
		"categories: {a: {b: c}}": "Hash of texts",
	} {
		if _, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("categories:\n  a: b\ntemplate: '{{ x }}'\ndate_format: '%Y'\ntag_regex: 'a'\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxConfig {
			return
		}
		c, err := parseConfig(text)
		if err == nil && (c.template == nil || c.tags == nil) {
			t.Fatal("half a configuration")
		}
	})
}

func TestTheDefaultTemplateReadsAsClientsKnowIt(t *testing.T) {
	t.Parallel()
	c, err := parseConfig([]byte("categories: {feature: Features, bug: Fixes, none: Nothing}"))
	if err != nil {
		t.Fatal(err)
	}
	commit := func(n int, title, email string) *gitstore.Commit {
		return &gitstore.Commit{ID: gitstore.OID(strings.Repeat(fmt.Sprint(n), 40)), Message: title + "\n\nbody", Author: gitstore.Signature{Email: email}}
	}
	chosen := []entry{
		{commit: commit(1, "Newest", ""), category: "other"},
		{commit: commit(2, "Second", "Ada@example.com"), category: "feature"},
		{commit: commit(3, "First", "bob@example.com"), category: "feature"},
		{commit: commit(4, "Mend", ""), category: "bug"},
	}
	authors := map[string]author{"ada@example.com": {username: "ada", contributor: true, credit: true}, "bob@example.com": {username: "bob"}}
	body, err := c.template.render(t.Context(), data(chosen, c, "group/app", authors))
	if err != nil {
		t.Fatal(err)
	}
	id := func(n int) string { return strings.Repeat(fmt.Sprint(n), 40) }
	want := "## 1.2.0 (2024-02-01)\n\n### Features (2 changes)\n\n- [Second](group/app@" + id(2) + ") by @ada\n- [First](group/app@" + id(3) +
		")\n\n### Fixes (1 change)\n\n- [Mend](group/app@" + id(4) + ")\n\n### other (1 change)\n\n- [Newest](group/app@" + id(1) + ")\n\n"
	if diff := cmp.Diff(want, section("1.2.0", "2024-02-01", body)); diff != "" {
		t.Error(diff)
	}
	body, err = c.template.render(t.Context(), data(nil, c, "group/app", nil))
	if err != nil || section("1.2.0", "d", body) != "## 1.2.0 (d)\n\nNo changes.\n\n" {
		t.Errorf("got %q, %v", body, err)
	}
}
