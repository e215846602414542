package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LogQuery says which commits are wanted.
type LogQuery struct {
	From        []OID // reachable from these
	Not         []OID // and not from these
	All         bool  // from every branch and tag
	Path        string
	Author      string // part of "Name <address>"
	Since       time.Time
	Until       time.Time
	FirstParent bool
	Topological bool
	NoMerges    bool
	Oldest      bool // turns the page around: it still is one of the newest commits
	Skip        int
	Limit       int // 0 is all that the cap allows
}

const (
	maxLog     = 50_000 // commits of one answer
	nearTheTip = 100    // up to here a walk is cheaper than a process
)

// text is the query in words.
func (q LogQuery) text() string {
	return fmt.Sprintf("%q %q %q %q %d %d %t %t %t %t %d %d", q.From, q.Not, q.Path, q.Author, q.Since.Unix(), q.Until.Unix(),
		q.FirstParent, q.Topological, q.NoMerges, q.Oldest, q.Skip, q.Limit)
}

// plain reports whether a walk near the tip answers.
func (q LogQuery) plain() bool {
	filtered := len(q.Not) > 0 || q.All || q.Path != "" || q.Author != "" || !q.Since.IsZero() || !q.Until.IsZero()
	return !filtered && !q.Topological && !q.NoMerges && q.Limit > 0 && q.Skip+q.Limit <= nearTheTip
}

// logPage is a part of history.
type logPage struct {
	commits []*Commit
	more    bool
}

func (p logPage) bytes() int {
	n := 0
	for _, c := range p.commits {
		n += 600 + len(c.Message)
	}
	return n
}

// Log lists commits, newest first. more says that there are others behind the page. A plain page near the tip starts
// no process. Commits belong to everyone who has asked: they are not to be changed.
func (r *Repo) Log(ctx context.Context, q LogQuery) (commits []*Commit, more bool, err error) {
	if q.Limit <= 0 || q.Limit > maxLog {
		q.Limit = maxLog
	}
	if q.All { // branches move
		page, err := r.log(ctx, q)
		return page.commits, page.more, err
	}
	page, err := remember(r, r.store.logs, q.text(), func() (logPage, error) { return r.log(ctx, q) })
	return slices.Clone(page.commits), page.more, err
}

func (r *Repo) log(ctx context.Context, q LogQuery) (page logPage, err error) {
	if q.plain() {
		page.commits, page.more, err = r.logNear(ctx, q)
	} else {
		var ids []OID
		if ids, page.more, err = r.logFar(ctx, q); err == nil {
			page.commits, err = r.Commits(ctx, ids)
		}
	}
	if q.Oldest {
		slices.Reverse(page.commits)
	}
	return page, err
}

// LogIDs lists the ids of commits, as Log does, for who reads one commit at a time: a page of them may hold more than fits into memory.
func (r *Repo) LogIDs(ctx context.Context, q LogQuery) (ids []OID, more bool, err error) {
	if q.Limit <= 0 || q.Limit > maxLog {
		q.Limit = maxLog
	}
	ids, more, err = r.logFar(ctx, q)
	if q.Oldest {
		slices.Reverse(ids)
	}
	return ids, more, err
}

func (r *Repo) logNear(ctx context.Context, q LogQuery) ([]*Commit, bool, error) {
	w := newWalk(r.Commits, q.From, q.FirstParent)
	var page []*Commit
	for n := range q.Skip + q.Limit {
		c, err := w.step(ctx)
		if err != nil {
			return nil, false, err
		}
		if c == nil {
			return page, false, nil
		}
		if n >= q.Skip {
			page = append(page, c)
		}
	}
	return page, len(w.next)+len(w.queue) > 0, nil
}

func (r *Repo) logFar(ctx context.Context, q LogQuery) ([]OID, bool, error) {
	c, err := q.call()
	if err != nil || len(c.args) == 0 && !q.All {
		return nil, false, err
	}
	c.flags = append(c.flags, "--max-count="+strconv.Itoa(q.Limit+1))
	if q.Skip > 0 {
		c.flags = append(c.flags, "--skip="+strconv.Itoa(q.Skip))
	}
	out, err := r.output(ctx, c, maxLog*42)
	if err != nil {
		return nil, false, err
	}
	ids := make([]OID, 0, len(out)/41)
	for line := range bytes.Lines(out) {
		ids = append(ids, OID(bytes.TrimSuffix(line, []byte("\n"))))
	}
	if len(ids) > q.Limit {
		return ids[:q.Limit], true, nil
	}
	return ids, false, nil
}

// call is the query as a command.
func (q LogQuery) call() (call, error) {
	c := call{class: history, sub: "rev-list"}
	for _, id := range q.From {
		c.args = append(c.args, string(id))
	}
	for _, id := range q.Not {
		c.args = append(c.args, "^"+string(id))
	}
	if err := checkIDs(q.From, q.Not); err != nil {
		return c, err
	}
	flag := func(wanted bool, text string) {
		if wanted {
			c.flags = append(c.flags, text)
		}
	}
	flag(q.All, "--branches")
	flag(q.All, "--tags")
	flag(q.FirstParent, "--first-parent")
	flag(q.Topological, "--topo-order")
	flag(q.NoMerges, "--no-merges")
	flag(q.Author != "", "--fixed-strings")
	flag(q.Author != "", "--author="+q.Author)
	flag(!q.Since.IsZero(), "--max-age="+strconv.FormatInt(max(q.Since.Unix(), 0), 10))
	flag(!q.Until.IsZero(), "--min-age="+strconv.FormatInt(max(q.Until.Unix(), 0), 10))
	if q.Path != "" {
		c.paths = []string{q.Path}
	}
	return c, nil
}

func checkIDs(lists ...[]OID) error {
	for _, ids := range lists {
		for _, id := range ids {
			if !IsOID(string(id)) {
				return fmt.Errorf("%w: %.60q is no object id", ErrInvalid, id)
			}
		}
	}
	return nil
}

// Count counts commits, up to most.
func (r *Repo) Count(ctx context.Context, q LogQuery, most int) (int, error) {
	c, err := q.call()
	if err != nil || len(c.args) == 0 && !q.All {
		return 0, err
	}
	c.flags = append(c.flags, "--count", "--max-count="+strconv.Itoa(most))
	count := func() (string, error) {
		out, err := r.output(ctx, c, 100)
		return string(bytes.TrimSpace(out)), err
	}
	var text string
	if q.All { // branches move
		text, err = count()
	} else {
		text, err = r.ask(c, count)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// MergeBase is the best common ancestor of all, ErrNotFound when there is none.
func (r *Repo) MergeBase(ctx context.Context, ids ...OID) (OID, error) {
	if err := checkIDs(ids); err != nil {
		return "", err
	}
	c := call{class: history, sub: "merge-base"}
	if len(ids) > 2 {
		// Without it git answers for the first and a merge of the others, which need not be an ancestor of all.
		c.flags = []string{"--octopus"}
	}
	for _, id := range ids {
		c.args = append(c.args, string(id))
	}
	base, err := r.ask(c, func() (string, error) {
		out, err := r.output(ctx, c, 4<<10)
		if exitCode(err) == 1 {
			return "", nil
		}
		base, _, _ := strings.Cut(string(out), "\n")
		return base, err
	})
	if err == nil && base == "" {
		err = ErrNotFound
	}
	return OID(base), err
}

// ask remembers what a command about objects says.
func (r *Repo) ask(c call, run func() (string, error)) (string, error) {
	return remember(r, r.store.known, fmt.Sprintf("%s %q %q %q", c.sub, c.flags, c.args, c.paths), run)
}

// IsAncestor reports whether everything in older is in newer.
func (r *Repo) IsAncestor(ctx context.Context, older, newer OID) (bool, error) {
	if err := checkIDs([]OID{older, newer}); err != nil || older == newer {
		return err == nil, err
	}
	c := call{class: history, sub: "merge-base", flags: []string{"--is-ancestor"}, args: []string{string(older), string(newer)}}
	answer, err := r.ask(c, func() (string, error) {
		err := r.run(ctx, c, io.Discard)
		if exitCode(err) == 1 {
			return "no", nil
		}
		return "yes", err
	})
	return err == nil && answer == "yes", err
}

// RefsWith lists the refs below a prefix that contain a commit, by name.
func (r *Repo) RefsWith(ctx context.Context, commit OID, prefix string, limit int) ([]Ref, error) {
	if err := checkIDs([]OID{commit}); err != nil {
		return nil, err
	}
	out, err := r.output(ctx, call{class: history, sub: "for-each-ref", flags: []string{
		"--contains=" + string(commit), "--count=" + strconv.Itoa(limit),
		"--format=%(objectname) %(*objectname) %(refname)",
	}, args: []string{prefix}}, 16<<20)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range bytes.Lines(out) {
		target, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		peeled, name, _ := strings.Cut(rest, " ")
		if peeled == "" {
			peeled = target
		}
		refs = append(refs, Ref{Name: name, Target: OID(target), Peeled: OID(peeled)})
	}
	return refs, nil
}

// LastCommits finds, for each path, the newest commit that touched it. A path that never was is left out.
func (r *Repo) LastCommits(ctx context.Context, commit OID, paths []string) (map[string]OID, error) {
	if err := checkIDs([]OID{commit}); err != nil {
		return nil, err
	}
	last := map[string]OID{}
	for _, path := range paths {
		// One command for all would follow other parents than one for each: history is simplified by all of its
		// paths at once. Filters of changed paths in the commit-graph make each of them quick.
		c := call{class: history, sub: "rev-list", flags: []string{"--max-count=1"}, args: []string{string(commit)}, paths: []string{path}}
		id, err := r.ask(c, func() (string, error) {
			out, err := r.output(ctx, c, 100)
			return string(bytes.TrimSpace(out)), err
		})
		if err != nil {
			return nil, err
		}
		if id != "" {
			last[path] = OID(id)
		}
	}
	return last, nil
}
