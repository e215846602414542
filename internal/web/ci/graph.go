package ci

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// graph is a picture of a pipeline: a column for each stage, a box for each job,
// lines for what waits for what. It is drawn as SVG by a template; all that is
// computed here is where things are.
type graph struct {
	Width, Height int
	Stages        []graphStage
	Boxes         []graphBox
	Lines         []string // path data
	Dense         bool     // there are too many lines to be told apart, so there are none
}

type graphStage struct {
	X, Y  int
	Title string
}

type graphBox struct {
	X, Y          int // of the upper left corner
	MarkX, MarkY  int
	TextX, TextY  int
	Width, Height int
	Text          string // as much of the name as fits
	Name          string
	URL           page.URL // empty where there is no page
	Status        ui.Status
}

// graphJob is what the picture shows of a job.
type graphJob struct {
	Name, Stage string
	URL         page.URL
	Needs       []string // nil: all of the stage before
	Status      ui.Status
}

const (
	boxWidth  = 184
	boxHeight = 34
	boxGap    = 10 // between boxes of a stage
	stageGap  = 56 // between stages, where the lines are
	stageHead = 30
	boxText   = 19 // how many characters of a name fit
	edge      = 3  // around all, for outlines
	maxLines  = 300
)

// draw places the jobs of a pipeline, which come by stage.
func draw(jobs []graphJob) graph {
	var g graph
	type at struct{ column, box int }
	where := map[string]at{}
	var columns [][]int // boxes of each stage
	var deepest int
	var stage string
	for i, j := range jobs {
		if columns == nil || j.Stage != stage {
			columns, stage = append(columns, nil), j.Stage
			g.Stages = append(g.Stages, graphStage{X: edge + (len(columns)-1)*(boxWidth+stageGap), Y: edge + 16, Title: cut(j.Stage, boxText+3)})
		}
		column := len(columns) - 1
		x, y := edge+column*(boxWidth+stageGap), edge+stageHead+len(columns[column])*(boxHeight+boxGap)
		g.Boxes = append(g.Boxes, graphBox{
			X: x, Y: y, MarkX: x + 8, MarkY: y + (boxHeight-16)/2, TextX: x + 30, TextY: y + boxHeight/2 + 5, Width: boxWidth, Height: boxHeight,
			Text: cut(j.Name, boxText), Name: j.Name, URL: j.URL, Status: j.Status,
		})
		columns[column] = append(columns[column], i)
		where[j.Name] = at{column, i}
		deepest = max(deepest, len(columns[column]))
	}
	g.Width = 2*edge + len(columns)*(boxWidth+stageGap) - stageGap
	g.Height = 2*edge + stageHead + deepest*(boxHeight+boxGap) - boxGap
	for column, boxes := range columns {
		var after []int // boxes that wait for the whole stage before
		for _, i := range boxes {
			if jobs[i].Needs == nil {
				after = append(after, i)
				continue
			}
			for _, name := range jobs[i].Needs {
				if from, there := where[name]; there {
					g.Lines = append(g.Lines, g.curve(from.box, i, column-from.column))
				}
			}
		}
		if column > 0 && len(after) > 0 {
			g.Lines = append(g.Lines, g.rail(columns[column-1], after))
		}
	}
	if len(g.Lines) > maxLines {
		g.Lines, g.Dense = nil, true
	}
	return g
}

func (g *graph) middle(box int) int { return g.Boxes[box].Y + boxHeight/2 }

// curve leads from a job to one that needs it, so many stages later, and crosses
// no box: within a stage it leaves to the left, and past stages in between it
// goes above the row that it leads to.
func (g *graph) curve(from, to, stages int) string {
	const half = stageGap / 2
	x1, y1, x2, y2 := g.Boxes[from].X+boxWidth, g.middle(from), g.Boxes[to].X, g.middle(to)
	switch stages {
	case 0:
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x2, y1, x2-half, y1, x2-half, y2, x2, y2)
	case 1:
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+half, y1, x2-half, y2, x2, y2)
	}
	above := g.Boxes[to].Y - boxGap/2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %dH%dC%d %d %d %d %d %d",
		x1, y1, x1+half, y1, x1+half, above, x1+stageGap, above, x2-stageGap, x2-half, above, x2-half, y2, x2, y2)
}

// rail leads from all jobs of a stage to those of the next that wait for them
// all.
func (g *graph) rail(from, to []int) string {
	x := g.Boxes[to[0]].X - stageGap/2
	ys := []int{}
	var b strings.Builder
	for _, i := range from {
		ys = append(ys, g.middle(i))
		fmt.Fprintf(&b, "M%d %dH%d", g.Boxes[i].X+boxWidth, g.middle(i), x)
	}
	for _, i := range to {
		ys = append(ys, g.middle(i))
		fmt.Fprintf(&b, "M%d %dH%d", x, g.middle(i), g.Boxes[i].X)
	}
	if low, high := slices.Min(ys), slices.Max(ys); low < high {
		fmt.Fprintf(&b, "M%d %dV%d", x, low, high)
	}
	return b.String()
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
