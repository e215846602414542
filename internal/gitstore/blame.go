package gitstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Hunk is a run of lines that came with one commit.
type Hunk struct {
	Commit OID
	Path   string // in that commit
	First  int    // line, from 1
	Lines  []string
}

// Blame holds a file in memory with its earlier forms, and what it says of every line; each costs about sixty bytes
// more than it has.
const (
	maxBlamed     = 10 << 20 // bytes of the file
	maxBlame      = 32 << 20 // bytes of what is said
	maxBlameLines = 200_000
)

// Blame says which commit every line of a file came with; from and to are lines, 0 is open. What lies behind the end
// of the file is empty.
func (r *Repo) Blame(ctx context.Context, commit OID, path string, from, to int) ([]Hunk, error) {
	if err := checkIDs([]OID{commit}); err != nil {
		return nil, err
	}
	entry, err := r.Find(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	if entry.Mode.Kind() != BlobKind {
		return nil, ErrNotFound
	}
	switch o, err := r.StatEntry(ctx, entry); {
	case err != nil:
		return nil, err
	case o.Size > maxBlamed:
		return nil, fmt.Errorf("blame of %d bytes: %w", o.Size, ErrTooLarge)
	}
	c := call{class: history, sub: "blame", flags: []string{"--porcelain"}, args: []string{string(commit)}, paths: []string{path}}
	if from > 0 || to > 0 {
		lines := strconv.Itoa(max(from, 1)) + ","
		if to > 0 {
			lines += strconv.Itoa(to)
		}
		c.flags = append(c.flags, "-L"+lines)
	}
	out, err := r.stream(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	hunks, err := readBlame(out, maxBlame)
	var failure *commandError
	if errors.As(err, &failure) && strings.Contains(failure.text, "has only ") {
		return nil, nil
	}
	return hunks, err
}

// readBlame reads the form "--porcelain": for each line its commit, what is new about that commit, and behind a tab
// the line.
func readBlame(in io.Reader, limit int64) ([]Hunk, error) {
	rest := &io.LimitedReader{R: in, N: limit}
	lines := bufio.NewReaderSize(rest, 64<<10)
	paths := map[OID]string{}
	var hunks []Hunk
	var commit OID
	var final, count int
	for {
		line, err := lines.ReadString('\n')
		if line == "" && errors.Is(err, io.EOF) {
			if rest.N <= 0 {
				return nil, ErrTooLarge
			}
			if commit != "" {
				return nil, fmt.Errorf("%w: blame ends within a line", ErrCorrupt)
			}
			return hunks, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case commit == "":
			if commit, final, err = blameHeader(line); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "\t"):
			if count++; count > maxBlameLines {
				return nil, ErrTooLarge
			}
			hunks = addLine(hunks, commit, paths[commit], final, line[1:])
			commit = ""
		case strings.HasPrefix(line, "filename "):
			paths[commit] = unquote(line[len("filename "):])
		}
	}
}

// blameHeader reads "<id> <line there> <line here>[ <lines>]".
func blameHeader(line string) (OID, int, error) {
	fields := strings.Split(line, " ")
	if len(fields) >= 3 && IsOID(fields[0]) {
		if final, err := strconv.Atoi(fields[2]); err == nil && final > 0 {
			return OID(fields[0]), final, nil
		}
	}
	return "", 0, fmt.Errorf("%w: blame says %.80q", ErrCorrupt, line)
}

func addLine(hunks []Hunk, commit OID, path string, final int, text string) []Hunk {
	if n := len(hunks); n > 0 {
		if last := &hunks[n-1]; last.Commit == commit && last.Path == path && last.First+len(last.Lines) == final {
			last.Lines = append(last.Lines, text)
			return hunks
		}
	}
	return append(hunks, Hunk{Commit: commit, Path: path, First: final, Lines: []string{text}})
}

// unquote reads a name as git writes it where names end with the line.
func unquote(name string) string {
	if len(name) < 2 || name[0] != '"' || name[len(name)-1] != '"' {
		return name
	}
	in := name[1 : len(name)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 == len(in) {
			out = append(out, in[i])
			continue
		}
		i++
		if c := in[i]; c >= '0' && c <= '3' && i+2 < len(in) {
			if n, err := strconv.ParseUint(in[i:i+3], 8, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		if at := strings.IndexByte(`abtnvfr`, in[i]); at >= 0 {
			out = append(out, "\a\b\t\n\v\f\r"[at])
		} else {
			out = append(out, in[i])
		}
	}
	return string(out)
}
