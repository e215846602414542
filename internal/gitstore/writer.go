package gitstore

import (
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/sorting"
)

// Change is one edit of a tree.
type Change struct {
	Path    string
	From    string // previous path of a move
	Content []byte // nil keeps the content (move, chmod)
	Blob    OID    // instead of Content
	Exec    *bool  // nil keeps
	Delete  bool
	Create  bool // the path must be free
}

// Draft is a commit to be.
type Draft struct {
	Parents   []OID
	Base      OID // commit or tree that Changes apply to; EmptyTree for a first commit
	Changes   []Change
	Author    Signature
	Committer Signature
	Message   string
}

// Staged are objects in a quarantine: readable through In, part of nothing yet.
type Staged struct {
	ID         OID
	Quarantine Quarantine
}

// PathError says which path of a draft was wrong; it unwraps to ErrNotFound (missing), ErrConflict (taken), ErrInvalid.
type PathError struct {
	Path string
	Dir  bool // a directory is in the way
	Err  error
}

func (e *PathError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *PathError) Unwrap() error { return e.Err }

// Stage builds the objects of a commit. Nothing is visible until Apply. There is no work tree: a link is a blob, and
// a path is a chain of names in trees.
func (r *Repo) Stage(ctx context.Context, d Draft) (Staged, error) {
	e := editor{read: func(id OID) ([]Entry, error) { return r.Tree(ctx, id, "") }}
	e.root.id = d.Base
	for _, c := range d.Changes {
		if c.Blob != "" {
			if o, err := r.Stat(ctx, c.Blob); err != nil || o.Kind != BlobKind {
				return Staged{}, &PathError{Path: c.Path, Err: errors.Join(ErrNotFound, err)}
			}
		}
		if err := e.apply(c); err != nil {
			return Staged{}, err
		}
	}
	tree := e.root.id
	switch {
	case e.root.entries != nil:
		var err error
		if tree, err = e.write(&e.root); err != nil {
			return Staged{}, err
		}
	case tree != EmptyTree: // nothing changes, and the base may be a commit
		root, err := r.Find(ctx, tree, "")
		if err != nil {
			return Staged{}, err
		}
		tree = root.ID
	}
	if tree == EmptyTree { // known to git without being there, until somebody else looks
		e.objects = append(e.objects, newObject(TreeKind, nil))
	}
	commit, err := commitObject(tree, d.Parents, d.Author, d.Committer, d.Message)
	if err != nil {
		return Staged{}, err
	}
	return r.stage(ctx, append(e.objects, commit))
}

// StageTag builds an annotated tag.
func (r *Repo) StageTag(ctx context.Context, name string, target OID, tagger Signature, message string) (Staged, error) {
	if err := CheckRefName(Tags + name); err != nil {
		return Staged{}, err
	}
	to, err := r.Stat(ctx, target)
	if err != nil {
		return Staged{}, err
	}
	tag, err := tagObject(name, to, tagger, message)
	if err != nil {
		return Staged{}, err
	}
	return r.stage(ctx, []object{tag})
}

// stage puts objects into a new quarantine, or into the one that the repository
// is seen through; the last one is what it is about.
func (r *Repo) stage(ctx context.Context, objects []object) (Staged, error) {
	q := r.quarantine
	if q.dir == "" {
		var err error
		if q, err = r.newQuarantine(); err != nil {
			return Staged{}, err
		}
	}
	if err := r.fill(ctx, q, objects); err != nil {
		r.Discard(q)
		return Staged{}, err
	}
	return Staged{ID: objects[len(objects)-1].id, Quarantine: q}, nil
}

// newQuarantine makes a directory that is named like those of git, so that whoever sweeps finds both.
func (r *Repo) newQuarantine() (Quarantine, error) {
	_, dir, err := r.writable()
	if err != nil {
		return Quarantine{}, err
	}
	made, err := os.MkdirTemp(filepath.Join(dir, "objects"), "tmp_objdir-stage-*")
	if errors.Is(err, fs.ErrNotExist) {
		return Quarantine{}, ErrNoRepo
	}
	if err != nil {
		return Quarantine{}, fmt.Errorf("making a quarantine: %w: %w", ErrUnavailable, err)
	}
	return Quarantine{dir: filepath.Base(made)}, nil
}

// fewObjects is up to how many objects lie loose, as it is for pushes.
const fewObjects = 100

// fill hands objects to git, which checks them as it checks a push, down to what .gitmodules says.
func (r *Repo) fill(ctx context.Context, q Quarantine, objects []object) error {
	c := call{class: history, sub: "unpack-objects", flags: []string{"-q", "--strict"}, quarantine: q}
	level := zlib.NoCompression // git packs loose objects in its own way
	if len(objects) > fewObjects {
		c.sub, c.flags = "index-pack", []string{"--stdin", "--strict"}
		level = zlib.DefaultCompression
	}
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(writePack(out, objects, level)) }()
	defer func() { _ = in.Close() }()
	c.stdin = in
	err := r.run(ctx, c, io.Discard)
	if exitCode(err) > 0 && !errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrInvalid, err) // what people wrote, not the repository
	}
	return err
}

// Apply makes staged objects part of the repository, durably, and moves refs: all or none. Objects stay when the refs
// do not move; nothing points to them, and upkeep finds them. Doing it again is safe.
func (r *Repo) Apply(ctx context.Context, q Quarantine, updates []RefUpdate) error {
	if q != (Quarantine{}) {
		if err := r.migrate(q); err != nil {
			return err
		}
	}
	failpoint.Here(failpoint.ObjectsTaken)
	if len(updates) > 0 {
		if err := r.UpdateRefs(ctx, updates); err != nil {
			return err
		}
	}
	r.Discard(q)
	return nil
}

// Discard forgets a quarantine. One that is never discarded is swept by Maintain after a day.
func (r *Repo) Discard(q Quarantine) {
	if !quarantinePattern.MatchString(q.dir) {
		return
	}
	r.endReaders(q)
	if _, dir, err := r.place(); err == nil {
		_ = os.RemoveAll(filepath.Join(dir, "objects", q.dir))
	}
}

// migrate links the objects of a quarantine to where they belong. Git has synced their content; the names are synced
// here, because a ref must never point to what a power cut takes away.
func (r *Repo) migrate(q Quarantine) error {
	place, dir, err := r.writable()
	if err != nil {
		return err
	}
	if !quarantinePattern.MatchString(q.dir) {
		return fmt.Errorf("quarantine %.60q: %w", q.dir, ErrInvalid)
	}
	objects := filepath.Join(dir, "objects")
	err = migrate(filepath.Join(objects, q.dir), objects)
	if errors.Is(err, syscall.EIO) {
		place.failed.Store(true)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // gone: it was applied before, or the refs will tell
		return fmt.Errorf("taking in objects: %w: %w", ErrUnavailable, err)
	}
	return nil
}

func migrate(from, to string) error {
	dirs, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	made := false
	for _, d := range dirs {
		name := d.Name()
		if !d.IsDir() || name != "pack" && len(name) != 2 {
			continue
		}
		files, err := os.ReadDir(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(to, name), 0o700); err == nil {
			made = true
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A pack counts from when its index is there, so that comes last.
		sorting.Stably(files, func(a, b fs.DirEntry) int {
			return strings.Compare(filepath.Ext(b.Name()), filepath.Ext(a.Name()))
		})
		for _, f := range files {
			if strings.HasPrefix(f.Name(), "tmp_") {
				continue
			}
			if err := link(filepath.Join(from, name, f.Name()), filepath.Join(to, name, f.Name())); err != nil {
				return err
			}
		}
		if err := syncDir(filepath.Join(to, name)); err != nil {
			return err
		}
	}
	if made {
		return syncDir(to)
	}
	return nil
}

// link gives a file its place. One that is there already holds the same, by its name.
func link(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EMLINK):
		return os.Rename(from, to) // a file system without links
	}
	return err
}
