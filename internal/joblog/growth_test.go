package joblog

import (
	"cmp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// spent is the processor time that this thread takes for something, whatever else the machine does.
func spent(t testing.TB, do func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thread = 1 // RUSAGE_THREAD
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(thread, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	do()
	return used() - before
}

// Whatever a log repeats, a page of it costs about what one of plain text costs.
func TestCI14_NoLogCostsMuchMoreThanItsBytes(t *testing.T) {
	const size = 1 << 20
	cost := func(unit, words string) time.Duration {
		log := strings.Repeat(unit, size/len(unit)+1)[:size]
		x := NewIndexer()
		write(x, log, nil)
		least := time.Hour
		for range 3 {
			least = min(least, spent(t, func() {
				show(Until(x.Index().Lines), log)
				p := NewParser(Start(), NewSearch(words, 1, 5).Take)
				write(p, log, nil)
			}))
		}
		return least
	}
	plain := cost(strings.Repeat("a line of a log ", 40)+"\n", "no such words")
	for name, c := range map[string]struct{ unit, words string }{
		"beginnings of addresses":     {"-http", ""},
		"schemes":                     {"-http://", ""},
		"addresses that are none":     {"-http://[", ""},
		"addresses with names":        {"-http://@", ""},
		"addresses in brackets":       {"-http://a%zz)", ""},
		"brackets":                    {"http://" + strings.Repeat(")", 2000) + " ", ""},
		"codes for styles":            {"\x1b[38;5;1;48;2;1;2;3;4mx", ""},
		"erased beginnings":           {strings.Repeat("x", 2000) + strings.Repeat("\x1b[1K", 10_000), ""},
		"erased lines":                {strings.Repeat("x", 2000) + strings.Repeat("\x1b[2Kx", 10_000), ""},
		"columns":                     {"\x1b[60000Gx\r\x1b[K", ""},
		"columns and erased lines":    {strings.Repeat("x", 2000) + strings.Repeat("\x1b[2000G\x1b[1Kx\r", 5_000), ""},
		"lines of columns":            {"\x1b[60000Cx\n", ""},
		"sections":                    {"section_start:1:a\r\x1b[0K", ""},
		"sections that end":           {"section_start:1:a\r\x1b[0Ksection_end:1:a\r\x1b[0K", ""},
		"ends without beginnings":     {"section_end:1:z\r\x1b[K\n", ""},
		"what is nearly a mark":       {"section_start:1:" + strings.Repeat("a", 128) + "!\r\x1b[0K", ""},
		"stamps":                      {stampTime + "01O+\n", ""},
		"beginnings of stamps":        {stampTime + "01\n", ""},
		"words that are nearly there": {"aaaaaaaa", strings.Repeat("a", 199) + "b"},
		"bytes that are no text":      {"\xe2\x82", ""},
		"strings for terminals":       {"\x1b]", ""},
	} {
		took := cost(c.unit, cmp.Or(c.words, "no such words"))
		t.Logf("%-30s %.1f", name, float64(took)/float64(plain))
		if took > 30*plain {
			t.Errorf("%s take %s, plain text %s", name, took, plain)
		}
	}
}
