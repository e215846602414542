package markdown

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/net/html"
)

// rendered is a text as its limits let it be, however busy the machine is: the budget of time is left out.
func rendered(t testing.TB, text string) *Document {
	t.Helper()
	d, err := renderWithin(context.Background(), text, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Pieces) != len(d.References)+1 {
		t.Fatalf("%d pieces around %d references", len(d.Pieces), len(d.References))
	}
	return d
}

// plain is the HTML of a text without the ids that its digest is part of.
func plain(t testing.TB, text string) string {
	t.Helper()
	return strings.TrimSpace(strings.ReplaceAll(rendered(t, text).Plain(), "user-content-"+Digest(text)[:8]+"-", "ID-"))
}

func TestATextIsRendered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"*a* **b** ~~c~~ `d`":          `<p><em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>`,
		"# One two\n\n# One two":       "<h1 id=\"ID-one-two\">One two</h1>\n<h1 id=\"ID-one-two-2\">One two</h1>",
		"[a](https://b.example \"t\")": `<p><a href="https://b.example" title="t" rel="nofollow noreferrer">a</a></p>`,
		"https://a.example/b?c=d&e":    `<p><a href="https://a.example/b?c=d&amp;e" rel="nofollow noreferrer">https://a.example/b?c=d&amp;e</a></p>`,
		"ftp://a.example":              `<p>ftp://a.example</p>`,
		"- [ ] a\n- [x] b":             "<ul>\n<li><input type=\"checkbox\" disabled> a</li>\n<li><input type=\"checkbox\" checked disabled> b</li>\n</ul>",
		"|a|b|\n|:-|-:|\n|1|2|": "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n" +
			"<td align=\"left\">1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>",
		"> [!WARNING]\n> Hot":    "<div class=\"alert alert-warning\">\n<p class=\"alert-title\">Warning</p>\n<p>Hot</p>\n</div>",
		"> [!tip] Do <b>\n> so":  "<div class=\"alert alert-tip\">\n<p class=\"alert-title\">Do &lt;b&gt;</p>\n<p>so</p>\n</div>",
		"> [!other]\n> x":        "<blockquote>\n<p>[!other]\nx</p>\n</blockquote>",
		"> [!note]":              "<div class=\"alert alert-note\">\n<p class=\"alert-title\">Note</p>\n</div>",
		"```go\na < b\n```":      "<pre><code class=\"language-go\">a &lt; b\n</code></pre>",
		"```mermaid\ngraph\n```": "<pre><code class=\"language-mermaid\">graph\n</code></pre>",
		"a[^1]\n\n[^1]: b": "<p>a<sup id=\"ID-fnref:1\"><a href=\"#ID-fn:1\" class=\"footnote-ref\" role=\"doc-noteref\" rel=\"nofollow noreferrer\">1</a></sup></p>\n" +
			"<div class=\"footnotes\" role=\"doc-endnotes\">\n<hr>\n<ol>\n<li id=\"ID-fn:1\">\n<p>b\u00a0" +
			"<a href=\"#ID-fnref:1\" class=\"footnote-backref\" role=\"doc-backlink\" rel=\"nofollow noreferrer\">↩</a></p>\n</li>\n</ol>\n</div>",
		"<details open><summary>a</summary>b</details>": `<details open=""><summary>a</summary>b</details>`,
		"a\x00b\xffc": "<p>a\uFFFDb\uFFFDc</p>",
		"":            "",
	} {
		if got := plain(t, text); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestReferencesAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Reference{
		"#12":                         {{Kind: Issue, Text: "#12", Name: "12"}},
		"(g/p#3+) a":                  {{Kind: Issue, Text: "g/p#3+", Path: "g/p", Name: "3", Show: "+"}},
		"p!4+s.":                      {{Kind: MergeRequest, Text: "p!4+s", Path: "p", Name: "4", Show: "+s"}},
		"$5":                          {{Kind: Snippet, Text: "$5", Name: "5"}},
		"~bug, ~\"two words\"":        {{Kind: Label, Text: "~bug", Name: "bug"}, {Kind: Label, Text: "~\"two words\"", Name: "two words"}},
		"~a::b.":                      {{Kind: Label, Text: "~a::b", Name: "a::b"}},
		"%v1.0 x":                     {{Kind: Milestone, Text: "%v1.0", Name: "v1.0"}},
		"g/p%\"a b\"":                 {{Kind: Milestone, Text: "g/p%\"a b\"", Path: "g/p", Name: "a b"}},
		"@ann_b_c, @a/b.":             {{Kind: Mention, Text: "@ann_b_c", Name: "ann_b_c", Direct: true}, {Kind: Mention, Text: "@a/b", Name: "a/b", Direct: true}},
		"a1b2c3d":                     {{Kind: Commit, Text: "a1b2c3d", Name: "a1b2c3d"}},
		"a1b2c3d...f1e2d3c":           {{Kind: Range, Text: "a1b2c3d...f1e2d3c", Name: "a1b2c3d...f1e2d3c"}},
		"g/p@a1b2c3d":                 {{Kind: Commit, Text: "g/p@a1b2c3d", Path: "g/p", Name: "a1b2c3d"}},
		"g/p> x":                      {{Kind: Project, Text: "g/p>", Path: "g/p"}},
		"^alert#7":                    {{Kind: Alert, Text: "^alert#7", Name: "7"}},
		"*#1* **!2**":                 {{Kind: Issue, Text: "#1", Name: "1"}, {Kind: MergeRequest, Text: "!2", Name: "2"}},
		"# #1\n\n> #2\n\n- #3":        {{Kind: Issue, Text: "#1", Name: "1"}, {Kind: Issue, Text: "#2", Name: "2"}, {Kind: Issue, Text: "#3", Name: "3"}},
		"#1\n#2":                      {{Kind: Issue, Text: "#1", Name: "1"}, {Kind: Issue, Text: "#2", Name: "2"}},
		"`#1` \\#2 [#3](x) <b>#4</b>": {{Kind: Issue, Text: "#4", Name: "4"}},
		"```\n#1\n```\n\n    #2":      nil,
		"![@ann](x) [x](y \"#1\")":    nil,
		"a#b #0 #1a x@y.example é#1 /#1 deadbeef 1234567890123456789012345678901234567890abc a1b2c3d.txt a1b2c3d/e": nil,
		"~ % @ ~\"\" ~\"a\nb\" @/a @-a @.":      nil,
		"a1b2c3 g/p@a1b2c3 a1b2c3..d4e5f6 p> x": nil,
	} {
		if got := rendered(t, text).References; !slices.Equal(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestATextNamesPeopleAndThings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65536-3)
	for text, want := range map[string]string{
		"@ann, @bob\n@cleo: see #1 and @dan": "@ann! @bob! @cleo! #1 @dan",
		"Hello @ann":                         "@ann",
		"> @ann\n\n@bob":                     "@ann @bob",
		"- @ann":                             "@ann",
		"#1 @ann":                            "#1 @ann",
		"`@ann` @bob\n```\n@cleo\n```":       "@bob",
		"![a](/uploads/" + strings.Repeat("a", 32) + "/a.png) a1b2c3d g/p#2 ~bug": "g/p#2 ~bug",
		"plain":                  "",
		"@ann " + long + " @bob": "@ann!",
		long + "\n@anna":         "",
		strings.Repeat("> ", maxDepth+1) + "@ann": "",
	} {
		all, err := References(t.Context(), text)
		var got []string
		for _, r := range all {
			if r.Direct {
				r.Text += "!"
			}
			got = append(got, r.Text)
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%.50q names %q, %v", text, got, err)
		}
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errCostly)
	if got, err := References(over, strings.Repeat("a\n\n", 2000)+"@ann"); got != nil || err != nil {
		t.Errorf("what takes too long names %v, %v", got, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := References(ended, strings.Repeat("a\n\n", 2000)+"@ann"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestAReferenceIsALinkToThoseWhoSeeWhatItNames(t *testing.T) {
	t.Parallel()
	d := rendered(t, "See #1 and #2.")
	got, err := d.HTML(t.Context(), func(_ context.Context, all []Reference) ([]*Link, error) {
		return []*Link{{URL: `/a"b`, Title: `<t>`, Text: "<x>"}, nil}, nil
	})
	if want := "<p>See <a class=\"reference issue\" href=\"/a&#34;b\" title=\"&lt;t&gt;\">&lt;x&gt;</a> and #2.</p>\n"; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	failed := errors.New("no database")
	if _, err := d.HTML(t.Context(), func(context.Context, []Reference) ([]*Link, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if got, err := rendered(t, "a").HTML(t.Context(), nil); err != nil || got != "<p>a</p>\n" {
		t.Errorf("without references: %s, %v", got, err)
	}
}

// What is no link, and what is code, is shown as it was written.
func TestWhatLooksLikeMarkupIsShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`~"a < b & c"`:             `<p>~&#34;a &lt; b &amp; c&#34;</p>`,
		"```\n<b>a</b> &amp;\n```": "<pre><code>&lt;b&gt;a&lt;/b&gt; &amp;amp;\n</code></pre>",
	} {
		d := rendered(t, text)
		if got := strings.TrimSpace(d.Plain()); got != want || strings.HasPrefix(text, "~") && len(d.References) != 1 {
			t.Errorf("%s is %s, with %+v", text, got, d.References)
		}
	}
}

// The address of a file depends on the project that a text belongs to.
func TestAFileOfTheProjectIsFoundWhereTheProjectIs(t *testing.T) {
	t.Parallel()
	address := "/uploads/" + strings.Repeat("a1", 16) + "/shot.png"
	d := rendered(t, "![shot]("+address+" \"t\") [x]("+address+") [y]("+address+"/z) `"+address+"`")
	if len(d.References) != 2 || d.References[0].Kind != Upload || d.References[0].Name != strings.TrimPrefix(address, "/uploads/") {
		t.Fatalf("%+v", d.References)
	}
	got, err := d.HTML(t.Context(), func(context.Context, []Reference) ([]*Link, error) {
		return []*Link{{URL: `https://x/"><script>`}, {URL: "https://y"}}, nil
	})
	want := `<p><img src="https://x/&#34;&gt;&lt;script&gt;" alt="shot" title="t"> <a href="https://y" rel="nofollow noreferrer">x</a> ` +
		`<a href="` + address + `/z" rel="nofollow noreferrer">y</a> <code>` + address + "</code></p>\n"
	if err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if got := d.Plain(); !strings.Contains(got, `<img src="`+address+`"`) {
		t.Error(got)
	}
}

func TestOfManyReferencesTheFirstAreLookedUp(t *testing.T) {
	t.Parallel()
	d := rendered(t, strings.Repeat("#1 ", 2000))
	if len(d.References) != maxReferences || strings.Count(d.Plain(), "#1") != 2000 {
		t.Errorf("%d references, %d written", len(d.References), strings.Count(d.Plain(), "#1"))
	}
	address := "![](/uploads/" + strings.Repeat("a1", 16) + "/a.png)\n\n"
	if d := rendered(t, strings.Repeat(address, 600)); len(d.References) != maxReferences {
		t.Errorf("%d files are looked up", len(d.References))
	}
}

func TestAFormulaIsDrawnByTheBrowser(t *testing.T) {
	t.Parallel()
	for tex, want := range map[string]string{
		"x^2":               "<msup><mi>x</mi><mrow><mn>2</mn></mrow></msup>",
		"a_{ij}^n":          "<msubsup><mi>a</mi><mrow><mrow><mi>i</mi><mi>j</mi></mrow></mrow><mrow><mi>n</mi></mrow></msubsup>",
		`\frac{1}{2}`:       "<mfrac><mrow><mrow><mn>1</mn></mrow></mrow><mrow><mrow><mn>2</mn></mrow></mrow></mfrac>",
		`\sqrt[3]{x}`:       "<mroot><mrow><mrow><mi>x</mi></mrow></mrow><mrow><mn>3</mn></mrow></mroot>",
		`\alpha \le \infty`: "<mi>α</mi><mo>≤</mo><mi>∞</mi>",
		`\text{if } a<b`:    "<mtext>if </mtext><mi>a</mi><mo>&lt;</mo><mi>b</mi>",
		`\sin 1.5`:          "<mi>sin</mi><mn>1.5</mn>",
	} {
		got := Formula(tex, false)
		if want := "<math><semantics><mrow>" + want + "</mrow><annotation encoding=\"application/x-tex\">"; !strings.HasPrefix(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", tex, got, want)
		}
	}
	for _, tex := range []string{`\foo`, `\frac{1}`, `{`, `}`, `a^`, `\text{<b>`, strings.Repeat("{", 100) + strings.Repeat("}", 100), strings.Repeat("x", 5000), `\`, "é#"} {
		if got := Formula(tex, true); got != `<pre class="math">`+html.EscapeString(tex)+"</pre>" {
			t.Errorf("%.20s: %.100s", tex, got)
		}
	}
	if got := plain(t, "a $`x`$ b"); !strings.Contains(got, "<math><semantics>") {
		t.Error(got)
	}
	if got := plain(t, "```math\nx\n```"); !strings.Contains(got, `<math display="block">`) {
		t.Error(got)
	}
}

// allowed are the elements of a rendered text and the attributes of each.
var allowed = map[string]string{
	"a": "href title rel class role id", "img": "src alt title width height align id", "input": "type checked disabled", "ol": "start id", "details": "open id",
	"td": "align colspan rowspan id", "th": "align colspan rowspan id", "math": "display", "annotation": "encoding", "mspace": "width",
}

const elements = " p br hr h1 h2 h3 h4 h5 h6 blockquote pre code em strong b i u s del ins kbd samp var sub sup mark q small abbr cite dl dt dd ul li table thead " +
	"tbody tfoot tr caption summary figure figcaption ruby rt rp div span section semantics mrow mi mn mo mtext mfrac msqrt mroot msub msup msubsup "

// acts says what in some HTML could act, load or look like a part of the page.
func acts(text string) string {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			attributes, special := allowed[token.Data]
			if !special && !strings.Contains(elements, " "+token.Data+" ") {
				return "the element " + token.String()
			}
			for _, a := range token.Attr {
				if !slices.Contains(strings.Fields(attributes+" id class role align"), a.Key) {
					return "the attribute " + a.Key + " of " + token.String()
				}
				value := strings.ToLower(strings.TrimSpace(a.Val))
				switch {
				case a.Key == "href" || a.Key == "src":
					scheme, _, found := strings.Cut(value, ":")
					if found && !strings.ContainsAny(scheme, "/?#") && scheme != "http" && scheme != "https" && scheme != "mailto" {
						return "the address " + value
					}
				case a.Key == "id" && !strings.HasPrefix(a.Val, "user-content-"):
					return "the id " + a.Val
				case token.Data == "input" && a.Key == "type" && value != "checkbox":
					return "the field " + token.String()
				}
			}
			if token.Data == "input" && !strings.Contains(token.String(), "disabled") {
				return "the field " + token.String()
			}
		case html.CommentToken, html.DoctypeToken:
			return "a comment " + z.Token().String()
		}
	}
}

// WB-01: attacks that have worked elsewhere, each in every place of a text.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `<svg><animate onbegin=alert(1) attributeName=x>`, `<a href="javascript:alert(1)">x</a>`,
	`<a href="&#x6a;avascript:alert(1)">x</a>`, `<a href=" javascript:alert(1)">x</a>`, `<a href="java&#10;script:alert(1)">x</a>`, `[x](javascript:alert(1))`,
	`[x](JaVaScRiPt:alert(1))`, `[x](data:text/html,<script>alert(1)</script>)`, `[x](vbscript:x)`, `![x](javascript:alert(1))`, `![x" onerror="alert(1)](y)`,
	`[x](y "a" onclick="alert(1)")`, `<iframe src=//evil></iframe>`, `<object data=x></object>`, `<embed src=x>`, `<form action=//evil><input name=password><button>go</button></form>`,
	`<input autofocus onfocus=alert(1)>`, `<style>*{display:none}</style>`, `<p style="position:fixed">x</p>`, `<div class="modal">x</div>`, `<base href=//evil>`, `<meta http-equiv=refresh content=0>`,
	`<link rel=stylesheet href=//evil>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>`, `<!--><img src=x onerror=alert(1)>-->`, `<![CDATA[<script>]]>`,
	`<a id="current_user">x</a>`, `<a name="x">x</a>`, `<video src=x onerror=alert(1)>`, `<noscript><p title="</noscript><img src=x onerror=alert(1)>">`, `<template><script>alert(1)</script></template>`,
	`<textarea><script>`, `<plaintext>`, `<xmp><script>`, `<button formaction=javascript:alert(1)>x`, `<select autofocus>`, `<marquee onstart=alert(1)>`, `<details ontoggle=alert(1) open>`,
	"$`\\text{<img src=x onerror=alert(1)>}`$", "```math\n<script>alert(1)</script>\n```", "```\" onclick=\"alert(1)\nx\n```", "~\"<img src=x onerror=alert(1)>\"", `@<script>`, "<http://a\" onclick=alert(1)>",
	"[a]: javascript:alert(1)\n\n[a]", "[^x]: <script>alert(1)</script>\n\n[^x]", "> [!note] <img src=x onerror=alert(1)>", "# <script>alert(1)</script> {onclick=alert(1)}",
	"<div\n onclick=alert(1)>", "<a href=`javascript:alert(1)`>x", "\\<script>alert(1)\\</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script>", "<<script>script>alert(1)<</script>/script>",
}

func TestWB01_NothingInATextActs(t *testing.T) {
	t.Parallel()
	for _, attack := range hostile {
		for _, around := range []string{"%", "a % b", "> %", "- %", "# %", "|%|\n|-|\n|%|", "**%**", "[%](x)", "![%](x)", "a[^1]\n\n[^1]: %", "<div>\n%\n</div>", "<b>%</b>", "> [!note] %\n> %"} {
			text := strings.ReplaceAll(around, "%", attack)
			d := rendered(t, text)
			if found := acts(d.Plain()); found != "" {
				t.Errorf("%q: %s in %s", text, found, d.Plain())
			}
			links := make([]*Link, len(d.References))
			for i := range links {
				links[i] = &Link{URL: "/x", Text: attack, Title: attack}
			}
			if found := acts(strings.ReplaceAll(d.join(links), ` class="reference`, ` class="`)); found != "" {
				t.Errorf("%q with links: %s in %s", text, found, d.join(links))
			}
		}
	}
}

func FuzzWB01_NothingInATextActs(f *testing.F) {
	for _, attack := range hostile {
		f.Add(attack)
	}
	f.Add("# a\n\n- [x] #1 @b\n\n|a|\n|-|\n|$`x^2`$|\n\n> [!note]\n> x[^1]\n\n[^1]: y")
	f.Fuzz(func(t *testing.T, text string) {
		if found := acts(rendered(t, text).Plain()); found != "" {
			t.Errorf("%q: %s", text, found)
		}
	})
}

// DO-03: what takes long elsewhere takes as long as it is here, and texts that would not are shown as they were written.
func TestDO03_ATextCostsNoMoreThanInProportion(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"*a_ ", "[", "[a](", "![a](", "`a ", "`", "> ", "- ", "<a ", "<!--", "|a", "~~a ", "[^1]", "&a", "_a__", "~\"", "@a/", "abcdef1 ", "http://a.", "a@", "[^1]: x\n", "[a]: x\n", "[a] ",
		"$`", "# a\n", " - ", "a\n", "a](b) ", "\t", "(", "www.", "\\", "**a*", "<", "- a\n  ", "|a|b\n|-|-\n", "# *a_", "a*", "***a ", "[a][b]", "<b>", "[^a]", "![", "a1b2c3d..", "\n\n", "    a\n", "1. a\n",
	} {
		cost := func(size int) time.Duration {
			text := strings.Repeat(unit, size/len(unit))
			least := time.Hour
			for range 3 {
				least = min(least, spent(func() { rendered(t, text) }))
			}
			return least
		}
		small := cost(2_000)
		for _, size := range []int{20_000, 400_000} {
			large := cost(size)
			if large > 50*time.Millisecond && large > 4*time.Duration(size/2_000)*max(small, time.Millisecond/10) {
				t.Errorf("%q: 2 kB take %s, %d kB %s", unit, small, size/1000, large)
				break
			}
		}
	}
}

// Marks that pair with nothing cut a paragraph into parts. What follows them is read once, and not once for each of them.
func TestDO03_MarksThatPairWithNothingCostLittle(t *testing.T) {
	t.Parallel()
	least := func(text string) time.Duration {
		least := time.Hour
		for range 3 {
			least = min(least, spent(func() { rendered(t, text) }))
		}
		return least
	}
	rest := strings.Repeat("a- ", 60_000)
	alone := least(rest)
	for _, mark := range []string{"*a ", "![a", "_a_b "} {
		if with := least(strings.Repeat(mark, 450) + rest); with > 8*alone {
			t.Errorf("%q: %s with marks, %s without", mark, with, alone)
		}
	}
}

func BenchmarkMarksThatPairWithNothing(b *testing.B) {
	for name, text := range map[string]string{
		"63kB": strings.Repeat("*a ", 998) + strings.Repeat("- ", 30_000), "203kB": strings.Repeat("*a ", 998) + strings.Repeat("- ", 100_000),
		"298kB": strings.Repeat(strings.Repeat("![a", 330)+"\n\n", 300),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				rendered(b, text)
			}
		})
	}
}

// spent is the CPU time of a thread while it does something. What other tests do meanwhile does not count.
func spent(do func()) time.Duration {
	now := func() time.Duration {
		const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
		var at syscall.Timespec
		_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&at)), 0)
		return time.Duration(at.Nano())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := now()
	do()
	return now() - before
}

func TestDO03_WhatIsTooMuchIsShownAsItWasWritten(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"too long": strings.Repeat("a", MaxText+1), "too many lines": strings.Repeat("a\n", maxLines+1), "nested quotes": strings.Repeat(">", 60) + "<b>",
		"nested items": strings.Repeat("- ", 60) + "<b>", "a deep item": strings.Repeat(" ", 120) + "- <b>", "a heading of marks": "# " + strings.Repeat("*a_", 1000),
		"one address of many links": "[a]: /" + strings.Repeat("x", 20_000) + "\n\n" + strings.Repeat("[a]\n\n", 4_000),
		"one title of many links":   "[a]: /x '" + strings.Repeat("x", 20_000) + "'\n\n" + strings.Repeat("[a]\n\n", 4_000),
	} {
		if got := rendered(t, text).Plain(); len(text) <= maxWritten && got != `<pre class="as-written">`+html.EscapeString(text)+"</pre>" || !strings.HasPrefix(got, `<pre class="as-written">`) {
			t.Errorf("%s: %.100s", name, got)
		}
	}
	long := rendered(t, "a"+strings.Repeat("ä", MaxText)).Plain() // two bytes each, and one letter across the end
	if beginning, rest, _ := strings.Cut(long, "</pre>"); !utf8.ValidString(long) || len(beginning) > maxWritten+50 || !strings.Contains(rest, "too long to be shown as a whole") {
		t.Errorf("a long text is shown as %d bytes and %q", len(beginning), rest)
	}
	// Of a text with one tangled paragraph the rest is rendered.
	got := plain(t, "*a*\n\n"+strings.Repeat("*b_ ", 1000)+"\n\n*c*")
	if !strings.HasPrefix(got, "<p><em>a</em></p>\n<pre><code>*b_ *b_") || !strings.HasSuffix(got, "<p><em>c</em></p>") {
		t.Errorf("%.100s…%.100s", got, got[len(got)-100:])
	}
	// So is a table of very many cells, also of those that its rows do not write, and the tables after it.
	wide := "|" + strings.Repeat("a|", 2400) + "\n|" + strings.Repeat("-|", 2400) + "\n" + strings.Repeat("a\n", 3000)
	if got := plain(t, "*a*\n\n"+wide); strings.Contains(got, "<td") || !strings.HasPrefix(got, "<p><em>a</em></p>") {
		t.Errorf("%.100s", got)
	}
	small := "|" + strings.Repeat("a|", 100) + "\n|" + strings.Repeat("-|", 100) + "\n" + strings.Repeat("a\n", 100) + "\n"
	if got := plain(t, strings.Repeat(small, 1000)); strings.Count(got, "<td") > maxTable {
		t.Errorf("many tables have %d cells", strings.Count(got, "<td"))
	}
	for name, text := range map[string]string{
		"a ruler": strings.Repeat("-", 100), "deep code": "```\n" + strings.Repeat(" ", 150) + "x\n```", "a large table": "|a|b|\n|-|-|\n" + strings.Repeat("|[x](y)|`z`|\n", 400),
		"a long list": strings.Repeat("- [a](b) *c* `d` _e_\n", 2000), "code full of marks": "```\n" + strings.Repeat("*_[]~`<!(&$^|\n", 1000) + "```",
	} {
		if got := rendered(t, text).Plain(); strings.Contains(got, "as-written") || strings.Contains(got, "<pre><code>|") {
			t.Errorf("%s is shown as it was written", name)
		}
	}
}

func TestDO03_ATextWhoseTimeIsOverIsShownAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"*a*", strings.Repeat("- [a](b) *c* `d` _e_\n", 100), "|a|b|\n|-|-|\n|c|d|", "$`x`$ and #1"} {
		d, err := renderWithin(t.Context(), text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Plain(); got != `<pre class="as-written">`+html.EscapeString(text)+"</pre>" {
			t.Errorf("%.100s", got)
		}
	}
}

func TestNobodyIsWaitedForInVain(t *testing.T) {
	t.Parallel()
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Render(gone, "*a*"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestReferencesSayWhereTheyStand(t *testing.T) {
	t.Parallel()
	source := "# On #1\n\n> ä #2, `#3` and g/p#4 by @ada\n\n| a | b |\n|---|---|\n| #5 | \\| #6 |\n\n- [x] #7[^n]\n\n[^n]: #8\n"
	spots, err := Spots(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range spots {
		if source[s.From:s.To] != s.Text {
			t.Errorf("%s is said to stand where %q stands", s.Text, source[s.From:s.To])
		}
		got = append(got, s.Text)
	}
	slices.Sort(got)
	if want := []string{"#1", "#2", "#5", "#6", "#7", "#8", "@ada", "g/p#4"}; !slices.Equal(got, want) {
		t.Errorf("found are %q, want %q", got, want)
	}
	if spots, err := Spots(t.Context(), "#1 "+strings.Repeat("x", MaxText)); len(spots) > 0 || err != nil {
		t.Errorf("in what is too long: %v, %v", spots, err)
	}
}
