package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stithy/internal/platform/postgres"
)

// asRoot calls the forge as root and decodes the answer, if there is to be one.
func (f *forge) asRoot(method, path string, form map[string]string, into any) int {
	f.t.Helper()
	values := url.Values{}
	for k, v := range form {
		values.Set(k, v)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(f.t.Context()), method, f.url+"/api/v4"+path, strings.NewReader(values.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Private-Token", f.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := f.http.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			f.t.Fatalf("%s %s: %d %s", method, path, reply.StatusCode, body)
		}
	}
	return reply.StatusCode
}

// project makes a project of root and returns its id.
func (f *forge) project(name string) int64 {
	f.t.Helper()
	var p struct {
		ID int64 `json:"id"`
	}
	if code := f.asRoot("POST", "/projects", map[string]string{"name": name}, &p); code != http.StatusCreated {
		f.t.Fatalf("making a project: %d", code)
	}
	return p.ID
}

// remote is the address of a project of root, with credentials.
func (f *forge) remote(name string) string {
	return strings.Replace(f.url, "://", "://any:"+f.token+"@", 1) + "/root/" + name + ".git"
}

// git runs a client; more are variables of its environment.
func (f *forge) git(dir string, more []string, args ...string) (string, error) {
	out, err := f.command(dir, more, "git", args...).CombinedOutput()
	return string(out), err
}

// command is a program in the environment of clients of git.
func (f *forge) command(dir string, more []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(f.t.Context()), name, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.com",
	}, append(f.clients[:len(f.clients):len(f.clients)], more...)...)
	return cmd
}

func (f *forge) mustGit(dir string, more []string, args ...string) string {
	f.t.Helper()
	out, err := f.git(dir, more, args...)
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// tree makes a working tree with a first commit.
func (f *forge) tree() string {
	f.t.Helper()
	dir := f.t.TempDir()
	f.mustGit(dir, nil, "init", "-q", "-b", "main")
	f.commit(dir, "readme", "hello")
	return dir
}

func (f *forge) commit(dir, name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.mustGit(dir, nil, "add", ".")
	f.mustGit(dir, nil, "commit", "-qm", name)
}

// disk checks every repository of the forge: sound, and nothing left over once
// the last answer is out.
func (f *forge) disk() {
	f.t.Helper()
	var repositories, left []string
	look := func() bool {
		repositories, left = nil, nil
		err := filepath.WalkDir(filepath.Join(f.dir, "data", "repositories"), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it goes while we look
			}
			name := filepath.Base(path)
			switch {
			case strings.HasSuffix(name, ".git") && d.IsDir():
				repositories = append(repositories, path)
			case strings.HasSuffix(name, ".lock"), strings.HasPrefix(name, "tmp_"), filepath.Base(filepath.Dir(path)) == "pushes":
				left = append(left, path)
			}
			return err
		})
		return err == nil && len(left) == 0
	}
	defer func() {
		if len(left) > 0 {
			f.t.Logf("left over: %q", left)
		}
	}()
	eventually(f.t, patience, "nothing is left over on the disk", look)
	for _, dir := range repositories {
		if out, err := f.git(dir, nil, "fsck", "--full", "--strict", "--no-dangling"); err != nil {
			f.t.Errorf("fsck: %v\n%s", err, out)
		}
	}
	if len(repositories) == 0 {
		f.t.Error("there is no repository")
	}
}

// keyPair makes an SSH key for root and returns the variables with which git
// uses it.
func (f *forge) keyPair(address string) []string {
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), "key")
	if out, err := exec.CommandContext(f.t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
		f.t.Fatalf("ssh-keygen (of OpenSSH's client): %v %s", err, out)
	}
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		f.t.Fatal(err)
	}
	if code := f.asRoot("POST", "/user/keys", map[string]string{"title": "e2e", "key": string(public)}, nil); code != http.StatusCreated {
		f.t.Fatalf("adding a key: %d", code)
	}
	_, port, _ := strings.Cut(address, ":")
	return []string{"GIT_SSH_COMMAND=ssh -F none -p " + port + " -i " + file +
		" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR -o UserKnownHostsFile=" + file + ".known"}
}

func TestGitOverHTTPAndSSH(t *testing.T) {
	t.Parallel()
	ssh := freeAddress(t)
	f := start(t, "STITHY_SSH_LISTEN="+ssh)
	id := f.project("tool")
	overSSH := f.keyPair(ssh)
	for i, way := range []struct {
		remote string
		env    []string
	}{{f.remote("tool"), nil}, {"git@127.0.0.1:root/tool.git", overSSH}} {
		dir := f.tree()
		branch := "main"
		if i > 0 {
			f.mustGit(dir, nil, "fetch", "-q", f.remote("tool"), "main")
			f.mustGit(dir, nil, "reset", "-q", "--hard", "FETCH_HEAD")
			f.commit(dir, "second", "x")
		}
		f.mustGit(dir, way.env, "push", "-q", way.remote, "HEAD:"+branch)
		f.mustGit(dir, nil, "commit", "-q", "--amend", "-m", "another")
		out, err := f.git(dir, way.env, "push", "--force", way.remote, "HEAD:"+branch)
		if err == nil || !strings.Contains(out, "remote: Svc: You are not allowed to force push code to a protected branch on this project.") {
			t.Errorf("a forced push to a protected branch: %v %s", err, out)
		}
		if out := f.mustGit(dir, way.env, "push", "-o", "ci.skip", way.remote, "HEAD:side"+strconv.Itoa(i)); strings.Contains(out, "merge_requests") {
			t.Errorf("a push names a page that is not there: %s", out)
		}
		for _, args := range [][]string{nil, {"--depth=1"}, {"--filter=blob:none"}, {"--mirror"}} {
			to := filepath.Join(t.TempDir(), "clone")
			f.mustGit("/", way.env, append(append([]string{"clone", "-q"}, args...), way.remote, to)...)
		}
	}
	if out, err := f.git("/", overSSH, "ls-remote", "git@127.0.0.1:root/nothing.git"); err == nil || !strings.Contains(out, "could not be found") {
		t.Errorf("got %v %s", err, out)
	}
	command := strings.Fields(strings.TrimPrefix(overSSH[0], "GIT_SSH_COMMAND="))
	if out, _ := exec.CommandContext(t.Context(), command[0], append(command[1:], "git@127.0.0.1")...).Output(); string(out) != "Welcome to Svc, @root!\n" {
		t.Errorf("got %q", out)
	}
	if code := f.asRoot("PUT", "/projects/"+strconv.FormatInt(id, 10), map[string]string{"path": "gadget"}, nil); code != http.StatusOK {
		t.Fatalf("renaming: %d", code)
	}
	out := f.mustGit("/", nil, "clone", f.remote("tool"), filepath.Join(t.TempDir(), "moved"))
	if !strings.Contains(out, "was moved to 'root/gadget'") {
		t.Errorf("got %s", out)
	}
	dir := f.tree()
	f.mustGit(dir, nil, "push", "-q", f.remote("new-one"), "main") // makes a project
	f.disk()
}

func TestOfTwoPushesToOneBranchOneWinsAndOneIsTold(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.project("tool")
	dir := f.tree()
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main:main", "main:work")
	type result struct {
		out string
		err error
	}
	results := make(chan result, 4)
	var clones []string
	for i := range cap(results) {
		clone := filepath.Join(t.TempDir(), strconv.Itoa(i))
		f.mustGit("/", nil, "clone", "-q", "-b", "work", f.remote("tool"), clone)
		f.commit(clone, "mine", strconv.Itoa(i))
		clones = append(clones, clone)
	}
	for _, clone := range clones {
		go func() {
			out, err := f.git(clone, nil, "push", "origin", "work")
			results <- result{out, err}
		}()
	}
	won := 0
	for range cap(results) {
		if r := <-results; r.err == nil {
			won++
		} else if !strings.Contains(r.out, "rejected") {
			t.Errorf("the other heard %s", r.out)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d won", won, cap(results))
	}
	f.disk()
}

func TestAnInterruptedPushLeavesNothing(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.project("tool")
	dir := f.tree()
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main")
	noise := make([]byte, 20<<20)
	for i := range noise {
		noise[i] = byte(mathrand.Uint32())
	}
	f.commit(dir, "noise", string(noise))
	cmd := exec.CommandContext(t.Context(), "git", "push", f.remote("tool"), "main:cut")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	objects := filepath.Join(f.dir, "data/repositories/@hashed/*/*/*.git/objects/tmp_objdir-*")
	eventually(t, patience, "the pack is on its way", func() bool {
		on, err := filepath.Glob(objects)
		return err == nil && len(on) > 0
	})
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil { // git and its helpers
		t.Fatal(err)
	}
	_ = cmd.Wait()
	f.disk()
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main:whole")
	f.disk()
}

// TestDL14_NoPushIsLostWhenTheServerIsKilled kills the server at any moment of
// a row of pushes. What git reported as done is there, and is noted once.
func TestDL14_NoPushIsLostWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	pushes := 15
	if n, err := strconv.Atoi(os.Getenv("STITHY_TEST_PUSHES")); err == nil {
		pushes = n
	}
	f := install(t)
	n := f.serve()
	f.project("tool")
	dir := f.tree()
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "main")
	done := map[string]string{} // branch to commit
	for i := range pushes {
		branch := fmt.Sprintf("b%d", i)
		f.commit(dir, "file", branch)
		told := make(chan error, 1)
		go func() {
			_, err := f.git(dir, nil, "push", f.remote("tool"), "HEAD:"+branch)
			told <- err
		}()
		select {
		case err := <-told:
			told <- err
		case <-time.After(time.Duration(mathrand.IntN(1500)) * time.Millisecond):
		}
		n.kill()
		if err := <-told; err == nil {
			done[branch] = strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD"))
		}
		n = f.serve()
	}
	db, err := postgres.Open(t.Context(), f.database(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eventually(t, 2*patience, "every push is settled", func() bool {
		left, err := postgres.Value[int](t.Context(), db, `select count(*) from pushes where state = 'pending'`)
		return err == nil && left == 0
	})
	f.mustGit(dir, nil, "push", "-q", f.remote("tool"), "HEAD:last") // takes what killed processes left with it
	refs := f.mustGit("/", nil, "ls-remote", f.remote("tool"))
	for branch, id := range done {
		if !strings.Contains(refs, id+"\trefs/heads/"+branch+"\n") {
			t.Errorf("%s was reported as done and is not there", branch)
		}
	}
	for line := range strings.Lines(refs) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(ref, "refs/heads/b") {
			continue
		}
		records, err := postgres.Value[int](t.Context(), db, `select count(*) from pushes where state = 'done' and updates @> $1::jsonb`,
			fmt.Sprintf(`[{"ref":%q,"new":%q}]`, ref, id))
		if err != nil || records != 1 {
			t.Errorf("%s has %d records, %v", ref, records, err)
		}
	}
	t.Logf("%d of %d pushes were reported as done", len(done), pushes)
	f.disk()
}
