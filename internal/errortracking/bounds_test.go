package errortracking

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDO02_OfAMessageABoundedPartTellsErrorsApart(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"1_", "1a", "a.", "1.", "-1", "0x", "deadbeef", "a@", "2024-01-02T"} {
		long := strings.Repeat(part, 8<<10/len(part))
		if Fold(long) != Fold(clean(long, maxFolded)) {
			t.Errorf("all of %q is read", part)
		}
	}
	if got := Fold("user 17 of deadbeef in defaced 7f3a9c1b at ann@example.com"); got != "user <number> of deadbeef in defaced <hex> at <email>" {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsSaidMayNotBeLongerThanItsColumn(t *testing.T) {
	t.Parallel()
	r := &Report{Transaction: strings.Repeat("a@b.c ", 42), Exceptions: []Exception{{Type: strings.Repeat("x", 2000)}}}
	(scrubber{}).scrub(r)
	if n := len(r.Culprit()); n > maxName {
		t.Errorf("where it happened takes %d bytes", n)
	}
	if n := len(r.Title()); n > maxName {
		t.Errorf("what happened takes %d bytes", n)
	}
}

func TestNumbersThatNoReaderKnowsAreTexts(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]any{"1e999": "1e999", "17": json.Number("17"), "1.5e3": json.Number("1.5e3")} {
		if got := trim(json.Number(number), maxNested); got != want {
			t.Errorf("%s becomes %#v", number, got)
		}
	}
	s := Stored{Payload: []byte(`{"extra":{"a":1e999}}`)}
	if _, err := s.Report(); err != nil {
		t.Error(err)
	}
}
