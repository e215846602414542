package dispatch

import (
	"testing"

	"stithy/internal/runner"
)

// BenchmarkClaim is a job from the queue to what its runner gets, HTTP aside.
func BenchmarkClaim(b *testing.B) {
	w := newFixture(b)
	request := JobRequest{Runner: runner.Runner{ID: 7, Type: runner.Instance, RunUntagged: true}, Secret: "glrt-runnersecret"}
	for range b.N {
		w.pending(b, w.project)
	}
	b.ResetTimer()
	for range b.N {
		if w.ask(b, request) == nil {
			b.Fatal("no job")
		}
	}
}
