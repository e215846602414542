package dispatch

import (
	"testing"

	"stithy/internal/runner"
)

// BenchmarkClaim is a job from the queue to what its runner gets, HTTP aside.
func BenchmarkClaim(b *testing.B) {
	w := newWorld(b)
	asking := Asking{Runner: runner.Runner{ID: 7, Type: runner.Instance, RunUntagged: true}, Secret: "glrt-runnersecret"}
	for range b.N {
		w.pending(b, w.project)
	}
	b.ResetTimer()
	for range b.N {
		if w.ask(b, asking) == nil {
			b.Fatal("no job")
		}
	}
}
