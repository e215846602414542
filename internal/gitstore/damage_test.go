package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An object whose file is emptied, or gone although a tree leads to it, is no object that was never there.
func TestWhatWasLostIsNotMissing(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	blob := func(text string) OID {
		return OID(strings.TrimSpace(realGit(t, r.dir(t), text, "hash-object", "-w", "--stdin")))
	}
	file := func(id OID) string { return filepath.Join(r.dir(t), "objects", string(id[:2]), string(id[2:])) }
	emptied, gone := blob("emptied"), blob("gone")
	if err := os.Remove(file(emptied)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file(emptied), nil, 0o400), os.Remove(file(gone))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stat(t.Context(), emptied); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
		t.Errorf("emptied: %v", err)
	}
	if _, err := r.StatEntry(t.Context(), Entry{ID: gone, Mode: FileMode}); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
		t.Errorf("gone, and in a tree: %v", err)
	}
	if _, err := r.Stat(t.Context(), gone); !errors.Is(err, ErrNotFound) {
		t.Errorf("gone, and asked for by its id: %v", err)
	}
	if _, err := r.tree(t.Context(), Entry{ID: gone, Mode: DirMode}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a folder: %v", err)
	}
}

func TestDO04_BlameLooksAtTheSizeFirst(t *testing.T) {
	t.Parallel()
	s, commands := traced(t, nil)
	r := newRepo(t, s, 1)
	commit := commitFiles(t, r, "main", "", content("big", strings.Repeat("x", maxBlamed)+"y"), content("fits", "x"))
	if _, err := r.Blame(t.Context(), commit, "big", 1, 1); !errors.Is(err, ErrTooLarge) || slices.Contains(commands(), "blame") {
		t.Errorf("%v, after %v", err, commands())
	}
	if _, err := r.Blame(t.Context(), commit, "fits", 0, 0); err != nil {
		t.Error(err)
	}
	line := strings.Repeat("1", 40) + " 1 1\n\t\n"
	if _, err := readBlame(strings.NewReader(strings.Repeat(line, maxBlameLines+1)), maxBlame); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many lines: %v", err)
	}
}
