package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stithy/internal/platform/fairshare"
)

// longRequest wants a commit, and has so many that nobody knows.
func longRequest(protocol string, tip OID, haves int) []byte {
	var b []byte
	if protocol != "" {
		b = appendMark(appendLine(b, "command=fetch\n"), delim)
	}
	b = appendLine(b, "want ", string(tip), "\n")
	if protocol == "" {
		b = appendMark(b, flush)
	}
	for n := range haves {
		b = appendLine(b, "have ", fmt.Sprintf("%040x", n+1), "\n")
	}
	if b = appendLine(b, "done\n"); protocol != "" {
		b = appendMark(b, flush)
	}
	return b
}

func left(t *testing.T, r *Repo) int {
	t.Helper()
	place, _, err := r.place()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(place.Root, tmpDir))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) + r.store.large.Used()
}

func TestALongRequestIsAnsweredAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openAt(t, nil)
	r := newRepo(t, s, 1)
	tip := commitFiles(t, r, "main", "", content("a", "text"))
	for _, protocol := range []string{"", "version=2"} {
		for _, haves := range []int{0, 100, 650, 660, 5000} { // some on each side of what is held in memory
			var out bytes.Buffer
			err := r.Fetch(t.Context(), Fetch{Protocol: protocol, Stateless: true, In: bytes.NewReader(longRequest(protocol, tip, haves)), Out: &out})
			if err != nil || !strings.Contains(out.String(), "PACK") {
				t.Errorf("%q with %d: %v %.80q", protocol, haves, err, out.String())
			}
		}
		endless := io.MultiReader(bytes.NewReader(longRequest(protocol, tip, 0)), zeros{})
		if err := r.Fetch(t.Context(), Fetch{Protocol: protocol, Stateless: true, In: endless, Out: io.Discard}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%q without an end: %v", protocol, err)
		}
		cut := io.MultiReader(bytes.NewReader(longRequest(protocol, tip, 5000)), broken{})
		if err := r.Fetch(t.Context(), Fetch{Protocol: protocol, Stateless: true, In: cut, Out: io.Discard}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q that was cut: %v", protocol, err)
		}
	}
	if n := left(t, r); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// DO-08: who sends long requests slowly takes up no process, and not all the room that there is for them.
func TestDO08_ALongRequestThatStallsTakesLittle(t *testing.T) {
	t.Parallel()
	s, commands := traced(t, nil)
	r := newRepo(t, s, 1)
	tip := commitFiles(t, r, "main", "", content("a", "text"))
	before := len(commands())
	ended := make(chan error, 2*largeRequests)
	slow := fairshare.With(t.Context(), fairshare.Caller{Who: "slow", From: "192.0.2.1"})
	slow, hangUp := context.WithCancel(slow)
	for range 2 * largeRequests {
		in, client := io.Pipe()
		go func() { _, _ = client.Write(longRequest("", tip, 5000)) }() // the last of it never comes
		go func() {
			err := r.Fetch(slow, Fetch{Stateless: true, In: untilDone{slow, in}, Out: io.Discard})
			_ = in.Close()
			ended <- err
		}()
	}
	var out bytes.Buffer
	other := fairshare.With(t.Context(), fairshare.Caller{Who: "other", From: "192.0.2.2"})
	if err := r.Fetch(other, Fetch{Stateless: true, In: bytes.NewReader(longRequest("", tip, 5000)), Out: &out}); err != nil || !strings.Contains(out.String(), "PACK") {
		t.Errorf("somebody else: %v", err)
	}
	packs := 0
	for _, sub := range commands()[before:] {
		if sub == "upload-pack" {
			packs++
		}
	}
	if packs != 1 {
		t.Errorf("%d processes for one request that was complete", packs)
	}
	hangUp()
	for range 2 * largeRequests {
		<-ended
	}
	if n := left(t, r); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

// untilDone is a pipe that breaks when its context ends.
type untilDone struct {
	ctx context.Context
	*io.PipeReader
}

func (u untilDone) Read(b []byte) (int, error) {
	stop := context.AfterFunc(u.ctx, func() { _ = u.CloseWithError(io.ErrClosedPipe) })
	defer stop()
	return u.PipeReader.Read(b)
}
