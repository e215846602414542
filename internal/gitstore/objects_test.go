package gitstore_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

func TestObjectsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	ids := gitstoretest.Seed(t, s, r,
		gitstoretest.Commit{Message: "first\n\nbody", Files: map[string]string{
			"README": "hello\n", "a.txt": "1", "a/b/c": "2", "a/b.c": "3", "a-b": "4", "z/deep/er/file": "5"}, Tag: "v1", Note: "one"},
		gitstoretest.Commit{Message: "second", Files: map[string]string{"big": strings.Repeat("x", 3<<20)}, Tag: "v2"},
	)
	ctx := t.Context()
	c, err := r.Commit(ctx, ids[1])
	if err != nil || c.Message != "second" || len(c.Parents) != 1 || c.Parents[0] != ids[0] || c.Author.Email != "ada@example.com" {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := r.Commit(ctx, c.Tree); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("a tree was taken for a commit: %v", err)
	}
	both, err := r.Commits(ctx, []gitstore.OID{ids[1], ids[0], ids[1]})
	if err != nil || both[0].ID != ids[1] || both[1].Message != "first\n\nbody" || both[2].ID != ids[1] {
		t.Error(both, err)
	}
	missing := gitstore.OID(strings.Repeat("1", 40))
	if _, err := r.Commits(ctx, []gitstore.OID{missing, ids[0]}); !errors.Is(err, gitstore.ErrNotFound) {
		t.Error(err)
	}
	tag, err := r.Tag(ctx, gitstore.OID(gitstoretest.Git(t, s, r, "", "rev-parse", "v1")))
	if err != nil || tag.Target != ids[0] || tag.Message != "one" || tag.Name != "v1" || tag.Kind != gitstore.CommitKind {
		t.Errorf("%+v %v", tag, err)
	}

	list := func(entries []gitstore.Entry) string {
		var b strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&b, "%s %s %s\t%s\n", e.Mode, e.Mode.Kind(), e.ID, e.Path)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	root, err := r.Tree(ctx, ids[1], "")
	if diff := cmp.Diff(gitstoretest.Git(t, s, r, "", "ls-tree", "main"), list(root)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	sub, err := r.Tree(ctx, ids[1], "a/b")
	if diff := cmp.Diff(gitstoretest.Git(t, s, r, "", "ls-tree", "main", "a/b/"), list(sub)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	all, more, err := r.Walk(ctx, ids[1], "", "", 0)
	if diff := cmp.Diff(gitstoretest.Git(t, s, r, "", "ls-tree", "-r", "-t", "main"), list(all)); diff != "" || err != nil || more {
		t.Error(err, diff)
	}
	// Pages of any size put together are the whole.
	for limit := 1; limit <= len(all)+1; limit++ {
		var pages []gitstore.Entry
		for after, more := "", true; more; {
			var page []gitstore.Entry
			if page, more, err = r.Walk(ctx, ids[1], "", after, limit); err != nil || len(page) == 0 || len(page) > limit {
				t.Fatal(limit, after, page, err)
			}
			pages = append(pages, page...)
			after = page[len(page)-1].Path
		}
		if diff := cmp.Diff(all, pages); diff != "" {
			t.Error(limit, diff)
		}
	}
	below, more, err := r.Walk(ctx, ids[1], "a", "a/b.c", 1)
	if err != nil || !more || len(below) != 1 || below[0].Path != "a/b" {
		t.Error(below, more, err)
	}

	e, err := r.Find(ctx, ids[1], "a/b/c")
	if err != nil || e.Path != "a/b/c" || e.Name() != "c" {
		t.Fatal(e, err)
	}
	if text, err := r.Blob(ctx, e.ID, 10); string(text) != "2" || err != nil {
		t.Error(text, err)
	}
	for _, path := range []string{"nope", "a/nope", "README/x", "a//b", "/a", "../a", "a/..", "a\x00", "a\nb", "--upload-pack=x", "-c", " "} {
		if _, err := r.Find(ctx, ids[1], path); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%q: %v", path, err)
		}
	}
	big, err := r.Find(ctx, ids[1], "big")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{1, 3<<20 - 1} { // one ends the process, one reads on
		if _, err := r.Blob(ctx, big.ID, limit); !errors.Is(err, gitstore.ErrTooLarge) {
			t.Error(err)
		}
	}
	size, body, err := r.OpenBlob(ctx, big.ID)
	if err != nil || size != 3<<20 {
		t.Fatal(size, err)
	}
	if n, err := io.Copy(io.Discard, body); n != size || err != nil {
		t.Error(n, err)
	}
	body.Close()
	for _, id := range []gitstore.OID{"", "HEAD", "main", missing[:39], "--batch", missing[:38] + "\nx", "-c x=y"} {
		if _, err := r.Stat(ctx, id); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := r.Commit(ctx, id); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
		if _, _, err := r.OpenBlob(ctx, id); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if entries, err := r.Tree(ctx, gitstore.EmptyTree, ""); len(entries) != 0 || err != nil {
		t.Error(entries, err)
	}
	if _, err := s.Repo(gitstore.KeyOf(gitstoretest.Storage, 9, 0)).Commit(ctx, ids[0]); !errors.Is(err, gitstore.ErrNoRepo) {
		t.Error(err)
	}
}
