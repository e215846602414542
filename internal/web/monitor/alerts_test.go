package monitor

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestAPayloadIsShownAsJSONOnSeveralLines(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`{}`, `[]`, `"a, {b}: \"c\\"`, `{"a":1,"b":[true,null,{"c":"d\\"},[],{}],"e":{"f":[1,2]}}`, ` { "a" : [ 1 , 2 ] } `, `[[[]],[{}],"é"]`,
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(strings.TrimSpace(payload)), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got, cut := readable(payload); got != want.String() || cut {
			t.Errorf("%s: got %q, want %q", payload, got, want.String())
		}
	}
}

// What is deep takes many times its length when each of its parts has a line.
func TestDO03_APayloadIsReadNoFurtherThanItIsShown(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 98) + strings.Repeat("0,", 500_000) + "0" + strings.Repeat("]", 98)
	text, cut := readable(deep)
	if len(text) != shownBytes || !cut {
		t.Errorf("%d bytes are shown", len(text))
	}
	if allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			readable(deep)
		}
	}).AllocedBytesPerOp(); allocated > 1<<20 {
		t.Errorf("that takes %d bytes", allocated)
	}
	if text, cut := readable(`"` + strings.Repeat("é", shownBytes)); len(text) > shownBytes || !cut || strings.ContainsRune(text, '\uFFFD') {
		t.Error("a letter is cut in two")
	}
}
