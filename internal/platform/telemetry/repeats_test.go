package telemetry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"stithy/internal/platform/telemetry"
)

func TestOneCauseIsOneLineInAnInterval(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1_000_000, 0)
	log := slog.New(telemetry.WithoutRepeats(slog.NewJSONHandler(&out, nil), func() time.Time { return now }))
	lines := func() string {
		defer out.Reset()
		return out.String()
	}
	for range 1000 {
		log.Error("request failed", "error", errors.New("refused"), telemetry.CauseKey, "database")
		log.With("part", "jobs").Warn("page failed", telemetry.CauseKey, "database")
	}
	if got := lines(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"repeated":0`) {
		t.Errorf("got %s", got)
	}
	log.Error("request failed", telemetry.CauseKey, "proxy")
	log.Error("request failed", "error", "of its own")
	log.Error("request failed", "error", "of its own")
	log.LogAttrs(t.Context(), slog.LevelError, "request failed", slog.Attr{})
	if got := lines(); strings.Count(got, "\n") != 4 {
		t.Errorf("another cause, and none: %s", got)
	}
	now = now.Add(9 * time.Second)
	log.Error("request failed", telemetry.CauseKey, "database")
	if got := lines(); got != "" {
		t.Errorf("too early: %s", got)
	}
	now = now.Add(time.Second)
	log.WithGroup("g").Error("request failed", telemetry.CauseKey, "database")
	log.Error("request failed", telemetry.CauseKey, "database")
	if got := lines(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"repeated":2000`) {
		t.Errorf("got %s", got)
	}
}

func TestTheLogHasOneLineForACause(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log := telemetry.NewLogger(&out, slog.LevelInfo, format)
		for range 3 {
			log.Error("request failed", telemetry.CauseKey, "database")
		}
		if n := strings.Count(out.String(), "\n"); n != 1 {
			t.Errorf("%s: %d lines", format, n)
		}
	}
}
