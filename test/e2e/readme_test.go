package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheReadmeStartWorksWordByWord copies the tree, and runs there what the README tells a new reader to type. Only
// the environment differs: the port and the database are the test's own.
func TestTheReadmeStartWorksWordByWord(t *testing.T) {
	t.Parallel()
	script := shellUnder(t, filepath.Join(root, "README.md"), "five minutes")
	for _, word := range []string{"make build", "bin/stithy migrate", "create-user", "create-token", "bin/stithy serve", "curl"} {
		if !strings.Contains(script, word) {
			t.Fatalf("the README does not say %s", word)
		}
	}
	dir := t.TempDir()
	copyTree(t, dir)

	// createdb is the real one, told where the server is and another name: a machine may have a database of that name.
	base, err := url.Parse(baseURL())
	if err != nil {
		t.Fatal(err)
	}
	name := "stithy_e2e_" + strings.ToLower(rand.Text())
	own := *base
	own.Path = "/" + name
	program, err := exec.LookPath("createdb")
	if err != nil {
		t.Fatal("createdb is missing: apt-get install -y postgresql-client")
	}
	tools := t.TempDir()
	shim := "#!/bin/sh\nset -eu\n[ $# -eq 1 ]\nexec " + program + " --maintenance-db='" + base.String() + "' " + name + "\n"
	if err := os.WriteFile(filepath.Join(tools, "createdb"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(base, "drop database if exists "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})

	address := freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail\n"+script)
	cmd.Dir = dir
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "STITHY_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"),
		"STITHY_DATABASE_URL="+own.String(), "STITHY_LISTEN="+address, "STITHY_EXTERNAL_URL=http://"+address)
	// The script is a group of its own, so that a server that it leaves behind ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !regexp.MustCompile(`"username":"\w+".*"is_admin":true`).Match(out.Bytes()) {
		t.Errorf("the last call does not show the administrator:\n%s", out.String())
	}
}

// shellUnder joins the sh blocks below the first heading that contains a text, up to the next heading of its level.
func shellUnder(t testing.TB, path, heading string) string {
	t.Helper()
	var script strings.Builder
	level, inside := "", false
	for line := range strings.Lines(readFile(t, path)) {
		marks := line[:len(line)-len(strings.TrimLeft(line, "#"))]
		switch {
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			script.WriteString(line)
		case level == "":
			if marks != "" && strings.Contains(strings.ToLower(line), heading) {
				level = marks
			}
		case strings.HasPrefix(line, "```sh"):
			inside = true
		case marks != "" && len(marks) <= len(level):
			return script.String()
		}
	}
	return script.String()
}

// copyTree copies what a clone would have, and what is about to be committed.
func copyTree(t testing.TB, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		from := filepath.Join(root, name)
		info, err := os.Stat(from)
		if os.IsNotExist(err) { // deleted, and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}
