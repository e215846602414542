package e2e

import (
	"context"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stithy/test/load/history"
)

// number is a size that a longer run than that of every day sets.
func number(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// What a storm may cost: the memory of the server, git's processes apart, and
// the patience of those who call the API meanwhile.
const (
	stormMemory = 300 // MB
	stormP99    = time.Second
)

// TestManyClonesAtOnceFailNobody clones one repository by as many clients at
// once as STITHY_TEST_CLONES says, while others use the API.
func TestManyClonesAtOnceFailNobody(t *testing.T) {
	t.Parallel()
	clones := number(t, "STITHY_TEST_CLONES", 20)
	source, err := history.Build(t.Context(), t.TempDir(), history.Small)
	if err != nil {
		t.Fatal(err)
	}
	f := install(t)
	n := f.serve()
	f.project("tool")
	f.mustGit(source, nil, "push", "-q", "--mirror", f.remote("tool"))
	want := strings.TrimSpace(f.mustGit(source, nil, "rev-parse", "main"))

	storm, calm := context.WithCancel(t.Context())
	defer calm()
	var others sync.WaitGroup
	var peak atomic.Int64
	var mu sync.Mutex
	var times []time.Duration
	others.Go(func() { watchMemory(storm, n.cmd.Process.Pid, &peak) })
	for range 2 {
		others.Go(func() {
			for storm.Err() == nil {
				took, err := f.timed(storm, "/projects/1/repository/tree")
				if storm.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("the API meanwhile: %v", err)
					return
				}
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			}
		})
	}
	// All clients in a session of their own, which the kernel gives its share of the cores: they stand for other
	// machines, and whoever calls the API is none of them.
	to := t.TempDir()
	numbers := make([]string, clones)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	clients := f.command(to, nil, "xargs", "-P", strconv.Itoa(clones), "-I{}", "git", "clone", "-q", "--bare", f.remote("tool"), "{}")
	clients.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	clients.Stdin = strings.NewReader(strings.Join(numbers, "\n"))
	began := time.Now()
	if out, err := clients.CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	took := time.Since(began)
	calm()
	others.Wait()
	for _, n := range numbers {
		if got, err := f.git(filepath.Join(to, n), nil, "rev-parse", "main"); err != nil || strings.TrimSpace(got) != want {
			t.Errorf("clone %s has %q, %v", n, got, err)
		}
	}

	slices.Sort(times)
	p99 := times[len(times)*99/100]
	t.Logf("%d clones in %v; server at most %d MB; %d calls of the API meanwhile, p50 %v, p99 %v",
		clones, took.Round(time.Millisecond), peak.Load()>>20, len(times), times[len(times)/2], p99)
	if peak.Load() > stormMemory<<20 {
		t.Errorf("the server took %d MB, at most %d", peak.Load()>>20, stormMemory)
	}
	if p99 > stormP99 {
		t.Errorf("p99 of the API was %v, at most %v", p99, stormP99)
	}
}

func (f *forge) timed(ctx context.Context, path string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/api/v4"+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Private-Token", f.token)
	began := time.Now()
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, reply.Status)
	}
	return time.Since(began), err
}

// watchMemory keeps the largest resident size of a process.
func watchMemory(ctx context.Context, pid int, peak *atomic.Int64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers
			peak.Store(max(peak.Load(), pages*int64(os.Getpagesize())))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// TestALargePushArrivesOverBothWays pushes as many megabytes as
// STITHY_TEST_PUSH_MB says, and clones them back.
func TestALargePushArrivesOverBothWays(t *testing.T) {
	t.Parallel()
	megabytes := number(t, "STITHY_TEST_PUSH_MB", 24)
	ssh := freeAddress(t)
	f := install(t, "STITHY_SSH_LISTEN="+ssh)
	n := f.serve()
	overSSH := f.keyPair(ssh)
	for _, way := range []struct {
		name, remote string
		env          []string
	}{{"http", f.remote("over-http"), nil}, {"ssh", "git@127.0.0.1:root/over-ssh.git", overSSH}} {
		f.project("over-" + way.name)
		dir := f.tree()
		f.mustGit(dir, nil, "config", "core.compression", "0") // what cannot be compressed need not be tried
		f.mustGit(dir, nil, "config", "core.bigFileThreshold", "1m")
		const part = 64 << 20
		random := mathrand.NewChaCha8([32]byte{1})
		for i, left := 0, megabytes<<20; left > 0; i, left = i+1, left-part {
			file, err := os.Create(filepath.Join(dir, "noise"+strconv.Itoa(i)))
			if err == nil {
				_, err = io.CopyN(file, random, int64(min(left, part)))
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = file.Close()
		}
		f.mustGit(dir, nil, "add", ".")
		f.mustGit(dir, nil, "commit", "-qm", "noise")
		watching, stop := context.WithCancel(t.Context())
		var peak atomic.Int64
		var watch sync.WaitGroup
		watch.Go(func() { watchMemory(watching, n.cmd.Process.Pid, &peak) })
		began := time.Now()
		f.mustGit(dir, way.env, "push", "-q", way.remote, "main")
		pushed := time.Since(began)
		to := filepath.Join(t.TempDir(), way.name)
		f.mustGit("/", way.env, "clone", "-q", "--bare", way.remote, to)
		stop()
		watch.Wait()
		t.Logf("%s: %d MB pushed in %v, cloned in %v; server at most %d MB", way.name, megabytes, pushed.Round(time.Millisecond),
			(time.Since(began) - pushed).Round(time.Millisecond), peak.Load()>>20)
		if peak.Load() > stormMemory<<20 {
			t.Errorf("%s: the server took %d MB", way.name, peak.Load()>>20)
		}
		want, got := f.mustGit(dir, nil, "rev-parse", "HEAD^{tree}"), f.mustGit(to, nil, "rev-parse", "main^{tree}")
		if want != got {
			t.Errorf("%s: %s became %s", way.name, want, got)
		}
		_ = os.RemoveAll(to)
		_ = os.RemoveAll(dir)
	}
	f.disk()
}

// A clone reads on while the packs that it reads from are replaced.
func TestDL08_ACloneDuringARepackIsWhole(t *testing.T) {
	t.Parallel()
	source, err := history.Build(t.Context(), t.TempDir(), history.Small)
	if err != nil {
		t.Fatal(err)
	}
	f := start(t)
	f.project("tool")
	f.mustGit(source, nil, "push", "-q", "--mirror", f.remote("tool"))
	found, err := filepath.Glob(filepath.Join(f.dir, "data/repositories/@hashed/*/*/*.git"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %q %v", found, err)
	}
	done := make(chan struct{})
	var upkeep sync.WaitGroup
	upkeep.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			// By turns one pack and a few, so that none that a clone began with stays.
			args := []string{"repack", "-q", "-d", "-l", "-a", "--write-bitmap-index"}
			if i%2 == 1 {
				args = []string{"repack", "-q", "-d", "-l", "--geometric=2", "--write-midx"}
			}
			if out, err := f.git(found[0], nil, args...); err != nil {
				t.Errorf("repack: %v %s", err, out)
				return
			}
		}
	})
	for i := range 6 {
		to := filepath.Join(t.TempDir(), strconv.Itoa(i))
		// Of different depths, so that each is made by git and not kept from the one before.
		f.mustGit("/", nil, "clone", "-q", "--bare", "--no-single-branch", "--depth="+strconv.Itoa(1000+i), f.remote("tool"), to)
		f.mustGit(to, nil, "fsck", "--full", "--no-dangling")
	}
	close(done)
	upkeep.Wait()
	f.disk()
}
