package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneProgramHoldsAllMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("go.mod", "module x\n\ngo 1.24\n")
	write("b.go", "package main\n\nconst made = \"of \" + of + single\n")
	file := write("a.go", `package main

import "fmt"

const (
	of   = "right"
	kept = 1
)

const single = "!"

type thing struct{ n int }

func (thing) unnamed(int, ...string) (s string) { return "one" }

func (t *thing) set(_ string, n int) { t.n = n }

func sum(ns ...int) (n int) {
	for _, m := range ns {
		n += m
	}
	return n
}

func main() {
	t := thing{}
	t.set("", 2)
	fmt.Println(made, t.unnamed(1, "a"), t.n, sum(1, 2), kept)
}
`)
	all := []mutation{
		{old: `= "right"`, new: `= "wrong"`},
		{old: `= "right"`, new: `= "worse"`},
		{old: `= "!"`, new: `= "?"`},
		{old: `"one"`, new: `"two"`},
		{old: `t.n = n`, new: `t.n = -n`},
		{old: `n += m`, new: `n -= m`},
	}
	for i := range all {
		all[i].file = file
	}
	changed, err := switchable(all)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range changed {
		write(filepath.Base(name), text)
	}
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%v", err, out, changed)
	}
	for i, want := range []string{
		"of wrong! one 2 3 1", "of worse! one 2 3 1", "of right? one 2 3 1", "of right! two 2 3 1", "of right! one -2 3 1", "of right! one 2 -3 1", "of right! one 2 3 1",
	} {
		command := exec.Command(program)
		command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", switchVariable, i))
		out, err := command.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("mistake %d: %q %v, want %q", i, got, err, want)
		}
	}
}

func TestAMistakeThatCannotBeTurnedOnIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("package a\n\nvar v = 1\n\nfunc f(a int) int { return a }\n\nfunc g() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range []mutation{
		{old: "var v = 1", new: "var v = 2"},
		{old: "f(a int) int", new: "f(a int64) int"},
		{old: "\n\nfunc g() {}", new: ""},
		{old: "return a }\n\nfunc g() {}", new: "return 0 }\n\nfunc g() { f(1) }"},
		{old: "return a }", new: "return"},
	} {
		m.file = file
		if _, err := switchable([]mutation{m}); err == nil {
			t.Errorf("%q is taken", m.new)
		}
	}
}
