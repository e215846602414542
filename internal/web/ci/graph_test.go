package ci

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stithy/internal/pipeline"
)

func TestAGraphHasAColumnForEachStageAndLinesForWhatWaits(t *testing.T) {
	t.Parallel()
	g := draw([]graphJob{
		{Name: "compile", Stage: "build"}, {Name: "generate", Stage: "build"},
		{Name: "unit", Stage: "test"}, {Name: "lint", Stage: "test", Needs: []string{}},
		{Name: "end to end", Stage: "test", Needs: []string{"compile", "gone"}},
		{Name: "a name that does not fit into its box", Stage: "deploy", Needs: []string{"unit", "sibling"}}, {Name: "sibling", Stage: "deploy",
			Needs: []string{"lint"}},
	})
	if len(g.Stages) != 3 || len(g.Boxes) != 7 || g.Dense {
		t.Fatalf("%+v", g)
	}
	// One rail from build to unit, and a curve for each need that is there.
	if len(g.Lines) != 5 {
		t.Errorf("got lines %q", g.Lines)
	}
	for i, b := range g.Boxes {
		if b.X+b.Width > g.Width || b.Y+b.Height > g.Height || b.X < 0 || b.Y < 0 {
			t.Errorf("%s is outside of the picture", b.Name)
		}
		for _, other := range g.Boxes[:i] {
			if b.X == other.X && b.Y == other.Y {
				t.Errorf("%s hides %s", b.Name, other.Name)
			}
		}
	}
	if got := g.Boxes[5].Text; got != "a name that does n…" {
		t.Errorf("got %q", got)
	}
}

func TestALargePipelineShowsWhatMattersInItsOrder(t *testing.T) {
	t.Parallel()
	jobs := []pipeline.Job{
		{ID: 1, Stage: "a", Status: pipeline.Success}, {ID: 2, Stage: "a", Status: pipeline.Running}, {ID: 3, Stage: "a",
			Status: pipeline.Success},
		{ID: 4, Stage: "b", Status: pipeline.Created}, {ID: 5, Stage: "b", Status: pipeline.Failed},
	}
	var ids []int64
	for _, j := range most(jobs, 3) {
		ids = append(ids, j.ID)
	}
	if !slices.Equal(ids, []int64{2, 4, 5}) || len(most(jobs, 5)) != 5 {
		t.Errorf("got %v", ids)
	}
	if got := stagesOf(jobs); len(got) != 2 || got[0].Total != 3 || got[0].Status.Text != "Running" || got[1].Total != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestAGraphWithTooManyLinesHasNone(t *testing.T) {
	t.Parallel()
	var jobs []graphJob
	var names []string
	for n := range 20 {
		names = append(names, fmt.Sprint("first", n))
		jobs = append(jobs, graphJob{Name: names[n], Stage: "one"})
	}
	for n := range 20 {
		jobs = append(jobs, graphJob{Name: fmt.Sprint("second", n), Stage: "two", Needs: names})
	}
	if g := draw(jobs); !g.Dense || g.Lines != nil || len(g.Boxes) != 40 {
		t.Errorf("%d lines", len(g.Lines))
	}
	if g := draw(nil); len(g.Boxes) != 0 || strings.Join(g.Lines, "") != "" {
		t.Errorf("%+v", g)
	}
}
