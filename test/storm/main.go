// Command storm sends hostile requests to a server for a while: of the API, as its OpenAPI document describes it, of pages, git, large files and OAuth; as
// nobody, as a person and as an administrator; with values, headers, methods and bodies that no client would send, and clients that hang up. It runs
// beside tools/with-server. It fails when
//
//   - an answer is 500 or above, or there is none,
//   - the server logs an error, a panic or a request that failed, other than by a client that hung up,
//   - a request costs more than two seconds. What took longer than that by the clock, which also happens on a busy machine, is sent again up to three
//     times when nothing else runs; the least that the server and its part of PostgreSQL spend on it in CPU time counts, or 15 seconds of waiting,
//   - memory, open files or child processes are not back where they were after the first rounds, within -rest minutes of quiet. It watches
//     until they are at or below that, or all of those minutes; Go collects by itself after two.
//
// The randomness has a seed, which is printed; each fault is printed once for its operation, with a line of curl that sends the request again.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	perRound     = 800 // requests for one fixture
	mostCPU      = 2 * time.Second
	mostWaiting  = 15 * time.Second
	warmUpRounds = 2
)

type storm struct {
	url, address string
	binary, dir  string
	server       server
	operations   []operation

	mu       sync.Mutex
	faults   map[string]*fault
	suspects []*request
	statuses map[int]int
	sent     int
}

// fault is what went wrong, with the first request that showed it.
type fault struct {
	what, curl string
	times      int
}

func main() {
	minutes := flag.Float64("minutes", 30, "how long")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the randomness")
	workers := flag.Int("workers", 8, "requests at once")
	rest := flag.Float64("rest", 4, "most minutes to watch the server rest in the end")
	spec := flag.String("spec", "docs/api/openapi.yaml", "the OpenAPI document")
	report := flag.String("report", "bin/report", "folder for bodies that are too long to print")
	flag.Parse()
	if err := run(*minutes, *rest, *seed, *workers, *spec, *report); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(minutes, rest float64, seed uint64, workers int, spec, report string) error {
	s := &storm{url: os.Getenv("SERVER_URL"), binary: os.Getenv("SERVER_BIN"), dir: report, faults: map[string]*fault{}, statuses: map[int]int{}}
	at, err := url.Parse(s.url)
	if err != nil || s.url == "" {
		return fmt.Errorf("SERVER_URL names no server: run tools/with-server")
	}
	s.address = at.Host
	s.server.log = os.Getenv("SERVER_LOG")
	if s.server.pid, err = strconv.Atoi(os.Getenv("SERVER_PID")); err != nil {
		return fmt.Errorf("SERVER_PID: %w", err)
	}
	database, err := url.Parse(os.Getenv("STITHY_DATABASE_URL"))
	if err != nil {
		return err
	}
	s.server.database = strings.TrimPrefix(database.Path, "/")
	if s.operations, err = readOperations(spec); err != nil {
		return err
	}
	if err := os.MkdirAll(report, 0o755); err != nil {
		return err
	}
	fmt.Printf("%d operations, %d requests at once, %.1f minutes, -seed %d\n", len(s.operations), workers, minutes, seed)

	ctx := context.Background()
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	var before burden
	var logged int64
	for round := 0; round <= warmUpRounds || time.Now().Before(end); round++ {
		if err := s.round(ctx, seed, round, workers, end); err != nil {
			return err
		}
		logged = s.readLog(logged)
		if round < warmUpRounds {
			before = s.server.burden()
		}
	}
	after := s.server.burden()
	fmt.Printf("before: %s\nafter: %s\n", before, after)
	quiet := time.Now()
	for after.above(before) && time.Since(quiet).Minutes() < rest {
		time.Sleep(time.Second)
		after = s.server.burden()
	}
	fmt.Printf("after %v of rest: %s\n", time.Since(quiet).Round(time.Second), after)
	s.readLog(logged)
	if !after.within(before) {
		s.note("the server holds "+after.String()+" in the end and held "+before.String(), "")
	}
	return s.conclude()
}

// round lets workers send requests about one fixture, and looks again at what took long.
func (s *storm) round(ctx context.Context, seed uint64, number, workers int, end time.Time) error {
	w, err := s.setup(ctx, number)
	if err != nil {
		return err
	}
	numbers := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for n := range numbers {
				// Each request has a randomness of its own: it does not hang on which worker sends it.
				s.try(w, s.newRequest(rand.New(rand.NewPCG(seed, uint64(n))), w))
			}
		})
	}
	for n := range perRound {
		if number > warmUpRounds && time.Now().After(end) {
			break
		}
		numbers <- number*perRound + n
	}
	close(numbers)
	group.Wait()
	for _, q := range s.suspects {
		s.again(w, q)
	}
	s.suspects = nil
	return nil
}

func (s *storm) try(w *fixture, q *request) {
	a := s.send(w, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.statuses[a.status]++
	switch {
	case a.status == http.StatusNotImplemented && q.says("Transfer-Encoding"): // net/http knows but one
	case a.status >= 500:
		s.noteLocked(fmt.Sprintf("%d from %s: %.200s", a.status, q.what, a.text), fmt.Sprint(a.status, q.what), q)
	case a.took > mostCPU && q.hangUp == never && !q.waits():
		if len(s.suspects) < 50 {
			s.suspects = append(s.suspects, q)
		}
	case a.err != nil && q.hangUp == never && !q.waits() && len(q.body) < 64<<10:
		s.noteLocked(fmt.Sprintf("no answer from %s: %v", q.what, a.err), "none "+q.what, q)
	}
}

// again sends a request that took long when nothing else runs, to see what it costs.
func (s *storm) again(w *fixture, q *request) {
	least, shortest := time.Hour, time.Hour
	for range 3 {
		before := s.server.cpu()
		a := s.send(w, q)
		least, shortest = min(least, s.server.cpu()-before), min(shortest, a.took)
		if least <= mostCPU && shortest <= mostWaiting {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(fmt.Sprintf("%s costs %v of CPU time and takes %v", q.what, least, shortest.Round(time.Millisecond)), "slow "+q.what, q)
}

// readLog notes what the server complains of.
func (s *storm) readLog(from int64) int64 {
	found, next := s.server.complaints(from)
	for _, c := range found {
		s.note(fmt.Sprintf("the log says %.1000s", c.line), cmp.Or(c.Msg+c.Route+shorten(c.Error), "?"))
	}
	return next
}

// shorten leaves the words of an error that do not depend on the request.
func shorten(text string) string { return strings.Trim(text[:min(len(text), 60)], "0123456789") }

func (s *storm) note(what, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(what, cmp.Or(key, what), nil)
}

// noteLocked keeps the first fault of a kind.
func (s *storm) noteLocked(what, key string, q *request) {
	f := s.faults[key]
	if f == nil {
		f = &fault{what: what}
		if q != nil {
			f.curl = q.curl(s.dir, len(s.faults))
		}
		s.faults[key] = f
		fmt.Printf("FAULT %s\n", what)
		if f.curl != "" {
			fmt.Printf("      %s\n", f.curl)
		}
	}
	f.times++
}

func (s *storm) conclude() error {
	var statuses []int
	for status := range s.statuses {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	fmt.Printf("%d requests:", s.sent)
	for _, status := range statuses {
		fmt.Printf(" %d×%d", s.statuses[status], status)
	}
	fmt.Println()
	if len(s.faults) > 0 {
		for _, f := range s.faults {
			fmt.Printf("%d times: %.160s\n", f.times, f.what)
		}
		return fmt.Errorf("%d kinds of faults", len(s.faults))
	}
	return nil
}
