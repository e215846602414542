package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func somebody() Signature {
	return Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1_700_000_000, 0).In(time.FixedZone("", 3600))}
}

// commitFiles commits on top of a branch and moves it.
func commitFiles(t testing.TB, r *Repo, branch string, parent OID, changes ...Change) OID {
	t.Helper()
	d := Draft{Base: EmptyTree, Changes: changes, Author: somebody(), Committer: somebody(), Message: "change\n"}
	old := Zero
	if parent != "" {
		d.Base, d.Parents, old = parent, []OID{parent}, parent
	}
	staged, err := r.Stage(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), staged.Quarantine, []RefUpdate{{Name: Branches + branch, Old: old, New: staged.ID}}); err != nil {
		t.Fatal(err)
	}
	return staged.ID
}

func content(path, text string) Change {
	return Change{Path: path, Content: []byte(text), Create: true}
}

func TestAStagedCommitIsSeenOnlyWhereItIsStaged(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	staged, err := r.Stage(t.Context(), Draft{Base: EmptyTree, Changes: []Change{content("d/a", "text")},
		Author: somebody(), Committer: somebody(), Message: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(t.Context(), staged.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	c, err := r.In(staged.Quarantine).Commit(t.Context(), staged.ID)
	if err != nil || c.Message != "first" || c.Author.Name != "Ann" || !c.Author.When.Equal(somebody().When) {
		t.Errorf("in quarantine: %+v %v", c, err)
	}
	main := []RefUpdate{{Name: Branches + "main", Old: Zero, New: staged.ID}}
	for range 2 {
		err = r.Apply(t.Context(), staged.Quarantine, main)
		if err != nil {
			break
		}
	}
	if !errors.Is(err, ErrConflict) {
		t.Errorf("applied twice: %v", err)
	}
	if got := realGit(t, r.dir(t), "", "cat-file", "blob", "main:d/a"); got != "text" {
		t.Errorf("after: %q", got)
	}
	realGit(t, r.dir(t), "", "fsck", "--strict")
	if left, _ := filepath.Glob(filepath.Join(r.dir(t), "objects", "tmp_objdir-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestADiscardedStageLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	before := filesBelow(t, r.dir(t))
	staged, err := r.Stage(t.Context(), Draft{Base: EmptyTree, Changes: []Change{content("a", "text")}, Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	r.Discard(staged.Quarantine)
	r.Discard(staged.Quarantine)
	r.Discard(Quarantine{dir: "../../outside"})
	if diff := cmp.Diff(before, filesBelow(t, r.dir(t))); diff != "" {
		t.Error(diff)
	}
}

func TestOneCommitMayChangeThousandsOfFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	var changes []Change
	for i := range 1000 {
		changes = append(changes, content(fmt.Sprintf("d%d/f%d", i%17, i), fmt.Sprint(i%500)))
	}
	commitFiles(t, r, "main", "", changes...)
	if n := strings.Count(realGit(t, r.dir(t), "", "ls-tree", "-r", "main"), "\n"); n != len(changes) {
		t.Errorf("%d files", n)
	}
	realGit(t, r.dir(t), "", "fsck", "--strict")
}

// filesBelow lists files with their sizes.
func filesBelow(t tester, dir string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		found[strings.TrimPrefix(path, dir+"/")] = info.Size()
		return err
	}); err != nil {
		t.Fatalf("%v", err)
	}
	return found
}

func TestRE01_NoPathLeadsOutOfTheTree(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir := r.dir(t)
	root := filepath.Dir(dir)
	outside := filepath.Join(t.TempDir(), "outside")
	blob := strings.TrimSpace(realGit(t, dir, outside, "hash-object", "-w", "--stdin"))
	tree := strings.TrimSpace(realGit(t, dir, "120000 blob "+blob+"\tlink\n100644 blob "+blob+"\tfile\n", "mktree"))
	base := OID(strings.TrimSpace(realGit(t, dir, "", "commit-tree", "-m", "x", tree)))
	realGit(t, dir, "", "update-ref", "refs/heads/main", string(base))
	before := filesBelow(t, root)

	text := []byte("owned")
	yes := true
	for _, c := range []Change{
		{Path: "link", Content: text},
		{Path: "link", Blob: OID(blob)},
		{Path: "link", Exec: &yes},
		{Path: "new", From: "link", Content: text},
		{Path: "link/x", Content: text, Create: true},
		{Path: "link/hooks/pre-receive", Content: text, Create: true},
		{Path: "file/x", Content: text, Create: true},
		{Path: "", Content: text, Create: true},
		{Path: "/etc/passwd", Content: text, Create: true},
		{Path: "../x", Content: text, Create: true},
		{Path: "a/../../x", Content: text, Create: true},
		{Path: "a//b", Content: text, Create: true},
		{Path: "a/", Content: text, Create: true},
		{Path: "./a", Content: text, Create: true},
		{Path: "a\x00b", Content: text, Create: true},
		{Path: ".git/config", Content: text, Create: true},
		{Path: "a/.GIT/hooks/x", Content: text, Create: true},
		{Path: ".gi\u200ct/config", Content: text, Create: true},
		{Path: "git~1/config", Content: text, Create: true},
		{Path: "GIT~1", Content: text, Create: true},
		{Path: ".git ", Content: text, Create: true},
		{Path: ".git.", Content: text, Create: true},
		{Path: ".git::$INDEX_ALLOCATION/config", Content: text, Create: true},
		{Path: `a\..\..\x`, Content: text, Create: true},
		{Path: "moved", From: "../../config"},
		{Path: "moved", From: ".git/config"},
		{Path: ".git", From: "file"},
		{Path: "../x", Delete: true},
		// What only git's own check finds.
		{Path: ".gitmodules", Content: []byte("[submodule \"a\"]\n\tpath = -x\n\turl = --upload-pack=touch x\n"), Create: true},
		{Path: ".gitmodules", From: "link"},
	} {
		_, err := r.Stage(t.Context(), Draft{Base: base, Parents: []OID{base}, Changes: []Change{c}, Author: somebody(), Committer: somebody(), Message: "m"})
		if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrConflict) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if diff := cmp.Diff(before, filesBelow(t, root)); diff != "" {
		t.Errorf("the disk changed: %s", diff)
	}
	if _, err := os.Stat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outside: %v", err)
	}

	good := commitFiles(t, r, "main", base, content("dir/file", "fine"), Change{Path: "kept", From: "link"})
	for path := range filesBelow(t, root) {
		inside := strings.TrimPrefix(path, filepath.Base(dir)+"/")
		if _, there := before[path]; !there && !strings.HasPrefix(inside, "objects/") && inside != "writers" { // our own lock
			t.Errorf("%s is new", path)
		}
	}
	if mode := realGit(t, dir, "", "ls-tree", string(good), "kept"); !strings.HasPrefix(mode, "120000 ") {
		t.Errorf("a moved link became %s", mode)
	}
}

func TestAWrongPathIsNamed(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	base := commitFiles(t, r, "main", "", content("file", "x"), content("dir/a", "y"))
	for _, c := range []struct {
		change Change
		want   PathError
	}{
		{content("file", "x"), PathError{"file", false, ErrConflict}},
		{content("dir", "x"), PathError{"dir", true, ErrConflict}},
		{content("file/x/y", "x"), PathError{"file", false, ErrConflict}},
		{Change{Path: "none", Content: []byte("x")}, PathError{"none", false, ErrNotFound}},
		{Change{Path: "dir", Content: []byte("x")}, PathError{"dir", true, ErrNotFound}},
		{Change{Path: "none/x", Delete: true}, PathError{"none/x", false, ErrNotFound}},
		{Change{Path: "dir", Delete: true}, PathError{"dir", true, ErrNotFound}},
		{Change{Path: "new", From: "none"}, PathError{"none", false, ErrNotFound}},
		{Change{Path: "dir/a", From: "file"}, PathError{"dir/a", false, ErrConflict}},
		{Change{Path: "file", Blob: EmptyTree}, PathError{"file", false, ErrNotFound}},
	} {
		_, err := r.Stage(t.Context(), Draft{Base: base, Changes: []Change{c.change}, Message: "m"})
		var got *PathError
		if !errors.As(err, &got) || got.Path != c.want.Path || got.Dir != c.want.Dir || !errors.Is(err, c.want.Err) {
			t.Errorf("%+v: %v", c.change, err)
		}
	}
	if _, err := r.Stage(t.Context(), Draft{Base: base, Message: "a\x00b"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("NUL in a message: %v", err)
	}
}

// TestChangesMakeTheTreeThatGitWouldMake compares with git's index, to which the same edits are told one by one.
func TestChangesMakeTheTreeThatGitWouldMake(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir := r.dir(t)
	paths := []string{"a", "b", "d", "d/a", "d/b", "d/e/f", "d-", "d.x", "e/f/g/h"}
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{} // path to mode and content
		base := EmptyTree
		for range rapid.IntRange(1, 3).Draw(rt, "commits") {
			var changes []Change
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				c := Change{Path: rapid.SampledFrom(paths).Draw(rt, "path")}
				_, there := files[c.Path]
				text := rapid.StringN(0, 5, -1).Draw(rt, "text")
				exec := rapid.Bool().Draw(rt, "exec")
				mode := "100644"
				if there {
					mode = files[c.Path][:6]
				}
				switch kind := rapid.IntRange(0, 3).Draw(rt, "kind"); {
				case there && kind == 0:
					c.Delete = true
					delete(files, c.Path)
				case there && kind == 1:
					c.Exec = &exec
					files[c.Path] = map[bool]string{true: "100755", false: "100644"}[exec] + files[c.Path][6:]
				case there:
					c.Content = []byte(text)
					files[c.Path] = mode + text
				case !free(files, c.Path):
					continue
				case kind == 0 && len(files) > 0:
					c.From = rapid.SampledFrom(slices.Sorted(maps.Keys(files))).Draw(rt, "moved")
					files[c.Path] = files[c.From]
					delete(files, c.From)
				default:
					c.Create, c.Content = true, []byte(text)
					files[c.Path] = mode + text
				}
				changes = append(changes, c)
			}
			staged, err := r.Stage(t.Context(), Draft{Base: base, Changes: changes, Message: "m"})
			if err != nil {
				rt.Fatalf("%+v: %v", changes, err)
			}
			if err := r.Apply(t.Context(), staged.Quarantine, nil); err != nil {
				rt.Fatal(err)
			}
			base = staged.ID
		}
		got := map[string]string{}
		for line := range strings.SplitSeq(realGit(rt, dir, "", "ls-tree", "-r", "-z", string(base)), "\x00") {
			if info, path, ok := strings.Cut(line, "\t"); ok {
				got[path] = info[:6] + realGit(rt, dir, "", "cat-file", "blob", info[12:])
			}
		}
		if diff := cmp.Diff(files, got); diff != "" {
			rt.Fatal(diff)
		}
		if strings.Contains(realGit(rt, dir, "", "ls-tree", "-r", "-t", string(base)), string(EmptyTree)) {
			rt.Fatal("an empty directory stays")
		}
	})
	realGit(t, dir, "", "fsck", "--strict", "--no-dangling")
}

// free reports whether no file is at a path, above it or below it.
func free(files map[string]string, path string) bool {
	for other := range files {
		if other == path || strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return false
		}
	}
	return true
}

func TestAnAnnotatedTagIsStaged(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	commit := commitFiles(t, r, "main", "", content("a", "x"))
	staged, err := r.StageTag(t.Context(), "v1.0", commit, somebody(), "first\n\nrelease")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), staged.Quarantine, []RefUpdate{{Name: Tags + "v1.0", Old: Zero, New: staged.ID}}); err != nil {
		t.Fatal(err)
	}
	tag, err := r.Tag(t.Context(), staged.ID)
	if err != nil || tag.Target != commit || tag.Kind != CommitKind || tag.Name != "v1.0" || tag.Tagger.Email != "ann@example.com" {
		t.Errorf("%+v %v", tag, err)
	}
	realGit(t, r.dir(t), "", "fsck", "--strict")
	for _, name := range []string{"", "-x", "a..b", "a\nobject x", "a b"} {
		if _, err := r.StageTag(t.Context(), name, commit, somebody(), "m"); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
