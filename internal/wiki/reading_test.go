package wiki_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/wiki"
)

func (w *fixture) actor(role access.Role) access.Actor {
	u := w.people[role]
	return access.Actor{Person: u.Person(), Account: u}
}

// of is the project as the owner of its wiki.
func (w *fixture) of() bus.Entity { return owner.OfProject(w.project).Entity }

func (w *fixture) find(t testing.TB, slug, version string) *wiki.Page {
	t.Helper()
	p, err := w.Wikis.Find(t.Context(), w.of(), slug, version)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPageThatSomebodyElseChangedMeanwhileStays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", "one")
	w.write(t, "b", "beside it")
	seen := w.find(t, "a", "").ID
	update := func(content string, seen gitstore.OID) error {
		_, err := w.Wikis.Update(t.Context(), w.actor(access.Developer), w.of(), "a", wiki.Change{Content: &content, Seen: seen})
		return err
	}
	if err := update("two", seen); err != nil {
		t.Fatal(err)
	}
	if err := update("three", seen); !fault.Is(err, fault.Conflict) || w.find(t, "a", "").Content != "two" {
		t.Errorf("a change of what is not there any more: %v, the page says %q", err, w.find(t, "a", "").Content)
	}
	if err := update("four", ""); err != nil || w.find(t, "a", "").Content != "four" {
		t.Errorf("a change of whatever is there: %v", err)
	}
}

func TestACommitSaysWhatItsWriterSays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.actor(access.Developer)
	draft := wiki.Draft{Title: "a", Content: "one", Format: wiki.Markdown, Message: "Begin"}
	if _, err := w.Wikis.Create(t.Context(), by, w.of(), draft); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Wikis.Update(t.Context(), by, w.of(), "a", wiki.Change{Content: new("two"), Message: "Go on"}); err != nil {
		t.Fatal(err)
	}
	if log := w.log(t); len(log) != 2 || log[0] != "Go on" || log[1] != "Begin" {
		t.Errorf("the commits say %q", log)
	}
	draft.Title, draft.Message = "b", strings.Repeat("é", 1001)
	refused := func(err error, field string) bool {
		f, told := fault.Of(err)
		return told && len(f.Fields[field]) == 1
	}
	if _, err := w.Wikis.Create(t.Context(), by, w.of(), draft); !refused(err, "message") {
		t.Errorf("a message without end: %v", err)
	}
	if _, err := w.Wikis.Update(t.Context(), by, w.of(), "a", wiki.Change{Content: new("x"), Message: draft.Message}); !refused(err, "message") {
		t.Errorf("a message without end: %v", err)
	}
	draft.Message = draft.Message[:2000]
	if _, err := w.Wikis.Create(t.Context(), by, w.of(), draft); err != nil {
		t.Errorf("a message of a thousand letters: %v", err)
	}
	draft.Title, draft.Format = "c", "word"
	if _, err := w.Wikis.Create(t.Context(), by, w.of(), draft); !refused(err, "format") {
		t.Errorf("a format that nobody knows: %v", err)
	}
	if _, err := w.Wikis.Update(t.Context(), by, w.of(), "a", wiki.Change{Format: new(wiki.Format(""))}); !refused(err, "format") {
		t.Errorf("no format: %v", err)
	}
}

func TestTheHistoryOfAPageIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", "0")
	w.write(t, "other", "x")
	_, old := w.repo(t)
	for n := range 4 {
		if _, err := w.Wikis.Update(t.Context(), w.actor(access.Maintainer), w.of(), "a", wiki.Change{Content: new(fmt.Sprint(n + 1)), Message: fmt.Sprint("change ", n+1)}); err != nil {
			t.Fatal(err)
		}
	}
	history := func(p *wiki.Page, page int) (said []string, more bool) {
		found, err := w.Wikis.History(t.Context(), w.of(), p, paging.Request{Page: page, PerPage: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found.Items {
			said = append(said, strings.TrimSpace(v.Message))
			if at := w.find(t, "a", string(v.Commit)); !strings.HasSuffix(v.Message, at.Content) && at.Content != "0" {
				t.Errorf("%q leads to %q", v.Message, at.Content)
			}
			if v.Author == "" || strings.Contains(v.Author, "@") || !v.When.Equal(w.Now().Truncate(1e9)) {
				t.Errorf("%+v", v)
			}
		}
		return said, found.More
	}
	for page, want := range []string{"[change 4 change 3] true", "[change 2 change 1] true", "[role-30 created page: a] false", "[] false"} {
		if said, more := history(w.find(t, "a", ""), page+1); fmt.Sprint(said, more) != want {
			t.Errorf("part %d is %v %v, not %s", page+1, said, more, want)
		}
	}
	if said, more := history(w.find(t, "a", string(old)), 1); fmt.Sprint(said, more) != "[role-30 created page: a] false" {
		t.Errorf("the history of an old version: %v %v", said, more)
	}
}

func TestLinksOfAPageAreReadFromTheTopOfItsWiki(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const top = "https://forge.example/house/tool/-/wikis/"
	for link, want := range map[string]string{
		"home":                                  top + "home",
		"docs/other":                            top + "docs/other",
		"/docs/other?a=b#part":                  top + "docs/other?a=b#part",
		"./other":                               top + "docs/other",
		"../other":                              top + "other",
		"../../../../other":                     top + "other",
		"uploads/0123/a%20b.png":                top + "uploads/0123/a%20b.png",
		"a%3Fb":                                 top + "a%3Fb",
		"#part":                                 "#part",
		"https://elsewhere.example/a":           "https://elsewhere.example/a",
		"//elsewhere.example/a":                 "//elsewhere.example/a",
		"mailto:ada@example.com":                "mailto:ada@example.com",
		"/house/tool/-/issues/1":                "/house/tool/-/issues/1",
		"docs/&quot;><script>alert(1)</script>": "",
	} {
		_ = w.Wikis.Delete(t.Context(), w.actor(access.Maintainer), w.of(), "docs/page")
		w.write(t, "docs/page", "a <b>b</b> &amp; [x](<"+link+">) ![y](<"+link+">) `<a href=\"home\">`\n")
		got := *httpapitest.JSON[page](t, w.Do(t, "GET", w.at+"/docs%2Fpage?render_html=true", nil).WantStatus(t, http.StatusOK)).Content
		if !strings.Contains(got, "a <b>b</b> &amp; ") || !strings.Contains(got, `<code>&lt;a href=&#34;home&#34;&gt;</code>`) || strings.Contains(got, "<script") {
			t.Errorf("%s: what is no link changed: %s", link, got)
		}
		if escaped := strings.ReplaceAll(want, "&", "&amp;"); want != "" && !strings.Contains(got, `<a href="`+escaped+`"`) {
			t.Errorf("%s: %s", link, got)
		}
		if want != "" && !strings.HasPrefix(link, "mailto:") && !strings.Contains(got, `<img src="`+want+`" alt="y"`) {
			t.Errorf("the picture %s: %s", link, got)
		}
	}
}

func TestTheTableOfContentsIsShort(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	contents := func(most int) string {
		t.Helper()
		pages, more, err := w.Wikis.Contents(t.Context(), w.of(), most)
		if err != nil {
			t.Fatal(err)
		}
		var slugs []string
		for _, p := range pages {
			slugs = append(slugs, p.Slug)
		}
		return fmt.Sprint(slugs, more)
	}
	if got := contents(10); got != "[] false" {
		t.Errorf("of nothing: %s", got)
	}
	for _, title := range []string{"Zebra", "apple", "docs/b", "docs/A", "docs", "Home", "wide/and/deep"} {
		w.write(t, title, "x")
	}
	w.developer(t).Upload(t, "POST", w.at+"/attachments", "file", "notes.md", []byte("x")).WantStatus(t, http.StatusCreated)
	if got := contents(10); got != "[apple docs docs/A docs/b Home wide/and/deep Zebra] false" {
		t.Errorf("of all: %s", got)
	}
	if got := contents(3); got != "[apple docs docs/A] true" {
		t.Errorf("of the first: %s", got)
	}
	many := func(folder string) (all []gitstore.Change) {
		for n := range 1_001 {
			all = append(all, gitstore.Change{Path: fmt.Sprintf("%s/%04d.md", folder, n), Content: []byte("x"), Create: true})
		}
		return all
	}
	w.write(t, "zoo", "x")
	w.commit(t, many("uploads/0123")...)
	if got := contents(10); got != "[apple docs docs/A docs/b Home wide/and/deep Zebra zoo] false" {
		t.Errorf("beside very much that is attached: %s", got)
	}
	w.commit(t, many("all")...)
	if got := contents(2_000); !strings.HasSuffix(got, " true") || strings.Count(got, "all/") > 1_000 {
		t.Errorf("of very many: %.60s…%s", got, got[len(got)-20:])
	}
	w.commit(t, many("bulk")...)
	if got := contents(5_000); !strings.HasSuffix(got, " true") || strings.Count(got, "all/")+strings.Count(got, "bulk/") > 1_000 {
		t.Errorf("of two folders of very many: %d pages", strings.Count(got, " "))
	}
}

// commit changes files of the project's wiki, as somebody may who pushes.
func (w *fixture) commit(t testing.TB, changes ...gitstore.Change) {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.DB, `select repository_id from wikis where project_id = $1`, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Repositories.CommitText(t.Context(), w.actor(access.Developer), id, "Push",
		func(context.Context, *gitstore.Repo, gitstore.OID) ([]gitstore.Change, error) { return changes, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfAWikiAreOpened(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	open := func(file string) (string, error) {
		u, body, err := w.Wikis.Open(t.Context(), w.of(), file)
		if err != nil {
			return "", err
		}
		defer func() { _ = body.Close() }()
		text, err := io.ReadAll(body)
		if int64(len(text)) != u.Size {
			t.Errorf("%s has %d bytes, not %d", file, len(text), u.Size)
		}
		return u.Filename + " " + u.Media() + " " + string(text), err
	}
	if _, err := open("uploads/a.png"); !fault.Is(err, fault.NotFound) {
		t.Errorf("before there is a wiki: %v", err)
	}
	at, _, err := w.Wikis.Attach(t.Context(), w.actor(access.Developer), w.of(), "a.png", strings.NewReader("picture"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := open(at); got != "a.png image/png picture" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	// A drawing may act, so browsers are not told that it is a picture.
	drawing, _, err := w.Wikis.Attach(t.Context(), w.actor(access.Developer), w.of(), "a.svg", strings.NewReader("<svg/>"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := open(drawing); got != "a.svg application/octet-stream <svg/>" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for _, file := range []string{"uploads", at + "/b", "uploads/none.png", "../a", "", "/" + at, strings.Repeat("a", 5000)} {
		if got, err := open(file); !fault.Is(err, fault.NotFound) {
			t.Errorf("%.50s: %q %v", file, got, err)
		}
	}
}
