package gitstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBlameSaysWhatGitSays(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir := r.dir(t)
	rapid.Check(t, func(rt *rapid.T) {
		ids := randomHistory(rt, dir, 6)
		commit, path := rapid.SampledFrom(ids).Draw(rt, "commit"), rapid.SampledFrom(oddPaths).Draw(rt, "path")
		from, to := rapid.IntRange(0, 8).Draw(rt, "from"), rapid.IntRange(0, 8).Draw(rt, "to")
		if to > 0 {
			to = max(from, to)
		}
		got, err := r.Blame(t.Context(), commit, path, from, to)
		out, failed := tryGit(dir, "", "blame", "--line-porcelain", string(commit), "--", path)
		if failed != nil || err != nil {
			kind, _ := tryGit(dir, "", "cat-file", "-t", string(commit)+":"+path)
			if strings.TrimSpace(kind) == "blob" || !errors.Is(err, ErrNotFound) {
				rt.Fatalf("%v; git says %s", err, out)
			}
			return
		}
		var lines, want []string
		for _, h := range got {
			for i, text := range h.Lines {
				lines = append(lines, fmt.Sprintf("%d %s %s %q", h.First+i, h.Commit, h.Path, text))
			}
		}
		var id, name string
		n := 0
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasPrefix(line, "\t"):
				n++
				if n >= from && (to == 0 || n <= to) {
					want = append(want, fmt.Sprintf("%d %s %s %q", n, id, name, line[1:]))
				}
				id = ""
			case id == "":
				id = line[:40]
			case strings.HasPrefix(line, "filename "):
				name = unquote(line[len("filename "):])
			}
		}
		if strings.Join(lines, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("%d,%d:\n%s\nwant\n%s", from, to, strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestDO04_BlameOfAGiantEnds(t *testing.T) {
	t.Parallel()
	head := strings.Repeat("1", 40) + " 1 1 1\nfilename a\n"
	if _, err := readBlame(endless{strings.NewReader(head + "\t")}, 1<<20); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an endless line: %v", err)
	}
}

func FuzzBlame(f *testing.F) {
	head := strings.Repeat("1", 40)
	f.Add(head + " 1 1 2\nauthor A\nfilename a\n\tline\n" + head + " 2 2\n\tmore\n")
	f.Add(head + " 1 1 1\nfilename \"a\\tb\\303\\274\"\n\tno newline")
	f.Add("")
	f.Add("x\n")
	f.Fuzz(func(t *testing.T, text string) {
		hunks, err := readBlame(strings.NewReader(text), 1000)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		for _, h := range hunks {
			if !IsOID(string(h.Commit)) || h.First < 1 || len(h.Lines) == 0 {
				t.Fatalf("%+v", h)
			}
		}
	})
}
