// Package repositorytest seeds repositories for the tests of other rooms.
package repositorytest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// NoLargeFiles is for a room of repositories without a room of large files
// above it. It takes every pointer, and has nothing that one stands for.
type NoLargeFiles struct{}

// Missing misses none.
func (NoLargeFiles) Missing(context.Context, int64, []string) ([]string, error) { return nil, nil }

// Has has none.
func (NoLargeFiles) Has(context.Context, int64) (bool, error) { return false, nil }

// Size finds none.
func (NoLargeFiles) Size(context.Context, int64, string) (int64, error) {
	return 0, fault.NotFoundf("Object")
}

// Open finds none.
func (NoLargeFiles) Open(context.Context, int64, string) (int64, io.ReadCloser, error) {
	return 0, nil, fault.NotFoundf("Object")
}

// Store opens a store on folders that go with the test.
func Store(t testing.TB, names ...string) *gitstore.Store {
	t.Helper()
	c := gitstore.Config{CacheDir: t.TempDir(), Clock: clock.System(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, name := range append([]string{"default"}, names...) {
		c.Storages = append(c.Storages, gitstore.Storage{Name: name, Root: t.TempDir()})
	}
	store, err := gitstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// Files are contents by path.
type Files map[string]string

// author made everything that is seeded.
var author = gitstore.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2024, 5, 1, 12, 0, 0, 0, time.FixedZone("", 2*60*60))}

// New seeds the repository of a project: one commit with files on its default
// branch, or on "main". Without files the repository is empty.
func New(t testing.TB, db postgres.Querier, store *gitstore.Store, p *project.Project, files Files) *gitstore.Repo {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	branch := "main"
	if p.DefaultBranch != nil {
		branch = *p.DefaultBranch
	}
	repo := store.Repo(gitstore.KeyOf("default", p.ID, 0))
	if err := repo.Create(ctx, branch); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(ctx, `insert into repositories (project_id, storage, state, empty, created_at)
		values ($1, 'default', 'ready', $2, '2024-01-01')`, p.ID, len(files) == 0); err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		Commit(t, repo, branch, "Initial commit", files)
		if p.DefaultBranch == nil {
			p.DefaultBranch = &branch
			if _, err := db.Exec(ctx, `update projects set default_branch = $2 where id = $1`, p.ID, branch); err != nil {
				t.Fatal(err)
			}
		}
	}
	return repo
}

// Commit seeds a commit on a branch, which is made when it is not there, and
// returns its id. An empty content deletes a file.
func Commit(t testing.TB, repo *gitstore.Repo, branch, message string, files Files) gitstore.OID {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	d := gitstore.Draft{Base: gitstore.EmptyTree, Author: author, Committer: author, Message: message}
	old := gitstore.Zero
	switch ref, err := repo.Ref(ctx, gitstore.Branches+branch); {
	case err == nil:
		old, d.Base, d.Parents = ref.Target, ref.Target, []gitstore.OID{ref.Target}
	case !errors.Is(err, gitstore.ErrNotFound):
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		_, err := repo.Find(ctx, d.Base, path)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			t.Fatal(err)
		}
		d.Changes = append(d.Changes, gitstore.Change{
			Path: path, Content: []byte(files[path]), Delete: files[path] == "", Create: err != nil && files[path] != "",
		})
	}
	staged, err := repo.Stage(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Apply(ctx, staged.Quarantine, []gitstore.RefUpdate{{Name: gitstore.Branches + branch, Old: old, New: staged.ID}}); err != nil {
		t.Fatal(err)
	}
	return staged.ID
}
