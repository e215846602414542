package texts

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

// What internal/markdown makes of a text is its own: see the tests of kit/markdown.
func TestWB01_NothingThatAPageOfTextsShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "wiki without pages", emptyWiki)
	pagetest.NothingActs(t, "page of a wiki", wikiPage)
	pagetest.NothingActs(t, "what stands beside it", wikiSideOf)
	pagetest.NothingActs(t, "facts of a page", wikiFacts)
	pagetest.NothingActs(t, "buttons of a page", wikiActions)
	pagetest.NothingActs(t, "missing page", missingPage)
	pagetest.NothingActs(t, "all pages", pagesPage)
	pagetest.NothingActs(t, "history of a page", historyPage)
	pagetest.NothingActs(t, "facts of a history", historyFacts)
	pagetest.NothingActs(t, "form of a page", editWiki)
	pagetest.NothingActs(t, "snippets", snippetsPage)
	pagetest.NothingActs(t, "snippet", snippetPage)
	pagetest.NothingActs(t, "facts of a snippet", snippetFacts)
	pagetest.NothingActs(t, "buttons of a snippet", snippetActions)
	pagetest.NothingActs(t, "form of a snippet", snippetEdit)
}

func TestEndsOfLinesStayAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sent, was, want string }{
		{"a\r\nb", "", "a\nb"}, {"a\r\nb\r\n", "a\nc\n", "a\nb\n"}, {"a\r\nb", "a\r\nc", "a\r\nb"}, {"a\r\nb", "a\rb", "a\rb"}, {"a\r\nb", "a\r\nb", "a\r\nb"}, {"", "a\r\n", ""},
	} {
		if got := typed(tt.sent, tt.was); got != tt.want {
			t.Errorf("%q over %q becomes %q", tt.sent, tt.was, got)
		}
	}
	for text, want := range map[string]bool{"": true, "a\tb\r\nü": true, "12345678": true, "123456789": false, "a\x00": false, "\xff": false} {
		if editable(text, 8) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestTheBeginningOfATextEndsWithALine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text         string
		lines, width int
		shown        string
		n, all       int
	}{
		{"a\nb\nc\n", 9, 99, "a\nb\nc", 3, 3}, {"a\nb\nc", 9, 99, "a\nb\nc", 3, 3}, {"a\nb\nc", 2, 99, "a\nb", 2, 3}, {"a\nb\nc", 0, 99, "", 0, 3}, {"a\nbbb\nc\n", 9, 5, "a", 1, 3},
		{"a\n\n\n", 9, 99, "a\n\n", 3, 3}, {"", 9, 99, "", 0, 0},
	} {
		if shown, n, all := beginning(tt.text, tt.lines, tt.width); shown != tt.shown || n != tt.n || all != tt.all {
			t.Errorf("%q: %q %d %d", tt.text, shown, n, all)
		}
	}
	for bytes, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1536: "1.5 KB", 1 << 20: "1.0 MB"} {
		if got := size(bytes); got != want {
			t.Errorf("%d: %s", bytes, got)
		}
	}
}

func TestPagesStandBelowTheirFolders(t *testing.T) {
	t.Parallel()
	var nodes []sideNode
	for _, parts := range [][]string{{"How-to"}, {"How-to", "build"}, {"docs", "a"}, {"docs", "in", "b"}, {"docs", "c/d"}} {
		nodes = put(nodes, parts, sideNode{Name: "The " + parts[len(parts)-1], URL: "/x"})
	}
	if len(nodes) != 2 || nodes[0].Name != "The How-to" || nodes[0].URL == "" || len(nodes[0].Below) != 1 || nodes[0].Below[0].Name != "The build" {
		t.Errorf("a page with a folder: %+v", nodes)
	}
	if docs := nodes[1]; docs.Name != "docs" || docs.URL != "" || len(docs.Below) != 3 || docs.Below[1].Below[0].Name != "The b" || docs.Below[2].Name != "c/d" {
		t.Errorf("a folder: %+v", docs)
	}
}
