package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
)

// Repo is the shared repository fixture.
//
//	README -> base (v1.0.0) -> one (v1.1.0-rc1) -> two (1.2.0) -> low -> rel   default branch
//	           \-> side                                                        branch feature/side
type Repo struct {
	Project
	base, one, two, low, rel, side string
}

const binText = "\x00\x01binary\xff\n"

func (t *T) repo() Repo {
	return memo(t, "repository", func(t *T) Repo { return t.buildRepo("repo") })
}

func (t *T) buildRepo(prefix string) Repo {
	r := Repo{Project: t.newProject(prefix, nil)}
	files := map[string]string{
		"docs/guide.md": "guide\n", "docs/deep/notes.txt": "notes\n", "src/app.txt": "one\n",
		".svc/changelog_config.yml": "categories:\n  added: Features\n  fixed: Repairs\n",
		"alt_config.yml":            "categories:\n  added: Novelties\n  fixed: Repairs\n",
	}
	for i := range 25 {
		files[fmt.Sprintf("many/file-%02d.txt", i)] = fmt.Sprintf("file %d\n", i)
	}
	alice := M{"author_name": "Alice Author", "author_email": "alice@example.com"}
	bob := M{"author_name": "Bob Builder", "author_email": "bob@example.com"}
	r.base = t.commit(r.Project, r.Branch, "Base files [skip ci]", files, alice)
	t.tag(r.Project, "v1.0.0", r.base)
	r.one = t.commit(r.Project, r.Branch, "Add feature one\n\nChangelog: added", map[string]string{"!src/app.txt": "two\n"}, bob)
	t.tag(r.Project, "v1.1.0-rc1", r.one)
	r.two = t.commit(r.Project, r.Branch, "Fix thing two\n\nChangelog: fixed", map[string]string{"!src/app.txt": "three\n"}, bob)
	t.tag(r.Project, "1.2.0", r.two)
	r.low = t.commit(r.Project, r.Branch, "Lowercase trailer\n\nchangelog: added", map[string]string{"low.txt": "l\n"}, bob)
	r.rel = t.commit(r.Project, r.Branch, "Own trailer\n\nRelnote: added", map[string]string{"rel.txt": "r\n"}, alice)
	t.post(t.user("owner").Token, r.path("/repository/branches"), M{"branch": "feature/side", "ref": r.base}).ok(201)
	body := M{"branch": "feature/side", "commit_message": "Side work", "actions": []M{
		{"action": "create", "file_path": "side.txt", "content": "side\n"},
		{"action": "create", "file_path": "bin.dat", "encoding": "base64", "content": base64.StdEncoding.EncodeToString([]byte(binText))}}}
	r.side = str(t.post(t.user("owner").Token, r.path("/repository/commits"), body).ok(201).obj(), "id")
	return r
}

// blobID is the git object ID of content (SHA-1 repositories).
func blobID(content string) string {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "blob %d\x00%s", len(content), content)
	return hex.EncodeToString(h.Sum(nil))
}

func (t *T) tree(query string) []M {
	return t.get(t.user("owner").Token, t.repo().path("/repository/tree%s", query)).ok(200).arr()
}

// treeBlob finds the blob ID of a path through the tree endpoint.
func (t *T) treeBlob(p Project, ref, path string) string {
	dir := ""
	if i := strings.LastIndex(path, "/"); i >= 0 {
		dir = path[:i]
	}
	q := url.Values{"ref": {ref}, "path": {dir}, "per_page": {"100"}}
	e := pick(t.get(t.user("owner").Token, p.path("/repository/tree?%s", q.Encode())).ok(200).arr(), "path", path)
	t.check(e != nil, path+" in the tree of "+ref, "absent")
	return str(e, "id")
}

func (t *T) fileText(p Project, ref, path string) string {
	return string(t.get(t.user("owner").Token, p.path("/repository/blobs/%s/raw", t.treeBlob(p, ref, path))).ok(200).body)
}

// archive downloads an archive, rotating callers so that a server with the
// hosted limit of 5 per minute and user is not tripped.
func (t *T) archive(suffix, query string) []byte {
	callers := []string{t.user("owner").Token, t.user("dev").Token, t.user("maint").Token, t.admin, t.user("plain").Token, t.user("stranger").Token}
	n := memo(t, "archive counter", func(*T) *int { return new(int) })
	tok := callers[(*n/4)%len(callers)]
	*n++
	return t.get(tok, t.repo().path("/repository/archive%s%s", suffix, query)).ok(200).body
}

// members lists file names in an archive of the named kind, cut of the
// leading directory.
func (t *T) members(data []byte, kind string) []string {
	var out []string
	add := func(name string) {
		if i := strings.Index(name, "/"); i >= 0 && !strings.HasSuffix(name, "/") {
			out = append(out, name[i+1:])
		}
	}
	if kind == "zip" {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		t.check(err == nil, "a zip archive", "%v", err)
		for _, f := range z.File {
			add(f.Name)
		}
		return out
	}
	var r io.Reader = bytes.NewReader(data)
	switch kind {
	case "gz":
		g, err := gzip.NewReader(r)
		t.check(err == nil, "a gzip stream", "%v", err)
		r = g
	case "bz2":
		r = bzip2.NewReader(r)
	}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return out
		}
		t.check(err == nil, "a tar archive ("+kind+")", "%v", err)
		if h.Typeflag == tar.TypeReg {
			add(h.Name)
		}
	}
}

func (t *T) compare(query string) M {
	return t.get(t.user("owner").Token, t.repo().path("/repository/compare?%s", query)).ok(200).obj()
}

func (t *T) notes(query string) string {
	m := t.get(t.user("owner").Token, t.repo().path("/repository/changelog?%s", query)).ok(200).obj()
	t.shape(m, "notes str")
	return str(m, "notes")
}

func (t *T) contains(text string, want ...string) {
	for _, w := range want {
		t.check(strings.Contains(text, w), fmt.Sprintf("text with %q", w), "%q", text)
	}
}

func (t *T) excludes(text string, unwanted ...string) {
	for _, w := range unwanted {
		t.check(!strings.Contains(text, w), fmt.Sprintf("text without %q", w), "%q", text)
	}
}

func areaRepository() Area {
	a := &areaTable{prefix: "REPO"}
	owner := func(t *T) string { return t.user("owner").Token }

	// Tree
	a.add("Tree entry: id, name, type, path, mode (string)", "GET tree of the default branch", func(t *T) {
		for _, e := range t.tree("") {
			t.shape(e, "id str, name str, type str, path str, mode str")
		}
	})
	a.add("Tree entry type is tree or blob", "docs is a tree, README.md a blob", func(t *T) {
		items := t.tree("?per_page=100")
		t.eq("type of docs", pick(items, "name", "docs")["type"], "tree")
		t.eq("type of README.md", pick(items, "name", "README.md")["type"], "blob")
	})
	a.add("Tree entry id is the object ID", "id of src/app.txt is the git blob hash of its content", func(t *T) {
		t.eq("id", t.treeBlob(t.repo().Project, t.repo().Branch, "src/app.txt"), blobID("three\n"))
	})
	a.add("Tree: path selects a directory", "path=docs lists docs/guide.md and docs/deep", func(t *T) {
		got := column(t.tree("?path=docs"), "path")
		slices.Sort(got)
		t.eq("paths", got, "[docs/deep docs/guide.md]")
	})
	a.add("Tree: path with a slash", "path=docs/deep (encoded) lists notes.txt", func(t *T) {
		t.eq("paths", column(t.tree("?path=docs%2Fdeep"), "path"), "[docs/deep/notes.txt]")
	})
	a.add("Tree: ref may be a branch", "ref=feature/side shows side.txt", func(t *T) {
		t.check(pick(t.tree("?ref=feature%2Fside&per_page=100"), "path", "side.txt") != nil, "side.txt", "absent")
	})
	a.add("Tree: ref may be a tag", "ref=v1.0.0 does not show low.txt", func(t *T) {
		items := t.tree("?ref=v1.0.0&per_page=100")
		t.check(pick(items, "path", "docs") != nil && pick(items, "path", "low.txt") == nil, "the tree of the tag", "%v", column(items, "path"))
	})
	a.add("Tree: ref defaults to the default branch", "low.txt shown without ref", func(t *T) {
		t.check(pick(t.tree("?per_page=100"), "path", "low.txt") != nil, "low.txt", "absent")
	})
	a.add("Tree: recursive=true lists nested entries", "docs/deep/notes.txt appears", func(t *T) {
		t.check(pick(t.tree("?recursive=true&per_page=100"), "path", "docs/deep/notes.txt") != nil, "docs/deep/notes.txt", "absent")
	})
	a.add("Tree: recursive defaults to false", "no path with a slash at the root", func(t *T) {
		for _, p := range column(t.tree("?per_page=100"), "path") {
			t.check(!strings.Contains(p, "/"), "root entries only", "%s", p)
		}
	})
	a.add("Tree: per_page defaults to 20", "25 files in many/, 20 returned", func(t *T) { t.eq("length", len(t.tree("?path=many")), 20) })
	a.add("Tree: per_page", "per_page=7 returns 7", func(t *T) { t.eq("length", len(t.tree("?path=many&per_page=7")), 7) })
	a.add("Tree: pagination=keyset walks the whole tree by Link rel=next", "25 distinct entries in pages of 10", func(t *T) {
		items := t.walkLinks(owner(t), t.repo().path("/repository/tree?path=many&pagination=keyset&per_page=10"))
		names := column(items, "path")
		slices.Sort(names)
		t.eq("distinct entries", len(slices.Compact(names)), 25)
		t.eq("entries", len(items), 25)
	})
	a.add("Tree: page_token (tree record ID) continues a keyset listing", "page_token = id of the 10th entry gives the entries after it", func(t *T) {
		first := t.tree("?path=many&pagination=keyset&per_page=10")
		t.eq("length", len(first), 10)
		next := t.tree("?path=many&pagination=keyset&per_page=10&page_token=" + str(first[9], "id"))
		t.check(len(next) == 10 && pick(next, "id", first[9]["id"]) == nil && pick(first, "id", next[0]["id"]) == nil, "the next ten entries", "%v", column(next, "path"))
	})
	a.add("Tree: keyset exposes no totals", "no x-total, x-total-pages headers", func(t *T) {
		r := t.get(owner(t), t.repo().path("/repository/tree?path=many&pagination=keyset&per_page=10")).ok(200)
		t.check(r.header.Get("x-total") == "" && r.header.Get("x-total-pages") == "", "no totals", "x-total %q", r.header.Get("x-total"))
	})
	a.add("Tree: unknown ref is not found", "ref=no-such-ref: 404", func(t *T) {
		t.tree("?ref=v1.0.0")
		t.get(owner(t), t.repo().path("/repository/tree?ref=no-such-ref")).ok(404)
	})

	// Anonymous access
	for _, c := range []struct{ what, path string }{
		{"tree", "/repository/tree"}, {"compare", "/repository/compare?from=v1.0.0&to=1.2.0"}, {"contributors", "/repository/contributors"},
		{"merge_base", "/repository/merge_base?refs[]=v1.0.0&refs[]=1.2.0"}, {"archive", "/repository/archive"}, {"changelog", "/repository/changelog?version=1.1.0"},
	} {
		a.add("Repository "+c.what+" may be read without authentication when public", "anonymous GET: 200", func(t *T) { t.get("", t.repo().path("%s", c.path)).ok(200) })
	}
	a.add("Repository blobs may be read without authentication when public", "anonymous GET blob and raw: 200", func(t *T) {
		t.get("", t.repo().path("/repository/blobs/%s", blobID("three\n"))).ok(200)
		t.get("", t.repo().path("/repository/blobs/%s/raw", blobID("three\n"))).ok(200)
	})
	a.add("A private repository is not readable without authentication", "anonymous GET tree, archive, contributors: 4xx", func(t *T) {
		for _, path := range []string{"tree", "archive", "contributors"} {
			t.get(t.user("maint").Token, t.privateProject().path("/repository/%s", path)).ok(200)
			t.get("", t.privateProject().path("/repository/%s", path)).refused()
		}
	})

	// Blobs
	a.add("Blob: size and Base64 content", "GET blobs/:sha of src/app.txt", func(t *T) {
		m := t.get(owner(t), t.repo().path("/repository/blobs/%s", blobID("three\n"))).ok(200).obj()
		t.eq("size", m["size"], 6)
		raw, err := base64.StdEncoding.DecodeString(str(m, "content"))
		t.check(err == nil && string(raw) == "three\n", "content = base64 of the file", "%v", m["content"])
	})
	a.add("Blob content is Base64 also for binary data", "bin.dat round trip", func(t *T) {
		m := t.get(owner(t), t.repo().path("/repository/blobs/%s", blobID(binText))).ok(200).obj()
		raw, err := base64.StdEncoding.DecodeString(str(m, "content"))
		t.check(err == nil && string(raw) == binText, "the binary content", "%v", m["content"])
	})
	a.add("Blob raw returns the raw bytes", "bin.dat byte for byte", func(t *T) {
		r := t.get(owner(t), t.repo().path("/repository/blobs/%s/raw", blobID(binText))).ok(200)
		t.check(string(r.body) == binText, "the raw bytes", "%q", r.body)
	})
	a.add("An unknown blob is not found", "blobs/:sha and raw: 404", func(t *T) {
		t.get(owner(t), t.repo().path("/repository/blobs/%s", blobID("three\n"))).ok(200)
		t.get(owner(t), t.repo().path("/repository/blobs/%s", strings.Repeat("0", 39)+"1")).ok(404)
		t.get(owner(t), t.repo().path("/repository/blobs/%s/raw", strings.Repeat("0", 39)+"1")).ok(404)
	})

	// Archive
	for _, c := range []struct{ suffix, kind string }{{"", "gz"}, {".tar.gz", "gz"}, {".tar", "tar"}, {".zip", "zip"}, {".bz2", "bz2"}, {".tar.bz2", "bz2"}, {".tb2", "bz2"}, {".tbz", "bz2"}, {".tbz2", "bz2"}} {
		what := c.suffix
		if what == "" {
			what = "no suffix (default tar.gz)"
		}
		a.add("Archive format "+what, "the answer is a readable archive of that kind holding src/app.txt", func(t *T) {
			names := t.members(t.archive(c.suffix, ""), c.kind)
			t.check(slices.Contains(names, "src/app.txt"), "src/app.txt in the archive", "%v", names)
		})
	}
	a.add("Archive: path limits to a subpath", "path=docs holds docs files only", func(t *T) {
		names := t.members(t.archive(".zip", "?path=docs"), "zip")
		t.check(slices.Contains(names, "docs/guide.md") && !slices.Contains(names, "src/app.txt"), "docs only", "%v", names)
	})
	a.add("Archive: an empty path means the whole repository", "path= holds src/app.txt", func(t *T) {
		t.check(slices.Contains(t.members(t.archive(".zip", "?path="), "zip"), "src/app.txt"), "src/app.txt", "absent")
	})
	for _, c := range []struct{ what, file string }{{"commit SHA", "side.txt"}, {"tag", "docs/guide.md"}, {"branch", "side.txt"}} {
		a.add("Archive: sha may be a "+c.what, "the archive holds that version", func(t *T) {
			sha := map[string]string{"commit SHA": t.repo().side, "tag": "v1.0.0", "branch": "feature/side"}[c.what]
			names := t.members(t.archive(".zip", "?sha="+url.QueryEscape(sha)), "zip")
			t.check(slices.Contains(names, c.file) && !slices.Contains(names, "low.txt"), c.file+" and no low.txt", "%v", names)
		})
	}
	a.add("Archive: sha defaults to the tip of the default branch", "low.txt and rel.txt are in it", func(t *T) {
		names := t.members(t.archive(".zip", ""), "zip")
		t.check(slices.Contains(names, "low.txt") && slices.Contains(names, "rel.txt") && !slices.Contains(names, "side.txt"), "the tip of the default branch", "%v", names)
	})
	a.add("Archive: an unknown sha is not found", "404", func(t *T) {
		t.get(t.user("oauth").Token, t.repo().path("/repository/archive.zip?sha=v1.0.0")).ok(200)
		t.get(t.user("oauth").Token, t.repo().path("/repository/archive.zip?sha=no-such-ref")).ok(404)
	})

	// Compare
	for _, missing := range []string{"from", "to"} {
		a.add("Compare: "+missing+" is required", "400 without it", func(t *T) {
			q := url.Values{"from": {"v1.0.0"}, "to": {"1.2.0"}}
			q.Del(missing)
			t.get(owner(t), t.repo().path("/repository/compare?%s", q.Encode())).ok(400)
		})
	}
	plain := "from=v1.0.0&to=1.2.0"
	a.add("Comparison: members commit, commits, diffs, compare_timeout, compare_same_ref, web_url", "types", func(t *T) {
		t.shape(t.compare(plain), "commit obj?, commits arr, diffs arr, compare_timeout bool, compare_same_ref bool, web_url url")
	})
	a.add("Comparison commits are {id, short_id, title, author_name, author_email, created_at}", "the two commits between the tags", func(t *T) {
		m := t.compare(plain)
		t.eq("number of commits", len(list(m, "commits")), 2)
		for _, x := range list(m, "commits") {
			o, _ := x.(M)
			t.shape(o, "id str, short_id str, title str, author_name str, author_email str, created_at time")
		}
	})
	a.add("Comparison commit has the same fields", "commit object", func(t *T) {
		t.shape(sub(t.compare(plain), "commit"), "id str, short_id str, title str, author_name str, author_email str, created_at time")
	})
	a.add("Comparison diffs fields", "old_path, new_path, a_mode, b_mode, diff, new_file, renamed_file, deleted_file", func(t *T) {
		d := list(t.compare(plain), "diffs")
		t.eq("number of diffs", len(d), 1)
		o, _ := d[0].(M)
		t.shape(o, "old_path str, new_path str, a_mode str, b_mode str, diff str, new_file bool, renamed_file bool, deleted_file bool")
		t.eq("new_path", o["new_path"], "src/app.txt")
		t.contains(str(o, "diff"), "-one", "+three")
	})
	a.add("Comparison: new_file is true for an added file", "from v1.0.0 to feature/side: side.txt", func(t *T) {
		o := pick(mapsOf(t.compare("from=v1.0.0&to=feature%2Fside"), "diffs"), "new_path", "side.txt")
		t.check(o != nil, "a diff of side.txt", "absent")
		t.eq("new_file", o["new_file"], true)
	})
	a.add("Comparison: compare_same_ref is true for equal refs", "from = to", func(t *T) {
		t.eq("compare_same_ref", t.compare("from=v1.0.0&to=v1.0.0")["compare_same_ref"], true)
		t.eq("compare_same_ref", t.compare(plain)["compare_same_ref"], false)
	})
	a.add("Compare: straight=false (default) uses the merge base", "default branch to feature/side: src/app.txt not in the diffs", func(t *T) {
		t.check(pick(mapsOf(t.compare("from="+t.repo().Branch+"&to=feature%2Fside"), "diffs"), "new_path", "src/app.txt") == nil, "no diff of src/app.txt", "present")
	})
	a.add("Compare: straight=true compares from..to", "default branch to feature/side: src/app.txt in the diffs", func(t *T) {
		t.check(pick(mapsOf(t.compare("from="+t.repo().Branch+"&to=feature%2Fside&straight=true"), "diffs"), "new_path", "src/app.txt") != nil, "a diff of src/app.txt", "absent")
	})
	a.add("Compare: unidiff=true gives unified diffs", "diff with --- and +++ lines", func(t *T) {
		o := pick(mapsOf(t.compare(plain+"&unidiff=true"), "diffs"), "new_path", "src/app.txt")
		t.check(o != nil, "a diff of src/app.txt", "absent")
		t.contains(str(o, "diff"), "--- a/src/app.txt", "+++ b/src/app.txt")
	})
	a.add("Compare: unidiff defaults to false", "diff without a +++ line", func(t *T) {
		o := pick(mapsOf(t.compare(plain), "diffs"), "new_path", "src/app.txt")
		t.check(o != nil, "a diff of src/app.txt", "absent")
		t.excludes(str(o, "diff"), "+++ b/")
	})
	a.add("Compare: from_project_id names the project of `from`", "the project's own ID gives the same commits", func(t *T) {
		t.eq("number of commits", len(list(t.compare(fmt.Sprintf("%s&from_project_id=%d", plain, t.repo().ID)), "commits")), 2)
	})
	a.add("Compare: commits may be given by SHA", "from and to as full SHAs", func(t *T) {
		m := t.compare("from=" + t.repo().base + "&to=" + t.repo().two)
		t.eq("commit.id", sub(m, "commit")["id"], t.repo().two)
	})
	a.add("Compare: an unknown ref is not found", "404", func(t *T) {
		t.compare(plain)
		t.get(owner(t), t.repo().path("/repository/compare?from=no-such&to=v1.0.0")).ok(404)
	})

	// Contributors
	contributors := func(t *T, q string) []M {
		return t.get(owner(t), t.repo().path("/repository/contributors%s", q)).ok(200).nonEmpty()
	}
	a.add("Contributor: name, email, commits, additions, deletions", "types", func(t *T) {
		for _, c := range contributors(t, "") {
			t.shape(c, "name str, email str, commits int, additions int, deletions int")
		}
	})
	a.add("Contributor commits counts the author's commits", "bob 3, alice 2", func(t *T) {
		l := contributors(t, "")
		t.eq("commits of bob", pick(l, "email", "bob@example.com")["commits"], 3)
		t.eq("commits of alice", pick(l, "email", "alice@example.com")["commits"], 2)
	})
	a.add("Contributors: default order commits, ascending", "commits column ascending", func(t *T) {
		l := contributors(t, "")
		for i := 1; i < len(l); i++ {
			t.check(num(l[i-1], "commits") <= num(l[i], "commits"), "ascending commits", "%v", column(l, "commits"))
		}
	})
	for _, key := range []string{"name", "email", "commits"} {
		for _, dir := range []string{"asc", "desc"} {
			a.add(fmt.Sprintf("Contributors: order_by=%s sort=%s", key, dir), "alice and bob in that order", func(t *T) {
				l := contributors(t, "?order_by="+key+"&sort="+dir)
				mails := column(l, "email")
				first, second := slices.Index(mails, "alice@example.com"), slices.Index(mails, "bob@example.com")
				t.check(first >= 0 && second >= 0 && (first < second) == (dir == "asc"), "sorted", "%v", mails)
			})
		}
	}
	a.add("Contributors: an unsupported order_by is refused", "order_by=bogus: 400", func(t *T) { t.get(owner(t), t.repo().path("/repository/contributors?order_by=bogus")).ok(400) })

	// Merge base
	mb := func(t *T, q string) *Resp { return t.get(owner(t), t.repo().path("/repository/merge_base%s", q)) }
	a.add("Merge base of two refs", "default branch and feature/side: the base commit", func(t *T) {
		t.eq("id", mb(t, "?refs[]="+t.repo().Branch+"&refs[]=feature%2Fside").ok(200).obj()["id"], t.repo().base)
	})
	a.add("Merge base accepts more than two refs", "three refs", func(t *T) {
		t.eq("id", mb(t, "?refs[]="+t.repo().Branch+"&refs[]=feature%2Fside&refs[]=1.2.0").ok(200).obj()["id"], t.repo().base)
	})
	a.add("Merge-base commit fields", "id, short_id, title, created_at, parent_ids, message, author_*, authored_date, committer_*, committed_date", func(t *T) {
		t.shape(mb(t, "?refs[]=v1.0.0&refs[]=1.2.0").ok(200).obj(), "id str, short_id str, title str, created_at time, parent_ids arr, message str, author_name str, author_email str, authored_date time, committer_name str, committer_email str, committed_date time")
	})
	a.add("Merge base: refs is required", "400 without refs", func(t *T) { mb(t, "").ok(400) })
	a.add("Merge base: two or more refs are needed", "400 with one ref", func(t *T) { mb(t, "?refs[]=v1.0.0").ok(400) })

	// Changelog
	a.add("Changelog (GET): version is required", "400 without it", func(t *T) { t.get(owner(t), t.repo().path("/repository/changelog")).ok(400) })
	a.add("Changelog (GET): version must be a semantic version", "version=abc: 400", func(t *T) { t.get(owner(t), t.repo().path("/repository/changelog?version=abc")).ok(400) })
	a.add("Changelog (GET) returns {notes} in Markdown", "heading with the version", func(t *T) { t.contains(t.notes("version=1.1.0"), "## 1.1.0") })
	a.add("Changelog: without from the range starts at the last stable tag before version; pre-release tags are ignored", "1.1.0 starts at v1.0.0, so both trailer commits are in, despite v1.1.0-rc1", func(t *T) {
		t.contains(t.notes("version=1.1.0"), "Add feature one", "Fix thing two")
	})
	a.add("Changelog: tag names vX.Y.Z and X.Y.Z both count", "1.3.0 starts at tag 1.2.0, so the older commits are out", func(t *T) {
		t.excludes(t.notes("version=1.3.0"), "Add feature one", "Fix thing two")
	})
	a.add("Changelog: no earlier tag and no from is an error", "version=0.5.0: 4xx", func(t *T) {
		t.notes("version=1.1.0")
		t.get(owner(t), t.repo().path("/repository/changelog?version=0.5.0")).refused()
	})
	a.add("Changelog: with from given no tag is needed", "version=0.5.0&from=<base>: 200", func(t *T) {
		t.contains(t.notes("version=0.5.0&from="+t.repo().base), "Add feature one")
	})
	a.add("Changelog: from is excluded from the range", "from=<first trailer commit> leaves it out", func(t *T) {
		n := t.notes("version=1.1.0&from=" + t.repo().one)
		t.contains(n, "Fix thing two")
		t.excludes(n, "Add feature one")
	})
	a.add("Changelog: to is included in the range", "to=<first trailer commit> has it and not the second", func(t *T) {
		n := t.notes("version=1.1.0&to=" + t.repo().one)
		t.contains(n, "Add feature one")
		t.excludes(n, "Fix thing two")
	})
	a.add("Changelog (GET): to defaults to the head of the default branch", "both trailer commits present", func(t *T) { t.contains(t.notes("version=1.1.0"), "Fix thing two") })
	a.add("Changelog: the trailer is case-sensitive", "commit with `changelog:` is not in", func(t *T) { t.excludes(t.notes("version=1.1.0"), "Lowercase trailer") })
	a.add("Changelog: the default trailer is Changelog", "commit with `Relnote:` only is not in", func(t *T) { t.excludes(t.notes("version=1.1.0"), "Own trailer") })
	a.add("Changelog: trailer selects commits", "trailer=Relnote lists that commit only", func(t *T) {
		n := t.notes("version=1.1.0&trailer=Relnote")
		t.contains(n, "Own trailer")
		t.excludes(n, "Add feature one")
	})
	a.add("Changelog (GET): date (ISO 8601)", "the date shows in the notes", func(t *T) { t.contains(t.notes("version=1.1.0&date=2021-03-04T05:06:07Z"), "2021-03-04") })
	a.add("Changelog: date defaults to now", "today's date in the notes", func(t *T) {
		n := t.notes("version=1.1.0")
		t.check(strings.Contains(n, dateIn(0)) || strings.Contains(n, dateIn(-1)), "today's date", "%q", n)
	})
	a.add("Changelog: config_file defaults to .svc/changelog_config.yml", "its category title appears", func(t *T) { t.contains(t.notes("version=1.1.0"), "Features", "Repairs") })
	a.add("Changelog: config_file names another configuration", "config_file=alt_config.yml: its category title appears", func(t *T) { t.contains(t.notes("version=1.1.0&config_file=alt_config.yml"), "Novelties") })
	a.add("Changelog (GET) commits nothing", "the default branch tip is unchanged", func(t *T) {
		t.notes("version=1.1.0")
		t.eq("tip", sub(t.compare("from=v1.0.0&to="+t.repo().Branch), "commit")["id"], t.repo().rel)
	})
	post := func(t *T, r Repo, body M) *Resp { return t.post(owner(t), r.path("/repository/changelog"), body) }
	made := func(t *T) Repo {
		return memo(t, "changelog commit", func(t *T) Repo {
			r := t.buildRepo("chg")
			post(t, r, M{"version": "1.1.0"}).ok()
			return r
		})
	}
	a.add("Changelog (POST): version is required", "400 without it", func(t *T) { post(t, t.repo(), M{}).ok(400) })
	a.add("Changelog (POST) commits the section to CHANGELOG.md on the default branch", "file content has the section", func(t *T) {
		r := made(t)
		t.contains(t.fileText(r.Project, r.Branch, "CHANGELOG.md"), "## 1.1.0", "Add feature one", "Fix thing two")
	})
	a.add("Changelog (POST): the default commit message is `Add changelog for version X`", "title of the new commit", func(t *T) {
		r := made(t)
		m := t.get(owner(t), r.path("/repository/compare?from=%s&to=%s", r.rel, r.Branch)).ok(200).obj()
		t.eq("titles", column(mapsOf(m, "commits"), "title"), "[Add changelog for version 1.1.0]")
	})
	custom := func(t *T) Repo {
		return memo(t, "custom changelog commit", func(t *T) Repo {
			r := t.buildRepo("chc")
			t.post(owner(t), r.path("/repository/branches"), M{"branch": "notes", "ref": r.Branch}).ok(201)
			post(t, r, M{"version": "2.0.0", "branch": "notes", "file": "NEWS.md", "message": "Custom words", "from": r.base, "to": r.two,
				"trailer": "Changelog", "date": "2020-02-03T00:00:00Z", "config_file": "alt_config.yml"}).ok()
			return r
		})
	}
	a.add("Changelog (POST): branch and file", "NEWS.md on branch notes has the section; the default branch has not", func(t *T) {
		r := custom(t)
		t.contains(t.fileText(r.Project, "notes", "NEWS.md"), "## 2.0.0", "Add feature one")
		items := t.get(owner(t), r.path("/repository/tree?per_page=100")).ok(200).arr()
		t.check(pick(items, "path", "NEWS.md") == nil, "no NEWS.md on the default branch", "present")
	})
	a.add("Changelog (POST): message", "title of the new commit", func(t *T) {
		r := custom(t)
		m := t.get(owner(t), r.path("/repository/compare?from=%s&to=notes", r.rel)).ok(200).obj()
		t.eq("titles", column(mapsOf(m, "commits"), "title"), "[Custom words]")
	})
	a.add("Changelog (POST): date", "date in the section", func(t *T) { r := custom(t); t.contains(t.fileText(r.Project, "notes", "NEWS.md"), "2020-02-03") })
	a.add("Changelog (POST): config_file", "category title of that file", func(t *T) { r := custom(t); t.contains(t.fileText(r.Project, "notes", "NEWS.md"), "Novelties") })
	a.add("Changelog (POST): no earlier tag and no from is an error", "version=0.5.0: 4xx", func(t *T) {
		made(t)
		post(t, t.repo(), M{"version": "0.5.0"}).refused()
	})
	a.add("Changelog (POST) needs write permission", "a signed-in non-member: 403; anonymous: 401", func(t *T) {
		t.post(t.user("stranger").Token, t.repo().path("/repository/changelog"), M{"version": "1.1.0"}).ok(403)
		t.post("", t.repo().path("/repository/changelog"), M{"version": "1.1.0"}).ok(401)
	})
	moreRepository(a)
	return Area{"repository", a.rules}
}

// mapsOf reads an array member as objects.
func mapsOf(m M, key string) []M {
	var out []M
	for _, x := range list(m, key) {
		if o, is := x.(M); is {
			out = append(out, o)
		}
	}
	return out
}
