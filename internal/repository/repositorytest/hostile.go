package repositorytest

import (
	"fmt"
	"strings"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

// Hostile fills a repository with everything that git takes and nobody
// expects: names that are no text, people without names, dates before and
// after all time, other encodings, submodules and links to anywhere, lines
// without end, a tag of a tag of a blob, histories that never met. Branches:
// main, other (without common ancestor), twin (also a tag, elsewhere).
func Hostile(t testing.TB, s *gitstore.Store, r *gitstore.Repo) (tip gitstore.OID) {
	t.Helper()
	git := func(stdin string, args ...string) gitstore.OID {
		return gitstore.OID(gitstoretest.Git(t, s, r, stdin, args...))
	}
	blob := git("<script>alert(1)</script>\n", "hash-object", "-w", "--stdin")
	long := git(strings.Repeat("x", 3<<20), "hash-object", "-w", "--stdin")
	link := git("../../../../etc/passwd", "hash-object", "-w", "--stdin")
	raw := git("a\x00\xff\xfe\r\nb", "hash-object", "-w", "--stdin")
	inner := git(fmt.Sprintf("100644 blob %s\tfile", blob), "mktree")
	var names strings.Builder
	entry := func(mode, kind string, id gitstore.OID, name string) {
		fmt.Fprintf(&names, "%s %s %s\t%s\x00", mode, kind, id, name)
	}
	for _, name := range []string{
		"a\nb", "quote\"d", "back\\slash", "\xff\xfe.bin", "-rf", "--output=x", "..x", "...", " ", "tab\tname", "%2e%2e", "?x=1#y", "<b>.html",
		"\u202egpj.exe", "日本語.md", ":(glob)*", "CON", "a:b", "*", strings.Repeat("n", 255), "README.md",
	} {
		entry("100644", "blob", blob, name)
	}
	entry("120000", "blob", link, "link")
	entry("160000", "commit", "1111111111111111111111111111111111111111", "submodule")
	entry("100755", "blob", long, "long.txt")
	entry("100644", "blob", raw, "raw.dat")
	entry("040000", "tree", inner, "dir\xff")
	entry("040000", "tree", inner, "dir")
	tree := git(names.String(), "mktree", "-z")
	write := func(kind, text string) gitstore.OID {
		return git(text, "hash-object", "-t", kind, "-w", "--literally", "--stdin")
	}
	person := "\xe9<script> \x01 <no address> 99999999999999 +9999"
	first := write("commit", fmt.Sprintf("tree %s\nauthor %s\ncommitter  <> -1 -0000\nencoding ISO-8859-1\n\ngr\xfc\xdf\n", inner, person))
	second := write("commit", fmt.Sprintf("tree %s\nparent %s\nauthor A <a@x> 0 +0000\ncommitter A <a@x> 4102444800 -1200\ngpgsig -----BEGIN\n x\n\n\n", tree, first))
	title := strings.Repeat("t", 100_000)
	tip = write("commit", fmt.Sprintf("tree %s\nparent %s\nauthor  <> 1 +0000\ncommitter \xff <\xff> 1 +0000\n\n%s\n\nThis reverts commit %s\n\nChangelog: \xff\n: empty\n",
		tree, second, title, second))
	other := write("commit", fmt.Sprintf("tree %s\nauthor O <o@x> 1 +0000\ncommitter O <o@x> 1 +0000\n\n", gitstore.EmptyTree))
	git("", "hash-object", "-t", "tree", "-w", "--stdin")
	nameless := write("tag", fmt.Sprintf("object %s\ntype blob\ntag x\n\n", blob))
	nested := write("tag", fmt.Sprintf("object %s\ntype tag\ntag y\ntagger T <t@x> 1 +0000\n\n\xff", nameless))
	for name, id := range map[string]gitstore.OID{
		"refs/heads/main": tip, "refs/heads/other": other, "refs/heads/twin": second, "refs/tags/twin": first, "refs/tags/main": first,
		"refs/tags/of-blob": nested, "refs/tags/v1.0.0": first, "refs/heads/a/b/c": second, "refs/heads/日本": second,
		"refs/keep-around/x": other,
	} {
		git("", "update-ref", name, string(id))
	}
	return tip
}
