package note_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/note"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
)

func says(text string) map[string]any { return map[string]any{"body": text} }

func TestWhatIsSaidToEachOtherIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t) {
		begun := w.discuss(t, w.stranger, of, "Why?")
		first := begun.Notes[0]
		if len(begun.ID) != 40 || begun.Individual || len(begun.Notes) != 1 || *first.Type != "DiscussionNote" || first.Author.ID != w.stranger.ID ||
			first.NoteableType != of.Name || first.NoteableID != of.ID || first.ProjectID != w.project.ID || first.Resolvable || first.Position != nil {
			t.Errorf("%s: begun is %+v", of.Name, begun)
		}
		w.Turn(time.Minute)
		one := of.Path + "/discussions/" + begun.ID
		reply := httpapitest.JSON[said](t, w.reporter(t).Do(t, "POST", one+"/notes", says("Because.")).WantStatus(t, http.StatusCreated))
		list := w.As(t, w.stranger).Do(t, "GET", of.Path+"/discussions", nil).WantStatus(t, http.StatusOK)
		if all := httpapitest.JSON[[]discussion](t, list); len(all) != 1 || len(all[0].Notes) != 2 || all[0].Notes[1].ID != reply.ID || list.Header.Get("X-Total") != "1" {
			t.Errorf("%s: listed is %+v of %s", of.Name, all, list.Header.Get("X-Total"))
		}
		for _, path := range []string{one, of.Path + "/discussions/" + strings.ToUpper(begun.ID)} {
			if got := bodies(t, w.reporter(t), path+"/notes"); !slices.Equal(got, []string{"Why?", "Because."}) {
				t.Errorf("%s: said is %q", of.Name, got)
			}
		}
		question, answer := fmt.Sprintf("%s/notes/%d", one, first.ID), fmt.Sprintf("%s/notes/%d", one, reply.ID)
		if got := httpapitest.JSON[said](t, w.reporter(t).Do(t, "GET", question, nil).WantStatus(t, http.StatusOK)); got.Body != "Why?" {
			t.Errorf("%s: the question is %+v", of.Name, got)
		}
		for role, status := range map[access.Role]int{access.Guest: 403, access.Reporter: 403, access.Developer: 403, access.Maintainer: 200, access.Owner: 200} {
			w.As(t, w.people[role]).Do(t, "PUT", question, says("by "+strconv.Itoa(int(role)))).WantStatus(t, status)
		}
		stranger := w.As(t, w.stranger)
		if got := httpapitest.JSON[said](t, stranger.Do(t, "PUT", question, says("Why not?")).WantStatus(t, http.StatusOK)); got.Body != "Why not?" {
			t.Errorf("%s: changed is %+v", of.Name, got)
		}
		stranger.Do(t, "PUT", answer, says("x")).WantStatus(t, http.StatusForbidden)
		stranger.Do(t, "DELETE", answer, nil).WantStatus(t, http.StatusForbidden)
		stranger.Do(t, "PUT", question, map[string]any{"resolved": true}).Want(t, http.StatusBadRequest, `{"message":"400 Bad request - Note is not resolvable"}`)
		// The next one takes the place of the first, and the last one ends it.
		stranger.Do(t, "DELETE", question, nil).WantStatus(t, http.StatusNoContent)
		if got := httpapitest.JSON[discussion](t, stranger.Do(t, "GET", one, nil).WantStatus(t, http.StatusOK)); len(got.Notes) != 1 || got.Notes[0].ID != reply.ID || got.Individual {
			t.Errorf("%s: left is %+v", of.Name, got)
		}
		w.reporter(t).Do(t, "DELETE", answer, nil).WantStatus(t, http.StatusNoContent)
		stranger.Do(t, "GET", one, nil).Want(t, http.StatusNotFound, `{"message":"404 Discussion Not Found"}`)
		stranger.Do(t, "POST", one+"/notes", says("x")).Want(t, http.StatusNotFound, `{"message":"404 Discussion Not Found"}`)
		if got := httpapitest.JSON[[]discussion](t, stranger.Do(t, "GET", of.Path+"/discussions", nil).WantStatus(t, http.StatusOK)); len(got) != 0 {
			t.Errorf("%s: left is %+v", of.Name, got)
		}
		for _, path := range []string{of.Path + "/discussions", one, one + "/notes"} {
			w.Client.Do(t, "GET", path, nil).WantStatus(t, http.StatusUnauthorized)
		}
		w.Client.Do(t, "POST", of.Path+"/discussions", says("x")).WantStatus(t, http.StatusUnauthorized)
	}
}

func TestASnippetIsCommentedOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.snip(t, w.project, "public")
	stranger := w.As(t, w.stranger)
	made := stranger.Do(t, "POST", of.Path+"/notes", says("Shorter, please.")).WantStatus(t, http.StatusCreated)
	if body := made.Body; !strings.Contains(body, `"noteable_iid":null`) || !strings.Contains(body, `"commands_changes":{}`) || strings.Contains(body, `"position"`) {
		t.Errorf("made is %s", body)
	}
	n := httpapitest.JSON[said](t, made)
	if n.Type != nil || n.NoteableType != "Snippet" || n.NoteableID != of.ID || n.ProjectID != w.project.ID || n.Internal || n.System {
		t.Errorf("made is %+v", n)
	}
	w.Turn(time.Minute)
	httpapitest.JSON[said](t, w.reporter(t).Do(t, "POST", of.Path+"/notes", says("Longer.")).WantStatus(t, http.StatusCreated))
	w.Turn(time.Minute)
	one := fmt.Sprintf("%s/notes/%d", of.Path, n.ID)
	stranger.Do(t, "PUT", one, says("Shorter!")).WantStatus(t, http.StatusOK)
	for query, want := range map[string][]string{
		"": {"Longer.", "Shorter!"}, "?sort=asc": {"Shorter!", "Longer."}, "?order_by=updated_at": {"Shorter!", "Longer."},
		"?activity_filter=only_comments": {"Longer.", "Shorter!"}, "?activity_filter=only_activity": {}, "?per_page=1&page=2": {"Shorter!"},
	} {
		if got := bodies(t, stranger, of.Path+"/notes"+query); !slices.Equal(got, want) {
			t.Errorf("%s lists %q", query, got)
		}
	}
	if got := httpapitest.JSON[[]discussion](t, stranger.Do(t, "GET", of.Path+"/discussions", nil)); len(got) != 2 || !got[0].Individual || got[0].Notes[0].Body != "Shorter!" {
		t.Errorf("discussed is %+v", got)
	} else {
		// What stands alone stays alone.
		stranger.Do(t, "POST", of.Path+"/discussions/"+got[0].ID+"/notes", says("x")).
			Want(t, http.StatusBadRequest, `{"message":"400 Bad request - Discussion can not be replied to."}`)
	}
	stranger.Do(t, "PUT", one, says("")).Want(t, http.StatusBadRequest, `{"error":"body is empty"}`)
	stranger.Do(t, "POST", of.Path+"/notes", says(" ")).WantStatus(t, http.StatusBadRequest)
	for _, name := range []string{"internal", "confidential"} {
		w.As(t, w.root).Do(t, "POST", of.Path+"/notes", map[string]any{"body": "x", name: true}).
			Want(t, http.StatusBadRequest, `{"message":"400 Bad request - Note {:confidential=\u003e[\"can not be set for this resource\"]}"}`)
	}
	stranger.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNoContent)
	stranger.Do(t, "GET", one, nil).Want(t, http.StatusNotFound, `{"message":"404 Note Not Found"}`)
	stranger.Do(t, "GET", fmt.Sprintf("/projects/%d/snippets/%d/notes", w.project.ID, of.ID+1), nil).Want(t, http.StatusNotFound, `{"message":"404 Snippet Not Found"}`)
	var acts []note.Action
	for _, e := range w.happened() {
		at, is := e.Of.(note.AtSnippet)
		if _, issue := note.IssueOf(e.Of); issue || !is || at.Snippet.ID != of.ID || e.Of.In().ID != w.project.ID {
			t.Errorf("told is %+v", e)
		}
		acts = append(acts, e.Action)
	}
	if !slices.Equal(acts, []note.Action{note.Created, note.Created, note.Updated, note.Deleted}) {
		t.Errorf("told is %v", acts)
	}
}

func TestPersonalSnippetsHaveNoNotes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := httpapitest.JSON[struct{ ID int64 }](t, w.As(t, w.stranger).Do(t, "POST", "/snippets", map[string]any{
		"title": "Mine", "visibility": "public", "file_name": "a", "content": "a",
	}).WantStatus(t, http.StatusCreated))
	for _, path := range []string{fmt.Sprintf("/projects/%d/snippets/%d", w.project.ID, s.ID), fmt.Sprintf("/snippets/%d", s.ID)} {
		for _, rest := range []string{"/notes", "/discussions", "/award_emoji"} {
			w.As(t, w.stranger).Do(t, "GET", path+rest, nil).WantStatus(t, http.StatusNotFound)
		}
		w.As(t, w.stranger).Do(t, "POST", path+"/notes", says("x")).WantStatus(t, http.StatusNotFound)
	}
}

// PE-01: what is said about one thing is missing below every other, of the same kind and of others, in the same project and elsewhere.
func TestPE01_NothingIsFoundBelowAnotherThing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, other, w.people[access.Reporter], access.Reporter)
	twin, elsewhere := w.open(t, w.project, "Twin"), w.open(t, other, "Elsewhere")
	// The commits of both projects have the same id.
	things := append(w.things(t), thing{"Issue", twin.ID, twin.path()}, thing{"Issue", elsewhere.ID, elsewhere.path()},
		w.snip(t, w.project, "public"), w.snip(t, other, "public"), w.push(t, other))
	root := w.As(t, w.root)
	for n, of := range things {
		begun := w.discuss(t, w.root, of, "secret "+strconv.Itoa(n))
		var given award
		if of.Name != "Commit" {
			given = httpapitest.JSON[award](t, root.Do(t, "POST", of.Path+"/award_emoji", map[string]any{"name": "heart"}).WantStatus(t, http.StatusCreated))
		}
		for _, under := range things {
			if under.Path == of.Path {
				continue
			}
			thread := under.Path + "/discussions/" + begun.ID
			inThread := fmt.Sprintf("%s/notes/%d", thread, begun.Notes[0].ID)
			for _, path := range []string{thread, thread + "/notes", inThread} {
				root.Do(t, "GET", path, nil).WantStatus(t, http.StatusNotFound)
			}
			root.Do(t, "POST", thread+"/notes", says("x")).Want(t, http.StatusNotFound, `{"message":"404 Discussion Not Found"}`)
			root.Do(t, "PUT", inThread, says("x")).WantStatus(t, http.StatusNotFound)
			root.Do(t, "DELETE", inThread, nil).WantStatus(t, http.StatusNotFound)
			if under.Name == "Commit" {
				continue
			}
			single := fmt.Sprintf("%s/notes/%d", under.Path, begun.Notes[0].ID)
			root.Do(t, "GET", single, nil).Want(t, http.StatusNotFound, `{"message":"404 Note Not Found"}`)
			root.Do(t, "PUT", single, says("x")).WantStatus(t, http.StatusNotFound)
			root.Do(t, "DELETE", single, nil).WantStatus(t, http.StatusNotFound)
			root.Do(t, "GET", single+"/award_emoji", nil).WantStatus(t, http.StatusNotFound)
			root.Do(t, "POST", single+"/award_emoji", map[string]any{"name": "heart"}).WantStatus(t, http.StatusNotFound)
			if given.ID != 0 {
				root.Do(t, "GET", fmt.Sprintf("%s/award_emoji/%d", under.Path, given.ID), nil).Want(t, http.StatusNotFound, `{"message":"404 Award Emoji Not Found"}`)
				root.Do(t, "DELETE", fmt.Sprintf("%s/award_emoji/%d", under.Path, given.ID), nil).WantStatus(t, http.StatusNotFound)
			}
		}
		if got := bodies(t, root, of.Path+"/discussions/"+begun.ID+"/notes"); !slices.Equal(got, []string{"secret " + strconv.Itoa(n)}) {
			t.Errorf("%s says %q", of.Path, got)
		}
	}
	// A thing of one project is not found in another.
	for _, rest := range []string{"/notes", "/discussions", "/award_emoji"} {
		path := fmt.Sprintf("/projects/%d/snippets/%d%s", other.ID, things[1].ID, rest)
		root.Do(t, "GET", path, nil).Want(t, http.StatusNotFound, `{"message":"404 Snippet Not Found"}`)
		root.Do(t, "POST", path, map[string]any{"body": "x", "name": "tada"}).WantStatus(t, http.StatusNotFound)
	}
	for n, of := range things {
		list := root.Do(t, "GET", of.Path+"/discussions", nil).WantStatus(t, http.StatusOK)
		if all := httpapitest.JSON[[]discussion](t, list); len(all) != 1 || all[0].Notes[0].Body != "secret "+strconv.Itoa(n) || list.Header.Get("X-Total") != "1" {
			t.Errorf("%s lists %+v", of.Path, all)
		}
		if of.Name == "Commit" {
			continue
		}
		if all := bodies(t, root, of.Path+"/notes"); len(all) != 1 {
			t.Errorf("%s lists %q", of.Path, all)
		}
		if all := httpapitest.JSON[[]award](t, root.Do(t, "GET", of.Path+"/award_emoji", nil)); len(all) != 1 || all[0].Type != of.Name || all[0].Of != of.ID {
			t.Errorf("%s has %+v", of.Path, all)
		}
	}
}

// everyWay is each way to what is said about a snippet or a commit, and to say it.
func everyWay(of thing, d discussion) (reads, writes []string) {
	one := of.Path + "/discussions/" + d.ID
	said := fmt.Sprintf("%s/notes/%d", one, d.Notes[0].ID)
	reads = []string{of.Path + "/discussions", one, one + "/notes", said}
	writes = []string{"POST " + of.Path + "/discussions", "POST " + one + "/notes", "PUT " + said, "DELETE " + said}
	if of.Name == "Commit" {
		return append(reads, of.Path+"/comments"), append(writes, "POST "+of.Path+"/comments")
	}
	single := fmt.Sprintf("%s/notes/%d", of.Path, d.Notes[0].ID)
	reads = append(reads, of.Path+"/notes", single, of.Path+"/award_emoji", single+"/award_emoji")
	return reads, append(writes, "POST "+of.Path+"/notes", "PUT "+single, "DELETE "+single, "POST "+of.Path+"/award_emoji", "POST "+single+"/award_emoji")
}

// wants asks every way for the same status.
func wants(t testing.TB, c *httpapitest.Client, ways []string, status int) {
	t.Helper()
	for _, way := range ways {
		method, path, written := strings.Cut(way, " ")
		if !written {
			method, path = "GET", way
		}
		if r := c.Do(t, method, path, map[string]any{"body": "x", "note": "x", "name": "heart"}); r.Status != status {
			t.Errorf("%s %s: %d %s, wanted %d", method, path, r.Status, r.Body, status)
		}
	}
}

func TestPE02_WhatIsSaidAboutASnippetIsForWhoReadsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.snip(t, w.project, "private")
	reads, writes := everyWay(of, w.discuss(t, w.people[access.Guest], of, "between us"))
	stranger, guest := w.As(t, w.stranger), w.As(t, w.people[access.Guest])
	wants(t, stranger, reads, http.StatusNotFound)
	wants(t, stranger, writes, http.StatusNotFound)
	stranger.Do(t, "GET", of.Path+"/notes", nil).Want(t, http.StatusNotFound, `{"message":"404 Snippet Not Found"}`)
	w.Client.Do(t, "GET", of.Path+"/award_emoji", nil).WantStatus(t, http.StatusNotFound)
	wants(t, guest, reads, http.StatusOK)
	// One that is open is open to who is signed in; its emoji to everyone.
	open := w.snip(t, w.project, "public")
	wants(t, stranger, []string{open.Path + "/notes", open.Path + "/discussions", open.Path + "/award_emoji"}, http.StatusOK)
	wants(t, w.Client, []string{open.Path + "/award_emoji"}, http.StatusOK)
	wants(t, w.Client, []string{open.Path + "/notes", open.Path + "/discussions", "POST " + open.Path + "/award_emoji"}, http.StatusUnauthorized)
	// Who is banned is not heard any more, and neither is what they showed.
	for _, banned := range []struct {
		sql string
		id  int64
	}{{`update users set state = $2 where id = $1`, w.people[access.Guest].ID}, {`update users set state = $2 where id = $1`, w.root.ID}} {
		if _, err := w.DB.Exec(t.Context(), banned.sql, banned.id, "banned"); err != nil {
			t.Fatal(err)
		}
		if banned.id == w.root.ID {
			wants(t, w.reporter(t), reads, http.StatusNotFound)
		} else if got := httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", of.Path+"/discussions", nil).WantStatus(t, http.StatusOK)); len(got) != 0 {
			t.Errorf("the reporter reads %+v", got)
		}
	}
}

func TestPE02_WhatIsSaidAboutCommitsIsForWhoReadsCode(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.push(t, w.project)
	reads, writes := everyWay(of, w.discuss(t, w.people[access.Reporter], of, "between us"))
	wants(t, w.As(t, w.stranger), reads, http.StatusOK)
	wants(t, w.Client, []string{of.Path + "/comments"}, http.StatusOK)
	wants(t, w.As(t, w.stranger), []string{strings.Replace(of.Path, "commits/", "commits/f", 1) + "/discussions"}, http.StatusNotFound)
	w.reporter(t).Do(t, "GET", fmt.Sprintf("/projects/%d/repository/commits/none/discussions", w.project.ID), nil).
		Want(t, http.StatusNotFound, `{"message":"404 Commit Not Found"}`)
	// A branch stands for its commit.
	if got := httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", fmt.Sprintf("/projects/%d/repository/commits/main/discussions", w.project.ID), nil)); len(got) != 1 {
		t.Errorf("the branch has %+v", got)
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set visibility = 0 where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	wants(t, w.As(t, w.stranger), append(reads, writes...), http.StatusNotFound)
	wants(t, w.As(t, w.people[access.Guest]), append(reads, writes...), http.StatusForbidden)
	wants(t, w.reporter(t), reads, http.StatusOK)
}

func TestNothingIsSaidWhereTheFeatureIsClosedOrTheProjectKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t)[1:] {
		reads, writes := everyWay(of, w.discuss(t, w.stranger, of, "x"))
		set := func(sql string, args ...any) {
			t.Helper()
			if _, err := w.DB.Exec(t.Context(), sql, append([]any{w.project.ID}, args...)...); err != nil {
				t.Fatal(err)
			}
		}
		feature := map[string]string{"Snippet": "snippets", "Commit": "repository"}[of.Name]
		set(`update projects set features = jsonb_build_object($2::text, 'private') where id = $1`, feature)
		wants(t, w.As(t, w.stranger), append(reads, writes...), http.StatusForbidden)
		wants(t, w.reporter(t), reads, http.StatusOK)
		set(`update projects set features = jsonb_build_object($2::text, 'disabled') where id = $1`, feature)
		wants(t, w.As(t, w.people[access.Owner]), append(reads, writes...), http.StatusForbidden)
		// What is closed is not what the notes of issues depend on, nor the other way round.
		set(`update projects set features = '{"issues": "disabled"}' where id = $1`)
		wants(t, w.As(t, w.stranger), reads, http.StatusOK)
		w.discuss(t, w.stranger, of, "y")
		set(`update projects set features = '{}', archived = true where id = $1`)
		wants(t, w.As(t, w.people[access.Owner]), writes, http.StatusForbidden)
		wants(t, w.As(t, w.stranger), append(slices.Clone(writes), "POST "+of.Path+"/discussions"), http.StatusForbidden)
		wants(t, w.As(t, w.stranger), reads, http.StatusOK)
		set(`update projects set archived = false where id = $1`)
	}
}

func TestOwnersSayWhenSomethingWasSaidAnywhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t) {
		for role, want := range map[access.Role]string{access.Owner: "2001-02-03T04:05:06.000Z", access.Maintainer: "2024-"} {
			d := httpapitest.JSON[discussion](t, w.As(t, w.people[role]).Do(t, "POST", of.Path+"/discussions", map[string]any{
				"body": "x", "created_at": "2001-02-03T04:05:06Z",
			}).WantStatus(t, http.StatusCreated))
			if got := d.Notes[0].CreatedAt; !strings.HasPrefix(got, want) {
				t.Errorf("%s: a role of %d said it at %s", of.Name, role, got)
			}
		}
		w.As(t, w.people[access.Owner]).Do(t, "POST", of.Path+"/discussions", map[string]any{"body": "x", "created_at": "1969-12-31T23:00:00Z"}).
			WantStatus(t, http.StatusBadRequest)
	}
}

func TestASnippetAndACommitHaveFiveThousandCommentsAtTheMost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t)[1:] {
		d := w.discuss(t, w.stranger, of, "first")
		if _, err := w.DB.Exec(t.Context(), `
insert into notes (snippet_id, commit_project_id, commit_sha, discussion_id, first, thread, body, created_at, updated_at)
select snippet_id, commit_project_id, commit_sha, discussion_id, false, true, 'x', now(), now() from notes, generate_series(2, 4999) where id = $1`, d.Notes[0].ID); err != nil {
			t.Fatal(err)
		}
		w.reporter(t).Do(t, "POST", of.Path+"/discussions", says("the last")).WantStatus(t, http.StatusCreated)
		full := `{"message":"400 Bad request - Note {:base=\u003e[\"Maximum number of comments exceeded\"]}"}`
		w.reporter(t).Do(t, "POST", of.Path+"/discussions", says("one more")).Want(t, http.StatusBadRequest, full)
		w.reporter(t).Do(t, "POST", of.Path+"/discussions/"+d.ID+"/notes", says("one more")).Want(t, http.StatusBadRequest, full)
	}
}

func TestWhatLooksLikeACommandStaysWhereNoneAreKnown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t)[1:] {
		if d := w.discuss(t, w.people[access.Reporter], of, "/close"); d.Notes[0].Body != "/close" {
			t.Errorf("%s: said is %+v", of.Name, d)
		}
	}
	if len(w.noted(t, w.people[access.Reporter], w.issue)) != 0 {
		t.Error("the issue was touched")
	}
}

func TestWhatIsSaidAboutOtherThingsAsksNobodyToDoSomething(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t)[1:] {
		d := w.discuss(t, w.stranger, of, "@role-30 see #1")
		w.As(t, w.stranger).Do(t, "PUT", fmt.Sprintf("%s/discussions/%s/notes/%d", of.Path, d.ID, d.Notes[0].ID), says("@role-20 see #1")).WantStatus(t, http.StatusOK)
	}
	for what, sql := range map[string]string{
		"to-dos": `select count(*) from todos`, "mentions": `select count(*) from issue_mentions`, "system notes": `select count(*) from notes where system`,
	} {
		if got, err := postgres.Value[int](t.Context(), w.DB, sql); err != nil || got != 0 {
			t.Errorf("%d %s: %v", got, what, err)
		}
	}
}

func TestEmojiAreGivenToSnippetsAndWhatIsSaidAboutThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.snip(t, w.project, "public")
	n := httpapitest.JSON[said](t, w.reporter(t).Do(t, "POST", of.Path+"/notes", says("x")).WantStatus(t, http.StatusCreated))
	for path, want := range map[string]award{
		of.Path + "/award_emoji":                              {Type: "Snippet", Of: of.ID},
		fmt.Sprintf("%s/notes/%d/award_emoji", of.Path, n.ID): {Type: "Note", Of: n.ID},
	} {
		stranger := w.As(t, w.stranger)
		given := httpapitest.JSON[award](t, stranger.Do(t, "POST", path, map[string]any{"name": "+1"}).WantStatus(t, http.StatusCreated))
		if given.Name != "thumbsup" || given.User.ID != w.stranger.ID || given.Type != want.Type || given.Of != want.Of {
			t.Errorf("given is %+v", given)
		}
		for name, why := range map[string]string{"thumbsup": " Name has already been taken", "nothing": " Name is not a valid emoji name"} {
			stranger.Do(t, "POST", path, map[string]any{"name": name}).Want(t, http.StatusNotFound, `{"message":"404 Award Emoji`+why+` Not Found"}`)
		}
		w.reporter(t).Do(t, "POST", path, map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusCreated)
		if all := httpapitest.JSON[[]award](t, stranger.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)); len(all) != 2 || all[0].ID != given.ID {
			t.Errorf("listed are %+v", all)
		}
		one := fmt.Sprintf("%s/%d", path, given.ID)
		if got := httpapitest.JSON[award](t, w.reporter(t).Do(t, "GET", one, nil).WantStatus(t, http.StatusOK)); got.ID != given.ID {
			t.Errorf("shown is %+v", got)
		}
		w.As(t, w.people[access.Owner]).Do(t, "DELETE", one, nil).WantStatus(t, http.StatusUnauthorized)
		stranger.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNoContent)
		stranger.Do(t, "GET", one, nil).Want(t, http.StatusNotFound, `{"message":"404 Award Emoji Not Found"}`)
	}
}

func TestWhatIsSaidGoesWithTheThingAndStaysWithoutItsAuthor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	things := w.things(t)
	left := func() map[string]int {
		t.Helper()
		counts := map[string]int{}
		for name, sql := range map[string]string{
			"Issue": `select count(*) from notes where issue_id is not null`, "Snippet": `select count(*) from notes where snippet_id is not null`,
			"Commit": `select count(*) from notes where commit_sha is not null`, "emoji": `select count(*) from award_emoji`,
		} {
			n, err := postgres.Value[int](t.Context(), w.DB, sql)
			if err != nil {
				t.Fatal(err)
			}
			counts[name] = n
		}
		return counts
	}
	for _, of := range things {
		w.discuss(t, w.stranger, of, "x")
		w.discuss(t, w.people[access.Reporter], of, "y")
	}
	w.reporter(t).Do(t, "POST", things[1].Path+"/award_emoji", map[string]any{"name": "heart"}).WantStatus(t, http.StatusCreated)
	if _, err := w.DB.Exec(t.Context(), `delete from users where id = $1`, w.stranger.ID); err != nil {
		t.Fatal(err)
	}
	for _, of := range things {
		all := httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", of.Path+"/discussions", nil).WantStatus(t, http.StatusOK))
		if len(all) != 2 || all[0].Notes[0].Author != nil {
			t.Errorf("%s says %+v", of.Name, all)
		}
	}
	w.As(t, w.root).Do(t, "DELETE", things[1].Path, nil).WantStatus(t, http.StatusNoContent)
	if got := left(); got["Snippet"] != 0 || got["emoji"] != 0 || got["Issue"] != 2 || got["Commit"] != 2 {
		t.Errorf("left are %v without the snippet", got)
	}
	if _, err := w.DB.Exec(t.Context(), `delete from projects where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	if got := left(); got["Issue"] != 0 || got["Commit"] != 0 {
		t.Errorf("left are %v without the project", got)
	}
}

// A reply that comes while the first note goes becomes the first, or finds no discussion.
func TestADiscussionHasAFirstNoteWhoeverComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, of := range w.things(t) {
		as := [2]*httpapitest.Client{w.As(t, w.stranger), w.reporter(t)}
		for range 8 {
			d := w.discuss(t, w.stranger, of, "x")
			one := of.Path + "/discussions/" + d.ID
			var both sync.WaitGroup
			both.Go(func() { as[0].Do(t, "DELETE", fmt.Sprintf("%s/notes/%d", one, d.Notes[0].ID), nil) })
			both.Go(func() { as[1].Do(t, "POST", one+"/notes", says("y")) })
			both.Wait()
		}
	}
	lost, err := postgres.Value[int](t.Context(), w.DB, `
select count(*) from (select discussion_id from notes group by discussion_id having count(*) filter (where first) <> 1) lost`)
	if err != nil || lost != 0 {
		t.Errorf("%d discussions have no first note, or several: %v", lost, err)
	}
}

// What a page costs does not grow with what is said elsewhere.
func TestAPageOfNotesIsReadByAnIndex(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, sql := range []string{
		`insert into text_repositories (id, storage, state, branch, max_files, created_at) select 100 + n, 'default', 'ready', 'main', 10, now() from generate_series(1, 300) n`,
		`insert into snippets (id, project_id, repository_id, title, visibility, user_agent, ip_address, created_at, updated_at)
			select 100 + n, $1, 100 + n, 'x', 20, '', '', now(), now() from generate_series(1, 300) n`,
		`insert into notes (snippet_id, discussion_id, first, thread, body, created_at, updated_at)
			select 101 + n % 300, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'x', now() + n * interval '1 second', now() - n * interval '1 second' from generate_series(1, 30000) n`,
		`insert into notes (commit_project_id, commit_sha, discussion_id, first, thread, body, created_at, updated_at)
			select $1, decode(lpad(to_hex(n % 300), 40, '0'), 'hex'), decode(lpad(to_hex(n), 40, 'a'), 'hex'), true, false, 'x', now() + n * interval '1 second', now() from generate_series(1, 30000) n`,
		`insert into award_emoji (snippet_id, user_id, name, created_at) select 100 + n, u.id, 'heart', now() from generate_series(1, 300) n, users u`,
		`analyze`,
	} {
		args := []any{}
		if strings.Contains(sql, "$1") {
			args = append(args, w.project.ID)
		}
		if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for sql, index := range map[string]string{
		`select n.id from notes n where n.snippet_id = 105 and not n.internal order by n.created_at desc, n.id desc limit 21`:                                                                                    "notes_snippet",
		`select n.id from notes n where n.snippet_id = 105 and not n.internal order by n.updated_at desc, n.id desc limit 21`:                                                                                    "notes_snippet_updated",
		`select n.id from notes n where n.commit_project_id = ` + strconv.FormatInt(w.project.ID, 10) + ` and n.commit_sha = decode(lpad('a', 40, '0'), 'hex') and n.first order by n.created_at, n.id limit 21`: "notes_commit",
		`select a.id from award_emoji a where a.snippet_id = 105 order by a.id limit 21`:                                                                                                                         "award_emoji_snippet",
	} {
		lines, err := postgres.Values[string](t.Context(), w.DB, "explain "+sql)
		if plan := strings.Join(lines, "\n"); err != nil || !strings.Contains(plan, " using "+index+" ") {
			t.Errorf("%s: %v\n%s", sql, err, plan)
		}
	}
}

// Comments that the release before this one writes are notes as well, once.
func TestCommentsOfTheReleaseBeforeAreNotes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.push(t, w.project)
	sha := of.Path[strings.LastIndex(of.Path, "/")+1:]
	write := func(body string, path any, line any, kind any) {
		t.Helper()
		if _, err := w.DB.Exec(t.Context(), `
insert into commit_comments (project_id, sha, note, path, line, line_type, author_id, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			w.project.ID, sha, body, path, line, kind, w.stranger.ID, w.Now()); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", nil, nil, nil)
	write("at a line", "a.txt", 7, "old")
	if _, err := w.DB.Exec(t.Context(), `select keep_commit_comment(c) from commit_comments c`); err != nil {
		t.Fatal(err)
	}
	all := httpapitest.JSON[[]comment](t, w.Client.Do(t, "GET", of.Path+"/comments", nil).WantStatus(t, http.StatusOK))
	if len(all) != 2 || all[0].Note != "plain" || all[0].Path != nil || all[0].Author.ID != w.stranger.ID || *all[1].Path != "a.txt" || *all[1].Line != 7 || *all[1].LineType != "old" {
		t.Errorf("the comments are %+v", all)
	}
	if got := httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", of.Path+"/discussions", nil)); len(got) != 2 || !got[1].Individual || got[1].Notes[0].Position != nil {
		t.Errorf("discussed is %+v", got)
	}
}

// What is deleted or changed is gone from where the release before this one kept it, too, and does not come back.
func TestAnOldCommentThatIsDeletedIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.push(t, w.project)
	sha := of.Path[strings.LastIndex(of.Path, "/")+1:]
	for _, body := range []string{"to be deleted", "to be changed", "stays"} {
		if _, err := w.DB.Exec(t.Context(), `insert into commit_comments (project_id, sha, note, author_id, created_at) values ($1, $2, $3, $4, $5)`,
			w.project.ID, sha, body, w.root.ID, w.Now()); err != nil {
			t.Fatal(err)
		}
		w.Turn(time.Second)
	}
	all := httpapitest.JSON[[]discussion](t, w.As(t, w.root).Do(t, "GET", of.Path+"/discussions", nil).WantStatus(t, http.StatusOK))
	at := func(n int) string {
		return fmt.Sprintf("%s/discussions/%s/notes/%d", of.Path, all[n].ID, all[n].Notes[0].ID)
	}
	w.As(t, w.root).Do(t, "DELETE", at(0), nil).WantStatus(t, http.StatusNoContent)
	w.As(t, w.root).Do(t, "PUT", at(1), map[string]any{"body": "changed"}).WantStatus(t, http.StatusOK)
	kept, err := postgres.Values[string](t.Context(), w.DB, `select note from commit_comments order by id`)
	if err != nil || !slices.Equal(kept, []string{"changed", "stays"}) {
		t.Errorf("kept is %q, %v", kept, err)
	}
	if _, err := w.DB.Exec(t.Context(), `select keep_commit_comment(c) from commit_comments c`); err != nil {
		t.Fatal(err)
	}
	if got := httpapitest.JSON[[]comment](t, w.Client.Do(t, "GET", of.Path+"/comments", nil).WantStatus(t, http.StatusOK)); len(got) != 2 {
		t.Errorf("the comments are %+v", got)
	}
}
