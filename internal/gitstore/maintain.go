package gitstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Upkeep is how a repository lies on its disk.
type Upkeep struct {
	Size         int64 // bytes
	Packs        int
	LooseObjects int
	LooseRefs    int
	CommitGraph  bool
}

// Measure reads the state of the disk.
func (r *Repo) Measure(ctx context.Context) (Upkeep, error) {
	_, dir, err := r.place()
	if err != nil {
		return Upkeep{}, err
	}
	if there, err := r.Exists(ctx); err != nil || !there {
		if err == nil {
			err = ErrNoRepo
		}
		return Upkeep{}, err
	}
	var u Upkeep
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since its directory was read
		}
		if err != nil {
			return err
		}
		inside := filepath.ToSlash(strings.TrimPrefix(path, dir+"/"))
		switch {
		case d.IsDir():
			if quarantinePattern.MatchString(d.Name()) {
				return fs.SkipDir
			}
			return ctx.Err()
		case strings.HasPrefix(inside, "objects/pack/pack-") && strings.HasSuffix(inside, ".pack"):
			u.Packs++
		case strings.HasPrefix(inside, "objects/info/commit-graph"):
			u.CommitGraph = true
		case strings.HasPrefix(inside, "refs/"):
			u.LooseRefs++
		case strings.HasPrefix(inside, "objects/") && len(d.Name()) == 38:
			u.LooseObjects++
		}
		if info, err := d.Info(); err == nil {
			u.Size += info.Size()
		}
		return nil
	})
	if err != nil {
		return Upkeep{}, fmt.Errorf("measuring a repository: %w: %w", ErrUnavailable, err)
	}
	return u, nil
}

// When what is done.
const (
	manyLoose     = 256
	manyPacks     = 6
	manyLooseRefs = 64
	// staleAfter is when a leftover of a push or a command is nobody's any more.
	staleAfter = 24 * time.Hour
	// sortOutEvery is how often objects that nothing points to are set apart, and those thrown away that were apart
	// for long. It is no shorter than a push can last.
	sortOutEvery = 7 * 24 * time.Hour
	unreachable  = "--cruft-expiration=2.weeks.ago"
)

// upkeepFile is locked while a repository is maintained, by the commands too; its time is that of the last sorting out.
const upkeepFile = "upkeep"

// Maintain writes the commit-graph and, where it pays, repacks. It never removes an object that may be in use: what
// nothing points to stays two weeks. While it goes on elsewhere, nothing is done.
func (r *Repo) Maintain(ctx context.Context) error {
	_, dir, err := r.writable()
	if err != nil {
		return err
	}
	now, err := r.Measure(ctx)
	if err != nil {
		return err
	}
	mine, err := os.OpenFile(filepath.Join(dir, upkeepFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("maintaining: %w: %w", ErrUnavailable, err)
	}
	defer mine.Close()
	if err := flock(mine, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil //nolint:nilerr // somebody is at it
	}
	if err := errors.Join(r.sweep(dir), r.Unlock(ctx)); err != nil {
		return fmt.Errorf("sweeping: %w: %w", ErrUnavailable, err)
	}
	run := func(sub string, flags ...string) error {
		return r.run(ctx, call{class: upkeep, sub: sub, flags: flags, files: []*os.File{mine}}, nil)
	}
	if now.LooseRefs > manyLooseRefs {
		if err := run("pack-refs", "--all", "--prune"); err != nil {
			return err
		}
	}
	sorted, err := mine.Stat()
	if err != nil {
		return fmt.Errorf("maintaining: %w: %w", ErrUnavailable, err)
	}
	switch {
	case now.Packs+now.LooseObjects == 0:
		return nil
	case sorted.Size() > 0 && r.store.Clock.Now().Sub(sorted.ModTime()) > sortOutEvery:
		if err := run("repack", "-d", "-l", "-q", "--cruft", unreachable, "--write-midx", "--write-bitmap-index"); err != nil {
			return err
		}
		if err := r.stampUpkeep(mine); err != nil {
			return err
		}
	case now.LooseObjects > manyLoose || now.Packs > manyPacks:
		if err := run("repack", "-d", "-l", "-q", "--geometric=2", "--write-midx", "--write-bitmap-index"); err != nil {
			return err
		}
	}
	if sorted.Size() == 0 {
		if err := r.stampUpkeep(mine); err != nil { // the first week begins
			return err
		}
	}
	return run("commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress")
}

func (r *Repo) stampUpkeep(f *os.File) error {
	now := r.store.Clock.Now()
	if _, err := f.WriteAt([]byte("sorted\n"), 0); err != nil {
		return fmt.Errorf("maintaining: %w: %w", ErrUnavailable, err)
	}
	return os.Chtimes(f.Name(), now, now)
}

// sweep removes what crashes left among the objects: quarantines and half-written files that are a day old, and locks
// of maintenance, which is ours alone now.
func (r *Repo) sweep(dir string) error {
	objects := filepath.Join(dir, "objects")
	for _, name := range []string{"pack/multi-pack-index.lock", "info/commit-graphs/commit-graph-chain.lock", "info/commit-graph.lock"} {
		if err := os.Remove(filepath.Join(objects, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	old := r.store.Clock.Now().Add(-staleAfter)
	for _, pattern := range []string{"tmp_objdir-*", "pack/tmp_*", "pack/.tmp-*", "[0-9a-f][0-9a-f]/tmp_obj_*", "incoming-*"} {
		paths, err := filepath.Glob(filepath.Join(objects, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if info, err := os.Lstat(path); err != nil || info.ModTime().After(old) {
				continue
			}
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check runs git fsck; damage is ErrCorrupt with what git said.
func (r *Repo) Check(ctx context.Context) error {
	var out tail
	err := r.run(ctx, call{class: upkeep, sub: "fsck", flags: []string{"--full", "--no-dangling", "--no-progress"}}, &out)
	if exitCode(err) <= 0 || errors.Is(err, ErrNoRepo) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w: %s", ErrCorrupt, err, out.String())
}

// Checksum is a digest over all refs and their targets.
func (r *Repo) Checksum(ctx context.Context) (string, error) {
	refs, _, err := r.Refs(ctx, RefQuery{})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, ref := range refs {
		fmt.Fprintf(&b, "%s %s\n", ref.Target, ref.Name)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}
