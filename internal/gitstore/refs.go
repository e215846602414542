package gitstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stithy/internal/platform/sorting"
)

// RefQuery says which refs are wanted.
type RefQuery struct {
	Prefix string            // "refs/heads/"
	Match  func(string) bool // on the name below the prefix; nil takes all
	After  string            // full name after which the page begins, by name
	Limit  int               // 0 is all
}

// Refs lists refs by name. more says that the limit cut the list.
func (r *Repo) Refs(ctx context.Context, q RefQuery) (refs []Ref, more bool, err error) {
	if q.Prefix == "" {
		q.Prefix = "refs/"
	}
	if !wellFormedRef(q.Prefix + "x") {
		return nil, false, fmt.Errorf("ref prefix %.100q: %w", q.Prefix, ErrInvalid)
	}
	// Loose refs first: what is packed meanwhile is in both, and never in neither.
	loose, err := r.looseRefs(ctx, q.Prefix)
	if err != nil {
		return nil, false, err
	}
	packed, err := r.packedRefs(ctx)
	if err != nil {
		return nil, false, err
	}
	from, _ := slices.BinarySearchFunc(packed, max(q.Prefix, q.After), func(r Ref, name string) int { return cmp.Compare(r.Name, name) })
	packed = packed[from:]
	for len(loose) > 0 || len(packed) > 0 {
		var next Ref
		switch {
		case len(packed) == 0 || len(loose) > 0 && loose[0].Name < packed[0].Name:
			next, loose = loose[0], loose[1:]
		case len(loose) > 0 && loose[0].Name == packed[0].Name:
			next, loose, packed = loose[0], loose[1:], packed[1:]
		default:
			next, packed = packed[0], packed[1:]
		}
		short, below := strings.CutPrefix(next.Name, q.Prefix)
		if !below {
			break // only packed ones go further than the prefix, and loose ones are done by then
		}
		if next.Name <= q.After || q.Match != nil && !q.Match(short) {
			continue
		}
		if q.Limit > 0 && len(refs) == q.Limit {
			more = true
			break
		}
		refs = append(refs, next)
	}
	return refs, more, r.peel(ctx, refs)
}

// Ref reads one ref by its full name.
func (r *Repo) Ref(ctx context.Context, name string) (Ref, error) {
	if !wellFormedRef(name) {
		return Ref{}, fmt.Errorf("ref name %.100q: %w", name, ErrInvalid)
	}
	ref, err := r.unpeeled(ctx, name)
	if err != nil {
		return Ref{}, err
	}
	refs := []Ref{ref}
	err = r.peel(ctx, refs)
	return refs[0], err
}

// unpeeled reads one ref without asking what it points to.
func (r *Repo) unpeeled(ctx context.Context, name string) (Ref, error) {
	_, dir, err := r.place()
	if err != nil {
		return Ref{}, err
	}
	ref, err := readLoose(dir, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return ref, err
	}
	packed, err := r.packedRefs(ctx)
	if err != nil {
		return Ref{}, err
	}
	i, found := slices.BinarySearchFunc(packed, name, func(r Ref, name string) int { return cmp.Compare(r.Name, name) })
	if found {
		return packed[i], nil
	}
	return Ref{}, fmt.Errorf("ref %.100q: %w", name, ErrNotFound)
}

// readLoose reads the file of a ref. Symbolic ones are followed a few steps.
func readLoose(dir, name string) (Ref, error) {
	const maxSteps = 5
	at := name
	for range maxSteps {
		text, err := readSmall(filepath.Join(dir, at))
		if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) {
			err = fs.ErrNotExist
		}
		if err != nil {
			return Ref{}, err
		}
		target, symbolic := strings.CutPrefix(text, "ref: ")
		if !symbolic {
			if !IsOID(text) {
				return Ref{}, fmt.Errorf("ref %.100q holds no id: %w", name, ErrCorrupt)
			}
			return Ref{Name: name, Target: OID(text)}, nil
		}
		if at = target; !wellFormedRef(at) {
			break
		}
	}
	return Ref{}, fmt.Errorf("ref %.100q leads nowhere: %w", name, ErrCorrupt)
}

// readSmall reads the one line of a file and follows no link to it.
func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [maxRefName + 16]byte
	n, err := f.Read(b[:])
	if err != nil && n == 0 && !errors.Is(err, syscall.EISDIR) {
		return "", nil // an empty file holds nothing
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b[:n]), "\n"), nil
}

// looseRefs reads the refs below a prefix that have files of their own, by name. What a crash left half-written is
// left out, as git does.
func (r *Repo) looseRefs(ctx context.Context, prefix string) ([]Ref, error) {
	_, dir, err := r.place()
	if err != nil {
		return nil, err
	}
	var refs []Ref
	top := prefix[:strings.LastIndexByte(prefix, '/')]
	err = filepath.WalkDir(filepath.Join(dir, top), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since its directory was read, or never there
		}
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path[len(dir)+1:])
		if d.IsDir() || !strings.HasPrefix(name, prefix) || !wellFormedRef(name) {
			return nil
		}
		ref, err := readLoose(dir, name)
		if err == nil {
			refs = append(refs, ref)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
			return err
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("reading refs: %w: %w", ErrUnavailable, err)
	}
	sorting.By(refs, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	return refs, nil
}

// packs keeps the parsed packed-refs of repositories that were read lately.
type packs struct {
	mu    sync.Mutex
	files map[string]packedFile
}

// packedFile is packed-refs as it was when it had this stamp. Git never changes the file, it replaces it.
type packedFile struct {
	stamp stamp
	refs  []Ref
	size  int64
}

type stamp struct {
	inode    uint64
	size     int64
	modified time.Time
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = stat.Ino
	}
	return s
}

const (
	maxPackedRefs  = 1 << 30
	keptPackedRefs = 256 << 20 // bytes of all files that are kept
	// A file that is younger than this may be replaced by one with the same stamp.
	freshFile = 100 * time.Millisecond
)

// packedRefs are the refs in the one large file, by name.
func (r *Repo) packedRefs(ctx context.Context) ([]Ref, error) {
	_, dir, err := r.place()
	if err != nil {
		return nil, err
	}
	path, key := filepath.Join(dir, "packed-refs"), r.cacheKey()
	info, err := os.Stat(path)
	if err == nil {
		if refs, ok := r.store.packs.find(key, stampOf(info)); ok {
			return refs, nil
		}
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		if err = r.missing(ctx, err); errors.Is(err, ErrNotFound) {
			return nil, nil // nothing is packed yet
		}
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // it may be another file by now
		return nil, fmt.Errorf("reading packed refs: %w: %w", ErrUnavailable, err)
	}
	now := stampOf(info)
	if now.size > maxPackedRefs {
		return nil, fmt.Errorf("packed refs of %d bytes: %w", now.size, ErrTooLarge)
	}
	text := make([]byte, now.size)
	if _, err := f.ReadAt(text, 0); err != nil && now.size > 0 {
		return nil, fmt.Errorf("reading packed refs: %w: %w", ErrUnavailable, err)
	}
	refs, err := parsePackedRefs(string(text))
	if err != nil {
		return nil, err
	}
	if time.Since(now.modified) > freshFile {
		r.store.packs.keep(key, packedFile{stamp: now, refs: refs, size: now.size})
	}
	return refs, nil
}

func (p *packs) find(key string, now stamp) ([]Ref, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, ok := p.files[key]
	return file.refs, ok && file.stamp.inode == now.inode && file.stamp.size == now.size && file.stamp.modified.Equal(now.modified)
}

// keep remembers a file, and forgets others, any of them, when it gets too much.
func (p *packs) keep(key string, file packedFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		p.files = map[string]packedFile{}
	}
	p.files[key] = file
	total := int64(0)
	for _, f := range p.files {
		total += 2 * f.size // the text, and as much again for the list
	}
	for other, f := range p.files {
		if total <= keptPackedRefs {
			return
		}
		total -= 2 * f.size
		delete(p.files, other)
	}
}

func (p *packs) drop(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.files, key)
}

// parsePackedRefs reads the file that pack-refs writes. The refs are parts of the text.
func parsePackedRefs(text string) ([]Ref, error) {
	const idSize = 40
	refs := make([]Ref, 0, len(text)/70)
	peeled, sorted := false, true
	for rest := text; rest != ""; {
		line, tail, ended := strings.Cut(rest, "\n")
		rest = tail
		switch {
		case !ended:
			return nil, fmt.Errorf("packed refs end too soon: %w", ErrCorrupt)
		case line != "" && line[0] == '#':
			peeled = peeled || strings.Contains(line, " fully-peeled ")
		case line != "" && line[0] == '^':
			if len(refs) == 0 || !IsOID(line[1:]) {
				return nil, fmt.Errorf("packed refs with a wrong line: %w", ErrCorrupt)
			}
			refs[len(refs)-1].Peeled = OID(line[1:])
		case len(line) > idSize+1 && line[idSize] == ' ' && IsOID(line[:idSize]):
			ref := Ref{Name: line[idSize+1:], Target: OID(line[:idSize])}
			if peeled {
				ref.Peeled = ref.Target
			}
			if n := len(refs); n > 0 && refs[n-1].Name >= ref.Name {
				sorted = false
			}
			refs = append(refs, ref)
		default:
			return nil, fmt.Errorf("packed refs with a wrong line: %w", ErrCorrupt)
		}
	}
	if !sorted {
		sorting.Stably(refs, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	}
	return refs, nil
}

// peel finds what is behind tags. A ref whose object is missing points at nothing else than itself.
func (r *Repo) peel(ctx context.Context, refs []Ref) error {
	var unknown []int
	for i, ref := range refs {
		switch {
		case ref.Peeled != "":
		case strings.HasPrefix(ref.Name, Branches):
			refs[i].Peeled = ref.Target // git lets a branch point at a commit only
		default:
			refs[i].Peeled = ref.Target
			if _, ok := r.cached(ref.Target); !ok {
				unknown = append(unknown, i)
			} else if peeled, err := r.peeled(ctx, ref.Target); err == nil {
				refs[i].Peeled = peeled
			}
		}
	}
	for some := range slices.Chunk(unknown, maxBatch) {
		var tags []int
		err := r.batch(ctx, func(b *batch) error {
			ids := make([]OID, len(some))
			for i, at := range some {
				ids[i] = refs[at].Target
			}
			if err := b.send("info", ids...); err != nil {
				return err
			}
			tags = tags[:0]
			for i, id := range ids {
				o, err := b.next(id)
				if b.broken {
					return err
				}
				if o.Kind == TagKind {
					tags = append(tags, some[i])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, at := range tags {
			if peeled, err := r.peeled(ctx, refs[at].Target); err == nil {
				refs[at].Peeled = peeled
			}
		}
	}
	return nil
}

// peeled follows tags to what they tag.
func (r *Repo) peeled(ctx context.Context, id OID) (OID, error) {
	for range maxPeel {
		value, err := r.object(ctx, id)
		if err != nil {
			return "", err
		}
		tag, ok := value.(*Tag)
		if !ok {
			return id, nil
		}
		if id = tag.Target; tag.Kind != TagKind {
			return id, nil
		}
	}
	return "", fmt.Errorf("tags of tags of tags: %w", ErrNotFound)
}

// Head is the branch that HEAD names, whether it exists or not.
func (r *Repo) Head(ctx context.Context) (string, error) {
	_, dir, err := r.place()
	if err != nil {
		return "", err
	}
	text, err := readSmall(filepath.Join(dir, "HEAD"))
	if err != nil {
		return "", r.missing(ctx, err)
	}
	name, _ := strings.CutPrefix(text, "ref: ")
	branch := below(name, Branches)
	if branch == "" {
		return "", fmt.Errorf("HEAD names no branch: %w", ErrCorrupt)
	}
	return branch, nil
}

// SetHead makes HEAD name a branch.
func (r *Repo) SetHead(ctx context.Context, branch string) error {
	if err := CheckRefName(Branches + branch); err != nil {
		return err
	}
	_, dir, err := r.writable()
	if err != nil {
		return err
	}
	now, err := r.Head(ctx)
	if err != nil || now == branch {
		return err
	}
	err = r.writeHead(dir, branch)
	if errors.Is(err, ErrConflict) { // by somebody, or by what a crash left
		if swept, _ := r.sweepLocks(); swept {
			err = r.writeHead(dir, branch)
		}
	}
	return err
}

func (r *Repo) writeHead(dir, branch string) error {
	writing, err := r.hold()
	if err != nil {
		return err
	}
	defer writing.Close()
	head := filepath.Join(dir, "HEAD")
	if err := writeSynced(head+".lock", []byte("ref: "+Branches+branch+"\n")); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("HEAD is being changed: %w", ErrConflict)
		}
		return fmt.Errorf("setting HEAD: %w: %w", ErrUnavailable, err)
	}
	if err := os.Rename(head+".lock", head); err != nil {
		return fmt.Errorf("setting HEAD: %w: %w", ErrUnavailable, err)
	}
	return syncDir(dir)
}

// Resolve finds the commit that a person means: an object id, HEAD, a tag, a branch, a full ref name, an unambiguous
// beginning of an id (4 digits or more), each with ~n and ^n behind it. A tag wins over a branch of its name.
func (r *Repo) Resolve(ctx context.Context, revision string) (OID, error) {
	if err := CheckRevision(revision); err != nil {
		return "", err
	}
	base, steps := revision, ""
	if i := strings.IndexAny(revision, "~^"); i >= 0 {
		base, steps = revision[:i], revision[i:]
	}
	id, err := r.named(ctx, base)
	if err != nil {
		return "", err
	}
	if id, err = r.peeled(ctx, id); err != nil {
		return "", err
	}
	for steps != "" {
		if id, steps, err = r.step(ctx, id, steps); err != nil {
			return "", err
		}
	}
	if _, err := r.Commit(ctx, id); err != nil {
		return "", err
	}
	return id, nil
}

// readableBelow are the refs that people may name in full.
var readableBelow = []string{Branches, Tags, "refs/merge-requests/"}

// named finds the object that a name without steps stands for.
func (r *Repo) named(ctx context.Context, name string) (OID, error) {
	lower := strings.ToLower(name)
	var candidates []string
	switch {
	case IsOID(lower):
		return OID(lower), nil
	case name == "HEAD" || name == "@":
		branch, err := r.Head(ctx)
		if err != nil {
			return "", err
		}
		candidates = []string{Branches + branch}
	case strings.HasPrefix(name, "refs/"):
		if slices.ContainsFunc(readableBelow, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			candidates = []string{name}
		}
	default:
		candidates = []string{Tags + name, Branches + name}
		if strings.HasPrefix(name, "heads/") || strings.HasPrefix(name, "tags/") {
			candidates = append(candidates, "refs/"+name)
		}
	}
	for _, full := range candidates {
		if !wellFormedRef(full) {
			continue
		}
		ref, err := r.unpeeled(ctx, full)
		if err == nil {
			return ref.Target, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return "", err
		}
	}
	if len(name) >= 4 && len(name) < 40 && strings.Trim(lower, "0123456789abcdef") == "" {
		return r.abbreviated(ctx, lower)
	}
	return "", fmt.Errorf("revision %.100q: %w", name, ErrNotFound)
}

// abbreviated finds the commit whose id begins with some digits.
func (r *Repo) abbreviated(ctx context.Context, digits string) (id OID, err error) {
	err = r.batch(ctx, func(b *batch) error {
		if err := b.write(bytes.NewBufferString("info "+digits+"^{commit}\n"), 1); err != nil {
			return err
		}
		o, err := b.next("")
		id = o.ID
		return err
	})
	return id, err
}

// maxStep bounds how far one goes back.
const maxStep = 100_000

// step goes back as the first of the steps says.
func (r *Repo) step(ctx context.Context, id OID, steps string) (OID, string, error) {
	kind, rest := steps[0], steps[1:]
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n := 1
	if end > 0 {
		var err error
		if n, err = strconv.Atoi(rest[:end]); err != nil || n > maxStep {
			return "", "", fmt.Errorf("step %.20q: %w", steps, ErrInvalid)
		}
	}
	rest = rest[end:]
	if rest != "" && rest[0] != '~' && rest[0] != '^' {
		return "", "", fmt.Errorf("step %.20q: %w", steps, ErrInvalid)
	}
	if kind == '^' {
		c, err := r.Commit(ctx, id)
		if err != nil || n == 0 {
			return id, rest, err
		}
		if n > len(c.Parents) {
			return "", "", fmt.Errorf("parent %d of %s: %w", n, id, ErrNotFound)
		}
		return c.Parents[n-1], rest, nil
	}
	const near = 30
	if n > near {
		out, err := r.output(ctx, call{class: history, sub: "rev-list",
			flags: []string{"--first-parent", "--max-count=1", "--skip=" + strconv.Itoa(n)}, args: []string{string(id)}}, 100)
		found := OID(bytes.TrimSpace(out))
		if err == nil && found == "" {
			err = fmt.Errorf("ancestor %d of %s: %w", n, id, ErrNotFound)
		}
		return found, rest, err
	}
	for range n {
		c, err := r.Commit(ctx, id)
		if err != nil {
			return "", "", err
		}
		if len(c.Parents) == 0 {
			return "", "", fmt.Errorf("ancestor %d of %s: %w", n, id, ErrNotFound)
		}
		id = c.Parents[0]
	}
	return id, rest, nil
}

// UpdateRefs moves all refs or none; ErrConflict when one is not what it should be.
func (r *Repo) UpdateRefs(ctx context.Context, updates []RefUpdate) error {
	if len(updates) == 0 {
		return nil
	}
	var in bytes.Buffer
	in.WriteString("start\x00")
	for _, u := range updates {
		if err := u.check(); err != nil {
			return err
		}
		switch {
		case u.New == u.Old:
			fmt.Fprintf(&in, "verify %s\x00%s\x00", u.Name, u.Old)
		case u.New == Zero:
			fmt.Fprintf(&in, "delete %s\x00%s\x00", u.Name, u.Old)
		case u.Old == Zero:
			fmt.Fprintf(&in, "create %s\x00%s\x00", u.Name, u.New)
		default:
			fmt.Fprintf(&in, "update %s\x00%s\x00%s\x00", u.Name, u.New, u.Old)
		}
	}
	in.WriteString("prepare\x00commit\x00")
	update := func() error {
		if _, _, err := r.writable(); err != nil {
			return err
		}
		return r.run(ctx, call{sub: "update-ref", flags: []string{"--stdin", "-z", "--no-deref"}, stdin: bytes.NewReader(in.Bytes())}, nil)
	}
	err := update()
	if errors.Is(err, errLocked) {
		if swept, _ := r.sweepLocks(); swept {
			err = update()
		}
	}
	return err
}

func (u RefUpdate) check() error {
	if !IsOID(string(u.Old)) || !IsOID(string(u.New)) {
		return fmt.Errorf("ref %.100q: from %.50q to %.50q: %w", u.Name, u.Old, u.New, ErrInvalid)
	}
	if u.New == Zero { // names that could not be made may be removed
		if !wellFormedRef(u.Name) {
			return fmt.Errorf("ref name %.100q: %w", u.Name, ErrInvalid)
		}
		return nil
	}
	return CheckRefName(u.Name)
}

// writersFile is locked, shared, by every process that may hold one of git's lock files. Who gets it for itself knows
// that such files are leftovers of a crash.
const writersFile = "writers"

// hold takes the shared lock. It ends when the file is closed by everyone who inherited it.
func (r *Repo) hold() (*os.File, error) {
	_, dir, err := r.writable()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, writersFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoRepo
		}
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := flock(f, syscall.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, err), f.Close())
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Unlock removes lock files that a crash left behind. It does nothing while a process lives that may hold one.
func (r *Repo) Unlock(_ context.Context) error {
	_, err := r.sweepLocks()
	return err
}

// sweepLocksOf removes what a crash left behind, if something of it stands in the way of these updates: receive-pack would refuse them
// until somebody else's push leads to maintenance.
func (r *Repo) sweepLocksOf(updates []RefUpdate) {
	_, dir, err := r.place()
	if err != nil {
		return
	}
	names := []string{"packed-refs", "HEAD"}
	for _, u := range updates {
		names = append(names, u.Name)
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name) + ".lock"); err == nil {
			_, _ = r.sweepLocks()
			return
		}
	}
}

// sweepLocks reports whether it removed something.
func (r *Repo) sweepLocks() (swept bool, err error) {
	f, err := r.hold()
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil //nolint:nilerr // somebody writes
	}
	_, dir, err := r.place()
	if err != nil {
		return false, err
	}
	remove := func(path string) error {
		err := os.Remove(path)
		swept = swept || err == nil
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	for _, name := range []string{"HEAD.lock", "packed-refs.lock", "packed-refs.new", "config.lock"} {
		if err := remove(filepath.Join(dir, name)); err != nil {
			return swept, err
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			err = remove(path)
		}
		return err
	})
	return swept, err
}
