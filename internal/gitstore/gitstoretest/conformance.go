package gitstoretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"stithy/internal/gitstore"
)

// Repository is what any engine must offer for reading and for moving refs.
type Repository interface {
	Create(ctx context.Context, head string) error
	Exists(ctx context.Context) (bool, error)
	Remove(ctx context.Context) error
	Check(ctx context.Context) error
	Checksum(ctx context.Context) (string, error)
	Maintain(ctx context.Context) error

	Refs(ctx context.Context, q gitstore.RefQuery) ([]gitstore.Ref, bool, error)
	Ref(ctx context.Context, name string) (gitstore.Ref, error)
	Head(ctx context.Context) (string, error)
	SetHead(ctx context.Context, branch string) error
	Resolve(ctx context.Context, revision string) (gitstore.OID, error)
	UpdateRefs(ctx context.Context, updates []gitstore.RefUpdate) error

	Stat(ctx context.Context, id gitstore.OID) (gitstore.Object, error)
	Blob(ctx context.Context, id gitstore.OID, limit int64) ([]byte, error)
	OpenBlob(ctx context.Context, id gitstore.OID) (int64, io.ReadCloser, error)
	Commit(ctx context.Context, id gitstore.OID) (*gitstore.Commit, error)
	Commits(ctx context.Context, ids []gitstore.OID) ([]*gitstore.Commit, error)
	Tag(ctx context.Context, id gitstore.OID) (*gitstore.Tag, error)
	Find(ctx context.Context, commit gitstore.OID, path string) (gitstore.Entry, error)
	Tree(ctx context.Context, commit gitstore.OID, path string) ([]gitstore.Entry, error)
	Walk(ctx context.Context, commit gitstore.OID, path, after string, limit int) ([]gitstore.Entry, bool, error)
}

// Engine gives repositories that do not exist yet, and a way to fill them.
type Engine struct {
	Repository func(t testing.TB, projectID int64) Repository
	Seed       func(t testing.TB, r Repository, commits ...Commit) []gitstore.OID
}

// Conformance is what callers rely on, whichever engine there is.
func Conformance(t *testing.T, engine Engine) {
	t.Helper()
	t.Run("a repository is there from create to remove", func(t *testing.T) { conformLife(t, engine) })
	t.Run("objects", func(t *testing.T) { conformObjects(t, engine) })
	t.Run("refs", func(t *testing.T) { conformRefs(t, engine) })
}

func conformLife(t *testing.T, engine Engine) {
	ctx, r := t.Context(), engine.Repository(t, 1)
	want := func(is bool) {
		t.Helper()
		if there, err := r.Exists(ctx); there != is || err != nil {
			t.Fatal(there, err)
		}
	}
	want(false)
	if _, err := r.Head(ctx); !errors.Is(err, gitstore.ErrNoRepo) {
		t.Error(err)
	}
	for range 2 {
		if err := r.Create(ctx, "trunk"); err != nil {
			t.Fatal(err)
		}
		want(true)
	}
	if err := r.Create(ctx, "other"); err != nil { // it is there, and stays as it is
		t.Error(err)
	}
	if head, err := r.Head(ctx); head != "trunk" || err != nil {
		t.Error(head, err)
	}
	if _, err := r.Resolve(ctx, "HEAD"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Error(err)
	}
	if err := errors.Join(r.Maintain(ctx), r.Check(ctx)); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := r.Remove(ctx); err != nil {
			t.Fatal(err)
		}
		want(false)
	}
}

func conformObjects(t *testing.T, engine Engine) {
	ctx, r := t.Context(), engine.Repository(t, 2)
	if err := r.Create(ctx, "main"); err != nil {
		t.Fatal(err)
	}
	ids := engine.Seed(t, r,
		Commit{Message: "one\n\nbody\n", Files: map[string]string{"a/b": "1", "a.b": "2", "c": "3"}},
		Commit{Message: "two", Files: map[string]string{"c": strings.Repeat("x", 2<<20)}})
	c, err := r.Commit(ctx, ids[1])
	if err != nil || c.ID != ids[1] || c.Message != "two" || len(c.Parents) != 1 || c.Parents[0] != ids[0] || !c.Author.When.Equal(Start.Add(60e9)) {
		t.Fatalf("%+v %v", c, err)
	}
	if o, err := r.Stat(ctx, c.Tree); err != nil || o.Kind != gitstore.TreeKind {
		t.Error(o, err)
	}
	for name, err := range map[string]error{
		"tree as commit": second(r.Commit(ctx, c.Tree)), "commit as blob": second(r.Blob(ctx, ids[0], 1e6)), "commit as tag": second(r.Tag(ctx, ids[0])),
		"missing": second(r.Stat(ctx, gitstore.OID(strings.Repeat("1", 40)))), "no path": second(r.Find(ctx, ids[0], "a/x")), "file as tree": second(r.Tree(ctx, ids[0], "c")),
	} {
		if !errors.Is(err, gitstore.ErrNotFound) {
			t.Error(name, err)
		}
	}
	if _, err := r.Stat(ctx, "main"); !errors.Is(err, gitstore.ErrInvalid) {
		t.Error(err)
	}
	e, err := r.Find(ctx, ids[1], "c")
	if err != nil || e.Mode != gitstore.FileMode {
		t.Fatal(e, err)
	}
	if _, err := r.Blob(ctx, e.ID, 100); !errors.Is(err, gitstore.ErrTooLarge) {
		t.Error(err)
	}
	size, body, err := r.OpenBlob(ctx, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != size || size != 2<<20 || err != nil {
		t.Error(n, size, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	var paths []string
	for after, more := "", true; more; {
		var page []gitstore.Entry
		if page, more, err = r.Walk(ctx, ids[0], "", after, 1); err != nil || len(page) != 1 {
			t.Fatal(page, err)
		}
		after = page[0].Path
		paths = append(paths, after)
	}
	if got := fmt.Sprint(paths); got != "[a.b a a/b c]" {
		t.Error(got)
	}
}

func second[T any](_ T, err error) error { return err }

func conformRefs(t *testing.T, engine Engine) {
	ctx, r := t.Context(), engine.Repository(t, 3)
	if err := r.Create(ctx, "main"); err != nil {
		t.Fatal(err)
	}
	ids := engine.Seed(t, r, Commit{Message: "one", Tag: "both", Note: "annotated"}, Commit{Message: "two"}, Commit{Message: "three", Branch: "both", From: 1})
	before, err := r.Checksum(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for revision, want := range map[string]gitstore.OID{
		"both": ids[0], "refs/heads/both": ids[2], "main~1": ids[0], "HEAD": ids[1], string(ids[2][:10]): ids[2],
	} {
		if id, err := r.Resolve(ctx, revision); id != want || err != nil {
			t.Error(revision, id, err)
		}
	}
	if ref, err := r.Ref(ctx, "refs/tags/both"); err != nil || ref.Peeled != ids[0] || ref.Target == ids[0] {
		t.Error(ref, err)
	}
	make1 := gitstore.RefUpdate{Name: "refs/heads/new", Old: gitstore.Zero, New: ids[0]}
	stale := gitstore.RefUpdate{Name: "refs/heads/main", Old: ids[0], New: ids[2]}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{make1, stale}); !errors.Is(err, gitstore.ErrConflict) {
		t.Error(err)
	}
	if after, err := r.Checksum(ctx); after != before || err != nil {
		t.Error("half of an update was made", err)
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{make1, {Name: "refs/heads/main", Old: ids[1], New: gitstore.Zero}}); err != nil {
		t.Error(err)
	}
	list, more, err := r.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Branches, Limit: 1, After: "refs/heads/both"})
	if err != nil || more || len(list) != 1 || list[0].Branch() != "new" {
		t.Error(list, more, err)
	}
	if err := r.SetHead(ctx, "new"); err != nil {
		t.Error(err)
	}
	if id, err := r.Resolve(ctx, "HEAD"); id != ids[0] || err != nil {
		t.Error(id, err)
	}
}
