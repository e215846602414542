package app

import (
	"context"

	"stithy/internal/platform/lifecycle"
)

// loop is a part that goes on beside the requests from its start until it is
// told to stop.
func loop(name string, run func(context.Context)) lifecycle.Component {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	return lifecycle.Component{
		Name: name,
		Start: func(context.Context) error {
			go func() {
				defer close(done)
				run(ctx)
			}()
			return nil
		},
		Stop: func(stop context.Context) error {
			cancel()
			select {
			case <-done:
				return nil
			case <-stop.Done():
				return stop.Err()
			}
		},
	}
}
