package gitstore

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func idsOf(commits []*Commit) string {
	var b strings.Builder
	for _, c := range commits {
		b.WriteString(string(c.ID) + "\n")
	}
	return b.String()
}

func TestLogListsWhatGitLists(t *testing.T) {
	t.Parallel()
	started := 0
	s := openAt(t, func(c *Config) {
		c.Trace = func(argv, _ []string) {
			if !strings.Contains(strings.Join(argv, " "), " cat-file ") {
				started++
			}
		}
	})
	r := newRepo(t, s, 1)
	dir := r.dir(t)
	rapid.Check(t, func(rt *rapid.T) {
		ids := randomHistory(rt, dir, 12)
		some := rapid.SliceOfN(rapid.SampledFrom(ids), 1, 3)
		q := LogQuery{From: some.Draw(rt, "from"), Skip: rapid.IntRange(0, 3).Draw(rt, "skip"), Limit: rapid.IntRange(1, 6).Draw(rt, "limit")}
		args := []string{"--literal-pathspecs", "rev-list", "--skip=" + strconv.Itoa(q.Skip), "--max-count=" + strconv.Itoa(q.Limit)}
		maybe := func(set *bool, flag string) {
			if *set = rapid.IntRange(0, 3).Draw(rt, flag) == 0; *set {
				args = append(args, flag)
			}
		}
		var since, until, author, path, not bool
		maybe(&q.FirstParent, "--first-parent")
		maybe(&q.Topological, "--topo-order")
		maybe(&q.NoMerges, "--no-merges")
		maybe(&q.Oldest, "--reverse")
		maybe(&since, "--since=1700000100 +0000")
		maybe(&until, "--until=1700000400 +0000")
		maybe(&author, "--author=Ann")
		if since {
			q.Since = time.Unix(1700000100, 0)
		}
		if until {
			q.Until = time.Unix(1700000400, 0)
		}
		if author {
			q.Author = "Ann"
		}
		for _, id := range q.From {
			args = append(args, string(id))
		}
		if not = rapid.Bool().Draw(rt, "not"); not {
			q.Not = some.Draw(rt, "excluded")
			for _, id := range q.Not {
				args = append(args, "^"+string(id))
			}
		}
		args = append(args, "--")
		if path = rapid.IntRange(0, 3).Draw(rt, "by path") == 0; path {
			q.Path = rapid.SampledFrom(oddPaths).Draw(rt, "path")
			args = append(args, q.Path)
		}
		before := started
		commits, more, err := r.Log(t.Context(), q)
		if err != nil {
			rt.Fatal(err)
		}
		if q.plain() && started != before {
			rt.Fatal("a plain page started a process")
		}
		if listed, others, err := r.LogIDs(t.Context(), q); err != nil || others != more || !slices.EqualFunc(listed, commits, func(id OID, c *Commit) bool { return id == c.ID }) {
			rt.Fatalf("%v, %v, %v of %v, %v", listed, others, err, idsOf(commits), more)
		}
		want := realGit(rt, dir, "", args...)
		if got := idsOf(commits); got != want {
			rt.Fatalf("%+v:\n%swant\n%s", q, got, want)
		}
		all := q
		all.Skip = 0
		n, err := r.Count(t.Context(), all, 1000)
		if err != nil || more != (n > q.Skip+q.Limit) {
			rt.Fatalf("%+v: more is %t of %d: %v", q, more, n, err)
		}
		if n > 1 {
			if capped, err := r.Count(t.Context(), all, n-1); err != nil || capped != n-1 {
				rt.Fatalf("counts %d up to %d: %v", capped, n-1, err)
			}
		}
	})
}

func TestAncestryIsWhatGitSays(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir := r.dir(t)
	rapid.Check(t, func(rt *rapid.T) {
		ids := randomHistory(rt, dir, 10)
		some := rapid.SliceOfN(rapid.SampledFrom(ids), 2, 4).Draw(rt, "some")
		args := []string{"merge-base"}
		if len(some) > 2 {
			args = append(args, "--octopus")
		}
		for _, id := range some {
			args = append(args, string(id))
		}
		want, none := tryGit(dir, "", args...)
		base, err := r.MergeBase(t.Context(), some...)
		if none != nil && !errors.Is(err, ErrNotFound) || none == nil && (err != nil || string(base)+"\n" != want) {
			rt.Fatalf("base of %v: %s %v, want %s %v", some, base, err, want, none)
		}
		_, no := tryGit(dir, "", "merge-base", "--is-ancestor", string(some[0]), string(some[1]))
		if yes, err := r.IsAncestor(t.Context(), some[0], some[1]); err != nil || yes != (no == nil) {
			rt.Fatalf("ancestor: %t %v, want %v", yes, err, no)
		}
		refs, err := r.RefsWith(t.Context(), some[0], Branches, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		var names strings.Builder
		for _, ref := range refs {
			names.WriteString(ref.Name + "\n")
		}
		if want := realGit(rt, dir, "", "for-each-ref", "--format=%(refname)", "--contains", string(some[0]), "refs/heads/"); names.String() != want {
			rt.Fatalf("refs: %s, want %s", &names, want)
		}
		path := rapid.SampledFrom(oddPaths).Draw(rt, "path")
		last, err := r.LastCommits(t.Context(), some[0], []string{path, "never"})
		if err != nil || last["never"] != "" {
			rt.Fatal(last, err)
		}
		if want := realGit(rt, dir, "", "--literal-pathspecs", "log", "-1", "--format=%H", string(some[0]), "--", path); string(last[path]) != strings.TrimSpace(want) {
			rt.Fatalf("last commit of %q: %s, want %s", path, last[path], want)
		}
	})
}

func TestIDsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	for _, bad := range []OID{"", "main", "--all", "-n1", "HEAD^{/x}", "../x", "a\x00b", "^" + EmptyTree, EmptyTree + "\n", OID(strings.ToUpper(string(EmptyTree)))} {
		for name, do := range map[string]func() error{
			"log":    func() error { _, _, err := r.Log(t.Context(), LogQuery{From: []OID{bad}, Author: "x"}); return err },
			"not":    func() error { _, _, err := r.Log(t.Context(), LogQuery{All: true, Not: []OID{bad}}); return err },
			"count":  func() error { _, err := r.Count(t.Context(), LogQuery{From: []OID{bad}}, 5); return err },
			"base":   func() error { _, err := r.MergeBase(t.Context(), bad, EmptyTree); return err },
			"old":    func() error { _, err := r.IsAncestor(t.Context(), bad, EmptyTree); return err },
			"with":   func() error { _, err := r.RefsWith(t.Context(), bad, Branches, 1); return err },
			"last":   func() error { _, err := r.LastCommits(t.Context(), bad, []string{"a"}); return err },
			"blame":  func() error { _, err := r.Blame(t.Context(), bad, "a", 0, 0); return err },
			"diff":   func() error { _, err := r.Diff(t.Context(), bad, EmptyTree, DiffOptions{}); return err },
			"stats":  func() error { _, err := r.CommitStats(t.Context(), []OID{bad}); return err },
			"tar":    func() error { _, err := r.Archive(t.Context(), ArchiveOptions{Commit: bad, Format: Tar}); return err },
			"merge":  func() error { _, err := r.StageMerge(t.Context(), bad, EmptyTree, Draft{}); return err },
			"parent": func() error { _, err := r.Stage(t.Context(), Draft{Base: EmptyTree, Parents: []OID{bad}}); return err },
		} {
			if err := do(); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s of %q: %v", name, bad, err)
			}
		}
	}
}

func TestTheCountOfLinesIsThatOfGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir := r.dir(t)
	rapid.Check(t, func(rt *rapid.T) {
		ids := randomHistory(rt, dir, 6)
		stats, err := r.CommitStats(t.Context(), ids)
		if err != nil {
			rt.Fatal(err)
		}
		for i, id := range ids {
			var want Stats
			for line := range strings.Lines(realGit(rt, dir, "", "show", "--first-parent", "-m", "-M", "--format=", "--numstat", string(id))) {
				added, rest, _ := strings.Cut(line, "\t")
				removed, _, _ := strings.Cut(rest, "\t")
				a, _ := strconv.Atoi(added)
				d, _ := strconv.Atoi(removed)
				want.Additions += a
				want.Deletions += d
			}
			if stats[i] != want {
				rt.Fatalf("%s: %+v, want %+v", id, stats[i], want)
			}
		}
	})
}
