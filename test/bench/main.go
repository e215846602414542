// Command bench measures Stithy against the thinnest honest program for the
// same work (bare), against git itself, and against itself on a table a
// hundred times as long.
//
// Machines differ and are noisy, so what counts is a ratio in one run: CPU
// time per request of the server with its processes and of its PostgreSQL
// backends together, of both sides in turn, many short rounds, the median. Wall times are shown too;
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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stithy/test/load/history"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var p plan
	flag.IntVar(&p.rounds, "rounds", 11, "how often each pair is measured")
	flag.DurationVar(&p.length, "length", time.Second, "time of one measurement")
	flag.IntVar(&p.long, "long", 1_000_000, "rows of the long table")
	rows := flag.String("rows", "", "numbers of the rows to measure, such as 3,4; all when empty")
	cache := flag.String("cache", filepath.Join("bin", "bench"), "where the large repository is kept")
	flag.BoolVar(&p.quick, "quick", false, "see that it works, in seconds; judge nothing but absurd ratios")
	out := flag.String("json", filepath.Join("bin", "bench.json"), "where the figures go as JSON")
	flag.Parse()
	p.size = history.Large
	if p.quick {
		p.rounds, p.length, p.long, p.size = 2, 250*time.Millisecond, 50_000, history.Small
	}
	err := p.choose(*rows)
	if err == nil {
		p.cache, err = filepath.Abs(*cache)
	}
	var report *report
	if err == nil {
		report, err = p.run(ctx)
	}
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
	long   int
	quick  bool
	rows   []int // nil is all
	size   history.Size
	cache  string
}

func (p *plan) choose(rows string) error {
	for text := range strings.FieldsFuncSeq(rows, func(c rune) bool { return c == ',' || c == ' ' }) {
		row, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-rows: %w", err)
		}
		p.rows = append(p.rows, row)
	}
	return nil
}

// wants reports whether any of the rows is to be measured.
func (p *plan) wants(rows ...int) bool {
	return p.rows == nil || slices.ContainsFunc(rows, func(row int) bool { return slices.Contains(p.rows, row) })
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
	report := newReport(p)
	if report.Binary, err = megabytes(programs.stithyPath); err != nil {
		return nil, err
	}
	if p.wants(16) {
		if err := p.starts(ctx, report, short); err != nil {
			return nil, err
		}
	}
	stithy := short.stithy()
	if _, err := stithy.start(ctx); err != nil {
		return nil, err
	}
	defer stithy.stop()
	if p.wants(gitRows...) {
		if err := short.lay(ctx, stithy, p); err != nil {
			return nil, err
		}
	}
	if p.wants(ciRows...) {
		if err := short.work(ctx, stithy, p); err != nil {
			return nil, err
		}
	}
	bare := short.bare() // it is told of the repository and of logs
	if _, err := bare.start(ctx); err != nil {
		return nil, err
	}
	defer bare.stop()
	pairs, err := p.tables(ctx, programs, cluster, filepath.Join(dir, "long"), short, bare, stithy)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range pairs.servers {
			s.stop()
		}
	}()
	all := pairs.all
	if p.wants(gitRows...) {
		more, err := short.repository.pairs(ctx, short, bare, stithy)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if p.wants(ciRows...) {
		all = append(all, short.ci.pairs(bare, stithy)...)
	}
	all = slices.DeleteFunc(all, func(pair *pair) bool { return !p.wants(pair.row) })
	fmt.Fprintf(os.Stderr, "%d rounds of %v for each side of each row\n", p.rounds, p.length)
	// Pushes come last: what follows from them is nobody else's work.
	slices.SortStableFunc(all, func(a, b *pair) int { return rank(a) - rank(b) })
	pushes := slices.IndexFunc(all, func(pair *pair) bool { return pair.row == pushRow })
	if pushes < 0 {
		pushes = len(all)
	}
	for _, some := range [][]*pair{all[:pushes], all[pushes:]} {
		for round := range p.rounds {
			for _, pair := range some {
				if err := pair.measure(ctx, cluster, p.length, round); err != nil {
					return nil, err
				}
			}
		}
	}
	if p.quick {
		if err := p.again(ctx, cluster, all); err != nil {
			return nil, err
		}
	}
	for _, pair := range all {
		report.Pairs = append(report.Pairs, pair.result())
	}
	return report, nil
}

// again measures pairs with absurd ratios some more: in so short a time another program on the machine may have had its turn.
func (p plan) again(ctx context.Context, c *cluster, all []*pair) error {
	for _, pair := range all {
		for round := range maxAgain {
			if r := pair.result(); r.Ratio <= r.most(true)*absurd {
				break
			}
			if err := pair.measure(ctx, c, p.length, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxAgain is how often a pair is measured again in a quick run.
const maxAgain = 10

// rank puts pushes behind everything else.
func rank(p *pair) int {
	if p.row == pushRow {
		return 1
	}
	return 0
}

// tables are the pairs about rows of the database, and the servers that only
// they need.
type tables struct {
	all     []*pair
	servers []*server
}

func (p plan) tables(ctx context.Context, programs programs, c *cluster, dir string, short *site, bare, stithy *server) (t tables, err error) {
	token := "Private-Token: " + short.token
	for _, w := range short.workloads() {
		if err := sameAnswers(ctx, bare, stithy, w.path, short.token); err != nil {
			return t, err
		}
		t.all = append(t.all, &pair{
			row: w.row, name: w.name, limit: w.limit, sides: [2]*side{get(bare, "bare", w.path, token), get(stithy, "stithy", w.path, token)},
		})
	}
	if p.wants(15) {
		long, err := programs.site(ctx, c, dir, p.long)
		if err != nil {
			return t, err
		}
		server := long.stithy()
		if _, err := server.start(ctx); err != nil {
			return t, err
		}
		t.servers = append(t.servers, server)
		longer := long.workloads()
		for i, w := range short.workloads() {
			if w.row != 2 {
				continue
			}
			t.all = append(t.all, &pair{row: 15, name: w.name, limit: 1.15, sides: [2]*side{
				get(stithy, fmt.Sprintf("%d rows", shortTable), w.path, token),
				get(server, fmt.Sprintf("%d rows", p.long), longer[i].path, "Private-Token: "+long.token),
			}})
		}
	}
	t.all = append(t.all, &pair{
		row: oauthRow, name: "`GET /user`, OAuth beside personal token", limit: 1.2, sides: [2]*side{
			get(stithy, "personal", "/api/v4/user", "Authorization: Bearer "+short.token),
			get(stithy, "OAuth", "/api/v4/user", "Authorization: Bearer "+short.oauthToken),
		},
	})
	return t, nil
}

// starts measures how long both programs take to their first 200, and what
// they hold when they have nothing to do.
func (p plan) starts(ctx context.Context, report *report, s *site) error {
	for range min(p.rounds, 7) {
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
