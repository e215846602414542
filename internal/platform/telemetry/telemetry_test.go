package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"stithy/internal/platform/telemetry"
)

func TestNoTextInAnEventBreaksItsLine(t *testing.T) {
	t.Parallel()
	nasty := "a\r\nlevel=ERROR\x00\x1b[2J\x7f\u0085\u009b31m\u2028{\"level\":\"ERROR\"}\xc2 é"
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		telemetry.NewLogger(&out, slog.LevelInfo, format).Info(nasty, nasty, nasty, "name", nasty)
		line, ended := strings.CutSuffix(out.String(), "\n")
		if !ended {
			t.Errorf("%s: the line has no end", format)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' }) {
			t.Errorf("%s: control characters in %q", format, line)
		}
		if format != "json" {
			continue
		}
		var event struct{ Msg, Name string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if want := strings.ToValidUTF8(nasty, "\uFFFD"); event.Msg != want || event.Name != want {
			t.Errorf("reads back as %q and %q", event.Msg, event.Name)
		}
	}
}

func TestEventsBelowTheLevelAreNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, slog.LevelWarn, "text")
	log.Info("quiet")
	log.Warn("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") {
		t.Errorf("logged %q", got)
	}
}

func TestRequestIDsAreValidAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := telemetry.NewRequestID()
		if len(id) != 26 || !telemetry.ValidRequestID(id) || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}

func TestOnlyPlainRequestIDsAreTakenOver(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"0b9d7f0e-8a60-4d1c-9e5c-f5b1c4a6f0aa": true, "A_z-09": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\n": false, "é": false, "<b>": false, "a.b": false,
	} {
		if telemetry.ValidRequestID(id) != want {
			t.Errorf("%q: want %v", id, want)
		}
	}
}

func BenchmarkNewRequestID(b *testing.B) {
	for b.Loop() {
		telemetry.NewRequestID()
	}
}
