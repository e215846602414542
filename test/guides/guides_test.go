// Package guides holds the worked examples of docs/guides to the code: what a guide tells a newcomer to write must fit
// today's tree and compile.
package guides

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	diffs   = regexp.MustCompile("(?ms)^```diff\n(.*?)^```$")
	touches = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)
)

// example is the changes that a guide shows, as one patch.
func example(guide string) (patch []byte) {
	for _, d := range diffs.FindAllStringSubmatch(guide, -1) {
		patch = append(patch, d[1]...)
	}
	return patch
}

func TestTheExampleOfEveryGuideFitsTheCodeAndCompiles(t *testing.T) {
	t.Parallel()
	guides, err := filepath.Glob(root + "/docs/guides/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("%d guides are found: %v", len(guides), err)
	}
	for _, name := range guides {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			t.Parallel()
			guide, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := try(t, example(string(guide))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnExampleThatDoesNotFitOrCompileIsReported(t *testing.T) {
	t.Parallel()
	newFile := func(name, line string) string {
		return fmt.Sprintf("diff --git a/%s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+%s\n", name, line)
	}
	for want, patch := range map[string]string{
		"shows no change":       "",
		"does not fit":          "diff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n@@ -1,2 +1,2 @@\n-module other\n+module another\n \n",
		"has no Go":             newFile("new.txt", "text"),
		"undefined: missing":    newFile("internal/kit/fault/new.go", "package fault; var unknown = missing"),
		"declared and not used": newFile("internal/kit/fault/new_test.go", "package fault_test; func unused() { x := 1 }"),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if err := try(t, []byte(patch)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// try applies a patch to a copy of the tree, and compiles what it touches, tests included.
func try(t *testing.T, patch []byte) error {
	t.Helper()
	if len(patch) == 0 {
		return errors.New("the guide shows no change: an example is blocks of diff")
	}
	tree := copyOfTree(t)
	if _, err := run(tree, patch, "git", "apply", "--whitespace=error-all", "-"); err != nil {
		return fmt.Errorf("the example does not fit the code: %w", err)
	}
	var touched []string
	for _, file := range touches.FindAllSubmatch(patch, -1) {
		name := string(file[1])
		switch filepath.Ext(name) {
		case ".templ":
			if _, err := run(tree, nil, "go", "-C", "tools", "tool", "templ", "generate", "-log-level", "error", "-f", "../"+name); err != nil {
				return fmt.Errorf("writing the Go of a template: %w", err)
			}
		case ".go":
			touched = append(touched, module+path.Dir(name))
		}
	}
	if touched == nil {
		return errors.New("the example has no Go in it")
	}
	slices.Sort(touched)
	// The whole is put together in cmd/stithy: what an example takes from another room is missed by then.
	if err := typeCheck(tree, []string{module + "cmd/stithy"}, slices.Compact(touched)); err != nil {
		return fmt.Errorf("the example does not compile: %w", err)
	}
	return nil
}

// copyOfTree is what the repository holds, and what is about to be added to it, in a folder of its own.
func copyOfTree(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("listing the files of the repository: %v", err)
	}
	tree := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and the removal is not committed yet
		}
		to := filepath.Join(tree, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// run runs a command in a tree, and returns what it says. It compiles as make does: what any build has compiled before is taken from the
// cache.
func run(tree string, in []byte, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Stdin = tree, bytes.NewReader(in)
	c.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-trimpath -buildvcs=false", "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	var out, said strings.Builder
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, args[0], err, &said, &out)
	}
	return out.String(), nil
}
