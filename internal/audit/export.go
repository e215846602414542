package audit

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/paging"
)

// An export is read in parts, so that it takes no more memory than one of them, and ends.
const (
	exportPart    = 1_000
	exportMost    = 100_000 // events
	exportParts   = 1_000   // where few of the events that are looked at match
	exportEndText = "This is not all: the export ends after so many events. Narrow the days or the filter for the others."
)

// each calls a function with the events of a filter, the newest first. It reports whether there are more than it came to.
func (s *Service) each(ctx context.Context, f Filter, most int, do func(Event) error) (more bool, err error) {
	req := paging.Request{PerPage: min(exportPart, most), Keyset: true, OrderBy: "id", Desc: true}
	for range exportParts {
		part, err := s.List(ctx, f, req)
		if err != nil {
			return false, err
		}
		for _, e := range part.Items {
			if most--; most < 0 {
				return true, nil
			}
			if err := do(e); err != nil {
				return false, err
			}
		}
		if part.Next == nil {
			return false, nil
		}
		req.Cursor = part.Next
	}
	return true, nil
}

// csvHeads are the columns of an export, which are added to at the end alone.
var csvHeads = []string{
	"ID", "Time", "Author ID", "Author name", "Entity type", "Entity ID", "Entity path", "Target type", "Target ID", "Target details", "Event type", "Action",
	"IP address",
}

// WriteCSV writes the events of a filter as a table.
func (s *Service) WriteCSV(ctx context.Context, w io.Writer, f Filter) error {
	return s.writeCSV(ctx, w, f, exportMost)
}

func (s *Service) writeCSV(ctx context.Context, w io.Writer, f Filter, most int) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeads); err != nil {
		return err
	}
	more, err := s.each(ctx, f, most, func(e Event) error {
		target, address := "", ""
		if e.TargetID != nil {
			target = strconv.FormatInt(*e.TargetID, 10)
		}
		if e.IPAddress != nil {
			address = *e.IPAddress
		}
		return out.Write([]string{
			strconv.FormatInt(e.ID, 10), e.CreatedAt.UTC().Format(time.RFC3339), strconv.FormatInt(e.AuthorID, 10), inert(e.AuthorName), string(e.EntityType),
			strconv.FormatInt(e.EntityID, 10), inert(e.EntityPath), inert(e.TargetType), target, inert(e.TargetDetails), inert(e.EventType), inert(e.Action()),
			inert(address),
		})
	})
	if err == nil && more {
		err = out.Write(append([]string{exportEndText}, make([]string, len(csvHeads)-1)...))
	}
	if err != nil {
		return fmt.Errorf("exporting audit events: %w", err)
	}
	out.Flush()
	return out.Error()
}

// inert is a text that no program for tables takes for a formula, also not one that takes a semicolon or a tabulator for the end of a cell.
func inert(text string) string {
	var b strings.Builder
	begins := true // a cell, here
	for i, r := range text {
		if begins && (strings.ContainsRune("=+-@＝＋－＠", r) || (i == 0 && strings.ContainsRune("\t\r\n", r))) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		begins = strings.ContainsRune(";\t\r\n", r) || (begins && strings.ContainsRune("\"' ", r))
	}
	return b.String()
}

// WriteLines writes the events of a filter as JSON, one in each line, in the form that all of them have where events of several trails stand together.
func (s *Service) WriteLines(ctx context.Context, w io.Writer, f Filter) error {
	return s.writeLines(ctx, w, f, exportMost)
}

func (s *Service) writeLines(ctx context.Context, w io.Writer, f Filter, most int) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	more, err := s.each(ctx, f, most, func(e Event) error { return out.Encode(s.wholeForm(e)) })
	if err == nil && more {
		err = out.Encode(struct {
			Truncated bool   `json:"truncated"`
			Message   string `json:"message"`
		}{true, exportEndText})
	}
	if err != nil {
		return fmt.Errorf("exporting audit events: %w", err)
	}
	return nil
}
