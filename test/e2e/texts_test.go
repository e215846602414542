package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wikis and snippets are read and written by git, over both ways in, and by the API, and are the same to both.
func TestGitReachesWikisAndSnippets(t *testing.T) {
	t.Parallel()
	ssh := freeAddress(t)
	f := start(t, "STITHY_SSH_LISTEN="+ssh)
	id := f.project("tool")
	overSSH := f.keyPair(ssh)
	pages := fmt.Sprintf("/projects/%d/wikis", id)
	if code := f.asRoot("POST", pages, map[string]string{"title": "home", "content": "one"}, nil); code != http.StatusCreated {
		t.Fatalf("a page: %d", code)
	}
	var snippet struct{ ID int64 }
	if code := f.asRoot("POST", "/snippets", map[string]string{"title": "Notes", "file_name": "home.md", "content": "one"}, &snippet); code != http.StatusCreated {
		t.Fatalf("a snippet: %d", code)
	}
	for path, address := range map[string]string{"root/tool.wiki": pages + "/home", fmt.Sprintf("snippets/%d", snippet.ID): fmt.Sprintf("/snippets/%d", snippet.ID)} {
		base, _, _ := strings.Cut(f.remote("x"), "root/x")
		for _, way := range []struct {
			remote string
			env    []string
		}{{base + path + ".git", nil}, {"git@127.0.0.1:" + path + ".git", overSSH}} {
			dir := filepath.Join(t.TempDir(), "clone")
			f.mustGit("/", way.env, "clone", "-q", way.remote, dir)
			if text, err := os.ReadFile(filepath.Join(dir, "home.md")); err != nil || string(text) == "" {
				t.Fatalf("%s: the clone holds %q, %v", way.remote, text, err)
			}
			f.commit(dir, "other.md", way.remote)
			f.mustGit(dir, way.env, "push", "-q", "origin", "HEAD:main")
			var page struct{ Content string }
			var files struct{ Files []struct{ Path string } }
			switch {
			case strings.Contains(path, "wiki"):
				if code := f.asRoot("GET", pages+"/other", nil, &page); code != http.StatusOK || page.Content != way.remote {
					t.Errorf("%s: the page is %d %q", way.remote, code, page.Content)
				}
			default:
				if code := f.asRoot("GET", address, nil, &files); code != http.StatusOK || len(files.Files) != 2 {
					t.Errorf("%s: the snippet is %d %+v", way.remote, code, files)
				}
			}
			for refspec, want := range map[string]string{"HEAD:side": "Only the branch main can be pushed here.", ":main": "The branch main cannot be deleted."} {
				if out, err := f.git(dir, way.env, "push", "origin", refspec); err == nil || !strings.Contains(out, want) {
					t.Errorf("%s: pushing %s: %v %s", way.remote, refspec, err, out)
				}
			}
			f.mustGit(dir, nil, "commit", "-q", "--amend", "-m", "another")
			if out, err := f.git(dir, way.env, "push", "--force", "origin", "HEAD:main"); err == nil || !strings.Contains(out, "cannot be rewritten") {
				t.Errorf("%s: a forced push: %v %s", way.remote, err, out)
			}
		}
	}
	for _, remote := range []string{"git@127.0.0.1:root/none.wiki.git", "git@127.0.0.1:snippets/99.git", fmt.Sprintf("git@127.0.0.1:root/tool/snippets/%d.git", snippet.ID)} {
		if out, err := f.git("/", overSSH, "ls-remote", remote); err == nil || !strings.Contains(out, "could not be found") {
			t.Errorf("%s: %v %s", remote, err, out)
		}
	}
	f.disk()
}
