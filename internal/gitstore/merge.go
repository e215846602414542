package gitstore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// StagePick builds a commit that repeats what one commit did, against its first parent, on top of another;
// ErrUnmergeable, ErrEmpty. An author or a message that the draft leaves out is that of the commit.
func (r *Repo) StagePick(ctx context.Context, pick, onto OID, d Draft) (Staged, error) {
	commits, err := r.Commits(ctx, []OID{pick, onto})
	if err != nil {
		return Staged{}, err
	}
	before, err := r.treeBefore(ctx, commits[0])
	if err != nil {
		return Staged{}, err
	}
	if d.Author == (Signature{}) {
		d.Author = commits[0].Author
	}
	if d.Message == "" {
		d.Message = commits[0].Message
	}
	return r.stageChange(ctx, before, commits[0].Tree, commits[1], d)
}

// StageRevert builds a commit that takes one back.
func (r *Repo) StageRevert(ctx context.Context, revert, onto OID, d Draft) (Staged, error) {
	commits, err := r.Commits(ctx, []OID{revert, onto})
	if err != nil {
		return Staged{}, err
	}
	before, err := r.treeBefore(ctx, commits[0])
	if err != nil {
		return Staged{}, err
	}
	return r.stageChange(ctx, commits[0].Tree, before, commits[1], d)
}

// treeBefore is the tree of the first parent.
func (r *Repo) treeBefore(ctx context.Context, c *Commit) (OID, error) {
	if len(c.Parents) == 0 {
		return EmptyTree, nil
	}
	parent, err := r.Commit(ctx, c.Parents[0])
	if err != nil {
		return "", err
	}
	return parent.Tree, nil
}

// stageChange commits, on top of onto, the change from one tree to another. Git merges commits and finds their base
// by itself, so three commits are made up whose base is what we want it to be; they do not outlive the merge.
func (r *Repo) stageChange(ctx context.Context, from, to OID, onto *Commit, d Draft) (Staged, error) {
	if from == to || to == onto.Tree {
		return Staged{}, ErrEmpty
	}
	q, err := r.newQuarantine()
	if err != nil {
		return Staged{}, err
	}
	tree := to
	if from != onto.Tree {
		tree, err = r.mergeChange(ctx, q, from, to, onto.Tree)
	}
	if err == nil && tree == onto.Tree {
		err = ErrEmpty
	}
	if err != nil {
		r.Discard(q)
		return Staged{}, err
	}
	if len(d.Parents) == 0 {
		d.Parents = []OID{onto.ID}
	}
	return r.stageMerged(ctx, q, tree, d)
}

func (r *Repo) mergeChange(ctx context.Context, q Quarantine, from, to, onto OID) (OID, error) {
	nobody := Signature{When: time.Unix(0, 0).UTC()}
	base, err := commitObject(from, nil, nobody, nobody, "base")
	if err != nil {
		return "", err
	}
	ours, err := commitObject(onto, []OID{base.id}, nobody, nobody, "ours")
	if err != nil {
		return "", err
	}
	theirs, err := commitObject(to, []OID{base.id}, nobody, nobody, "theirs")
	if err != nil {
		return "", err
	}
	made := []object{base, ours, theirs}
	if err := r.fill(ctx, q, made); err != nil {
		return "", err
	}
	tree, err := r.mergeTree(ctx, q, ours.id, theirs.id)
	if err != nil {
		return "", err
	}
	_, dir, err := r.place()
	for _, o := range made {
		if err == nil {
			err = os.Remove(filepath.Join(dir, "objects", q.dir, string(o.id[:2]), string(o.id[2:])))
		}
	}
	return tree, err
}

// mergeTree merges two commits into a tree.
func (r *Repo) mergeTree(ctx context.Context, q Quarantine, ours, theirs OID) (OID, error) {
	out, err := r.output(ctx, call{class: history, sub: "merge-tree", flags: []string{"--write-tree", "--no-messages", "--name-only"},
		args: []string{string(ours), string(theirs)}, quarantine: q}, 1<<20)
	var failure *commandError
	switch {
	case exitCode(err) == 1, errors.Is(err, ErrTooLarge): // a list of conflicts
		return "", ErrUnmergeable
	case errors.As(err, &failure) && strings.Contains(failure.text, "unrelated histories"):
		return "", ErrUnmergeable
	case err != nil:
		return "", err
	}
	tree := OID(bytes.TrimSpace(out))
	return tree, checkIDs([]OID{tree})
}

// StageMerge builds the merge of two commits; ErrUnmergeable.
func (r *Repo) StageMerge(ctx context.Context, ours, theirs OID, d Draft) (Staged, error) {
	if err := checkIDs([]OID{ours, theirs}); err != nil {
		return Staged{}, err
	}
	q, err := r.newQuarantine()
	if err != nil {
		return Staged{}, err
	}
	tree, err := r.mergeTree(ctx, q, ours, theirs)
	if err != nil {
		r.Discard(q)
		return Staged{}, err
	}
	if len(d.Parents) == 0 {
		d.Parents = []OID{ours, theirs}
	}
	return r.stageMerged(ctx, q, tree, d)
}

// stageMerged adds the commit of a tree to the quarantine that holds the tree.
func (r *Repo) stageMerged(ctx context.Context, q Quarantine, tree OID, d Draft) (Staged, error) {
	commit, err := commitObject(tree, d.Parents, d.Author, d.Committer, d.Message)
	if err == nil {
		err = r.fill(ctx, q, []object{commit})
	}
	if err != nil {
		r.Discard(q)
		return Staged{}, err
	}
	return Staged{ID: commit.id, Quarantine: q}, nil
}
