package joblog

import (
	"strings"
	"testing"
)

const stampTime = "2026-11-15T22:10:59.708409Z "

// stamped is a line as a runner writes it: the stream, and how the line begins.
func stamped(stream, text string) string { return stampTime + stream + text + "\n" }

// at is a line of the output, errs one of the errors, as the renderer writes them.
func at(n, body string) string {
	return `<div id="L` + n + `" data-t="22:10:59.708"><a href="#L` + n + `" tabindex="-1">` + n + `</a>` + body + "</div>\n"
}

func errs(n, body string) string {
	return `<div id="L` + n + `" data-t="22:10:59.708" class="err" title="stderr"><a href="#L` + n + `" tabindex="-1">` + n + `</a>` + body + "</div>\n"
}

func openedAt(n, how, title string) string {
	return strings.Replace(opened(n, how, title), `id="L`+n+`"`, `id="L`+n+`" data-t="22:10:59.708"`, 1)
}

func TestStampsAreNoTextOfALog(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxCells-1)
	for name, c := range map[string]struct{ log, want string }{
		"a line":                          {stamped("00O ", "a"), at("1", "a")},
		"an empty line":                   {stamped("00O ", "") + stamped("01O ", "a"), at("1", "") + at("2", "a")},
		"a line of the errors":            {stamped("01E ", "<a>"), errs("1", "&lt;a&gt;")},
		"a line that goes on":             {stamped("01O ", "one ") + stamped("01O+", "two"), at("1", "one two")},
		"the rest after another one":      {stamped("01O ", "one ") + stamped("01E ", "x") + stamped("01O+", "two"), at("1", "one ") + errs("2", "x") + at("3", "two")},
		"an empty rest after another one": {stamped("01O ", "one ") + stamped("01E ", "x") + stamped("01O+", "") + stamped("01E ", ""), at("1", "one ") + errs("2", "x") + errs("3", "")},
		"the rest of another stream":      {stamped("01O ", "one ") + stamped("01E+", "x"), at("1", "one ") + errs("2", "x")},
		"progress":                        {stamped("01E ", " 10%\r") + stamped("01E+", " 50%\r") + stamped("01E+", "100%") + stamped("01E ", "done"), errs("1", "100%") + errs("2", "done")},
		"a character cut in two":          {stamped("01O ", "a\xe2\x82") + stamped("01O+", "\xacb"), at("1", "a€b")},
		"a character without its rest":    {stamped("01O ", "a\xe2\x82") + stamped("01O ", "\xacb"), at("1", "a\ufffd\ufffd") + at("2", "\ufffdb")},
		"a code cut in two":               {stamped("01O ", "a\x1b[3") + stamped("01O+", "1mb"), at("1", `a<span class="c1">b</span>`)},
		"a code without its rest":         {stamped("01O ", "a\x1b[3") + stamped("01O ", "1mb"), at("1", "a") + at("2", "1mb")},
		"a section": {
			stamped("00O ", "section_start:100:build_script\r\x1b[0K") + stamped("00O+", "\x1b[0K\x1b[36;1mBuilding\x1b[0;m") + stamped("01O ", "one") +
				stamped("00O ", "section_end:165:build_script\r\x1b[0K") + stamped("00O+", "two"),
			openedAt("1", " open", `<span class="c6 bold">Building</span>`) + at("2", "one") + ended("01:05") + at("3", "two"),
		},
		"one section after the other": {
			stamped("00O ", "section_start:1:a\r\x1b[0K") + stamped("00O+", "A") + stamped("00O ", "section_end:2:a\r\x1b[0K") +
				stamped("00O+", "section_start:2:b[collapsed=true]\r\x1b[0K") + stamped("00O+", "B") + stamped("01O ", "in b") + stamped("00O ", "section_end:4:b\r\x1b[0K") + stamped("00O+", "end"),
			openedAt("1", " open", "A") + ended("00:01") + openedAt("2", "", "B") + at("3", "in b") + ended("00:02") + at("4", "end"),
		},
		"a mark cut by its return": {
			stamped("00O ", "section_start:1:a\r") + stamped("00O+", "\x1b[0KA"),
			openedAt("1", " open", "A") + closed,
		},
		"a line without a stamp":         {stamped("00O ", "a") + "b\n\n2026-x\n" + stamped("00O+", "c"), at("1", "a") + line("2", "b") + line("3", "") + line("4", "2026-x") + at("5", "c")},
		"a stamp in a line":              {stamped("01O ", stampTime+"01O x"), at("1", stampTime+"01O x")},
		"a log without stamps":           {"a\n" + stamped("00O ", "b"), line("1", "a") + line("2", stampTime+"00O b")},
		"what is nearly a stamp":         {"2026-11-15T22:10:59.708409Z 00X a\n", line("1", "2026-11-15T22:10:59.708409Z 00X a")},
		"only the beginning of a stamp":  {"2026-11-15", line("1", "2026-11-15")},
		"a stamp that is not whole yet":  {stamped("00O ", "a") + "2026-11-15T22", at("1", "a") + line("2", "2026-11-15T22")},
		"a line that is not whole yet":   {stampTime + "01O a", at("1", "a")},
		"a stamp alone":                  {stamped("00O ", "a") + stampTime + "01O ", at("1", "a")},
		"a long line":                    {stamped("01O ", long+"ab") + stamped("01O+", "c") + stamped("01O ", "d"), at("1", long+"a") + at("2", "bc") + at("3", "d")},
		"a line that is exactly as long": {stamped("01O ", long+"a") + stamped("01O ", "b"), at("1", long+"a") + at("2", "b")},
	} {
		if got := rendered(c.log); got != c.want {
			t.Errorf("%s:\n%s\ninstead of\n%s", name, got, c.want)
		}
		if got := rendered(c.log, 1, 5, 31, 2, 40, 1, 1); got != c.want {
			t.Errorf("%s, in pieces:\n%s\ninstead of\n%s", name, got, c.want)
		}
		x := NewIndexer()
		write(x, c.log, nil)
		if lines := int64(strings.Count(c.want, ` id="L`)); x.Index().Lines != lines {
			t.Errorf("%s: %d lines in the index instead of %d", name, x.Index().Lines, lines)
		}
	}
}

func TestAnIndexFindsLinesOfAStampedLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for range 4_000 {
		log.WriteString(stamped("01E ", " 10%\r") + stamped("01E+", "100% \x1b[32mok") + stamped("01O ", strings.Repeat("long ", 500)) + stamped("01O+", "rest"))
	}
	x := NewIndexer()
	write(x, log.String(), []int{1000, 70_000, 3})
	index := x.Index()
	whole := read([]byte(log.String()), Start())
	if index.Lines != int64(len(whole)) || len(whole) != 3*4_000 || len(index.Marks) < 8 {
		t.Fatalf("%d lines and %d marks for %d lines", index.Lines, len(index.Marks), len(whole))
	}
	for line := int64(1); line <= index.Lines; line += 77 {
		from := index.Before(line)
		if found := read([]byte(log.String()[:min(int64(log.Len()), from.Offset+2*stride)]), from)[line-from.Line]; found != whole[line-1] {
			t.Errorf("line %d is %+v instead of %+v", line, found, whole[line-1])
		}
	}
}
