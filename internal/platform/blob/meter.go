package blob

import (
	"crypto/sha256"
	"hash"
	"io"
)

// Meter gives the bytes of a reader up to a limit, and measures them.
type Meter struct {
	from io.Reader
	left int64
	size int64
	sum  hash.Hash
}

// NewMeter reads no more than most bytes.
func NewMeter(from io.Reader, most int64) *Meter {
	return &Meter{from: from, left: most, sum: sha256.New()}
}

func (m *Meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.size, m.left = m.size+int64(n), m.left-int64(n)
	if m.left < 0 {
		return 0, ErrSize
	}
	m.sum.Write(p[:n])
	return n, err
}

// Size is how many bytes came.
func (m *Meter) Size() int64 { return m.size }

// Sum is the SHA-256 of the bytes.
func (m *Meter) Sum() []byte { return m.sum.Sum(nil) }

// Over reports whether there were more bytes than may be.
func (m *Meter) Over() bool { return m.left < 0 }
