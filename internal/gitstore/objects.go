package gitstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/platform/memory"
)

// How large objects may be that are held in memory whole.
const (
	maxCommit  = 8 << 20
	maxTree    = 64 << 20
	inlineBlob = 1 << 20 // larger ones are streamed by a process of their own
)

// cacheSize is what parsed commits, tags and trees of all repositories may use, in bytes.
const cacheSize = 64 << 20

// cache keeps parsed objects: *Commit, *Tag and tree. An id always means the same content, so nothing is ever stale;
// the repository is part of the key, so that nobody reads an object of another one. Objects in a quarantine may be
// refused yet, and are not kept.
type cache = memory.Cache[any]

func newCache() *cache {
	return memory.New(cacheSize, func(_ memory.Key, value any) uint32 { return weigh(value) })
}

func weigh(value any) uint32 {
	const overhead = 200
	switch v := value.(type) {
	case *Commit:
		return overhead + uint32(len(v.Message)+len(v.Author.Name)+len(v.Committer.Name)+40*len(v.Parents)+300)
	case *Tag:
		return overhead + uint32(len(v.Message)+300)
	case tree:
		n := overhead
		for _, e := range v {
			n += 80 + len(e.Path)
		}
		return uint32(n)
	}
	return overhead
}

func (r *Repo) cacheKey() string { return r.key.Storage + "/" + r.key.Path }

func (r *Repo) cached(id OID) (any, bool) {
	return r.store.cache.Get(r.key.within(string(id)))
}

func (r *Repo) keep(id OID, value any) {
	if r.quarantine == (Quarantine{}) {
		r.store.cache.Set(r.key.within(string(id)), value)
	}
}

// tree is a parsed tree. The paths of its entries are their names.
type tree []Entry

// Stat says what an object is. Of a blob it is remembered, as long as it is wanted.
func (r *Repo) Stat(ctx context.Context, id OID) (o Object, err error) {
	if id == EmptyTree {
		return Object{ID: id, Kind: TreeKind}, nil
	}
	if size, known := r.store.blobs.Get(r.key.within(string(id))); known {
		return Object{ID: id, Kind: BlobKind, Size: size}, nil
	}
	err = r.batch(ctx, func(b *batch) error {
		if err := b.send("info", id); err != nil {
			return err
		}
		o, err = b.next(id)
		return err
	})
	if err == nil && o.Kind == BlobKind && r.quarantine == (Quarantine{}) {
		r.store.blobs.Set(r.key.within(string(id)), o.Size)
	}
	return o, err
}

// Blob reads a small blob; one larger than limit is ErrTooLarge.
func (r *Repo) Blob(ctx context.Context, id OID, limit int64) (text []byte, err error) {
	err = r.batch(ctx, func(b *batch) error {
		if err := b.send("contents", id); err != nil {
			return err
		}
		o, err := b.next(id)
		if err != nil {
			return err
		}
		text, err = b.content(o, limit)
		if err == nil && o.Kind != BlobKind {
			err = fmt.Errorf("%s is a %s: %w", id, o.Kind, ErrNotFound)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return text, nil
}

// OpenBlob reads a blob of any size as it comes. A large one is kept in a file for a while, so that no process waits for
// a reader who is slow.
func (r *Repo) OpenBlob(ctx context.Context, id OID) (size int64, body io.ReadCloser, err error) {
	o, err := r.Stat(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	if o.Kind != BlobKind {
		return 0, nil, fmt.Errorf("%s is a %s: %w", id, o.Kind, ErrNotFound)
	}
	if o.Size <= inlineBlob {
		text, err := r.Blob(ctx, id, inlineBlob)
		return o.Size, io.NopCloser(bytes.NewReader(text)), err
	}
	produce := func(ctx context.Context, w io.Writer) error {
		return r.run(ctx, call{class: blobs, sub: "cat-file", flags: []string{"blob"}, args: []string{string(id)}}, w)
	}
	if kept := r.store.archives; r.quarantine == (Quarantine{}) && o.Size <= kept.limit/packShare {
		body, err = kept.open(ctx, fileKey("blob", r.key.Storage, r.key.Path, string(id)), produce)
	} else {
		body, err = direct(ctx, produce, 0)
	}
	return o.Size, body, err
}

// Commit reads a commit.
func (r *Repo) Commit(ctx context.Context, id OID) (*Commit, error) {
	value, err := r.object(ctx, id)
	if err != nil {
		return nil, err
	}
	if c, ok := value.(*Commit); ok {
		return c, nil
	}
	return nil, fmt.Errorf("%s is no commit: %w", id, ErrNotFound)
}

// Commits reads several commits in one go, in the order asked for.
func (r *Repo) Commits(ctx context.Context, ids []OID) ([]*Commit, error) {
	values, err := r.objects(ctx, ids)
	if err != nil {
		return nil, err
	}
	commits := make([]*Commit, len(ids))
	for i, id := range ids {
		c, ok := values[i].(*Commit)
		if !ok {
			return nil, fmt.Errorf("%s is no commit: %w", id, ErrNotFound)
		}
		commits[i] = c
	}
	return commits, nil
}

// Tag reads an annotated tag.
func (r *Repo) Tag(ctx context.Context, id OID) (*Tag, error) {
	value, err := r.object(ctx, id)
	if err != nil {
		return nil, err
	}
	if t, ok := value.(*Tag); ok {
		return t, nil
	}
	return nil, fmt.Errorf("%s is no tag: %w", id, ErrNotFound)
}

// Find is the entry at a path of a commit (or tree); the path "" is the root itself.
func (r *Repo) Find(ctx context.Context, commit OID, path string) (Entry, error) {
	root, entries, err := r.root(ctx, commit)
	if err != nil || path == "" {
		return Entry{ID: root, Mode: DirMode}, err
	}
	found := Entry{ID: root, Mode: DirMode}
	for name := range strings.SplitSeq(path, "/") {
		if entries == nil {
			if entries, err = r.tree(ctx, found); err != nil {
				return Entry{}, err
			}
		}
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Path == name })
		if i < 0 {
			return Entry{}, fmt.Errorf("path %.100q: %w", path, ErrNotFound)
		}
		found, entries = entries[i], nil
	}
	found.Path = path
	return found, nil
}

// Tree lists a directory of a commit (or tree), in git's order. Trees are cached by object id.
func (r *Repo) Tree(ctx context.Context, commit OID, path string) ([]Entry, error) {
	if path == "" {
		_, entries, err := r.root(ctx, commit)
		return slices.Clone(entries), err
	}
	dir, err := r.Find(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	entries, err := r.tree(ctx, dir)
	if err != nil {
		return nil, err
	}
	return entries.below(path), nil
}

// below are the entries with the path of their directory in front.
func (t tree) below(dir string) []Entry {
	size := 0
	for _, e := range t {
		size += len(dir) + 1 + len(e.Path)
	}
	var paths strings.Builder // one string for all
	paths.Grow(size)
	for _, e := range t {
		paths.WriteString(dir)
		paths.WriteByte('/')
		paths.WriteString(e.Path)
	}
	all, out := paths.String(), make([]Entry, len(t))
	for i, e := range t {
		n := len(dir) + 1 + len(e.Path)
		out[i] = Entry{ID: e.ID, Mode: e.Mode, Path: all[:n]}
		all = all[n:]
	}
	return out
}

// root is the tree of a commit, of what a tag points to, or the tree itself.
func (r *Repo) root(ctx context.Context, id OID) (OID, tree, error) {
	for range maxPeel {
		value, err := r.object(ctx, id)
		if err != nil {
			return "", nil, err
		}
		switch v := value.(type) {
		case tree:
			return id, v, nil
		case *Commit:
			id = v.Tree
		case *Tag:
			id = v.Target
		}
	}
	return "", nil, fmt.Errorf("%s has no tree: %w", id, ErrNotFound)
}

// maxPeel is how many tags of tags are followed.
const maxPeel = 10

// tree reads the tree that an entry points to.
func (r *Repo) tree(ctx context.Context, e Entry) (tree, error) {
	if e.Mode.Kind() != TreeKind {
		return nil, fmt.Errorf("%.100q is no directory: %w", e.Path, ErrNotFound)
	}
	value, err := r.object(ctx, e.ID)
	if err != nil {
		return nil, lost(err)
	}
	t, ok := value.(tree)
	if !ok {
		return nil, fmt.Errorf("%s is no tree: %w", e.ID, ErrCorrupt)
	}
	return t, nil
}

// lost is the error about an object that another leads to: it was there, so it is not missing but lost.
func lost(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("an object is gone that another leads to (%v): %w", err, ErrCorrupt) //nolint:errorlint // it is no ErrNotFound any more
	}
	return err
}

// StatEntry says what a file of a commit is. One that is not there was lost.
func (r *Repo) StatEntry(ctx context.Context, e Entry) (Object, error) {
	o, err := r.Stat(ctx, e.ID)
	return o, lost(err)
}

// object reads and parses a commit, tag or tree.
func (r *Repo) object(ctx context.Context, id OID) (any, error) {
	if value, ok := r.cached(id); ok {
		return value, nil
	}
	values, err := r.objects(ctx, []OID{id})
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// objects reads and parses commits, tags and trees. What the cache lacks is asked for all at once.
func (r *Repo) objects(ctx context.Context, ids []OID) ([]any, error) {
	values := make([]any, len(ids))
	var wanted []int
	for i, id := range ids {
		if value, ok := r.cached(id); ok {
			values[i] = value
		} else if id == EmptyTree {
			values[i] = tree(nil)
		} else {
			wanted = append(wanted, i)
		}
	}
	for some := range slices.Chunk(wanted, maxBatch) {
		err := r.batch(ctx, func(b *batch) error {
			chunk := make([]OID, len(some))
			for i, at := range some {
				chunk[i] = ids[at]
			}
			if err := b.send("contents", chunk...); err != nil {
				return err
			}
			var first error
			for i, id := range chunk {
				value, err := b.parsed(id)
				if err == nil {
					values[some[i]] = value
					r.keep(id, value)
					continue
				}
				if first == nil {
					first = fmt.Errorf("%s: %w", id, err)
				}
				if b.broken {
					break // else the rest is read, so that the process can stay
				}
			}
			return first
		})
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// parsed reads the next answer.
func (b *batch) parsed(id OID) (any, error) {
	o, err := b.next(id)
	if err != nil {
		return nil, err
	}
	limit := int64(maxCommit)
	switch o.Kind {
	case TreeKind:
		limit = maxTree
	case BlobKind:
		limit = 0
	}
	text, err := b.content(o, limit)
	switch {
	case o.Kind == BlobKind:
		return nil, fmt.Errorf("a blob: %w", ErrNotFound)
	case err != nil:
		return nil, err
	}
	switch o.Kind {
	case TreeKind:
		return parseTree(text)
	case CommitKind:
		return parseCommit(id, text)
	}
	return parseTag(id, text)
}

// Walk lists everything below a path in git's order (trees before what is in them), at most limit entries after the
// path `after`. It reads little more than it gives.
func (r *Repo) Walk(ctx context.Context, commit OID, path, after string, limit int) (entries []Entry, more bool, err error) {
	top, err := r.Find(ctx, commit, path)
	if err != nil {
		return nil, false, err
	}
	w := walker{repo: r, limit: limit, ahead: map[OID]tree{}}
	prefix := ""
	if path != "" {
		prefix = path + "/"
		if after == path {
			after = ""
		}
		if after != "" && !strings.HasPrefix(after, prefix) {
			return nil, false, fmt.Errorf("%.100q is not below %.100q: %w", after, path, ErrInvalid)
		}
	}
	err = w.walk(ctx, top, prefix, strings.TrimPrefix(after, prefix))
	if errors.Is(err, errFull) {
		return w.found, true, nil
	}
	return w.found, false, err
}

var errFull = errors.New("the page is full")

type walker struct {
	repo  *Repo
	limit int
	found []Entry
	ahead map[OID]tree
}

// walk adds what is in a directory behind after, a path from there.
func (w *walker) walk(ctx context.Context, dir Entry, prefix, after string) error {
	entries, ok := w.ahead[dir.ID]
	if !ok {
		var err error
		if entries, err = w.repo.tree(ctx, dir); err != nil {
			return err
		}
	}
	delete(w.ahead, dir.ID)
	first, rest, deeper := strings.Cut(after, "/")
	if after != "" {
		// Behind "a/b" comes what is in a, from there on, and then what comes behind a.
		mode := FileMode
		if deeper {
			mode = DirMode
		}
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Path == first })
		if i < 0 {
			i = slices.IndexFunc(entries, func(e Entry) bool { return compareEntries(e, first, mode) > 0 })
		}
		if i < 0 {
			return nil
		}
		entries = entries[i:]
	}
	for i, e := range entries {
		inside := ""
		if after != "" && e.Path == first {
			inside = rest
		} else {
			if w.limit > 0 && len(w.found) == w.limit {
				return errFull
			}
			w.found = append(w.found, Entry{ID: e.ID, Mode: e.Mode, Path: prefix + e.Path})
		}
		if e.Mode.Kind() != TreeKind {
			continue
		}
		if _, ok := w.ahead[e.ID]; !ok {
			if err := w.readAhead(ctx, entries[i:]); err != nil {
				return err
			}
		}
		if err := w.walk(ctx, e, prefix+e.Path+"/", inside); err != nil {
			return err
		}
	}
	return nil
}

// readAhead reads the next directories in one go, no more than still fit.
func (w *walker) readAhead(ctx context.Context, entries []Entry) error {
	room := 32
	if w.limit > 0 {
		room = min(room, w.limit-len(w.found)+1)
	}
	var ids []OID
	for _, e := range entries {
		if room == 0 {
			break
		}
		room--
		if e.Mode.Kind() == TreeKind {
			ids = append(ids, e.ID)
		}
	}
	values, err := w.repo.objects(ctx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		t, ok := values[i].(tree)
		if !ok {
			return fmt.Errorf("%s is no tree: %w", id, ErrCorrupt)
		}
		w.ahead[id] = t
	}
	return nil
}

// compareEntries is git's order, where a directory's name ends in a slash.
func compareEntries(e Entry, name string, mode Mode) int {
	end := func(m Mode) string {
		if m.Kind() == TreeKind {
			return "/"
		}
		return ""
	}
	return strings.Compare(e.Path+end(e.Mode), name+end(mode))
}

// parseTree reads the entries of a tree.
func parseTree(text []byte) (tree, error) {
	const idSize = 20
	var (
		names strings.Builder // all in one string
		ids   = make([]byte, 0, len(text)*2)
		ends  []int
		modes []Mode
	)
	names.Grow(len(text))
	for rest := text; len(rest) > 0; {
		mode, tail, ok := bytes.Cut(rest, []byte{' '})
		m, err := parseMode(mode)
		if !ok || err != nil {
			return nil, fmt.Errorf("a tree with a wrong mode: %w", ErrCorrupt)
		}
		name, tail, ok := bytes.Cut(tail, []byte{0})
		if !ok || len(name) == 0 || len(tail) < idSize {
			return nil, fmt.Errorf("a tree that ends too soon: %w", ErrCorrupt)
		}
		names.Write(name)
		ends = append(ends, names.Len())
		modes = append(modes, m)
		ids = hex.AppendEncode(ids, tail[:idSize])
		rest = tail[idSize:]
	}
	t := make(tree, len(ends))
	allNames, allIDs, from := names.String(), string(ids), 0
	for i, to := range ends {
		t[i] = Entry{ID: OID(allIDs[40*i : 40*i+40]), Mode: modes[i], Path: allNames[from:to]}
		from = to
	}
	return t, nil
}

// parseMode reads a mode. Old tools wrote modes that git now shows as the ones it knows.
func parseMode(text []byte) (Mode, error) {
	if len(text) == 0 || len(text) > 7 {
		return 0, ErrCorrupt
	}
	var m Mode
	for _, c := range text {
		if c < '0' || c > '7' {
			return 0, ErrCorrupt
		}
		m = m<<3 | Mode(c-'0')
	}
	switch m &^ 0o7777 {
	case DirMode:
		return DirMode, nil
	case LinkMode:
		return LinkMode, nil
	case SubmodeMode:
		return SubmodeMode, nil
	}
	if m&0o100 != 0 {
		return ExecMode, nil
	}
	return FileMode, nil
}

// parseCommit reads a commit. Whatever git took is read, however odd; only ids must be ids.
func parseCommit(id OID, text []byte) (*Commit, error) {
	c := &Commit{ID: id}
	latin := false
	message, err := parseHeader(text, func(key, value string) error {
		switch key {
		case "tree":
			c.Tree = OID(value)
		case "parent":
			if !IsOID(value) {
				return ErrCorrupt
			}
			c.Parents = append(c.Parents, OID(value))
		case "author":
			c.Author = parseSignature(value)
		case "committer":
			c.Committer = parseSignature(value)
		case "encoding":
			latin = isLatin1(value)
		case "gpgsig", "gpgsig-sha256":
			c.Signed = true
		}
		return nil
	})
	if err != nil || !IsOID(string(c.Tree)) {
		return nil, fmt.Errorf("a commit without a tree, or with a wrong parent: %w", ErrCorrupt)
	}
	c.Message = readable(message, latin)
	for _, s := range []*Signature{&c.Author, &c.Committer} {
		s.Name, s.Email = readable(s.Name, latin), readable(s.Email, latin)
	}
	return c, nil
}

// parseTag reads an annotated tag.
func parseTag(id OID, text []byte) (*Tag, error) {
	t := &Tag{ID: id}
	message, err := parseHeader(text, func(key, value string) error {
		switch key {
		case "object":
			t.Target = OID(value)
		case "type":
			t.Kind = Kind(value)
		case "tag":
			t.Name = readable(value, false)
		case "tagger":
			t.Tagger = parseSignature(value)
			t.Tagger.Name, t.Tagger.Email = readable(t.Tagger.Name, false), readable(t.Tagger.Email, false)
		}
		return nil
	})
	if err != nil || !IsOID(string(t.Target)) {
		return nil, fmt.Errorf("a tag without an object: %w", ErrCorrupt)
	}
	t.Message = readable(message, false)
	return t, nil
}

// parseHeader reads the lines before the message. Lines that begin with a space continue the one before.
func parseHeader(text []byte, each func(key, value string) error) (message string, err error) {
	rest := string(text)
	for rest != "" {
		line, tail, _ := strings.Cut(rest, "\n")
		rest = tail
		if line == "" {
			return rest, nil
		}
		if line[0] == ' ' {
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		if err := each(key, value); err != nil {
			return "", err
		}
	}
	return "", nil
}

// parseSignature reads "Name <address> seconds zone". A date that no calendar has is that of the epoch.
func parseSignature(text string) Signature {
	var s Signature
	name, rest, ok := strings.Cut(text, "<")
	s.Name = strings.TrimSpace(name)
	s.When = time.Unix(0, 0).UTC()
	if !ok {
		return s
	}
	s.Email, _, _ = strings.Cut(rest, ">")
	s.Email = strings.TrimSpace(s.Email)
	end := strings.LastIndexByte(rest, '>')
	if end < 0 {
		return s
	}
	fields := strings.Fields(rest[end+1:])
	if len(fields) == 0 {
		return s
	}
	const lastSecond = 253402214400 // some hours before the year 10000, anywhere
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || seconds < 0 || seconds > lastSecond {
		return s
	}
	s.When = time.Unix(seconds, 0).UTC()
	if len(fields) > 1 {
		s.When = s.When.In(parseZone(fields[1]))
	}
	return s
}

// parseZone reads "+hhmm"; what is not one is UTC.
func parseZone(text string) *time.Location {
	if len(text) != 5 || text[0] != '+' && text[0] != '-' {
		return time.UTC
	}
	n, err := strconv.ParseUint(text[1:], 10, 32)
	if err != nil || n/100 > 14 || n%100 > 59 {
		return time.UTC
	}
	offset := int(n/100*3600 + n%100*60)
	if text[0] == '-' {
		offset = -offset
	}
	if offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", offset)
}

func isLatin1(encoding string) bool {
	switch strings.ToLower(encoding) {
	case "iso-8859-1", "iso8859-1", "latin1", "latin-1":
		return true
	}
	return false
}

// readable is text as UTF-8 without the one character that no database takes.
func readable(text string, latin bool) string {
	if latin {
		runes := make([]rune, len(text))
		for i := range len(text) {
			runes[i] = rune(text[i])
		}
		text = string(runes)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
