package secretbox

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
)

const dots = "••••"

// Secret is text that must not be seen. However it is printed, logged or marshalled it gives dots;
// only Reveal gives the text.
//
// Two doors stay open, as the standard library calls no methods there: printing a struct that keeps it in an
// unexported field, and marshalling a map that has it for a key. Do neither.
type Secret string

// Reveal gives the text. Every use of a secret's value can be found by this name.
func (s Secret) Reveal() string { return string(s) }

// String gives dots.
func (s Secret) String() string { return dots }

// GoString gives dots.
func (s Secret) GoString() string { return dots }

// Format gives dots for every verb; without it %x and %d would look at the bytes.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, dots) }

// MarshalJSON gives dots.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + dots + `"`), nil }

// MarshalText gives dots.
func (s Secret) MarshalText() ([]byte, error) { return []byte(dots), nil }

// LogValue gives dots.
func (s Secret) LogValue() slog.Value { return slog.StringValue(dots) }

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// RandomToken is n characters of [A-Za-z0-9_-], six bits of chance in each.
func RandomToken(n int) string {
	text := make([]byte, n)
	_, _ = rand.Read(text) // never fails: the process ends first
	for i, b := range text {
		// 64 divides 256: the remainder favours no character.
		text[i] = tokenAlphabet[int(b)%len(tokenAlphabet)]
	}
	return string(text)
}
