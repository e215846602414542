// Command mutate shows that tests notice mistakes. It makes one mistake at a time, as the files in mutations say, and runs the tests that
// should fail. A mistake is seen by the compiler alone: the tree stays as it is. A mistake that does not
// compile, or that makes tests too slow, is not noticed.
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
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
		for _, some := range byTests(all) {
			if _, err := switchable(some); err != nil {
				return err
			}
		}
		return compileAll(all)
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	noticed := 0
	var missed []string
	for tests, some := range byTests(all) {
		began := time.Now()
		programs, err := programsOf(dir, tests, some, patience)
		if err != nil {
			return err
		}
		fmt.Printf("%s: built and run on unchanged code (%d s)\n", tests, int(time.Since(began).Seconds()))
		for i, m := range some {
			began = time.Now()
			result, by := try(programs, i, m, patience)
			fmt.Printf("%-15s %s: %s: %s (%d s)\n", result, m.file, m.name, by, int(time.Since(began).Seconds()))
			if result == killed {
				noticed++
			} else {
				missed = append(missed, fmt.Sprintf("%s: %s: %s", result, m.file, m.name))
			}
		}
	}
	percent := 100 * noticed / len(all)
	fmt.Printf("%d of %d mutations were noticed, %d%%\n", noticed, len(all), percent)
	for _, line := range missed {
		fmt.Println("not noticed:", line)
	}
	if percent < wanted {
		return fmt.Errorf("%d%% are wanted", wanted)
	}
	return nil
}

// outcome is what became of a mutation. Only one that a test noticed counts.
type outcome string

const (
	killed       outcome = "killed"
	survived     outcome = "SURVIVED"
	notCompiling outcome = "DOES NOT BUILD"
	late         outcome = "TOO SLOW"
	broken       outcome = "BROKEN" // the tests ended without saying which of them failed
)

// byTests yields mutations that the same tests should notice together.
func byTests(all []mutation) iter.Seq2[string, []mutation] {
	return func(yield func(string, []mutation) bool) {
		var seen []string
		for _, m := range all {
			if slices.Contains(seen, m.tests) {
				continue
			}
			seen = append(seen, m.tests)
			if !yield(m.tests, slices.DeleteFunc(slices.Clone(all), func(o mutation) bool { return o.tests != m.tests })) {
				return
			}
		}
	}
}

// try runs the tests of a mutation and says which test failed first. The test that noticed it last is run before the others.
func try(programs []program, i int, m mutation, patience time.Duration) (result outcome, by string) {
	env := fmt.Sprintf("%s=%d", switchVariable, i)
	for _, p := range programs {
		if m.by == "" {
			break
		}
		if result, by := judge(p.run(env, []string{"-test.run=^" + m.by + "$"}, patience)); result == killed {
			return result, by
		}
	}
	for _, p := range programs {
		if result, by := judge(p.run(env, p.flags, patience)); result != survived {
			return result, by
		}
	}
	return survived, ""
}

var (
	failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

const timedOut = "panic: test timed out after"

func judge(out string, passed bool) (result outcome, by string) {
	switch test := failing.FindStringSubmatchIndex(out); {
	case passed:
		return survived, ""
	case strings.Contains(out, timedOut) && (test == nil || strings.Index(out, timedOut) < test[0]):
		return late, lastLines(out)
	case test != nil:
		return killed, "by " + out[test[2]:test[3]]
	}
	if what := crashed.FindString(out); what != "" {
		return killed, "by " + what
	}
	return broken, lastLines(out)
}

func lastLines(out string) string { return "\n" + out[max(0, len(out)-2000):] }

// program holds the tests of a package.
type program struct {
	path, pkg string
	flags     []string // which tests
	always    []string // of every run
}

// quiet keeps random tests, where there are some, from writing down what made them fail: the tree stays as it is.
func (p *program) quiet(patience time.Duration) {
	const flag = "-rapid.nofailfile"
	if _, known := p.run(switchVariable+"=", []string{"-test.list=^$", flag}, patience); known {
		p.always = []string{flag}
	}
}

// programsOf builds the tests of mutations with all the mutations in them, and runs them without any: a test that always fails notices
// nothing.
func programsOf(dir, tests string, some []mutation, patience time.Duration) ([]program, error) {
	changed, err := switchable(some)
	if err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(dir, changed)
	if err != nil {
		return nil, err
	}
	var programs []program
	packages, flags := suites(tests)
	for i, pkg := range packages {
		p := program{path: filepath.Join(dir, fmt.Sprint("tests", i)), pkg: pkg, flags: flags}
		// What only helps debuggers takes its time to link.
		command := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", p.path, pkg)
		if out, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
		}
		p.quiet(patience)
		if out, passed := p.run(switchVariable+"=", flags, patience); !passed {
			return nil, fmt.Errorf("the tests of %s fail on unchanged code:\n%s", pkg, out)
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// run runs tests up to the first that fails.
func (p program) run(env string, flags []string, patience time.Duration) (out string, passed bool) {
	// The process ends itself when its time is over, and says so; a minute later it is ended.
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Minute)
	defer cancel()
	args := slices.Concat([]string{"-test.v", "-test.failfast", "-test.timeout=" + patience.String()}, p.always, flags)
	command := exec.CommandContext(ctx, p.path, args...)
	command.Dir, command.Env = p.pkg, append(os.Environ(), env)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var seen tail
	command.Stdout = writer(func(p []byte) {
		// Tests that run beside the first that fails would go on.
		if seen.add(p); failing.Match(seen.text) {
			cancel()
		}
	})
	command.Stderr = command.Stdout
	err := command.Run()
	return string(seen.text), err == nil
}

// tail is the end of what was written.
type tail struct{ text []byte }

func (t *tail) add(p []byte) {
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
