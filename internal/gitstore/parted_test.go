package gitstore_test

import (
	"errors"
	"slices"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
)

func TestADiffFromWhereHistoriesPartedIsThatFromTheirBase(t *testing.T) {
	t.Parallel()
	s := gitstoretest.Open(t)
	r := gitstoretest.New(t, s, 1)
	file := func(name, text string) map[string]string { return map[string]string{name: text} }
	ids := gitstoretest.Seed(t, s, r,
		gitstoretest.Commit{Message: "1", Files: file("a", "1")},
		gitstoretest.Commit{Message: "2", Files: file("b", "2")},
		gitstoretest.Commit{Message: "3", Branch: "side", From: 1, Files: file("c", "3")},
		// Each took the other in: both 2 and 3 are bases.
		gitstoretest.Commit{Message: "4", Merge: []int{3}, Files: file("c", "3")},
		gitstoretest.Commit{Message: "5", Branch: "side", Merge: []int{2}, Files: file("d", "5")},
		gitstoretest.Commit{Message: "6", Branch: "stranger", Files: file("e", "6")},
	)
	names := func(d *gitstore.Diff) (all []string) {
		for _, f := range d.Files {
			all = append(all, f.NewPath)
		}
		return all
	}
	for _, c := range [][2]int{{2, 3}, {4, 5}, {5, 4}, {2, 6}, {1, 4}} {
		from, to := ids[c[0]-1], ids[c[1]-1]
		base, err := r.MergeBase(t.Context(), from, to)
		if errors.Is(err, gitstore.ErrNotFound) {
			base, err = from, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.Diff(t.Context(), base, to, gitstore.DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Diff(t.Context(), from, to, gitstore.DiffOptions{Parted: true})
		if err != nil || !slices.Equal(names(got), names(want)) {
			t.Errorf("%v: %v, %q, want %q", c, err, names(got), names(want))
		}
	}
}
