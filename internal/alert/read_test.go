package alert

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"stithy/internal/platform/fairshare"
)

// DO-08: who sends slowly holds a bounded part of the room, and keeps nobody of another project waiting.
func TestDO08_SlowSendersOfAlertsKeepOnlyTheirOwnProjectWaiting(t *testing.T) {
	t.Parallel()
	s := &Service{reading: fairshare.New(largeBodies, largeBodies/4), large: fairshare.New(largePayloads, largePayloads)}
	slow, quick := &Integration{ProjectID: 1}, &Integration{ProjectID: 2}
	ctx, end := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	var pipes []*io.PipeWriter
	for range largeBodies / 4 {
		r, w := io.Pipe()
		ended.Go(func() {
			if _, _, err := s.read(ctx, slow, r); err == nil {
				t.Error("half a payload is taken")
			}
		})
		// The last byte is taken by somebody who has room for more.
		if _, err := w.Write(make([]byte, largePayload+1)); err != nil {
			t.Fatal(err)
		}
		pipes = append(pipes, w)
	}
	if held, understood := s.reading.Used(), s.large.Used(); held != largeBodies/4 || understood != 0 {
		t.Errorf("%d bodies are held, and %d are thought to be whole", held, understood)
	}
	large := strings.Repeat("x", 5*largePayload)
	for range largePayloads + 1 {
		all, release, err := s.read(ctx, quick, strings.NewReader(large))
		if err != nil || string(all) != large || s.large.Used() != 1 {
			t.Fatalf("of another project: %d bytes, %v", len(all), err)
		}
		release()
	}
	if all, _, err := s.read(ctx, slow, strings.NewReader("small")); err != nil || string(all) != "small" {
		t.Errorf("a small one: %q, %v", all, err)
	}
	gone, leave := context.WithCancelCause(ctx)
	leave(errors.New("nobody waits any more"))
	if _, _, err := s.read(gone, slow, strings.NewReader(large)); err == nil {
		t.Error("one more of the same project is held")
	}
	for _, w := range pipes {
		_ = w.CloseWithError(errors.New("hung up"))
	}
	ended.Wait()
	end()
	if held := s.reading.Used() + s.large.Used(); held != 0 {
		t.Errorf("%d are held for ever", held)
	}
}

func TestAPayloadIsReadAsAWholeOrRefused(t *testing.T) {
	t.Parallel()
	s := &Service{reading: fairshare.New(largeBodies, largeBodies/4), large: fairshare.New(largePayloads, largePayloads)}
	for _, size := range []int{0, 1, largePayload - 1, largePayload, largePayload + 1, maxPayload} {
		body := bytes.Repeat([]byte("x"), size)
		all, release, err := s.read(t.Context(), &Integration{}, bytes.NewReader(body))
		if err != nil || !bytes.Equal(all, body) {
			t.Errorf("%d bytes: %d, %v", size, len(all), err)
			continue
		}
		release()
	}
	if _, _, err := s.read(t.Context(), &Integration{}, bytes.NewReader(make([]byte, maxPayload+1))); !errors.Is(err, errTooLarge) {
		t.Errorf("a byte more: %v", err)
	}
	if held := s.reading.Used() + s.large.Used(); held != 0 {
		t.Errorf("%d are held", held)
	}
}
