package repository_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/repository/repositorytest"
)

// seed fills the repository of the fixture with history.
func (w *fixture) seed(t testing.TB, commits ...gitstoretest.Commit) (*gitstore.Repo, []gitstore.OID) {
	t.Helper()
	repo := w.fill(t, nil)
	w.exec(t, `update repositories set empty = false where project_id = $1`, w.project.ID)
	w.exec(t, `update projects set default_branch = 'main' where id = $1`, w.project.ID)
	return repo, gitstoretest.Seed(t, w.store, repo, commits...)
}

type shownEntry struct{ ID, Name, Type, Path, Mode string }

func paths(entries []shownEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Path)
	}
	return all
}

func read[T any](t testing.TB, c *httpapitest.Client, path string) T {
	t.Helper()
	var out T
	c.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK).Decode(t, &out)
	return out
}

var someFiles = map[string]string{
	"b.txt": "b", "a/x.txt": "x", "a/z/deep.txt": "deep", "a.txt": "a", "lib/y": "y", "same": "a",
}

func TestATreeListsDirectoriesFilesAndSubmodulesByName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo, ids := w.seed(t, gitstoretest.Commit{Message: "one", Files: someFiles, Tag: "v1"})
	tree := gitstoretest.Git(t, w.store, repo, gitstoretest.Git(t, w.store, repo, "", "ls-tree", "main")+
		"\n160000 commit "+string(ids[0])+"\tabove\n120000 blob "+gitstoretest.Git(t, w.store, repo, "a.txt", "hash-object", "-w", "--stdin")+"\tlink", "mktree")
	commit := gitstoretest.Git(t, w.store, repo, "two\n", "commit-tree", "-p", string(ids[0]), tree)
	gitstoretest.Git(t, w.store, repo, "", "update-ref", "refs/heads/main", commit)

	top := read[[]shownEntry](t, w.Client, w.at("/repository/tree"))
	if diff := cmp.Diff([]string{"a", "lib", "a.txt", "b.txt", "link", "same", "above"}, paths(top)); diff != "" {
		t.Error(diff)
	}
	id := gitstoretest.Git(t, w.store, repo, "", "rev-parse", "main:a")
	if diff := cmp.Diff(shownEntry{id, "a", "tree", "a", "040000"}, top[0]); diff != "" {
		t.Error(diff)
	}
	if last := top[len(top)-1]; last.Type != "commit" || last.Mode != "160000" || top[4].Mode != "120000" || top[2].Mode != "100644" {
		t.Errorf("got %+v", top)
	}
	for query, want := range map[string][]string{
		"?path=a":                     {"a/z", "a/x.txt"},
		"?path=/a/":                   {"a/z", "a/x.txt"},
		"?path=a&recursive=true":      {"a/z", "a/x.txt", "a/z/deep.txt"},
		"?ref=v1&path=lib":            {"lib/y"},
		"?ref=" + string(ids[0]):      {"a", "lib", "a.txt", "b.txt", "same"},
		"?per_page=2&page=2":          {"a.txt", "b.txt"},
		"?page=9":                     nil,
		"?recursive=true&per_page=50": {"a", "a/z", "lib", "a.txt", "a/x.txt", "a/z/deep.txt", "b.txt", "lib/y", "link", "same", "above"},
		"?recursive=true&pagination=none&per_page=1": {"a", "a/z", "lib", "a.txt", "a/x.txt", "a/z/deep.txt", "b.txt", "lib/y", "link", "same", "above"},
	} {
		if diff := cmp.Diff(want, paths(read[[]shownEntry](t, w.Client, w.at("/repository/tree"+query)))); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	for query, want := range map[string]string{
		"?ref=nope":               "404 Tree Not Found",
		"?path=nope":              "404 invalid revision or path Not Found",
		"?path=a.txt":             "404 invalid revision or path Not Found",
		"?path=..":                "404 invalid revision or path Not Found",
		"?path=nope&recursive=1":  "404 invalid revision or path Not Found",
		"?ref=--all":              "404 Tree Not Found",
		"?ref=refs/keep-around/x": "404 Tree Not Found",
		"?ref=main:a":             "404 Tree Not Found",
	} {
		w.Do(t, "GET", w.at("/repository/tree"+query), nil).Want(t, http.StatusNotFound, `{"message":"`+want+`"}`)
	}
	w.Do(t, "GET", w.at("/repository/tree?pagination=none"), nil).
		Want(t, http.StatusBadRequest, `{"error":"pagination cannot be \"none\" unless \"recursive\" is true"}`)
	w.Do(t, "GET", w.at("/repository/tree?pagination=keyset&page_token=x"), nil).WantStatus(t, http.StatusUnprocessableEntity)

	legacy := w.Do(t, "GET", w.at("/repository/tree?per_page=3"), nil)
	if h := legacy.Header; h.Get("X-Total") != "7" || h.Get("X-Total-Pages") != "3" || h.Get("X-Next-Page") != "2" || !strings.Contains(h.Get("Link"), `rel="next"`) {
		t.Errorf("got %v", h)
	}
	if h := w.Do(t, "GET", w.at("/repository/tree?per_page=3&recursive=true"), nil).Header; h.Get("X-Total") != "11" || h.Get("X-Next-Page") != "2" {
		t.Errorf("got %v", h)
	}
}

func TestTheKeysetPagesOfATreeShowEveryEntryOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	files := map[string]string{}
	for i := range 9 { // several files have the same id
		files[fmt.Sprintf("f%d", i)], files[fmt.Sprintf("d%d/f", i)] = fmt.Sprint(i/3), fmt.Sprint(i/2)
	}
	w.seed(t, gitstoretest.Commit{Message: "one", Files: files})
	for _, mode := range []string{"", "&recursive=true"} {
		all := paths(read[[]shownEntry](t, w.Client, w.at("/repository/tree?per_page=100"+mode)))
		for perPage := 1; perPage < 5; perPage++ {
			var seen []string
			next := w.at(fmt.Sprintf("/repository/tree?pagination=keyset&per_page=%d%s", perPage, mode))
			for next != "" {
				reply := w.Do(t, "GET", next, nil)
				reply.WantStatus(t, http.StatusOK)
				var page []shownEntry
				reply.Decode(t, &page)
				seen = append(seen, paths(page)...)
				if len(page) > perPage || reply.Header.Get("X-Total") != "" {
					t.Fatalf("got %d entries, %v", len(page), reply.Header)
				}
				link := reply.Header.Get("Link")
				if next = ""; link != "" {
					u, err := url.Parse(strings.Trim(strings.Split(link, ";")[0], "<>"))
					if err != nil || u.Query().Get("page_token") == "" {
						t.Fatalf("got %q, %v", link, err)
					}
					next = strings.TrimPrefix(u.RequestURI(), "/api/v4")
				}
			}
			slices.Sort(seen)
			want := slices.Sorted(slices.Values(all))
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("%d on a page%s: %s", perPage, mode, diff)
			}
		}
	}
	// The id of a record is a token, as clients that do not follow links have it.
	first := read[[]shownEntry](t, w.Client, w.at("/repository/tree?pagination=keyset&per_page=1"))
	second := read[[]shownEntry](t, w.Client, w.at("/repository/tree?pagination=keyset&per_page=1&page_token="+first[0].ID))
	if second[0].Path != "d1" && second[0].Path != "d2" {
		t.Errorf("got %+v after %+v", second, first)
	}
}

func TestABlobIsShownAndSentAsItIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	large := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	repo, ids := w.seed(t, gitstoretest.Commit{Message: "one", Files: map[string]string{"a": "<script>\n", "large": large}})
	for path, content := range map[string]string{"a": "<script>\n", "large": large} {
		id := gitstoretest.Git(t, w.store, repo, "", "rev-parse", "main:"+path)
		got := read[map[string]any](t, w.Client, w.at("/repository/blobs/"+id))
		want := map[string]any{
			"size": float64(len(content)), "encoding": "base64", "content": base64.StdEncoding.EncodeToString([]byte(content)), "sha": id,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %.500s", path, diff)
		}
		raw := w.Do(t, "GET", w.at("/repository/blobs/"+id+"/raw"), nil)
		if raw.WantStatus(t, http.StatusOK); raw.Body != content {
			t.Errorf("%s: the bytes differ", path)
		}
		h := raw.Header
		if h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(h.Get("Cache-Control"), "no-store") ||
			!strings.HasPrefix(h.Get("Content-Disposition"), "inline") || h.Get("Etag") != `"`+id+`"` {
			t.Errorf("%s: got %v", path, h)
		}
		w.With("If-None-Match", h.Get("Etag")).Do(t, "GET", w.at("/repository/blobs/"+id+"/raw"), nil).WantStatus(t, http.StatusNotModified)
		if head := w.Do(t, "HEAD", w.at("/repository/blobs/"+id+"/raw"), nil); head.Header.Get("Content-Length") != fmt.Sprint(len(content)) || len(head.Body) > 0 {
			t.Errorf("%s: got %v", path, head.Header)
		}
	}
	for _, id := range []string{strings.Repeat("1", 40), string(ids[0]), "main", "main:a", "--help", "1234"} {
		for _, end := range []string{"", "/raw"} {
			w.Do(t, "GET", w.at("/repository/blobs/"+url.PathEscape(id)+end), nil).Want(t, http.StatusNotFound, `{"message":"404 Blob Not Found"}`)
		}
	}
}

func TestAnEmptyRepositoryHasNothingToShow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for path, want := range map[string]string{
		"/repository/tree":                "404 Tree Not Found",
		"/repository/archive":             "404 File Not Found",
		"/repository/archive.zip":         "404 File Not Found",
		"/repository/contributors":        "404 Not Found",
		"/repository/compare?from=a&to=b": "404 Ref Not Found",
	} {
		w.Do(t, "GET", w.at(path), nil).Want(t, http.StatusNotFound, `{"message":"`+want+`"}`)
	}
	w.Do(t, "GET", w.at("/repository/merge_base?refs[]=a&refs[]=b"), nil).Want(t, http.StatusBadRequest, `{"message":"Could not find refs: a, b"}`)
}

// RE-05: whatever git takes as an object, no door about code fails on it. The doors are those of the registry.
func TestRE05_AHostileRepositoryBreaksNoDoor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo, _ := w.seed(t)
	tip := repositorytest.Hostile(t, w.store, repo)
	calls := 0
	try := func(path string) *httpapitest.Reply {
		calls++
		reply := w.as(t, access.Owner).Do(t, "GET", path, nil)
		if reply.Status >= 500 {
			t.Errorf("GET %s: %d %.300s", path, reply.Status, reply.Body)
		}
		if strings.HasPrefix(reply.Header.Get("Content-Type"), "application/json") && !json.Valid([]byte(reply.Body)) {
			t.Errorf("GET %s: not JSON: %.300s", path, reply.Body)
		}
		return reply
	}
	refs := []string{"main", "other", "twin", "of-blob", "a/b/c", "日本", string(tip), "HEAD", "v1.0.0", "main~1", "refs/keep-around/x", "\u202e"}
	filePaths := []string{
		"README.md", "-rf", "link", "submodule", "dir", "dir/file", "a\nb", "quote\"d", "back\\slash", "?x=1#y", ":(glob)*", "long.txt", "raw.dat",
		"日本語.md", " ", "...", "link/x", "submodule/x", strings.Repeat("n", 255), strings.Repeat("d/", 2000) + "f",
	}
	var blobs []string
	for _, e := range read[[]shownEntry](t, w.Client, w.at("/repository/tree?per_page=100&recursive=true&ref=refs/heads/main")) {
		blobs = append(blobs, e.ID)
	}
	for _, e := range w.repositories.Endpoints() {
		if e.Method != http.MethodGet || !strings.HasPrefix(e.Path, "/projects/{id}/") {
			continue
		}
		fill := func(ref, path, id string) string {
			query := url.Values{}
			address := strings.Replace(e.Path, "{id}", fmt.Sprint(w.project.ID), 1)
			for _, p := range e.Params {
				var value string
				switch p.Name {
				case "id":
					continue
				case "sha", "ref", "branch", "tag_name", "name", "from":
					value = ref
				case "to":
					value = "refs/heads/main"
				case "path", "file_path":
					value = path
				case "format":
					value = "tar"
				case "refs":
					query["refs[]"] = []string{ref, "refs/heads/main"}
					continue
				case "version":
					value = "2.0.0"
				default:
					if !p.InPath {
						continue
					}
					value = "1"
				}
				if p.InPath {
					if p.Name == "sha" && strings.Contains(e.Path, "/blobs/") {
						value = id
					}
					address = strings.Replace(address, "{"+p.Name+"}", url.PathEscape(value), 1)
				} else if value != "" {
					query.Set(p.Name, value)
				}
			}
			return address + "?" + query.Encode()
		}
		for _, ref := range refs {
			try(fill(ref, "", blobs[0]))
		}
		for _, path := range filePaths {
			try(fill("refs/heads/main", path, blobs[0]))
		}
		for _, id := range blobs {
			try(fill("refs/heads/main", "README.md", id))
		}
		for _, more := range []string{"&recursive=true&per_page=100", "&recursive=true&pagination=none", "&straight=true&unidiff=true", "&all=true&with_stats=true", "&order_by=name&sort=desc"} {
			try(fill("main", "", blobs[0]) + more)
		}
	}
	if calls < 500 {
		t.Errorf("%d calls are not all doors", calls)
	}
}

// GI-07: a name that a branch and a tag share means one object at every door.
func TestGI07_OneNameIsOneObjectAtEveryDoor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo, ids := w.seed(t,
		gitstoretest.Commit{Message: "one", Files: map[string]string{"f": "tag"}, Tag: "twin"},
		gitstoretest.Commit{Message: "two", From: 1, Files: map[string]string{"f": "branch"}},
		gitstoretest.Commit{Message: "three", From: 2, Branch: "twin", Files: map[string]string{"f": "twin branch"}},
	)
	want := gitstoretest.Git(t, w.store, repo, "", "rev-parse", string(ids[0])+":f")
	if tree := read[[]shownEntry](t, w.Client, w.at("/repository/tree?ref=twin")); tree[0].ID != want {
		t.Errorf("the tree shows %s", tree[0].ID)
	}
	archive := w.Do(t, "HEAD", w.at("/repository/archive.zip?sha=twin"), nil)
	if name := archive.Header.Get("Content-Disposition"); !strings.Contains(name, "forge-twin-"+string(ids[0])+".zip") {
		t.Errorf("the archive is %s", name)
	}
	if raw := w.Do(t, "GET", w.at("/repository/files/f/raw?ref=twin"), nil); raw.Body != "tag" {
		t.Errorf("the file holds %q", raw.Body)
	}
	var compared struct {
		SameRef bool `json:"compare_same_ref"`
	}
	w.Do(t, "GET", w.at("/repository/compare?from=twin&to="+string(ids[0])), nil).WantStatus(t, http.StatusOK).Decode(t, &compared)
	if !compared.SameRef {
		t.Error("the comparison means another object")
	}
}

// Whatever follows from ids that were seen before is answered without a word to git.
func TestWhatWasShownBeforeAsksGitNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(t, repositorytest.Files{"a.txt": "text", "dir/b.txt": "more"})
	raw := w.at("/repository/files/a.txt/raw?ref=main")
	pages := []string{"/repository/tree?ref=main", "/repository/tree?ref=main&recursive=true", "/repository/commits?ref_name=main"}
	first := w.Do(t, "GET", raw, nil)
	first.WantStatus(t, http.StatusOK)
	for _, page := range pages {
		w.Do(t, "GET", w.at(page), nil).WantStatus(t, http.StatusOK)
	}
	if err := w.store.Close(); err != nil { // no process answers, and none is started, from here on
		t.Fatal(err)
	}
	w.With("If-None-Match", first.Header.Get("Etag")).Do(t, "GET", raw, nil).WantStatus(t, http.StatusNotModified)
	for _, page := range pages {
		w.Do(t, "GET", w.at(page), nil).WantStatus(t, http.StatusOK)
	}
	if got := w.Do(t, "GET", raw, nil); got.Status == http.StatusOK {
		t.Error("the content came from nowhere: the store is not closed")
	}
}
