package ciconfig

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loadAlone loads without a Source.
func loadAlone(t *testing.T, content string) (*Config, []Problem) {
	t.Helper()
	c, problems, err := Load(t.Context(), nil, LoadOptions{Content: []byte(content)})
	if err != nil {
		t.Fatal(err)
	}
	return c, problems
}

func bombs() map[string]string {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9)+fmt.Sprintf("*a%d", i-1))
	}
	hashes := "a0: &a0 {k: v}\n"
	for i := 1; i < 60; i++ {
		hashes += fmt.Sprintf("a%d: &a%d {l: *a%d, r: *a%d}\n", i, i, i-1, i-1)
	}
	references := ".a0: {script: [x, x, x, x, x, x, x, x, x, x]}\n"
	for i := 1; i < 10; i++ {
		references += fmt.Sprintf(".a%d: {script: [%s]}\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("!reference [.a%d, script], ", i-1), 10), ", "))
	}
	references += "job: {script: !reference [.a9, script]}\n"
	extends := ".a0: {variables: {A: x}}\n"
	for i := 1; i < 12; i++ {
		extends += fmt.Sprintf(".a%d: {extends: [%s]}\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf(".a%d, ", i-1), 200), ", "))
	}
	indents := strings.Builder{}
	for i := range 1400 {
		indents.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	long := "x: &x " + strings.Repeat("y", 500_000) + "\nlist: [" + strings.Repeat("*x, ", 20_000) + "*x]\n"
	matrix := "job:\n  script: x\n  parallel:\n    matrix:\n      - " + strings.Join(func() (rows []string) {
		for i := range 30 {
			rows = append(rows, fmt.Sprintf("A%d: [1, 2, 3, 4, 5, 6, 7, 8]", i))
		}
		return rows
	}(), "\n        ") + "\n"
	jobs := strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(&jobs, "j%d: {script: x, parallel: 200}\n", i)
	}
	return map[string]string{
		"brackets":           strings.Repeat("[", 20_000),
		"closed brackets":    "a: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"braces":             strings.Repeat("{a: ", 20_000),
		"dashes":             strings.Repeat("- ", 20_000) + "a",
		"questions":          strings.Repeat("? ", 20_000) + "a",
		"indents":            indents.String(),
		"brackets, 400":      "a: " + strings.Repeat("[", 400) + strings.Repeat("]", 400),
		"laughs":             laughs,
		"hashes":             hashes,
		"20,000 aliases":     "a: &a [" + strings.Repeat("x, ", 200) + "x]\nb: [" + strings.Repeat("*a, ", 20_000) + "*a]\n",
		"an alias to itself": "a: &a [*a]\n",
		"references":         references,
		"extends":            extends,
		"a long text shared": long,
		"matrix":             matrix,
		"jobs":               jobs.String(),
		"two MiB":            "a: " + strings.Repeat("x", 2<<20),
		"commas":             "a: [" + strings.Repeat("a,", 500_000) + "]",
		"bases":              ".a: {script: x}\njob: {extends: [" + strings.Repeat(".a, ", 20_000) + ".a]}\n",
		"merge keys":         "a: &a {x: 1}\nb: {" + strings.Repeat("<<: *a, ", 20_000) + "y: 2}\n",
	}
}

func TestCI12_ConfigurationBombsAreRefusedAtOnce(t *testing.T) {
	for name, content := range bombs() {
		t.Run(name, func(t *testing.T) {
			best := time.Hour
			for range 5 { // the machine may be busy; a bomb is slow every time
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := spent(t)
				_, problems := loadAlone(t, content)
				best = min(best, spent(t)-began)
				runtime.ReadMemStats(&after)
				if len(problems) == 0 {
					t.Fatal("it was let in")
				}
				if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 100 {
					t.Errorf("it took %d MB", grown)
				}
				if best < 100*time.Millisecond*raceCost {
					t.Logf("%v: %s", best, problems[0].Message)
					return
				}
			}
			t.Errorf("it took %v", best)
		})
	}
}

// What can be loaded can be planned in time as well.
func TestCI12_ThePlanOfALargeConfigurationIsBounded(t *testing.T) {
	rules := "rules: [" + strings.Repeat(`{if: '$A =~ /^b/ && $B == "c"'}, `, 20) + "{when: always}]"
	matrix := "parallel: {matrix: [{X: [" + strings.TrimSuffix(strings.Repeat("a, ", 200), ", ") + "]}]}"
	jobs := func(n int, rest string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "j%d: {script: x, %s}\n", i, rest)
		}
		return b.String()
	}
	variables := strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(&variables, "  V%d: $V%d$V%d\n", i, i+1, i+1)
	}
	for name, content := range map[string]string{
		"20,000 jobs with rules":        jobs(99, matrix+", "+rules),
		"20,000 jobs with 1,000 values": "variables:\n" + variables.String() + jobs(99, matrix),
		"dependencies of all parts":     jobs(50, "parallel: 200") + "z: {stage: deploy, script: x, parallel: 200, dependencies: [" + strings.TrimSuffix(strings.Repeat("j1, j2, ", 400), ", ") + "]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, problems := loadAlone(t, content)
			if len(problems) > 0 {
				t.Fatal(problems[0])
			}
			began := spent(t)
			plan, problems := c.Plan(Facts{Source: "push", Ref: "main", Variables: Variables{{Key: "A", Value: "$V0"}}})
			took := spent(t) - began
			t.Logf("%v: %d jobs, %v", took, len(plan.Jobs), problems)
			if took > 2*time.Second*raceCost {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A pattern is a project's own, in rules, only, coverage and inputs, and costs what any other does.
func TestDO01_PatternsOfAConfigurationAreBounded(t *testing.T) {
	for name, pattern := range map[string]string{
		"looking ahead": "(?=a)b", "looking back": "(?<=a)b", "back reference": `(a)\1`, "long": strings.Repeat("a", 1000), "large": strings.Repeat(".{999}", 100),
		"nested": "((a{30}){30}){30}", "not a pattern": "(",
	} {
		began := spent(t)
		for _, content := range []string{
			"a: {script: x, rules: [{if: '$A =~ /" + pattern + "/'}]}", "a: {script: x, only: [\"/" + pattern + "/\"]}", "a: {script: x, coverage: '/" + pattern + "/'}",
		} {
			if _, problems := loadAlone(t, content); len(problems) == 0 {
				t.Errorf("%s was let in: %.80s", name, content)
			}
		}
		if _, ok := compileRegexp("/" + pattern + "/"); ok {
			t.Errorf("%s as a variable is a pattern", name)
		}
		if took := spent(t) - began; took > 500*time.Millisecond*raceCost {
			t.Errorf("%s took %v", name, took)
		}
	}
	// The most that one may cost: a long value, and every step alive at every letter.
	e, err := ParseExpression("$A =~ /" + strings.Repeat("(.*a)", 100) + "$/")
	if err != nil {
		t.Fatal(err)
	}
	began := spent(t)
	e.Holds(func(string) (string, bool) { return strings.Repeat("a", maxAsked) + "b", true })
	if took := spent(t) - began; took > 2*time.Second*raceCost {
		t.Errorf("one value took %v", took)
	}
}

const secretValue = "s3cr3t-value"

// Masked values reach neither messages nor the merged view, which people read who may not read variables.
func TestCI05_AMaskedValueIsInNoMessageNameOrMergedView(t *testing.T) {
	t.Parallel()
	const secret = secretValue
	facts := Facts{Source: "push", Ref: "main", Variables: Variables{
		{Key: "TOKEN", Value: secret, Masked: true}, {Key: "BESIDE", Value: "x-$TOKEN"}, {Key: "SLASHED", Value: "/" + secret, Masked: true},
	}}
	for _, content := range []string{
		"include: $TOKEN.yml", "include: $BESIDE.yml", "include: $SLASHED.yml", "include: {local: $SLASHED.txt}", "include: https://ci.example/$TOKEN", "include: {template: $BESIDE}", "include: {component: $TOKEN}",
		"include: {project: $TOKEN, file: /a.yml}", "include: {project: there/$TOKEN, ref: $TOKEN, file: /a.yml}", "include: {project: a, ref: $BESIDE, file: /$TOKEN.yml}", "include: {local: a.yml, inputs: {a: $TOKEN}}",
		"include: {local: in.yml, inputs: {a: $TOKEN, b: $BESIDE}}\njob: {script: x}", "include: {local: in.yml, inputs: {a: a, b: b, $TOKEN: c}}",
		"job: {script: $TOKEN, rules: [{exists: {paths: [$TOKEN], project: $TOKEN, ref: $BESIDE}}]}",
		"workflow: {name: of $TOKEN $BESIDE}\njob: {script: x}",
		"job: {script: x, rules: [{changes: {paths: [a], compare_to: $TOKEN}}]}",
	} {
		src := &namedSource{loopSource{body: "spec: {inputs: {a: , b: }}\n---\nx: {script: '$[[ inputs.a ]] $[[ inputs.b ]]'}\n"}}
		c, problems, err := Load(t.Context(), src, LoadOptions{Content: []byte(content), Place: Place{Project: "p"}, Facts: facts})
		if err != nil {
			t.Fatal(err)
		}
		shown := fmt.Sprint(problems, c.Includes, string(c.Merged()), c.Warnings)
		if len(problems) == 0 {
			plan, said := c.Plan(facts)
			shown += fmt.Sprint(said, plan.Why, plan.Name)
		}
		if strings.Contains(shown, secret) {
			t.Errorf("%s shows %s", content, shown)
		}
	}
}

// What is wrong with the configuration of a push is kept with its pipeline, for all who may see that.
func TestCI05_WhatIsKeptOfProblemsHoldsNoValueOfAVariable(t *testing.T) {
	t.Parallel()
	facts := Facts{Source: "push", Ref: "main", Predefined: Variables{{Key: "CI_PROJECT_NAME", Value: "tool"}}, Variables: Variables{
		{Key: "PLAIN", Value: "canary-value"}, {Key: "SHORT", Value: "qzx"}, {Key: "SLASH", Value: "/canary-value"},
	}}
	const inputs = "spec: {inputs: {a: {options: [x]}}}\n---\nx: {script: y}\n"
	for _, c := range []struct{ content, file, want string }{
		{"include: $PLAIN.txt", "", "Included file `$PLAIN.txt` does not have YAML extension!"},
		{"include: $CI_PROJECT_NAME-$SHORT.txt", "", "Included file `tool-$SHORT.txt` does not have YAML extension!"},
		{"include: $SLASH.yml", "a: [", "Included file `$SLASH.yml` does not have valid YAML syntax!"},
		{"include: $PLAIN.yml", "[a]", "Included file `$PLAIN.yml` does not have valid YAML syntax!"},
		{"include: $PLAIN.yml", " ", "Local file `$PLAIN.yml` is empty!"},
		{"include: {project: a/$PLAIN, ref: $SHORT, file: /$PLAIN.yml}", "", "Project `a/$PLAIN` "},
		{"include: {template: $PLAIN}", "", "Template file `$PLAIN` "},
		{"include: {component: $PLAIN/$SHORT}", "", "Component `$PLAIN/$SHORT` "},
		{"include: 'https://ci.example/$PLAIN.yml'", "", "Remote file `https://ci.example/$PLAIN.yml` "},
		{"include: {local: in.yml, inputs: {a: $PLAIN}}", inputs, "`a` input: `[MASKED]` cannot be used because it is not in the list of allowed options"},
		{"include: {local: in.yml, inputs: {a: $PLAIN}}", "spec: {inputs: {a: }}\n---\n'$[[ inputs.a ]]': {script: x, need: y}\n", "jobs:[MASKED] "},
		{"include: {local: in.yml, inputs: {a: $PLAIN}}", "spec: {inputs: {a: }}\n---\nx: {script: x, needs: ['$[[ inputs.a ]]']}\n", "[MASKED]"},
	} {
		src := &namedSource{loopSource{body: c.file}}
		config, problems, err := Load(t.Context(), src, LoadOptions{Content: []byte(c.content), Place: Place{Project: "p"}, Facts: facts, Kept: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			_, problems = config.Plan(facts)
		}
		said := ""
		for _, p := range problems {
			said += p.Message + "\n"
		}
		if !strings.Contains(said, c.want) || strings.Contains(said, "canary") || strings.Contains(said, "qzx") {
			t.Errorf("%s says %s, want %s", c.content, said, c.want)
		}
	}
}

// namedSource says where its files were, as the real one does.
type namedSource struct{ loopSource }

func (s *namedSource) Project(ctx context.Context, _ Place, project, _, file string) (File, error) {
	if project != "there/"+secretValue {
		return File{}, &FetchError{Reason: ProjectHidden}
	}
	return s.Local(ctx, Place{Project: project}, file)
}

func (s *namedSource) Local(ctx context.Context, at Place, path string) (File, error) {
	f, err := s.loopSource.Local(ctx, at, path)
	f.Location = path
	return f, err
}

// spent is the processor time of this process, which others on the machine do not lengthen.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestCI12_TwiceTheStagesTakeNotMuchMoreThanTwiceTheTime(t *testing.T) { //nolint:paralleltest // it counts the time of the process
	cost := func(n int) time.Duration {
		var b strings.Builder
		b.WriteString("stages:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - s%d\n", i)
		}
		b.WriteString("job: {script: x, stage: s1}\n")
		least := time.Hour
		for range 3 {
			began := spent(t)
			if _, problems, err := Load(t.Context(), &loopSource{}, LoadOptions{Content: []byte(b.String())}); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			least = min(least, spent(t)-began)
		}
		return least
	}
	if few, many := cost(10_000), cost(40_000); many > 8*few {
		t.Errorf("10,000 stages took %v, 40,000 took %v", few, many)
	}
}

func TestCI12_AnIncludeThatIncludesItselfEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	loop := loopSource{body: "include: [a.yml, a.yml]\njob: {script: x}\n"}
	_, problems, err := Load(t.Context(), &loop, LoadOptions{Content: []byte("include: a.yml"), Place: Place{Project: "p"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) == 0 || problems[0].Message != "Maximum of 150 nested includes are allowed!" {
		t.Errorf("problems: %v", problems)
	}
	if loop.read > MaxIncludes {
		t.Errorf("%d files were read", loop.read)
	}
}

func TestCI12_ManyLargeFilesAreRefusedTogether(t *testing.T) {
	t.Parallel()
	loop := loopSource{body: "a: [" + strings.Repeat("x,", 90_000) + "x]\n"}
	_, problems, err := Load(t.Context(), &loop, LoadOptions{
		Content: []byte("include: [" + strings.Repeat("a.yml, ", 99) + "a.yml]"), Place: Place{Project: "p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) == 0 || problems[0].Message != "Total size of combined CI/CD configuration is too big" {
		t.Errorf("problems: %.300v", problems)
	}
}

func TestFetchingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	loop := loopSource{body: "job: {script: x}"}
	_, problems, err := Load(ctx, &loop, LoadOptions{Content: []byte("include: a.yml"), Place: Place{Project: "p"}})
	if err != nil || len(problems) != 1 || problems[0].Message != "Resolving config took longer than expected" || loop.read > 0 {
		t.Errorf("problems %v, error %v, %d files read", problems, err, loop.read)
	}
}

// loopSource has the same local file under every name.
type loopSource struct {
	archiveSource
	body string
	read int
}

func (s *loopSource) Local(_ context.Context, at Place, _ string) (File, error) {
	s.read++
	return File{Body: []byte(s.body), Place: at}, nil
}
