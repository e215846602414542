// Package history makes repositories of any size for measurements: always the
// same one for the same size, by git fast-import, in seconds.
//
// Its shape is that of an old program in C: hundreds of files in the root, one
// very wide directory, some sixty others, merges, annotated tags, a file that
// is much larger than the rest.
package history

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Size says how large a repository is.
type Size struct {
	Commits  int
	Files    int
	Branches int
	Tags     int
}

// Large and Small are for a measurement, and for seeing that it works.
var (
	Large = Size{Commits: 55_000, Files: 5_000, Branches: 100, Tags: 900}
	Small = Size{Commits: 1_500, Files: 400, Branches: 20, Tags: 80}
)

// edition is counted up when the same size makes another repository.
const edition = 1

// Names that are in every one of them.
const (
	Branch    = "main"
	SmallFile = "file-00.c"   // about 3.8 kB
	LargeFile = "po/words.po" // about 130 kB
)

// Build finds the repository of that size in a folder, or makes it there. It
// is bare, in one pack, with a bitmap and a commit-graph.
func Build(ctx context.Context, folder string, size Size) (path string, err error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %+v", edition, size))
	path = filepath.Join(folder, "history-"+hex.EncodeToString(sum[:6])+".git")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(folder, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	if err := build(ctx, made, size); err != nil {
		return "", err
	}
	if err := os.Rename(made, path); err != nil && !exists(path) { // somebody else may have been quicker
		return "", err
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func build(ctx context.Context, dir string, size Size) error {
	if err := Git(ctx, dir, nil, "init", "-q", "--bare", "--initial-branch="+Branch); err != nil {
		return err
	}
	reader, writer := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(writer, 1<<20)
		newAuthor(out, size).write()
		_ = writer.CloseWithError(out.Flush())
	}()
	for _, step := range []struct {
		in   io.Reader
		args []string
	}{
		{reader, []string{"fast-import", "--quiet", "--done"}},
		{nil, []string{"-c", "pack.threads=2", "repack", "-adfq", "--window=6", "--depth=25", "--write-bitmap-index"}},
		{nil, []string{"pack-refs", "--all"}},
		{nil, []string{"commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"}},
	} {
		if err := Git(ctx, dir, step.in, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// Git runs a command on a repository, without any configuration of the machine.
func Git(ctx context.Context, dir string, in io.Reader, args ...string) error {
	_, err := Output(ctx, dir, in, args...)
	return err
}

// Output is Git, for its answer.
func Output(ctx context.Context, dir string, in io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %.2000s", args[0], err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// author writes the stream that fast-import reads.
type author struct {
	*bufio.Writer
	size   Size
	random *rand.Rand
	files  []file
	mark   int
	clock  int64
}

type file struct {
	path  string
	lines []string
}

func newAuthor(out *bufio.Writer, size Size) *author {
	a := &author{Writer: out, size: size, random: rand.New(rand.NewPCG(7, uint64(size.Commits))), clock: 1_262_304_000}
	const large = 2700 // lines
	a.add(SmallFile, 80)
	a.add(LargeFile, large)
	root, wide, folders := size.Files*8/100, size.Files*24/100, 60
	for i := 1; i < root; i++ {
		a.add(fmt.Sprintf("file-%02d.c", i), 40+a.random.IntN(80))
	}
	for i := range wide {
		a.add(fmt.Sprintf("t/t%04d.sh", i), 10+a.random.IntN(40))
	}
	for i := root + wide + 1; i < size.Files; i++ {
		a.add(fmt.Sprintf("lib-%02d/part-%03d.c", i%folders, i/folders), 20+a.random.IntN(90))
	}
	return a
}

func (a *author) add(path string, lines int) {
	f := file{path: path}
	for range lines {
		f.lines = append(f.lines, a.line())
	}
	a.files = append(a.files, f)
}

var words = strings.Fields(`the static const struct object index return int char entry path if else while for ref tree blob
	commit packed size offset name value next list hash merge base diff option flag error message remote branch update cache`)

// line is about 47 bytes of something that compresses as source does.
func (a *author) line() string {
	var b strings.Builder
	b.WriteByte('\t')
	for b.Len() < 38 {
		b.WriteString(words[a.random.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String() + strconv.Itoa(a.random.IntN(1000)) + ";\n"
}

// write tells the whole history: a first commit with all files, then changes
// of one file each. Every tenth is a merge of two commits made beside.
func (a *author) write() {
	a.commit(Branch, "Begin", nil, a.files)
	left := a.size.Commits - 1
	for left > 0 {
		if left%10 == 3 && left > 3 {
			tip, side := a.mark, a.pick()
			a.commit("side", "Work on "+side.path, []int{tip}, []file{a.change(side)})
			a.commit("side", "Finish "+side.path, []int{a.mark}, []file{a.change(side)})
			a.commit(Branch, "Merge the work on "+side.path, []int{tip, a.mark}, []file{*side})
			left -= 3
		} else {
			f := a.pick()
			a.commit(Branch, "Change "+f.path, []int{a.mark}, []file{a.change(f)})
			left--
		}
	}
	fmt.Fprint(a, "reset refs/heads/side\nfrom 0000000000000000000000000000000000000000\n\n")
	for i := range a.size.Branches - 1 {
		fmt.Fprintf(a, "reset refs/heads/topic/%03d\nfrom :%d\n\n", i, a.mark-i*7)
	}
	for i := range a.size.Tags {
		message := fmt.Sprintf("Release %d\n", i)
		fmt.Fprintf(a, "tag v1.%d\nfrom :%d\ntagger Ada Example <ada@example.com> %d +0000\ndata %d\n%s",
			i, 1+(a.mark-1)*i/a.size.Tags, a.clock, len(message), message)
	}
	fmt.Fprint(a, "done\n")
}

// pick is any file but the one that is large.
func (a *author) pick() *file {
	i := a.random.IntN(len(a.files) - 1)
	if i > 0 {
		i++
	}
	return &a.files[i]
}

func (a *author) change(f *file) file {
	f.lines[a.random.IntN(len(f.lines))] = a.line()
	if a.random.IntN(4) == 0 {
		f.lines[a.random.IntN(len(f.lines))] = a.line()
	}
	return *f
}

func (a *author) commit(branch, title string, parents []int, files []file) {
	a.mark++
	a.clock += 3000 + a.random.Int64N(2000)
	who := fmt.Sprintf("Person %d <person%d@example.com> %d +0100", a.mark%211, a.mark%211, a.clock)
	message := title + "\n\nThis says at some length why " + a.line() + "was changed, and what would happen if it\nwere not, so that whoever reads it knows.\n\nSigned-off-by: Person <person@example.com>\n"
	fmt.Fprintf(a, "commit refs/heads/%s\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n%s", branch, a.mark, who, who, len(message), message)
	for i, parent := range parents {
		fmt.Fprintf(a, "%s :%d\n", []string{"from", "merge"}[min(i, 1)], parent)
	}
	for _, f := range files {
		n := 0
		for _, line := range f.lines {
			n += len(line)
		}
		fmt.Fprintf(a, "M 100644 inline %s\ndata %d\n", f.path, n)
		for _, line := range f.lines {
			_, _ = a.WriteString(line)
		}
		_ = a.WriteByte('\n')
	}
	_ = a.WriteByte('\n')
}
