package markdown_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/gitstore"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public and a private project beside each other, in a private group.
type fixture struct {
	*apptest.Instance
	member, stranger *user.User
	commit           string // of the private project
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.Serve(t)
	w.member, w.stranger = usertest.New(t, w.DB, usertest.Named("member")), usertest.New(t, w.DB, usertest.Named("stranger"))
	open, closed := grouptest.New(t, w.DB, grouptest.Named("open"), grouptest.Visible(access.Public)), grouptest.New(t, w.DB, grouptest.Named("closed"))
	projecttest.New(t, w.DB, open.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	hidden := projecttest.New(t, w.DB, open.ID, projecttest.Named("hidden"))
	repositorytest.New(t, w.DB, w.Store, hidden, repositorytest.Files{"readme": "hello\n"})
	grouptest.Join(t, w.DB, closed, w.member, access.Guest)
	projecttest.Join(t, w.DB, hidden, w.member, access.Reporter)
	id, err := w.Store.Repo(gitstore.KeyOf("default", hidden.ID, 0)).Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	w.commit = string(id)
	return w
}

func (w *fixture) render(t testing.TB, as *user.User, text, project string) string {
	t.Helper()
	var form struct{ HTML string }
	w.As(t, as).Do(t, "POST", "/markdown", map[string]any{"text": text, "gfm": true, "project": project}).WantStatus(t, http.StatusCreated).Decode(t, &form)
	return strings.TrimSpace(form.HTML)
}

// PE-09: what a reader may not see stays text, as what is not there does.
func TestPE09_AReferenceIsALinkToThoseAloneWhoSeeWhatItNames(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	link := func(kind, path, title, text string) string {
		if title != "" {
			title = ` title="` + title + `"`
		}
		return fmt.Sprintf(`<a class="reference %s" href="https://forge.example/%s"%s>%s</a>`, kind, path, title, text)
	}
	short := w.commit[:8]
	for _, tt := range []struct{ text, in, member, stranger string }{
		{"@stranger", "", link("user", "stranger", "Stranger", "@stranger"), link("user", "stranger", "Stranger", "@stranger")},
		{"@nobody", "", "@nobody", "@nobody"},
		{"@open", "", link("user", "groups/open", "open", "@open"), link("user", "groups/open", "open", "@open")},
		{"@closed", "", link("user", "groups/closed", "closed", "@closed"), "@closed"},
		{"open/tool>", "", link("project", "open/tool", "", "open/tool"), link("project", "open/tool", "", "open/tool")},
		{"open/hidden>", "", link("project", "open/hidden", "", "open/hidden"), "open/hidden&gt;"},
		{"open/hidden@" + short, "", link("commit", "open/hidden/-/commit/"+w.commit, "Initial commit", "open/hidden@"+short), "open/hidden@" + short},
		{"hidden@" + short, "open/tool", link("commit", "open/hidden/-/commit/"+w.commit, "Initial commit", "open/hidden@"+short), "hidden@" + short},
		{"hidden@" + short, "", "hidden@" + short, "hidden@" + short},
		{short, "open/tool", short, short},
		{short + "..." + short, "", short + "..." + short, short + "..." + short},
		{"#1 ~bug %v1", "open/tool", "#1 ~bug %v1", "#1 ~bug %v1"},
	} {
		for who, want := range map[*user.User]string{w.member: tt.member, w.stranger: tt.stranger} {
			if got := w.render(t, who, tt.text, tt.in); got != "<p>"+want+"</p>" {
				t.Errorf("%s in %q for %s:\n got %s\nwant %s", tt.text, tt.in, who.Username, got, want)
			}
		}
	}
	if got := w.render(t, w.member, short+" "+short+".."+short, "open/hidden"); strings.Count(got, `href="https://forge.example/open/hidden/-/`) != 2 {
		t.Errorf("in its project: %s", got)
	}
}

// PE-09: who sees a project does not always see its code; and what git finds under a name need not be what was named.
func TestPE09_ACommitIsALinkToThoseAloneWhoReadTheCode(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	link := fmt.Sprintf(`href="https://forge.example/open/hidden/-/commit/%s"`, w.commit)
	guest := usertest.New(t, w.DB, usertest.Named("guest"))
	hidden, _, err := w.Projects.FindByRef(t.Context(), access.Actor{Person: w.member.Person()}, "open/hidden")
	if err != nil {
		t.Fatal(err)
	}
	projecttest.Join(t, w.DB, hidden, guest, access.Guest)
	for who, sees := range map[*user.User]bool{w.member: true, guest: false} {
		if got := w.render(t, who, w.commit[:8], "open/hidden"); strings.Contains(got, link) != sees {
			t.Errorf("%s reads %s", who.Username, got)
		}
	}
	repositorytest.Commit(t, w.Store.Repo(gitstore.KeyOf("default", hidden.ID, 0)), "abcdef12", "Branch", repositorytest.Files{"a": "b"})
	if got := w.render(t, w.member, "abcdef12", "open/hidden"); strings.Contains(got, "href") {
		t.Errorf("a branch is a commit: %s", got)
	}
}

// PE-09: issues, labels and milestones, too.
func TestPE09_WhatIsPlannedIsALinkToThoseAloneWhoSeeIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss := usertest.New(t, w.DB, usertest.Named("boss"), usertest.Admin())
	root := w.As(t, boss)
	ids := map[string]int64{}
	create := func(path string, body map[string]any) (id int64) {
		t.Helper()
		var made struct{ ID int64 }
		root.Do(t, "POST", path, body).WantStatus(t, http.StatusCreated).Decode(t, &made)
		return made.ID
	}
	for _, path := range []string{"open/tool", "open/hidden"} {
		p, _, err := w.Projects.FindByRef(t.Context(), access.Actor{Person: boss.Person()}, path)
		if err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("/projects/%d", p.ID)
		create(at+"/issues", map[string]any{"title": "Mend <it>"})
		create(at+"/issues", map[string]any{"title": "Secret", "confidential": true})
		create(at+"/issues", map[string]any{"title": "Done"})
		root.Do(t, "PUT", at+"/issues/3", map[string]any{"state_event": "close"}).WantStatus(t, http.StatusOK)
		ids[path] = create(at+"/labels", map[string]any{"name": "two words", "color": "#112233", "description": "d"})
		create(at+"/milestones", map[string]any{"title": "v1"})
		create(at+"/milestones", map[string]any{"title": "1"})
	}
	create("/groups/open/labels", map[string]any{"name": "bug", "color": "#112233"})
	create("/groups/open/milestones", map[string]any{"title": "ours"})
	link := func(kind, path, title, text string) string {
		if title != "" {
			title = ` title="` + title + `"`
		}
		return fmt.Sprintf(`<a class="reference %s" href="https://forge.example/%s"%s>%s</a>`, kind, path, title, text)
	}
	first, byID := link("issue", "open/tool/-/issues/1", "Mend &lt;it&gt;", "#1"), fmt.Sprintf("~%d", ids["open/tool"])
	words, v1 := link("label", "open/tool/-/issues?label_name[]=two+words", "d", "two words"), link("milestone", "open/tool/-/milestones/1", "", "%v1")
	for _, tt := range []struct{ text, in, member, stranger string }{
		{"#1", "open/tool", first, first},
		{"#1", "", "#1", "#1"},
		{"#2", "open/tool", "#2", "#2"},
		{"#3", "open/tool", link("issue", "open/tool/-/issues/3", "Done", "#3 (closed)"), link("issue", "open/tool/-/issues/3", "Done", "#3 (closed)")},
		{"#4 #99999999999", "open/tool", "#4 #99999999999", "#4 #99999999999"},
		{"#1+", "open/tool", link("issue", "open/tool/-/issues/1", "Mend &lt;it&gt;", "Mend &lt;it&gt; (#1)"), link("issue", "open/tool/-/issues/1", "Mend &lt;it&gt;", "Mend &lt;it&gt; (#1)")},
		{"hidden#1", "open/tool", link("issue", "open/hidden/-/issues/1", "Mend &lt;it&gt;", "open/hidden#1"), "hidden#1"},
		{"open/hidden#2", "", link("issue", "open/hidden/-/issues/2", "Secret", "open/hidden#2"), "open/hidden#2"},
		{"~bug", "open/tool", link("label", "open/tool/-/issues?label_name[]=bug", "", "bug"), link("label", "open/tool/-/issues?label_name[]=bug", "", "bug")},
		{`~"two words"`, "open/tool", words, words},
		{byID, "open/tool", words, words},
		{byID, "open/hidden", byID, ""},
		{"~nothing", "open/tool", "~nothing", "~nothing"},
		{"hidden~bug", "open/tool", link("label", "open/hidden/-/issues?label_name[]=bug", "", "bug in open/hidden"), "hidden~bug"},
		{"%v1", "open/tool", v1, v1},
		{"%1", "open/tool", v1, v1},
		{"%ours", "open/tool", link("milestone", "groups/open/-/milestones/1", "", "%ours"), link("milestone", "groups/open/-/milestones/1", "", "%ours")},
		{"open/hidden%v1", "", link("milestone", "open/hidden/-/milestones/1", "", "%v1 in open/hidden"), "open/hidden%v1"},
		{"%v2", "open/tool", "%v2", "%v2"},
	} {
		for who, want := range map[*user.User]string{w.member: tt.member, w.stranger: tt.stranger} {
			if want == "" {
				continue // they do not see the project
			}
			if got := w.render(t, who, tt.text, tt.in); got != "<p>"+want+"</p>" {
				t.Errorf("%s in %q for %s:\n got %s\nwant %s", tt.text, tt.in, who.Username, got, want)
			}
		}
	}
	if got := strings.Count(w.render(t, w.member, strings.Repeat("#1 ", 105)+strings.Repeat("~bug ", 105)+strings.Repeat("%v1 ", 105), "open/tool"), "href="); got != 300 {
		t.Errorf("%d links of one text", got)
	}
}

// DO-03: each thing that a text names is a question to the database, or to git.
func TestDO03_OfManyThingsThatATextNamesSomeAreLookedUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.DB, grouptest.Named("many"), grouptest.Visible(access.Public))
	var names, projects strings.Builder
	for n := range 55 {
		fmt.Fprintf(&names, "@%s ", usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("many%d", n))).Username)
	}
	for n := range 25 {
		fmt.Fprintf(&projects, "%s> ", projecttest.New(t, w.DB, g.ID, projecttest.Named(fmt.Sprintf("p%d", n)), projecttest.Visible(access.Public)).FullPath())
	}
	for text, want := range map[string]int{names.String(): 50, projects.String(): 20, strings.Repeat(w.commit[:8]+" ", 25): 20} {
		if got := strings.Count(w.render(t, w.member, text, "open/hidden"), "href="); got != want {
			t.Errorf("%.20s…: %d links, not %d", text, got, want)
		}
	}
}

func TestAFileOfTheProjectIsLinkedByItsWholeAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	name := strings.Repeat("a", 32) + "/a.png"
	if got := w.render(t, w.stranger, "![a](/uploads/"+name+")", "open/tool"); !strings.HasPrefix(got, `<p><img src="https://forge.example/-/project/`) || !strings.Contains(got, "/uploads/"+name) {
		t.Error(got)
	}
	if got := w.render(t, w.stranger, "![a](/uploads/"+name+")", ""); got != `<p><img src="/uploads/`+name+`" alt="a"></p>` {
		t.Error(got)
	}
}

func TestATextIsRenderedOverTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.As(t, w.member)
	for _, tt := range []struct {
		params map[string]any
		status int
		body   string
	}{
		{map[string]any{"text": "*a* @stranger"}, 201, `{"html":"\u003cp\u003e\u003cem\u003ea\u003c/em\u003e @stranger\u003c/p\u003e\n"}`},
		{map[string]any{}, 400, `{"error":"text is missing"}`},
		{map[string]any{"text": "a", "project": "open/nothing"}, 404, `{"message":"404 Project Not Found"}`},
	} {
		in.Do(t, "POST", "/markdown", tt.params).Want(t, tt.status, tt.body)
	}
	w.As(t, w.stranger).Do(t, "POST", "/markdown", map[string]any{"text": "a", "project": "open/hidden"}).WantStatus(t, 404)
	w.Do(t, "POST", "/markdown", map[string]any{"text": "a"}).WantStatus(t, 401)
}
