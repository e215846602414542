package unpack_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"stithy/internal/platform/unpack"
)

func TestNoMoreIsReadThanTheBudgetHas(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]error{0: nil, 9: nil, 10: nil, 11: unpack.ErrTooMuch, 1 << 20: unpack.ErrTooMuch} {
		b := unpack.Budget{Bytes: 10}
		got, err := io.ReadAll(b.Reader(strings.NewReader(strings.Repeat("x", size))))
		if !errors.Is(err, want) || (want == nil && len(got) != size) || len(got) > 10 {
			t.Errorf("of %d bytes %d are read, %v", size, len(got), err)
		}
	}
}

func TestStreamsShareABudget(t *testing.T) {
	t.Parallel()
	b := unpack.Budget{Bytes: 10}
	for range 2 {
		if _, err := io.Copy(io.Discard, b.Reader(strings.NewReader("12345"))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(io.Discard, b.Reader(strings.NewReader("1"))); !errors.Is(err, unpack.ErrTooMuch) {
		t.Errorf("got %v", err)
	}
}

func TestEntriesAndLevelsAreCounted(t *testing.T) {
	t.Parallel()
	b := unpack.Budget{Entries: 2, Depth: 2}
	for i := range 3 {
		if refused := b.Entry() != nil; refused != (i == 2) {
			t.Errorf("entry %d is refused: %v", i+1, refused)
		}
		if refused := b.Enter() != nil; refused != (i == 2) {
			t.Errorf("level %d is refused: %v", i+1, refused)
		}
	}
	b.Leave()
	b.Leave()
	if b.Enter() != nil {
		t.Error("who left does not come in again")
	}
}

func TestABombIsPutDownAtTheLimit(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.CopyN(z, zeros{}, 100<<20)
	_ = z.Close()
	from, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	b := unpack.Budget{Bytes: 1 << 20}
	n, err := io.Copy(io.Discard, b.Reader(from))
	if !errors.Is(err, unpack.ErrTooMuch) || n > 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
