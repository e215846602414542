package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/platform/sorting"
)

type item struct{ key, place int }

func TestListsAreSortedAsSlicesSortsThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys")
		var list []item
		for place, key := range keys {
			list = append(list, item{key, place})
		}
		byKey := func(a, b item) int { return cmp.Compare(a.key, b.key) }
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		stable := slices.Clone(list)
		if sorting.Stably(stable, byKey); !slices.Equal(stable, want) {
			t.Fatalf("%v", stable)
		}
		whole := func(a, b item) int { return cmp.Or(byKey(a, b), cmp.Compare(a.place, b.place)) }
		if got := sorting.All(slices.Values(list), whole); !slices.Equal(got, want) {
			t.Fatalf("%v", got)
		}
		if sorting.By(list, whole); !slices.Equal(list, want) {
			t.Fatalf("%v", list)
		}
	})
}
