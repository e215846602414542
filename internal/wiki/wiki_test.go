package wiki_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/wiki"
)

// fixture is a group and a project in it, with people of every role in both.
type fixture struct {
	*apptest.Instance
	house    *group.Group
	project  *project.Project
	root     *user.User
	stranger *user.User
	people   map[access.Role]*user.User
	at       string // the pages of the project

	happened func() []wiki.Event // since the last call
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...), people: map[access.Role]*user.User{}}
	w.happened = apptest.Heard[wiki.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		projecttest.Join(t, w.DB, w.project, u, role)
		grouptest.Join(t, w.DB, w.house, u, role)
		w.people[role] = u
	}
	w.at = fmt.Sprintf("/projects/%d/wikis", w.project.ID)
	return w
}

type object = map[string]any

// page is a page as the API shows it.
type page struct {
	Format      string  `json:"format"`
	Slug        string  `json:"slug"`
	Title       string  `json:"title"`
	Content     *string `json:"content"`
	Encoding    string  `json:"encoding"`
	FrontMatter object  `json:"front_matter"`
}

func (w *fixture) developer(t testing.TB) *httpapitest.Client {
	return w.As(t, w.people[access.Developer])
}

func (w *fixture) write(t testing.TB, title, content string) page {
	t.Helper()
	return httpapitest.JSON[page](t, w.developer(t).Do(t, "POST", w.at, object{"title": title, "content": content}).WantStatus(t, http.StatusCreated))
}

func TestPagesOfAWikiAreFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Do(t, "GET", w.at, nil).Want(t, http.StatusOK, "[]")
	w.Do(t, "GET", w.at+"/home", nil).Want(t, http.StatusNotFound, `{"message":"404 Wiki Page Not Found"}`)
	made := w.write(t, "docs/How to  build", "# Build\n")
	if made.Slug != "docs/How-to-build" || made.Title != "How to build" || made.Format != "markdown" || *made.Content != "# Build\n" || made.Encoding != "UTF-8" || made.FrontMatter == nil {
		t.Errorf("the page is %+v", made)
	}
	w.developer(t).Do(t, "POST", w.at, object{"title": "Zebra", "content": "z", "format": "asciidoc"}).WantStatus(t, http.StatusCreated)
	w.write(t, "apple", "a")
	w.Do(t, "GET", w.at, nil).Want(t, http.StatusOK, `[{"format":"markdown","slug":"apple","title":"apple"},`+
		`{"format":"markdown","slug":"docs/How-to-build","title":"How to build"},{"format":"asciidoc","slug":"Zebra","title":"Zebra"}]`)
	all := httpapitest.JSON[[]page](t, w.Do(t, "GET", w.at+"?with_content=true", nil).WantStatus(t, http.StatusOK))
	if len(all) != 3 || *all[0].Content != "a" || *all[1].Content != "# Build\n" || all[2].Encoding != "UTF-8" {
		t.Errorf("the pages are %+v", all)
	}
	got := httpapitest.JSON[page](t, w.Do(t, "GET", w.at+"/docs%2FHow-to-build", nil).WantStatus(t, http.StatusOK))
	if *got.Content != "# Build\n" {
		t.Errorf("the page says %q", *got.Content)
	}
	w.Do(t, "GET", w.at+"/docs%2Fhow-to-build", nil).WantStatus(t, http.StatusNotFound)
	got = httpapitest.JSON[page](t, w.Do(t, "GET", w.at+"/docs%2FHow-to-build?render_html=true", nil).WantStatus(t, http.StatusOK))
	if !strings.Contains(*got.Content, "<h1") {
		t.Errorf("as HTML the page is %q", *got.Content)
	}
	events := w.happened()
	if len(events) != 3 || events[0].Action != wiki.Created || events[0].Slug != "docs/How-to-build" || events[0].Title != "How to build" ||
		events[0].In.Kind != bus.OfProject || events[0].In.ID != w.project.ID || !events[0].By.Is(w.people[access.Developer].ID) {
		t.Errorf("told of %+v", events)
	}
}

func TestAPageChangesMovesAndGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dev := w.developer(t)
	w.write(t, "docs/a", "one")
	w.happened()
	update := func(slug string, change object) page {
		t.Helper()
		return httpapitest.JSON[page](t, dev.Do(t, "PUT", w.at+"/"+slug, change).WantStatus(t, http.StatusOK))
	}
	if got := update("docs%2Fa", object{"content": "two"}); got.Slug != "docs/a" || *got.Content != "two" {
		t.Errorf("it becomes %+v", got)
	}
	if got := update("docs%2Fa", object{"title": "b c"}); got.Slug != "docs/b-c" || *got.Content != "two" {
		t.Errorf("with another title it is %+v", got)
	}
	if got := update("docs%2Fb-c", object{"title": "/d", "content": "three"}); got.Slug != "d" || *got.Content != "three" {
		t.Errorf("at the top it is %+v", got)
	}
	if got := update("d", object{"format": "org"}); got.Slug != "d" || got.Format != "org" || *got.Content != "three" {
		t.Errorf("in another format it is %+v", got)
	}
	for slug, want := range map[string]int{"docs%2Fa": 404, "docs%2Fb-c": 404, "d": 200} {
		w.Do(t, "GET", w.at+"/"+slug, nil).WantStatus(t, want)
	}
	actions := []wiki.Action{}
	for _, e := range w.happened() {
		actions = append(actions, e.Action)
	}
	// A page that moves is another.
	if !slices.Equal(actions, []wiki.Action{wiki.Updated, wiki.Deleted, wiki.Created, wiki.Created, wiki.Deleted, wiki.Deleted, wiki.Created}) {
		t.Errorf("told of %v", actions)
	}
	log := w.log(t)
	for _, nothing := range []object{{"content": "three"}, {"title": "/d"}, {"content": "three", "title": "d", "format": "org"}} {
		if got := update("d", nothing); *got.Content != "three" {
			t.Errorf("what changes nothing makes it %+v", got)
		}
	}
	if after := w.log(t); len(after) != len(log) || len(w.happened()) != 0 {
		t.Errorf("what changes nothing is %q", after)
	}
	for _, said := range []string{"role-30 created page: a", "role-30 updated page: a", "role-30 moved page: b c"} {
		if !slices.Contains(log, said) {
			t.Errorf("no commit says %q: %q", said, log)
		}
	}
	w.As(t, w.people[access.Maintainer]).Do(t, "DELETE", w.at+"/d", nil).WantStatus(t, http.StatusNoContent)
	w.Do(t, "GET", w.at+"/d", nil).WantStatus(t, http.StatusNotFound)
	if events := w.happened(); len(events) != 1 || events[0].Action != wiki.Deleted || events[0].Slug != "d" {
		t.Errorf("told of %+v", events)
	}
	w.As(t, w.people[access.Maintainer]).Do(t, "DELETE", w.at+"/d", nil).Want(t, http.StatusNotFound, `{"message":"404 Wiki Page Not Found"}`)
	dev.Do(t, "PUT", w.at+"/d", object{"content": "x"}).Want(t, http.StatusNotFound, `{"message":"404 Wiki Page Not Found"}`)
	dev.Do(t, "PUT", w.at+"/d", object{}).
		Want(t, http.StatusBadRequest, `{"error":"content, title, format are missing, at least one parameter must be provided"}`)
}

// log is the messages of all commits of the project's wiki.
func (w *fixture) log(t testing.TB) []string {
	t.Helper()
	repo, tip := w.repo(t)
	commits, _, err := repo.Log(t.Context(), gitstore.LogQuery{From: []gitstore.OID{tip}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range commits {
		all = append(all, strings.TrimSpace(c.Message))
	}
	return all
}

func (w *fixture) repo(t testing.TB) (*gitstore.Repo, gitstore.OID) {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.DB, `select repository_id from wikis where project_id = $1`, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	repo, tip, err := w.Repositories.Tip(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return repo, tip
}

func TestAnOldVersionOfAPageIsRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", "one")
	_, old := w.repo(t)
	w.developer(t).Do(t, "PUT", w.at+"/a", object{"content": "two"}).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[page](t, w.Do(t, "GET", w.at+"/a?version="+string(old), nil).WantStatus(t, http.StatusOK)); *got.Content != "one" {
		t.Errorf("it said %q", *got.Content)
	}
	w.Do(t, "GET", w.at+"/a?version=0123456789012345678901234567890123456789", nil).WantStatus(t, http.StatusNotFound)
}

func TestWhatAPageMayNotBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dev := w.developer(t)
	w.write(t, "docs/Setup", "x")
	w.write(t, "other", "x")
	duplicate := `{"message":{"base":["Duplicate page: A page with that title already exists"]}}`
	for title, want := range map[string]string{
		"":                       `{"message":{"title":["can't be blank"]}}`,
		" / ":                    `{"message":{"title":["can't be blank"]}}`,
		strings.Repeat("é", 123): `{"message":{"title":["exceeds the limit of 245 bytes"]}}`,
		strings.Repeat("a", 256) + "/b": `{"message":{"title":["exceeds the limit of 255 bytes for directory name \"` +
			strings.Repeat("a", 256) + `\""]}}`,
		"../a":       `{"message":{"title":["is not a valid path"]}}`,
		"a/.git/b":   `{"message":{"title":["is not a valid path"]}}`,
		"uploads":    `{"message":{"title":["begins with uploads/, where the files are that pages link to"]}}`,
		"/uploads/a": `{"message":{"title":["begins with uploads/, where the files are that pages link to"]}}`,
		"docs/setup": duplicate,
		"docs/Setup": duplicate,
	} {
		dev.Do(t, "POST", w.at, object{"title": title, "content": "x"}).Want(t, http.StatusBadRequest, want)
	}
	dev.Do(t, "POST", w.at, object{"title": "docs/setup", "content": "x", "format": "org"}).Want(t, http.StatusBadRequest, duplicate)
	dev.Do(t, "PUT", w.at+"/other", object{"title": "docs/SETUP"}).Want(t, http.StatusBadRequest, duplicate)
	dev.Do(t, "PUT", w.at+"/other", object{"title": "OTHER"}).WantStatus(t, http.StatusOK)
	dev.Do(t, "POST", w.at, object{"content": "x"}).Want(t, http.StatusBadRequest, `{"error":"title is missing"}`)
	dev.Do(t, "POST", w.at, object{"title": "x"}).Want(t, http.StatusBadRequest, `{"error":"content is missing"}`)
	dev.Do(t, "POST", w.at, object{"title": "x", "content": "x", "format": "word"}).Want(t, http.StatusBadRequest, `{"error":"format does not have a valid value"}`)
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"wiki_page_max_content_bytes": 1024}).WantStatus(t, http.StatusOK)
	long := strings.Repeat("x", 1025)
	tooLong := `{"message":{"content":["is too long (1025 Bytes). The maximum size is 1024 Bytes."]}}`
	dev.Do(t, "POST", w.at, object{"title": "x", "content": long}).Want(t, http.StatusBadRequest, tooLong)
	dev.Do(t, "PUT", w.at+"/docs%2FSetup", object{"content": long}).Want(t, http.StatusBadRequest, tooLong)
	dev.Do(t, "POST", w.at, object{"title": "x", "content": long[1:]}).WantStatus(t, http.StatusCreated)
}

func TestAPageMayNameItselfBeforeItsText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := w.write(t, "a", "---\ntitle: The *first*\nn: 3\n---\nText\n")
	if made.Title != "The *first*" || made.FrontMatter["n"] != 3.0 || made.Slug != "a" {
		t.Errorf("the page is %+v", made)
	}
	got := httpapitest.JSON[page](t, w.Do(t, "GET", w.at+"/a?render_html=true", nil).WantStatus(t, http.StatusOK))
	if !strings.Contains(*got.Content, "Text") || strings.Contains(*got.Content, "title") {
		t.Errorf("as HTML it is %q", *got.Content)
	}
	for name, text := range map[string]string{
		"no end": "---\ntitle: x\n", "keys": "---\n? [1, 2]\n: 3\n---\n", "no number": "---\nn: .nan\n---\n", "no map": "---\n- 1\n---\n", "no YAML": "---\n\t:\n---\n",
		"an alias":  "---\na: &a {x: 1}\nb: *a\n---\n",
		"an anchor": "---\na: &a 1\n---\n",
		"many":      "---\na: [" + strings.Repeat("1, ", 600) + "1]\n---\n",
		"very long": "---\ntitle: x\nmore: " + strings.Repeat("y", 20<<10) + "\n---\n",
		"a bomb":    "---\na: &a [1,2,3,4,5,6,7,8,9]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\n",
	} {
		got := w.write(t, "page "+name, text)
		if got.Title != "page "+name || len(got.FrontMatter) != 0 || *got.Content != text {
			t.Errorf("%s: the page is %.300v", name, got)
		}
	}
}

func TestPE02_WhoUsesAWiki(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=premium")
	for _, at := range []string{w.at, fmt.Sprintf("/groups/%d/wikis", w.house.ID)} {
		w.As(t, w.root).Do(t, "POST", at, object{"title": "home", "content": "x"}).WantStatus(t, http.StatusCreated)
		for role, u := range w.people {
			c, n := w.As(t, u), fmt.Sprint(role)
			c.Do(t, "GET", at, nil).WantStatus(t, http.StatusOK)
			may := func(least access.Role, good int) int {
				if role >= least {
					return good
				}
				return http.StatusForbidden
			}
			c.Do(t, "POST", at, object{"title": n, "content": "x"}).WantStatus(t, may(access.Developer, http.StatusCreated))
			c.Do(t, "PUT", at+"/home", object{"content": n}).WantStatus(t, may(access.Developer, http.StatusOK))
			c.Upload(t, "POST", at+"/attachments", "file", "a.png", []byte("x")).WantStatus(t, may(access.Developer, http.StatusCreated))
			if role >= access.Developer {
				c.Do(t, "DELETE", at+"/"+n, nil).WantStatus(t, may(access.Maintainer, http.StatusNoContent))
			}
		}
		w.As(t, w.stranger).Do(t, "GET", at+"/home", nil).WantStatus(t, http.StatusOK)
		w.Do(t, "GET", at+"/home", nil).WantStatus(t, http.StatusOK)
		w.As(t, w.stranger).Do(t, "POST", at, object{"title": "x", "content": "x"}).WantStatus(t, http.StatusForbidden)
		w.Do(t, "POST", at, object{"title": "x", "content": "x"}).WantStatus(t, http.StatusUnauthorized)
	}
	for _, c := range []struct {
		set             string
		guest, stranger int
	}{{`visibility = 0`, 200, 404}, {`visibility = 20, features = '{"wiki":"private"}'`, 200, 403}, {`features = '{"wiki":"disabled"}'`, 403, 403}} {
		if _, err := w.DB.Exec(t.Context(), `update projects set `+c.set+` where id = $1`, w.project.ID); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{w.at, w.at + "/home", w.at + "/home?render_html=true"} {
			w.As(t, w.people[access.Guest]).Do(t, "GET", path, nil).WantStatus(t, c.guest)
			w.As(t, w.stranger).Do(t, "GET", path, nil).WantStatus(t, c.stranger)
		}
	}
}

func TestGroupsHaveNoWikiOnTheFreeTier(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=free")
	at := fmt.Sprintf("/groups/%d/wikis", w.house.ID)
	w.As(t, w.root).Do(t, "GET", at, nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.root).Do(t, "POST", at, object{"title": "x", "content": "x"}).WantStatus(t, http.StatusNotFound)
	root := access.Actor{Person: w.root.Person(), Account: w.root}
	if _, err := w.Wikis.GitTarget(t.Context(), root, owner.OfGroup(w.house), gitstore.UploadPack); err == nil {
		t.Error("git reaches it")
	}
	w.write(t, "home", "x")
}

func TestAFileIsAttachedToAWiki(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	got := httpapitest.JSON[struct {
		FileName string `json:"file_name"`
		FilePath string `json:"file_path"`
		Branch   string `json:"branch"`
		Link     struct{ URL, Markdown string }
	}](t, w.developer(t).Upload(t, "POST", w.at+"/attachments", "file", "../a b.png", []byte("picture")).WantStatus(t, http.StatusCreated))
	if got.FileName != "a_b.png" || !strings.HasPrefix(got.FilePath, "uploads/") || !strings.HasSuffix(got.FilePath, "/a_b.png") || len(got.FilePath) != len("uploads//a_b.png")+32 ||
		got.Branch != "main" || got.Link.URL != got.FilePath || got.Link.Markdown != "![a_b]("+got.FilePath+")" {
		t.Errorf("the file is %+v", got)
	}
	repo, tip := w.repo(t)
	entry, err := repo.Find(t.Context(), tip, got.FilePath)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := repo.Blob(t.Context(), entry.ID, 100); string(text) != "picture" || err != nil {
		t.Errorf("it holds %q, %v", text, err)
	}
	w.developer(t).Upload(t, "POST", w.at+"/attachments", "other", "a.png", nil).Want(t, http.StatusBadRequest, `{"error":"file is missing"}`)
	w.developer(t).Upload(t, "POST", w.at+"/attachments", "file", "notes.md", []byte("x")).WantStatus(t, http.StatusCreated)
	w.Do(t, "GET", w.at, nil).Want(t, http.StatusOK, "[]")
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"max_attachment_size": 1}).WantStatus(t, http.StatusOK)
	w.developer(t).Upload(t, "POST", w.at+"/attachments", "file", "a.png", make([]byte, 1<<20+1)).WantStatus(t, http.StatusRequestEntityTooLarge)
	w.developer(t).Upload(t, "POST", w.at+"/attachments", "file", "a.png", make([]byte, 1<<20)).WantStatus(t, http.StatusCreated)
	// A file is held in memory, whatever else files may be.
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"max_attachment_size": 100}).WantStatus(t, http.StatusOK)
	if most := w.Wikis.MaxAttachment(); most != 25<<20 {
		t.Errorf("a file may have %d bytes", most)
	}
}

func TestManyBeginAWikiAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var busy sync.WaitGroup
	var mu sync.Mutex
	made := 0
	dev := w.developer(t)
	for i := range 8 {
		busy.Go(func() {
			if r := dev.Do(t, "POST", w.at, object{"title": fmt.Sprint("page ", i), "content": "x"}); r.Status == http.StatusCreated {
				mu.Lock()
				made++
				mu.Unlock()
			}
		})
	}
	busy.Wait()
	if n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from text_repositories`); n != 1 || err != nil {
		t.Errorf("%d repositories: %v", n, err)
	}
	if pages := httpapitest.JSON[[]page](t, w.Do(t, "GET", w.at, nil)); len(pages) != made || made == 0 {
		t.Errorf("%d pages, %d were acknowledged", len(pages), made)
	}
}

func TestTheRepositoryOfAWikiGoesWithItsProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", "x")
	if _, err := w.DB.Exec(t.Context(), `delete from projects where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Repositories.RemoveTexts(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(w.Config.DataDir, "repositories", "@hashed", "*", "*", "*.git")); len(left) != 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestPE02_GitReachesAWikiForThoseWhoMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	actor := func(u *user.User) access.Actor { return access.Actor{Person: u.Person(), Account: u} }
	target := func(by access.Actor, service gitstore.Service) error {
		_, err := w.Wikis.GitTarget(t.Context(), by, owner.OfProject(projecttest.Read(t, w.DB, w.project.ID)), service)
		return err
	}
	if target(access.Actor{}, gitstore.UploadPack) == nil {
		t.Error("a wiki is made for somebody who only looks")
	}
	w.write(t, "a", "x")
	if err := target(access.Actor{}, gitstore.UploadPack); err != nil {
		t.Errorf("who may read it: %v", err)
	}
	if target(actor(w.stranger), gitstore.ReceivePack) == nil {
		t.Error("a stranger writes")
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set features = '{"wiki":"private"}' where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	if target(actor(w.stranger), gitstore.UploadPack) == nil {
		t.Error("a stranger reads the wiki of members")
	}
}

// What is pushed may be larger than what the API takes.
func TestDO04_APageThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", strings.Repeat("x", 2000))
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"wiki_page_max_content_bytes": 1024}).WantStatus(t, http.StatusOK)
	w.Do(t, "GET", w.at+"/a", nil).Want(t, http.StatusRequestEntityTooLarge,
		`{"message":"The page is larger than pages of a wiki may be. Clone the wiki to read it."}`)
	w.Do(t, "GET", w.at, nil).WantStatus(t, http.StatusOK)
}

// Each page may be smaller than what one answer holds, and all together larger.
func TestDO04_AllPagesTogetherHaveALimit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write(t, "a", "x")
	add := func(title string) {
		t.Helper()
		w.commit(t, gitstore.Change{Path: title + ".md", Content: bytes.Repeat([]byte("x"), 3<<20), Create: true})
	}
	add("b")
	add("c")
	w.Do(t, "GET", w.at+"?with_content=true", nil).WantStatus(t, http.StatusOK)
	add("d")
	w.Do(t, "GET", w.at+"?with_content=true", nil).
		Want(t, http.StatusRequestEntityTooLarge, `{"message":"The pages of this wiki are too large for one answer. Read them one by one."}`)
	if pages := httpapitest.JSON[[]page](t, w.Do(t, "GET", w.at, nil).WantStatus(t, http.StatusOK)); len(pages) != 4 {
		t.Errorf("without their content there are %d", len(pages))
	}
}

// What is pushed is bounded as what the API takes.
func TestDO04_APageThatIsTooLargeIsNotPushed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"wiki_page_max_content_bytes": 1024}).WantStatus(t, http.StatusOK)
	by := w.actor(access.Developer)
	p, err := w.Projects.Find(t.Context(), by, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	at, err := w.Wikis.GitTarget(t.Context(), by, owner.OfProject(p), gitstore.ReceivePack)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int64{"a.md": 1024, "docs/b.ASCIIDOC": 1024, "uploads/x/a.md": 0, "picture.png": 0, "": 0} {
		if got := at.MaxFile(file); got != want {
			t.Errorf("%q may have %d bytes, want %d", file, got, want)
		}
	}
}

func TestAPageListsItsHeadingsWhereItAsksForThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	shown := func(text string) string {
		t.Helper()
		w.write(t, "page", text)
		defer w.As(t, w.people[access.Maintainer]).Do(t, "DELETE", w.at+"/page", nil)
		r := httpapitest.JSON[struct{ Content string }](t, w.Do(t, "GET", w.at+"/page?render_html=true", nil).WantStatus(t, http.StatusOK))
		return regexp.MustCompile(`user-content-[0-9a-f]{8}-`).ReplaceAllString(r.Content, "")
	}
	const list = `<ul class="contents"><li><a href="#one">One</a><ul><li><a href="#two--more">Two &amp; more</a></li><li><a href="#three">Three</a></li></ul></li><li><a href="#four">Four</a></li></ul>`
	for _, mark := range []string{"[[_TOC_]]", "[TOC]"} {
		if got := shown(mark + "\n\n# One\n\n## *Two* & more\n\n## Three\n\n# Four\n\n" + mark); !strings.HasPrefix(got, list) || strings.Count(got, `class="contents"`) != 1 {
			t.Errorf("%s: %s", mark, got)
		}
	}
	if got := shown("# One\n\nsee `[[_TOC_]]` there"); strings.Contains(got, "contents") {
		t.Errorf("within a line: %s", got)
	}
	if got := shown("[[_TOC_]]\n\n### <script>alert(1)</script> \"x\"\n\n# b"); strings.Contains(got, "<script") || !strings.Contains(got, `class="contents"`) {
		t.Errorf("hostile: %s", got)
	}
	if got := shown("[[_TOC_]]\n\nno headings"); strings.Contains(got, "<ul") || strings.Contains(got, "TOC") {
		t.Errorf("without headings: %s", got)
	}
}
