package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// side is one server with one request.
type side struct {
	name   string
	server *server
	path   string
	token  string
}

// pair is two sides that are measured in turn.
type pair struct {
	row     int
	name    string
	limit   float64
	sides   [2]side
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

func (s side) measure(ctx context.Context, c *cluster, length time.Duration) (Figure, error) {
	if _, err := load(ctx, s, length/10); err != nil { // wakes connections, caches and plans
		return Figure{}, err
	}
	before, sqlBefore, err := s.server.cpu(ctx, c.conn)
	if err != nil {
		return Figure{}, err
	}
	began := time.Now()
	took, err := load(ctx, s, length)
	if err != nil {
		return Figure{}, err
	}
	wall := time.Since(began)
	after, sqlAfter, err := s.server.cpu(ctx, c.conn)
	if err != nil {
		return Figure{}, err
	}
	slices.Sort(took)
	n := len(took)
	return Figure{
		RPS: float64(n) / wall.Seconds(), P50: milliseconds(took[n/2]), P99: milliseconds(took[n*99/100]),
		CPU: milliseconds(after-before) / float64(n), SQL: milliseconds(sqlAfter-sqlBefore) / float64(n),
	}, os.Truncate(s.server.log, 0)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// load sends the same request over and over on a few connections, and gives
// the time of each answer. What it costs itself is not counted.
func load(ctx context.Context, s side, length time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, length, nil)
	defer cancel()
	var group sync.WaitGroup
	var left atomic.Int64
	left.Store(maxRequests)
	times, errs := make([][]time.Duration, connections), make([]error, connections)
	for i := range connections {
		group.Go(func() {
			times[i], errs[i] = s.repeat(func() bool { return ctx.Err() == nil && left.Add(-1) >= 0 })
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	all := slices.Concat(times...)
	if len(all) == 0 {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

func (s side) repeat(more func() bool) (times []time.Duration, err error) {
	conn, err := net.Dial("tcp", s.server.listen)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	request := []byte("GET " + s.path + " HTTP/1.1\r\nHost: forge.example\r\nPrivate-Token: " + s.token + "\r\n\r\n")
	reader := bufio.NewReaderSize(conn, 16<<10)
	for more() {
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		res, err := http.ReadResponse(reader, nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return nil, err
		}
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %s", s.path, res.Status)
		}
		times = append(times, time.Since(began))
	}
	return times, nil
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
	own, err := processTime(s.process.Process.Pid)
	return own + backends, backends, err
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
