package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPicksRevertsAndMergesAreThoseOfGit does each in a work tree, too.
func TestPicksRevertsAndMergesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir, work := r.dir(t), t.TempDir()
	realGit(t, work, "", "init", "--quiet", ".")
	if err := os.WriteFile(filepath.Join(work, ".git/objects/info/alternates"), []byte(filepath.Join(dir, "objects")), 0o600); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		ids := plainHistory(rt, dir)
		one, onto := rapid.SampledFrom(ids).Draw(rt, "one"), rapid.SampledFrom(ids).Draw(rt, "onto")
		verb := rapid.SampledFrom([]string{"cherry-pick", "revert", "merge"}).Draw(rt, "verb")
		d := Draft{Author: somebody(), Committer: somebody(), Message: "m"}
		var staged Staged
		var err error
		switch verb {
		case "cherry-pick":
			staged, err = r.StagePick(t.Context(), one, onto, d)
		case "revert":
			staged, err = r.StageRevert(t.Context(), one, onto, d)
		default:
			staged, err = r.StageMerge(t.Context(), onto, one, d)
		}
		defer r.Discard(staged.Quarantine)

		realGit(rt, work, "", "reset", "--quiet", "--hard", string(onto))
		args := []string{verb, "--no-commit"}
		if parents := strings.Fields(realGit(rt, dir, "", "rev-list", "-1", "--parents", string(one))); verb != "merge" && len(parents) > 2 {
			args = append(args, "-m1")
		}
		if verb == "merge" {
			args = append(args, "--no-ff")
		}
		out, failed := tryGit(work, "", append(args, string(one))...)
		want := ""
		if failed == nil {
			want = strings.TrimSpace(realGit(rt, work, "", "write-tree"))
		}
		tryGit(work, "", "clean", "-qfdx")

		before := strings.TrimSpace(realGit(rt, dir, "", "rev-parse", string(onto)+"^{tree}"))
		switch {
		case failed != nil:
			if !errors.Is(err, ErrUnmergeable) {
				rt.Fatalf("%s: %v, git says %s", verb, err, out)
			}
			return
		case verb != "merge" && want == before:
			if !errors.Is(err, ErrEmpty) {
				rt.Fatalf("%s that changes nothing: %v", verb, err)
			}
			return
		case err != nil:
			rt.Fatalf("%s: %v, git made %s", verb, err, want)
		}
		if err := r.Apply(t.Context(), staged.Quarantine, nil); err != nil {
			rt.Fatal(err)
		}
		c, err := r.Commit(t.Context(), staged.ID)
		if err != nil || string(c.Tree) != want || c.Parents[0] != onto {
			rt.Fatalf("%s: %+v %v, want tree %s", verb, c, err, want)
		}
	})
	out := realGit(t, dir, "", "fsck", "--strict")
	for line := range strings.Lines(out) {
		fields := strings.Fields(line) // dangling commit …: those that were staged, and no made-up ones
		if fields[1] == "commit" && strings.Contains(realGit(t, dir, "", "cat-file", "-p", fields[2]), "committer  <> 0 +0000") {
			t.Errorf("left behind: %s", line)
		}
	}
}

func TestHistoriesWithoutACommonCommitDoNotMerge(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	a := commitFiles(t, r, "a", "", content("a", "x"))
	b := commitFiles(t, r, "b", "", content("b", "x"))
	if _, err := r.StageMerge(t.Context(), a, b, Draft{Message: "m"}); !errors.Is(err, ErrUnmergeable) {
		t.Error(err)
	}
	if _, err := r.MergeBase(t.Context(), a, b); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
