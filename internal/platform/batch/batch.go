// Package batch lets callers that ask for the same kind of work at the same time have it done together, such as many small
// writes in one transaction.
//
// It waits for nobody: whoever comes first is served alone, and those who come meanwhile are the next batch. So it adds no delay
// where there is little to do, and the batches grow with the load.
package batch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull says that too many callers wait already. Nothing was done for this one.
var ErrFull = errors.New("too many wait for the same thing")

// Limits bound what waits and how long one batch may take.
type Limits struct {
	Most    int           // of one batch
	Waiting int           // for one key, beside the batch that is being worked at
	Time    time.Duration // of one batch
}

// Batcher does work of one kind. Batches of one key come one after another, those of different keys at the same time.
type Batcher[K comparable, In, Out any] struct {
	limits Limits
	do     func(ctx context.Context, key K, in []In) ([]Out, error)

	mu      sync.Mutex
	waiting map[K][]*call[In, Out] // has a key while somebody works for it
}

type call[In, Out any] struct {
	ctx  context.Context
	in   In
	out  Out
	err  error
	done chan struct{}
}

// New returns a Batcher whose work is do. It gets as many results as it was given, in the same order, or an error that is
// everybody's.
func New[K comparable, In, Out any](limits Limits, do func(ctx context.Context, key K, in []In) ([]Out, error)) *Batcher[K, In, Out] {
	return &Batcher[K, In, Out]{limits: limits, do: do, waiting: map[K][]*call[In, Out]{}}
}

// Do has one piece of work done and waits for it. A caller that gives up before its batch began is left out of it; one that gives up
// later does not hear what became of it.
func (b *Batcher[K, In, Out]) Do(ctx context.Context, key K, in In) (Out, error) {
	c := &call[In, Out]{ctx: ctx, in: in, done: make(chan struct{})}
	b.mu.Lock()
	queue, busy := b.waiting[key]
	if len(queue) >= b.limits.Waiting {
		b.mu.Unlock()
		return c.out, ErrFull
	}
	b.waiting[key] = append(queue, c)
	b.mu.Unlock()
	if !busy {
		go b.work(context.WithoutCancel(ctx), key)
	}
	select {
	case <-c.done:
		return c.out, c.err
	case <-ctx.Done():
		return *new(Out), ctx.Err()
	}
}

// work serves a key until nobody waits.
func (b *Batcher[K, In, Out]) work(ctx context.Context, key K) {
	for {
		calls := b.next(key)
		if calls == nil {
			return
		}
		b.serve(ctx, key, calls)
	}
}

// next takes the callers of the next batch; nil ends the work for the key.
func (b *Batcher[K, In, Out]) next(key K) (calls []*call[In, Out]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.waiting[key]
	for len(queue) > 0 && len(calls) < b.limits.Most {
		if c := queue[0]; c.ctx.Err() == nil {
			calls = append(calls, c)
		}
		queue = queue[1:]
	}
	if calls == nil {
		delete(b.waiting, key)
		return nil
	}
	b.waiting[key] = queue
	return calls
}

func (b *Batcher[K, In, Out]) serve(ctx context.Context, key K, calls []*call[In, Out]) {
	ctx, cancel := context.WithTimeout(ctx, b.limits.Time)
	defer cancel()
	in := make([]In, len(calls))
	for i, c := range calls {
		in[i] = c.in
	}
	err := errPanicked
	var out []Out
	defer func() {
		for i, c := range calls {
			if c.err = err; err == nil {
				c.out = out[i]
			}
			close(c.done)
		}
	}()
	out, err = b.do(ctx, key, in)
	if err == nil && len(out) != len(in) {
		err = errors.New("a batch has another number of results than of callers")
	}
}

// errPanicked is what callers are told whose batch ended in a panic, which goes on and ends the process.
var errPanicked = errors.New("the work for a batch panicked")
