package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"ok  \tx\t0.1s\n", true, survived, ""},
		{"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", false, killed, "by TestA"},
		{"# x\na.go:1:1: declared and not used: b\nFAIL\tx [build failed]\n", false, notCompiling, "declared and not used"},
		{"panic: test timed out after 5m0s\n", false, killed, "patience"},
	} {
		if got, by := judge(c.out, c.passed); got != c.want || !strings.Contains(by, c.by) {
			t.Errorf("%q: %s %q, want %s %q", c.out, got, by, c.want, c.by)
		}
	}
}
