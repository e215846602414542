package markdown

import (
	"regexp"
	"sync"

	"github.com/microcosm-cc/bluemonday"
)

// policy is what may stand in the HTML of a text: nothing that acts, loads from elsewhere without being asked for, looks
// like a part of the page around it, or gets in the way of the page's own ids.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "b", "i", "u", "s", "del", "ins", "kbd", "samp", "var",
		"sub", "sup", "mark", "q", "small", "abbr", "cite", "dl", "dt", "dd", "ul", "ol", "li", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption",
		"details", "summary", "figure", "figcaption", "ruby", "rt", "rp", "div", "span", "section", "a", "img",
	)
	p.AllowStandardURLs()
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").OnElements("img")
	p.AllowAttrs("alt", "title").Matching(short).OnElements("img", "a", "abbr")
	p.AllowAttrs("width", "height").Matching(regexp.MustCompile(`^[0-9]{1,4}%?$`)).OnElements("img")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|right|center)$`)).OnElements("th", "td", "p", "div", "img")
	p.AllowAttrs("colspan", "rowspan").Matching(regexp.MustCompile(`^[0-9]{1,2}$`)).OnElements("th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("open").Matching(regexp.MustCompile(`^(open)?$`)).OnElements("details")
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^user-content-[\p{L}\p{N}_:-]+$`)).Globally()
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(language-[\p{L}\p{N}_+#.-]+|alert alert-[a-z]+|alert-title|footnotes|footnote-ref|footnote-backref|as-written)$`)).Globally()
	p.AllowAttrs("role").Matching(regexp.MustCompile(`^doc-(noteref|backlink|endnotes)$`)).Globally()
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
})

var short = regexp.MustCompile(`^[^\x00-\x1f]*$`)

func clean(html []byte) string { return string(policy().SanitizeBytes(html)) }
