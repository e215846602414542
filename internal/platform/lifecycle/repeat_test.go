package lifecycle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"stithy/internal/platform/lifecycle"
)

func TestRepeatedWorkIsDoneOnceMoreAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := 0
		component := lifecycle.Repeat("work", quiet(), time.Second, time.Minute, func(ctx context.Context) error {
			done++
			if ctx.Err() != nil {
				t.Error(ctx.Err())
			}
			return errors.New("not today") // and is tried again all the same
		})
		if err := component.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3500 * time.Millisecond)
		if err := component.Stop(t.Context()); err == nil || done != 4 {
			t.Errorf("done %d times, %v", done, err)
		}
	})
}
