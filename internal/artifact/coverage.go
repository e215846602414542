package artifact

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
)

const (
	maxPattern = 1000
	// backwards is how much of a log is searched at a time, from its end.
	backwards = 1 << 20
	// overlap is as long as a line may be to be found across two of them.
	overlap = 8 << 10
)

var figure = regexp.MustCompile(`\d+(?:\.\d+)?`)

// coveragePattern compiles what a configuration says, with or without slashes.
func coveragePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fault.WithReason(fault.Rejected, "the pattern is too long")
	}
	if inner, ok := strings.CutPrefix(pattern, "/"); ok {
		pattern = strings.TrimSuffix(inner, "/")
	}
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return nil, fault.WithReason(fault.Rejected, "the pattern is not valid")
	}
	return re, nil
}

// lastFigure is the number in the last match of a text: in the last group that
// matched something, or in all of it.
func lastFigure(re *regexp.Regexp, text string) (float64, bool) {
	all := re.FindAllStringSubmatch(text, -1)
	for i := len(all) - 1; i >= 0; i-- {
		found := all[i][0]
		for _, group := range all[i][1:] {
			if group != "" {
				found = group
			}
		}
		if n, err := strconv.ParseFloat(figure.FindString(found), 64); err == nil {
			return n, true
		}
	}
	return 0, false
}

// Coverage is the last figure in a job's log that a pattern finds. The log is
// read from its end, and no further than needed.
func (s *Service) Coverage(ctx context.Context, jobID int64, pattern string) (percent float64, found bool, err error) {
	re, err := coveragePattern(pattern)
	if err != nil {
		return 0, false, err
	}
	_, end, err := s.OpenLog(ctx, jobID, 0)
	if err != nil {
		return 0, false, err
	}
	for end > 0 {
		from := max(0, end-backwards)
		body, _, err := s.OpenLog(ctx, jobID, from)
		if err != nil {
			return 0, false, err
		}
		text, err := io.ReadAll(io.LimitReader(body, end-from))
		_ = body.Close()
		if err != nil {
			return 0, false, err
		}
		if n, ok := lastFigure(re, string(text)); ok {
			return n, true, nil
		}
		if from == 0 {
			return 0, false, nil
		}
		end = from + overlap
	}
	return 0, false, nil
}
