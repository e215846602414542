package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

// glab is the command line client that people plan with, in a clone of the project.
func TestGlabPlans(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs(filepath.Join(root, "bin/tools/glab"))
	if err != nil {
		t.Fatal(err)
	}
	need(t, "glab is missing: make tools", program, "version")
	f := start(t)
	call(f.client(t, f.token).Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("tool")})).ok(t, http.StatusCreated)
	home := t.TempDir()
	settings := filepath.Join(home, ".config/glab-cli")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	// It finds the host by its name, and the port in what it is told of that.
	config := fmt.Sprintf("check_update: false\nno_prompt: true\nhost: 127.0.0.1\nhosts:\n  127.0.0.1:\n    api_protocol: http\n    api_host: %s\n    git_protocol: http\n    token: %s\n    user: root\n",
		strings.TrimPrefix(f.url, "http://"), f.token)
	if err := os.WriteFile(filepath.Join(settings, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f.mustGit(home, nil, "init", "-q", "clone")
	clone := filepath.Join(home, "clone")
	f.mustGit(clone, nil, "remote", "add", "origin", f.url+"/root/tool.git")

	glab := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = clone
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "NO_PROMPT=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("glab %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for _, c := range []struct {
		args string
		says []string
	}{
		{"issue create|-t|Mend the door|-d|It squeaks.|-l|bug|--no-editor|-y", []string{"/root/tool/-/issues/1"}},
		{"issue list", []string{"#1", "Mend the door", "bug"}},
		{"issue note|1|-m|Oil is on its way.", []string{"/root/tool/-/issues/1#note_"}},
		{"issue view|1|-c", []string{"Mend the door", "state:\topen", "comments:\t1", "It squeaks."}},
		{"issue update|1|-t|Mend the doors|-l|wood", []string{"updated title", "added labels wood"}},
		{"issue close|1", []string{"Closed Issue #1"}},
		{"issue list|-c", []string{"Mend the doors", "wood"}},
		{"issue reopen|1", []string{"Reopened Issue #1"}},
		{"label create|-n|later|-c|#336699", []string{"Created label: later"}},
		{"label list", []string{"bug", "later", "wood"}},
		{"issue board|create|Plans", []string{`Board created: "Plans"`}},
		{"api|projects/root%2Ftool/issues", []string{`"title":"Mend the doors"`, `"user_notes_count":1`}},
		{"issue delete|1", []string{"Issue Deleted"}},
	} {
		first, rest, _ := strings.Cut(c.args, "|")
		args := strings.Fields(first)
		if rest != "" {
			args = append(args, strings.Split(rest, "|")...)
		}
		out := glab(args...)
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("glab %s: nothing of %q in\n%s", strings.Join(args, " "), want, out)
			}
		}
	}
}
