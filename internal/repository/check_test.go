package repository_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
)

// Repositories that a disk damaged are found, each of them, and sound ones are
// not called damaged.
func TestDamagedRepositoriesAreFound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root := w.store.Storages[0].Root
	harms := map[string]struct {
		harm func(dir string) error
		says string
	}{
		"emptied-object": {func(dir string) error {
			return eachFile(dir, "objects/??/*", func(path string) error { return os.WriteFile(path, nil, 0o600) })
		}, "corrupt"},
		"missing-pack": {func(dir string) error { return eachFile(dir, "objects/pack/*", os.Remove) }, "corrupt"},
		"truncated-pack": {func(dir string) error {
			return eachFile(dir, "objects/pack/*.pack", func(path string) error { return os.Truncate(path, 40) })
		}, "corrupt"},
		"missing-head": {func(dir string) error { return os.Remove(filepath.Join(dir, "HEAD")) }, "HEAD or refs are missing"},
		"missing-refs": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "refs")), os.Remove(filepath.Join(dir, "packed-refs")))
		}, "HEAD or refs are missing"},
		"lost-refs": {func(dir string) error {
			return errors.Join(eachFile(dir, "refs/heads/*", os.Remove), os.Remove(filepath.Join(dir, "packed-refs")))
		}, "no branch or tag is left"},
		"missing-directory": {os.RemoveAll, "HEAD or refs are missing"},
		"sound":             {nil, ""},
		"never-pushed-to":   {nil, ""},
		"emptied-by-people": {nil, ""},
	}
	for name, h := range harms {
		p := projecttest.New(t, w.db, w.home.ID, projecttest.Named(name))
		if name == "never-pushed-to" {
			repositorytest.New(t, w.db, w.store, p, nil)
			continue
		}
		repo := repositorytest.New(t, w.db, w.store, p, repositorytest.Files{"README.md": "# " + name, "a/b.txt": "b"})
		dir := filepath.Join(root, repo.Key().Path)
		if err := os.WriteFile(filepath.Join(dir, "packed-refs"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "pack") {
			repack(t, dir)
		}
		if name == "emptied-by-people" {
			deleteAll(t, w, p.ID, repo)
		}
		if h.harm != nil {
			if err := h.harm(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	// One that is not on the disk yet is not looked for.
	planned := projecttest.New(t, w.db, w.home.ID)
	if _, err := w.db.Exec(t.Context(), "insert into repositories (project_id, storage, state, created_at) values ($1, 'default', 'new', now())", planned.ID); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	err := w.repositories.CheckAll(t.Context(), func(c repository.Checked, all int64) {
		name, known := strings.CutPrefix(c.Path, w.home.FullPath+"/")
		if h, ok := harms[name]; known && ok {
			seen[name] = true
			if (c.Damage == nil) != (h.says == "") || c.Damage != nil && !strings.Contains(c.Damage.Error(), h.says) {
				t.Errorf("%s: %v", name, c.Damage)
			}
		}
		if all < int64(len(harms)) {
			t.Errorf("%d in all", all)
		}
	})
	if err != nil || len(seen) != len(harms) {
		t.Errorf("%v, saw %v", err, seen)
	}
}

func TestACheckOfRepositoriesEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 5 {
		repositorytest.New(t, w.db, w.store, projecttest.New(t, w.db, w.home.ID), repositorytest.Files{"a": "a"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	reported := 0
	err := w.repositories.CheckAll(ctx, func(repository.Checked, int64) { reported++; cancel() })
	if !errors.Is(err, context.Canceled) || reported > 2 {
		t.Errorf("%v after %d", err, reported)
	}
}

func eachFile(dir, pattern string, do func(path string) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err == nil && len(paths) == 0 {
		err = errors.New("nothing is there: " + pattern)
	}
	for _, path := range paths {
		err = errors.Join(err, os.Chmod(path, 0o600), do(path))
	}
	return err
}

// repack puts all objects into a pack, as upkeep does after many pushes.
func repack(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "repack", "-a", "-d", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// deleteAll is somebody who deletes the last branch.
func deleteAll(t *testing.T, w *fixture, projectID int64, repo *gitstore.Repo) {
	t.Helper()
	refs, _, err := repo.Refs(t.Context(), gitstore.RefQuery{})
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	update := gitstore.RefUpdate{Name: refs[0].Name, Old: refs[0].Target, New: gitstore.Zero}
	if err := repo.UpdateRefs(t.Context(), []gitstore.RefUpdate{update}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Exec(t.Context(), `insert into pushes (project_id, via, state, updates, created_at) values ($1, 'http', 'done', $2, now())`,
		projectID, []gitstore.RefUpdate{update}); err != nil {
		t.Fatal(err)
	}
}
