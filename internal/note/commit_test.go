package note_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/repository/repositorytest"
)

// comment is a note about a commit as the older API shows it.
type comment struct {
	Note     string              `json:"note"`
	Path     *string             `json:"path"`
	Line     *int                `json:"line"`
	LineType *string             `json:"line_type"`
	Author   *struct{ ID int64 } `json:"author"`
}

// changed is a commit that changes a file, renames one and brings a picture, with its parent.
func (w *fixture) changed(t testing.TB) (of thing, parent, sha string) {
	t.Helper()
	long := strings.Repeat("the same line\n", 20)
	repo := repositorytest.New(t, w.DB, w.Store, w.project, repositorytest.Files{"a.txt": "one\ntwo\nthree\n", "old.txt": long + "last\n", "gone.txt": "x\n"})
	ref, err := repo.Ref(t.Context(), gitstore.Branches+"main")
	if err != nil {
		t.Fatal(err)
	}
	id := repositorytest.Commit(t, repo, "main", "Change", repositorytest.Files{
		"a.txt": "one\n2\nthree\nfour\n", "new.txt": long + "lost\n", "old.txt": "", "gone.txt": "", "pic.png": "\x89PNG\x00\x01\x02",
	})
	return thing{"Commit", 0, fmt.Sprintf("/projects/%d/repository/commits/%s", w.project.ID, id)}, string(ref.Target), string(id)
}

func TestADiscussionBeginsAtAPartOfTheDiffOfACommit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of, parent, sha := w.changed(t)
	at := func(more map[string]any) map[string]any {
		p := map[string]any{"base_sha": parent, "start_sha": parent, "head_sha": sha, "position_type": "text", "old_path": "a.txt", "new_path": "a.txt"}
		maps.Copy(p, more)
		return map[string]any{"body": "here", "position": p}
	}
	for name, in := range map[string]map[string]any{
		"a line that came":         {"new_line": 2},
		"the last line":            {"new_line": 4},
		"a line that went":         {"old_line": 2},
		"a line that stayed":       {"old_line": 1, "new_line": 1},
		"a line that moved on":     {"old_line": 3, "new_line": 3},
		"without the old path":     {"new_line": 2, "old_path": ""},
		"without the new path":     {"old_line": 2, "new_path": ""},
		"a file with another name": {"new_line": 21, "old_path": "old.txt", "new_path": "new.txt"},
		"a file that is gone":      {"old_line": 1, "old_path": "gone.txt", "new_path": "gone.txt"},
		"a picture":                {"position_type": "image", "old_path": "pic.png", "new_path": "pic.png", "width": 40, "height": 30, "x": 1.5, "y": 0},
		"a file":                   {"position_type": "file"},
	} {
		begun := httpapitest.JSON[discussion](t, w.As(t, w.stranger).Do(t, "POST", of.Path+"/discussions", at(in)).WantStatus(t, http.StatusCreated))
		n := begun.Notes[0]
		if begun.Individual || *n.Type != "DiffNote" || n.Position == nil || n.Position.BaseSHA != parent || n.Position.StartSHA != parent || n.Position.HeadSHA != sha {
			t.Fatalf("%s: begun is %+v", name, begun)
		}
		number := func(name string) *int {
			if v, given := in[name].(int); given {
				return &v
			}
			return nil
		}
		for what, pair := range map[string][2]*int{
			"old line": {n.Position.OldLine, number("old_line")}, "new line": {n.Position.NewLine, number("new_line")}, "width": {n.Position.Width, number("width")},
		} {
			if got, want := pair[0], pair[1]; (got == nil) != (want == nil) || (got != nil && *got != *want) {
				t.Errorf("%s: the %s is %v", name, what, got)
			}
		}
		path := "a.txt"
		if given, _ := in["new_path"].(string); given != "" {
			path = given
		}
		if n.Position.NewPath != path || n.Position.OldPath == "" {
			t.Errorf("%s: it is in %+v", name, n.Position)
		}
	}
	if n := w.beginAt(t, of, at(map[string]any{"position_type": "image", "old_path": "pic.png", "new_path": "pic.png", "width": 40, "height": 30, "x": 1.5, "y": 0})); *n.Position.X != 1.5 {
		t.Errorf("the picture is %+v", n.Position)
	}
	noLine := `{"message":"400 Bad request - Note {:line_code=\u003e[\"can't be blank\", \"must be a valid line code\"]}"}`
	incomplete := `{"message":"400 Bad request - Note {:position=\u003e[\"is incomplete\"]}"}`
	mismatch := `{"message":"400 Bad request - Note {:commit_id=\u003e[\"does not match the diff refs\"]}"}`
	for name, tt := range map[string]struct {
		in   map[string]any
		want string
	}{
		"a line that is not there":        {map[string]any{"new_line": 9}, noLine},
		"half of a line that stayed":      {map[string]any{"new_line": 1}, noLine},
		"the other half":                  {map[string]any{"old_line": 3}, noLine},
		"two lines":                       {map[string]any{"old_line": 2, "new_line": 2}, noLine},
		"no number":                       {map[string]any{"new_line": 0}, noLine},
		"a file that did not change":      {map[string]any{"new_line": 2, "new_path": "b.txt", "old_path": "b.txt"}, noLine},
		"the name of another file":        {map[string]any{"new_line": 21, "new_path": "new.txt"}, noLine},
		"a file that is not there":        {map[string]any{"position_type": "file", "new_path": "b.txt", "old_path": "b.txt"}, noLine},
		"a line of a picture":             {map[string]any{"new_line": 1, "new_path": "pic.png", "old_path": "pic.png"}, noLine},
		"no line":                         {nil, incomplete},
		"no file":                         {map[string]any{"new_line": 2, "new_path": "", "old_path": ""}, incomplete},
		"no point of a picture":           {map[string]any{"position_type": "image", "new_path": "pic.png", "old_path": "pic.png", "width": 40, "height": 30}, incomplete},
		"a point outside":                 {map[string]any{"position_type": "image", "new_path": "pic.png", "old_path": "pic.png", "width": 40, "height": 30, "x": -1, "y": 0}, incomplete},
		"another commit":                  {map[string]any{"new_line": 2, "head_sha": parent}, mismatch},
		"another parent":                  {map[string]any{"new_line": 2, "base_sha": sha}, mismatch},
		"another start":                   {map[string]any{"new_line": 2, "start_sha": sha}, mismatch},
		"commits that are not named":      {map[string]any{"new_line": 2, "base_sha": "", "start_sha": "", "head_sha": ""}, `{"error":"position[base_sha] is missing, position[start_sha] is missing, position[head_sha] is missing"}`},
		"no type":                         {map[string]any{"new_line": 2, "position_type": ""}, `{"error":"position is invalid, position[position_type] is missing"}`},
		"a type that there is not":        {map[string]any{"new_line": 2, "position_type": "sound"}, `{"error":"position is invalid"}`},
		"a line that is no number at all": {map[string]any{"new_line": "two"}, `{"error":"position is invalid"}`},
	} {
		t.Run(name, func(t *testing.T) {
			w.As(t, w.stranger).Do(t, "POST", of.Path+"/discussions", at(tt.in)).Want(t, http.StatusBadRequest, tt.want)
		})
	}
	w.reporter(t).Do(t, "POST", of.Path+"/discussions", map[string]any{"body": "x", "position": "here"}).WantStatus(t, http.StatusBadRequest)
	w.reporter(t).Do(t, "POST", of.Path+"/discussions", map[string]any{"body": "x", "position": map[string]any{"base_sha": parent, "start_sha": parent, "head_sha": sha}}).
		Want(t, http.StatusBadRequest, `{"error":"position[position_type] is missing"}`)
	// No other thing takes a position: it is not looked at there.
	if d := httpapitest.JSON[discussion](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions", at(map[string]any{"new_line": 2})).WantStatus(t, http.StatusCreated)); d.Notes[0].Position != nil {
		t.Errorf("the issue has %+v", d.Notes[0].Position)
	}
}

// beginAt begins a discussion and returns what was said.
func (w *fixture) beginAt(t testing.TB, of thing, params map[string]any) said {
	t.Helper()
	return httpapitest.JSON[discussion](t, w.reporter(t).Do(t, "POST", of.Path+"/discussions", params).WantStatus(t, http.StatusCreated)).Notes[0]
}

func TestAReplyIsAboutTheSamePartOfTheDiff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.push(t, w.project)
	sha := of.Path[strings.LastIndex(of.Path, "/")+1:]
	zero := string(gitstore.Zero) // what the first commit is compared with
	begun := httpapitest.JSON[discussion](t, w.reporter(t).Do(t, "POST", of.Path+"/discussions", map[string]any{"body": "Why?", "position": map[string]any{
		"base_sha": zero, "start_sha": zero, "head_sha": sha, "position_type": "text", "new_path": "a.txt", "new_line": 3,
	}}).WantStatus(t, http.StatusCreated))
	w.Turn(time.Minute)
	one := of.Path + "/discussions/" + begun.ID
	reply := httpapitest.JSON[said](t, w.As(t, w.stranger).Do(t, "POST", one+"/notes", says("Because.")).WantStatus(t, http.StatusCreated))
	if reply.Position == nil || *reply.Type != "DiffNote" || reply.Position.BaseSHA != zero || reply.Position.NewPath != "a.txt" || *reply.Position.NewLine != 3 {
		t.Errorf("the reply is %+v", reply)
	}
	changed := httpapitest.JSON[said](t, w.As(t, w.stranger).Do(t, "PUT", fmt.Sprintf("%s/notes/%d", one, reply.ID), says("It must.")).WantStatus(t, http.StatusOK))
	if changed.Position == nil || changed.Body != "It must." {
		t.Errorf("changed is %+v", changed)
	}
	all := httpapitest.JSON[[]comment](t, w.Client.Do(t, "GET", of.Path+"/comments", nil).WantStatus(t, http.StatusOK))
	if len(all) != 2 || all[1].Note != "It must." || *all[1].Path != "a.txt" || *all[1].Line != 3 || *all[1].LineType != "new" {
		t.Errorf("the comments are %+v", all)
	}
}

func TestACommitIsCommentedOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of, _, _ := w.changed(t)
	at := of.Path + "/comments"
	stranger := w.As(t, w.stranger)
	w.Client.Do(t, "POST", at, `{"note":"x"}`).Want(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	for body, want := range map[string]string{
		`{"note":" "}`:            `{"message":{"note":["can't be blank"]}}`,
		`{}`:                      `{"error":"note is missing"}`,
		`{"note":"x","path":"a"}`: `{"error":"line is missing, line_type is missing"}`,
		`{"note":"x","path":"a","line":1,"line_type":"middle"}`: `{"error":"line_type does not have a valid value"}`,
		`{"note":"x","path":"../a","line":1,"line_type":"new"}`: `{"error":"path should be a valid file path"}`,
		`{"note":"` + strings.Repeat("x", 1_000_001) + `"}`:     `{"message":{"note":["is too long (maximum is 1000000 characters)"]}}`,
	} {
		stranger.Do(t, "POST", at, body).Want(t, http.StatusBadRequest, want)
	}
	for _, tt := range []struct {
		path, kind string
		line       int
		individual bool // the diff does not show the line
		old        string
	}{
		{"a.txt", "new", 2, false, "a.txt"}, {"a.txt", "old", 2, false, "a.txt"}, {"a.txt", "new", 1, true, ""}, {"a.txt", "old", 4, true, ""}, {"b.txt", "new", 1, true, ""},
		{"new.txt", "new", 21, false, "old.txt"}, {"gone.txt", "old", 1, false, "gone.txt"}, {"old.txt", "new", 21, true, ""}, {"a.txt", "new", -1, true, ""},
	} {
		name := fmt.Sprintf("%s %s %d", tt.path, tt.kind, tt.line)
		w.Turn(time.Minute)
		made := httpapitest.JSON[comment](t, stranger.Do(t, "POST", at, map[string]any{"note": name, "path": tt.path, "line": tt.line, "line_type": tt.kind}).WantStatus(t, http.StatusCreated))
		if made.Note != name || *made.Path != tt.path || *made.Line != tt.line || *made.LineType != tt.kind || made.Author.ID != w.stranger.ID {
			t.Errorf("%s: made is %+v", name, made)
		}
		all := httpapitest.JSON[[]discussion](t, stranger.Do(t, "GET", of.Path+"/discussions?per_page=100", nil))
		last := all[len(all)-1]
		if last.Individual != tt.individual || (last.Notes[0].Position == nil) != tt.individual || last.Notes[0].Body != name {
			t.Errorf("%s: discussed is %+v", name, last)
		}
		if tt.individual {
			stranger.Do(t, "POST", of.Path+"/discussions/"+last.ID+"/notes", says("x")).WantStatus(t, http.StatusBadRequest)
		} else if p := last.Notes[0].Position; p.OldPath != tt.old || p.NewPath != tt.path {
			t.Errorf("%s: it is in %+v", name, p)
		}
	}
	w.Turn(time.Minute)
	if made := httpapitest.JSON[comment](t, stranger.Do(t, "POST", at, map[string]any{"note": "Well done"}).WantStatus(t, http.StatusCreated)); made.Path != nil || made.Line != nil || made.LineType != nil {
		t.Errorf("made is %+v", made)
	}
	w.discuss(t, w.people[access.Reporter], of, "A thread")
	list := w.Client.Do(t, "GET", at+"?per_page=2&page=5", nil).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[[]comment](t, list); len(got) != 2 || got[1].Note != "Well done" || list.Header.Get("X-Total") != "11" {
		t.Errorf("the last ones are %+v of %s", got, list.Header.Get("X-Total"))
	}
	if _, err := w.DB.Exec(t.Context(), `update users set state = 'banned' where id = $1`, w.stranger.ID); err != nil {
		t.Fatal(err)
	}
	if got := httpapitest.JSON[[]comment](t, w.Client.Do(t, "GET", at, nil)); len(got) != 1 || got[0].Note != "A thread" {
		t.Errorf("without who is banned there are %+v", got)
	}
}
