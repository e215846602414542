package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A job fetches with its token, under the name that scripts know: its own project, open ones, and those that list its
// project. It pushes nowhere, and its token is dead when it ends.
func TestAJobClonesWithItsTokenWhileItRuns(t *testing.T) {
	t.Parallel()
	f := start(t)
	own, listed := f.project("tool"), f.project("library")
	f.project("other")
	dir := f.tree()
	for _, name := range []string{"library", "other"} {
		f.mustGit(dir, nil, "push", f.remote(name), "HEAD:refs/heads/main")
	}
	f.commit(dir, ciFile, "go: {script: [x]}\n")
	f.mustGit(dir, nil, "push", f.remote("tool"), "HEAD:refs/heads/main")
	if got := f.asRoot(http.MethodPost, fmt.Sprintf("/projects/%d/job_token_scope/allowlist", listed), map[string]string{
		"target_project_id": fmt.Sprint(own),
	}, nil); got != http.StatusCreated {
		t.Fatalf("letting the jobs of a project in: %d", got)
	}
	job := f.hand().take()
	remote := func(user, name string) string {
		return strings.Replace(f.url, "://", "://"+user+":"+job.Token+"@", 1) + "/root/" + name + ".git"
	}
	clone := func(user, name string) error {
		_, err := f.git(dir, nil, "clone", "-q", remote(user, name), filepath.Join(t.TempDir(), name))
		return err
	}
	for _, c := range []struct {
		user, name string
		may        bool
	}{
		{"gitlab-ci-token", "tool", true}, {"svc-ci-token", "tool", true}, {"gitlab-ci-token", "library", true},
		{"gitlab-ci-token", "other", false}, {"root", "tool", false}, {"oauth2", "tool", false},
	} {
		if err := clone(c.user, c.name); (err == nil) != c.may {
			t.Errorf("as %s from %s: %v", c.user, c.name, err)
		}
	}
	for _, name := range []string{"tool", "library"} {
		if out, err := f.git(dir, nil, "push", remote("gitlab-ci-token", name), "HEAD:refs/heads/by-a-job"); err == nil {
			t.Errorf("a job pushes to %s: %s", name, out)
		}
	}

	// CI-16: what a batch of large files answers is no proof without the token.
	oid := strings.Repeat("ab", 32)
	batch := func(as func(*http.Request)) int {
		t.Helper()
		body := fmt.Sprintf(`{"operation":"download","objects":[{"oid":%q,"size":1}]}`, oid)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/root/tool.git/info/lfs/objects/batch", bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/vnd.git-lfs+json")
		as(req)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	byToken := func(r *http.Request) { r.SetBasicAuth("gitlab-ci-token", job.Token) }
	if got := batch(byToken); got != http.StatusOK {
		t.Errorf("a batch of large files with the token: %d", got)
	}
	if got := batch(func(*http.Request) {}); got != http.StatusUnauthorized {
		t.Errorf("without: %d", got)
	}

	job.succeed()
	for _, name := range []string{"tool", "library"} {
		if err := clone("gitlab-ci-token", name); err == nil {
			t.Errorf("%s is fetched with the token of a job that ended", name)
		}
	}
	if got := batch(byToken); got != http.StatusUnauthorized {
		t.Errorf("a batch after the end: %d", got)
	}
}
