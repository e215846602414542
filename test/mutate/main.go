// Command mutate shows that tests notice mistakes. It makes one mistake at a time, as the files in mutations say, and runs the tests that
// should fail. A mistake is seen by the compiler alone: the tree stays as it is.
//
//	go run ./test/mutate                   run every mutation; fail if fewer than 95% are noticed
//	go run ./test/mutate -match internal/token
//	go run ./test/mutate -check            only see that every mutation still fits the code and compiles
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const wanted = 95 // percent of the mutations that tests must notice

func main() {
	check := flag.Bool("check", false, "only see that every mutation fits the code and compiles")
	match := flag.String("match", "", "expression that the file or the name of a mutation must match")
	patience := flag.Duration("timeout", 10*time.Minute, "for the tests of one mutation")
	flag.Parse()
	if err := run(*check, *match, *patience); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(check bool, match string, patience time.Duration) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	all, err := readAll("test/mutate/mutations")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m mutation) bool { return !pattern.MatchString(m.file) && !pattern.MatchString(m.name) })
	if len(all) == 0 {
		return fmt.Errorf("no mutation matches %s", match)
	}
	var wrong []error
	for _, m := range all {
		if _, err := m.apply(); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	if check {
		return compileAll(all)
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := passUnchanged(all, patience); err != nil {
		return err
	}
	noticed := 0
	var missed []mutation
	for _, m := range all {
		began := time.Now()
		result, by := try(dir, m, patience)
		fmt.Printf("%-15s %s: %s: %s (%d s)\n", result, m.file, m.name, by, int(time.Since(began).Seconds()))
		if result == killed {
			noticed++
		} else {
			missed = append(missed, m)
		}
	}
	percent := 100 * noticed / len(all)
	fmt.Printf("%d of %d mutations were noticed, %d%%\n", noticed, len(all), percent)
	for _, m := range missed {
		fmt.Printf("not noticed: %s: %s\n", m.file, m.name)
	}
	if percent < wanted {
		return fmt.Errorf("%d%% are wanted", wanted)
	}
	return nil
}

type outcome string

const (
	killed       outcome = "killed"
	survived     outcome = "SURVIVED"
	notCompiling outcome = "DOES NOT BUILD"
)

// try runs the tests of a mutation and says which of them failed first.
func try(dir string, m mutation, patience time.Duration) (result outcome, by string) {
	text, err := m.apply()
	if err != nil {
		return notCompiling, err.Error()
	}
	overlay, err := writeOverlay(dir, map[string]string{m.file: text})
	if err != nil {
		return notCompiling, err.Error()
	}
	if m.by != "" {
		args := append(strings.Fields(m.tests), "-run", "^"+m.by+"$")
		if result, by := judge(goTest(args, patience, "-overlay", overlay)); result == killed {
			return result, by
		}
	}
	return judge(goTest(strings.Fields(m.tests), patience, "-overlay", overlay))
}

var failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

func judge(out string, passed bool) (result outcome, by string) {
	switch {
	case passed:
		return survived, ""
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return notCompiling, out
	}
	if test := failing.FindStringSubmatch(out); test != nil {
		return killed, "by " + test[1]
	}
	return killed, "by a panic or the end of patience"
}

// passUnchanged runs all tests on the code as it is: a test that always fails notices nothing.
func passUnchanged(all []mutation, patience time.Duration) error {
	var sets []string
	for _, m := range all {
		if !slices.Contains(sets, m.tests) {
			sets = append(sets, m.tests)
		}
	}
	for _, tests := range sets {
		if out, passed := goTest(strings.Fields(tests), patience); !passed {
			return fmt.Errorf("the tests %s fail on unchanged code:\n%s", tests, out)
		}
	}
	return nil
}

// goTest runs tests up to the first that fails.
func goTest(tests []string, patience time.Duration, flags ...string) (out string, passed bool) {
	// The process has a while longer than the tests, for the compiler.
	ctx, cancel := context.WithTimeout(context.Background(), patience+10*time.Minute)
	defer cancel()
	args := slices.Concat([]string{"test", "-v", "-vet=off", "-failfast", "-count=1", "-timeout", patience.String()}, flags, tests)
	command := exec.CommandContext(ctx, "go", args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var seen tail
	// Tests that run beside the first that fails would go on.
	command.Stdout, command.Stderr = writer(func(p []byte) {
		if seen.add(p); failing.Match(seen.text) {
			cancel()
		}
	}), writer(func(p []byte) { seen.add(p) })
	err := command.Run()
	return string(seen.text), err == nil
}

// tail is the end of what was written. One command writes to it at a time.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 1 << 16
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-most):]
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// writeOverlay writes what the compiler reads instead of files.
func writeOverlay(dir string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for name, text := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		replace[path] = filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, overlay, 0o600)
}
