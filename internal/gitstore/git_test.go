package gitstore

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tester is what a test and a rapid check have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// realGit runs git as anyone would, in dir, to compare with.
func realGit(t tester, dir, stdin string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(dir, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_AUTHOR_DATE=1700000000 +0200",
		"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.com", "GIT_COMMITTER_DATE=1700000000 +0200")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

// bareRepo is a repository that only git made.
func bareRepo(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	realGit(t, dir, "", "init", "--quiet", "--bare", "--initial-branch=main", ".")
	return dir
}

// oddPaths are what a random history writes to: names that quote, look like options or globs, nest, and change from
// file to directory.
var oddPaths = []string{"a", "b", "d/a", "d/b", "d/e/f", "-x", "tab\there", "quo\"te", "*", "ü", ":(top)x", "new\nline", "d/e"}

// randomHistory writes commits with random parents, dates and files, and returns them in the order they were made.
// Every parent comes before its children.
func randomHistory(t *rapid.T, dir string, most int) []OID {
	t.Helper()
	var in strings.Builder
	n := rapid.IntRange(2, most).Draw(t, "commits")
	line := rapid.SampledFrom([]string{"one", "two", "three", "four", "five", "", "long line of a file"})
	for i := 1; i <= n; i++ {
		when := 1_700_000_000 + int64(i)*rapid.SampledFrom([]int64{0, 60}).Draw(t, "step") - rapid.SampledFrom([]int64{0, 0, 0, 500}).Draw(t, "skew")
		who := rapid.SampledFrom([]string{"Ann <ann@example.com>", "Bob <bob@example.com>"}).Draw(t, "who")
		message := fmt.Sprintf("commit %d\n", i)
		fmt.Fprintf(&in, "commit refs/heads/b%d\nmark :%d\nauthor %s %d +0100\ncommitter %s %d +0100\ndata %d\n%s", i, i, who, when, who, when, len(message), message)
		if i > 1 {
			parents := rapid.SliceOfNDistinct(rapid.IntRange(max(1, i-4), i-1), 0, 3, rapid.ID).Draw(t, "parents")
			for j, p := range parents {
				fmt.Fprintf(&in, "%s :%d\n", []string{"from", "merge", "merge"}[j], p)
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			path := strconv.Quote(rapid.SampledFrom(oddPaths).Draw(t, "path"))
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&in, "D %s\n", path)
				continue
			case 1:
				fmt.Fprintf(&in, "M 160000 %040x %s\n", rapid.IntRange(1, 3).Draw(t, "module"), path)
				continue
			}
			mode := rapid.SampledFrom([]string{"100644", "100644", "100755", "120000"}).Draw(t, "mode")
			text := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"\n", "", "\x00"}).Draw(t, "end")
			if mode == "120000" {
				text = "target"
			}
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode, path, len(text), text)
		}
		in.WriteByte('\n')
	}
	return imported(t, dir, in.String(), n)
}

// imported has git make commits and says their ids, by the marks from 1 to n.
func imported(t *rapid.T, dir, stream string, n int) []OID {
	t.Helper()
	marks := filepath.Join(dir, "marks")
	realGit(t, dir, stream, "fast-import", "--quiet", "--force", "--export-marks="+marks)
	text, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]OID, n)
	for line := range strings.Lines(string(text)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err != nil {
			t.Fatal(err)
		}
		ids[mark-1] = OID(id)
	}
	return ids
}

// plainHistory writes commits whose files have many lines, so that changes meet in some and not in others.
func plainHistory(t *rapid.T, dir string) []OID {
	t.Helper()
	n := rapid.IntRange(3, 8).Draw(t, "commits")
	var in strings.Builder
	files := make([]map[string][]string, n)
	for i := range n {
		var parents []int
		files[i] = map[string][]string{}
		if i > 0 {
			parents = rapid.SliceOfNDistinct(rapid.IntRange(max(0, i-3), i-1), 1, 2, rapid.ID).Draw(t, "parents")
			maps.Copy(files[i], files[parents[0]])
		} else {
			for _, name := range []string{"a", "b", "d/c"} {
				files[i][name] = strings.Split("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", " ")
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			name := rapid.SampledFrom([]string{"a", "b", "d/c", "e"}).Draw(t, "name")
			lines := slices.Clone(files[i][name])
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case len(lines) == 0:
				files[i][name] = []string{"new", "file"}
			case kind == 0:
				delete(files[i], name)
			case kind == 1:
				files[i][name+".moved"] = lines
				delete(files[i], name)
			default:
				lines[rapid.IntRange(0, len(lines)-1).Draw(t, "line")] = fmt.Sprint("changed in ", rapid.IntRange(0, 2).Draw(t, "by"))
				files[i][name] = lines
			}
		}
		fmt.Fprintf(&in, "commit refs/heads/p%d\nmark :%d\ncommitter C <c@x> %d +0000\ndata 1\nm\n", i, i+1, 1_700_000_000+i)
		for j, p := range parents {
			fmt.Fprintf(&in, "%s :%d\n", []string{"from", "merge"}[j], p+1)
		}
		in.WriteString("deleteall\n")
		for _, name := range slices.Sorted(maps.Keys(files[i])) {
			text := strings.Join(files[i][name], "\n") + "\n"
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s", name, len(text), text)
		}
	}
	return imported(t, dir, in.String(), n)
}
