package quickaction_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/kit/quickaction"
)

func known(name string) bool {
	return slices.Contains([]string{"close", "label", "title", "shrug"}, name)
}

// written are the commands of a text as somebody would write them, on one line.
func written(text string) string {
	var all []string
	for _, c := range quickaction.Find(text, known) {
		all = append(all, strings.TrimSpace("/"+c.Name+" "+c.Argument))
	}
	return strings.Join(all, "; ")
}

func TestLinesThatBeginWithASlashAndANameAreCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, commands, rest string }{
		{"", "", ""},
		{"/close", "/close", ""},
		{"/close\n", "/close", ""},
		{"/CLOSE", "/close", ""},
		{"/title  a b \t", "/title a b", ""},
		{"/title\ta", "/title a", ""},
		{"/close\r\nDone.\r\n", "/close", "Done."},
		{"Done.\n/close", "/close", "Done."},
		{"Done.\n\n/close\n\n", "/close", "Done."},
		{"\n \n/close\n  Done.", "/close", "  Done."},
		{"a\n/close\nb\n/label ~c\nd", "/close; /label ~c", "a\nb\nd"},
		{"/label ~a\n/label ~b", "/label ~a; /label ~b", ""},
		{"Please /close", "", "Please /close"},
		{" /close", "", " /close"},
		{"\\/close", "", "\\/close"},
		{"/ close", "", "/ close"},
		{"//close", "", "//close"},
		{"/close/it", "", "/close/it"},
		{"/close.", "", "/close."},
		{"/closed", "", "/closed"},
		{"/unknown\n/close", "/close", "/unknown"},
		{"\n no command \n", "", "\n no command \n"},
	} {
		if got := written(c.text); got != c.commands {
			t.Errorf("%q commands %q, want %q", c.text, got, c.commands)
		}
		if got := quickaction.Remove(c.text, quickaction.Find(c.text, known)); got != c.rest {
			t.Errorf("of %q stays %q, want %q", c.text, got, c.rest)
		}
	}
}

func TestWhatIsInCodeQuotesOrHTMLCommandsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, commands string }{
		{"```\n/close\n```", ""},
		{"```\n/close\n```\n/label ~a", "/label ~a"},
		{"```\n/close\n```  \n/label ~a", "/label ~a"},
		{"   ```go\n/close\n   ```\n/label ~a", "/label ~a"},
		{"    ```\n/close", "/close"},
		{"~~~\n/close\n```\n/close\n~~~\n/label ~a", "/label ~a"},
		{"````\n/close\n```\n/close\n`````\n/label ~a", "/label ~a"},
		{"```\n/close\n``` go\n/close", ""},
		{"```\n/close\n    ```\n/close", ""},
		{"``` a`b\n/close", "/close"},
		{"~~~ a`b\n/close", ""},
		{"``\n/close", "/close"},
		{"    /close", ""},
		{"\t/close", ""},
		{"> /close", ""},
		{">/close\n/label ~a", "/label ~a"},
		{">>>\n/close\n>>>\n/label ~a", "/label ~a"},
		{">>> \n\n/close\n>>>\t\n/label ~a", "/label ~a"},
		{">>>\n/close", "/close"},
		{"<details>\n\n/close\n\n</details>\n/label ~a", "/label ~a"},
		{"<DIV class=a>\n/close\n</div>\n/label ~a", "/label ~a"},
		{"<div>\n/close\n\n/label ~a", "/label ~a"},
		{"</div>\n/close\n\n/label ~a", "/close; /label ~a"},
		{"<b>it</b> is\n/close", "/close"},
		{"<https://example.com>\n/close", "/close"},
		{"<3\n/close", "/close"},
		{"<!-- a\n\n/close\n-->\n/label ~a", "/label ~a"},
		{"<!-- a -->\n/close", "/close"},
		{"<!-->\n/close\n\n/label ~a", "/label ~a"},
		{"<!-- a\n/close\n\n/label ~a", "/label ~a"},
	} {
		if got := written(c.text); got != c.commands {
			t.Errorf("%q commands %q, want %q", c.text, got, c.commands)
		}
	}
}

func TestACommandCanLeaveSomethingInItsPlace(t *testing.T) {
	t.Parallel()
	text := "a\n/shrug b\n/close\nc"
	found := quickaction.Find(text, known)
	found[0].Instead = "b :)"
	if got := quickaction.Remove(text, found); got != "a\nb :)\nc" {
		t.Errorf("got %q", got)
	}
	if got := quickaction.Remove(text, found[1:]); got != "a\n/shrug b\nc" {
		t.Errorf("got %q", got)
	}
}

func TestATextHasABoundedNumberOfCommands(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("/unknown\n", 200) + strings.Repeat("/close\n", quickaction.Max+2)
	found := quickaction.Find(text, known)
	if len(found) != 100 {
		t.Errorf("it has %d commands", len(found))
	}
	if rest := quickaction.Remove(text, found); strings.Count(rest, "/close") != 2 {
		t.Errorf("%q stays", rest)
	}
}

// pieces are lines that mean something to the parser.
var pieces = []string{
	"/close", "/label ~a", "/title -->", "/title </div>", "/unknown", " /close", "    /close", "> /close", ">>>", "```", "````", "~~~", "``` go", "<div>", "</div>", "<b>",
	"<!--", "-->", "<!-- -->", "word", "", " ", "\t", "\r",
}

func TestWhatStaysOfATextHasNoCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "lines"), "\n")
		checkText(t, text)
	})
}

// checkText checks what is so for every text: without commands it is as it was, and what stays of it has none.
func checkText(t interface{ Fatalf(string, ...any) }, text string) {
	found := quickaction.Find(text, known)
	rest := quickaction.Remove(text, found)
	switch again := quickaction.Find(rest, known); {
	case len(found) == 0 && rest != text:
		t.Fatalf("%q has no commands and becomes %q", text, rest)
	case len(rest) > len(text):
		t.Fatalf("%q becomes longer: %q", text, rest)
	case len(found) < quickaction.Max && len(again) > 0:
		t.Fatalf("of %q stays %q, which commands %v", text, rest, again)
	}
	for _, c := range found {
		if !known(c.Name) || strings.Contains(c.Argument, "\n") {
			t.Fatalf("%q commands %q %q", text, c.Name, c.Argument)
		}
	}
}

func FuzzWhatStaysOfATextHasNoCommands(f *testing.F) {
	for _, seed := range []string{"Done.\n/close", "```\n/close\n```", "<div>\n/close\n</div>\n/label ~a", ">>>\n/close\n>>>", strings.Join(pieces, "\n")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}

// What took more than time in proportion to the size would not end here.
func TestAMegabyteOfAnythingIsRead(t *testing.T) {
	t.Parallel()
	for _, piece := range pieces {
		for _, end := range []string{"", "\n"} {
			piece += end
			checkText(t, strings.Repeat(piece, (1<<20)/max(len(piece), 1)))
		}
	}
}
