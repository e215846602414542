package gitstore

import (
	"cmp"
	"context"
	"errors"
)

// Changes lists which files differ between two commits or trees, in the order of their paths and without looking into them: a
// file that was renamed went, and another came. It stops after limit files, and reads little more than it gives, whatever the
// trees stand for: git itself would find all of them before it names the first. more says that there are others.
func (r *Repo) Changes(ctx context.Context, from, to OID, limit int) (files []FileDiff, more bool, err error) {
	c := comparison{repo: r, files: limit, entries: 20*limit + 1000}
	sides := [2]tree{}
	for i, id := range []OID{from, to} {
		if id == EmptyTree {
			continue
		}
		if _, sides[i], err = r.root(ctx, id); err != nil {
			return nil, false, err
		}
	}
	if err = c.compare(ctx, sides[0], sides[1], ""); errors.Is(err, errFull) {
		return c.found, true, nil
	}
	return c.found, false, err
}

// comparison is two trees that are compared.
type comparison struct {
	repo    *Repo
	files   int // that may still be found
	entries int // that may still be looked at
	found   []FileDiff
}

// compare adds what differs between two directories. Both are in git's order.
func (c *comparison) compare(ctx context.Context, old, now tree, prefix string) error {
	for len(old) > 0 || len(now) > 0 {
		if c.entries--; c.entries < 0 {
			return errFull
		}
		var was, is Entry
		switch order := c.first(old, now); {
		case order < 0:
			was, old = old[0], old[1:]
		case order > 0:
			is, now = now[0], now[1:]
		default:
			was, is, old, now = old[0], now[0], old[1:], now[1:]
		}
		if was.ID == is.ID && was.Mode == is.Mode {
			continue
		}
		if err := c.entry(ctx, was, is, prefix); err != nil {
			return err
		}
	}
	return nil
}

// first says which of two directories has the entry that comes first; 0 where both have it.
func (c *comparison) first(old, now tree) int {
	switch {
	case len(old) == 0:
		return 1
	case len(now) == 0:
		return -1
	}
	return compareEntries(old[0], now[0].Path, now[0].Mode)
}

// entry adds what became of an entry. One of the two is missing where it came or went.
func (c *comparison) entry(ctx context.Context, was, is Entry, prefix string) error {
	path := prefix + cmp.Or(was.Path, is.Path)
	var below [2]tree
	folder := false
	for i, e := range []Entry{was, is} {
		if e.Mode != 0 && e.Mode.Kind() == TreeKind {
			folder = true
			var err error
			if below[i], err = c.repo.tree(ctx, e); err != nil {
				return err
			}
		}
	}
	if folder {
		return c.compare(ctx, below[0], below[1], path+"/")
	}
	if c.files--; c.files < 0 {
		return errFull
	}
	c.found = append(c.found, FileDiff{
		OldPath: path, NewPath: path, OldMode: was.Mode, NewMode: is.Mode, OldID: was.ID, NewID: is.ID, Added: was.Mode == 0, Deleted: is.Mode == 0,
	})
	return nil
}
