package markdown

import (
	"context"
	"math"
	"strings"
	"testing"

	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/memory"
)

// DO-02: however many long texts are sent, few are rendered at a time. Short ones wait for none of them.
func TestDO02_ALongTextWaitsForASlot(t *testing.T) {
	t.Parallel()
	s := &Service{slots: fairshare.New(1, math.MaxInt), kept: memory.New(keep, weigh)}
	release, err := s.slots.Take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	long := strings.Repeat("x ", quick)
	if _, err := s.Plain(gone, long); err == nil {
		t.Error("a long text takes no slot")
	}
	if _, err := s.Plain(t.Context(), "short"); err != nil {
		t.Errorf("a short text waits: %v", err)
	}
	release()
	if _, err := s.Plain(t.Context(), long); err != nil {
		t.Errorf("a long text with a slot: %v", err)
	}
}
