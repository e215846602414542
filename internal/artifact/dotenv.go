package artifact

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/unpack"
)

const (
	maxDotenv      = 5120
	maxDotenvPairs = 20
)

var (
	errDotenvForm  = fault.WithReason(fault.Rejected, "Invalid Format")
	errDotenvSize  = fault.WithReason(fault.Rejected, "Dotenv Artifact Too Big. Maximum Allowable Size: %d", maxDotenv)
	errDotenvCount = fault.WithReason(fault.Rejected, "Dotenv files cannot have more than %d variables", maxDotenvPairs)
	errDotenvKey   = fault.WithReason(fault.Rejected, "Validation failed: Key can contain only letters, digits and '_'.")
	dotenvKey      = regexp.MustCompile(`^[A-Za-z0-9_]{1,255}$`)
)

// unpacked gives the bytes of a report as they were before it was sent.
func unpacked(f Format, packed []byte, most int64) ([]byte, error) {
	if f != Gzip {
		return packed, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errDotenvForm
	}
	budget := unpack.Budget{Bytes: most}
	text, err := io.ReadAll(budget.Reader(r))
	switch {
	case errors.Is(err, unpack.ErrTooMuch):
		return nil, errDotenvSize
	case err != nil:
		return nil, errDotenvForm
	}
	return text, nil
}

func dotenvOf(f Format, packed []byte) ([]Pair, error) {
	text, err := unpacked(f, packed, maxDotenv)
	if err != nil {
		return nil, err
	}
	return ParseDotenv(text)
}

// ParseDotenv reads lines of KEY=value: without quotes, comments, blank lines
// or values of several lines. Of a key that comes twice the last counts.
func ParseDotenv(text []byte) ([]Pair, error) {
	if len(text) > maxDotenv {
		return nil, errDotenvSize
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errDotenvForm
	}
	var pairs []Pair
	at := map[string]int{}
	for line := range strings.Lines(string(text)) {
		key, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if !found {
			return nil, errDotenvForm
		}
		p := Pair{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value)}
		if !dotenvKey.MatchString(p.Key) {
			return nil, errDotenvKey
		}
		if i, again := at[p.Key]; again {
			pairs[i] = p
			continue
		}
		at[p.Key] = len(pairs)
		pairs = append(pairs, p)
	}
	if len(pairs) > maxDotenvPairs {
		return nil, errDotenvCount
	}
	return pairs, nil
}

// Dotenv is the variables that a job handed in for those that follow it.
func (s *Service) Dotenv(ctx context.Context, jobID int64) ([]Pair, error) {
	f, found, err := s.fileOf(ctx, jobID, Dotenv)
	if err != nil || !found {
		return nil, err
	}
	packed, err := readAll(ctx, s.deps.Blobs, f.key, s.MaxSize(Dotenv))
	if err != nil {
		return nil, err
	}
	return dotenvOf(f.Format, packed)
}
