package gitstore_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"stithy/internal/gitstore"
)

func TestRE01_NoSpellingOfDotGitIsAPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		".git", ".GIT", ".Git/config", "a/.git", "a/.gIt/hooks/x", "git~1", "GIT~1/x", "git~2", ".git.", ".git ", ".git. . ", ".git::$INDEX_ALLOCATION/x",
		".git:x", "git~1:x", ".g\u200cit", ".\u200dgit", "\u202e.git", ".git\ufeff", ".gi\u206ft", `a\.git`, `.git\config`, `a\..\b`, "a/.git /b",
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/.", "a\x00b", "a\nb", "a\tb", "\x7f", "\xff", strings.Repeat("a", 5000), "a/" + strings.Repeat("b", 256),
	} {
		if err := gitstore.CheckPath(path); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{
		"a", "a/b", ".gitignore", ".gitattributes", ".github/x", "git", "git~", "a.git", ".gita", "..a", "a..", "...", "-a", "--upload-pack=x", "a b", "é", "日本/語", `a\b`, "a:b", "x~1",
	} {
		if err := gitstore.CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestGI07_NamesThatReadLikeSomethingElseAreRefused(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		for _, name := range append([]string{"HEAD", "@", strings.Repeat("a", 40), strings.Repeat("F", 40), strings.Repeat("0", 64), "refs/heads/main", "refs/x", "-a", "--all"}, hostile...) {
			if err := gitstore.CheckRefName(prefix + name); !errors.Is(err, gitstore.ErrInvalid) {
				t.Errorf("%q: %v", prefix+name, err)
			}
		}
		for _, name := range []string{"main", "a/b", "v1.0", "feature-1", "a-", "é", "日本", strings.Repeat("a", 39), strings.Repeat("a", 41), "HEADS", "x/HEAD", "a@b", "x/refs/y", "{a}", "a=b", "$(id)"} {
			if err := gitstore.CheckRefName(prefix + name); err != nil {
				t.Errorf("%q: %v", prefix+name, err)
			}
		}
	}
	for _, name := range []string{"main", "HEAD", "heads/main", "refs", "refs/", "xrefs/heads/a", ""} {
		if err := gitstore.CheckRefName(name); !errors.Is(err, gitstore.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := gitstore.CheckRefName("refs/keep-around/" + strings.Repeat("a", 40)); err != nil {
		t.Error(err)
	}
}

// What we take, git takes.
func FuzzRefNames(f *testing.F) {
	for _, name := range append([]string{"main", "a/b", "é"}, hostile...) {
		f.Add("refs/heads/" + name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if gitstore.CheckRefName(name) != nil {
			return
		}
		if strings.ContainsAny(name, "\x00\n\r \t") || strings.Contains(name, "..") || strings.Contains(name, "/.") || !strings.HasPrefix(name, "refs/") {
			t.Errorf("%q", name)
		}
		if err := exec.CommandContext(t.Context(), "git", "check-ref-format", name).Run(); err != nil {
			t.Errorf("git does not take %q: %v", name, err)
		}
	})
}

func FuzzPaths(f *testing.F) {
	for _, path := range append([]string{"a/b", ".git", "git~1", ".g\u200cit"}, hostile...) {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if gitstore.CheckPath(path) != nil {
			return
		}
		for part := range strings.SplitSeq(path, "/") {
			if part == "" || part == "." || part == ".." || strings.EqualFold(strings.TrimRight(part, ". "), ".git") || strings.ContainsAny(part, "\x00\n") {
				t.Errorf("%q", path)
			}
		}
	})
}
