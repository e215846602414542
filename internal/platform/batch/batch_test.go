package batch_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stithy/internal/platform/batch"
)

var usual = batch.Limits{Most: 4, Waiting: 8, Time: time.Minute}

func TestThoseWhoComeMeanwhileAreServedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var sizes []int
		b := batch.New(usual, func(_ context.Context, _ string, in []int) ([]int, error) {
			<-hold
			sizes = append(sizes, len(in)) // batches of a key come one after another
			return in, nil
		})
		var wg sync.WaitGroup
		ask := func(n int) {
			wg.Go(func() {
				if got, err := b.Do(t.Context(), "key", n); got != n || err != nil {
					t.Errorf("%d became %d, %v", n, got, err)
				}
			})
		}
		ask(0)
		synctest.Wait()
		for n := 1; n <= 6; n++ {
			ask(n)
		}
		synctest.Wait()
		close(hold)
		wg.Wait()
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 4 || sizes[2] != 2 {
			t.Errorf("sizes of batches: %v", sizes)
		}
	})
}

func TestDifferentKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := batch.New(usual, func(_ context.Context, key string, in []int) ([]int, error) {
			if key == "slow" {
				<-hold
			}
			return in, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.Do(t.Context(), "slow", 1) })
		synctest.Wait()
		if _, err := b.Do(t.Context(), "quick", 1); err != nil {
			t.Error(err)
		}
		close(hold)
		wg.Wait()
	})
}

func TestWhoComesWhenTooManyWaitIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := batch.New(usual, func(_ context.Context, _ string, in []int) ([]int, error) { <-hold; return in, nil })
		var wg sync.WaitGroup
		for range 1 + usual.Waiting {
			wg.Go(func() {
				if _, err := b.Do(t.Context(), "key", 1); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if _, err := b.Do(t.Context(), "key", 1); !errors.Is(err, batch.ErrFull) {
			t.Errorf("got %v", err)
		}
		close(hold)
		wg.Wait()
		if _, err := b.Do(t.Context(), "key", 1); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestWhoGivesUpBeforeTheBatchBeginsIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var served atomic.Int64
		b := batch.New(usual, func(_ context.Context, _ string, in []int) ([]int, error) {
			<-hold
			served.Add(int64(len(in)))
			return in, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.Do(t.Context(), "key", 1) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := b.Do(ctx, "key", 2); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(hold)
		wg.Wait()
		synctest.Wait()
		if served.Load() != 1 {
			t.Errorf("%d were served", served.Load())
		}
	})
}

func TestWhoGivesUpDoesNotEndTheBatchOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := batch.New(usual, func(ctx context.Context, _ string, in []int) ([]int, error) { <-hold; return in, ctx.Err() })
		first, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.Do(first, "key", 1) })
		synctest.Wait()
		wg.Go(func() {
			if _, err := b.Do(t.Context(), "key", 2); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		close(hold)
		wg.Wait()
	})
}

func TestAnErrorIsEverybodysAndTheNextBatchGoesOn(t *testing.T) {
	t.Parallel()
	failed := errors.New("no")
	fail := true
	b := batch.New(usual, func(_ context.Context, _ string, in []int) ([]int, error) {
		if fail {
			fail = false
			return nil, failed
		}
		return in, nil
	})
	if _, err := b.Do(t.Context(), "key", 1); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if got, err := b.Do(t.Context(), "key", 2); got != 2 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestABatchEndsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := batch.New(usual, func(ctx context.Context, _ string, _ []int) ([]int, error) { <-ctx.Done(); return nil, ctx.Err() })
		if _, err := b.Do(t.Context(), "key", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAMissingResultIsAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	b := batch.New(usual, func(context.Context, string, []int) ([]int, error) { return nil, nil })
	if _, err := b.Do(t.Context(), "key", 1); err == nil {
		t.Error("no error")
	}
}
