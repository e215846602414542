package audit

import (
	"context"
	"io"
)

// WriteUpTo are exports that end after fewer events.
func WriteUpTo(ctx context.Context, s *Service, table, lines io.Writer, f Filter, most int) error {
	if err := s.writeCSV(ctx, table, f, most); err != nil {
		return err
	}
	return s.writeLines(ctx, lines, f, most)
}
