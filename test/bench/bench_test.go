package main

import (
	"path/filepath"
	"testing"
)

// What is compared must be the same work.
func TestBareAnswersAsStithyDoes(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	programs, err := build(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.close)
	site, err := programs.site(ctx, cluster, filepath.Join(dir, "site"), 500)
	if err != nil {
		t.Fatal(err)
	}
	bare, stithy := site.bare(), site.stithy()
	for _, s := range []*server{bare, stithy} {
		if _, err := s.start(ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.stop)
	}
	paths := []string{"/api/v4/users", "/api/v4/users?per_page=100", "/api/v4/users?page=1000"}
	for _, w := range site.workloads() {
		paths = append(paths, w.path)
	}
	for _, path := range paths {
		if err := sameAnswers(ctx, bare, stithy, path, site.token); err != nil {
			t.Error(err)
		}
	}
}

func TestAMedianIsInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("%v: got %v, want %v", c.values, got, c.want)
		}
	}
}

func TestOnlyAbsurdFiguresFailAQuickRun(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64][2]bool{1: {true, true}, 1.4: {false, true}, 5: {false, false}} {
		r := report{Pairs: []Pair{{Name: "page", Ratio: ratio, Limit: 1.2}}}
		if full, quick := r.judge(false) == nil, r.judge(true) == nil; full != want[0] || quick != want[1] {
			t.Errorf("%v: full run passes %v, quick run %v", ratio, full, quick)
		}
	}
}

func TestSizeAndIdleMemoryAreHeldInEveryRun(t *testing.T) {
	t.Parallel()
	for fact, r := range map[string]report{
		"a binary that is too large":      {Binary: maxBinary + 0.1},
		"a process that holds too much":   {Starts: []Start{{Name: "stithy", Memory: mostIdle + 0.1}}},
		"a process that starts for hours": {Starts: []Start{{Name: "stithy", Millis: 1e6}}},
	} {
		if r.judge(true) == nil {
			t.Errorf("%s passes", fact)
		}
	}
	if err := (&report{Binary: maxBinary, Starts: []Start{{Name: "stithy", Memory: maxMemory, Millis: maxStart}}}).judge(true); err != nil {
		t.Error(err)
	}
}
