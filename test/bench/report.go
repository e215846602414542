package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// report is the figures of one run.
type report struct {
	At     time.Time `json:"at"`
	CPUs   int       `json:"cpus"`
	Go     string    `json:"go"`
	Load   string    `json:"load_average"`
	Rounds int       `json:"rounds"`
	Pairs  []Pair    `json:"pairs"`
	Starts []Start   `json:"starts"`
	Binary float64   `json:"binary_mb"`

	starting map[string][2][]float64 // ms, MB
}

// Pair is the medians of two sides. The ratio is the median of the rounds'
// ratios of CPU, second to first.
type Pair struct {
	Row    int       `json:"row"`
	Name   string    `json:"name"`
	Sides  [2]string `json:"sides"`
	First  Figure    `json:"first"`
	Second Figure    `json:"second"`
	Ratio  float64   `json:"ratio"`
	Limit  float64   `json:"limit"`
	Today  float64   `json:"today,omitempty"`
}

// Start is how a program begins: the time to its first 200, and what it holds
// then.
type Start struct {
	Name   string  `json:"name"`
	Millis float64 `json:"ready_ms"`
	Memory float64 `json:"idle_mb"`
}

const (
	maxStart  = 150 // ms
	maxMemory = 40  // MB
	maxBinary = 45  // MB
	mostIdle  = 42  // MB, in any run: what is more than that came with a dependency or a cache
	tolerance = 1.1

	// oauthRow is the pair whose second side has a speed to keep, too.
	oauthRow  = 18
	minChecks = 500 // a second, on one core
	absurd    = 2.5
)

func newReport(p plan) *report {
	average, _ := os.ReadFile("/proc/loadavg")
	return &report{
		At: time.Now().UTC(), CPUs: runtime.NumCPU(), Go: runtime.Version(), Load: string(average[:min(14, len(average))]), Rounds: p.rounds,
		starting: map[string][2][]float64{},
	}
}

func (r *report) start(name string, took time.Duration, memory float64) {
	all := r.starting[name]
	all[0], all[1] = append(all[0], milliseconds(took)), append(all[1], memory)
	r.starting[name] = all
	r.Starts = slices.DeleteFunc(r.Starts, func(s Start) bool { return s.Name == name })
	r.Starts = append(r.Starts, Start{Name: name, Millis: median(all[0]), Memory: median(all[1])})
}

func (p *pair) result() Pair {
	res := Pair{Row: p.row, Name: p.name, Limit: p.limit, Today: p.today, Sides: [2]string{p.sides[0].name, p.sides[1].name}}
	res.First, res.Second = medians(p.figures[0]), medians(p.figures[1])
	var ratios []float64
	for i := range p.figures[0] {
		ratios = append(ratios, p.figures[1][i].CPU/p.figures[0][i].CPU)
	}
	res.Ratio = median(ratios)
	return res
}

func medians(all []Figure) (m Figure) {
	of := func(value func(Figure) float64) float64 {
		var values []float64
		for _, f := range all {
			values = append(values, value(f))
		}
		return median(values)
	}
	return Figure{
		RPS: of(func(f Figure) float64 { return f.RPS }), P50: of(func(f Figure) float64 { return f.P50 }),
		P99: of(func(f Figure) float64 { return f.P99 }), CPU: of(func(f Figure) float64 { return f.CPU }),
		SQL: of(func(f Figure) float64 { return f.SQL }),
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (f Figure) String() string {
	return fmt.Sprintf("%.0f / %.2f / %.1f / %.3f", f.RPS, f.P50, f.P99, f.CPU)
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs, %s, load %s, median of %d rounds.\nFigures: requests/s, p50 ms, p99 ms, CPU ms.\n\n",
		r.At.Format(time.DateOnly), r.CPUs, r.Go, r.Load, r.Rounds)
	fmt.Fprint(w, "| # | Workload | Against | Stithy | CPU ratio | Target |\n|---|---|---|---|---|---|\n")
	for _, p := range r.Pairs {
		fmt.Fprintf(w, "| %d | %s | %s: %s | %s: %s | %.2f | ≤ %.2f |\n", p.Row, p.Name, p.Sides[0], p.First, p.Sides[1], p.Second, p.Ratio, p.Limit)
	}
	for _, p := range r.Pairs {
		if p.Row == oauthRow {
			fmt.Fprintf(w, "| %d | token checks a second, on one core | | %.0f | | ≥ %d |\n", p.Row, p.checks(), minChecks)
		}
	}
	fmt.Fprintf(w, "| 16 | size of the binary | | %.1f MB | | ≤ %d MB |\n", r.Binary, maxBinary)
	for _, s := range r.Starts {
		fmt.Fprintf(w, "| 16 | idle; start | | %s: %.1f MB; %.0f ms | | ≤ %d MB; ≤ %d ms to ready |\n", s.Name, s.Memory, s.Millis, maxMemory, maxStart)
	}
}

// checks is how many of the second side's requests one core does in a second.
func (p Pair) checks() float64 { return 1000 / p.Second.CPU }

func (r *report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// most is what the ratio of a pair may be, but for the slack of the run.
func (p Pair) most(quick bool) float64 {
	if quick { // on little data that which grows with it is little, too
		return max(p.Limit, 1/absurd, p.Today)
	}
	return p.Limit
}

// judge says which targets were missed by more than the tolerance. A quick
// run is too short to tell more than that something is badly wrong.
func (r *report) judge(quick bool) error {
	slack := tolerance
	if quick {
		slack = absurd
	}
	var errs []error
	miss := func(what string, got, limit float64) {
		if limit *= slack; got > limit {
			errs = append(errs, fmt.Errorf("%s: %.2f, at most %.2f", what, got, limit))
		}
	}
	for _, p := range r.Pairs {
		miss(p.Name, p.Ratio, p.most(quick))
		if p.Row == oauthRow {
			miss("ms of CPU for a token check", p.Second.CPU, 1000/minChecks)
		}
	}
	for _, s := range r.Starts {
		miss(s.Name+": ms to ready", s.Millis, maxStart)
		miss(s.Name+": idle MB", s.Memory, maxMemory)
		if s.Memory > mostIdle {
			errs = append(errs, fmt.Errorf("%s: %.1f MB when idle, at most %d", s.Name, s.Memory, mostIdle))
		}
	}
	if r.Binary > maxBinary { // the same on every machine
		errs = append(errs, fmt.Errorf("the binary has %.1f MB, at most %d", r.Binary, maxBinary))
	}
	return errors.Join(errs...)
}
