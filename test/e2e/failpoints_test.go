package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/postgres"
)

// mortal is the program with the moments at which it may be killed.
var mortal = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir(), "stithy-failpoints")
	build := exec.Command("go", "build", "-ldflags", failpoint.Arm, "-o", path, "./cmd/stithy")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return path, nil
})

// converges is how long a forge may take to make up for a death.
const converges = time.Minute

// mortality is a forge whose nodes die when they are told to.
func mortality(t *testing.T) *forge {
	t.Helper()
	f := install(t)
	path, err := mortal()
	if err != nil {
		t.Fatal(err)
	}
	f.binary = path
	return f
}

// dying starts a node, lets it act, and waits until it has died of it.
func (f *forge) dying(at failpoint.Point, act func()) {
	f.t.Helper()
	n := f.serve(failpoint.Variable + "=" + string(at))
	act()
	select {
	case <-n.done:
		n.dead = true
	case <-time.After(patience):
		f.t.Fatalf("%s was not reached", at)
	}
}

// try calls the API and does not mind if nobody answers.
func (f *forge) try(method, path string, form string) int {
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v4"+path, strings.NewReader(form))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Private-Token", f.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}

// sound checks every repository with git.
func (f *forge) sound() {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.dir, "data/repositories/@hashed/*/*/*.git"))
	if err != nil || len(found) == 0 {
		f.t.Fatalf("the repositories: %q %v", found, err)
	}
	for _, dir := range found {
		if out, err := f.git(dir, nil, "fsck", "--full", "--strict", "--no-dangling"); err != nil {
			f.t.Errorf("fsck: %v\n%s", err, out)
		}
	}
}

func (f *forge) open() *postgres.DB {
	f.t.Helper()
	db, err := postgres.Open(f.t.Context(), f.database(), 2)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(db.Close)
	return db
}

// The suite of failpoints: a process that dies between intent, refs and note
// leaves all or nothing, and the next one finds out which.
func TestDL15_AWriteThatIsKilledAtAnyMomentIsAllOrNothing(t *testing.T) {
	t.Parallel()
	// What is open when it dies is done anew by the job, which would come by
	// the same moment: it is first.
	moments := []failpoint.Point{
		failpoint.PushNoting, failpoint.PushJudged, failpoint.PushIntended, failpoint.ObjectsTaken, failpoint.RefsMoved, failpoint.PushSettled,
	}
	for _, door := range []string{"push", "api"} {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			f := mortality(t)
			n := f.serve()
			id := f.project("tool")
			dir := f.tree()
			f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main")
			n.stop()
			act := func(branch string) bool {
				if door == "push" {
					_, err := f.git(dir, nil, "push", "-q", f.remote("tool"), "HEAD:"+branch)
					return err == nil
				}
				code := f.try("POST", fmt.Sprintf("/projects/%d/repository/files/new", id), "branch="+branch+"&start_branch=main&content=x&commit_message=m")
				return code == http.StatusCreated
			}
			var points []failpoint.Point
			for _, at := range moments {
				if door == "push" && at == failpoint.ObjectsTaken {
					continue // git takes them in by itself
				}
				points = append(points, at)
				f.commit(dir, "file", string(at))
				f.dying(at, func() {
					if act(string(at)) {
						t.Errorf("%s: it was reported as done", at)
					}
				})
			}
			f.serve()
			db := f.open()
			eventually(t, converges, "every push is settled", func() bool {
				left, err := postgres.Value[int](t.Context(), db, `select count(*) from pushes where state = 'pending'`)
				return err == nil && left == 0
			})
			moved := []failpoint.Point{failpoint.RefsMoved, failpoint.PushNoting, failpoint.PushSettled}
			for _, at := range points {
				refs := f.mustGit("/", nil, "ls-remote", f.remote("tool"), "refs/heads/"+string(at))
				records, err := postgres.Value[int](t.Context(), db, `select count(*) from pushes where state = 'done' and updates @> $1::jsonb`,
					fmt.Sprintf(`[{"ref":"refs/heads/%s"}]`, at))
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				if slices.Contains(moved, at) {
					want = 1
				}
				if there := strings.Count(refs, "\n"); there != want || records != want {
					t.Errorf("%s: the branch is there %d times and noted %d times, want %d", at, there, records, want)
				}
				if want == 0 && !act(string(at)) {
					t.Errorf("%s: it cannot be done again", at)
				}
			}
			f.sound()
		})
	}
}

func TestDL15_AForkThatIsKilledAtAnyMomentIsFinished(t *testing.T) {
	t.Parallel()
	f := mortality(t)
	n := f.serve()
	id := f.project("tool")
	dir := f.tree()
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main")
	n.stop()
	points := []failpoint.Point{failpoint.CopyBegun, failpoint.CopyLinked, failpoint.CopyDone}
	for _, at := range points {
		f.dying(at, func() { f.try("POST", fmt.Sprintf("/projects/%d/fork", id), "path="+string(at)+"&name="+string(at)) })
	}
	f.serve()
	want := f.mustGit("/", nil, "ls-remote", f.remote("tool"), "refs/heads/*")
	eventually(t, converges, "every fork is filled", func() bool {
		return !slices.ContainsFunc(points, func(at failpoint.Point) bool {
			got, err := f.git("/", nil, "ls-remote", f.remote(string(at)), "refs/heads/*")
			return err != nil || got != want
		})
	})
	f.sound()
	f.nothingHalfMade()
}

func TestDL15_ARemovalThatIsKilledAtAnyMomentIsFinished(t *testing.T) {
	t.Parallel()
	f := mortality(t)
	n := f.serve()
	points := []failpoint.Point{failpoint.RemoveBegun, failpoint.RemoveMoved, failpoint.RemoveDone}
	dir := f.tree()
	ids := map[failpoint.Point]int64{}
	for _, at := range points {
		ids[at] = f.project(string(at))
		f.mustGit(dir, nil, "push", "-q", f.remote(string(at)), "main")
	}
	f.project("kept")
	f.mustGit(dir, nil, "push", "-q", f.remote("kept"), "main")
	n.stop()
	for _, at := range points {
		f.dying(at, func() { f.try("DELETE", "/projects/"+strconv.FormatInt(ids[at], 10), "") })
	}
	f.serve()
	eventually(t, converges, "every repository is gone", func() bool {
		for _, id := range ids {
			path := filepath.Join(f.dir, "data/repositories", gitstore.KeyOf("default", id, 0).Path)
			if _, err := os.Stat(path); err == nil {
				return false
			}
		}
		return true
	})
	f.mustGit("/", nil, "ls-remote", f.remote("kept"))
	f.sound()
	f.nothingHalfMade()
}

// nothingHalfMade looks where repositories are put together and taken apart.
func (f *forge) nothingHalfMade() {
	f.t.Helper()
	eventually(f.t, converges, "nothing is half made or half gone", func() bool {
		left, err := os.ReadDir(filepath.Join(f.dir, "data/repositories/@tmp"))
		return err == nil && len(left) == 0
	})
}

func TestABuildForServiceRefusesFailpoints(t *testing.T) {
	t.Parallel()
	f := install(t)
	f.env = append(f.env, failpoint.Variable+"="+string(failpoint.RefsMoved))
	if _, stderr, err := f.run("migrate"); err == nil || !strings.Contains(stderr, failpoint.Variable+": unknown variable") {
		t.Errorf("got %v %s", err, stderr)
	}
}
