package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// Figure is what one side of one measurement came to.
type Figure struct {
	RPS float64 `json:"rps"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	CPU float64 `json:"cpu_ms"`          // of server and PostgreSQL, per request
	SQL float64 `json:"postgres_cpu_ms"` // PostgreSQL's part of it
}

// side is one of two ways to get the same thing.
type side struct {
	name    string
	server  *server                                // whose work is counted; nil counts what do starts
	request func(n int) []byte                     // the n-th request over HTTP
	status  int                                    // of its answer; 0 is 200
	do      func(ctx context.Context, n int) error // something else in place of requests
	few     int                                    // requests of a round, one after the other; 0 is as many as there is time for
	prepare func(ctx context.Context) error        // before each round; nil is nothing

	count atomic.Int64 // of requests, in all rounds
}

// get is a side that asks for the same thing over and over.
func get(s *server, name, path string, header ...string) *side {
	return &side{name: name, server: s, request: func(int) []byte { return message("GET", path, "", header...) }}
}

// message is a request as it goes over the wire.
func message(method, path, body string, header ...string) []byte {
	var b bytes.Buffer
	b.WriteString(method + " " + path + " HTTP/1.1\r\nHost: forge.example\r\n")
	for _, line := range header {
		b.WriteString(line + "\r\n")
	}
	if body != "" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// pair is two sides that are measured in turn.
type pair struct {
	row     int
	name    string
	limit   float64
	today   float64 // the ratio that is known to miss the limit, 0 for none; a quick run goes by it
	sides   [2]*side
	figures [2][]Figure
}

// measure runs one round. Who comes first changes from round to round.
func (p *pair) measure(ctx context.Context, c *cluster, length time.Duration, round int) error {
	for i := range 2 {
		n := (i + round) % 2
		f, err := p.sides[n].measure(ctx, c, length)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", p.name, p.sides[n].name, err)
		}
		p.figures[n] = append(p.figures[n], f)
	}
	return nil
}

func (s *side) measure(ctx context.Context, c *cluster, length time.Duration) (Figure, error) {
	if s.prepare != nil {
		if err := s.prepare(ctx); err != nil {
			return Figure{}, err
		}
	}
	if _, err := s.load(ctx, length/10, min(s.few, 1)); err != nil { // wakes connections, caches and plans
		return Figure{}, err
	}
	before, sqlBefore, err := s.cpu(ctx, c.conn)
	if err != nil {
		return Figure{}, err
	}
	began := time.Now()
	took, err := s.load(ctx, length, s.few)
	if err != nil {
		return Figure{}, err
	}
	wall := time.Since(began)
	after, sqlAfter, err := s.cpu(ctx, c.conn)
	if err != nil {
		return Figure{}, err
	}
	if s.server != nil {
		err = os.Truncate(s.server.log, 0)
	}
	slices.Sort(took)
	n := len(took)
	return Figure{
		RPS: float64(n) / wall.Seconds(), P50: milliseconds(took[n/2]), P99: milliseconds(took[n*99/100]),
		CPU: milliseconds(after-before) / float64(n), SQL: milliseconds(sqlAfter-sqlBefore) / float64(n),
	}, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// load sends requests on a few connections for some time, or a few on one,
// and gives the time of each answer. What it costs itself is not counted.
func (s *side) load(ctx context.Context, length time.Duration, few int) ([]time.Duration, error) {
	hands, most := connections, maxRequests
	if few > 0 {
		hands, most = 1, few
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, length, nil)
		defer cancel()
	}
	var group sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(most))
	times, errs := make([][]time.Duration, hands), make([]error, hands)
	for i := range hands {
		group.Go(func() {
			// Each asks once, however late its turn came.
			times[i], errs[i] = s.repeat(ctx, func(asked int) bool { return (asked == 0 || ctx.Err() == nil) && left.Add(-1) >= 0 })
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(times...)
	if len(all) == 0 {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

func (s *side) repeat(ctx context.Context, more func(asked int) bool) (times []time.Duration, err error) {
	do := s.do
	if do == nil {
		conn, err := net.Dial("tcp", s.server.listen)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		reader := bufio.NewReaderSize(conn, 16<<10)
		do = func(_ context.Context, n int) error { return s.ask(conn, reader, n) }
	}
	for more(len(times)) {
		n := int(s.count.Add(1)) - 1
		began := time.Now()
		if err := do(ctx, n); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

func (s *side) ask(conn net.Conn, reader *bufio.Reader, n int) error {
	request := s.request(n)
	if _, err := conn.Write(request); err != nil {
		return err
	}
	res, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != cmp.Or(s.status, http.StatusOK) {
		return fmt.Errorf("%.200s: %s", request, res.Status)
	}
	return nil
}

// cpu is what was used so far for the work of a side: by its server, or by
// processes that this one started and that have ended.
func (s *side) cpu(ctx context.Context, conn *pgx.Conn) (all, backends time.Duration, err error) {
	if s.server != nil {
		return s.server.cpu(ctx, conn)
	}
	var used syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), 0, err
}

// cpu is what the server, its children and its PostgreSQL backends have used,
// and the backends' part of it. Backends are told by the name under which the
// server connects.
func (s *server) cpu(ctx context.Context, conn *pgx.Conn) (all, backends time.Duration, err error) {
	pids, err := postgres.Values[int](ctx, conn,
		`select pid from pg_stat_activity where datname = $1 and application_name = $2`, s.database, s.name)
	if err != nil {
		return 0, 0, err
	}
	for _, pid := range pids {
		used, err := processTime(pid)
		if err != nil {
			return 0, 0, err
		}
		backends += used
	}
	own, err := treeTime(s.process.Process.Pid)
	return own + backends, backends, err
}

// treeTime is processTime of a process and of all below it that live. What has
// ended is part of whoever waited for it.
func treeTime(pid int) (time.Duration, error) {
	sum, err := processTime(pid)
	if err != nil {
		return 0, err
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // a thread that has ended has none
		for child := range strings.FieldsSeq(string(text)) {
			id, err := strconv.Atoi(child)
			if err != nil {
				return 0, err
			}
			if used, err := treeTime(id); err == nil { // else it ended just now, and its parent has its time
				sum += used
			}
		}
	}
	return sum, nil
}

// tick is the unit of times in /proc, 1/100 s on every Linux.
const tick = 10 * time.Millisecond

// processTime is the user and system time of a process and of its children
// that have ended.
func processTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything but this
	fields := strings.Fields(rest)
	var sum time.Duration
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// megabytes is the size of a file.
func megabytes(path string) (float64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

// idleMemory is the resident size, in megabytes, of a process that has been
// left alone for a second.
func (s *server) idleMemory(ctx context.Context) (float64, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kilobytes / 1024, err
}
