package snippet_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/snippet"
	"stithy/internal/user"
)

func TestASnippetHasFilesAndAddresses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine := w.As(t, w.author)
	got := httpapitest.JSON[made](t, mine.With("User-Agent", "curl/8").Do(t, "POST", "/snippets", object{
		"title": "Notes", "description": "of *mine*", "files": []object{{"file_path": "b/c d.txt", "content": "two"}, {"file_path": "a.txt", "content": "one"}},
	}).WantStatus(t, http.StatusCreated))
	page := fmt.Sprintf("https://forge.example/-/snippets/%d", got.ID)
	switch {
	case got.Title != "Notes", got.Description == nil, *got.Description != "of *mine*", got.Visibility != "internal", got.ProjectID != nil,
		got.Author == nil, got.Author.ID != w.author.ID, got.WebURL != page, got.RawURL != page+"/raw", got.FileName != "a.txt",
		got.HTTPURLToRepo != fmt.Sprintf("https://forge.example/snippets/%d.git", got.ID), !strings.HasSuffix(got.SSHURLToRepo, fmt.Sprintf("snippets/%d.git", got.ID)),
		!slices.Equal(got.paths(), []string{"a.txt", "b/c d.txt"}), got.Files[1].RawURL != page+"/raw/main/b/c%20d.txt":
		t.Errorf("the snippet is %+v", got)
	}
	for path, want := range map[string]string{
		"/raw": "one", "/files/main/a.txt/raw": "one", "/files/main/b%2Fc%20d.txt/raw": "two", "/files/HEAD/a.txt/raw": "one",
	} {
		if r := mine.Do(t, "GET", got.path()+path, nil).WantStatus(t, http.StatusOK); r.Body != want || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s is %q, %s", path, r.Body, r.Header.Get("Content-Type"))
		}
	}
	for path, want := range map[string]string{
		"/files/other/a.txt/raw": "404 Reference Not Found", "/files/main/x/raw": "404 File Not Found", "/files/main/b/raw": "404 File Not Found",
		"/files/main/..%2Fa.txt/raw": "404 File Not Found",
	} {
		mine.Do(t, "GET", got.path()+path, nil).Want(t, http.StatusNotFound, `{"message":"`+want+`"}`)
	}
	agent := httpapitest.JSON[struct {
		UserAgent string `json:"user_agent"`
		IPAddress string `json:"ip_address"`
	}](t, w.As(t, w.root).Do(t, "GET", got.path()+"/user_agent_detail", nil).WantStatus(t, http.StatusOK))
	if agent.UserAgent != "curl/8" || agent.IPAddress == "" {
		t.Errorf("it was made with %+v", agent)
	}
	mine.Do(t, "GET", got.path()+"/user_agent_detail", nil).WantStatus(t, http.StatusForbidden)
	if events := w.happened(); len(events) != 1 || events[0].Action != snippet.Created || events[0].Snippet.ID != got.ID || !events[0].By.Is(w.author.ID) {
		t.Errorf("told of %+v", events)
	}

	in := w.create(t, w.people[access.Reporter], w.project, "public", "x.go")
	if in.ProjectID == nil || *in.ProjectID != w.project.ID || in.WebURL != fmt.Sprintf("https://forge.example/house/tool/-/snippets/%d", in.ID) ||
		in.HTTPURLToRepo != fmt.Sprintf("https://forge.example/house/tool/snippets/%d.git", in.ID) {
		t.Errorf("the snippet of a project is %+v", in)
	}
	if r := w.Do(t, "GET", in.path()+"/raw", nil).WantStatus(t, http.StatusOK); r.Body != "text of x.go\n" {
		t.Errorf("its first file is %q", r.Body)
	}
	if r := w.Do(t, "GET", in.path()+"/files/main/x.go/raw", nil).WantStatus(t, http.StatusOK); r.Body != "text of x.go\n" {
		t.Errorf("its file is %q", r.Body)
	}
}

// Whoever may read a snippet finds it by every way, and whoever may not by none.
func TestPE02_WhoReadsASnippet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.people[access.Reporter]
	private := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("private"), projecttest.Visible(access.Private))
	members := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("members"), projecttest.Visible(access.Public),
		projecttest.With("features", []byte(`{"snippets":"private"}`)))
	for _, p := range []*project.Project{private, members} {
		projecttest.Join(t, w.DB, p, reporter, access.Reporter)
		projecttest.Join(t, w.DB, p, w.people[access.Guest], access.Guest)
	}
	everyone := map[string]*user.User{
		"root": w.root, "author": w.author, "stranger": w.stranger, "external": w.external, "guest": w.people[access.Guest], "reporter": reporter, "nobody": nil,
	}
	signedIn := []string{"root", "author", "stranger", "guest", "reporter"}
	all := append([]string{"external", "nobody"}, signedIn...)
	for _, c := range []struct {
		of         *user.User
		in         *project.Project
		visibility string
		readers    []string
	}{
		{w.author, nil, "private", []string{"root", "author"}},
		{w.author, nil, "internal", signedIn},
		{w.author, nil, "public", all},
		{reporter, w.project, "private", []string{"root", "guest", "reporter"}},
		{reporter, w.project, "internal", signedIn},
		{reporter, w.project, "public", all},
		{reporter, private, "private", []string{"root", "guest", "reporter"}},
		{reporter, private, "internal", []string{"root", "guest", "reporter"}},
		{reporter, private, "public", []string{"root", "guest", "reporter"}},
		{reporter, members, "public", []string{"root", "guest", "reporter"}},
	} {
		one := w.create(t, c.of, c.in, c.visibility, "a.txt")
		for name, u := range everyone {
			client, may := w.Client, slices.Contains(c.readers, name)
			if u != nil {
				client = w.As(t, u)
			}
			ways := []string{fmt.Sprintf("/snippets/%d", one.ID), fmt.Sprintf("/snippets/%d/raw", one.ID), fmt.Sprintf("/snippets/%d/files/main/a.txt/raw", one.ID)}
			if c.in != nil {
				ways = append(ways, one.path(), one.path()+"/raw", one.path()+"/files/main/a.txt/raw")
			}
			for _, way := range ways {
				if got := client.Do(t, "GET", way, nil).Status; (got == http.StatusOK) != may || (!may && got != http.StatusNotFound && c.in != members) {
					t.Errorf("%s of %s: %s answers %d to %s", c.visibility, c.of.Username, way, got, name)
				}
			}
			if u == nil {
				continue
			}
			lists := map[string]bool{"/snippets/all": may, "/snippets": may && u == c.of, "/snippets/public": c.in == nil && c.visibility == "public"}
			if c.in != nil && client.Do(t, "GET", fmt.Sprintf("/projects/%d/snippets", c.in.ID), nil).Status == http.StatusOK {
				lists[fmt.Sprintf("/projects/%d/snippets", c.in.ID)] = may
			} else if c.in != nil && may {
				t.Errorf("%s may not list the snippets of %s", name, c.in.Path)
			}
			for list, want := range lists {
				rows := httpapitest.JSON[[]made](t, client.Do(t, "GET", list+"?per_page=100", nil).WantStatus(t, http.StatusOK))
				if got := slices.ContainsFunc(rows, func(m made) bool { return m.ID == one.ID }); got != want {
					t.Errorf("%s of %s: %s shows it to %s: %t", c.visibility, c.of.Username, list, name, got)
				}
			}
		}
	}
	for _, list := range []string{"/snippets", "/snippets/all", "/snippets/public", fmt.Sprintf("/projects/%d/snippets", w.project.ID)} {
		w.Do(t, "GET", list, nil).WantStatus(t, http.StatusUnauthorized)
	}
}

func TestSnippetsOfSomebodyBannedAreHidden(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one := w.create(t, w.author, nil, "public", "a.txt")
	exec(t, w, `update users set state = 'banned' where id = $1`, w.author.ID)
	w.As(t, w.stranger).Do(t, "GET", one.path(), nil).WantStatus(t, http.StatusNotFound)
	if rows := httpapitest.JSON[[]made](t, w.As(t, w.stranger).Do(t, "GET", "/snippets/all", nil)); len(rows) != 0 {
		t.Errorf("the list shows %v", rows)
	}
	w.As(t, w.root).Do(t, "GET", one.path(), nil).WantStatus(t, http.StatusOK)
	if rows := httpapitest.JSON[[]made](t, w.As(t, w.root).Do(t, "GET", "/snippets/all", nil)); len(rows) != 1 {
		t.Errorf("the administrator's list shows %v", rows)
	}
}

func exec(t testing.TB, w *fixture, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestPE07_ASwitchedOffFeatureHidesTheSnippetsOfAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.create(t, w.people[access.Reporter], w.project, "public", "a.txt")
	exec(t, w, `update projects set features = '{"snippets":"disabled"}' where id = $1`, w.project.ID)
	for _, u := range []*user.User{w.root, w.people[access.Owner]} {
		w.As(t, u).Do(t, "GET", in.path(), nil).WantStatus(t, http.StatusForbidden)
		w.As(t, u).Do(t, "GET", fmt.Sprintf("/projects/%d/snippets", w.project.ID), nil).WantStatus(t, http.StatusForbidden)
		w.As(t, u).Do(t, "GET", fmt.Sprintf("/snippets/%d", in.ID), nil).WantStatus(t, http.StatusNotFound)
		if rows := httpapitest.JSON[[]made](t, w.As(t, u).Do(t, "GET", "/snippets/all", nil)); len(rows) != 0 {
			t.Errorf("%s finds %v", u.Username, rows)
		}
	}
}

func TestPE02_WhoChangesASnippet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine := w.create(t, w.author, nil, "public", "a.txt")
	for _, u := range []*user.User{w.stranger, w.root} {
		w.As(t, u).Do(t, "PUT", mine.path(), object{"title": "Other"}).WantStatus(t, http.StatusNotFound)
		w.As(t, u).Do(t, "DELETE", mine.path(), nil).WantStatus(t, http.StatusNotFound)
	}
	w.Do(t, "PUT", mine.path(), object{"title": "Other"}).WantStatus(t, http.StatusUnauthorized)
	path := fmt.Sprintf("/projects/%d/snippets", w.project.ID)
	body := object{"title": "x", "visibility": "public", "files": []object{{"file_path": "a", "content": "x"}}}
	w.As(t, w.people[access.Guest]).Do(t, "POST", path, body).WantStatus(t, http.StatusForbidden)
	w.As(t, w.stranger).Do(t, "POST", path, body).WantStatus(t, http.StatusForbidden)
	w.As(t, w.external).Do(t, "POST", "/snippets", body).WantStatus(t, http.StatusForbidden)
	for role, want := range map[access.Role]int{access.Guest: 403, access.Reporter: 200, access.Developer: 403, access.Maintainer: 200, access.Owner: 200} {
		in := w.create(t, w.people[access.Reporter], w.project, "public", "a.txt")
		w.As(t, w.people[role]).Do(t, "PUT", in.path(), object{"title": "Other"}).WantStatus(t, want)
		deleted := http.StatusNoContent
		if want != http.StatusOK {
			deleted = want
		}
		w.As(t, w.people[role]).Do(t, "DELETE", in.path(), nil).WantStatus(t, deleted)
	}
	in := w.create(t, w.people[access.Reporter], w.project, "public", "a.txt")
	w.As(t, w.people[access.Maintainer]).Do(t, "PUT", fmt.Sprintf("/snippets/%d", in.ID), object{"title": "Other"}).WantStatus(t, http.StatusNotFound)
	w.As(t, w.people[access.Reporter]).Do(t, "PUT", fmt.Sprintf("/snippets/%d", in.ID), object{"title": "Other"}).WantStatus(t, http.StatusOK)
	other := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("other"), projecttest.Visible(access.Public))
	w.As(t, w.root).Do(t, "GET", fmt.Sprintf("/projects/%d/snippets/%d", other.ID, in.ID), nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	exec(t, w, `update projects set archived = true where id = $1`, w.project.ID)
	w.As(t, w.people[access.Owner]).Do(t, "PUT", in.path(), object{"title": "Other"}).WantStatus(t, http.StatusForbidden)
	w.As(t, w.people[access.Reporter]).Do(t, "DELETE", fmt.Sprintf("/snippets/%d", in.ID), nil).WantStatus(t, http.StatusNotFound)
}

func TestWhatASnippetMayNotBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine := w.As(t, w.author)
	file := []object{{"file_path": "a", "content": "x"}}
	eleven := []object{}
	for i := range 11 {
		eleven = append(eleven, object{"file_path": fmt.Sprint(i), "content": "x"})
	}
	for want, body := range map[string]object{
		`{"error":"files, content are missing, exactly one parameter must be provided"}`: {"title": "x"},
		`{"error":"files, content are mutually exclusive"}`:                              {"title": "x", "files": file, "content": "x", "file_name": "a"},
		`{"error":"file_name is missing"}`:                                               {"title": "x", "content": "x"},
		`{"error":"content is empty"}`:                                                   {"title": "x", "content": " ", "file_name": "a"},
		`{"error":"title is empty"}`:                                                     {"title": "", "files": file},
		`{"error":"title is missing, title is empty"}`:                                   {"files": file},
		`{"error":"files[0][file_path] should be a valid file path"}`:                    {"title": "x", "files": []object{{"file_path": "../a", "content": "x"}}},
		`{"error":"files[1][file_path] should be a valid file path"}`:                    {"title": "x", "files": []object{{"file_path": "a", "content": "x"}, {"file_path": ".git/x", "content": "x"}}},
		`{"message":{"error":"Title is too long (maximum is 255 characters)"}}`:          {"title": strings.Repeat("ü", 256), "files": file},
		`{"message":{"error":"Snippet files count can't exceed 10"}}`:                    {"title": "x", "files": eleven},
		`{"message":{"error":"a/b is a file and cannot be a folder, too"}}`:              {"title": "x", "files": []object{{"file_path": "a/b/c/d", "content": "x"}, {"file_path": "a/b", "content": "y"}}},
		`{"message":{"error":"A file with this name already exists"}}`:                   {"title": "x", "files": []object{{"file_path": "a", "content": "x"}, {"file_path": "a", "content": "y"}}},
	} {
		mine.Do(t, "POST", "/snippets", body).Want(t, http.StatusBadRequest, want)
	}
	w.As(t, w.people[access.Reporter]).Do(t, "POST", fmt.Sprintf("/projects/%d/snippets", w.project.ID), object{"title": "x", "files": file}).
		Want(t, http.StatusBadRequest, `{"error":"visibility is missing"}`)
	if rows := httpapitest.JSON[[]made](t, mine.Do(t, "GET", "/snippets", nil)); len(rows) != 0 {
		t.Errorf("a refusal left %v", rows)
	}
	before := w.create(t, w.author, nil, "private", "a.txt")
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"restricted_visibility_levels": []string{"public"}, "snippet_size_limit": 10}).WantStatus(t, http.StatusOK)
	mine.Do(t, "POST", "/snippets", object{"title": "x", "visibility": "public", "files": file}).
		Want(t, http.StatusForbidden, `{"message":{"error":"Visibility level public has been restricted by your Svc administrator"}}`)
	mine.Do(t, "POST", "/snippets", object{"title": "x", "files": []object{{"file_path": "a", "content": "12345678901"}}}).
		Want(t, http.StatusBadRequest, `{"message":{"error":"Content is too long (11 Bytes). The maximum size is 10 Bytes."}}`)
	mine.Do(t, "PUT", before.path(), object{"visibility": "public"}).WantStatus(t, http.StatusForbidden)
	w.As(t, w.root).Do(t, "POST", "/snippets", object{"title": "x", "visibility": "public", "files": file}).WantStatus(t, http.StatusCreated)
}

func TestFilesOfASnippetChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine := w.As(t, w.author)
	in := w.create(t, w.author, nil, "private", "a.txt", "b.txt")
	w.happened()
	w.Turn(time.Hour)
	got := httpapitest.JSON[made](t, mine.Do(t, "PUT", in.path(), object{"description": "new", "files": []object{
		{"action": "update", "file_path": "a.txt", "content": "changed"}, {"action": "create", "file_path": "c/d.txt", "content": "made"},
		{"action": "move", "previous_path": "b.txt", "file_path": "e.txt"},
	}}).WantStatus(t, http.StatusOK))
	if !slices.Equal(got.paths(), []string{"a.txt", "c/d.txt", "e.txt"}) || got.Description == nil || *got.Description != "new" || got.UpdatedAt == in.UpdatedAt {
		t.Errorf("the snippet becomes %+v", got)
	}
	for path, want := range map[string]string{"a.txt": "changed", "c%2Fd.txt": "made", "e.txt": "text of b.txt\n"} {
		if r := mine.Do(t, "GET", in.path()+"/files/main/"+path+"/raw", nil).WantStatus(t, http.StatusOK); r.Body != want {
			t.Errorf("%s holds %q", path, r.Body)
		}
	}
	if events := w.happened(); len(events) != 2 || events[0].Action != snippet.Updated || events[1].Action != snippet.Updated {
		t.Errorf("told of %+v", events)
	}
	const bad = `{"message":{"error":"Snippet actions have invalid data"}}`
	for name, edit := range map[string]object{
		"no content": {"action": "update", "file_path": "a.txt"}, "no path": {"action": "delete"}, "no former path": {"action": "move", "file_path": "x"},
		"the same path": {"action": "move", "file_path": "a.txt", "previous_path": "a.txt"}, "nothing to create": {"action": "create", "file_path": "x"},
		"nothing to change": {"action": "update", "content": "x"},
	} {
		t.Log(name)
		mine.Do(t, "PUT", in.path(), object{"files": []object{edit}}).Want(t, http.StatusUnprocessableEntity, bad)
	}
	for want, edits := range map[string][]object{
		"A file with this name doesn't exist":                                        {{"action": "update", "file_path": "x", "content": "x"}},
		"A file with this name already exists":                                       {{"action": "create", "file_path": "a.txt", "content": "x"}},
		"This repository must hold at least one file.":                               {{"action": "delete", "file_path": "a.txt"}, {"action": "delete", "file_path": "c/d.txt"}, {"action": "delete", "file_path": "e.txt"}},
		"This repository holds 10 files at the most.":                                nil,
		"To update Snippets with multiple files, you must use the `files` parameter": {},
	} {
		body := object{"title": "Never", "files": edits}
		if edits == nil {
			edits = []object{}
			for i := range 8 {
				edits = append(edits, object{"action": "create", "file_path": fmt.Sprint("n", i), "content": "x"})
			}
			body["files"] = edits
		} else if len(edits) == 0 {
			body = object{"title": "Never", "content": "x"}
		}
		mine.Do(t, "PUT", in.path(), body).Want(t, http.StatusBadRequest, `{"message":{"error":"`+want+`"}}`)
	}
	if got := httpapitest.JSON[made](t, mine.Do(t, "GET", in.path(), nil)); got.Title == "Never" || len(got.Files) != 3 {
		t.Errorf("a refusal left %+v", got)
	}
	mine.Do(t, "PUT", in.path(), object{}).
		Want(t, http.StatusBadRequest, `{"error":"content, description, files, file_name, title, visibility are missing, at least one parameter must be provided"}`)
	one := w.create(t, w.author, nil, "private", "a.txt")
	got = httpapitest.JSON[made](t, mine.Do(t, "PUT", one.path(), object{"content": "new", "file_name": "z.txt"}).WantStatus(t, http.StatusOK))
	if r := mine.Do(t, "GET", one.path()+"/raw", nil).WantStatus(t, http.StatusOK); r.Body != "new" || got.FileName != "z.txt" {
		t.Errorf("the only file of %+v is %q", got, r.Body)
	}
	mine.Do(t, "PUT", one.path(), object{"content": "newer"}).WantStatus(t, http.StatusOK)
	if r := mine.Do(t, "GET", one.path()+"/raw", nil).WantStatus(t, http.StatusOK); r.Body != "newer" {
		t.Errorf("the only file is %q", r.Body)
	}
	got = httpapitest.JSON[made](t, mine.Do(t, "PUT", one.path(), object{"file_name": "y.txt"}).WantStatus(t, http.StatusOK))
	if r := mine.Do(t, "GET", one.path()+"/raw", nil).WantStatus(t, http.StatusOK); r.Body != "newer" || got.FileName != "y.txt" {
		t.Errorf("the renamed file of %+v is %q", got, r.Body)
	}
}

func TestASnippetWhoseFilesNeverCameIsHiddenAndSwept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one := w.create(t, w.author, nil, "public", "a.txt")
	kept := w.create(t, w.author, nil, "public", "a.txt")
	exec(t, w, `update snippets set ready = false where id = $1`, one.ID)
	w.As(t, w.author).Do(t, "GET", one.path(), nil).WantStatus(t, http.StatusNotFound)
	if rows := httpapitest.JSON[[]made](t, w.As(t, w.author).Do(t, "GET", "/snippets", nil)); len(rows) != 1 || rows[0].ID != kept.ID {
		t.Errorf("the list shows %v", rows)
	}
	sweep := func(want int) {
		t.Helper()
		if err := w.Snippets.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from snippets`); n != want || err != nil {
			t.Errorf("%d snippets are left: %v", n, err)
		}
	}
	w.Turn(59 * time.Minute)
	sweep(2)
	w.Turn(2 * time.Minute)
	sweep(1)
}

func TestARepositoryGoesWithItsSnippet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dirs := func() int {
		found, err := filepath.Glob(filepath.Join(w.Config.DataDir, "repositories", "@hashed", "*", "*", "*.git"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	rows := func() int {
		n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from text_repositories`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	kept := w.create(t, w.author, nil, "public", "a.txt")
	gone := w.create(t, w.author, nil, "public", "a.txt")
	inProject := w.create(t, w.people[access.Reporter], w.project, "public", "a.txt")
	if dirs() != 3 || rows() != 3 {
		t.Fatalf("%d repositories, %d rows", dirs(), rows())
	}
	w.As(t, w.author).Do(t, "DELETE", gone.path(), nil).WantStatus(t, http.StatusNoContent)
	w.As(t, w.author).Do(t, "GET", gone.path(), nil).WantStatus(t, http.StatusNotFound)
	exec(t, w, `delete from projects where id = $1`, w.project.ID)
	w.As(t, w.root).Do(t, "GET", fmt.Sprintf("/snippets/%d", inProject.ID), nil).WantStatus(t, http.StatusNotFound)
	for range 2 { // it may run again
		if err := w.Repositories.RemoveTexts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if dirs() != 1 || rows() != 1 {
			t.Errorf("%d repositories and %d rows are left", dirs(), rows())
		}
	}
	if r := w.Do(t, "GET", kept.path()+"/raw", nil).WantStatus(t, http.StatusOK); r.Body != "text of a.txt\n" {
		t.Errorf("the one that is kept holds %q", r.Body)
	}
}

func TestSnippetsOfAnAccountThatIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.people[access.Reporter]
	own, in := w.create(t, reporter, nil, "public", "a.txt"), w.create(t, reporter, w.project, "public", "a.txt")
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.Snippets.OnUserRemoving(t.Context(), tx, user.Removing{UserID: reporter.ID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from users where id = $1`, reporter.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Do(t, "GET", own.path(), nil).WantStatus(t, http.StatusNotFound)
	if got := httpapitest.JSON[made](t, w.Do(t, "GET", in.path(), nil).WantStatus(t, http.StatusOK)); got.Author != nil {
		t.Errorf("the author is %v", got.Author)
	}
}

func TestNoSnippetComesToBeInAProjectThatIsAboutToGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := access.Actor{Person: w.people[access.Owner].Person()}
	p, err := w.Projects.Find(t.Context(), by, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, w, `update projects set removal = true where id = $1`, p.ID)
	_, err = w.Snippets.Create(t.Context(), by, p, snippet.Draft{Title: "late", Files: []snippet.File{{Action: snippet.Create, Path: "a", Content: new("x")}}})
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	for _, table := range []string{"snippets", "text_repositories"} {
		if n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from `+table); n != 0 || err != nil {
			t.Errorf("%s has %d rows: %v", table, n, err)
		}
	}
}

// Of what a client says of itself as much is kept as shows who it is.
func TestDO05_ALongNameOfAClientIsCut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	got := httpapitest.JSON[made](t, w.As(t, w.author).With("User-Agent", "curl/8 "+strings.Repeat("x", 2000)).
		Do(t, "POST", "/snippets", object{"title": "x", "files": []object{{"file_path": "a", "content": "x"}}}).WantStatus(t, http.StatusCreated))
	if agent, err := w.Snippets.Agent(t.Context(), got.ID); err != nil || agent.UserAgent != "curl/8 "+strings.Repeat("x", 993) {
		t.Errorf("%d characters are kept: %v", len(agent.UserAgent), err)
	}
}

// The token of a job has no rights on the whole instance in projects that are not its own, whoever runs the job.
func TestPE02_AJobOfAnAdministratorReadsWhatAProjectShowsToAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job := access.Actor{Person: w.root.Person(), Account: w.root, Credential: access.Credential{Kind: access.JobToken, ID: 999_999}}
	person := access.Actor{Person: w.root.Person(), Account: w.root}
	for visibility, may := range map[string]bool{"private": false, "internal": true, "public": true} {
		one := w.create(t, w.people[access.Reporter], w.project, visibility, "a.txt")
		if _, err := w.Snippets.Find(t.Context(), job, one.ID); may != (err == nil) || !may && !fault.Is(err, fault.NotFound) {
			t.Errorf("a job of an administrator reads a %s one: %v", visibility, err)
		}
		if _, err := w.Snippets.Find(t.Context(), person, one.ID); err != nil {
			t.Errorf("an administrator reads a %s one: %v", visibility, err)
		}
	}
}

func TestListsOfSnippetsGoByTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var ids []int64
	for range 3 {
		ids = append(ids, w.create(t, w.author, nil, "public", "a.txt").ID)
		w.Turn(time.Hour)
	}
	slices.Reverse(ids)
	first := w.As(t, w.author).Do(t, "GET", "/snippets?per_page=2", nil)
	if first.Header.Get("X-Next-Page") != "2" || first.Header.Get("X-Total") != "3" {
		t.Errorf("the first page has %v", first.Header)
	}
	for query, want := range map[string][]int64{
		"": ids, "?created_after=2024-05-02T16:00:00Z": ids[:2], "?created_before=2024-05-02T16:30:00Z": ids[1:], "?per_page=1&page=2": ids[1:2],
	} {
		var got []int64
		for _, m := range httpapitest.JSON[[]made](t, w.As(t, w.author).Do(t, "GET", "/snippets"+query, nil).WantStatus(t, http.StatusOK)) {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
}

// A list that shows what one page of it may hold agrees with what MayRead says of each.
func TestPE08_ListsSayWhatMayReadSays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, v := range []string{"private", "internal", "public"} {
		w.create(t, w.author, nil, v, "a")
		w.create(t, w.people[access.Reporter], w.project, v, "a")
	}
	for _, features := range []string{`{}`, `{"snippets":"private"}`, `{"snippets":"disabled"}`} {
		for _, visibility := range []access.Visibility{access.Private, access.Internal, access.Public} {
			exec(t, w, `update projects set features = $2, visibility = $3 where id = $1`, w.project.ID, features, visibility)
			for _, u := range []*user.User{w.root, w.author, w.stranger, w.external, w.people[access.Guest], w.people[access.Reporter]} {
				by := access.Actor{Person: u.Person(), Account: u}
				page, err := w.Snippets.List(t.Context(), by, snippet.Filter{}, paging.Request{Page: 1, PerPage: 100})
				if err != nil {
					t.Fatal(err)
				}
				for id := int64(1); id <= 6; id++ {
					_, err := w.Snippets.Find(t.Context(), by, id)
					if listed := slices.ContainsFunc(page.Items, func(s snippet.Snippet) bool { return s.ID == id }); listed != (err == nil) {
						t.Errorf("%s, %v: %d is listed for %s: %t, found: %v", features, visibility, id, u.Username, listed, err)
					}
				}
			}
		}
	}
}

func TestPE02_TheRepositoryOfASnippetIsForThoseWhoMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one := w.create(t, w.author, nil, "internal", "a.txt")
	actor := func(u *user.User) access.Actor { return access.Actor{Person: u.Person(), Account: u} }
	if at, err := w.Snippets.GitTarget(t.Context(), actor(w.author), one.ID, gitstore.ReceivePack); err != nil || at.ID == 0 || at.MaxSize != 52428800 || at.Path != fmt.Sprintf("snippets/%d", one.ID) {
		t.Errorf("the author is given %+v, %v", at, err)
	}
	if _, err := w.Snippets.GitTarget(t.Context(), actor(w.stranger), one.ID, gitstore.UploadPack); err != nil {
		t.Errorf("who may read it: %v", err)
	}
	if _, err := w.Snippets.GitTarget(t.Context(), actor(w.stranger), one.ID, gitstore.ReceivePack); err == nil {
		t.Error("who may read it writes")
	}
	if _, err := w.Snippets.GitTarget(t.Context(), actor(w.external), one.ID, gitstore.UploadPack); err == nil {
		t.Error("who may not read it does")
	}
}
