package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The runner and the client of Git LFS, as others wrote them, try again by themselves.
func TestClientsTryAgainWhenTheStoreIsBack(t *testing.T) {
	t.Parallel()
	store := newBucket(t)
	f := install(t, "STITHY_BLOB_URL="+store.url)
	f.secret(store.url)
	n := f.serve()
	f.project("art")
	project := f.project("tool")
	f.runner()

	dir, large := f.tree(), bytes.Repeat([]byte("a large file\n"), 100_000)
	f.mustGit(dir, nil, "lfs", "install", "--local")
	f.mustGit(dir, nil, "lfs", "track", "*.psd")
	f.commit(dir, "ship.psd", string(large))
	f.mustGit(dir, nil, "remote", "add", "origin", f.remote("art"))
	store.cut()
	refused := n.log.wait("The store of large files cannot be reached")
	pushed := make(chan error, 1)
	go func() {
		out, err := f.git(dir, nil, "push", "-q", "origin", "main")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		pushed <- err
	}()
	select {
	case <-refused:
	case err := <-pushed:
		t.Fatalf("a push without a store: %v", err)
	}
	store.mend()
	if err := <-pushed; err != nil {
		t.Fatalf("the push did not try again: %v", err)
	}
	to := filepath.Join(t.TempDir(), "clone")
	f.mustGit(dir, nil, "-c", "filter.lfs.smudge=git-lfs smudge -- %f", "-c", "filter.lfs.process=git-lfs filter-process", "clone", "-q", f.remote("art"), to)
	if got, err := os.ReadFile(filepath.Join(to, "ship.psd")); err != nil || !bytes.Equal(got, large) {
		t.Errorf("what was cloned: %d bytes, %v", len(got), err)
	}

	// A project without large files, which a runner would fetch first.
	store.cut()
	refused = n.log.wait("The store of files cannot be reached")
	dir = f.tree()
	f.commit(dir, ciFile, "go: {script: ['echo made > out.txt'], artifacts: {paths: [out.txt]}}\n")
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main")
	select {
	case <-refused:
	case <-time.After(ciPatience):
		t.Fatal("the runner hands nothing in")
	}
	store.mend()
	done := f.awaitPipeline(project, strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD")), "success")
	job := f.jobs(project, done.ID)["go"]
	got := f.speak(http.MethodGet, fmt.Sprintf("/projects/%d/jobs/%d/artifacts/out.txt", project, job.ID), nil, map[string]string{"Private-Token": f.token})
	if got.status != http.StatusOK || got.body != "made\n" {
		t.Errorf("what the job left: %+v\n%s", got, tail(f.trace(project, job.ID)))
	}
}
