package joblog

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// rendered is a log as people see it, whole.
func rendered(log string, cuts ...int) string {
	var h HTML
	p := NewParser(Start(), func(l *Line) bool { h.Line(l); return true })
	write(p, log, cuts)
	p.Finish()
	h.Close()
	return string(h.Bytes())
}

// write gives a log in pieces.
func write(p interface{ Write([]byte) (int, error) }, log string, cuts []int) {
	for _, cut := range cuts {
		if cut > 0 && cut < len(log) {
			_, _ = p.Write([]byte(log[:cut]))
			log = log[cut:]
		}
	}
	_, _ = p.Write([]byte(log))
}

// line is a line of plain HTML, as the renderer writes it.
func line(n, body string) string {
	return `<div id="L` + n + `"><a href="#L` + n + `" tabindex="-1">` + n + `</a>` + body + "</div>\n"
}

// opened is the beginning of a section.
func opened(n, how, title string) string {
	return `<div data-s="` + n + `"><a href="#L` + n + `">` + n + `</a><details` + how + `><summary id="L` + n + `">` + title + "</summary>\n"
}

const closed = "</details></div>\n"

// ended is the end of a section, with how long it took.
func ended(took string) string { return "</details><small>" + took + "</small></div>\n" }

func TestALogIsLinesWithNumbersColoursAndSections(t *testing.T) {
	t.Parallel()
	const header, body, end = "section_start:100:build\r\x1b[0KBuilding\n", "one\n", "section_end:165:build\r\x1b[0K"
	section := opened("1", " open", "Building") + line("2", "one")
	for name, c := range map[string]struct{ log, want string }{
		"nothing":                          {"", ""},
		"a line":                           {"a\n", line("1", "a")},
		"a line without an end":            {"a\nb", line("1", "a") + line("2", "b")},
		"an empty line":                    {"\na\n", line("1", "") + line("2", "a")},
		"markup":                           {"<b a=\"x\" b='y'>&amp;\n", line("1", "&lt;b a=&#34;x&#34; b=&#39;y&#39;&gt;&amp;amp;")},
		"a colour":                         {"a \x1b[31mred\x1b[0m b\n", line("1", `a <span class="c1">red</span> b`)},
		"a colour over lines":              {"\x1b[32ma\nb\n", line("1", `<span class="c2">a</span>`) + line("2", `<span class="c2">b</span>`)},
		"a ground brings its ink":          {"\x1b[31;41mx\n", line("1", `<span class="g1">x</span>`)},
		"black on whatever is plain":       {"\x1b[30mx\x1b[97my\n", line("1", `xy`)},
		"inverse":                          {"\x1b[7mx\x1b[34my\n", line("1", `<span class="inv">x</span><span class="g4">y</span>`)},
		"bold, italic, underlined, struck": {"\x1b[1;3;4;9mx\x1b[22;23;24;29my\n", line("1", `<span class="bold italic under strike">x</span>y`)},
		"256 colours":                      {"\x1b[38;5;196mx\x1b[48;5;21my\x1b[0;38;5;244mz\n", line("1", `<span class="c1">x</span><span class="g4">y</span><span class="c8">z</span>`)},
		"true colours":                     {"\x1b[38;2;250;180;10mx\x1b[38:2::10:200:30my\n", line("1", `<span class="c3">x</span><span class="c2">y</span>`)},
		"a colour that is none":            {"\x1b[38;5mx\x1b[38;7;1my\x1b[?25hz\n", line("1", "xyz")},
		"a return overwrites":              {" 10%\r 20%\rdone\n", line("1", "done")},
		"a shorter text leaves the rest":   {"abcdef\rxy\n", line("1", "xycdef")},
		"a line that is erased":            {"abcdef\r\x1b[Kxy\n", line("1", "xy")},
		"erased before the cursor":         {"abc\x1b[1Kd\n", line("1", "   d")},
		"all erased":                       {"abc\x1b[2K\rd\n", line("1", "d")},
		"line ends of Windows":             {"a\r\nb\r\n", line("1", "a") + line("2", "b")},
		"a tab and what is no character":   {"a\tb\x00\x07c\x7f\u0085\n", line("1", "a\tbc")},
		"a step back overwrites":           {"abc\b\bx\n\b\bdone\b\b\b\b\b100%\n", line("1", "axc") + line("2", "100%")},
		"the cursor in columns":            {"abc\x1b[1GX\x1b[2CY\x1b[2DZ\n\x1b[5Gx\x1b[900C\x1b[0Gy\n", line("1", "XbZY") + line("2", "y   x")},
		"a spinner of npm":                 {"\x1b[1G\x1b[0K⠙\x1b[1G\x1b[0K⠹\x1b[1G\x1b[0Kadded 5 packages\n", line("1", "added 5 packages")},
		"a bar of yarn":                    {"[--] 0/2\x1b[2K\x1b[1G[#-] 1/2\x1b[2K\x1b[1GDone\n", line("1", "Done")},
		"a bar of cargo":                   {"\x1b[1m\x1b[36m    Building\x1b[0m [>   ] 1/9\r\x1b[K\x1b[1m\x1b[32m   Compiling\x1b[0m a v1\n", line("1", `<span class="c2 bold">   Compiling</span> a v1`)},
		"a reset with an empty number":     {"\x1b[32;1m$ make\x1b[0;m all\x1b[;31mred\x1b[31;mplain\n", line("1", `<span class="c2 bold">$ make</span> all<span class="c1">red</span>plain`)},
		"the kinds of underlines":          {"\x1b[4:3ma\x1b[4:0mb\x1b[21mc\x1b[24md\n", line("1", `<span class="under">a</span>b<span class="under">c</span>d`)},
		"the colour of an underline":       {"\x1b[58;2;1;3;9mx\x1b[58:5:1my\x1b[59mz\n", line("1", "xyz")},
		"text that turns around":           {"a\u202eb\u2066c\n", line("1", "abc")},
		"bytes that are no text":           {"a\xffb\xe2\x82\n\xe2\x82x\n", line("1", "a\ufffdb\ufffd\ufffd") + line("2", "\ufffd\ufffdx")},
		"a title and a link of terminals":  {"\x1b]0;title\x07a\x1b]8;;javascript:alert(1)\x1b\\b\x1b]8;;\x1b\\\n", line("1", "ab")},
		"a code that does not end":         {"a\x1b]0;title\nb\x1b[31\nc\n", line("1", "a") + line("2", "b") + line("3", "c")},
		"other codes":                      {"\x1b[2J\x1b[H\x1b(Ba\x1b7\x1b[3Ab\x1bPq#0\x1b\\c\n", line("1", "abc")},
		"a link":                           {"see https://a.example/b?c=1&d=(e), or http://f.example.\n", line("1", `see <a href="https://a.example/b?c=1&amp;d=(e)" rel="nofollow noopener noreferrer">https://a.example/b?c=1&amp;d=(e)</a>, or <a href="http://f.example" rel="nofollow noopener noreferrer">http://f.example</a>.`)},
		"no links":                         {"javascript:alert(1) data:text/html,x xhttps://a.b https://user@a.b https:// http:///x ftp://a.b\n", line("1", `javascript:alert(1) data:text/html,x xhttps://a.b https://user@a.b https:// http:///x ftp://a.b`)},
		"a coloured link":                  {"\x1b[31mhttp://a\x1b[32m.b\n", line("1", `<a href="http://a.b" rel="nofollow noopener noreferrer"><span class="c1">http://a</span><span class="c2">.b</span></a>`)},
		"a section":                        {header + body + end + "two\n", section + ended("01:05") + line("3", "two")},
		"a section that does not end":      {header + body, section + closed},
		"an end without a beginning":       {end + "a\n", line("1", "a")},
		"a section after text":             {"a" + header + body, line("1", "a") + strings.NewReplacer(`"L1"`, `"L2"`, `#L1"`, `#L2"`, `>1<`, `>2<`, `"1"`, `"2"`, `"L2"`, `"L3"`, `#L2"`, `#L3"`, `>2<`, `>3<`).Replace(section) + closed},
		"a section that is collapsed":      {"section_start:1:a[hide=1,collapsed=true]\r\x1b[0KA\n", opened("1", "", "A") + closed},
		"a section without a title":        {"section_start:1:a.b-c_d\r\x1b[0K\n", opened("1", " open", "a.b-c_d") + closed},
		"an end ends what is inside": {
			"section_start:1:a\r\x1b[0KA\nsection_start:2:b\r\x1b[0KB\nsection_end:3:a\r\x1b[0Kc\n",
			opened("1", " open", "A") + opened("2", " open", "B") + closed + ended("00:02") + line("3", "c"),
		},
		"a mark in plain text":       {"section_start:1:a\nsection_start:1:<b>\r\x1b[0Kx\n", line("1", "section_start:1:a") + line("2", "x")},
		"a name that is no name":     {"section_start:1:a b\r\x1b[0Kx\n", line("1", "x")},
		"a mark whose line was long": {"abcdefghijklmnopqrstuvwxyzabcdefghijklm\rsection_end:1:a\r\x1b[0Kx\n", line("1", "x")},
	} {
		if got := rendered(c.log); got != c.want {
			t.Errorf("%s:\n%s\ninstead of\n%s", name, got, c.want)
		}
	}
}

func TestALongLineGoesOnInTheNext(t *testing.T) {
	t.Parallel()
	var lengths []int
	p := NewParser(Start(), func(l *Line) bool { lengths = append(lengths, len(l.Cells)); return true })
	write(p, strings.Repeat("é", maxCells+5)+"\n"+strings.Repeat("99%\r", maxLine/4+1)+"\n"+strings.Repeat("\x1b[1m", maxLine)+"end\n", nil)
	p.Finish()
	want := []int{maxCells, 5, 3, 3, 3}
	if len(lengths) != len(want) {
		t.Fatalf("lines of %v characters instead of %v", lengths, want)
	}
	for i := range want {
		if lengths[i] != want[i] {
			t.Errorf("lines of %v characters instead of %v", lengths, want)
		}
	}
}

// stampTag is how a line says when and where it was written.
const stampTag = `(?: data-t="\d\d:\d\d:\d\d\.\d{3}")?(?: class="err" title="stderr")?`

// ours are the only tags that a log is shown with.
var ours = regexp.MustCompile(`<div id="L\d+"` + stampTag + `>|</div>|<a href="#L\d+"( tabindex="-1")?>|<a href="\?line=\d+#L\d+">|` +
	`<a href="(?i:https?)://[^"'<>\s\x60]+" rel="nofollow noopener noreferrer">|</a>|<span class="[a-z0-9 ]+">|</span>|` +
	`<div data-s="\d+">|<details(?: open)?>|</details>|<summary>|<summary id="L\d+"` + stampTag + `>|</summary>|<small>[0-9:]+</small>`)

var entities = regexp.MustCompile(`&(?:lt|gt|amp|#34|#39);`)

// hostile reports what in a rendered log could act.
func hostile(html string) string {
	var open []string
	for _, tag := range ours.FindAllString(html, -1) {
		name := strings.TrimLeft(strings.FieldsFunc(tag, func(r rune) bool { return r == ' ' || r == '>' || r == '<' })[0], "<")
		switch {
		case name == "small":
		case strings.HasPrefix(name, "/"):
			if len(open) == 0 || open[len(open)-1] != name[1:] {
				return "unbalanced " + tag
			}
			open = open[:len(open)-1]
		default:
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		return "unclosed " + open[0]
	}
	rest := ours.ReplaceAllString(html, "")
	if at := strings.IndexAny(rest, `<>"'`); at >= 0 {
		return "markup: " + rest[at:min(len(rest), at+40)]
	}
	if at := strings.IndexByte(entities.ReplaceAllString(rest, ""), '&'); at >= 0 {
		return "an entity of the log's own"
	}
	for _, r := range rest {
		if (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r <= 0x9f) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return "a control character"
		}
	}
	return ""
}

// words are what random logs are made of.
var words = []string{
	"a", "é", "\xe2\x82", "\xff", " ", "\t", "\n", "\r", "\r\n", "\x1b", "\x1b[", "\x1b[0K", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[31m", "\x1b[0m", "\x1b[38;5;", "\x1b[7;1;4m",
	"38;2;1;2;3m", "\x1b]0;", "\x07", "\x1b\\", "\x1bP", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", `"><svg/onload=alert(1)>`, "</div></details>",
	"&lt;", "&#x3c;", "http://a.example/", "https://x/\"onmouseover=alert(1)", "javascript:alert(1)", "https://a'b<c", "section_start:1:a\r\x1b[0K", "section_start:2:b[collapsed=true]\r\x1b[0K",
	"section_end:9:a\r\x1b[0K", "section_end:9:b\r\x1b[0K", "section_start:1:<x>\r\x1b[0K", "\u202e", "\u2028", "\x00", "\u009b31m",
}

func anyLog(t *rapid.T) string {
	first := rapid.SampledFrom([]string{"", "2026-11-15T22:10:59.708409Z 00O ", "2026-11-15T22:10:59.70840"}).Draw(t, "first")
	return first + strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 60).Draw(t, "words"), "")
}

func TestCI14_NothingInALogActs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := anyLog(t)
		if found := hostile(rendered(log)); found != "" {
			t.Fatalf("%s, of %q", found, log)
		}
	})
}

func TestALogIsTheSameWhateverItsPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := anyLog(t)
		cuts := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 40).Draw(t, "cuts")
		if whole, pieces := rendered(log), rendered(log, cuts...); whole != pieces {
			t.Fatalf("%q in pieces is\n%s\ninstead of\n%s", log, pieces, whole)
		}
	})
}

type seen struct {
	number int64
	text   string
	style  Style
	within int
	opens  string
}

func read(log []byte, from State) (lines []seen) {
	p := NewParser(from, func(l *Line) bool {
		s := seen{number: l.Number, text: l.Text(), within: len(l.Within)}
		if l.Opens != nil {
			s.opens = l.Opens.Name
		}
		if len(l.Cells) > 0 {
			s.style = l.Cells[0].Style
		}
		lines = append(lines, s)
		return true
	})
	_, _ = p.Write(log[from.Offset:])
	p.Finish()
	return lines
}

func TestALogReadFromTheMiddleIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := []byte(anyLog(t))
		whole := read(log, Start())
		var states []State
		p := NewParser(Start(), func(*Line) bool { return true })
		for _, c := range log {
			_, _ = p.Write([]byte{c})
			if s := p.Begun(); len(states) == 0 || states[len(states)-1].Offset != s.Offset {
				states = append(states, s)
			}
		}
		for _, s := range states {
			rest := read(log, s)
			if len(rest)+int(s.Line)-1 != len(whole) {
				t.Fatalf("%q from %+v has %d lines instead of %d", log, s, len(rest), len(whole)-int(s.Line)+1)
			}
			for i, l := range rest {
				if want := whole[int(s.Line)-1+i]; l != want {
					t.Fatalf("%q from %+v: line %+v instead of %+v", log, s, l, want)
				}
			}
		}
	})
}

func TestAnIndexFindsEveryLineNearby(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	for n := range 40_000 {
		switch n % 10_000 {
		case 100:
			log.WriteString("section_start:1:part\r\x1b[0Kpart\n")
		case 9_000:
			log.WriteString("section_end:5:part\r\x1b[0K")
		}
		log.WriteString("\x1b[32mok\x1b[0m and some more text in line\n")
	}
	log.WriteString("no end")
	x := NewIndexer()
	write(x, log.String(), []int{1000, 70_000, 3})
	index := x.Index()
	whole := read(log.Bytes(), Start())
	if index.Lines != int64(len(whole)) || index.Size != int64(log.Len()) || len(index.Marks) < 8 {
		t.Fatalf("%d lines, %d bytes, %d marks; %d lines, %d bytes", index.Lines, index.Size, len(index.Marks), len(whole), log.Len())
	}
	for line := int64(1); line <= index.Lines; line += 777 {
		from := index.Before(line)
		if from.Line > line {
			t.Fatalf("line %d is said to be after %d", line, from.Line)
		}
		found := read(log.Bytes()[:min(int64(log.Len()), from.Offset+2*stride)], from)[line-from.Line]
		if found != whole[line-1] {
			t.Errorf("line %d is %+v instead of %+v", line, found, whole[line-1])
		}
	}
}

// show is what a window shows of a log.
func show(w *Window, log string) string {
	p := NewParser(Start(), w.Take)
	write(p, log, nil)
	if !p.Done() {
		p.Finish()
	}
	return string(w.HTML())
}

func TestAWindowShowsWhatItMustAndNoMoreThanAPageBears(t *testing.T) {
	t.Parallel()
	spans := strings.Repeat("\x1b[41;1;3;4;9mx\x1b[42my", maxCells/2) + "\n"
	for name, lineOf := range map[string]string{
		"plain": "a line of text\n", "empty": "\n", "markup": strings.Repeat("'", maxCells) + "\n", "spans": spans, "links": strings.Repeat("http://a ", 200) + "\n",
	} {
		log := strings.Repeat(lineOf, 1000)
		for kind, w := range map[string]*Window{
			"from": From(500), "until": Until(600), "around": Around(500), "the beginning": From(-5), "the end": Until(1000), "around the beginning": Around(2), "behind the end": Around(1200),
		} {
			html := show(w, log)
			first, last := w.Shown()
			must := min(w.anchor, 1000)
			if kind != "behind the end" && (first > must || last < must) {
				t.Errorf("%s, %s: lines %d to %d lack %d", name, kind, first, last, must)
			}
			if elements := strings.Count(html, "<") - strings.Count(html, "</"); len(html) > 130<<10 || elements > 5000 {
				t.Errorf("%s, %s: %d bytes, %d elements", name, kind, len(html), elements)
			}
			if found := hostile(html); found != "" {
				t.Errorf("%s, %s: %s", name, kind, found)
			}
			if name == "plain" && kind != "behind the end" && last-first < 400 {
				t.Errorf("%s: only lines %d to %d", kind, first, last)
			}
		}
	}
}

func TestAWindowInTheMiddleOfASectionSaysWhereItBegins(t *testing.T) {
	t.Parallel()
	log := "section_start:1:a[collapsed=true]\r\x1b[0KA\n" + strings.Repeat("b\n", 10) + "section_end:2:a\r\x1b[0Kc\n"
	w := From(11)
	want := `<div data-s="1"><a href="?line=1#L1">1</a><details open><summary>a goes on</summary>` + "\n" + line("11", "b") + ended("00:01") + line("12", "c")
	if got := show(w, log); got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
}

func TestASearchFindsTextWhateverItsColours(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("nothing\n", 10) + "an \x1b[31mErr\x1b[0mor here\n" + strings.Repeat("x", 500) + "error" + strings.Repeat("y", 500) + "\nerror\n"
	s := NewSearch("eRRor", 5, 2)
	p := NewParser(Start(), s.Take)
	write(p, log, nil)
	if len(s.Hits) != 2 || s.Hits[0] != (Hit{11, "an Error here"}) || s.Hits[1].Number != 12 || !strings.Contains(s.Hits[1].Text, "error") || len(s.Hits[1].Text) > maxHitText {
		t.Errorf("%+v", s.Hits)
	}
	if s.Seen != 12 || !p.Done() {
		t.Errorf("looked until line %d", s.Seen)
	}
}

// slow is far above the processor time that any input of a fuzzer takes.
const slow = time.Second

// Whatever a log holds, only our own tags come out, and its pieces do not matter.
// brokenAtTheEnd has half a character behind the last column of a line, and a code behind that.
var brokenAtTheEnd = strings.Repeat("a", maxCells-1) + "\xf0\x9f\x98\x1b[1K\nhello\n"

func TestHalfACharacterAtTheEndOfALongLineIsOneOfIt(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]string{
		"once": brokenAtTheEnd, "again and again": strings.Repeat("\x1b\xf0\x9f\x98", 3*maxCells), "in codes": strings.Repeat("\x1b[\xf0\x9f\x98", 3*maxCells),
	} {
		longest, lines := 0, 0
		p := NewParser(Start(), func(l *Line) bool {
			longest, lines = max(longest, len(l.Cells)), lines+1
			return true
		})
		write(p, log, nil)
		p.Finish()
		if longest < maxCells || longest >= maxCells+utf8.UTFMax || lines < 2 {
			t.Errorf("%s: %d lines, the longest of %d characters", name, lines, longest)
		}
	}
}

func TestALogThatShowsNothingIsIndexedToo(t *testing.T) {
	t.Parallel()
	log := "first\n" + strings.Repeat("section_end:1:z\r\x1b[K\n", 100_000) + "last\n"
	x := NewIndexer()
	write(x, log, nil)
	index := x.Index()
	if index.Lines != 2 {
		t.Errorf("%d lines", index.Lines)
	}
	if at := index.Before(2); int64(len(log))-at.Offset > 2*stride || at.Line != 2 {
		t.Errorf("who wants the last line of %d bytes reads on from %d", len(log), at.Offset)
	}
}

func TestWhatIsAMark(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 128)
	for text, want := range map[string]bool{
		"section_start:1:a": true, "section_end:123456789012:A_z.0-9": true, "section_start:1:a[]": true, "section_start:1:a[collapsed=true,x=y]": true,
		"section_end:1:" + long + "[" + long + "]": true,
		"section_start::a":                         false, "section_start:1234567890123:a": false, "section_start:+1:a": false, "section_start:1:": false, "section_start:1": false,
		"section_begin:1:a": false, "section_start:1:a b": false, "section_start:1:a]": false, "section_start:1:[a]": false, "section_start:1:a[b": false,
		"section_start:1:a[b]c]": false, "section_start:1:a[[b]": false, "section_start:1:a" + long: false, "section_start:1:a[b" + long + "]": false, "section_start:1:é": false,
	} {
		if m, ok := parseMark(text); ok != want {
			t.Errorf("%s: %v %+v", text, ok, m)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, w := range words {
		f.Add([]byte("x"+w+"y\n"+w), 3)
	}
	f.Add([]byte(strings.Join(words, "")), 17)
	f.Add([]byte(stamped("00O ", "a")+strings.Join(words, "")), 31)
	f.Add([]byte(strings.Repeat("-http", 10_000)), 4000)
	f.Add([]byte(brokenAtTheEnd), 2048)
	f.Fuzz(func(t *testing.T, log []byte, cut int) {
		var whole string
		if took := spent(t, func() { whole = rendered(string(log)) }); took > slow {
			t.Errorf("took %s", took)
		}
		if found := hostile(whole); found != "" {
			t.Error(found)
		}
		cuts := make([]int, 0, 64)
		for range cap(cuts) {
			cuts = append(cuts, cut)
		}
		if pieces := rendered(string(log), cuts...); pieces != whole {
			t.Errorf("in pieces\n%s\ninstead of\n%s", pieces, whole)
		}
		p := NewParser(Start(), func(l *Line) bool {
			if len(l.Cells) >= maxCells+utf8.UTFMax {
				t.Errorf("a line of %d characters", len(l.Cells))
			}
			return true
		})
		_, _ = p.Write(log)
		p.Finish()
		x := NewIndexer()
		_, _ = x.Write(log)
		if lines := int64(strings.Count(whole, ` id="L`)); x.Index().Lines != lines {
			t.Errorf("%d lines in the index, %d on the page", x.Index().Lines, lines)
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	log := []byte(strings.Repeat("\x1b[32mok\x1b[0m   12.3s  internal/some/package/of/ours  and 87.4% of statements\n", 10_000))
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		x := NewIndexer()
		_, _ = x.Write(log)
	}
}
