package errortracking

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"stithy/internal/kit/fault"
)

// samples are what SDKs sent.
func samples(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestEnvelopesOfSDKsHoldTheirEvents(t *testing.T) {
	t.Parallel()
	for name, text := range samples(t, "*.envelope") {
		all, err := readEnvelope(bytes.NewReader(text))
		if err != nil || len(all) != 1 || len(all[0].Exceptions) != 1 {
			t.Errorf("%s: %d events, %v", name, len(all), err)
		}
	}
}

func TestER01_AnEnvelopeIsReadAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("{\"type\":\"session\"}\n{}\n", maxItems)
	large := strings.Repeat("x", maxEvent+1)
	for _, c := range []struct {
		fact, text string
		events     int
		want       error
	}{
		{"nothing but a header", `{}`, 0, nil},
		{"an event to the end of the line", "{}\n{\"type\":\"event\"}\n{\"message\":\"a\"}", 1, nil},
		{"an event by its length, with lines in it", "{}\n{\"type\":\"event\",\"length\":15}\n{\"message\":\n\"\"}\n", 1, nil},
		{"empty lines between items", "{}\n\n\n{\"type\":\"event\"}\n{}\n\n\n", 1, nil},
		{"lines that end in CR LF", "{}\r\n{\"type\":\"event\"}\r\n{}\r\n", 1, nil},
		{"items of other kinds", "{}\n{\"type\":\"attachment\",\"length\":3}\n{\n}\n{\"type\":\"log\"}\nx\n{\"type\":\"event\"}\n{}", 1, nil},
		{"an event without a payload", "{}\n{\"type\":\"event\"}\n", 0, errUnsupported},
		{"nothing", "", 0, errUnreadable},
		{"a header that is none", "x\n", 0, errUnreadable},
		{"a list for a header", "[]\n", 0, errUnreadable},
		{"an item header that is none", "{}\nx\n", 0, errUnreadable},
		{"an item without a type", "{}\n{}\n{}", 0, errUnreadable},
		{"a length below nothing", "{}\n{\"type\":\"event\",\"length\":-1}\n{}", 0, errUnreadable},
		{"a length beyond the end", "{}\n{\"type\":\"event\",\"length\":99}\n{}", 0, errUnreadable},
		{"another's length beyond the end", "{}\n{\"type\":\"log\",\"length\":99}\n{}", 0, errUnreadable},
		{"an event that is no object", "{}\n{\"type\":\"event\"}\n[]", 0, errUnsupported},
		{"an id that is none", "{\"event_id\":\"x\"}\n{\"type\":\"event\"}\n{}", 0, errUnsupported},
		{"a header that is too long", `{"x":"` + strings.Repeat("x", maxHeader) + `"}`, 0, errTooLarge},
		{"too many items", "{}\n" + many + "{\"type\":\"log\"}\n", 0, errTooLarge},
		{"too many events", "{}\n" + strings.Repeat("{\"type\":\"event\"}\n{}\n", maxEvents+1), 0, errTooLarge},
		{"an event that is too large", "{}\n{\"type\":\"event\"}\n" + large, 0, errTooLarge},
		{"an event that says that it is too large", "{}\n{\"type\":\"event\",\"length\":99999999999}\n{}", 0, errTooLarge},
		{"a large item that nobody wants", "{}\n{\"type\":\"attachment\"}\n" + large + "\n{\"type\":\"event\"}\n{}", 1, nil},
		{"more than is unpacked", "{}\n{\"type\":\"attachment\"}\n" + strings.Repeat("x", maxUnpacked), 0, errTooLarge},
	} {
		all, err := readEnvelope(strings.NewReader(c.text))
		if !errors.Is(err, c.want) || (err == nil && len(all) != c.events) {
			t.Errorf("%s: %d events, %v", c.fact, len(all), err)
		}
	}
}

func pack(t testing.TB, encoding string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var z io.WriteCloser
	switch encoding {
	case "gzip":
		z = gzip.NewWriter(&b)
	case "deflate":
		z = zlib.NewWriter(&b)
	case "br":
		z = brotli.NewWriter(&b)
	default:
		return text
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestER01_BodiesAreUnpackedWithinBounds(t *testing.T) {
	t.Parallel()
	zeros := bytes.Repeat([]byte{'0'}, 64<<20)
	for _, encoding := range []string{"", "gzip", "deflate", "br"} {
		open := func(text []byte) io.Reader {
			body, err := packed{encoding, pack(t, encoding, text)}.open()
			if err != nil {
				t.Fatal(encoding, err)
			}
			return body
		}
		if all, err := readEvent(open([]byte(`{"message":"a"}`))); err != nil || all[0].Message != "a" {
			t.Errorf("%q: %v", encoding, err)
		}
		if _, err := readEvent(open(zeros)); !fault.Is(err, fault.TooLarge) {
			t.Errorf("%q: %v", encoding, err)
		}
		if _, err := readEnvelope(open(append([]byte("{}\n{\"type\":\"attachment\"}\n"), zeros...))); !fault.Is(err, fault.TooLarge) {
			t.Errorf("%q: %v", encoding, err)
		}
	}
	unsaid, err := packed{"", pack(t, "gzip", []byte(`{}`))}.open()
	if err == nil {
		_, err = readEvent(unsaid)
	}
	if err != nil {
		t.Errorf("packed without a word: %v", err)
	}
	if _, err := (packed{"gzip", []byte("no")}).open(); !errors.Is(err, errUnreadable) {
		t.Error(err)
	}
	if _, err := (packed{"zstd", nil}).open(); !fault.Is(err, fault.UnsupportedMedia) {
		t.Error(err)
	}
}

func FuzzEnvelope(f *testing.F) {
	for _, text := range samples(f, "*.envelope") {
		f.Add(text)
	}
	f.Add([]byte("{}\n{\"type\":\"event\",\"length\":2}\n{}\n{\"type\":\"x\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readEnvelope(bytes.NewReader(text))
		known := errors.Is(err, errUnreadable) || errors.Is(err, errUnsupported) || fault.Is(err, fault.TooLarge)
		if err != nil && !known {
			t.Fatalf("nobody could be told: %v", err)
		}
		if len(all) > maxEvents {
			t.Fatalf("%d events", len(all))
		}
	})
}
