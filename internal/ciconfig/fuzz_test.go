package ciconfig

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// slow is far above what any input of a fuzzer takes on a busy machine.
const slow = 5 * time.Second

func corpus(t testing.TB) []*txtar.Archive {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all []*txtar.Archive
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// Whatever is read, reading ends, and what could be used is used the same when the merged view is read.
func FuzzLoad(f *testing.F) {
	for _, a := range corpus(f) {
		var included []byte
		for _, file := range a.Files {
			if strings.HasPrefix(file.Name, "local ") {
				included = file.Data
			}
		}
		f.Add(archived(a, "config"), included)
	}
	for _, bomb := range bombs() {
		if len(bomb) < 10_000 {
			f.Add([]byte(bomb), []byte(nil))
		}
	}
	f.Fuzz(func(t *testing.T, content, included []byte) {
		began := time.Now()
		src := &loopSource{body: string(included)}
		opt := LoadOptions{Content: content, Place: Place{Project: "group/app"}, Facts: Facts{
			Source: "push", Ref: "main", Variables: Variables{{Key: "A", Value: "$B"}, {Key: "B", Value: "x"}},
			Exists: ExistsIn(func() []string { return []string{"a/b.txt"} }), Changes: func() ([]string, bool) { return []string{"a/b.txt"}, true },
		}}
		c, problems, err := Load(t.Context(), src, opt)
		if err != nil {
			return // the source's
		}
		if len(problems) == 0 {
			plan, said := c.Plan(opt.Facts)
			opt.Content = c.Merged()
			if len(opt.Content) <= MaxFile && !crowded(opt.Content) {
				again, problems, err := Load(t.Context(), src, opt)
				if err != nil || len(problems) > 0 {
					t.Fatalf("the merged view is refused: %v %v\n%s", problems, err, opt.Content)
				}
				samePlan(t, plan, said, again, opt.Facts)
			}
		}
		if took := time.Since(began); took > slow {
			t.Errorf("it took %v", took)
		}
	})
}

// samePlan compares what two configurations run, without the places in files.
func samePlan(t *testing.T, plan *Plan, said []Problem, other *Config, facts Facts) {
	t.Helper()
	again, saidAgain := other.Plan(facts)
	var a, b strings.Builder
	tell(&a, plan, unplaced(said))
	tell(&b, again, unplaced(saidAgain))
	if a.String() != b.String() {
		t.Errorf("the plan was\n%s\nand by the merged view is\n%s", a.String(), b.String())
	}
}

func unplaced(problems []Problem) []Problem {
	out := make([]Problem, len(problems))
	for i, p := range problems {
		out[i].Message = p.Message
	}
	return out
}

func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		`$A`, `$A == "1" && ($B != null || $C =~ /x\/y/i)`, `'a' !~ $B`, `((((`, `$A =~ "/x/"`, `/a/ == "b"`, `null`, `$`, `"`, `/`, `$A||$B&&$C`,
	} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		began := time.Now()
		e, err := ParseExpression(text)
		if err == nil {
			e.Holds(func(name string) (string, bool) { return value, len(name)%2 == 0 })
			again, err := ParseExpression("(" + text + ")")
			if err == nil && again.Holds(func(string) (string, bool) { return value, true }) != e.Holds(func(string) (string, bool) { return value, true }) {
				t.Errorf("parentheses change %q", text)
			}
		}
		if took := time.Since(began); took > slow {
			t.Errorf("it took %v", took)
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"**/*.go", "a/{b,c}/*", "[a-z]?", "[!x]", `\*`, "{{a,b},c}", "**", "a/**/b", "[", "{"} {
		f.Add(seed, "a/b/c.go")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := ParseGlob(pattern)
		if err != nil {
			return
		}
		g.Match(path)
		if !strings.ContainsAny(pattern, `*?[{\`) && !strings.HasPrefix(pattern, "/") && !g.Match(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"1h 30m", "2 weeks and 3 days", "never", "42", "1:30:00", "1.5 hours", "9999999999 years"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, _, err := ParseDuration(s); err == nil && d < 0 {
			t.Errorf("%q is %v", s, d)
		}
	})
}
