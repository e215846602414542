package texts_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/snippet"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

const (
	snippets = home + "/-/snippets"
	personal = "/-/snippets"
)

// keep makes a snippet of somebody, in the project if that is said, with pairs of paths and contents.
func (w *fixture) keep(t testing.TB, u *user.User, in bool, v access.Visibility, d snippet.Draft, files ...string) snippet.Place {
	t.Helper()
	by := access.Actor{Person: u.Person(), Account: u}
	var p *project.Project
	if in {
		var err error
		if p, err = w.Projects.Find(t.Context(), by, w.project.ID); err != nil {
			t.Fatal(err)
		}
	}
	if d.Title == "" {
		d.Title = "A " + v.String() + " one"
	}
	d.Visibility = v
	for n := 0; n < len(files); n += 2 {
		d.Files = append(d.Files, snippet.File{Action: snippet.Create, Path: files[n], Content: &files[n+1]})
	}
	if len(d.Files) == 0 {
		d.Files = []snippet.File{{Action: snippet.Create, Path: "a.txt", Content: new("text\n")}}
	}
	at, err := w.Snippets.Create(t.Context(), by, p, d)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestASnippetIsShownWithItsFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	author := w.people[access.Reporter]
	for _, in := range []bool{true, false} {
		at := w.keep(t, author, in, access.Public, snippet.Draft{Title: "Notes on doors", Description: new("How to *oil* them")},
			"b.go", "package b\n\nfunc <evil>() {}\n", "scripts/a b.sh", "echo one", "empty", "", "bytes", "a\x00b")
		path := snippet.WebPath(at)
		s := w.anonymous(t).shows(path)
		for _, text := range []string{
			"<h1>Notes on doors</h1>", "public", "<b>" + author.Name + "</b>", "made this", "<em>oil</em>", ">b.go</h2>", "3 lines · 28 bytes", `id="L3"`, `href="#L3"`,
			"func <evil>() {}", ">scripts/a b.sh</h2>", "1 line · 8 bytes", "echo one", path + "/raw/main/scripts/a%20b.sh", "This file is empty.", "or it is no text.",
			"https://forge.example/" + snippet.Path(at) + ".git",
		} {
			if !s.says(text) {
				t.Errorf("%s does not say %q: %s", path, text, s.text)
			}
		}
		if s.acts() || s.says(path+"/edit") || s.says(" · changed ") || strings.Count(s.text, `id="L1"`) != 1 {
			t.Errorf("%s: %s", path, s.text)
		}
		if s := w.browser(t, author).shows(path); !s.says(path + "/edit") {
			t.Errorf("the author of %s is not offered to change it", path)
		}
	}
	if s := w.anonymous(t).shows(home); !s.says(`href="/house/tool/-/snippets"`, ">Snippets</a>") {
		t.Error("the project has no tab for them")
	}
	if s := w.browser(t, author).shows("/explore/snippets"); !s.says(`href="/dashboard/snippets"`) {
		t.Error("the menu does not lead to them")
	}
}

func TestALongFileIsCut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var long strings.Builder
	for n := range 1_500 {
		fmt.Fprintf(&long, "line %d of it\n", n+1)
	}
	author := w.people[access.Reporter]
	at := w.keep(t, author, false, access.Public, snippet.Draft{}, "a.txt", "first\n", "b.txt", long.String(), "c.txt", "last\n", "d.txt", strings.Repeat("x", 600<<10))
	s := w.anonymous(t).shows(snippet.WebPath(at))
	if !s.says("These are the first 999 of 1,500 lines.", "line 999 of it", "1,500 lines · ", "The page has no room for this file.", "This file is too large to show", "600.0 KB") ||
		s.says("line 1000 of it") || s.says("last") {
		t.Errorf("%.3000s", s.text)
	}
	at = w.keep(t, author, false, access.Public, snippet.Draft{}, "a.txt", strings.Repeat("y", 70<<10)+"\n")
	if s := w.anonymous(t).shows(snippet.WebPath(at)); !s.says("The page has no room for this file.") || s.says("yyy") {
		t.Errorf("one line without end: %.3000s", s.text)
	}
}

func TestWB09_FilesOfASnippetAreHandedOutAndNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.As(t, usertest.New(t, w.DB, usertest.Admin())).Do(t, "PUT", "/application/settings", map[string]any{"default_branch_name": "release/1"}).WantStatus(t, http.StatusOK)
	author := w.people[access.Reporter]
	const page = "<script>evil()</script>"
	for _, in := range []bool{true, false} {
		at := w.keep(t, author, in, access.Public, snippet.Draft{}, "a.html", page, "b/c d.bin", "a\x00b", "e.svg", "<svg onload=evil()>")
		path := snippet.WebPath(at)
		first, err := w.Snippets.Open(t.Context(), at.Snippet, "", "")
		if err != nil || first.Entry.Path != "a.html" {
			t.Fatalf("%v %v", first, err)
		}
		for rest, want := range map[string]struct{ body, media, how string }{
			"/raw":                               {page, "text/plain; charset=utf-8", "inline; filename=a.html"},
			"/raw/" + at.Branch + "/a.html":      {page, "text/plain; charset=utf-8", "inline; filename=a.html"},
			"/raw/HEAD/a.html":                   {page, "text/plain; charset=utf-8", "inline; filename=a.html"},
			"/raw/" + at.Branch + "/b/c%20d.bin": {"a\x00b", "application/octet-stream", `attachment; filename="c d.bin"`},
			"/raw/HEAD/e.svg":                    {"<svg onload=evil()>", "text/plain; charset=utf-8", "inline; filename=e.svg"},
		} {
			s := w.anonymous(t).shows(path + rest)
			h := s.Header()
			if s.Body.String() != want.body || h.Get("Content-Type") != want.media || h.Get("Content-Disposition") != want.how || h.Get("X-Content-Type-Options") != "nosniff" ||
				!strings.HasSuffix(h.Get("Content-Security-Policy"), "; sandbox") || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %q %v", rest, s.Body, h)
			}
		}
		for _, rest := range []string{"/raw/main", "/raw/HEAD/none", "/raw/none/a.html", "/raw/HEAD/b", "/raw/--all/a.html", "/raw/HEAD/" + strings.Repeat("a", 5000)} {
			if s := w.browser(t, w.stranger).get(path + rest); s.Code != http.StatusNotFound {
				t.Errorf("%s: %d", rest, s.Code)
			}
		}
	}
}

// What the API calls web_url and raw_url is where pages and files are.
func TestAddressesThatTheAPIGivesOfSnippetsLeadThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.As(t, w.people[access.Reporter])
	for _, path := range []string{"/snippets", fmt.Sprintf("/projects/%d/snippets", w.project.ID)} {
		made := httpapitest.JSON[struct {
			WebURL string `json:"web_url"`
			RawURL string `json:"raw_url"`
			Files  []struct {
				RawURL string `json:"raw_url"`
			} `json:"files"`
		}](t, reporter.Do(t, "POST", path, map[string]any{"title": "x", "visibility": "public", "files": []map[string]any{
			{"file_path": "a b/ä?#%.txt", "content": "one"}, {"file_path": "z", "content": "two"},
		}}).WantStatus(t, http.StatusCreated))
		for address, want := range map[string]string{made.WebURL: "two", made.RawURL: "one", made.Files[0].RawURL: "one", made.Files[1].RawURL: "two"} {
			local, ours := strings.CutPrefix(address, "https://forge.example")
			if s := w.anonymous(t).get(local); !ours || s.Code != http.StatusOK || !s.says(want) {
				t.Errorf("%s: %d %.200s", address, s.Code, s.text)
			}
		}
	}
}

func TestSnippetsAreMadeOnAPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Reporter)
	for _, list := range []string{snippets, personal} {
		s := b.shows(list + "/new")
		if !s.says(`name="path-1"`, `name="content-1"`, `<option value="private" selected>`, "Add another file", "Create snippet") || s.says(`name="path-2"`) || s.says("Delete") {
			t.Error(s.text)
		}
		s = b.post(list, "title", "Notes", "description", "All *doors*", "visibility", "public", "path-1", "a.txt", "content-1", "one\r\ntwo", "more", "1")
		if s.Code != http.StatusOK || !s.says(`value="Notes"`, ">All *doors*</textarea>", `<option value="public" selected>`, `value="a.txt"`, ">one\ntwo</textarea>", `name="path-2"`) ||
			s.says(`name="path-3"`) || s.says("problem") {
			t.Errorf("another file: %d %s", s.Code, s.text)
		}
		to := b.done(list, "title", " Notes ", "description", "All *doors*\r\nof it", "visibility", "public", "path-1", "a.txt", "content-1", "one\r\ntwo",
			"path-2", " b/c.txt ", "content-2", "three", "path-3", "", "content-3", "")
		if !strings.HasPrefix(to, list+"/") {
			t.Fatalf("leads to %s", to)
		}
		if s := w.anonymous(t).shows(to); !s.says("<h1>Notes</h1>", "<em>doors</em>", ">a.txt</h2>", ">b/c.txt</h2>", "three", "2 lines · 7 bytes") {
			t.Error(s.text)
		}
		if s := w.anonymous(t).shows(to + "/raw"); s.Body.String() != "one\ntwo" {
			t.Errorf("%q", s.Body)
		}
	}
	full := []string{"more", "1"}
	for n := range 10 {
		full = append(full, fmt.Sprintf("path-%d", n+1), fmt.Sprint(n))
	}
	if s := b.post(personal, full...); s.Code != http.StatusOK || s.says(`name="path-11"`) || s.says("Add another file") {
		t.Errorf("an eleventh file: %d", s.Code)
	}
	if s := b.get(personal); s.leads() != "/dashboard/snippets" {
		t.Errorf("where the form was sent leads to %s", s.leads())
	}
}

func TestARefusedSnippetKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Reporter)
	at := w.keep(t, w.people[access.Reporter], true, access.Private, snippet.Draft{}, "a.txt", "one", "b.txt", "two")
	own := snippet.WebPath(at)
	with := func(pairs ...string) []string {
		all := []string{"description", hostile, "path-2", hostile + "/..", "content-2", hostile, "path-3", "kept", "content-3", "kept " + hostile}
		return append(all, pairs...)
	}
	plain := func(pairs ...string) []string {
		return append([]string{"description", "kept " + hostile, "content-1", "kept " + hostile}, pairs...)
	}
	for what, s := range map[string]screen{
		"Is none that a file can have": b.post(snippets, with("title", "x", "visibility", "private", "path-1", "a", "content-1", "x")...),
		"Is missing":                   b.post(snippets, with("title", "x", "visibility", "private", "path-1", "", "content-1", "x")...),
		"is missing":                   b.post(snippets, "title", "kept "+hostile, "visibility", "private", "path-1", "", "content-1", ""),
		"Title can't be blank":         b.post(snippets, plain("title", " ", "visibility", "private", "path-1", "a")...),
		"Is none that snippets have":   b.post(personal, plain("title", "x", "visibility", "secret", "path-1", "a")...),
		"name already exists":          b.post(personal, plain("title", "x", "visibility", "private", "path-1", "a", "path-2", "a", "content-2", "x")...),
		"must hold at least one file":  b.post(own, plain("title", "kept", "visibility", "private", "path-1", "a.txt", "was-1", "a.txt", "gone-1", "1", "path-2", "b.txt", "was-2", "b.txt", "gone-2", "1")...),
		"is not there any more":        b.post(own, plain("title", "kept", "visibility", "private", "path-1", "c.txt", "was-1", "c.txt")...),
		"Title is too long":            b.post(own, plain("title", strings.Repeat("x", 256), "visibility", "private", "path-1", "a.txt", "was-1", "a.txt")...),
	} {
		if s.Code != http.StatusUnprocessableEntity || !strings.Contains(strings.ToLower(s.text), strings.ToLower(what)) || !s.says("kept") || s.acts() || !s.says("Add another file") {
			t.Errorf("%s: %d %s", what, s.Code, s.text)
		}
	}
	if s := b.shows(own); !s.says(">one<", ">two<", "A private one") {
		t.Error("it was changed all the same")
	}
	w.As(t, usertest.New(t, w.DB, usertest.Admin())).Do(t, "PUT", "/application/settings", map[string]any{"restricted_visibility_levels": []string{"public"}}).WantStatus(t, http.StatusOK)
	if s := b.post(personal, plain("title", "x", "visibility", "public", "path-1", "a")...); s.Code != http.StatusUnprocessableEntity || !s.says("Visibility level public has been restricted", "kept") {
		t.Errorf("a level that is restricted: %d %s", s.Code, s.text)
	}
}

func TestSnippetsAreChangedAndDeletedOnTheirPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	author := w.people[access.Reporter]
	for _, in := range []bool{true, false} {
		at := w.keep(t, author, in, access.Public, snippet.Draft{Description: new("Old words")}, "a.txt", "one\r\ntwo\r\n", "b.txt", "b", "c.txt", "c", "d.bin", "x\x00y")
		path, b := snippet.WebPath(at), w.browser(t, author)
		w.Turn(time.Hour)
		s := b.shows(path + "/edit")
		if !s.says(`value="A public one"`, ">Old words</textarea>", `<option value="public" selected>`, `name="was-1" value="a.txt"`, ">one\r\ntwo\r\n</textarea>", `name="gone-3"`, "Git can change it", "Delete snippet") ||
			s.says(`name="content-4"`) || s.says(`name="path-5"`) {
			t.Error(s.text)
		}
		seen := s.hidden("seen")
		more := b.post(path, "title", "New title", "visibility", "internal", "path-1", "a.txt", "was-1", "a.txt", "content-1", "typed", "path-2", "d.bin", "was-2", "d.bin", "gone-2", "1", "more", "1", "seen", seen)
		if more.Code != http.StatusOK || !more.says(`value="New title"`, ">typed</textarea>", `name="path-3"`, "Git can change it", `name="gone-2" value="1" checked`) || more.hidden("seen") != seen {
			t.Errorf("another file: %d %s", more.Code, more.text)
		}
		to := b.done(path, "title", "New title", "description", "", "visibility", "private", "seen", seen,
			"path-1", "a.txt", "was-1", "a.txt", "content-1", "one\r\nthree\r\n", "path-2", "moved/b.txt", "was-2", "b.txt", "content-2", "b",
			"path-3", "c.txt", "was-3", "c.txt", "content-3", "c", "gone-3", "1", "path-4", "e.bin", "was-4", "d.bin", "content-4", "no bytes", "path-5", "c.txt", "content-5", "another c")
		if to != path {
			t.Errorf("leads to %s", to)
		}
		for file, want := range map[string]string{"a.txt": "one\r\nthree\r\n", "moved/b.txt": "b", "c.txt": "another c", "e.bin": "x\x00y"} {
			if got := b.get(path + "/raw/main/" + file); got.Body.String() != want {
				t.Errorf("%s holds %q: %d", file, got.Body, got.Code)
			}
		}
		if s := b.shows(path); !s.says("New title", "private", " · changed ") || s.says("Old words") || s.says(">b.txt<") {
			t.Error(s.text)
		}
		if in {
			if s := w.in(t, access.Maintainer).shows(path + "/edit"); !s.says(`value="New title"`) {
				t.Error("a maintainer is not offered to change it")
			}
		}
		list := map[bool]string{true: snippets, false: "/dashboard/snippets"}[in]
		if to := b.done(path + "/delete"); to != list || b.get(path).Code != http.StatusNotFound {
			t.Errorf("deleted, it leads to %s", to)
		}
	}
}

func TestOfTwoEditorsOfASnippetTheSecondIsTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	author := w.people[access.Reporter]
	at := w.keep(t, author, true, access.Public, snippet.Draft{}, "a.txt", "one")
	path := snippet.WebPath(at)
	first, second := w.browser(t, author), w.in(t, access.Maintainer)
	seen := second.shows(path + "/edit").hidden("seen")
	w.Turn(time.Minute)
	fields := func(text string) []string {
		return []string{"title", "By the " + text, "visibility", "public", "path-1", "a.txt", "was-1", "a.txt", "content-1", text, "seen", seen}
	}
	first.done(path, fields("first")...)
	s := second.post(path, fields("second")...)
	if s.Code != http.StatusUnprocessableEntity || !s.says("Somebody changed this snippet meanwhile", ">second</textarea>", "Look at the snippet as it is now") || s.hidden("seen") != seen {
		t.Errorf("%d %s", s.Code, s.text)
	}
	if s := second.shows(path); !s.says("By the first", ">first<") {
		t.Error("what the first wrote is gone")
	}
}

func TestListsOfSnippetsShowWhatTheirReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	author := w.people[access.Reporter]
	for _, v := range []access.Visibility{access.Private, access.Internal, access.Public} {
		w.keep(t, author, true, v, snippet.Draft{Title: "In it " + v.String()})
		w.keep(t, author, false, v, snippet.Draft{Title: "Own " + v.String() + " " + hostile})
	}
	has := func(s screen) (found []string) {
		for _, text := range []string{"In it private", "In it internal", "In it public", "Own private", "Own internal", "Own public"} {
			if s.says(">" + text) {
				found = append(found, text)
			}
		}
		return found
	}
	in := []string{"In it private", "In it internal", "In it public"}
	for _, c := range []struct {
		b    *browser
		path string
		want []string
	}{
		{w.anonymous(t), snippets, in[2:]}, {w.browser(t, w.stranger), snippets, in[1:]}, {w.in(t, access.Guest), snippets, in},
		{w.anonymous(t), "/explore/snippets", []string{"Own public"}}, {w.browser(t, author), "/explore/snippets", []string{"Own public"}},
		{w.browser(t, author), "/dashboard/snippets", append(in, "Own private", "Own internal", "Own public")}, {w.browser(t, w.stranger), "/dashboard/snippets", nil},
	} {
		s := c.b.shows(c.path)
		if got := has(s); fmt.Sprint(got) != fmt.Sprint(c.want) || s.acts() {
			t.Errorf("%s: %v, not %v", c.path, got, c.want)
		}
	}
	if s := w.browser(t, author).shows("/dashboard/snippets"); !s.says("in house/tool", "1 file", "New snippet", `href="/-/snippets/new"`, "by "+author.Name) {
		t.Error(s.text)
	}
	if s := w.browser(t, w.stranger).shows("/dashboard/snippets"); !s.says("You have no snippets yet") {
		t.Error(s.text)
	}
	if s := w.anonymous(t).shows(snippets); s.says("New snippet") || s.says("in house/tool") {
		t.Error("a stranger is offered to make one")
	}
	if s := w.anonymous(t).get("/dashboard/snippets"); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.leads(), "/users/sign_in") {
		t.Errorf("somebody who is not signed in has a list: %d", s.Code)
	}
}

func TestListsOfSnippetsAreTurnedByCursor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 23 {
		w.keep(t, w.people[access.Reporter], true, access.Public, snippet.Draft{Title: fmt.Sprintf("Number %02d of them", n)})
	}
	onward := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	first := w.anonymous(t).shows(snippets)
	link := onward.FindStringSubmatch(first.text)
	if link == nil || strings.Count(first.text, "of them<") != 20 || !strings.HasPrefix(link[1], snippets+"?cursor=") {
		t.Fatalf("%v", link)
	}
	if second := w.anonymous(t).shows(link[1]); strings.Count(second.text, "of them<") != 3 || onward.MatchString(second.text) || !second.says(`href="`+snippets+`"`) {
		t.Error(second.text)
	}
	if s := w.anonymous(t).get(snippets + "?cursor=nonsense"); s.Code != http.StatusBadRequest {
		t.Errorf("a cursor of another list: %d", s.Code)
	}
}

func TestPE02_WhoUsesSnippetsOfAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const ok, in, out, refused = http.StatusOK, http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	author := w.people[access.Reporter]
	paths := map[access.Visibility]string{}
	for _, v := range []access.Visibility{access.Private, access.Internal, access.Public} {
		paths[v] = snippet.WebPath(w.keep(t, author, true, v, snippet.Draft{}))
	}
	type seen struct{ anonymous, stranger, guest, author, developer, maintainer int }
	people := []*browser{w.anonymous(t), w.browser(t, w.stranger), w.in(t, access.Guest), w.browser(t, author), w.in(t, access.Developer), w.in(t, access.Maintainer)}
	check := func(state, method, path string, want seen) {
		t.Helper()
		for n, code := range []int{want.anonymous, want.stranger, want.guest, want.author, want.developer, want.maintainer} {
			s := people[n].get(path)
			if method == http.MethodPost {
				s = people[n].post(path, "title", "")
			}
			if s.Code != code {
				t.Errorf("%s: %s %s by %d: %d, not %d", state, method, path, n, s.Code, code)
			}
		}
	}
	nobody := seen{in, out, out, out, out, out}
	open := map[access.Visibility]seen{
		access.Public: {ok, ok, ok, ok, ok, ok}, access.Internal: {in, ok, ok, ok, ok, ok}, access.Private: {in, out, ok, ok, ok, ok},
	}
	for v, want := range open {
		check("open", http.MethodGet, paths[v], want)
		check("open", http.MethodGet, paths[v]+"/raw", want)
		check("open", http.MethodGet, paths[v]+"/raw/main/a.txt", want)
		check("open", http.MethodGet, paths[v]+"/edit", seen{in, out, out, ok, out, ok})
		check("open", http.MethodPost, paths[v], seen{in, out, out, refused, out, refused})
	}
	check("open", http.MethodGet, snippets, seen{ok, ok, ok, ok, ok, ok})
	check("open", http.MethodGet, snippets+"/new", seen{in, out, out, ok, ok, ok})
	check("open", http.MethodPost, snippets, seen{in, out, out, refused, refused, refused})
	for _, n := range []int{0, 1, 2, 4} {
		if s := people[n].post(paths[access.Public] + "/delete"); s.Code != out && n > 0 || s.Code == out && n == 0 {
			t.Errorf("%d deletes: %d", n, s.Code)
		}
	}
	closed := seen{in, out, ok, ok, ok, ok}
	for state, sql := range map[string]string{"private": `visibility = 0, features = '{}'`, "for members": `visibility = 20, features = '{"snippets":"private"}'`} {
		w.set(t, `update projects set `+sql)
		for _, path := range []string{paths[access.Public], paths[access.Public] + "/raw", snippets} {
			check(state, http.MethodGet, path, closed)
		}
		if people[1].get(home).says("/-/snippets") {
			t.Errorf("%s: a stranger sees the tab", state)
		}
	}
	w.set(t, `update projects set visibility = 20, features = '{}', archived = true`)
	check("archived", http.MethodGet, paths[access.Public], open[access.Public])
	check("archived", http.MethodGet, paths[access.Public]+"/edit", nobody)
	check("archived", http.MethodGet, snippets+"/new", nobody)
	w.set(t, `update projects set archived = false, features = '{"snippets":"disabled"}'`)
	for _, path := range []string{paths[access.Public], paths[access.Public] + "/raw", paths[access.Public] + "/edit", snippets, snippets + "/new"} {
		check("off", http.MethodGet, path, nobody)
	}
	if people[5].shows(home).says("/-/snippets") {
		t.Error("off: a maintainer sees the tab")
	}
}

func TestPE02_WhoUsesSnippetsOfPeople(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const ok, in, out = http.StatusOK, http.StatusSeeOther, http.StatusNotFound
	author := w.people[access.Reporter]
	root, external := usertest.New(t, w.DB, usertest.Admin()), usertest.New(t, w.DB, usertest.With("external", true))
	people := []*browser{w.anonymous(t), w.browser(t, w.stranger), w.browser(t, external), w.browser(t, author), w.browser(t, root)}
	for v, want := range map[access.Visibility][]int{
		access.Public: {ok, ok, ok, ok, ok}, access.Internal: {in, ok, out, ok, ok}, access.Private: {in, out, out, ok, ok},
	} {
		path := snippet.WebPath(w.keep(t, author, false, v, snippet.Draft{}))
		for n, b := range people {
			for _, rest := range []string{"", "/raw", "/raw/main/a.txt"} {
				if s := b.get(path + rest); s.Code != want[n] {
					t.Errorf("%v%s by %d: %d, not %d", v, rest, n, s.Code, want[n])
				}
			}
			edit := map[bool]int{true: ok, false: out}[n == 3]
			if n == 0 {
				edit = in
			}
			if s := b.get(path + "/edit"); s.Code != edit {
				t.Errorf("%v by %d to edit: %d, not %d", v, n, s.Code, edit)
			}
			if n == 3 {
				continue
			}
			for _, rest := range []string{"", "/delete"} {
				if s := b.post(path+rest, "title", "Mine", "visibility", "public"); s.Code != out && n > 0 || n == 0 && s.Code != in {
					t.Errorf("%v by %d changes%s: %d", v, n, rest, s.Code)
				}
			}
		}
	}
	for _, s := range []screen{people[2].get(personal + "/new"), people[2].post(personal, "title", "x", "visibility", "public", "path-1", "a", "content-1", "x")} {
		if s.Code != http.StatusForbidden && s.Code != http.StatusUnprocessableEntity {
			t.Errorf("somebody from outside keeps a snippet: %d", s.Code)
		}
	}
	if people[2].shows("/explore/snippets").says("New snippet") {
		t.Error("somebody from outside is offered to keep one")
	}
	in2 := w.keep(t, author, true, access.Private, snippet.Draft{})
	short := fmt.Sprintf("%s/%d", personal, in2.ID)
	if s := people[3].get(short); s.Code != in || s.leads() != snippet.WebPath(in2) {
		t.Errorf("one of a project: %d %s", s.Code, s.leads())
	}
	if s := people[3].post(short, "title", "x"); s.Code != out {
		t.Errorf("one of a project is changed elsewhere: %d", s.Code)
	}
	if s := people[1].get(short); s.Code != out {
		t.Errorf("one of a project, by somebody who may not read it: %d", s.Code)
	}
	other := snippet.WebPath(w.keep(t, author, false, access.Public, snippet.Draft{}))
	if s := people[3].get(home + other); s.Code != out {
		t.Errorf("somebody's own in a project: %d", s.Code)
	}
	w.set(t, `update users set state = 'banned' where id = $1`, author.ID)
	if s := people[1].get(other); s.Code != out || people[1].shows("/explore/snippets").says(other) {
		t.Errorf("of somebody who is banned: %d", s.Code)
	}
}

func TestWB01_WhatASnippetIsCalledIsText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const name = `"'><evil onload="evil()" style=x>&lt;`
	author := w.people[access.Reporter]
	w.set(t, `update users set name = $2 where id = $1`, author.ID, name)
	for _, in := range []bool{true, false} {
		at := w.keep(t, author, in, access.Public, snippet.Draft{Title: hostile, Description: new(hostile + "[x](javascript:evil())")}, name+"/"+name, hostile, "</pre><evil>", hostile)
		path := snippet.WebPath(at)
		for _, target := range []string{path, path + "/edit", snippets, "/dashboard/snippets", "/explore/snippets", path + "?x=" + url.QueryEscape(hostile)} {
			if s := w.browser(t, author).shows(target); s.acts() {
				t.Errorf("%s: %s", target, s.text)
			}
		}
	}
}
