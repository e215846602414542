package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// pool keeps `git cat-file --batch-command` processes, which read objects at a fraction of what starting a process
// costs. Whoever uses one has it alone, and gives it back only with every answer read. A quarantine has processes of
// its own, which end with it.
//
// Who may use one is decided by the slots of its class: there are as many as processes, so that whoever has a slot finds
// an idle process or room for a new one.
type pool struct {
	max   int
	ended sync.WaitGroup

	mu     sync.Mutex
	closed bool
	total  int
	idle   []*batch // least recently used first
}

const (
	idleTime    = 20 * time.Second
	requestTime = 10 * time.Second
)

func newPool(l limit, processes int) *pool {
	return &pool{max: max(1, l.share*processes/64)}
}

// batch is one process.
type batch struct {
	key     string
	objects string // folder
	process *process
	in, out *os.File
	reader  *bufio.Reader
	idle    *time.Timer
	used    bool
	free    func() // gives the slot back, while the process is in use

	owed   int // answers that were asked for and not read
	broken bool
	died   bool // by itself
}

func (r *Repo) poolKey() string {
	return r.cacheKey() + "\x00" + r.quarantine.dir + r.quarantine.beside
}

// batch lends a process to f. What was left unread by f, or by a request that was cancelled, ends with the process.
func (r *Repo) batch(ctx context.Context, f func(*batch) error) error {
	ctx, stop := context.WithTimeoutCause(ctx, requestTime, ErrTimeout)
	defer stop()
	for {
		b, err := r.store.pool.take(ctx, r)
		if err != nil {
			return err
		}
		fresh := !b.used
		cancel := context.AfterFunc(ctx, func() { b.process.end(context.Canceled) })
		err = f(b)
		if !cancel() {
			b.broken = true
		}
		dead := b.died && ctx.Err() == nil
		if failure := r.store.pool.give(b); failure != nil && err != nil {
			err = failure
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case dead && !fresh:
			continue // it may have died while it was idle; a new one tells whether that was the reason
		}
		return err
	}
}

// take finds or starts a process for the repository.
func (p *pool) take(ctx context.Context, r *Repo) (*batch, error) {
	key := r.poolKey()
	free, err := r.take(ctx, pooled, key)
	if err != nil {
		return nil, err
	}
	b, err := p.find(key)
	if b == nil && err == nil {
		if b, err = r.startBatch(key); err != nil {
			p.forget()
		}
	}
	if err != nil {
		free()
		return nil, err
	}
	b.free = free
	return b, nil
}

// find gives an idle process, or nothing and the right to start one.
func (p *pool) find(key string) (*batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("the store is closed: %w", ErrUnavailable)
	}
	for i := len(p.idle) - 1; i >= 0; i-- {
		if p.idle[i].key == key {
			return p.unlist(i), nil
		}
	}
	if p.total >= p.max {
		p.end(p.unlist(0))
	}
	p.total++
	return nil, nil
}

// unlist takes a process out of the idle ones.
func (p *pool) unlist(i int) *batch {
	b := p.idle[i]
	p.idle = append(p.idle[:i], p.idle[i+1:]...)
	b.idle.Stop()
	return b
}

// end lets a process go that nobody uses. Its end is not waited for.
func (p *pool) end(b *batch) {
	p.total--
	p.ended.Go(func() { _ = b.end() })
}

// forget counts a process out.
func (p *pool) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
}

// give takes a process back. One that is not clean is ended, and if it failed by itself, give says why.
func (p *pool) give(b *batch) error {
	defer b.free()
	if b.broken || b.owed != 0 || b.reader.Buffered() != 0 {
		err := b.end()
		p.forget()
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.end(b)
		return nil
	}
	b.used = true
	p.idle = append(p.idle, b)
	b.idle = time.AfterFunc(idleTime, func() { p.expire(b) })
	return nil
}

func (p *pool) expire(b *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.idle {
		if other == b {
			p.end(p.unlist(i))
			return
		}
	}
}

// drop ends the idle processes of a key: of a repository that goes, or of a quarantine that is over.
func (p *pool) drop(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if p.idle[i].key == key {
			p.end(p.unlist(i))
		}
	}
}

// endReaders ends the processes of a quarantine that is over.
func (r *Repo) endReaders(q Quarantine) { r.store.pool.drop(r.In(q).poolKey()) }

// close ends all processes; those in use end when they are given back.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for len(p.idle) > 0 {
		p.end(p.unlist(0))
	}
	p.mu.Unlock()
	p.ended.Wait()
}

// startBatch starts a process, which belongs to no request and outlives the one that wants it first.
func (r *Repo) startBatch(key string) (*batch, error) {
	_, dir, err := r.place()
	if err != nil {
		return nil, err
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w: %w", ErrUnavailable, err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		return nil, errors.Join(fmt.Errorf("making a pipe: %w: %w", ErrUnavailable, err), in.Close())
	}
	widen(out)
	c := call{class: pooled, sub: "cat-file", flags: []string{"--batch-command", "--buffer"}, stdin: childIn}
	p, err := r.start(context.Background(), c, childOut)
	childIn.Close()
	childOut.Close()
	if err != nil {
		out.Close()
		in.Close()
		return nil, err
	}
	return &batch{key: key, objects: filepath.Join(dir, "objects"), process: p, in: in, out: out, reader: bufio.NewReaderSize(out, 64<<10)}, nil
}

// widen lets a pipe hold most answers whole, so that reader and writer need not take turns. It works as well without.
func widen(pipe *os.File) {
	const setSize, size = 1031, 256 << 10            // F_SETPIPE_SZ of Linux
	if conn, err := pipe.SyscallConn(); err == nil { // Fd would make the pipe a blocking one
		_ = conn.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setSize, size) })
	}
}

// end ends the process and says how it went, if that was not our doing.
func (b *batch) end() error {
	b.in.Close() // an idle one ends by itself
	if !b.died && (b.broken || b.owed > 0) {
		b.process.end(context.Canceled)
	}
	b.out.Close()
	err := b.process.wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// send asks for objects. The answers are read with next, as many as there were ids. At most maxBatch are asked for at
// once, so that neither side waits for the other with a full pipe.
func (b *batch) send(verb string, ids ...OID) error {
	var lines bytes.Buffer
	for _, id := range ids {
		if !IsOID(string(id)) {
			return fmt.Errorf("object id %.60q: %w", id, ErrInvalid)
		}
		lines.WriteString(verb)
		lines.WriteByte(' ')
		lines.WriteString(string(id))
		lines.WriteByte('\n')
	}
	return b.write(&lines, len(ids))
}

const maxBatch = 500

func (b *batch) write(lines *bytes.Buffer, answers int) error {
	lines.WriteString("flush\n")
	b.owed += answers
	if _, err := b.in.Write(lines.Bytes()); err != nil {
		return b.fail(err)
	}
	return nil
}

func (b *batch) fail(err error) error {
	b.broken = true
	b.died = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
	return fmt.Errorf("reading objects: %w", err)
}

// next reads the head of an answer to `info`, or to `contents` when the content is read next. id is what was asked
// for: an answer about something else means that the process is out of step.
func (b *batch) next(id OID) (Object, error) {
	line, err := b.reader.ReadSlice('\n')
	if err != nil {
		return Object{}, b.fail(err)
	}
	b.owed--
	fields := bytes.Fields(line)
	if len(fields) < 2 || id != "" && string(fields[0]) != string(id) {
		return Object{}, b.fail(fmt.Errorf("an answer that was not asked for: %.100q", line))
	}
	if len(fields) == 2 {
		switch string(fields[1]) {
		case "missing":
			if b.damaged(id) {
				return Object{}, fmt.Errorf("object %s cannot be read: %w", id, ErrCorrupt)
			}
			return Object{}, ErrNotFound
		case "ambiguous":
			return Object{}, ErrAmbiguous
		}
	}
	size, err := strconv.ParseInt(string(fields[len(fields)-1]), 10, 64)
	if err != nil || len(fields) != 3 || size < 0 {
		return Object{}, b.fail(fmt.Errorf("an answer that makes no sense: %.100q", line))
	}
	return Object{ID: OID(fields[0]), Kind: Kind(fields[1]), Size: size}, nil
}

// damaged reports whether an object has a file, although git does not find it.
func (b *batch) damaged(id OID) bool {
	if len(id) != 40 {
		return false
	}
	_, err := os.Stat(filepath.Join(b.objects, string(id[:2]), string(id[2:])))
	return err == nil
}

// content reads what follows the head of an answer to `contents`. More than limit is ErrTooLarge, and not read if it
// is much more.
func (b *batch) content(o Object, limit int64) ([]byte, error) {
	if o.Size > limit {
		if o.Size > limit+1<<20 {
			b.broken = true // ending it is cheaper than reading on
			return nil, ErrTooLarge
		}
		if _, err := b.reader.Discard(int(o.Size) + 1); err != nil {
			return nil, b.fail(err)
		}
		return nil, ErrTooLarge
	}
	text := make([]byte, o.Size+1)
	if _, err := io.ReadFull(b.reader, text); err != nil {
		return nil, b.fail(err)
	}
	if text[o.Size] != '\n' {
		return nil, b.fail(errors.New("an object that does not end where it should"))
	}
	return text[:o.Size:o.Size], nil
}
