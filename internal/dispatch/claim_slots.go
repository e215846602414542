package dispatch

import (
	"context"
	"sync"
)

// claimSlots bounds how many runners claim jobs at once, few so that others find
// connections too. One runner has half of them at most, however often it asks:
// whoever else comes waits for no more than the others.
type claimSlots struct {
	all  chan struct{}
	each int

	mu       sync.Mutex
	byRunner map[int64]*share
}

// share is what one runner has of the slots.
type share struct {
	taken chan struct{}
	users int // who hold a slot or wait for one
}

func newClaimSlots(n int) *claimSlots {
	n = max(1, n)
	return &claimSlots{all: make(chan struct{}, n), each: max(1, n/2), byRunner: map[int64]*share{}}
}

// take waits for a slot. Whoever has one leaves it.
func (d *claimSlots) take(ctx context.Context, runnerID int64) (leave func(), err error) {
	own := d.join(runnerID)
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		d.part(runnerID, own)
		return nil, ctx.Err()
	}
	select {
	case d.all <- struct{}{}:
	case <-ctx.Done():
		<-own.taken
		d.part(runnerID, own)
		return nil, ctx.Err()
	}
	return func() {
		<-d.all
		<-own.taken
		d.part(runnerID, own)
	}, nil
}

func (d *claimSlots) join(runnerID int64) *share {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.byRunner[runnerID]
	if own == nil {
		own = &share{taken: make(chan struct{}, d.each)}
		d.byRunner[runnerID] = own
	}
	own.users++
	return own
}

func (d *claimSlots) part(runnerID int64, own *share) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(d.byRunner, runnerID)
	}
}
