package texts_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/owner"
	"stithy/internal/wiki"
)

func TestAWikiThatIsEmptySaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, b := range []*browser{w.anonymous(t), w.in(t, access.Reporter)} {
		if s := b.shows(wikis); !s.says("This wiki has no pages yet", "git clone https://forge.example/house/tool.wiki.git") || s.says("/-/wikis/new") {
			t.Error(s.text)
		}
	}
	if s := w.in(t, access.Developer).shows(wikis); !s.says("Write the first page", `href="/house/tool/-/wikis/new?title=home"`) {
		t.Error(s.text)
	}
	if s := w.anonymous(t).get(wikis + "/pages"); s.leads() != wikis {
		t.Errorf("a list of nothing: %d %s", s.Code, s.leads())
	}
}

func TestAWikiOpensWithItsHome(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "docs/Build", "x")
	if s := w.anonymous(t).get(wikis); s.Code != http.StatusSeeOther || s.leads() != wikis+"/pages" {
		t.Errorf("without a home: %d %s", s.Code, s.leads())
	}
	w.write(t, "home", "# Welcome\n")
	if s := w.anonymous(t).get(wikis); s.Code != http.StatusSeeOther || s.leads() != wikis+"/home" {
		t.Errorf("with one: %d %s", s.Code, s.leads())
	}
}

func TestAPageOfAWikiIsShownWithWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "home", "x")
	w.write(t, "docs/How to build", "---\ntitle: Building\n---\n# First\n\n*Oil* it, see #1, [home](home) and ![shot](uploads/1/a.png).\n")
	s := w.anonymous(t).shows(wikis + "/docs/How-to-build")
	for _, text := range []string{
		"<h1>Building</h1>", "<em>Oil</em>", w.people[access.Developer].Name + " changed this page ", "just now", `href="https://forge.example/house/tool/-/wikis/home"`,
		`src="https://forge.example/house/tool/-/wikis/uploads/1/a.png"`, wikis + "/docs/How-to-build/history", `href="/house/tool/-/wikis/home"`, `aria-current="page"`, ">docs<",
		"<title>Building · house/tool · ", "All pages", wikis + "/pages",
	} {
		if !s.says(text) {
			t.Errorf("the page does not say %q: %s", text, s.text)
		}
	}
	if s.says("/edit") || s.says("New page") || s.says("title: Building") {
		t.Error("a stranger is offered to write, or sees what stands before the text")
	}
	if s := w.in(t, access.Developer).shows(wikis + "/docs/How-to-build"); !s.says(wikis+"/docs/How-to-build/edit", "New page") {
		t.Error("a developer is not offered to write")
	}
	w.say(t, "home", wiki.Change{Format: new(wiki.Format("asciidoc")), Content: new("= Not <b>Markdown</b>")})
	if s := w.anonymous(t).shows(wikis + "/home"); !strings.Contains(s.Body.String(), "<pre>= Not &lt;b&gt;Markdown&lt;/b&gt;</pre>") {
		t.Error(s.text)
	}
}

func TestTheSidebarOfAWikiIsAPageOfIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "docs/a", "x")
	w.write(t, "_sidebar", "*Where* to [begin](docs/a)")
	s := w.anonymous(t).shows(wikis + "/docs/a")
	if !s.says("Sidebar of the wiki", "<em>Where</em>", `href="https://forge.example/house/tool/-/wikis/docs/a"`) || s.says(`href="/house/tool/-/wikis/_sidebar"`) {
		t.Error(s.text)
	}
	if s := w.anonymous(t).shows(wikis + "/_sidebar"); strings.Count(s.text, "<em>Where</em>") != 1 {
		t.Error("it stands beside itself")
	}
}

func TestAllPagesAreListedInParts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 55 {
		w.write(t, fmt.Sprintf("docs/page %02d", n), "x")
	}
	w.write(t, "zebra", "x")
	w.say(t, "zebra", wiki.Change{Format: new(wiki.Format("org"))})
	first := w.anonymous(t).shows(wikis + "/pages")
	if strings.Count(first.text, ">page ") != 50 || !first.says("56 pages", "in docs", "page=2", "house/tool.wiki.git") || first.says("New page") {
		t.Error(first.text)
	}
	if s := w.in(t, access.Developer).shows(wikis + "/pages?page=2"); strings.Count(s.text, ">page ") != 5 || !s.says(">zebra<", "Org", "New page") || s.says("page=3") {
		t.Error(s.text)
	}
}

func TestPagesOfAWikiAreWrittenOnAPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Developer)
	if s := b.shows(wikis + "/new?title=docs%2FBuild"); !s.says(`value="docs/Build"`, `<option value="markdown" selected>`, "AsciiDoc") {
		t.Error(s.text)
	}
	to := b.done(wikis, "title", "docs/How to build", "content", "Line\r\nby *line*\r\n", "format", "markdown", "message", "Say how")
	if to != wikis+"/docs/How-to-build" {
		t.Fatalf("leads to %s", to)
	}
	if p, err := w.Wikis.Find(t.Context(), owner.OfProject(w.project).Entity, "docs/How-to-build", ""); err != nil || p.Content != "Line\nby *line*\n" {
		t.Errorf("%v %v", p, err)
	}
	if s := b.shows(to + "/history"); !s.says("Say how") {
		t.Error(s.text)
	}
	edit := b.shows(to + "/edit")
	if !edit.says(`value="docs/How-to-build"`, ">Line\nby *line*\n</textarea>", `<option value="markdown" selected>`) || edit.says("Delete page") {
		t.Error(edit.text)
	}
	moved := b.done(to+"/edit", "title", "Build it", "content", "Oil it", "format", "org", "seen", edit.hidden("seen"))
	if moved != wikis+"/Build-it" || b.get(to).Code != http.StatusNotFound || !b.shows(moved).says("<pre>Oil it</pre>") {
		t.Errorf("leads to %s", moved)
	}
	if s := b.shows(moved + "/history"); !s.says("role-30 moved page: Build it") {
		t.Error(s.text)
	}
	if s := b.shows(moved + "/edit"); !s.says(`<option value="org" selected>`) {
		t.Error("the form begins with another format")
	}
}

func TestARefusedPageKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "taken", "x")
	p := w.write(t, "own", "y")
	b := w.in(t, access.Developer)
	for what, s := range map[string]screen{
		"Can't be blank":                 b.post(wikis, "title", " ", "content", hostile, "format", "org", "message", "kept "+hostile),
		"Duplicate page":                 b.post(wikis, "title", "Taken", "content", hostile, "format", "org", "message", "kept "+hostile),
		"Is not a valid path":            b.post(wikis, "title", "../a", "content", hostile, "format", "org", "message", "kept "+hostile),
		"Begins with uploads/":           b.post(wikis, "title", "uploads/a", "content", hostile, "format", "org", "message", "kept "+hostile),
		"A page with that title already": b.post(wikis+"/own/edit", "title", "taken", "content", hostile, "format", "org", "message", "kept "+hostile, "seen", string(p.ID)),
		"can't be blank":                 b.post(wikis+"/own/edit", "title", "", "content", hostile, "format", "org", "message", "kept "+hostile, "seen", string(p.ID)),
		"Is too long (maximum is 1000":   b.post(wikis+"/own/edit", "title", "own", "content", hostile, "format", "org", "message", "kept "+hostile+strings.Repeat("x", 1000)),
		"Is none that pages have":        b.post(wikis+"/own/edit", "title", "own", "content", hostile, "format", "word", "message", "kept "+hostile),
		"is none that pages have":        b.post(wikis, "title", "new one", "content", hostile, "message", "kept "+hostile),
	} {
		if s.Code != http.StatusUnprocessableEntity || !strings.Contains(strings.ToLower(s.text), strings.ToLower(what)) || !s.says(">"+hostile+"</textarea>", `kept "'`) || s.acts() {
			t.Errorf("%s: %d %s", what, s.Code, s.text)
		}
	}
	if s := b.shows(wikis + "/own"); !s.says("<p>y</p>") {
		t.Error("it was changed all the same")
	}
}

func TestOfTwoEditorsTheSecondIsTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "docs/a", "one")
	first, second := w.in(t, access.Developer), w.in(t, access.Maintainer)
	const at = wikis + "/docs/a/edit"
	one, two := first.shows(at).hidden("seen"), second.shows(at).hidden("seen")
	if one == "" || one != two {
		t.Fatalf("the forms saw %q and %q", one, two)
	}
	first.done(at, "title", "docs/a", "content", "by the first", "format", "markdown", "seen", one)
	s := second.post(at, "title", "docs/a", "content", "by the second", "format", "markdown", "seen", two)
	if s.Code != http.StatusUnprocessableEntity || !s.says("Somebody changed this page meanwhile", ">by the second</textarea>", "Look at the page as it is now", `href="/house/tool/-/wikis/docs/a"`) ||
		s.hidden("seen") != two {
		t.Errorf("%d %s", s.Code, s.text)
	}
	if !second.shows(wikis + "/docs/a").says("by the first") {
		t.Error("what the first wrote is gone")
	}
	third := second.shows(at).hidden("seen")
	first.done(at, "title", "docs/b", "content", "by the first", "format", "markdown", "seen", third)
	s = second.post(at, "title", "docs/a", "content", "by the second", "format", "markdown", "seen", third)
	if s.Code != http.StatusUnprocessableEntity || !s.says("Somebody deleted or moved this page meanwhile", ">by the second</textarea>") || s.says("Look at the page as it is now") {
		t.Errorf("of a page that went: %d %s", s.Code, s.text)
	}
	if second.get(wikis+"/docs/a").Code != http.StatusNotFound {
		t.Error("it was made again")
	}
}

func TestAPageThatAFormCannotHoldIsLeftToGit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "large", strings.Repeat("a word ", 1<<20/7+1))
	w.write(t, "bytes", "a\xffb")
	b := w.in(t, access.Developer)
	for _, slug := range []string{"large", "bytes"} {
		if s := b.shows(wikis + "/" + slug + "/edit"); !s.says("larger than a form takes", "git clone") || s.says("<textarea") {
			t.Errorf("%s: %.3000s", slug, s.text)
		}
	}
	text := strings.Repeat("ä\n", 300<<10)
	if to := b.done(wikis, "title", "long", "content", text, "format", "markdown"); to != wikis+"/long" {
		t.Errorf("what a form holds: %s", to)
	}
	if s := b.post(wikis, "title", "longer", "content", strings.Repeat("x", 4<<20), "format", "markdown"); s.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("what no form holds: %d", s.Code)
	}
}

func TestAnEmptyLineThatATextBeginsWithIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", "\ntext\n")
	if s := w.in(t, access.Developer).shows(wikis + "/a/edit"); !s.says(">\n\ntext\n</textarea>") {
		t.Error(s.text)
	}
}

func TestPagesAreDeletedByWhoMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "docs/a", "x")
	if s := w.in(t, access.Developer).post(wikis + "/docs/a/delete"); s.Code != http.StatusNotFound {
		t.Errorf("a developer: %d", s.Code)
	}
	b := w.in(t, access.Maintainer)
	if s := b.shows(wikis + "/docs/a/edit"); !s.says("Delete page", `action="/house/tool/-/wikis/docs/a/delete"`, "goes from the wiki") {
		t.Error(s.text)
	}
	if to := b.done(wikis + "/docs/a/delete"); to != wikis {
		t.Errorf("leads to %s", to)
	}
	if b.get(wikis+"/docs/a").Code != http.StatusNotFound || b.post(wikis+"/docs/a/delete").Code != http.StatusNotFound {
		t.Error("it is still there")
	}
}

func TestAPageMayBeCalledLikeWhatIsDoneToPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Maintainer)
	for _, slug := range []string{"new", "pages", "docs/edit", "docs/history", "docs/delete", "docs"} {
		to := b.done(wikis, "title", slug, "content", "text of "+slug, "format", "markdown")
		if s := b.shows(to); !s.says("<p>text of "+slug+"</p>") || s.says("an old version") || !s.says(wikis+"/"+slug+"/edit") {
			t.Errorf("%s at %s: %s", slug, to, s.text)
		}
		if s := b.shows(wikis + "/" + slug + "/edit"); !s.says(">text of " + slug + "</textarea>") {
			t.Errorf("the form of %s: %s", slug, s.text)
		}
		if to := b.done(wikis+"/"+slug+"/edit", "title", slug, "content", "another "+slug, "format", "markdown"); !b.shows(to).says("<p>another " + slug + "</p>") {
			t.Errorf("%s is not changed at %s", slug, to)
		}
		if s := b.shows(wikis + "/" + slug + "/history"); !s.says("role-40 updated page") {
			t.Errorf("the history of %s: %s", slug, s.text)
		}
	}
	b.done(wikis + "/docs/delete/delete")
	if s := b.shows(wikis + "/docs"); !s.says("another docs") {
		t.Error("another page went")
	}
	if s := b.post(wikis+"/docs", "title", "x"); s.Code != http.StatusNotFound {
		t.Errorf("a form without an act: %d", s.Code)
	}
}

func TestTheHistoryOfAPageLeadsToItsVersions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "docs/a", "first words")
	for n := range 21 {
		w.say(t, "docs/a", wiki.Change{Content: new(fmt.Sprint("words ", n)), Message: fmt.Sprintf("Change %02d %s\n\nMore of it", n, hostile)})
	}
	b := w.anonymous(t)
	s := b.shows(wikis + "/docs/a/history")
	if strings.Count(s.text, "Change ") != 20 || !s.says("Change 20", "page=2", w.people[access.Developer].Name) || s.says("More of it") || s.acts() {
		t.Error(s.text)
	}
	rest := b.shows(wikis + "/docs/a/history?page=2")
	if !rest.says("Change 00", "role-30 created page: a") || rest.says("page=3") {
		t.Error(rest.text)
	}
	from, _, _ := strings.Cut(rest.text, "role-30 created page: a")
	from = from[strings.LastIndex(from, `href="`)+len(`href="`):]
	address, _, _ := strings.Cut(from, `"`)
	old := b.shows(address)
	if !old.says("first words", "an old version of the page", `href="/house/tool/-/wikis/docs/a"`) || old.says("words 20") {
		t.Error(old.text)
	}
	if s := w.in(t, access.Developer).shows(address); s.says("/docs/a/edit") {
		t.Error("an old version is offered to edit")
	}
	if s := b.shows(wikis + "/docs/a?version_id=HEAD"); s.says("an old version") || !s.says("words 20") {
		t.Error("what it says now is called old")
	}
	for _, version := range []string{"0123456789012345678901234567890123456789", "none", "--all", "HEAD~99", url.QueryEscape(hostile)} {
		if s := b.get(wikis + "/docs/a?version_id=" + version); s.Code != http.StatusNotFound || s.acts() {
			t.Errorf("%s: %d", version, s.Code)
		}
	}
	if err := w.Wikis.Delete(t.Context(), w.actor(access.Maintainer), owner.OfProject(w.project).Entity, "docs/a"); err != nil {
		t.Fatal(err)
	}
	if s := b.shows(address); !s.says("first words", "The page is not there any more") {
		t.Error("a page that went has no versions")
	}
	if s := b.get(wikis + "/docs/a/history"); s.Code != http.StatusNotFound || !s.says("no page “docs/a”") {
		t.Errorf("its history: %d", s.Code)
	}
}

func TestAMissingPageIsOfferedToWhoMayWriteIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "home", "x")
	for _, slug := range []string{"docs/none", "none/edit", "none/history"} {
		s := w.in(t, access.Developer).get(wikis + "/" + slug)
		plain := strings.TrimSuffix(strings.TrimSuffix(slug, "/edit"), "/history")
		if s.Code != http.StatusNotFound || !s.says("no page “"+plain+"”", "Write this page", "/new?title="+url.QueryEscape(plain), ">home<") {
			t.Errorf("%s: %d %s", slug, s.Code, s.text)
		}
	}
	for _, b := range []*browser{w.anonymous(t), w.in(t, access.Reporter)} {
		if s := b.get(wikis + "/none"); s.Code != http.StatusNotFound || s.says("Write this page") || !s.says("no page “none”") {
			t.Errorf("%d %s", s.Code, s.text)
		}
	}
	if s := w.in(t, access.Developer).get(wikis + "/" + url.PathEscape(hostile)); s.Code != http.StatusNotFound || s.acts() || !s.says("<evil onload") {
		t.Errorf("%d %s", s.Code, s.text)
	}
}

func TestWB01_TitlesAndSlugsAreText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const name = `"'><evil onload="evil()" style=x>&lt;`
	b := w.in(t, access.Maintainer)
	to := b.done(wikis, "title", name+"/"+name, "content", "---\ntitle: \"<evil>&quot;\"\n---\n<script>x</script><b onclick=x>y</b> [z](javascript:evil())", "format", "markdown", "message", name)
	for _, at := range []string{to, to + "/edit", to + "/history", to + "?version_id=HEAD~1", wikis + "/pages"} {
		if s := b.get(at); s.acts() || s.Code != http.StatusOK && !strings.Contains(at, "version_id") {
			t.Errorf("%s: %d %s", at, s.Code, s.text)
		}
	}
}

// What a page links to is shown as other uploads are.
func TestWB09_WhatIsAttachedToAWikiIsAPictureOrKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const polyglot = "GIF89a/*<script>alert(1)</script>*/=1;"
	dev := w.As(t, w.people[access.Developer])
	api := fmt.Sprintf("/projects/%d/wikis/attachments", w.project.ID)
	for name, want := range map[string]struct{ media, how string }{
		"a.png": {"image/png", "inline"}, "a.svg": {"application/octet-stream", "attachment"}, "a.html": {"application/octet-stream", "attachment"},
		"a.md": {"application/octet-stream", "attachment"}, "a": {"application/octet-stream", "attachment"},
	} {
		made := httpapitest.JSON[struct {
			Link struct{ URL string } `json:"link"`
		}](t, dev.Upload(t, "POST", api, "file", name, []byte(polyglot)).WantStatus(t, http.StatusCreated))
		s := w.anonymous(t).shows(wikis + "/" + made.Link.URL)
		h := s.Header()
		if s.Body.String() != polyglot || h.Get("Content-Type") != want.media || !strings.HasPrefix(h.Get("Content-Disposition"), want.how+"; filename="+name) ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasSuffix(h.Get("Content-Security-Policy"), "; sandbox") || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", name, h)
		}
		w.set(t, `update projects set visibility = 0`)
		if s := w.browser(t, w.stranger).get(wikis + "/" + made.Link.URL); s.Code != http.StatusNotFound {
			t.Errorf("a stranger reads it: %d", s.Code)
		}
		w.set(t, `update projects set visibility = 20`)
	}
	if s := w.anonymous(t).get(wikis + "/uploads/none/a.png"); s.Code != http.StatusNotFound {
		t.Errorf("a file that is not there: %d", s.Code)
	}
}

// outcomes are what people of each kind get.
type outcomes struct{ anonymous, stranger, guest, developer, maintainer int }

func TestPE02_WhoUsesTheWikiOfAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "home", "x")
	const ok, in, out = http.StatusOK, http.StatusSeeOther, http.StatusNotFound // in: asked to sign in, or led on
	reads, writes, deletes := map[string]outcomes{}, map[string]outcomes{}, map[string]outcomes{}
	try := func(state string) {
		t.Helper()
		people := []*browser{w.anonymous(t), w.browser(t, w.stranger), w.in(t, access.Guest), w.in(t, access.Developer), w.in(t, access.Maintainer)}
		check := func(method, path string, want outcomes, pairs ...string) {
			t.Helper()
			for n, code := range []int{want.anonymous, want.stranger, want.guest, want.developer, want.maintainer} {
				s := people[n].get(path)
				if method == http.MethodPost {
					s = people[n].post(path, pairs...)
				}
				if s.Code != code {
					t.Errorf("%s: %s %s by %d: %d, not %d", state, method, path, n, s.Code, code)
				}
			}
		}
		for _, path := range []string{"/home", "/home/history", "/pages", "/home?version_id=HEAD"} {
			check(http.MethodGet, wikis+path, reads[state])
		}
		for _, path := range []string{"/new", "/home/edit"} {
			check(http.MethodGet, wikis+path, writes[state])
		}
		sent := writes[state]
		for _, code := range []*int{&sent.developer, &sent.maintainer} {
			if *code == ok {
				*code = http.StatusUnprocessableEntity
			}
		}
		check(http.MethodPost, wikis, sent, "title", "")
		check(http.MethodPost, wikis+"/home/edit", sent, "title", "")
		check(http.MethodPost, wikis+"/none/delete", deletes[state])
		tab := `href="/house/tool/-/wikis">`
		if got := w.browser(t, w.stranger).get(home).says(tab); got != (reads[state].stranger == ok) {
			t.Errorf("%s: a stranger sees the tab: %v", state, got)
		}
		if got := w.in(t, access.Guest).get(home).says(tab); got != (reads[state].guest == ok) {
			t.Errorf("%s: a guest sees the tab: %v", state, got)
		}
	}
	nobody := outcomes{in, out, out, out, out}
	reads["open"], writes["open"], deletes["open"] = outcomes{ok, ok, ok, ok, ok}, outcomes{in, out, out, ok, ok}, nobody
	try("open")
	w.set(t, `update projects set visibility = 0`)
	reads["private"], writes["private"], deletes["private"] = outcomes{in, out, ok, ok, ok}, outcomes{in, out, out, ok, ok}, nobody
	try("private")
	w.set(t, `update projects set visibility = 20, features = '{"wiki":"private"}'`)
	reads["for members"], writes["for members"], deletes["for members"] = reads["private"], writes["private"], nobody
	try("for members")
	w.set(t, `update projects set features = '{}', archived = true`)
	reads["archived"], writes["archived"], deletes["archived"] = reads["open"], nobody, nobody
	try("archived")
	w.set(t, `update projects set archived = false, features = '{"wiki":"disabled"}'`)
	reads["off"], writes["off"], deletes["off"] = nobody, nobody, nobody
	try("off")
}

func TestAGroupHasAWikiWhereTheInstanceHasThem(t *testing.T) {
	t.Parallel()
	const at = "/groups/house/-/wikis"
	w := newFixture(t, "STITHY_INSTANCE_TIER=premium")
	if s := w.anonymous(t).shows(at); !s.says("pages about the group", "git clone https://forge.example/house.wiki.git", `href="/groups/house/-/wikis"`) || s.says("Write the first page") {
		t.Error(s.text)
	}
	b := w.in(t, access.Developer)
	to := b.done(at, "title", "docs/a", "content", "[home](home) #1", "format", "markdown")
	if s := w.anonymous(t).shows(to); to != at+"/docs/a" || !s.says(`href="https://forge.example/groups/house/-/wikis/home"`, "house · ") {
		t.Errorf("%s: %s", to, s.text)
	}
	b.done(to+"/edit", "title", "docs/a", "content", "y", "format", "markdown")
	if s := w.in(t, access.Reporter).post(at, "title", "b", "content", "x", "format", "markdown"); s.Code != http.StatusNotFound {
		t.Errorf("a reporter writes: %d", s.Code)
	}
	if s := b.post(to + "/delete"); s.Code != http.StatusNotFound {
		t.Errorf("a developer deletes: %d", s.Code)
	}
	w.in(t, access.Maintainer).done(to + "/delete")
	w.set(t, `update projects set visibility = 0`)
	w.set(t, `update namespaces set visibility = 0 where id = $1`, w.group.ID)
	if s := w.browser(t, w.stranger).get(at); s.Code != http.StatusNotFound {
		t.Errorf("a stranger: %d", s.Code)
	}
	if s := w.anonymous(t).get(at); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.leads(), "/users/sign_in") {
		t.Errorf("nobody: %d", s.Code)
	}
	free := newFixture(t, "STITHY_INSTANCE_TIER=free")
	for _, s := range []screen{free.in(t, access.Owner).get(at), free.in(t, access.Owner).get(at + "/home"), free.in(t, access.Owner).post(at, "title", "a", "content", "x", "format", "markdown")} {
		if s.Code != http.StatusNotFound {
			t.Errorf("on the free tier: %d", s.Code)
		}
	}
	if s := free.in(t, access.Owner).shows("/groups/house"); s.says("/-/wikis") {
		t.Error("the free tier has a tab for it")
	}
	if s := w.in(t, access.Owner).shows("/groups/house"); !s.says(`href="/groups/house/-/wikis"`) {
		t.Error("there is no tab for it")
	}
}
