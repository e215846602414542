package pages

import (
	"fmt"
	"strings"
)

const welcome = `The tide table says when the water is high at the stations of the river. It is made of *surveys*, see [how to survey](docs/How-to-survey).

| Station | Surveyed | By |
|---|---|---|
| Grinden | 2026 | @joan |
| Holm East | 2019 | @ada |

## Whom to ask

1. The harbour, for gauges.
2. The office, for everything else.
`

const surveying = "A survey takes 29 days at least.\n\n```sh\ntided survey --station grinden --from 2026-03-01\n```\n\n> [!warning]\n> The gauge at Holm is borrowed.\n"

// wikiPages are those of a wiki that has some pages, and of one that has none.
func (f *forge) wikiPages() []page {
	f.t.Helper()
	team := f.api("POST", "/groups", map[string]any{"name": "Quayside", "path": "quayside"}, "ada")
	home := f.api("POST", "/projects", map[string]any{"name": "tide-table", "namespace_id": id(team), "visibility": "private"}, "ada")
	f.api("POST", "/projects", map[string]any{"name": "empty", "namespace_id": id(team)}, "ada")
	at := fmt.Sprintf("/projects/%d", id(home))
	f.api("POST", at+"/members", map[string]any{"user_id": 4, "access_level": 10}, "ada")
	long := "\"><script>alert(1)</script> " + "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
	for title, content := range map[string]string{
		"home": welcome, "docs/How to survey": surveying, "docs/Stations": "- Grinden\n- Holm East\n", "docs/old/Gauges": "Nothing is left of them.",
		"docs/old/" + long: "x", "Glossary": "**Datum**: where heights begin.", "مرحبا بالعالم": "x", "Decisions": "",
	} {
		f.api("POST", at+"/wikis", map[string]any{"title": title, "content": content}, "ada")
	}
	f.api("POST", at+"/wikis", map[string]any{"title": "Written otherwise", "content": "= Heading\n\nIn *AsciiDoc*.", "format": "asciidoc"}, "ada")
	f.api("PUT", at+"/wikis/home", map[string]any{"content": welcome + "\nOr write an issue.\n"}, "ada")
	f.api("POST", at+"/wikis", map[string]any{"title": "_sidebar", "content": "**Begin here**: [home](home), [stations](docs/Stations)"}, "ada")
	const own = "/quayside/tide-table/-/wikis"
	return []page{
		{Name: "wiki", Path: own + "/home", As: "ada", Small: true},
		{Name: "wiki-read", Path: own + "/docs/How-to-survey", As: "joan", Small: true},
		{Name: "wiki-other-format", Path: own + "/Written-otherwise", As: "ada"},
		{Name: "wiki-blank", Path: own + "/Decisions", As: "ada"},
		{Name: "wiki-old", Path: own + "/home?version_id=HEAD~2", As: "ada", Small: true},
		{Name: "wiki-missing", Path: own + "/docs/Nothing", As: "ada", Status: 404, Small: true},
		{Name: "wiki-hidden", Path: own + "/home", As: "person", Status: 404},
		{Name: "wiki-empty", Path: "/quayside/empty/-/wikis", As: "ada", Small: true},
		{Name: "wiki-pages", Path: own + "/pages", As: "ada", Small: true},
		{Name: "wiki-history", Path: own + "/home/history", As: "ada", Small: true},
		{Name: "wiki-new", Path: own + "/new", As: "ada"},
		{Name: "wiki-edit", Path: own + "/home/edit", As: "ada", Small: true},
	}
}

const sketch = `// Package harmonic predicts tides from the harmonic constants of a station.
package harmonic

import (
	"errors"
	"math"
	"time"
)

// Predict returns one prediction for every step between from and until, all of them in UTC, whatever the clocks of the harbour say about it.
func Predict(s Station, from, until time.Time, step time.Duration) ([]Prediction, error) {
	if len(s.Constants) == 0 {
		return nil, errors.New("station has no harmonic constants")
	}
	return nil, nil
}
`

// snippetPages are those of snippets of a project and of people.
func (f *forge) snippetPages() []page {
	f.t.Helper()
	team := f.api("POST", "/groups", map[string]any{"name": "Dockside", "path": "dockside", "visibility": "public"}, "ada")
	home := f.api("POST", "/projects", map[string]any{"name": "tide-table", "namespace_id": id(team), "visibility": "public"}, "ada")
	f.api("POST", "/projects", map[string]any{"name": "empty", "namespace_id": id(team)}, "ada")
	long := "\"><script>alert(1)</script> " + strings.Repeat("Donaudampfschifffahrt", 5)
	file := func(path, content string) map[string]any {
		return map[string]any{"file_path": path, "content": content}
	}
	in := fmt.Sprintf("/projects/%d/snippets", id(home))
	work := f.api("POST", in, map[string]any{
		"title": "Predict a day by hand", "description": "For when the *server* is away. Call it with the name of a station.", "visibility": "public",
		"files": []map[string]any{file("predict.go", sketch), file("scripts/day.sh", "#!/bin/sh\nset -eu\ntided predict --day \"$1\"\n"), file("notes/empty.txt", "")},
	}, "ada")
	f.api("POST", in, map[string]any{"title": long, "visibility": "private", "files": []map[string]any{file(strings.Repeat("long-", 40)+".txt", strings.Repeat("word ", 200))}}, "ada")
	f.api("POST", in, map[string]any{"title": "مرحبا بالعالم", "visibility": "internal", "files": []map[string]any{file("a.txt", "x")}}, "ada")
	var lines strings.Builder
	for n := range 3_000 {
		fmt.Fprintf(&lines, "%04d 06:23 high 2.41 m\n", n)
	}
	large := f.api("POST", "/snippets", map[string]any{"title": "A year of Grinden", "visibility": "public", "files": []map[string]any{file("grinden.txt", lines.String())}}, "ada")
	strange := f.api("POST", "/snippets", map[string]any{
		"title": long, "description": "<b onclick=alert(1)>bold</b> " + long, "visibility": "private", "files": []map[string]any{file("</pre><script>.txt", long)},
	}, "ada")
	own := fmt.Sprintf("/dockside/tide-table/-/snippets/%d", id(work))
	return []page{
		{Name: "snippets", Path: "/dockside/tide-table/-/snippets", As: "ada", Small: true},
		{Name: "snippets-stranger", Path: "/dockside/tide-table/-/snippets"},
		{Name: "snippets-none", Path: "/dockside/empty/-/snippets", As: "ada"},
		{Name: "snippets-own", Path: "/dashboard/snippets", As: "ada", Small: true},
		{Name: "snippets-own-none", Path: "/dashboard/snippets", As: "person"},
		{Name: "snippets-public", Path: "/explore/snippets"},
		{Name: "snippet", Path: own, As: "ada", Small: true},
		{Name: "snippet-stranger", Path: own},
		{Name: "snippet-large", Path: fmt.Sprintf("/-/snippets/%d", id(large)), As: "person", Large: true},
		{Name: "snippet-hostile", Path: fmt.Sprintf("/-/snippets/%d", id(strange)), As: "ada", Small: true},
		{Name: "snippet-hidden", Path: fmt.Sprintf("/-/snippets/%d", id(strange)), As: "person", Status: 404},
		{Name: "snippet-new", Path: "/-/snippets/new", As: "ada", Small: true},
		{Name: "snippet-edit", Path: own + "/edit", As: "ada", Small: true},
	}
}
