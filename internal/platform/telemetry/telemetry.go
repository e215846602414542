// Package telemetry owns what the process says about itself: log lines, metrics, request identifiers, and
// the rule for what a URL may show in a record. It does not decide what is worth saying, and knows no noun
// of the forge.
package telemetry

import (
	"crypto/rand"
	"io"
	"log/slog"

	"stithy/internal/platform/clock"
)

// NewLogger writes one line for each event to w, in the format "json" or "text". No text in an event can
// end its line, begin another or steer a terminal: control characters are escaped.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var lines slog.Handler = slog.NewJSONHandler(controlEscaper{w}, options)
	if format == "text" {
		lines = slog.NewTextHandler(w, options)
	}
	return slog.New(WithoutRepeats(lines, clock.System()))
}

// controlEscaper escapes in JSON what the JSON handler leaves as it is: DEL, and the control characters
// U+0080 to U+009F, which some terminals obey as they obey ESC. In valid JSON these stand in strings only.
type controlEscaper struct{ w io.Writer }

func (e controlEscaper) Write(line []byte) (int, error) {
	const hex = "0123456789abcdef"
	var escaped []byte
	done := 0
	for i, b := range line {
		size := 1
		if b == 0xC2 && i+1 < len(line) && line[i+1] < 0xA0 {
			size, b = 2, line[i+1]
		} else if b != 0x7F {
			continue
		}
		escaped = append(escaped, line[done:i]...)
		escaped = append(escaped, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		done = i + size
	}
	if done == 0 {
		return e.w.Write(line)
	}
	if _, err := e.w.Write(append(escaped, line[done:]...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// NewRequestID is a fresh identifier of 26 characters, impossible to guess.
func NewRequestID() string { return rand.Text() }

// ValidRequestID reports whether an identifier that came with a request may be taken over. It ends up in
// logs and answers, so it is 1 to 64 of [A-Za-z0-9_-].
func ValidRequestID(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		b := s[i]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-') {
			return false
		}
	}
	return true
}
