package gitstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

func TestARemovedRepositoryIsGoneForEveryReader(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1"})
	gitstoretest.Git(t, s, r, "", "pack-refs", "--all")
	if _, err := r.Commit(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := r.Exists(t.Context()); there || err != nil {
		t.Error(there, err)
	}
	if _, err := r.Commit(t.Context(), ids[0]); !errors.Is(err, gitstore.ErrNoRepo) {
		t.Error(err)
	}
	if _, err := r.Ref(t.Context(), "refs/heads/main"); !errors.Is(err, gitstore.ErrNoRepo) {
		t.Error(err)
	}
	gitstoretest.New(t, s, 1)
	if _, err := r.Commit(t.Context(), ids[0]); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("an object of the former repository: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(s.Storages[0].Root, "@tmp"))
	if err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

func TestDL07_ACopySharesTheDiskAndNothingElse(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	from := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, from,
		gitstoretest.Commit{Message: "1", Files: map[string]string{"a": strings.Repeat("x", 1000)}, Tag: "v1", Note: "one"},
		gitstoretest.Commit{Message: "2", Branch: "side", From: 1})
	gitstoretest.Git(t, s, from, "", "update-ref", "refs/keep-around/x", string(ids[0]))
	gitstoretest.Git(t, s, from, "", "repack", "-adq")
	gitstoretest.Git(t, s, from, "", "tag", "-a", "-m", "loose", "loose", string(ids[0]))
	if err := from.SetHead(t.Context(), "side"); err != nil {
		t.Fatal(err)
	}
	to, all := s.Repo(gitstore.KeyOf(gitstoretest.Storage, 2, 0)), s.Repo(gitstore.KeyOf(gitstoretest.Storage, 3, 0))
	for range 2 { // the second changes nothing
		if err := errors.Join(to.Copy(t.Context(), from, false), all.Copy(t.Context(), from, true)); err != nil {
			t.Fatal(err)
		}
	}
	whole := refs(t, from, gitstore.RefQuery{})
	if diff := cmp.Diff(whole, refs(t, all, gitstore.RefQuery{})); diff != "" {
		t.Error(diff)
	}
	part := refs(t, from, gitstore.RefQuery{Prefix: gitstore.Branches}) + "\n" + refs(t, from, gitstore.RefQuery{Prefix: gitstore.Tags})
	if diff := cmp.Diff(part, refs(t, to, gitstore.RefQuery{})); diff != "" {
		t.Error(diff)
	}
	if head, err := to.Head(t.Context()); head != "side" || err != nil {
		t.Error(head, err)
	}
	pack, err := filepath.Glob(filepath.Join(gitstoretest.Dir(t, s, to), "objects/pack/*.pack"))
	if err != nil || len(pack) != 1 {
		t.Fatal(pack, err)
	}
	mine, err1 := os.Stat(pack[0])
	theirs, err2 := os.Stat(filepath.Join(gitstoretest.Dir(t, s, from), "objects/pack", filepath.Base(pack[0])))
	if err1 != nil || err2 != nil || !os.SameFile(mine, theirs) {
		t.Error("the pack is not shared", err1, err2)
	}
	// The lender goes, and the copy is whole.
	if err := from.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := to.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := filepath.WalkDir(gitstoretest.Dir(t, s, to), func(path string, d fs.DirEntry, err error) error {
		if d.Name() == "alternates" {
			t.Error("the copy borrows", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestDL08_ACopyDuringRepacksIsWhole(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	from := gitstoretest.New(t, s, 1)
	var commits []gitstoretest.Commit
	for i := range 30 {
		commits = append(commits, gitstoretest.Commit{Message: fmt.Sprint(i), Files: map[string]string{fmt.Sprint("f", i): fmt.Sprint(i)}})
	}
	gitstoretest.Seed(t, s, from, commits...)
	done := make(chan struct{})
	var packing sync.WaitGroup
	packing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			// Always another pack: the names depend on the objects.
			gitstoretest.Git(t, s, from, fmt.Sprint(i), "hash-object", "-w", "--stdin")
			gitstoretest.Git(t, s, from, "", "repack", "-adkq")
		}
	})
	for id := range int64(8) {
		to := s.Repo(gitstore.KeyOf(gitstoretest.Storage, 10+id, 0))
		if err := to.Copy(t.Context(), from, false); err != nil {
			t.Error(err)
			continue
		}
		if err := to.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(done)
	packing.Wait()
}

// remote serves a repository over HTTP with git's own program.
func remote(t *testing.T, s *gitstore.Store, r *gitstore.Repo, user, password string) *httptest.Server {
	t.Helper()
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := gitstoretest.Dir(t, s, r)
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"),
		Root: "/x.git",
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if u, p, _ := q.BasicAuth(); user != "" && (u != user || p != password) {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(q.URL.Path, "/moved.git/") {
			http.Redirect(w, q, strings.Replace(q.URL.String(), "/moved.git", "/x.git", 1), http.StatusFound)
			return
		}
		backend.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAnImportTakesBranchesAndTags(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	s := gitstoretest.Open(t)
	s.Trace = func(argv, env []string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, strings.Join(argv, " "))
	}
	from := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, from, gitstoretest.Commit{Message: "1", Files: map[string]string{"a": "1"}, Tag: "v1", Note: "one"},
		gitstoretest.Commit{Message: "2", Branch: "trunk", From: 1})
	git := func(args ...string) { gitstoretest.Git(t, s, from, "", args...) }
	git("symbolic-ref", "HEAD", "refs/heads/trunk")
	git("update-ref", "refs/merge-requests/1/head", string(ids[0]))
	git("update-ref", "refs/heads/"+strings.Repeat("a", 40), string(ids[0])) // reads like an id
	git("update-ref", "refs/heads/refs/heads/main", string(ids[0]))
	server := remote(t, s, from, "ada", "s3cret/pass")

	to := gitstoretest.New(t, s, 2)
	source := gitstore.Remote{URL: server.URL + "/x.git", User: "ada", Password: "s3cret/pass"}
	for range 2 {
		head, err := to.Import(t.Context(), source)
		if head != "trunk" || err != nil {
			t.Fatal(head, err)
		}
	}
	var want []string
	for line := range strings.SplitSeq(refs(t, from, gitstore.RefQuery{}), "\n") {
		if !strings.Contains(line, "merge-requests") && !strings.Contains(line, "aaaaaaaa") && !strings.Contains(line, "refs/heads/refs") {
			want = append(want, line)
		}
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), refs(t, to, gitstore.RefQuery{})); diff != "" {
		t.Error(diff)
	}
	if err := to.Check(t.Context()); err != nil {
		t.Error(err)
	}
	// The password is in no argument and in no file.
	mu.Lock()
	for _, line := range lines {
		if strings.Contains(line, "s3cret") || strings.Contains(line, "YWRhOn") {
			t.Error(line)
		}
	}
	mu.Unlock()
	if err := filepath.WalkDir(gitstoretest.Dir(t, s, to), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if text, _ := os.ReadFile(path); strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "YWRhOn") {
				t.Error("the password is in", path)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}

	source.URL = server.URL + "/moved.git"
	if _, err := to.Import(t.Context(), source); err == nil {
		t.Error("a redirect was followed")
	}
	for _, address := range append(slices.Clone(hostile),
		"file:///etc", "/etc", gitstoretest.Dir(t, s, from), "ssh://git@host/x", "git@host:x", "ext::sh -c touch% x", "ext::sh", "https://", "http://u:p@host/x",
		"https://host/\nx", "ftp://host/x", "--upload-pack=touch x", "-u", "https:// host/x",
	) {
		if _, err := to.Import(t.Context(), gitstore.Remote{URL: address}); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestMaintenanceKeepsARepositoryWholeAndSmall(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	now := time.Now()
	s.Clock = func() time.Time { return now }
	r := gitstoretest.New(t, s, 1)
	if err := r.Maintain(t.Context()); err != nil { // nothing to do
		t.Fatal(err)
	}
	dir := gitstoretest.Dir(t, s, r)
	var last gitstore.OID
	for i := range 8 {
		last = gitstoretest.Seed(t, s, r, gitstoretest.Commit{Branch: fmt.Sprint("b", i), Message: fmt.Sprint(i), Files: map[string]string{"f": fmt.Sprint(i)}})[0]
		gitstoretest.Git(t, s, r, "", "repack", "-dq") // a pack each
	}
	for i := range 70 {
		gitstoretest.Git(t, s, r, "", "update-ref", fmt.Sprint("refs/tags/t", i), string(last))
	}
	orphan := gitstoretest.Git(t, s, r, "orphan", "hash-object", "-w", "--stdin")
	quarantines := []string{filepath.Join(dir, "objects/tmp_objdir-incoming-old"), filepath.Join(dir, "objects/tmp_objdir-incoming-new")}
	for _, q := range quarantines {
		if err := os.Mkdir(q, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(quarantines[0], now.Add(-25*time.Hour), now.Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	sum, err := r.Checksum(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.Measure(t.Context())
	if err != nil || before.Packs < 7 || before.LooseRefs < 70 || before.CommitGraph {
		t.Fatal(before, err)
	}
	for range 3 {
		if err := r.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(8 * 24 * time.Hour) // the second sorts out
	}
	after, err := r.Measure(t.Context())
	if err != nil || after.Packs > 3 || after.LooseRefs != 0 || !after.CommitGraph || after.Size == 0 {
		t.Error(after, err)
	}
	if again, err := r.Checksum(t.Context()); again != sum || err != nil {
		t.Error("the refs are others now", err)
	}
	if err := r.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.Stat(t.Context(), gitstore.OID(orphan)); err != nil {
		t.Errorf("an object of today is gone: %v", err)
	}
	if _, err := os.Stat(quarantines[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an old quarantine is left", err)
	}
	if text, err := filepath.Glob(filepath.Join(dir, "objects/pack/multi-pack-index*")); len(text) == 0 || err != nil {
		t.Error("no index over packs")
	}
}

func TestDL08_WritesBesideMaintenanceAreKept(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	var commits []gitstoretest.Commit
	for i := range 40 {
		commits = append(commits, gitstoretest.Commit{Message: fmt.Sprint(i), Files: map[string]string{fmt.Sprint("f", i): fmt.Sprint(i)}})
	}
	ids := gitstoretest.Seed(t, s, r, commits...)
	done := make(chan struct{})
	var upkeep sync.WaitGroup
	upkeep.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := r.Maintain(t.Context()); err != nil {
				t.Error(err)
				return
			}
			gitstoretest.Git(t, s, r, "", "pack-refs", "--all", "--prune")
		}
	})
	for i, id := range ids {
		if err := r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: fmt.Sprint("refs/tags/t", i), Old: gitstore.Zero, New: id}}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	upkeep.Wait()
	for i, id := range ids {
		if ref, err := r.Ref(t.Context(), fmt.Sprint("refs/tags/t", i)); ref.Target != id || err != nil {
			t.Error("an acknowledged ref is lost:", ref, err)
		}
	}
	if err := r.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1", Files: map[string]string{"a": "1"}})
	id := gitstore.OID(gitstoretest.Git(t, s, r, "", "commit-tree", "-m", "x", string(gitstore.EmptyTree)))
	path := filepath.Join(gitstoretest.Dir(t, s, r), "objects", string(id[:2]), string(id[2:]))
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x\x9cgarbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(t.Context()); !errors.Is(err, gitstore.ErrCorrupt) {
		t.Error(err)
	}
	if _, err := r.Commit(t.Context(), id); err == nil {
		t.Error("garbage was read as a commit")
	}
}
