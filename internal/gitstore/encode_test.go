package gitstore

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestObjectsHaveTheIDsThatGitGivesThem(t *testing.T) {
	t.Parallel()
	dir := bareRepo(t)
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "content")
		want := strings.TrimSpace(realGit(t, dir, string(content), "hash-object", "-w", "-t", "blob", "--stdin"))
		if got := newObject(BlobKind, content).id; string(got) != want {
			t.Fatalf("blob: %s, want %s", got, want)
		}
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c.\- ]{1,3}`), 0, 12, rapid.ID).Draw(t, "names")
		var entries []Entry
		var listing strings.Builder
		for _, name := range names {
			e := Entry{ID: OID(want), Mode: rapid.SampledFrom([]Mode{FileMode, ExecMode, LinkMode, DirMode}).Draw(t, "mode"), Path: "x/" + name}
			if e.Mode == DirMode {
				e.ID = EmptyTree
			}
			entries = append(entries, e)
			fmt.Fprintf(&listing, "%s %s %s\t%s\x00", e.Mode, e.Mode.Kind(), e.ID, name)
		}
		want = strings.TrimSpace(realGit(t, dir, listing.String(), "mktree", "-z", "--missing"))
		tree, err := treeObject(entries)
		if err != nil || string(tree.id) != want {
			t.Fatalf("tree of %q: %s %v, want %s", listing.String(), tree.id, err, want)
		}
	})
}

func TestAPackIsReadByGitAndPassesItsChecks(t *testing.T) {
	t.Parallel()
	dir := bareRepo(t)
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 15, 16, 17, 2047, 2048, 2049, 300_000}), 1, 5).Draw(t, "sizes")
		var objects []object
		var entries []Entry
		for i, size := range sizes {
			blob := newObject(BlobKind, bytes.Repeat([]byte{byte('a' + i)}, size))
			objects = append(objects, blob)
			entries = append(entries, Entry{ID: blob.id, Mode: FileMode, Path: fmt.Sprint("f", i)})
		}
		tree, err := treeObject(entries)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
		who := Signature{Name: text.Draw(t, "name"), Email: text.Draw(t, "email"),
			When: time.Unix(rapid.Int64Range(-1e6, 4e9).Draw(t, "when"), 0).In(time.FixedZone("", 60*rapid.IntRange(-720, 840).Draw(t, "zone")))}
		commit, err := commitObject(tree.id, nil, who, who, text.Draw(t, "message"))
		if err != nil {
			t.Fatal(err)
		}
		tag, err := tagObject("v1", Object{ID: commit.id, Kind: CommitKind}, who, text.Draw(t, "note"))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, tree, commit, tag)

		var pack bytes.Buffer
		level := rapid.SampledFrom([]int{zlib.NoCompression, zlib.DefaultCompression}).Draw(t, "level")
		if err := writePack(&pack, objects, level); err != nil {
			t.Fatal(err)
		}
		realGit(t, dir, pack.String(), "index-pack", "--stdin", "--strict")
		var ids, want strings.Builder
		for _, o := range objects {
			fmt.Fprintln(&ids, o.id)
			fmt.Fprintf(&want, "%s %s %d\n%s\n", o.id, o.kind, len(o.data), o.data)
		}
		if got := realGit(t, dir, ids.String(), "cat-file", "--batch"); got != want.String() {
			t.Fatalf("comes back as %.400q", got)
		}
	})
	realGit(t, dir, "", "fsck", "--strict", "--no-dangling")
}

func TestASignatureCannotForgeAnotherLine(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0).In(time.FixedZone("", -(5*60+30)*60))
	for _, c := range []struct{ name, email, want string }{
		{"Ann", "ann@example.com", "Ann <ann@example.com> 1700000000 -0530"},
		{"A\ncommitter Eve <e@x> 1 +0000", "a\n@x", "Acommitter Eve e@x 1 +0000 <a@x> 1700000000 -0530"},
		{" ,.\"Ann\"; ", "<ann@x>", "Ann <ann@x> 1700000000 -0530"},
		{"", "", " <> 1700000000 -0530"},
		{"A\x00B", "\x00", "AB <> 1700000000 -0530"},
	} {
		if got := (Signature{Name: c.name, Email: c.email, When: at}).encode(); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.name, c.email, got, c.want)
		}
	}
}
