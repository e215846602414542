package gitstore

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestADiffSaysWhatGitSays(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	dir := r.dir(t)
	rapid.Check(t, func(rt *rapid.T) {
		ids := randomHistory(rt, dir, 6)
		from, to := rapid.SampledFrom(ids).Draw(rt, "from"), rapid.SampledFrom(ids).Draw(rt, "to")
		var paths []string
		if rapid.Bool().Draw(rt, "limited") {
			paths = []string{rapid.SampledFrom(oddPaths).Draw(rt, "only")}
		}
		got, err := r.Diff(t.Context(), from, to, DiffOptions{Paths: paths})
		if err != nil {
			rt.Fatal(err)
		}
		git := func(flags ...string) string {
			args := append([]string{"--literal-pathspecs", "diff", "--full-index", "-M"}, flags...)
			return realGit(rt, dir, "", append(append(args, string(from), string(to), "--"), paths...)...)
		}
		var patches, want []string
		var sum, wantSum Stats
		for _, f := range got.Files {
			patches = append(patches, f.Patch)
			sum.Additions += f.Additions
			sum.Deletions += f.Deletions
			if f.Added != (f.OldMode == 0) || f.Deleted != (f.NewMode == 0) || f.Renamed != (f.OldPath != f.NewPath) || f.TooLarge {
				rt.Fatalf("%+v", f)
			}
		}
		for i, section := range strings.Split("\n"+git("--patch"), "\ndiff --git ") {
			if i > 0 {
				want = append(want, patchOf(section+"\n"))
			}
		}
		if diff := cmp.Diff(want, patches); diff != "" {
			rt.Fatal(diff)
		}
		for line := range strings.Lines(git("--numstat")) {
			fields := strings.Fields(line)
			a, _ := strconv.Atoi(fields[0])
			d, _ := strconv.Atoi(fields[1])
			wantSum.Additions += a
			wantSum.Deletions += d
		}
		// Git counts a file that became a link as one file, which is binary when either is.
		if sum != wantSum && !strings.Contains(git("--name-status"), "T\t") {
			rt.Fatalf("%+v, want %+v", sum, wantSum)
		}
		changes, more, err := r.Changes(t.Context(), from, to, 1000)
		if err != nil || more {
			rt.Fatal(more, err)
		}
		var names strings.Builder
		for _, f := range changes {
			status := "M"
			switch {
			case f.Added:
				status = "A"
			case f.Deleted:
				status = "D"
			case f.OldMode.Kind() != f.NewMode.Kind() || (f.OldMode == LinkMode) != (f.NewMode == LinkMode):
				status = "T"
			}
			names.WriteString(status + "\x00" + f.NewPath + "\x00")
		}
		if diff := cmp.Diff(realGit(rt, dir, "", "diff-tree", "-r", "-z", "--no-renames", "--name-status", string(from), string(to)), names.String()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// patchOf cuts the head off one file's part of a diff.
func patchOf(section string) string {
	for i := 0; i < len(section); i += len(lineAt(section, i)) {
		if strings.HasPrefix(section[i:], "@@") || strings.HasPrefix(section[i:], "Binary files ") {
			// The split took the newline of all but the last section.
			return strings.TrimSuffix(section[i:], "\n\n") + map[bool]string{true: "\n"}[strings.HasSuffix(section, "\n\n")]
		}
	}
	return ""
}

const someRecords = ":100644 100644 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222 M\x00a\x00" +
	":100644 000000 1111111111111111111111111111111111111111 0000000000000000000000000000000000000000 D\x00b\x00" +
	":100644 100644 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222 R090\x00c\x00d\x00"

func somePatches(lines int) string {
	var b strings.Builder
	for _, name := range []string{"a", "b", "d"} {
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -0,0 +1,%d @@\n%s", name, name, name, name, lines, strings.Repeat("+line\n", lines))
	}
	return b.String()
}

func TestDO04_ADiffIsCutWhereItsLimitsSay(t *testing.T) {
	t.Parallel()
	read := func(lines int, l DiffLimits) (*Diff, string) {
		d, err := readDiff(strings.NewReader(someRecords+"\x00"+somePatches(lines)), l.orDefaults())
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		for _, f := range d.Files {
			fmt.Fprintf(&shown, "%s:%d:%d:%t ", f.NewPath, len(f.Patch), f.Additions, f.TooLarge)
		}
		return d, strings.TrimSpace(shown.String())
	}
	for _, c := range []struct {
		name     string
		limits   DiffLimits
		overflow bool
		want     string
	}{
		{"none", DiffLimits{}, false, "a:77:10:false b:77:10:false d:77:10:false"},
		{"files", DiffLimits{Files: 2}, true, "a:77:10:false b:77:10:false"},
		{"lines", DiffLimits{Lines: 15}, true, "a:77:10:false b:0:0:true d:0:0:true"},
		{"bytes of a file do not end it", DiffLimits{FileBytes: 76}, false, "a:0:10:true b:0:10:true d:0:10:true"},
		{"lines that are not shown do not count", DiffLimits{FileBytes: 76, Lines: 12}, false, "a:0:10:true b:0:10:true d:0:10:true"},
		{"bytes in the patches", DiffLimits{Bytes: int64(len(someRecords)) + 200}, true, "a:77:10:false b:0:0:true d:0:0:true"},
		{"bytes in the records", DiffLimits{Bytes: 150}, true, "a:0:0:true"},
	} {
		d, shown := read(10, c.limits)
		if d.Overflow != c.overflow || shown != c.want {
			t.Errorf("%s: %t %s, want %t %s", c.name, d.Overflow, shown, c.overflow, c.want)
		}
	}
}

// endless writes a patch that never ends.
type endless struct{ head *strings.Reader }

func (e endless) Read(b []byte) (int, error) {
	if n, err := e.head.Read(b); err == nil {
		return n, nil
	}
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestDO04_ALineWithoutEndTakesNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := readDiff(endless{strings.NewReader(someRecords + "\x00diff --git a/a b/a\n@@ -1 +1 @@\n+")}, DiffLimits{Bytes: 512 << 20}.orDefaults())
	runtime.ReadMemStats(&after)
	if err != nil || !d.Overflow || !d.Files[0].TooLarge {
		t.Fatalf("%+v %v", d, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d MiB", grown>>20)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add(someRecords + "\x00" + somePatches(2))
	f.Add(someRecords)
	f.Add("")
	f.Add(":1 2\x00")
	f.Add(someRecords + "\x00Binary files a and b differ\n")
	f.Fuzz(func(t *testing.T, text string) {
		limits := DiffLimits{Files: 2, Lines: 3, FileBytes: 20, Bytes: 1000}
		d, err := readDiff(strings.NewReader(text), limits)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if len(d.Files) > limits.Files {
			t.Fatalf("%d files", len(d.Files))
		}
		for _, file := range d.Files {
			if int64(len(file.Patch)) > limits.FileBytes || file.TooLarge && file.Patch != "" || file.NewPath == "" {
				t.Fatalf("%+v", file)
			}
		}
	})
}
