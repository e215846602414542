package history

import (
	"strconv"
	"testing"
)

func TestARepositoryIsAsLargeAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	size := Size{Commits: 300, Files: 120, Branches: 5, Tags: 10}
	path, err := Build(t.Context(), t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	count := func(want int, args ...string) {
		t.Helper()
		out, err := Output(t.Context(), path, nil, args...)
		if err != nil || out != strconv.Itoa(want) {
			t.Errorf("git %v: %v, %q, want %d", args, err, out, want)
		}
	}
	count(size.Commits, "rev-list", "--count", "--all")
	if again, err := Build(t.Context(), t.TempDir(), size); err != nil {
		t.Error(err)
	} else {
		first, _ := Output(t.Context(), path, nil, "rev-parse", Branch)
		second, _ := Output(t.Context(), again, nil, "rev-parse", Branch)
		if first != second || first == "" {
			t.Errorf("twice the same size is %q and %q", first, second)
		}
	}
	if err := Git(t.Context(), path, nil, "fsck", "--full", "--strict"); err != nil {
		t.Error(err)
	}
}
