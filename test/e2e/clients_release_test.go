package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// semantic-release does all that comes before a release: it looks at the
// project and at who it is, reads tags, notes and history, and pushes a tag
// with its note. It comes with the user name of jobs and the token of a person.
func TestSemanticReleaseTagsWhatItWouldRelease(t *testing.T) {
	t.Parallel()
	need(t, "semantic-release 24.2.9 is missing: npm ci --ignore-scripts in test/e2e/node", "node", "-e",
		`const v = require("./node/node_modules/semantic-release/package.json").version; if (v !== "24.2.9") process.exit(1)`)
	program, err := filepath.Abs("node/node_modules/semantic-release/bin/semantic-release.js")
	if err != nil {
		t.Fatal(err)
	}
	f := start(t)
	f.project("tool")
	dir := f.tree()
	none := []string{}
	settings, err := json.Marshal(map[string]any{
		"branches": []string{"main"}, "repositoryUrl": f.url + "/root/tool.git", "plugins": none,
		"verifyConditions": []string{"@semantic-release/gitlab"}, "analyzeCommits": []string{"@semantic-release/commit-analyzer"},
		"generateNotes": []string{"@semantic-release/release-notes-generator"},
		"prepare":       none, "publish": none, "addChannel": none, "success": none, "fail": none,
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func(name, message string) {
		if err := os.WriteFile(filepath.Join(dir, name), settings, 0o600); err != nil {
			t.Fatal(err)
		}
		f.mustGit(dir, nil, "add", ".")
		f.mustGit(dir, nil, "commit", "--allow-empty", "-qm", message)
		f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "HEAD:main")
	}
	release := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), tourTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, "node", program, "--no-ci")
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "LANG=C.UTF-8", "GIT_CONFIG_SYSTEM=/dev/null",
			"GITLAB_TOKEN=" + f.token, "GITLAB_URL=" + f.url,
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("semantic-release: %v\n%s", err, out)
		}
		return string(out)
	}
	change(".releaserc.json", "feat: what it is for")
	if out := release(); !strings.Contains(out, "Published release 1.0.0") {
		t.Errorf("the first release: %s", out)
	}
	change("x", "fix: what was wrong")
	if out := release(); !strings.Contains(out, "Published release 1.0.1") {
		t.Errorf("the second release: %s", out)
	}
	if out := release(); !strings.Contains(out, "no new version is released") {
		t.Errorf("nothing new: %s", out)
	}
	var tags []struct{ Name string }
	if code := f.asRoot("GET", "/projects/root%2Ftool/repository/tags?order_by=version", nil, &tags); code != http.StatusOK || len(tags) != 2 ||
		tags[0].Name != "v1.0.1" || tags[1].Name != "v1.0.0" {
		t.Errorf("got %d %v", code, tags)
	}
	if out := f.mustGit("/", nil, "ls-remote", f.remote("tool"), "refs/notes/*"); !strings.Contains(out, "refs/notes/semantic-release-v1.0.1") {
		t.Errorf("the notes are %s", out)
	}
	f.disk()
}
