package errortracking

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkReport is what an envelope of some 4 kB costs before it is written: time of a core, not of a clock.
func BenchmarkReport(b *testing.B) {
	var frames []string
	for n := range 12 {
		frames = append(frames, fmt.Sprintf(`{"filename":"shop/part%d.py","abs_path":"/srv/shop/part%d.py","function":"step_%c","module":"shop.part","lineno":%d,"in_app":%t,`+
			`"pre_context":["def step(cart):","    rows = cart.rows()"],"context_line":"    return rows[n] / cart.count","post_context":["",""],"vars":{"cart":"<Cart 5>"}}`,
			n, n, 'a'+n, 10+n, n%2 == 0))
	}
	text := `{"event_id":"5d9b0c1a7e3f4a2b8c6d1e2f3a4b5c6d"}` + "\n" + `{"type":"event"}` + "\n" + `{"timestamp":"2026-01-02T03:04:05Z","platform":"python","level":"error",` +
		`"release":"shop@1.4.1","environment":"production","server_name":"web-1","user":{"id":"5","email":"ann@example.com"},"tags":{"shard":"7"},` +
		`"contexts":{"runtime":{"name":"CPython","version":"3.12.3"}},"request":{"url":"https://shop.example/cart/5","method":"GET","headers":{"Cookie":"session=1","User-Agent":"curl/8"}},` +
		`"breadcrumbs":{"values":[{"type":"http","category":"httplib","message":"GET /x","timestamp":1767323045}]},` +
		`"exception":{"values":[{"type":"KindA","value":"cart 5 is empty","stacktrace":{"frames":[` + strings.Join(frames, ",") + `]}}]}}`
	before := spentTime(b)
	for b.Loop() {
		all, err := readEnvelope(strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		fingerprint(all[0])
		scrubber{}.scrub(all[0])
		if _, err := all[0].payload(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((spentTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

func spentTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
