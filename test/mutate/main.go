// Command mutate shows that tests notice mistakes. It makes one mistake at a time, as the files in mutations say, and runs the tests that
// should fail. A mistake is seen by the compiler alone: the tree stays as it is. A mistake that does not
// compile, or that makes tests too slow, is not noticed.
//
//	go run ./test/mutate                   run every mutation; fail if fewer than 95% are noticed
//	go run ./test/mutate -match internal/token
//	go run ./test/mutate -list house       only the mutations of mutations/house.txt
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
	list := flag.String("list", "", "name of the file, without its ending, that holds the mutations; all files if empty")
	patience := flag.Duration("timeout", 10*time.Minute, "for the tests of one mutation")
	flag.Parse()
	if err := run(*check, *match, *list, *patience); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(check bool, match, list string, patience time.Duration) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	all, err := readAll("test/mutate/mutations", list)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m mutation) bool { return !pattern.MatchString(m.file) && !pattern.MatchString(m.name) })
	if len(all) == 0 {
		return fmt.Errorf("no mutation matches %q in the list %q", match, list)
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
	changed, err := switchable(all)
	if err != nil {
		return err
	}
	if check {
		return compileAll(all, changed)
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// All programs are built of the same files: what stands above several rooms that have mutations is compiled once.
	overlay, err := writeOverlay(dir, changed)
	if err != nil {
		return err
	}
	noticed := 0
	var missed []string
	for tests, some := range byTests(all) {
		began := time.Now()
		programs, err := programsOf(dir, overlay, tests, patience)
		if err != nil {
			// Other tests go on: what these would have noticed counts as not noticed.
			fmt.Println(err)
			for _, i := range some {
				missed = append(missed, fmt.Sprintf("%s: %s: %s", broken, all[i].file, all[i].name))
			}
			continue
		}
		fmt.Printf("%s: built (%d s)\n", tests, int(time.Since(began).Seconds()))
		for _, i := range some {
			m := all[i]
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
	unsure       outcome = "UNSURE" // the test that failed does not fail again, or fails without the mistake too
)

// byTests yields the numbers of mutations that the same tests should notice together.
func byTests(all []mutation) iter.Seq2[string, []int] {
	return func(yield func(string, []int) bool) {
		same := map[string][]int{}
		for i, m := range all {
			same[m.tests] = append(same[m.tests], i)
		}
		for i, m := range all {
			if some := same[m.tests]; some[0] == i && !yield(m.tests, some) {
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
		if result, by := judge(p.run(env, only(m.by), patience)); result == killed {
			return p.confirm("", by, patience)
		}
	}
	for _, p := range programs {
		if result, by := judge(p.run(env, p.flags, patience)); result == killed {
			return p.confirm(env, by, patience)
		} else if result != survived {
			return result, by
		}
	}
	return survived, ""
}

// confirm runs the test that noticed a mistake once more alone: with the mistake, unless env is empty, it fails, and without it passes. A test
// may fail for another reason where the machine is busy, and one that always fails notices nothing.
func (p program) confirm(env, by string, patience time.Duration) (outcome, string) {
	flags := p.flags // if the process crashed
	if test, named := strings.CutPrefix(by, byTest); named {
		test, _, _ = strings.Cut(test, "/")
		flags = only(test)
		if env != "" {
			if result, _ := judge(p.run(env, flags, patience)); result != killed {
				return unsure, by + ", but not when it runs alone"
			}
		}
	}
	if out, passed := p.run(unchanged, flags, patience); !passed {
		return unsure, by + ", which fails without the mistake too" + lastLines(out)
	}
	return killed, by
}

func only(test string) []string { return []string{"-test.run=^" + test + "$"} }

var (
	failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

const (
	timedOut = "panic: test timed out after"
	byTest   = "by the test "

	unchanged = switchVariable + "=" // makes none of the mistakes
)

func judge(out string, passed bool) (result outcome, by string) {
	switch test := failing.FindStringSubmatchIndex(out); {
	case passed:
		return survived, ""
	case strings.Contains(out, timedOut) && (test == nil || strings.Index(out, timedOut) < test[0]):
		return late, lastLines(out)
	case test != nil:
		return killed, byTest + out[test[2]:test[3]]
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
	if _, known := p.run(unchanged, []string{"-test.list=^$", flag}, patience); known {
		p.always = []string{flag}
	}
}

// programsOf builds the tests that a line names, with all the mutations in them.
func programsOf(dir, overlay, tests string, patience time.Duration) ([]program, error) {
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
