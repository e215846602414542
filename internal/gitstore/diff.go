package gitstore

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// FileDiff is what happened to one file. A file that became a link, or the other way round, is two of them: one went,
// one came.
type FileDiff struct {
	OldPath, NewPath        string
	OldMode, NewMode        Mode // 0 where there was or is no file
	OldID, NewID            OID
	Added, Renamed, Deleted bool
	Binary                  bool
	TooLarge                bool   // Patch was left out
	Patch                   string // begins at "@@", or at "Binary files …"
	Additions, Deletions    int    // not known of a file that a limit cut
}

// DiffLimits bound a diff. Zero values have the defaults of the API.
type DiffLimits struct {
	Files     int   // 1000; more are left out
	Lines     int   // 50000, of all patches; the rest of the files have none
	FileBytes int64 // 200 KiB of one patch; it is left out
	Bytes     int64 // 64 MiB, of all that git writes, shown or not; the rest of the files have no patch
}

func (l DiffLimits) orDefaults() DiffLimits {
	return DiffLimits{
		Files:     cmp.Or(l.Files, 1000),
		Lines:     cmp.Or(l.Lines, 50_000),
		FileBytes: cmp.Or(l.FileBytes, 200<<10),
		Bytes:     cmp.Or(l.Bytes, 64<<20),
	}
}

// Diff is a list of changes, cut where the limits say.
type Diff struct {
	Files    []FileDiff
	Overflow bool
}

// DiffOptions say what is compared.
type DiffOptions struct {
	Limits DiffLimits
	Paths  []string
	Parted bool // from where the histories of the two parted, as far as they have met; both are commits
}

// Diff compares two commits or trees; EmptyTree stands for nothing. Renames are found. Results are cached by ids and
// belong to everyone who has asked: they are not to be changed.
func (r *Repo) Diff(ctx context.Context, from, to OID, o DiffOptions) (*Diff, error) {
	if err := checkIDs([]OID{from, to}); err != nil {
		return nil, err
	}
	if from == to {
		return &Diff{}, nil
	}
	o.Limits = o.Limits.orDefaults()
	text := fmt.Sprintf("%s %s %v %q %t", from, to, o.Limits, o.Paths, o.Parted)
	return remember(r, r.store.diffs, text, func() (*Diff, error) {
		d, err := r.diff(ctx, from, to, o)
		if o.Parted && exitCode(err) == severalBases {
			return r.diffBase(ctx, from, to, o)
		}
		return d, err
	})
}

// severalBases is how diff-tree ends when two commits have no base, or more
// than one, and for whatever else it finds no words.
const severalBases = 128

// diffBase is Diff for histories that met not once.
func (r *Repo) diffBase(ctx context.Context, from, to OID, o DiffOptions) (*Diff, error) {
	base, err := r.MergeBase(ctx, from, to)
	if errors.Is(err, ErrNotFound) {
		base, err = from, nil
	}
	if err != nil {
		return nil, err
	}
	o.Parted = false
	return r.diff(ctx, base, to, o)
}

func (r *Repo) diff(ctx context.Context, from, to OID, o DiffOptions) (*Diff, error) {
	// Lines are counted in the patch: with --numstat git would compare every file twice.
	c := call{class: history, sub: "diff-tree",
		flags: []string{"-r", "-z", "-M", "--raw", "--patch", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color"},
		args:  []string{string(from), string(to)}, paths: o.Paths}
	if o.Parted {
		c.flags = append(c.flags, "--merge-base")
	}
	out, err := r.stream(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // ends the command where a limit cut it
	return readDiff(out, o.Limits)
}

func (d *Diff) bytes() int {
	n := 0
	for i := range d.Files {
		f := &d.Files[i]
		n += 300 + len(f.OldPath) + len(f.NewPath) + len(f.Patch)
	}
	return n
}

// readDiff reads what diff-tree writes with "-z --raw --patch": one record for each file, an empty one, then the
// patches in the same order.
func readDiff(in io.Reader, limits DiffLimits) (*Diff, error) {
	rest := &io.LimitedReader{R: in, N: limits.Bytes + 1}
	p := diffReader{in: bufio.NewReaderSize(rest, 64<<10), limits: limits, diff: &Diff{}, at: -1}
	err := p.records()
	if err == nil {
		err = p.patches()
	}
	switch {
	case rest.N <= 0 && err != nil:
		p.cut()
	case errors.Is(err, io.EOF):
		p.finish()
	case err != nil:
		return nil, err
	}
	return p.diff, nil
}

type diffReader struct {
	in     *bufio.Reader
	limits DiffLimits
	diff   *Diff

	at    int // the file whose patch is read
	patch bytes.Buffer
	lines int // of patches that are kept
	mine  int // of this patch
}

// cut says that git was not listened to till the end.
func (p *diffReader) cut() {
	p.diff.Overflow = true
	for i := max(p.at, 0); i < len(p.diff.Files); i++ {
		f := &p.diff.Files[i]
		f.TooLarge, f.Additions, f.Deletions = true, 0, 0
	}
}

// records reads the list of files; io.EOF says that no patches follow.
func (p *diffReader) records() error {
	for {
		record, err := p.in.ReadString(0)
		if err != nil {
			if record != "" && errors.Is(err, io.EOF) {
				return fmt.Errorf("%w: a diff ends within a record", ErrCorrupt)
			}
			return err
		}
		if record == "\x00" {
			return nil
		}
		file, status, err := diffRecord(record[:len(record)-1])
		if err != nil {
			return err
		}
		if file.OldPath, err = p.name(); err != nil {
			return err
		}
		file.NewPath = file.OldPath
		if file.Renamed {
			if file.NewPath, err = p.name(); err != nil {
				return err
			}
		}
		if status == 'T' {
			gone, come := file, file
			gone.NewMode, gone.NewID, gone.Deleted = 0, Zero, true
			come.OldMode, come.OldID, come.Added = 0, Zero, true
			p.keep(gone)
			file = come
		}
		p.keep(file)
	}
}

func (p *diffReader) keep(f FileDiff) {
	if len(p.diff.Files) == p.limits.Files {
		p.diff.Overflow = true
		return
	}
	p.diff.Files = append(p.diff.Files, f)
}

func (p *diffReader) name() (string, error) {
	name, err := p.in.ReadString(0)
	if errors.Is(err, io.EOF) || name == "\x00" {
		return "", fmt.Errorf("%w: a diff lacks a name", ErrCorrupt)
	}
	return strings.TrimSuffix(name, "\x00"), err
}

// diffRecord reads ":100644 100755 <id> <id> M", or "R095".
func diffRecord(record string) (f FileDiff, status byte, err error) {
	fields := strings.Split(strings.TrimPrefix(record, ":"), " ")
	if len(fields) != 5 || !IsOID(fields[2]) || !IsOID(fields[3]) || fields[4] == "" {
		return f, 0, fmt.Errorf("%w: a diff says %.80q", ErrCorrupt, record)
	}
	old, err1 := strconv.ParseUint(fields[0], 8, 32)
	now, err2 := strconv.ParseUint(fields[1], 8, 32)
	if err1 != nil || err2 != nil {
		return f, 0, fmt.Errorf("%w: a diff says %.80q", ErrCorrupt, record)
	}
	status = fields[4][0]
	return FileDiff{
		OldMode: Mode(old), NewMode: Mode(now), OldID: OID(fields[2]), NewID: OID(fields[3]),
		Added: status == 'A', Deleted: status == 'D', Renamed: status == 'R',
	}, status, nil
}

// patches reads the patches. No line within a hunk begins with a letter, so what looks like the head of a file is
// one. A line may come in pieces.
func (p *diffReader) patches() error {
	whole := true // the last piece ended its line
	body := false // the head of this file is over
	for {
		piece, err := p.in.ReadSlice('\n')
		if len(piece) > 0 {
			switch {
			case !whole:
				p.write(piece)
			case bytes.HasPrefix(piece, []byte("diff --git ")):
				p.finish()
				if p.at++; p.at == len(p.diff.Files) {
					return nil // the limit on files
				}
				body = false
			case p.at < 0:
				return fmt.Errorf("%w: a patch begins with %.80q", ErrCorrupt, piece)
			case piece[0] == '@':
				body = true
				p.line(piece)
			case body:
				p.line(piece)
			case bytes.HasPrefix(piece, []byte("Binary files ")):
				p.diff.Files[p.at].Binary = true
				p.write(piece)
			}
			whole = piece[len(piece)-1] == '\n'
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if p.lines > p.limits.Lines {
			p.cut()
			return nil
		}
	}
}

// line takes the beginning of a line within a hunk.
func (p *diffReader) line(piece []byte) {
	f := &p.diff.Files[p.at]
	switch piece[0] {
	case '+':
		f.Additions++
	case '-':
		f.Deletions++
	}
	if !f.TooLarge {
		p.mine++
		p.lines++
	}
	p.write(piece)
}

func (p *diffReader) write(piece []byte) {
	if p.at < 0 {
		return
	}
	f := &p.diff.Files[p.at]
	if f.TooLarge {
		return
	}
	p.patch.Write(piece)
	if int64(p.patch.Len()) > p.limits.FileBytes {
		// Its lines are not shown, so they do not count.
		f.TooLarge = true
		p.lines -= p.mine
		p.patch.Reset()
	}
}

// finish stores the patch of the file that was read.
func (p *diffReader) finish() {
	if p.at >= 0 {
		p.diff.Files[p.at].Patch = p.patch.String()
	}
	p.patch.Reset()
	p.mine = 0
}

// Stats counts changed lines.
type Stats struct{ Additions, Deletions int }

// CommitStats counts what each commit changed against its first parent, in one command.
func (r *Repo) CommitStats(ctx context.Context, ids []OID) ([]Stats, error) {
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	counted := make(map[OID]Stats, len(ids))
	var missing []OID
	for _, id := range ids {
		if stats, known := r.store.stats.Get(r.key.within(string(id))); known {
			counted[id] = stats
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		if err := r.countLines(ctx, missing, counted); err != nil {
			return nil, err
		}
	}
	all := make([]Stats, len(ids))
	for i, id := range ids {
		all[i] = counted[id]
	}
	return all, nil
}

func (r *Repo) countLines(ctx context.Context, ids []OID, counted map[OID]Stats) error {
	commits, err := r.Commits(ctx, ids)
	if err != nil {
		return err
	}
	var questions strings.Builder
	for _, c := range commits {
		questions.WriteString(string(c.ID))
		if len(c.Parents) > 0 {
			questions.WriteString(" " + string(c.Parents[0]))
		}
		questions.WriteByte('\n')
	}
	out, err := r.stream(ctx, call{class: history, sub: "diff-tree", stdin: strings.NewReader(questions.String()),
		flags: []string{"--stdin", "-r", "-M", "--root", "--numstat", "--no-ext-diff", "--no-textconv"}})
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if err := readStats(out, counted); err != nil {
		return err
	}
	if r.quarantine == (Quarantine{}) {
		for _, id := range ids {
			r.store.stats.Set(r.key.within(string(id)), counted[id])
		}
	}
	return nil
}

// readStats reads an id, then for each of its files "added TAB removed TAB name".
func readStats(in io.Reader, counted map[OID]Stats) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // names have at most a few thousand bytes
	var id OID
	for lines.Scan() {
		line := lines.Text()
		added, rest, numbers := strings.Cut(line, "\t")
		if !numbers {
			if !IsOID(line) {
				return fmt.Errorf("%w: statistics say %.80q", ErrCorrupt, line)
			}
			id = OID(line)
			continue
		}
		removed, _, _ := strings.Cut(rest, "\t")
		a, _ := strconv.Atoi(added) // "-" for a binary file
		d, _ := strconv.Atoi(removed)
		sum := counted[id]
		counted[id] = Stats{sum.Additions + a, sum.Deletions + d}
	}
	return lines.Err()
}
