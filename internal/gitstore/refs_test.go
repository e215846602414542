package gitstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

// hostile are texts that try to be something else than a name.
var hostile = []string{
	"", "-", "--upload-pack=touch /tmp/x", "-c core.pager=x", "--output=x", "a\x00b", "a\nb", "a\rb", "..", "../../etc/passwd", "/etc/passwd",
	"a..b", "a b", "a~b", "a:b", "a?b", "a*b", "a[b", `a\b`, "a//b", "a/", "a.lock", ".a", "a/.b", "a.", "@{", "a@{1}", "\x01", "\x7f",
	strings.Repeat("a", 2000), "a/" + strings.Repeat("b", 300), "\xff", "a\u202eb", "a\u2066b", "a\u200fb", "a\u2028b", "\ufeffa",
}

func refs(t *testing.T, r *gitstore.Repo, q gitstore.RefQuery) string {
	t.Helper()
	list, more, err := r.Refs(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, ref := range list {
		fmt.Fprintf(&b, "%s %s %s\n", ref.Name, ref.Target, ref.Peeled)
	}
	if more {
		b.WriteString("…")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestRefsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	if got := refs(t, r, gitstore.RefQuery{}); got != "" {
		t.Error(got)
	}
	ids := gitstoretest.Seed(t, s, r,
		gitstoretest.Commit{Message: "1", Files: map[string]string{"a": "1"}, Tag: "v1", Note: "one"},
		gitstoretest.Commit{Message: "2", Tag: "v2"},
		gitstoretest.Commit{Message: "3", Branch: "feature/x", From: 1},
	)
	git := func(args ...string) string { return gitstoretest.Git(t, s, r, "", args...) }
	git("tag", "-a", "-m", "nested", "nested", "v1")
	git("tag", "blob", "main:a")
	git("update-ref", "refs/keep-around/"+string(ids[0]), string(ids[0]))
	check := func() {
		t.Helper()
		want := git("for-each-ref", "--format=%(refname) %(objectname) %(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)")
		// for-each-ref of this version peels one step only.
		want = strings.ReplaceAll(want, " "+git("rev-parse", "refs/tags/v1")+"\n", " "+string(ids[0])+"\n")
		if diff := cmp.Diff(want, refs(t, r, gitstore.RefQuery{})); diff != "" {
			t.Error(diff)
		}
	}
	check()
	git("pack-refs", "--all", "--prune")
	check()
	git("update-ref", "refs/heads/main", string(ids[0])) // loose over packed
	git("update-ref", "-d", "refs/heads/feature/x")
	git("branch", "feature", string(ids[1]))
	git("tag", "-a", "-m", "loose", "loose", "v2")
	check()
	if got := refs(t, r, gitstore.RefQuery{Prefix: gitstore.Branches, Limit: 1}); got != fmt.Sprintf("refs/heads/feature %s %s\n…", ids[1], ids[1]) {
		t.Error(got)
	}
	if got := refs(t, r, gitstore.RefQuery{Prefix: gitstore.Branches, Limit: 1, After: "refs/heads/feature"}); got != fmt.Sprintf("refs/heads/main %s %s", ids[0], ids[0]) {
		t.Error(got)
	}
	if got := refs(t, r, gitstore.RefQuery{Prefix: gitstore.Tags, Match: func(n string) bool { return n == "v2" }}); got != fmt.Sprintf("refs/tags/v2 %s %s", ids[1], ids[1]) {
		t.Error(got)
	}
	if _, _, err := r.Refs(t.Context(), gitstore.RefQuery{Prefix: "../"}); !errors.Is(err, gitstore.ErrInvalid) {
		t.Error(err)
	}
	if _, _, err := s.Repo(gitstore.KeyOf(gitstoretest.Storage, 9, 0)).Refs(t.Context(), gitstore.RefQuery{}); !errors.Is(err, gitstore.ErrNoRepo) {
		t.Error(err)
	}
	if _, err := r.Ref(t.Context(), "refs/heads/none"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Error(err)
	}
	for _, name := range hostile {
		if _, err := r.Ref(t.Context(), name); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if ref, err := r.Ref(t.Context(), "refs/heads/"+name); !errors.Is(err, gitstore.ErrInvalid) && !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%q: %v %v", name, ref, err)
		}
	}
}

func TestResolveFindsWhatPeopleMean(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	if _, err := r.Resolve(t.Context(), "HEAD"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Error(err)
	}
	var line []gitstoretest.Commit
	for i := range 40 {
		line = append(line, gitstoretest.Commit{Message: fmt.Sprint(i), Files: map[string]string{"f": fmt.Sprint(i)}})
	}
	line[0].Tag, line[0].Note = "v1", "one"
	line = append(line,
		gitstoretest.Commit{Message: "side", Branch: "v1", From: 3, Files: map[string]string{"g": "1"}},
		gitstoretest.Commit{Message: "merge", Branch: "merged", From: 40, Merge: []int{41}},
	)
	ids := gitstoretest.Seed(t, s, r, line...)
	gitstoretest.Git(t, s, r, "", "update-ref", "refs/keep-around/x", string(ids[1]))
	gitstoretest.Git(t, s, r, "", "tag", "blob", "main:f")
	for revision, want := range map[string]gitstore.OID{
		"main": ids[39], "HEAD": ids[39], "@": ids[39], "refs/heads/main": ids[39], "heads/main": ids[39],
		"v1": ids[0], "refs/heads/v1": ids[40], "tags/v1": ids[0], "heads/v1": ids[40],
		string(ids[5]): ids[5], strings.ToUpper(string(ids[5])): ids[5], string(ids[5][:12]): ids[5],
		"main~": ids[38], "main^": ids[38], "main~3": ids[36], "main~35": ids[4], "main~0": ids[39], "main^0": ids[39],
		"merged^2": ids[40], "merged^2~1": ids[2], "merged~1^^": ids[37],
	} {
		if got, err := r.Resolve(t.Context(), revision); got != want || err != nil {
			t.Errorf("%s is %s, %v; want %s", revision, got, err, want)
		}
	}
	for _, revision := range []string{
		"nope", "main~99", "main~40", "merged^3", "v1~1", "blob", "refs/keep-around/x", "refs/tags/none", "abcd", "1111111",
		strings.Repeat("1", 40), "refs/../HEAD", "HEAD/x", "main/x",
	} {
		if got, err := r.Resolve(t.Context(), revision); !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%s is %s, %v", revision, got, err)
		}
	}
	for _, revision := range append(hostile, "main~x", "main^{tree}", "main~99999999999999999999", "main:f", "main..v1", ":/side", "main@{1}") {
		if got, err := r.Resolve(t.Context(), revision); !errors.Is(err, gitstore.ErrInvalid) && !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%q is %s, %v", revision, got, err)
		}
	}
}

func TestRefsMoveTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1"}, gitstoretest.Commit{Message: "2"})
	ctx := t.Context()
	move := func(name string, from, to gitstore.OID) gitstore.RefUpdate {
		return gitstore.RefUpdate{Name: name, Old: from, New: to}
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{
		move("refs/heads/a", gitstore.Zero, ids[0]), move("refs/heads/main", ids[1], ids[0]),
	}); err != nil {
		t.Fatal(err)
	}
	before := refs(t, r, gitstore.RefQuery{})
	for name, bad := range map[string]gitstore.RefUpdate{
		"moved on":  move("refs/heads/main", ids[1], ids[0]),
		"is there":  move("refs/heads/a", gitstore.Zero, ids[1]),
		"is gone":   move("refs/heads/gone", ids[0], gitstore.Zero),
		"directory": move("refs/heads/a/b", gitstore.Zero, ids[1]),
		"unmoved":   move("refs/heads/main", ids[1], ids[1]),
	} {
		err := r.UpdateRefs(ctx, []gitstore.RefUpdate{move("refs/heads/new", gitstore.Zero, ids[0]), bad})
		if !errors.Is(err, gitstore.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := gitstore.OID(strings.Repeat("1", 40))
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{move("refs/heads/new", gitstore.Zero, missing)}); err == nil {
		t.Error("a ref to nothing was made")
	}
	for _, name := range append(hostile, "HEAD", strings.Repeat("a", 40), strings.Repeat("A", 64), "refs/heads/x") {
		if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{move("refs/heads/"+name, gitstore.Zero, ids[0])}); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if err := r.SetHead(ctx, name); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, id := range []gitstore.OID{"", "main", "x\x00", missing[:39]} {
		if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{move("refs/heads/x", id, ids[0])}); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if diff := cmp.Diff(before, refs(t, r, gitstore.RefQuery{})); diff != "" {
		t.Error(diff)
	}
	if err := r.SetHead(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if head, err := r.Head(ctx); head != "a" || err != nil || gitstoretest.Git(t, s, r, "", "symbolic-ref", "HEAD") != "refs/heads/a" {
		t.Error(head, err)
	}
}

func TestALockOfTheDeadIsRemovedAndOneOfTheLivingIsNot(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1"}, gitstoretest.Commit{Message: "2"})
	dir := gitstoretest.Dir(t, s, r)
	lock := filepath.Join(dir, "refs/heads/main.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	back := []gitstore.RefUpdate{{Name: "refs/heads/main", Old: ids[1], New: ids[0]}}

	// Somebody writes: they may hold it.
	living, err := os.OpenFile(filepath.Join(dir, "writers"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(living.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateRefs(t.Context(), back); !errors.Is(err, gitstore.ErrConflict) {
		t.Error(err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Error("the lock of a living process is gone")
	}
	living.Close()
	if err := r.UpdateRefs(t.Context(), back); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.SetHead(t.Context(), "other"); err != nil {
		t.Errorf("HEAD behind a lock of the dead: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "packed-refs.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A program that another test starts at this moment has a copy of what is held here until it runs.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if err := r.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(left)
		}
	}
}

func TestAReaderNeverMissesARefThatIsBeingPacked(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r, gitstoretest.Commit{Message: "1"}, gitstoretest.Commit{Message: "2"})
	done := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if ref, err := r.Ref(t.Context(), "refs/heads/main"); err != nil {
				t.Error(ref, err)
				return
			}
			if list, _, err := r.Refs(t.Context(), gitstore.RefQuery{}); len(list) != 1 || err != nil {
				t.Error(list, err)
				return
			}
		}
	})
	at := 1
	for range 15 {
		gitstoretest.Git(t, s, r, "", "pack-refs", "--all", "--prune")
		if err := r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: "refs/heads/main", Old: ids[at], New: ids[1-at]}}); err != nil {
			t.Error(err)
		}
		at = 1 - at
		if ref, err := r.Ref(t.Context(), "refs/heads/main"); err != nil || ref.Target != ids[at] {
			t.Error(ref, err)
		}
	}
	close(done)
	readers.Wait()
}
