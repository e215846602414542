package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMutationsAreRead(t *testing.T) {
	t.Parallel()
	all, err := parse("x.txt", `file a.go
test ./a -run X

# one
by TestX
- if a {
+ if !a {

# two lines go
- 	b()
- 	c()
file b.go
# three
- d
+ e
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []mutation{
		{name: "one", file: "a.go", tests: "./a -run X", by: "TestX", old: "if a {", new: "if !a {"},
		{name: "two lines go", file: "a.go", tests: "./a -run X", old: "\tb()\n\tc()"},
		{name: "three", file: "b.go", tests: "./a -run X", old: "d", new: "e"},
	}
	if len(all) != len(want) {
		t.Fatalf("%+v", all)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("%+v, want %+v", all[i], want[i])
		}
	}
	for _, bad := range []string{"# no file\n- a\n", "file a\ntest b\n# nothing\n", "file a\ntest b\n# same\n- a\n+ a\n", "file a\ntest b\nwhat\n"} {
		if _, err := parse("x.txt", bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestAMutationFitsExactlyOnce(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(name, []byte("one two two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := (mutation{file: name, old: "one", new: "1"}).apply(); err != nil || got != "1 two two" {
		t.Errorf("%q, %v", got, err)
	}
	for _, old := range []string{"two", "three"} {
		if _, err := (mutation{name: "this one", file: name, old: old}).apply(); err == nil || !strings.Contains(err.Error(), "this one") {
			t.Errorf("%s: %v", old, err)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out    string
		passed bool
		want   outcome
		by     string
	}{
		{"PASS\n", true, survived, ""},
		{"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", false, killed, "by the test TestA"},
		{"=== RUN   TestA\npanic: runtime error: index out of range [1] with length 1\n", false, killed, "index out of range"},
		{"=== RUN   TestA\npanic: test timed out after 5m0s\n\trunning tests:\n\t\tTestA (5m0s)\n", false, late, "TestA"},
		{"--- FAIL: TestA (0.00s)\npanic: test timed out after 5m0s\n", false, killed, "by the test TestA"},
		{"=== RUN   TestA\n", false, broken, "TestA"},
	} {
		if got, by := judge(c.out, c.passed); got != c.want || !strings.Contains(by, c.by) {
			t.Errorf("%q: %s %q, want %s %q", c.out, got, by, c.want, c.by)
		}
	}
}

func TestPackagesAndFlagsOfTests(t *testing.T) {
	t.Parallel()
	packages, flags := suites("./a ./b -run X|Y")
	if !slices.Equal(packages, []string{"./a", "./b"}) || !slices.Equal(flags, []string{"-test.run=X|Y"}) {
		t.Errorf("%q %q", packages, flags)
	}
	if packages, flags = suites("./a"); !slices.Equal(packages, []string{"./a"}) || flags != nil {
		t.Errorf("%q %q", packages, flags)
	}
}

func TestOnlyTestsThatEndSayWhatTheySaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script string
		want   outcome
	}{
		{"echo PASS", survived},
		{"echo '--- FAIL: TestA (0.00s)'; sleep 100", killed}, // others that run beside it are not waited for
		{"echo 'panic: test timed out after 1s'; exit 2", late},
		{"echo '=== RUN TestA'; kill -9 $$", broken},
	} {
		p := program{path: filepath.Join(t.TempDir(), "tests"), pkg: "."}
		if err := os.WriteFile(p.path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, by := judge(p.run("A=b", nil, time.Minute)); got != c.want {
			t.Errorf("%s: %s %s, want %s", c.script, got, by, c.want)
		}
	}
}

func TestAFailureCountsIfItComesAgainAndOnlyWithTheMistake(t *testing.T) {
	t.Parallel()
	const fails, passes = "echo '--- FAIL: TestA (0.00s)'; exit 1", "echo PASS; exit 0"
	for _, c := range []struct {
		name, alone, whole, unchanged string
		by                            string
		want                          outcome
	}{
		{"it fails", fails, fails, passes, "", killed},
		{"it fails, as it did last", fails, passes, passes, "TestA", killed},
		{"it does not fail again", passes, fails, passes, "", unsure},
		{"it always fails", fails, fails, fails, "", unsure},
		{"it always fails, as it did last", fails, fails, fails, "TestA", unsure},
		{"another test fails than last", passes, fails, passes, "TestA", unsure},
		{"nothing fails", passes, passes, passes, "TestA", survived},
		{"the process ends", "exit 1", "echo 'panic: no'; exit 2", passes, "", killed},
		{"the process always ends", "exit 1", "echo 'panic: no'; exit 2", "echo 'panic: no'; exit 2", "", unsure},
		{"its time ends when it is alone", "echo 'panic: test timed out after 1s'; exit 2", fails, passes, "", unsure},
	} {
		p := program{path: filepath.Join(t.TempDir(), "tests"), pkg: ".", flags: []string{"whole"}}
		script := fmt.Sprintf("#!/bin/sh\nif [ -z \"$%s\" ]; then %s; fi\ncase \"$*\" in *whole*) %s;; esac\n%s\n",
			switchVariable, c.unchanged, c.whole, c.alone)
		if err := os.WriteFile(p.path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, by := try([]program{p}, 3, mutation{by: c.by}, time.Minute); got != c.want {
			t.Errorf("%s: %s %s, want %s", c.name, got, by, c.want)
		}
	}
}

func TestOneListIsReadAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte("file a\ntest b\n# "+name+"\n- a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for list, want := range map[string]int{"": 2, "one": 1, "three": 0} {
		if all, err := readAll(dir, list); err != nil || len(all) != want {
			t.Errorf("%q: %v %v, want %d", list, all, err, want)
		}
	}
}

func TestMutationsOfTheSameTestsAreTriedTogether(t *testing.T) {
	t.Parallel()
	var got []string
	for tests, some := range byTests([]mutation{{tests: "./a"}, {tests: "./b"}, {tests: "./a"}, {tests: "./c"}}) {
		got = append(got, fmt.Sprint(tests, some))
		if tests == "./b" {
			break
		}
	}
	if want := []string{"./a[0 2]", "./b[1]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
