// Command bench measures Stithy against the thinnest honest program for the
// same work (bare), and against itself on a table a hundred times as long.
//
// Machines differ and are noisy, so what counts is a ratio in one run: CPU
// time per request of the server and of its PostgreSQL backends together, of
// both sides in turn, several rounds, the median. Wall times are shown too;
// they mean something on an otherwise idle machine only.
//
// It needs PostgreSQL (STITHY_TEST_DATABASE_URL) and Linux, whose /proc tells
// what a process has used.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var p plan
	flag.IntVar(&p.rounds, "rounds", 7, "how often each pair is measured")
	flag.DurationVar(&p.length, "length", 3*time.Second, "time of one measurement")
	flag.IntVar(&p.rows, "rows", 1_000_000, "rows of the long table")
	flag.BoolVar(&p.quick, "quick", false, "see that it works, in seconds; judge nothing but absurd ratios")
	out := flag.String("json", filepath.Join("bin", "bench.json"), "where the figures go as JSON")
	flag.Parse()
	if p.quick {
		p.rounds, p.length, p.rows = 2, 400*time.Millisecond, 50_000
	}
	report, err := p.run(ctx)
	if err == nil {
		report.print(os.Stdout)
		err = report.save(*out)
	}
	if err == nil {
		err = report.judge(p.quick)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// plan is how much is measured.
type plan struct {
	rounds int
	length time.Duration
	rows   int
	quick  bool
}

const (
	shortTable = 10_000
	// maxRequests bounds one measurement beside its time.
	maxRequests = 50_000
	connections = 8
)

func (p plan) run(ctx context.Context) (_ *report, err error) {
	dir, err := os.MkdirTemp("", "stithy-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	programs, err := build(ctx, dir)
	if err != nil {
		return nil, err
	}
	cluster, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer cluster.close()

	short, err := programs.site(ctx, cluster, filepath.Join(dir, "short"), shortTable)
	if err != nil {
		return nil, err
	}
	long, err := programs.site(ctx, cluster, filepath.Join(dir, "long"), p.rows)
	if err != nil {
		return nil, err
	}
	report := newReport(p)
	if err := p.starts(ctx, report, short); err != nil {
		return nil, err
	}
	bare, stithy, stithyLong := short.bare(), short.stithy(), long.stithy()
	for _, s := range []*server{bare, stithy, stithyLong} {
		if _, err := s.start(ctx); err != nil {
			return nil, err
		}
		defer s.stop()
	}
	for _, target := range short.workloads() {
		if err := sameAnswers(ctx, bare, stithy, target.path, short.token); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(os.Stderr, "%d rounds of %v for each side of each row\n", p.rounds, p.length)
	var pairs []*pair
	for _, w := range short.workloads() {
		pairs = append(pairs, &pair{
			row: w.row, name: w.name, limit: w.limit,
			sides: [2]side{{"bare", bare, w.path, short.token}, {"stithy", stithy, w.path, short.token}},
		})
	}
	longer := long.workloads()
	for i, w := range short.workloads() {
		if w.row != 2 {
			continue
		}
		pairs = append(pairs, &pair{
			row: 15, name: w.name, limit: 1.15,
			sides: [2]side{
				{fmt.Sprintf("%d rows", shortTable), stithy, w.path, short.token},
				{fmt.Sprintf("%d rows", p.rows), stithyLong, longer[i].path, long.token},
			},
		})
	}
	for round := range p.rounds {
		for _, pair := range pairs {
			if err := pair.measure(ctx, cluster, p.length, round); err != nil {
				return nil, err
			}
		}
	}
	for _, pair := range pairs {
		report.Pairs = append(report.Pairs, pair.result())
	}
	return report, nil
}

// starts measures how long both programs take to their first 200, and what
// they hold when they have nothing to do.
func (p plan) starts(ctx context.Context, report *report, s *site) error {
	for range p.rounds {
		for _, server := range []*server{s.bare(), s.stithy()} {
			took, err := server.start(ctx)
			if err != nil {
				return err
			}
			memory, err := server.idleMemory(ctx)
			server.stop()
			if err != nil {
				return err
			}
			report.start(server.name, took, memory)
		}
	}
	return nil
}
