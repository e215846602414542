// Package gitstoretest makes stores and repositories for the tests of other
// packages, and holds the suite that every engine must pass.
package gitstoretest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/platform/clock"
)

// Storage is the name of the one storage of Open.
const Storage = "default"

// Start is when the first seeded commit was made. Each further one is a minute later.
var Start = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

// WriteProgram makes a script that can be run. A process of its own writes it: a descriptor of ours that is open for writing would be
// inherited by whatever another test starts at that moment, and a file that is open for writing cannot be run ("text file busy").
func WriteProgram(path, script string) error {
	write := exec.Command("sh", "-c", `cat >"$0" && chmod 700 "$0"`, path) //nolint:gosec // a path of the test's own
	write.Stdin = strings.NewReader(script)
	if out, err := write.CombinedOutput(); err != nil {
		return fmt.Errorf("writing the script %s: %w: %s", path, err, out)
	}
	return nil
}

// Open makes a store on a disk of its own.
func Open(t testing.TB) *gitstore.Store {
	t.Helper()
	dir := t.TempDir()
	program, err := os.Executable() // whose TestMain is the hook, where pushes are tested
	if err != nil {
		t.Fatal(err)
	}
	s, err := gitstore.Open(t.Context(), gitstore.Config{
		Hook:     program,
		Storages: []gitstore.Storage{{Name: Storage, Root: filepath.Join(dir, "disk")}},
		CacheDir: filepath.Join(dir, "cache"),
		Clock:    clock.System(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// New makes an empty repository.
func New(t testing.TB, s *gitstore.Store, projectID int64) *gitstore.Repo {
	t.Helper()
	r := s.Repo(gitstore.KeyOf(s.Storages[0].Name, projectID, 0))
	if err := r.Create(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	return r
}

// Commit is a commit to seed.
type Commit struct {
	Branch  string // "main" when empty
	From    int    // the commit that a new branch starts at, counted from 1; 0 is none
	Merge   []int  // further parents, counted from 1
	Message string
	Files   map[string]string // path to content; "" removes
	Tag     string            // lightweight tag that names the commit
	Note    string            // makes the tag an annotated one with this message
	Author  string            // "Ada <ada@example.com>" when empty
}

// Seed adds commits, in order, and reports their ids.
func Seed(t testing.TB, s *gitstore.Store, r *gitstore.Repo, commits ...Commit) []gitstore.OID {
	t.Helper()
	var in bytes.Buffer
	data := func(text string) { fmt.Fprintf(&in, "data %d\n%s\n", len(text), text) }
	for i, c := range commits {
		branch, author := c.Branch, c.Author
		if branch == "" {
			branch = "main"
		}
		if author == "" {
			author = "Ada <ada@example.com>"
		}
		who := fmt.Sprintf("%s %d +0000", author, Start.Add(time.Duration(i)*time.Minute).Unix())
		fmt.Fprintf(&in, "commit refs/heads/%s\nmark :%d\nauthor %s\ncommitter %s\n", branch, i+1, who, who)
		data(c.Message)
		if c.From > 0 {
			fmt.Fprintf(&in, "from :%d\n", c.From)
		}
		for _, parent := range c.Merge {
			fmt.Fprintf(&in, "merge :%d\n", parent)
		}
		for _, path := range slices.Sorted(maps.Keys(c.Files)) {
			if c.Files[path] == "" {
				fmt.Fprintf(&in, "D %s\n", path)
				continue
			}
			fmt.Fprintf(&in, "M 100644 inline %s\n", path)
			data(c.Files[path])
		}
		in.WriteByte('\n')
		switch {
		case c.Note != "":
			fmt.Fprintf(&in, "tag %s\nfrom :%d\ntagger %s\n", c.Tag, i+1, who)
			data(c.Note)
		case c.Tag != "":
			fmt.Fprintf(&in, "reset refs/tags/%s\nfrom :%d\n\n", c.Tag, i+1)
		}
	}
	marks := filepath.Join(t.TempDir(), "marks")
	Git(t, s, r, in.String(), "fast-import", "--quiet", "--force", "--export-marks="+marks)
	text, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]gitstore.OID, len(commits))
	for line := range strings.Lines(string(text)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err != nil {
			t.Fatal(err)
		}
		ids[mark-1] = gitstore.OID(id)
	}
	return ids
}

// Dir is where a repository lies.
func Dir(t testing.TB, s *gitstore.Store, r *gitstore.Repo) string {
	t.Helper()
	for _, place := range s.Storages {
		if place.Name == r.Key().Storage {
			return filepath.Join(place.Root, r.Key().Path)
		}
	}
	t.Fatalf("no storage %q", r.Key().Storage)
	return ""
}

// Git runs git on a repository, as a second opinion about what the store says and does.
func Git(t testing.TB, s *gitstore.Store, r *gitstore.Repo, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"--git-dir=" + Dir(t, s, r)}, args...)...) //nolint:gosec // of tests
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=1709294400 +0000",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=1709294400 +0000",
	}
	cmd.Stdin = strings.NewReader(stdin)
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, failure.String())
	}
	return strings.TrimSuffix(out.String(), "\n")
}
