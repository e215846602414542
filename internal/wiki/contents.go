package wiki

import (
	"strings"

	"golang.org/x/net/html"
)

// marks are how a paragraph that stands for the contents of a page is rendered: [[_TOC_]] and [TOC].
var marks = []string{"<p>[[<em>TOC</em>]]</p>", "<p>[TOC]</p>"}

// maxHeadings is how many headings the contents of a page name.
const maxHeadings = 500

// heading is one of a page.
type heading struct {
	level    int
	id, text string
}

// contents puts links to the headings of a page in the place of the first paragraph that asks for them.
func contents(shown string) string {
	for _, mark := range marks {
		before, after, asked := strings.Cut(shown, mark)
		if asked {
			return before + listOf(headingsOf(shown)) + after
		}
	}
	return shown
}

// headingsOf are the headings of a page that was rendered, as far as links reach them.
func headingsOf(shown string) (all []heading) {
	z := html.NewTokenizer(strings.NewReader(shown))
	var open *heading
	for len(all) < maxHeadings {
		kind := z.Next()
		if kind == html.ErrorToken {
			return all
		}
		t := z.Token()
		level := 0
		if len(t.Data) == 2 && t.Data[0] == 'h' && t.Data[1] >= '1' && t.Data[1] <= '6' {
			level = int(t.Data[1] - '0')
		}
		switch {
		case kind == html.TextToken && open != nil:
			open.text += t.Data
		case kind == html.StartTagToken && level > 0:
			open = &heading{level: level}
			for _, a := range t.Attr {
				if a.Key == "id" {
					open.id = a.Val
				}
			}
		case kind == html.EndTagToken && level > 0 && open != nil:
			if open.text = strings.TrimSpace(open.text); open.id != "" && open.text != "" {
				all = append(all, *open)
			}
			open = nil
		}
	}
	return all
}

// listOf is a list of links, with a list in it for the headings below each.
func listOf(all []heading) string {
	var b strings.Builder
	var levels []int // of the lists that are open
	for _, h := range all {
		for len(levels) > 1 && levels[len(levels)-1] > h.level && levels[len(levels)-2] >= h.level {
			levels = levels[:len(levels)-1]
			b.WriteString("</li></ul>")
		}
		switch {
		case len(levels) == 0:
			levels = append(levels, h.level)
			b.WriteString(`<ul class="contents">`)
		case levels[len(levels)-1] < h.level:
			levels = append(levels, h.level)
			b.WriteString("<ul>")
		default:
			b.WriteString("</li>")
			levels[len(levels)-1] = h.level
		}
		b.WriteString(`<li><a href="#` + html.EscapeString(h.id) + `">` + html.EscapeString(h.text) + "</a>")
	}
	for range levels {
		b.WriteString("</li></ul>")
	}
	return b.String()
}
