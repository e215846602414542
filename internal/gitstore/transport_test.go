package gitstore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

// TestMain lets git call this program back.
func TestMain(m *testing.M) {
	if gitstore.IsHook(os.Args[0]) {
		os.Exit(gitstore.Hook(os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// served is a repository that git reaches over HTTP.
type served struct {
	*gitstore.Repo
	store *gitstore.Store
	url   string

	mu      sync.Mutex
	approve func(q gitstore.Quarantine, updates []gitstore.RefUpdate, options []string) error
	settle  func() error
	asked   [][]gitstore.RefUpdate
	options [][]string
	settled [][]gitstore.RefUpdate
	notices []string
	maxSize int64

	pipelines bool // may be fetched
}

func serve(t testing.TB) *served {
	t.Helper()
	s := &served{store: gitstoretest.Open(t)}
	s.Repo = gitstoretest.New(t, s.store, 1)
	server := httptest.NewServer(http.HandlerFunc(s.handle))
	t.Cleanup(server.Close)
	s.url = server.URL + "/x.git"
	return s
}

// holding runs f while no request reads or writes what s remembers.
func (s *served) holding(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *served) handle(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	_ = http.NewResponseController(w).EnableFullDuplex()
	advertise, service := strings.HasSuffix(r.URL.Path, "/info/refs"), r.URL.Query().Get("service")
	if !advertise {
		service = filepath.Base(r.URL.Path)
		w.Header().Set("Content-Type", "application/x-"+service+"-result")
	} else {
		w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
	}
	var err error
	if service == "git-upload-pack" {
		var notices []string
		var pipelines bool
		s.holding(func() { notices, pipelines = s.notices, s.pipelines })
		err = s.Fetch(r.Context(), gitstore.Fetch{
			Protocol: r.Header.Get("Git-Protocol"), Stateless: true, Advertise: advertise, In: body, Out: w, Notices: notices,
			Pipelines: pipelines,
		})
	} else {
		err = s.push(r.Context(), advertise, body, w)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *served) push(ctx context.Context, advertise bool, in io.Reader, out io.Writer) error {
	ticket, err := s.Ticket(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = ticket.Close() }()
	var maxSize int64
	s.holding(func() { maxSize = s.maxSize })
	return s.Holding(ticket).Push(ctx, gitstore.Push{
		Stateless: true, Advertise: advertise, In: in, Out: out, MaxSize: maxSize,
		Approve: func(_ context.Context, q gitstore.Quarantine, updates []gitstore.RefUpdate, options []string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked, s.options = append(s.asked, updates), append(s.options, options)
			if s.approve != nil {
				return s.approve(q, updates, options)
			}
			return nil
		},
		Settle: func(_ context.Context, moved []gitstore.RefUpdate, _ bool) ([]string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.settled = append(s.settled, moved)
			if s.settle != nil {
				return nil, s.settle()
			}
			return []string{"well \x1b[31mdone"}, nil
		},
	})
}

// git runs a client.
func git(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := git(t, dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// work makes a clone with a commit that was not pushed.
func (s *served) work(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	mustGit(t, t.TempDir(), "clone", "-q", s.url, dir)
	s.commit(t, dir, "new.txt")
	return dir
}

func (s *served) commit(t testing.TB, dir, file string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "add", ".")
	mustGit(t, dir, "commit", "-qm", file)
}

func (s *served) seed(t testing.TB) []gitstore.OID {
	t.Helper()
	return gitstoretest.Seed(t, s.store, s.Repo,
		gitstoretest.Commit{Message: "one", Files: map[string]string{"a.txt": "a", "big.bin": strings.Repeat("x", 5000)}},
		gitstoretest.Commit{Message: "two", Files: map[string]string{"a.txt": "b"}, Tag: "v1", Note: "first"},
		gitstoretest.Commit{Message: "three", Files: map[string]string{"a.txt": "c"}},
	)
}

func TestClientsOfEveryVersionCloneAndFetch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ids := s.seed(t)
	for _, version := range []string{"0", "1", "2"} {
		dir := filepath.Join(t.TempDir(), "c")
		mustGit(t, "/", "-c", "protocol.version="+version, "clone", "-q", s.url, dir)
		if got := mustGit(t, dir, "rev-parse", "HEAD", "v1^{}"); got != string(ids[2])+"\n"+string(ids[1])+"\n" {
			t.Errorf("version %s: got %s", version, got)
		}
		shallow := filepath.Join(t.TempDir(), "s")
		mustGit(t, "/", "-c", "protocol.version="+version, "clone", "-q", "--depth=1", s.url, shallow)
		if got := mustGit(t, shallow, "rev-list", "--all"); strings.Count(got, "\n") > 2 {
			t.Errorf("version %s: a shallow clone has %s", version, got)
		}
		mustGit(t, shallow, "-c", "protocol.version="+version, "fetch", "-q", "--unshallow")
		partial := filepath.Join(t.TempDir(), "p")
		mustGit(t, "/", "-c", "protocol.version="+version, "clone", "-q", "--filter=blob:none", "--no-checkout", s.url, partial)
		if version == "2" {
			mustGit(t, partial, "checkout", "-q", "main~2") // fetches blobs that no tip has
		}
	}
	if got := mustGit(t, "/", "ls-remote", "--symref", s.url); !strings.Contains(got, "ref: refs/heads/main\tHEAD") ||
		!strings.Contains(got, "refs/tags/v1^{}") {
		t.Errorf("got %s", got)
	}
}

func TestAnEmptyRepositoryIsClonedWithItsBranch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := filepath.Join(t.TempDir(), "c")
	mustGit(t, "/", "clone", "-q", s.url, dir)
	if got := mustGit(t, dir, "symbolic-ref", "HEAD"); got != "refs/heads/main\n" {
		t.Errorf("got %s", got)
	}
}

func TestAPushIsAskedAboutAndSettledOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.seed(t)
	dir := s.work(t)
	approve := func(q gitstore.Quarantine, updates []gitstore.RefUpdate, _ []string) error {
		if updates[0].New == gitstore.Zero {
			return nil
		}
		if _, err := s.In(q).Commit(t.Context(), updates[0].New); err != nil {
			t.Errorf("the new commit is not readable in the quarantine: %v", err)
		}
		if _, err := s.Commit(t.Context(), updates[0].New); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("the new commit is readable outside of it: %v", err)
		}
		return nil
	}
	s.holding(func() { s.approve = approve })
	out := mustGit(t, dir, "push", "-o", "ci.skip", "-o", "x=\x1by", "origin", "HEAD:refs/heads/main", "HEAD:refs/heads/other")
	if !strings.Contains(out, "remote: well ?[31mdone") || strings.Contains(out, "\x1b[31m") {
		t.Errorf("got %q", out)
	}
	head := strings.TrimSpace(mustGit(t, dir, "rev-parse", "HEAD"))
	for _, branch := range []string{"main", "other"} {
		if ref, err := s.Ref(t.Context(), gitstore.Branches+branch); err != nil || string(ref.Target) != head {
			t.Errorf("%s: %v %v", branch, ref, err)
		}
	}
	s.holding(func() {
		if len(s.asked) != 1 || len(s.settled) != 1 || len(s.settled[0]) != 2 || !slices.Equal(s.options[0], []string{"ci.skip", "x=\x1by"}) {
			t.Errorf("asked %v, settled %v, options %q", s.asked, s.settled, s.options)
		}
	})
	mustGit(t, dir, "push", "origin", ":other")
	if _, err := s.Ref(t.Context(), gitstore.Branches+"other"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	s.clean(t)
}

// clean checks that nothing is left over.
func (s *served) clean(t testing.TB) {
	t.Helper()
	gitstoretest.Git(t, s.store, s.Repo, "", "fsck", "--strict", "--no-dangling")
	err := filepath.WalkDir(gitstoretest.Dir(t, s.store, s.Repo), func(path string, _ os.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") || filepath.Base(filepath.Dir(path)) == "pushes" {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestARefusedPushChangesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.seed(t)
	dir := s.work(t)
	approve := func(gitstore.Quarantine, []gitstore.RefUpdate, []string) error {
		return &gitstore.RefusedError{Text: "not \x1b[5mtoday"}
	}
	s.holding(func() { s.approve = approve })
	out, err := git(t, dir, "push", "origin", "HEAD:main", "HEAD:other")
	if err == nil || !strings.Contains(out, "remote: not ?[5mtoday") || strings.Count(out, "(pre-receive hook declined)") != 2 {
		t.Errorf("got %v %s", err, out)
	}
	s.holding(func() {
		if len(s.settled) != 0 {
			t.Errorf("settled %v", s.settled)
		}
	})
	if _, err := s.Ref(t.Context(), gitstore.Branches+"other"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	s.clean(t)
}

func TestNobodyHearsOfAPushThatCouldNotBeSettled(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.seed(t)
	dir := s.work(t)
	s.holding(func() { s.settle = func() error { return errors.New("no database") } })
	if out, err := git(t, dir, "push", "origin", "HEAD:main"); err == nil {
		t.Errorf("the client was told that all is well: %s", out)
	}
}

// Refs move all together or not at all, although the client did not ask for it.
func TestDL15_APushOfManyRefsIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ids := s.seed(t)
	dir := s.work(t)
	approve := func(gitstore.Quarantine, []gitstore.RefUpdate, []string) error {
		return s.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: "refs/heads/main", Old: ids[2], New: ids[0]}}) // somebody else is quicker
	}
	s.holding(func() { s.approve = approve })
	out, err := git(t, dir, "push", "origin", "HEAD:main", "HEAD:other")
	if err == nil {
		t.Errorf("got %s", out)
	}
	if _, err := s.Ref(t.Context(), gitstore.Branches+"other"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("half of it came true: %v", err)
	}
	s.holding(func() {
		if len(s.settled) != 1 || len(s.settled[0]) != 0 {
			t.Errorf("settled %v", s.settled)
		}
	})
	s.clean(t)
}

func TestGI09_WhatNoBranchLeadsToIsNotServed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ids := s.seed(t)
	// A commit that only a hidden ref leads to, and one that a branch did.
	hidden := strings.TrimSpace(gitstoretest.Git(t, s.store, s.Repo, "secret", "commit-tree", "-p", string(ids[2]), "-m", "hidden", string(ids[2])+"^{tree}"))
	gitstoretest.Git(t, s.store, s.Repo, "", "update-ref", "refs/keep-around/x", hidden)
	blob := strings.TrimSpace(gitstoretest.Git(t, s.store, s.Repo, "secret", "hash-object", "-w", "--stdin"))
	for _, version := range []string{"0", "2"} {
		dir := t.TempDir()
		mustGit(t, dir, "init", "-q")
		if got := mustGit(t, dir, "-c", "protocol.version="+version, "ls-remote", s.url); strings.Contains(got, "keep-around") {
			t.Errorf("version %s: hidden refs are listed: %s", version, got)
		}
		for _, id := range []string{hidden, blob, strings.Repeat("1", 40)} {
			if out, err := git(t, dir, "-c", "protocol.version="+version, "fetch", s.url, id); err == nil {
				t.Errorf("version %s: %s was served: %s", version, id, out)
			}
		}
	}
	dir := s.work(t)
	mustGit(t, dir, "fetch", "-q", s.url, string(ids[0])) // history leads to it
	// What a pipeline runs on is there for who names it, and in no list.
	gitstoretest.Git(t, s.store, s.Repo, "", "update-ref", "refs/pipelines/7", hidden)
	for _, wanted := range []string{"+refs/pipelines/7:refs/pipelines/7", hidden} { // by name and by id
		if out, err := git(t, dir, "fetch", "-q", "--depth=1", s.url, wanted); err == nil {
			t.Errorf("who may not see pipelines fetches %s: %s", wanted, out)
		}
	}
	s.holding(func() { s.pipelines = true })
	mustGit(t, dir, "fetch", "-q", "--depth=1", s.url, "+refs/pipelines/7:refs/pipelines/7")
	if got := mustGit(t, dir, "ls-remote", s.url); strings.Contains(got, "pipelines") {
		t.Errorf("refs of pipelines are listed: %s", got)
	}
	for _, ref := range []string{"refs/keep-around/x", "refs/replace/" + hidden, "refs/merge-requests/1/head"} {
		if out, err := git(t, dir, "push", "origin", "HEAD:"+ref); err == nil {
			t.Errorf("%s was written: %s", ref, out)
		}
	}
}

func TestGI15_APushThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.seed(t)
	dir := s.work(t)
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(i*i>>3 ^ i*7919>>5)
	}
	if err := os.WriteFile(filepath.Join(dir, "noise"), noise, 0o600); err != nil {
		t.Fatal(err)
	}
	s.commit(t, dir, "other.txt")
	s.holding(func() { s.maxSize = 1000 })
	if out, err := git(t, dir, "push", "origin", "HEAD:main"); err == nil {
		t.Errorf("got %s", out)
	}
	s.clean(t)
}

func TestNoticesStandBeforeThePack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.seed(t)
	s.holding(func() { s.notices = []string{"It moved\x07."} })
	for _, args := range [][]string{{"clone"}, {"clone", "--depth=1"}} {
		if out := mustGit(t, t.TempDir(), append(args, s.url)...); !strings.Contains(out, "remote: It moved?.") {
			t.Errorf("%v: %s", args, out)
		}
	}
}

func TestMN03_TheHookRefusesWhenNobodyIsThereToAsk(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(gitstoretest.Open(t).CacheDir, "hooks", "pre-receive")
	for _, hook := range []string{program, script} {
		for _, environ := range [][]string{nil, {"STITHY_HOOK=3"}, {"STITHY_HOOK=9"}, {"STITHY_HOOK=0"}, {"STITHY_HOOK=/tmp/x"}} {
			cmd := exec.CommandContext(t.Context(), hook)
			cmd.Args[0], cmd.Env = "hooks/pre-receive", append([]string{}, environ...)
			cmd.Stdin = strings.NewReader(strings.Repeat("0", 40) + " " + strings.Repeat("1", 40) + " refs/heads/x\n")
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("%q: %s let it pass: %s", environ, hook, out)
			}
		}
	}
}

// Git passes over a hook that it cannot start.
func TestMN03_NoPushIsTakenWithoutTheHook(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	hooks := filepath.Join(s.CacheDir, "hooks")
	if err := errors.Join(os.RemoveAll(hooks), os.WriteFile(hooks, nil, 0o600)); err != nil { // so that it cannot be made again
		t.Fatal(err)
	}
	zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
	line := one + " " + zero + " refs/heads/x\x00 report-status"
	in := fmt.Sprintf("%04x%s0000", len(line)+4, line)
	err := r.Push(t.Context(), gitstore.Push{Stateless: true, In: strings.NewReader(in), Out: io.Discard})
	if !errors.Is(err, gitstore.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(hooks); err != nil {
		t.Fatal(err)
	}
	again, err := gitstore.Open(t.Context(), s.Config) // the next start mends it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
}

func TestAPushGoesOnAfterTheCacheWasEmptiedAndWithLocksThatACrashLeft(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.seed(t)
	dir := s.work(t)
	hooks := filepath.Join(s.store.CacheDir, "hooks")
	if err := os.RemoveAll(hooks); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"refs/heads/main.lock", "packed-refs.lock", "HEAD.lock"} {
		if err := os.WriteFile(filepath.Join(gitstoretest.Dir(t, s.store, s.Repo), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustGit(t, dir, "push", "origin", "HEAD:refs/heads/main")
	s.clean(t)
}

func TestAnOlderRequestThatGitWouldNotUnderstandIsTheClientsFault(t *testing.T) {
	t.Parallel()
	r := gitstoretest.New(t, gitstoretest.Open(t), 1)
	for _, said := range []string{"000ecommand=(\n0000", "0009done\n", "0004", "zzzz", "0008want0000", "00090000", "0001", ""} {
		err := r.Fetch(t.Context(), gitstore.Fetch{Stateless: true, In: strings.NewReader(said), Out: io.Discard})
		if !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", said, err)
		}
	}
	for _, said := range []string{"0000", "00000009done\n"} {
		if err := r.Fetch(t.Context(), gitstore.Fetch{Stateless: true, In: strings.NewReader(said), Out: io.Discard}); err != nil {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// badRequests are lines of a fetch, behind a want, at which git gives up with an error of its own.
var badRequests = map[string][]string{
	"an unknown filter":               {"filter x"},
	"a filter of a number":            {"filter 9223372036854775808"},
	"no filter":                       {"filter "},
	"a limit of no number":            {"filter blob:limit=x"},
	"a limit beyond all":              {"filter blob:limit=99999999999999999999g"},
	"a depth of no number":            {"filter tree:"},
	"a kind that there is not":        {"filter object:type=x"},
	"a combination of nothing":        {"filter combine:"},
	"a combination with an empty one": {"filter combine:blob:none+"},
	"a combination of unknown ones":   {"filter combine:tree:1+x"},
	"a combination badly escaped":     {"filter combine:tree:1+blob%zznone"},
	"a combination with signs":        {"filter combine:tree:1+sparse:oid=a b"},
	"patterns of a file":              {"filter sparse:oid=main:a"},
	"patterns in a combination":       {"filter combine:tree:1+sparse:oid=main:a"},
	"two filters":                     {"filter blob:none", "filter tree:1"},
	"a filter without end":            {"filter " + strings.Repeat("combine:", 5000) + "tree:1"},
	"no depth":                        {"deepen ../UTC"},
	"a depth of nothing":              {"deepen 0"},
	"a negative depth":                {"deepen -1"},
	"no time":                         {"deepen-since x"},
	"a depth beside a time":           {"deepen 1", "deepen-since 1"},
	"a branch that there is not":      {"deepen-not nowhere"},
	"a ref that is not shown":         {"deepen-not refs/pipelines/1"},
	"the same, shorter":               {"deepen-not pipelines/1"},
	"a revision":                      {"deepen-not main^{/x}"},
	"more branches than there may be": manyBranches(),
	"an end that is no commit":        {"shallow x"},
}

func manyBranches() (lines []string) {
	for n := range 101 {
		lines = append(lines, fmt.Sprintf("deepen-not b%d", n))
	}
	return lines
}

func TestARequestThatGitWouldGiveUpOnIsTheClientsFault(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	id := string(gitstoretest.Seed(t, s, r, gitstoretest.Commit{Branch: "main", Files: map[string]string{"a": "b"}})[0])
	line := func(text string) string { return fmt.Sprintf("%04x%s\n", len(text)+5, text) }
	updates := []gitstore.RefUpdate{{Name: "refs/pipelines/1", Old: gitstore.Zero, New: gitstore.OID(id)}}
	for n := range 101 {
		updates = append(updates, gitstore.RefUpdate{Name: fmt.Sprintf("refs/heads/b%d", n), Old: gitstore.Zero, New: gitstore.OID(id)})
	}
	if err := r.UpdateRefs(t.Context(), updates); err != nil {
		t.Fatal(err)
	}
	bad := maps.Clone(badRequests)
	bad["an unknown commit of theirs"] = []string{"have x"}
	bad["words behind the end"] = []string{"done x"}
	for name, lines := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			two, old := line("command=fetch")+"0001"+line("want "+id), line("want "+id+" filter shallow")
			haves := ""
			for _, text := range lines {
				if two += line(text); strings.HasPrefix(text, "have") || strings.HasPrefix(text, "done") {
					haves += line(text)
				} else {
					old += line(text)
				}
			}
			for protocol, said := range map[string]string{"version=2": two + line("done") + "0000", "": old + "0000" + haves + line("done")} {
				var out bytes.Buffer
				err := r.Fetch(t.Context(), gitstore.Fetch{Protocol: protocol, Stateless: true, In: strings.NewReader(said), Out: &out})
				if !errors.Is(err, gitstore.ErrInvalid) && (err != nil || !strings.HasPrefix(strings.TrimLeft(out.String(), "0123456789abcdef"), "ERR ")) {
					t.Errorf("protocol %q: %v, and said %q", protocol, err, out.String())
				}
			}
		})
	}
}

func TestAnOlderClientOverSSHIsNotServedAFilterWithoutEnd(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	id := string(gitstoretest.Seed(t, s, r, gitstoretest.Commit{Branch: "main", Files: map[string]string{"a": "b"}})[0])
	said := ""
	for _, text := range []string{"want " + id + " filter", badRequests["a filter without end"][0]} {
		said += fmt.Sprintf("%04x%s\n", len(text)+5, text)
	}
	err := r.Fetch(t.Context(), gitstore.Fetch{In: strings.NewReader(said + "00000009done\n"), Out: io.Discard})
	if !errors.Is(err, gitstore.ErrInvalid) {
		t.Error(err)
	}
}

func TestFiltersThatGitKnowsAreServed(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	id := string(gitstoretest.Seed(t, s, r, gitstoretest.Commit{Branch: "main", Files: map[string]string{"a": "b"}})[0])
	line := func(text string) string { return fmt.Sprintf("%04x%s\n", len(text)+5, text) }
	for _, filter := range []string{
		"blob:none", "blob:limit=0", "blob:limit=10k", "blob:limit=1M", "blob:limit=50000000000", "tree:0", "tree:3", "object:type=commit", "object:type=blob", "combine:blob:none+tree:1",
		"combine:blob%3Anone+tree%3a1", "combine:tree:2",
	} {
		for protocol, said := range map[string]string{
			"version=2": line("command=fetch") + "0001" + line("want "+id) + line("filter "+filter) + line("deepen 2147483647") + line("done") + "0000",
			"":          line("want "+id+" filter side-band-64k") + line("filter "+filter) + "0000" + line("done"),
		} {
			var out bytes.Buffer
			err := r.Fetch(t.Context(), gitstore.Fetch{Protocol: protocol, Stateless: true, In: strings.NewReader(said), Out: &out})
			if err != nil || !strings.Contains(out.String(), "PACK") {
				t.Errorf("%s, protocol %q: %v, and said %q", filter, protocol, err, out.String())
			}
		}
	}
}

// A line is 4 bytes at least, and some 64 where it is kept: a request is bounded by both. Twice as many are not read.
func TestDO02_ARequestOfManySmallLinesIsRefusedAsItComes(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	gitstoretest.Seed(t, s, r, gitstoretest.Commit{Branch: "main", Files: map[string]string{"a": "b"}})
	for name, c := range map[string]struct {
		line string
		most int64
	}{"empty lines": {"0004", 2 << 20}, "short lines": {"0005x", 3 << 20}} {
		said := &endless{line: c.line}
		in := io.MultiReader(strings.NewReader("0012command=fetch\n0001"), said)
		err := r.Fetch(t.Context(), gitstore.Fetch{Protocol: "version=2", In: in, Out: io.Discard})
		if !errors.Is(err, gitstore.ErrTooLarge) || said.read > c.most {
			t.Errorf("%s: %v after %d bytes", name, err, said.read)
		}
	}
}

// endless sends a line again and again, up to more than anybody should read.
type endless struct {
	line string
	read int64
}

func (e *endless) Read(b []byte) (int, error) {
	if e.read > 64<<20 {
		return 0, io.EOF
	}
	n := len(b) / len(e.line) * len(e.line)
	copy(b, strings.Repeat(e.line, n/len(e.line)))
	e.read += int64(n)
	return n, nil
}

func TestWhoNamesTooManyPrefixesIsShownAllRefs(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	gitstoretest.Seed(t, s, r, gitstoretest.Commit{Branch: "main", Files: map[string]string{"a": "b"}})
	for n, want := range map[int]bool{10_000: false, 10_001: true} {
		said := "0014command=ls-refs\n0001" + strings.Repeat("0019ref-prefix refs/nope\n", n) + "0000"
		var out bytes.Buffer
		if err := r.Fetch(t.Context(), gitstore.Fetch{Protocol: "version=2", Stateless: true, In: strings.NewReader(said), Out: &out}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "refs/heads/main"); got != want {
			t.Errorf("%d prefixes: %q", n, out.String())
		}
	}
}

func FuzzTheHeadOfAPushIsReadOrRefused(f *testing.F) {
	zero := strings.Repeat("0", 40)
	f.Add([]byte("0000"))
	for _, line := range []string{zero + " " + zero + " refs/heads/x\x00 report-status\n", zero + " " + strings.Repeat("1", 40) + " refs/heads/x\x00\n"} {
		f.Add(fmt.Appendf(nil, "%04x%s0000", len(line)+4, line))
	}
	f.Add([]byte("ffff"))
	s := gitstoretest.Open(f)
	r := gitstoretest.New(f, s, 1)
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		_ = r.Push(t.Context(), gitstore.Push{
			Stateless: true, In: bytes.NewReader(in), Out: &out,
			Approve: func(context.Context, gitstore.Quarantine, []gitstore.RefUpdate, []string) error {
				return errors.New("not today")
			},
			Settle: func(context.Context, []gitstore.RefUpdate, bool) ([]string, error) {
				t.Error("a push that was not approved is settled")
				return nil, nil
			},
		})
		_ = r.Fetch(t.Context(), gitstore.Fetch{Protocol: "version=2", Stateless: true, In: bytes.NewReader(in), Out: &out})
	})
}
