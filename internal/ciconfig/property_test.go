package ciconfig

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTheMergedViewRunsTheSame(t *testing.T) {
	t.Parallel()
	valid := 0
	for _, a := range corpus(t) {
		facts, opt := factsOf(t, archived(a, "facts"))
		opt.Content, opt.Facts = archived(a, "config"), facts
		c, problems, err := Load(t.Context(), archiveSource{a}, opt)
		if err != nil || len(problems) > 0 {
			continue
		}
		valid++
		plan, said := c.Plan(facts)
		opt.Content, opt.Inputs = c.Merged(), nil
		again, problems, err := Load(t.Context(), nil, opt)
		if err != nil || len(problems) > 0 {
			t.Errorf("%.80s: the merged view is refused: %v %v", a.Comment, problems, err)
			continue
		}
		samePlan(t, plan, said, again, facts)
		if diff := cmp.Diff(string(c.Merged()), string(again.Merged())); diff != "" {
			t.Errorf("%.80s: merging again changes the view:\n%s", a.Comment, diff)
		}
	}
	if valid < 80 {
		t.Errorf("only %d files of the corpus are valid", valid)
	}
}

func TestAJobIsTheSameAfterBeingKeptAsJSON(t *testing.T) {
	t.Parallel()
	for _, a := range corpus(t) {
		facts, opt := factsOf(t, archived(a, "facts"))
		opt.Content, opt.Facts = archived(a, "config"), facts
		c, problems, err := Load(t.Context(), archiveSource{a}, opt)
		if err != nil || len(problems) > 0 {
			continue
		}
		plan, _ := c.Plan(facts)
		for _, j := range plan.Jobs {
			first, err := json.Marshal(j.Job)
			if err != nil {
				t.Fatal(err)
			}
			var back Job
			if err := json.Unmarshal(first, &back); err != nil {
				t.Fatal(err)
			}
			if (back.Needs == nil) != (j.Needs == nil) || (back.Dependencies == nil) != (j.Dependencies == nil) {
				t.Errorf("%.80s: %s lost an empty list", a.Comment, j.Name)
			}
			second, err := json.Marshal(back)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(first), string(second)); diff != "" {
				t.Errorf("%.80s: %s", a.Comment, diff)
			}
		}
	}
}

var someKey = rapid.SampledFrom([]string{"A", "B", "C", "D", "E"})

func someVariables(t *rapid.T) Variables {
	var v Variables
	for range rapid.IntRange(0, 8).Draw(t, "n") {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"x", "$$", "%%", "$", "é", "$UNKNOWN", "${", "a b"}),
			rapid.Map(someKey, func(k string) string { return "$" + k }),
			rapid.Map(someKey, func(k string) string { return "${" + k + "}" }),
			rapid.Map(someKey, func(k string) string { return "%" + k + "%" }),
		), 0, 4).Draw(t, "parts")
		v = append(v, Variable{
			Key: someKey.Draw(t, "key"), Value: strings.Join(parts, ""), Raw: rapid.Bool().Draw(t, "raw"), File: rapid.IntRange(0, 5).Draw(t, "file") == 0,
		})
	}
	return v
}

func TestExpandingTwiceIsExpandingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := someVariables(t)
		once, err := v.Expanded()
		if err != nil {
			if diff := cmp.Diff(v, once); diff != "" {
				t.Fatalf("a cycle changes values: %s", diff)
			}
			return
		}
		if len(once) != len(v) {
			t.Fatalf("%d of %d variables are left", len(once), len(v))
		}
		for _, one := range once {
			before, _ := v.Lookup(one.Key)
			after, _ := once.Lookup(one.Key)
			if (before.Raw || before.File && before.Raw) && before.Value != after.Value {
				t.Fatalf("%s is raw and changed", one.Key)
			}
			// What is left refers to nothing that can be inserted.
			for _, key := range names(after.Value) {
				if ref, ok := v.Lookup(key); ok && !after.Raw && !ref.Raw && !ref.File && key != after.Key && strings.Contains(before.Value, key) {
					if len(names(ref.Value)) == 0 {
						t.Fatalf("%s keeps %s: %q", after.Key, key, after.Value)
					}
				}
			}
		}
	})
}

func TestExpandingATextWithoutReferencesChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := Expand(rapid.String().Draw(t, "text"), someVariables(t))
		if len(names(text)) == 0 {
			if again := Expand(text, someVariables(t)); again != text {
				t.Fatalf("%q became %q", text, again)
			}
		}
	})
}

func TestATextIsExpandedThroughItsVariables(t *testing.T) {
	t.Parallel()
	vars := Variables{
		{Key: "NAME", Value: "old"}, {Key: "NAME", Value: "review/$SLUG"}, {Key: "SLUG", Value: "${A}-%B%"}, {Key: "A", Value: "a"}, {Key: "B", Value: "b"},
		{Key: "RAW", Value: "$A", Raw: true}, {Key: "FILE", Value: "secret", File: true}, {Key: "X", Value: "$Y"}, {Key: "Y", Value: "$X"},
		{Key: "SELF", Value: "/bin:$SELF"},
	}
	for text, want := range map[string]string{
		"$NAME": "review/a-b", "${NAME}!": "review/a-b!", "$RAW": "$A", "$FILE": "$FILE", "$X": "$Y", "$SELF": "/bin:$SELF", "$$A %%A%": "$$A %%A%",
		"$UNKNOWN $": "$UNKNOWN $", "%A%": "a", "100%": "100%", "$A$B": "ab", "${A": "${A", "$1": "$1", "": "",
	} {
		if got := Expand(text, vars); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestThePartsOfAJobShareNothingThatIsExpanded(t *testing.T) {
	t.Parallel()
	c, problems := loadAlone(t, "a: {script: x, tags: [$OS], environment: $OS, parallel: {matrix: [{OS: [linux, mac]}]}}\nb: {script: x, tags: [$T], parallel: 2}\n")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	plan, _ := c.Plan(Facts{Source: "push", Ref: "main"})
	for i := range plan.Jobs {
		plan.Jobs[i].Tags[0] = plan.Jobs[i].Name
		if plan.Jobs[i].Environment != nil {
			plan.Jobs[i].Environment.Name = plan.Jobs[i].Name
		}
	}
	for _, j := range plan.Jobs {
		if j.Tags[0] != j.Name || j.Environment != nil && j.Environment.Name != j.Name {
			t.Errorf("%s has the tag %s", j.Name, j.Tags[0])
		}
	}
	if c.Jobs[0].Tags[0] != "$OS" {
		t.Error("the configuration changed with the plan")
	}
}

func TestADependencyComesBeforeWhoRefersToIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := join(someVariables(t))
		sorted, err := v.Expanded()
		if err != nil {
			return
		}
		at := map[string]int{}
		for i, one := range sorted {
			at[one.Key] = i
		}
		for _, one := range v {
			if one.Raw {
				continue
			}
			for _, key := range names(one.Value) {
				if ref, ok := v.Lookup(key); ok && key != one.Key && !ref.Raw && !ref.File && at[key] > at[one.Key] {
					t.Fatalf("%s refers to %s, which comes later", one.Key, key)
				}
			}
		}
	})
}

// A rule after the one that matched decides nothing, and a rule that does not match may stand anywhere.
func TestTheFirstMatchingRuleDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whens := []string{OnSuccess, OnFailure, Always, Manual, Never}
		var rules []string
		want := "left out"
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			holds := rapid.Bool().Draw(t, "holds")
			when := rapid.SampledFrom(whens).Draw(t, "when")
			rules = append(rules, fmt.Sprintf(`{if: '"a" == "%s"', when: %s}`, map[bool]string{true: "a", false: "b"}[holds], when))
			if holds && want == "left out" && when != Never {
				want = when
			}
			if holds && when == Never && want == "left out" {
				want = Never
			}
		}
		content := fmt.Sprintf("other: {script: x}\njob: {script: x, rules: [%s]}\n", strings.Join(rules, ", "))
		c, problems, err := Load(t.Context(), nil, LoadOptions{Content: []byte(content)})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		plan, _ := c.Plan(Facts{Source: "push", Ref: "main"})
		got := "left out"
		for _, j := range plan.Jobs {
			if j.Name == "job" {
				got = j.When
			}
		}
		if want == Never {
			want = "left out"
		}
		if got != want {
			t.Fatalf("%s: %s, want %s", content, got, want)
		}
		if len(plan.Jobs)+len(plan.Why) != 2 {
			t.Fatalf("a job is neither in nor left out: %v", plan.Why)
		}
	})
}

// someTerm makes an expression and what it is worth.
func someTerm(t *rapid.T, depth int) (string, bool) {
	if depth == 0 {
		a, b := rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "a"), rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "b")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return fmt.Sprintf(`"%s" == '%s'`, a, b), a == b
		case 1:
			return fmt.Sprintf(`"%s"!="%s"`, a, b), a != b
		case 2:
			return fmt.Sprintf(`"%s" =~ /^%s$/`, a, b), a == b
		case 3:
			return fmt.Sprintf(`"%s" !~ /^%s$/`, a, b), a != b
		}
		return `"` + a + `"`, a != ""
	}
	left, l := someTerm(t, depth-1)
	right, r := someTerm(t, rapid.IntRange(0, depth-1).Draw(t, "right"))
	if rapid.Bool().Draw(t, "and") {
		return "(" + left + ") && (" + right + ")", l && r
	}
	return "(" + left + ")||(" + right + ")", l || r
}

func TestExpressionsAreWorthWhatTheirPartsAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, want := someTerm(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		e, err := ParseExpression(text)
		if err != nil {
			if all, ok := tokens(text); ok && len(all) <= MaxTokens {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		if got := e.Holds(func(string) (string, bool) { return "", false }); got != want {
			t.Fatalf("%s is %v", text, got)
		}
	})
}

func TestAndBindsTighterThanOr(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := map[bool]string{true: `"x"`, false: `""`}
		var text []string
		want, group := false, true
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			v := rapid.Bool().Draw(t, "v")
			if i > 0 {
				if rapid.Bool().Draw(t, "or") {
					want, group = want || group, true
					text = append(text, "||")
				} else {
					text = append(text, "&&")
				}
			}
			group = group && v
			text = append(text, value[v])
		}
		want = want || group
		e, err := ParseExpression(strings.Join(text, " "))
		if err != nil {
			t.Fatal(err)
		}
		if e.Holds(func(string) (string, bool) { return "", false }) != want {
			t.Fatalf("%s is not %v", text, want)
		}
	})
}

func TestSlugsFitHostNames(t *testing.T) {
	t.Parallel()
	slug := regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$`)
	environment := regexp.MustCompile(`^[a-z][a-z0-9-]{0,22}[a-z0-9]$|^[a-z]$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9/_. -]{1,80}`)).Draw(t, "name")
		s := Slug(name)
		if !slug.MatchString(s) || Slug(s) != s {
			t.Fatalf("the slug of %q is %q", name, s)
		}
		e := EnvironmentSlug(name)
		if !environment.MatchString(e) {
			t.Fatalf("the environment slug of %q is %q", name, e)
		}
	})
}

func TestEnvironmentNamesThatDifferHaveOtherSlugs(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Production", "production"}, {"review/a", "review-a"}, {"review/a_b", "review/a-b"},
		{"review/very-long-branch-name-one", "review/very-long-branch-name-two"},
	} {
		if EnvironmentSlug(pair[0]) == EnvironmentSlug(pair[1]) {
			t.Errorf("%q and %q share %q", pair[0], pair[1], EnvironmentSlug(pair[0]))
		}
	}
	if got := EnvironmentSlug("production"); got != "production" {
		t.Errorf("production became %q", got)
	}
}

func TestDurationsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"42": 42 * time.Second, "3 mins 4 sec": 184 * time.Second, "2 hrs 20 min": 140 * time.Minute, "2h20min": 140 * time.Minute,
		"6 mos 1 day": 181 * day, "3 weeks and 2 days": 23 * day, "1h 30m": 90 * time.Minute, "1.5 hours": 90 * time.Minute, "1y": 8766 * time.Hour,
		"1 DAY": day, "10:30": 10*time.Minute + 30*time.Second, "1:00:01": time.Hour + time.Second, "2 weeks, 1 day": 15 * day, "0": 0,
	} {
		if d, never, err := ParseDuration(text); err != nil || never || d != want {
			t.Errorf("%q is %v, %v, %v; want %v", text, d, never, err, want)
		}
	}
	for _, text := range []string{"", "soon", "1 fortnight", "h", "1h x", "-1h", "1 2", "and 1h", "1e9", strings.Repeat("1h ", 100)} {
		if d, _, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
	if _, never, err := ParseDuration(" Never "); err != nil || !never {
		t.Error("never is not never")
	}
}

func TestGlobsMatchWholePaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"a.txt", "a.txt", true}, {"a.txt", "b/a.txt", false}, {"/a.txt", "a.txt", true}, {"*.txt", "a.txt", true}, {"*.txt", "b/a.txt", false},
		{"**/*.txt", "a.txt", true}, {"**/*.txt", "b/c/a.txt", true}, {"docs/**/*", "docs/a/b", true}, {"docs/**/*", "docs", false},
		{"docs/*", "docs/a/b", false}, {"docs/**", "docs/a", true}, {"docs/**", "docs/a/b", false}, {"?.go", "a.go", true}, {"?.go", "/.go", false},
		{"[a-c].go", "b.go", true}, {"[!a-c].go", "b.go", false}, {"[^a]b", "cb", true}, {"{a,b}.go", "b.go", true}, {"{a,b}.go", "c.go", false},
		{"x/{a,b/**/c}/*", "x/b/y/c/d", true}, {".*", ".env", true}, {"*", ".env", true}, {`\*.go`, "*.go", true}, {`\*.go`, "a.go", false},
		{"a+b(c).$", "a+b(c).$", true}, {"dokumente/größe-*", "dokumente/größe-1", true}, {"**/x", "x", true}, {"a**/x", "ab/x", true},
	} {
		g, err := ParseGlob(c.glob)
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		if got := g.Match(c.path); got != c.want {
			t.Errorf("%q matches %q: %v", c.glob, c.path, got)
		}
	}
	for _, bad := range []string{"[", "{a,b", "a{", "[a", strings.Repeat("*", 2000)} {
		if _, err := ParseGlob(bad); err == nil {
			t.Errorf("%.20q is a pattern", bad)
		}
	}
}

func TestALargeTreeCountsAsFound(t *testing.T) {
	t.Parallel()
	paths := make([]string, 20_000)
	for i := range paths {
		paths[i] = fmt.Sprintf("f%05d", i)
	}
	asked := 0
	exists := ExistsIn(func() []string { asked++; return paths })
	if !exists("*.none") || exists("none") || !exists("f00007") || exists("[") {
		t.Error("a glob beyond the limit is found, a name only when it is there")
	}
	if asked != 1 {
		t.Errorf("the tree was read %d times", asked)
	}
}

func TestFactsAreAskedOnceAndOnlyWhenARuleAsks(t *testing.T) {
	t.Parallel()
	c, problems := loadAlone(t, `
a: {script: x, parallel: {matrix: [{A: [1, 2, 3]}]}, rules: [{changes: [x]}, {exists: [x]}]}
b: {script: x, rules: [{changes: [y]}, {exists: [x]}]}
c: {script: x}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	changes, exists := 0, 0
	c.Plan(Facts{
		Source: "push", Ref: "main",
		Changes: func() ([]string, bool) { changes++; return nil, true },
		Exists:  func(string) bool { exists++; return false },
	})
	if changes != 1 || exists != 1 {
		t.Errorf("changes were asked %d times, exists %d times", changes, exists)
	}
	c, _ = loadAlone(t, "a: {script: x, rules: [{if: $NO, changes: [x]}]}\nb: {script: x}\n")
	c.Plan(Facts{Source: "push", Ref: "main", Changes: func() ([]string, bool) { t.Error("asked"); return nil, false }})
}

func TestAChildPipelinesContentIncludesWhatTheTriggerNames(t *testing.T) {
	t.Parallel()
	trigger := Trigger{Include: []TriggerInclude{
		{Local: "a.yml", Inputs: map[string]any{"n": 1}}, {Project: "group/lib", File: []string{"/b.yml"}, Ref: "v1"}, {Artifact: "c.yml", Job: "make"},
	}}
	want := `---
include:
  - local: a.yml
    inputs:
      n: 1
  - project: group/lib
    ref: v1
    file:
      - /b.yml
  - artifact: c.yml
    job: make
`
	if diff := cmp.Diff(want, string(trigger.Content())); diff != "" {
		t.Error(diff)
	}
}

func TestALongChainOfReferencesGrowsNoMoreThanOneValue(t *testing.T) {
	t.Parallel()
	const chain = 2000
	v := Variables{{Key: fmt.Sprintf("A%d", chain), Value: strings.Repeat("x", maxExpanded/2)}}
	for i := range chain {
		v = append(v, Variable{Key: fmt.Sprintf("A%d", i), Value: fmt.Sprintf("$A%d", i+1)})
	}
	expand, total := Expander(v), 0
	for i := range chain {
		total += len(expand(fmt.Sprintf("$A%d", i)))
	}
	if total > 4*maxExpanded {
		t.Errorf("texts grew to %d bytes", total)
	}
	s := newScope(layer(v))
	s.most = maxExpanded
	_, _ = s.value("A0")
	kept := 0
	for _, value := range s.known {
		kept += len(value)
	}
	if kept > 4*maxExpanded {
		t.Errorf("one lookup keeps %d bytes", kept)
	}
	if got := expand(fmt.Sprintf("$A%d", chain+1)); got != fmt.Sprintf("$A%d", chain+1) {
		t.Errorf("an unknown name became %q", got)
	}
}

func TestDoublingReferencesEnd(t *testing.T) {
	t.Parallel()
	v := Variables{{Key: "A0", Value: strings.Repeat("x", 100)}}
	for i := 1; i < 64; i++ {
		v = append(v, Variable{Key: fmt.Sprintf("A%d", i), Value: fmt.Sprintf("$A%d$A%d", i-1, i-1)})
	}
	out, err := v.Expanded()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, one := range out {
		total += len(one.Value)
	}
	if total > 4*maxExpanded {
		t.Errorf("they grew to %d bytes", total)
	}
	s := newScope(layer(v))
	if got, _ := s.value("A63"); len(got) > 4*maxAsked {
		t.Errorf("a rule sees %d bytes", len(got))
	}
}
