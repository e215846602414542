package gitstore_test

import (
	"fmt"
	"strings"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

// The reads that pages are made of. Commit and tree are measured without the cache, by ids that it has not seen; see
// docs/adr/0015-git-engine.md.
func BenchmarkRead(b *testing.B) {
	s := gitstoretest.Open(b)
	r := gitstoretest.New(b, s, 1)
	const many = 300
	var commits []gitstoretest.Commit
	files := map[string]string{"large": strings.Repeat("0123456789abcdef", 137*64)}
	for i := range 1200 {
		files[fmt.Sprint("file", i)] = fmt.Sprint(i)
	}
	commits = append(commits, gitstoretest.Commit{Message: "all", Files: files})
	for i := range many {
		commits = append(commits, gitstoretest.Commit{Message: fmt.Sprint(i), Files: map[string]string{"file0": fmt.Sprint("v", i)}})
	}
	ids := gitstoretest.Seed(b, s, r, commits...)
	gitstoretest.Git(b, s, r, "", "repack", "-adq")
	large, err := r.Find(b.Context(), ids[0], "large")
	if err != nil {
		b.Fatal(err)
	}
	cold := func(b *testing.B, read func(r *gitstore.Repo, id gitstore.OID) error) {
		fresh := gitstore.Quarantined(b, r) // where nothing is kept, so that every read asks git
		for i := 0; b.Loop(); i++ {
			if err := read(fresh, ids[1+i%(many-1)]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("commit by ref", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Resolve(b.Context(), "main"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("commit, cold", func(b *testing.B) {
		cold(b, func(r *gitstore.Repo, id gitstore.OID) error { _, err := r.Commit(b.Context(), id); return err })
	})
	b.Run("tree of 1201, cold", func(b *testing.B) {
		cold(b, func(r *gitstore.Repo, id gitstore.OID) error { _, err := r.Tree(b.Context(), id, ""); return err })
	})
	b.Run("tree of 1201, warm", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Tree(b.Context(), ids[0], ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("blob of 137 KB", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Blob(b.Context(), large.ID, 1<<20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("refs", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := r.Refs(b.Context(), gitstore.RefQuery{Prefix: gitstore.Branches, Limit: 20}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
