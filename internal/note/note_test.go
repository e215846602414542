package note_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/note"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
)

func TestACommentIsMadeShownChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Turn(time.Minute)
	n := w.say(t, w.stranger, w.issue, "The hinge **squeaks**.")
	if n.Body != "The hinge **squeaks**." || n.Type != nil || n.Author.ID != w.stranger.ID || n.System || n.Internal || n.Confidential || n.Resolvable {
		t.Errorf("said is %+v", n)
	}
	if n.NoteableType != "Issue" || n.NoteableID != w.issue.ID || n.NoteableIID != w.issue.IID || n.ProjectID != w.project.ID || n.CreatedAt != n.UpdatedAt {
		t.Errorf("said is %+v", n)
	}
	if m := w.again(t, w.issue); m.NotesCount != 1 || m.UpdatedAt != n.CreatedAt {
		t.Errorf("the issue says %+v", m)
	}
	w.Turn(time.Minute)
	path := fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID)
	as := w.As(t, w.stranger)
	changed := httpapitest.JSON[said](t, as.Do(t, "PUT", path, map[string]any{"body": "It does not."}).WantStatus(t, http.StatusOK))
	if changed.Body != "It does not." || changed.UpdatedAt == changed.CreatedAt || changed.CreatedAt != n.CreatedAt {
		t.Errorf("changed is %+v", changed)
	}
	if got := httpapitest.JSON[said](t, as.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)); !cmp.Equal(got, changed) {
		t.Errorf("shown is %+v", got)
	}
	as.Do(t, "DELETE", path, nil).WantStatus(t, http.StatusNoContent)
	as.Do(t, "GET", path, nil).Want(t, http.StatusNotFound, `{"message":"404 Note Not Found"}`)
	if m := w.again(t, w.issue); m.NotesCount != 0 {
		t.Errorf("%d comments are left", m.NotesCount)
	}
	var acts []note.Action
	for _, e := range w.happened() {
		acts = append(acts, e.Action)
	}
	if !slices.Equal(acts, []note.Action{note.Created, note.Updated, note.Deleted}) {
		t.Errorf("told is %v", acts)
	}
}

func TestWhatACommentMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := w.issue.path() + "/notes"
	n := w.say(t, w.people[access.Reporter], w.issue, "x")
	for want, body := range map[string]map[string]any{
		`{"error":"body is missing"}`: {},
		`{"message":"400 Bad request - Note {:note=\u003e[\"can't be blank\"]}"}`:                              {"body": " \n"},
		`{"message":"400 Bad request - Note {:note=\u003e[\"is too long (maximum is 1000000 characters)\"]}"}`: {"body": strings.Repeat("x", 1_000_001)},
	} {
		w.reporter(t).Do(t, "POST", path, body).Want(t, http.StatusBadRequest, want)
	}
	// Characters of several bytes are counted as such, too, whoever asks.
	reporter := access.Actor{Person: w.people[access.Reporter].Person()}
	i, in, err := w.Issues.FindByID(t.Context(), reporter, w.issue.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Notes.Create(t.Context(), reporter, note.AtIssue{Placed: issue.Placed{Project: in, Issue: i}}, note.Draft{Body: strings.Repeat("ä", 1<<19) + "x"})
	if !fault.Is(err, fault.Rejected) || !strings.Contains(err.Error(), "is too long") {
		t.Errorf("a comment of more than a megabyte gives %v", err)
	}
	w.reporter(t).Do(t, "PUT", fmt.Sprintf("%s/%d", path, n.ID), map[string]any{"body": ""}).Want(t, http.StatusBadRequest, `{"error":"body is empty"}`)
	w.reporter(t).Do(t, "PUT", fmt.Sprintf("%s/%d", path, n.ID), map[string]any{"body": " "}).WantStatus(t, http.StatusBadRequest)
	if got := bodies(t, w.reporter(t), path); !slices.Equal(got, []string{"x"}) {
		t.Errorf("said is %q", got)
	}
	// An issue has 5,000 comments at the most.
	if _, err := w.DB.Exec(t.Context(), `update issues set notes_count = 4999 where id = $1`, w.issue.ID); err != nil {
		t.Fatal(err)
	}
	w.say(t, w.people[access.Reporter], w.issue, "the last")
	w.reporter(t).Do(t, "POST", path, map[string]any{"body": "one more"}).Want(t, http.StatusBadRequest, `{"message":"400 Bad request - Note {:base=\u003e[\"Maximum number of comments exceeded\"]}"}`)
}

func TestOwnersSayWhenSomethingWasSaid(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := map[string]any{"created_at": "2001-02-03T04:05:06Z"}
	if n := w.say(t, w.people[access.Owner], w.issue, "old", at); n.CreatedAt != "2001-02-03T04:05:06.000Z" {
		t.Errorf("an owner said it at %s", n.CreatedAt)
	}
	if n := w.say(t, w.people[access.Maintainer], w.issue, "new", at); !strings.HasPrefix(n.CreatedAt, "2024-") {
		t.Errorf("a maintainer said it at %s", n.CreatedAt)
	}
	w.As(t, w.people[access.Owner]).Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "older", "created_at": "1969-12-31T23:00:00Z"}).
		WantStatus(t, http.StatusBadRequest)
}

func TestWhoMayCommentAndChangeComments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := w.say(t, w.stranger, w.issue, "a stranger's")
	path := fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID)
	w.Client.Do(t, "GET", w.issue.path()+"/notes", nil).WantStatus(t, http.StatusUnauthorized)
	w.Client.Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "x"}).WantStatus(t, http.StatusUnauthorized)
	for role, status := range map[access.Role]int{access.Guest: 403, access.Reporter: 403, access.Developer: 403, access.Maintainer: 200, access.Owner: 200} {
		w.As(t, w.people[role]).Do(t, "PUT", path, map[string]any{"body": fmt.Sprint(role)}).WantStatus(t, status)
	}
	w.As(t, w.people[access.Developer]).Do(t, "DELETE", path, nil).WantStatus(t, http.StatusForbidden)
	// Nobody changes what the instance noted.
	w.change(t, w.issue, map[string]any{"title": "Mend the gate"})
	system := httpapitest.JSON[[]said](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/notes?activity_filter=only_activity", nil))[0]
	noted := fmt.Sprintf("%s/notes/%d", w.issue.path(), system.ID)
	w.As(t, w.root).Do(t, "PUT", noted, map[string]any{"body": "x"}).WantStatus(t, http.StatusForbidden)
	w.As(t, w.root).Do(t, "DELETE", noted, nil).WantStatus(t, http.StatusForbidden)
	// A locked discussion is for members, also for what strangers said before.
	w.change(t, w.issue, map[string]any{"discussion_locked": true})
	w.As(t, w.stranger).Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "x"}).WantStatus(t, http.StatusForbidden)
	w.As(t, w.stranger).Do(t, "PUT", path, map[string]any{"body": "x"}).WantStatus(t, http.StatusForbidden)
	w.say(t, w.people[access.Guest], w.issue, "a member's")
	w.say(t, w.root, w.issue, "an administrator's")
	// Nobody says anything in what is archived.
	if _, err := w.DB.Exec(t.Context(), `update projects set archived = true where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	w.As(t, w.people[access.Owner]).Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "x"}).WantStatus(t, http.StatusForbidden)
	w.As(t, w.people[access.Owner]).Do(t, "DELETE", path, nil).WantStatus(t, http.StatusForbidden)
}

func TestPE02_InternalNotesAreForReporters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.people[access.Reporter]
	n := w.say(t, reporter, w.issue, "between us", map[string]any{"internal": true})
	w.say(t, reporter, w.issue, "so is this", map[string]any{"confidential": true, "internal": false})
	if !n.Internal || !n.Confidential {
		t.Errorf("said is %+v", n)
	}
	for _, u := range []*user.User{w.stranger, w.people[access.Guest]} {
		as := w.As(t, u)
		as.Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "x", "internal": true}).WantStatus(t, http.StatusForbidden)
		list := as.Do(t, "GET", w.issue.path()+"/notes", nil).WantStatus(t, http.StatusOK)
		if got := httpapitest.JSON[[]said](t, list); len(got) != 0 || list.Header.Get("X-Total") != "0" {
			t.Errorf("%s reads %+v of %s", u.Username, got, list.Header.Get("X-Total"))
		}
		if got := httpapitest.JSON[[]discussion](t, as.Do(t, "GET", w.issue.path()+"/discussions", nil)); len(got) != 0 {
			t.Errorf("%s reads %+v", u.Username, got)
		}
		for _, path := range []string{fmt.Sprintf("/notes/%d", n.ID), fmt.Sprintf("/notes/%d/award_emoji", n.ID), "/discussions/" + w.discussionOf(t, n)} {
			as.Do(t, "GET", w.issue.path()+path, nil).WantStatus(t, http.StatusNotFound)
		}
		as.Do(t, "PUT", fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID), map[string]any{"body": "x"}).WantStatus(t, http.StatusNotFound)
		as.Do(t, "DELETE", fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID), nil).WantStatus(t, http.StatusNotFound)
		as.Do(t, "POST", fmt.Sprintf("%s/notes/%d/award_emoji", w.issue.path(), n.ID), map[string]any{"name": "heart"}).WantStatus(t, http.StatusNotFound)
		as.Do(t, "POST", w.issue.path()+"/discussions/"+w.discussionOf(t, n)+"/notes", map[string]any{"body": "x"}).WantStatus(t, http.StatusNotFound)
	}
	// A reply is as internal as what it answers.
	reply := httpapitest.JSON[said](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions/"+w.discussionOf(t, n)+"/notes", map[string]any{"body": "yes"}))
	if !reply.Internal {
		t.Errorf("the reply is %+v", reply)
	}
	if got := bodies(t, w.As(t, w.people[access.Guest]), w.issue.path()+"/notes"); len(got) != 0 {
		t.Errorf("a guest reads %q", got)
	}
}

// discussionOf is the id of the discussion that a note belongs to, as the reporter sees it.
func (w *fixture) discussionOf(t testing.TB, n said) string {
	t.Helper()
	for _, d := range httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/discussions?per_page=100", nil).WantStatus(t, http.StatusOK)) {
		for _, other := range d.Notes {
			if other.ID == n.ID {
				return d.ID
			}
		}
	}
	t.Fatalf("the note %d is in no discussion", n.ID)
	return ""
}

func TestPE02_NotesOfAConfidentialIssueAreMissingWithIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := w.say(t, w.people[access.Reporter], w.issue, "secret")
	w.change(t, w.issue, map[string]any{"confidential": true})
	for _, path := range []string{
		"/notes", fmt.Sprintf("/notes/%d", n.ID), "/discussions", "/discussions/" + w.discussionOf(t, n), "/award_emoji", fmt.Sprintf("/notes/%d/award_emoji", n.ID),
		"/resource_state_events", "/resource_label_events", "/resource_milestone_events",
	} {
		w.As(t, w.people[access.Guest]).Do(t, "GET", w.issue.path()+path, nil).Want(t, http.StatusNotFound, `{"message":"404 Issue Not Found"}`)
		w.reporter(t).Do(t, "GET", w.issue.path()+path, nil).WantStatus(t, http.StatusOK)
	}
	// An issue of one project does not open the notes of another.
	other := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, other, w.people[access.Reporter], access.Reporter)
	mine := w.open(t, other, "Mine")
	w.reporter(t).Do(t, "GET", fmt.Sprintf("%s/notes/%d", mine.path(), n.ID), nil).WantStatus(t, http.StatusNotFound)
	w.reporter(t).Do(t, "DELETE", fmt.Sprintf("%s/notes/%d", mine.path(), n.ID), nil).WantStatus(t, http.StatusNotFound)
	w.reporter(t).Do(t, "POST", mine.path()+"/discussions/"+w.discussionOf(t, n)+"/notes", map[string]any{"body": "x"}).WantStatus(t, http.StatusNotFound)
}

func TestNotesAreListedInBothOrders(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.say(t, w.people[access.Reporter], w.issue, "one")
	w.Turn(time.Minute)
	w.say(t, w.people[access.Guest], w.issue, "two")
	w.Turn(time.Minute)
	w.change(t, w.issue, map[string]any{"title": "Mend the gate"})
	w.Turn(time.Minute)
	w.reporter(t).Do(t, "PUT", fmt.Sprintf("%s/notes/%d", w.issue.path(), first.ID), map[string]any{"body": "one again"}).WantStatus(t, http.StatusOK)
	title := "changed title from **Mend the {-door-}** to **Mend the {+gate+}**"
	for query, want := range map[string][]string{
		"":                               {title, "two", "one again"},
		"?sort=asc":                      {"one again", "two", title},
		"?order_by=updated_at":           {"one again", title, "two"},
		"?order_by=updated_at&sort=asc":  {"two", title, "one again"},
		"?activity_filter=only_comments": {"two", "one again"},
		"?activity_filter=only_activity": {title},
		"?per_page=1&page=2":             {"two"},
	} {
		if got := bodies(t, w.As(t, w.stranger), w.issue.path()+"/notes"+query); !slices.Equal(got, want) {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	w.As(t, w.stranger).Do(t, "GET", w.issue.path()+"/notes?activity_filter=some", nil).WantStatus(t, http.StatusBadRequest)
}

func TestLongBodiesAreCutInLists(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	long := strings.Repeat("ä", 100_000)
	n := w.say(t, w.people[access.Reporter], w.issue, long)
	if n.Body != long {
		t.Errorf("a single note has %d bytes", len(n.Body))
	}
	if got := bodies(t, w.reporter(t), w.issue.path()+"/notes")[0]; got != long[:2*65_536] {
		t.Errorf("a note of a list has %d bytes", len(got))
	}
	id := w.discussionOf(t, n)
	for range 200 {
		if _, err := w.DB.Exec(t.Context(), `
insert into notes (issue_id, discussion_id, first, thread, body, created_at, updated_at) values ($1, decode($2, 'hex'), false, true, $3, now(), now())`,
			w.issue.ID, id, long); err != nil {
			t.Fatal(err)
		}
	}
	d := httpapitest.JSON[discussion](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/discussions/"+id, nil).WantStatus(t, http.StatusOK))
	shown := 0
	for _, n := range d.Notes {
		shown += len(n.Body)
	}
	if len(d.Notes) != 201 || d.Notes[0].Body != long[:2*65_536] || d.Notes[200].Body != long[:2*200] || shown > 2<<20 {
		t.Errorf("%d notes of %d bytes", len(d.Notes), shown)
	}
	if got := bodies(t, w.reporter(t), w.issue.path()+"/notes?per_page=100&page=2&sort=asc"); len(got) != 100 || len(strings.Join(got, "")) > 2<<20 {
		t.Errorf("a page has %d notes of %d bytes", len(got), len(strings.Join(got, "")))
	}

	// A copy has two megabytes of them.
	copied := httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/clone", map[string]any{"to_project_id": w.project.ID, "with_notes": true}).
		WantStatus(t, http.StatusCreated))
	if m := w.again(t, copied); m.NotesCount != 10 {
		t.Errorf("the copy has %d notes", m.NotesCount)
	}
}

func TestWhatABannedPersonSaidIsForAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := w.say(t, w.people[access.Guest], w.issue, "Buy this.")
	id := w.discussionOf(t, n)
	w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions/"+id+"/notes", map[string]any{"body": "No."}).WantStatus(t, http.StatusCreated)
	w.As(t, w.root).Do(t, "POST", fmt.Sprintf("/users/%d/ban", w.people[access.Guest].ID), nil).WantStatus(t, http.StatusCreated)
	one := fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID)
	w.reporter(t).Do(t, "GET", one, nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.people[access.Owner]).Do(t, "PUT", one, map[string]any{"body": "x"}).WantStatus(t, http.StatusNotFound)
	if got := bodies(t, w.reporter(t), w.issue.path()+"/notes"); !slices.Equal(got, []string{"No."}) {
		t.Errorf("others read %q", got)
	}
	w.reporter(t).Do(t, "GET", w.issue.path()+"/discussions/"+id, nil).WantStatus(t, http.StatusNotFound)
	if got := bodies(t, w.As(t, w.root), w.issue.path()+"/notes?sort=asc"); !slices.Equal(got, []string{"Buy this.", "No."}) {
		t.Errorf("an administrator reads %q", got)
	}
	w.As(t, w.root).Do(t, "GET", one, nil).WantStatus(t, http.StatusOK)
}

func TestALockedDiscussionTakesNoEmojiOfStrangers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := w.say(t, w.people[access.Reporter], w.issue, "Enough.")
	w.change(t, w.issue, map[string]any{"discussion_locked": true})
	for _, on := range []string{w.issue.path(), fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID)} {
		w.As(t, w.stranger).Do(t, "POST", on+"/award_emoji", map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusNotFound)
		w.As(t, w.people[access.Guest]).Do(t, "POST", on+"/award_emoji", map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusCreated)
	}
}

// DO-05: whoever changes an issue again and again does not fill the disk.
func TestDO05_ChangesOfAnIssueAreNotedUpToABound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, sql := range []string{
		`insert into resource_events (issue_id, kind, action, closed, created_at) select $1, 'state', 'closed', true, now() from generate_series(1, 9999)`,
		`insert into notes (issue_id, discussion_id, first, thread, body, system, created_at, updated_at)
select $1, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'changed the description', true, now(), now() from generate_series(1, 9999) n`,
	} {
		if _, err := w.DB.Exec(t.Context(), sql, w.issue.ID); err != nil {
			t.Fatal(err)
		}
	}
	count := func(table string) (n int) {
		t.Helper()
		if err := w.DB.QueryRow(t.Context(), `select count(*) from `+table+` where issue_id = $1`, w.issue.ID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, label := range []string{"a", "b", ""} {
		w.change(t, w.issue, map[string]any{"labels": label, "title": "Mend " + label})
	}
	if events, notes := count("resource_events"), count("notes"); events != 10_000 || notes != 10_000 {
		t.Errorf("%d events and %d notes are kept", events, notes)
	}
}

// DO-05: whoever names an issue again and again does not fill the disk, nor the list of what its reader may read.
func TestDO05_AnIssueIsNamedUpToABound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.open(t, w.project, "Other")
	if _, err := w.DB.Exec(t.Context(), `insert into notes (issue_id, discussion_id, first, thread, body, system, refers_to_id, created_at, updated_at)
select $1, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'marked this issue as related to #2', true, $2, now(), now() from generate_series(1, 999) n`, w.issue.ID, other.ID); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.open(t, w.project, "Another", map[string]any{"description": "like #1"})
	}
	var named int
	if err := w.DB.QueryRow(t.Context(), `select count(*) from notes where issue_id = $1 and refers_to_id is not null`, w.issue.ID).Scan(&named); err != nil || named != 1000 {
		t.Errorf("it is named %d times: %v", named, err)
	}
}

func TestDiscussionsHoldWhatWasSaidToEachOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := w.issue.path() + "/discussions"
	guest := w.As(t, w.people[access.Guest])
	begun := httpapitest.JSON[discussion](t, guest.Do(t, "POST", path, map[string]any{"body": "Why?"}).WantStatus(t, http.StatusCreated))
	if len(begun.ID) != 40 || begun.Individual || len(begun.Notes) != 1 || *begun.Notes[0].Type != "DiscussionNote" {
		t.Errorf("begun is %+v", begun)
	}
	w.Turn(time.Minute)
	alone := w.say(t, w.people[access.Reporter], w.issue, "By the way")
	w.Turn(time.Minute)
	reply := httpapitest.JSON[said](t, w.reporter(t).Do(t, "POST", path+"/"+begun.ID+"/notes", map[string]any{"body": "Because."}).WantStatus(t, http.StatusCreated))
	if *reply.Type != "DiscussionNote" {
		t.Errorf("the reply is %+v", reply)
	}
	w.Turn(time.Minute)
	w.change(t, w.issue, map[string]any{"title": "Mend the gate"})
	list := guest.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)
	all := httpapitest.JSON[[]discussion](t, list)
	if len(all) != 3 || list.Header.Get("X-Total") != "3" || all[0].ID != begun.ID || len(all[0].Notes) != 2 || all[0].Notes[1].ID != reply.ID || !all[1].Individual || !all[2].Individual {
		t.Fatalf("listed are %+v", all)
	}
	if page := httpapitest.JSON[[]discussion](t, guest.Do(t, "GET", path+"?per_page=1&page=2", nil)); len(page) != 1 || page[0].Notes[0].ID != alone.ID {
		t.Errorf("the second page is %+v", page)
	}
	// What stands alone becomes a discussion when it is answered; what the instance noted cannot be.
	guest.Do(t, "POST", path+"/"+all[1].ID+"/notes", map[string]any{"body": "Yes?"}).WantStatus(t, http.StatusCreated)
	if d := httpapitest.JSON[discussion](t, guest.Do(t, "GET", path+"/"+all[1].ID, nil)); d.Individual || len(d.Notes) != 2 || *d.Notes[0].Type != "DiscussionNote" {
		t.Errorf("answered is %+v", d)
	}
	guest.Do(t, "POST", path+"/"+all[2].ID+"/notes", map[string]any{"body": "x"}).Want(t, http.StatusBadRequest, `{"message":"400 Bad request - Discussion can not be replied to."}`)
	for _, id := range []string{strings.Repeat("0", 40), "x", strings.Repeat("0", 39)} {
		guest.Do(t, "GET", path+"/"+id, nil).Want(t, http.StatusNotFound, `{"message":"404 Discussion Not Found"}`)
		guest.Do(t, "GET", path+"/"+id+"/notes", nil).Want(t, http.StatusNotFound, `{"message":"404 Notes Not Found"}`)
		guest.Do(t, "POST", path+"/"+id+"/notes", map[string]any{"body": "x"}).WantStatus(t, http.StatusNotFound)
	}
	if got := httpapitest.JSON[[]said](t, guest.Do(t, "GET", path+"/"+begun.ID+"/notes", nil)); len(got) != 2 || got[1].ID != reply.ID {
		t.Errorf("its notes are %+v", got)
	}
}

func TestNotesOfADiscussionAreChangedAndTheNextOneTakesThePlaceOfTheFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := w.issue.path() + "/discussions"
	reporter := w.reporter(t)
	begun := httpapitest.JSON[discussion](t, reporter.Do(t, "POST", path, map[string]any{"body": "Why?"}).WantStatus(t, http.StatusCreated))
	w.Turn(time.Minute)
	reply := httpapitest.JSON[said](t, reporter.Do(t, "POST", path+"/"+begun.ID+"/notes", map[string]any{"body": "Because."}))
	alone := w.say(t, w.people[access.Reporter], w.issue, "alone")
	w.Turn(time.Minute)
	last := httpapitest.JSON[said](t, reporter.Do(t, "POST", path+"/"+begun.ID+"/notes", map[string]any{"body": "I see."}))
	first := fmt.Sprintf("%s/%s/notes/%d", path, begun.ID, begun.Notes[0].ID)
	for want, body := range map[string]map[string]any{
		`{"error":"body, resolved are missing, exactly one parameter must be provided"}`: {},
		`{"error":"body, resolved are mutually exclusive"}`:                              {"body": "x", "resolved": true},
		`{"error":"body is empty"}`:                                                      {"body": ""},
		`{"message":"400 Bad request - Note is not resolvable"}`:                         {"resolved": true},
	} {
		reporter.Do(t, "PUT", first, body).Want(t, http.StatusBadRequest, want)
	}
	if got := httpapitest.JSON[said](t, reporter.Do(t, "PUT", first, map[string]any{"body": "How?"}).WantStatus(t, http.StatusOK)); got.Body != "How?" {
		t.Errorf("changed is %+v", got)
	}
	if got := httpapitest.JSON[said](t, reporter.Do(t, "GET", first, nil).WantStatus(t, http.StatusOK)); got.Body != "How?" {
		t.Errorf("shown is %+v", got)
	}
	// A note of another discussion is not found in this one.
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		reporter.Do(t, method, fmt.Sprintf("%s/%s/notes/%d", path, begun.ID, alone.ID), map[string]any{"body": "x"}).WantStatus(t, http.StatusNotFound)
	}
	reporter.Do(t, "DELETE", first, nil).WantStatus(t, http.StatusNoContent)
	all := httpapitest.JSON[[]discussion](t, reporter.Do(t, "GET", path, nil))
	if len(all) != 2 || all[0].ID != begun.ID || len(all[0].Notes) != 2 || all[0].Notes[0].ID != reply.ID || all[0].Individual {
		t.Errorf("left are %+v", all)
	}
	for _, n := range []said{reply, last} {
		reporter.Do(t, "DELETE", fmt.Sprintf("%s/%s/notes/%d", path, begun.ID, n.ID), nil).WantStatus(t, http.StatusNoContent)
	}
	reporter.Do(t, "GET", path+"/"+begun.ID, nil).WantStatus(t, http.StatusNotFound)
}

func TestEveryChangeOfAnIssueIsNoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	guest := w.people[access.Guest]
	for _, c := range []struct {
		change map[string]any
		want   []string
	}{
		{map[string]any{"title": "Mend the old door"}, []string{"changed title from **Mend the door** to **Mend the {+old +}door**"}},
		{map[string]any{"description": "- [ ] hinge\n- [x] lock"}, []string{"changed the description"}},
		{map[string]any{"description": "- [x] hinge\n- [ ] lock"}, []string{"marked the checklist item **hinge** as completed", "marked the checklist item **lock** as incomplete"}},
		{map[string]any{"description": "- [ ] hinges\n- [ ] lock"}, []string{"changed the description"}},
		{map[string]any{"confidential": true}, []string{"made the issue confidential"}},
		{map[string]any{"confidential": false}, []string{"made the issue visible to everyone"}},
		{map[string]any{"discussion_locked": true}, []string{"locked this issue"}},
		{map[string]any{"discussion_locked": false}, []string{"unlocked this issue"}},
		{map[string]any{"due_date": "2024-03-15"}, []string{"changed due date to March 15, 2024"}},
		{map[string]any{"due_date": "2024-03-15"}, nil},
		{map[string]any{"due_date": ""}, []string{"removed due date March 15, 2024"}},
		{map[string]any{"assignee_ids": []int64{guest.ID}}, []string{"assigned to @" + guest.Username}},
		{map[string]any{"assignee_ids": []int64{w.stranger.ID}}, []string{"assigned to @stranger and unassigned @" + guest.Username}},
		{map[string]any{"assignee_ids": []int64{}}, []string{"unassigned @stranger"}},
		{map[string]any{"issue_type": "incident"}, []string{"changed type from issue to incident"}},
		{map[string]any{"severity": "high"}, []string{"changed the severity to **High - S2**"}},
		{map[string]any{"severity": "unknown"}, []string{"changed the severity to **Unknown**"}},
		{map[string]any{"labels": "bug", "state_event": "close"}, nil},
	} {
		before := len(w.noted(t, w.root, w.issue))
		w.change(t, w.issue, c.change)
		got := w.noted(t, w.root, w.issue)[before:]
		slices.Sort(got)
		if slices.Sort(c.want); !slices.Equal(got, c.want) {
			t.Errorf("%v is noted as %q, want %q", c.change, got, c.want)
		}
	}
}

func TestTimeOfAnIssueIsNoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct{ do, duration, want string }{
		{"time_estimate", "2h", "changed time estimate to 2h"},
		{"add_spent_time", "1h 30m", "added 1h 30m of time spent"},
		{"add_spent_time", "-30m", "subtracted 30m of time spent"},
		{"reset_spent_time", "", "removed time spent"},
		{"reset_time_estimate", "", "removed time estimate"},
	} {
		before := len(w.noted(t, w.root, w.issue))
		if r := w.reporter(t).Do(t, "POST", w.issue.path()+"/"+c.do, map[string]any{"duration": c.duration}); r.Status >= 300 {
			t.Fatalf("%s: %d", c.do, r.Status)
		}
		if got := w.noted(t, w.root, w.issue)[before:]; !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s is noted as %q, want %q", c.do, got, c.want)
		}
	}
}

func TestPE02_ANoteThatNamesAnIssueIsSeenByWhoReadsThatIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Named("cellar")).ID, projecttest.Named("vault"))
	projecttest.Join(t, w.DB, hidden, w.people[access.Reporter], access.Reporter)
	there := w.open(t, hidden, "Count the gold")
	plain := w.open(t, w.project, "Plain")
	for _, to := range []made{there, plain} {
		w.reporter(t).Do(t, "POST", w.issue.path()+"/links", map[string]any{"target_project_id": to.ProjectID, "target_issue_iid": to.IID}).WantStatus(t, http.StatusCreated)
	}
	all := []string{"marked this issue as related to cellar/vault#1", "marked this issue as related to #2"}
	if got := w.noted(t, w.people[access.Reporter], w.issue); !slices.Equal(got, all) {
		t.Errorf("the reporter reads %q", got)
	}
	for _, u := range []*user.User{w.stranger, w.people[access.Owner]} {
		list := w.As(t, u).Do(t, "GET", w.issue.path()+"/notes", nil)
		if got := w.noted(t, u, w.issue); !slices.Equal(got, all[1:]) || list.Header.Get("X-Total") != "1" {
			t.Errorf("%s reads %q of %s", u.Username, got, list.Header.Get("X-Total"))
		}
	}
	notes := httpapitest.JSON[[]said](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/notes?sort=asc", nil))
	w.As(t, w.stranger).Do(t, "GET", fmt.Sprintf("%s/notes/%d", w.issue.path(), notes[0].ID), nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.stranger).Do(t, "GET", w.issue.path()+"/discussions/"+w.discussionOf(t, notes[0]), nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.stranger).Do(t, "GET", fmt.Sprintf("%s/notes/%d", w.issue.path(), notes[1].ID), nil).WantStatus(t, http.StatusOK)
	if got := w.noted(t, w.people[access.Reporter], there); !slices.Equal(got, []string{"marked this issue as related to house/tool#1"}) {
		t.Errorf("there it reads %q", got)
	}
	// The link is cut, and the one that it named goes: so do the notes that named it.
	links := httpapitest.JSON[[]struct {
		LinkID int64 `json:"issue_link_id"`
	}](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/links", nil))
	w.reporter(t).Do(t, "DELETE", fmt.Sprintf("%s/links/%d", w.issue.path(), links[1].LinkID), nil).WantStatus(t, http.StatusOK)
	if got := w.noted(t, w.stranger, w.issue); !slices.Equal(got, []string{all[1], "removed the relation with #2"}) {
		t.Errorf("cut is noted as %q", got)
	}
	w.As(t, w.people[access.Owner]).Do(t, "DELETE", plain.path(), nil).WantStatus(t, http.StatusNoContent)
	if got := w.noted(t, w.people[access.Reporter], w.issue); !slices.Equal(got, all[:1]) {
		t.Errorf("left is %q", got)
	}
}

func TestLinksThatBlockAreNotedFromBothEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.open(t, w.project, "Other")
	w.reporter(t).Do(t, "POST", w.issue.path()+"/links", map[string]any{
		"target_project_id": other.ProjectID, "target_issue_iid": other.IID, "link_type": "blocks",
	}).WantStatus(t, http.StatusCreated)
	here, there := w.noted(t, w.stranger, w.issue), w.noted(t, w.stranger, other)
	if !slices.Equal(here, []string{"marked this issue as blocking #2"}) || !slices.Equal(there, []string{"marked this issue as blocked by #1"}) {
		t.Errorf("noted are %q and %q", here, there)
	}
}

func TestWhatWasSaidMovesWithItsIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.say(t, w.stranger, w.issue, "a comment")
	w.reporter(t).Do(t, "POST", w.issue.path()+"/award_emoji", map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusCreated)
	w.change(t, w.issue, map[string]any{"labels": "bug"})
	to := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, to, w.people[access.Reporter], access.Reporter)
	moved := httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/move", map[string]any{"to_project_id": to.ID}).WantStatus(t, http.StatusCreated))
	if got := bodies(t, w.reporter(t), moved.path()+"/notes?sort=asc"); !slices.Equal(got, []string{"a comment", "moved from house/tool#1"}) {
		t.Errorf("there is said %q", got)
	}
	if got := bodies(t, w.reporter(t), w.issue.path()+"/notes"); !slices.Equal(got, []string{"moved to house/other#1"}) {
		t.Errorf("here is said %q", got)
	}
	if here, there := w.again(t, w.issue), w.again(t, moved); here.NotesCount != 0 || here.Upvotes != 0 || there.NotesCount != 1 || there.Upvotes != 1 {
		t.Errorf("counted are %+v and %+v", here, there)
	}
	if got := httpapitest.JSON[[]event](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/resource_state_events", nil)); len(got) != 1 || got[0].State != "closed" {
		t.Errorf("the old one became %+v", got)
	}
	if got := httpapitest.JSON[[]event](t, w.reporter(t).Do(t, "GET", moved.path()+"/resource_label_events", nil)); len(got) != 1 {
		t.Errorf("the new one became %+v", got)
	}
}

func TestACloneHasWhatWasSaidIfItIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	begun := httpapitest.JSON[discussion](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions", map[string]any{"body": "Why?"}))
	w.Turn(time.Second)
	w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions/"+begun.ID+"/notes", map[string]any{"body": "Because."})
	w.say(t, w.people[access.Reporter], w.issue, "Among us.", map[string]any{"internal": true})
	w.change(t, w.issue, map[string]any{"title": "Mend the gate"})
	clone := func(notes bool) made {
		return httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/clone", map[string]any{"to_project_id": w.project.ID, "with_notes": notes}).
			WantStatus(t, http.StatusCreated))
	}
	with, without := clone(true), clone(false)
	all := httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", with.path()+"/discussions", nil))
	if len(all) != 3 || len(all[0].Notes) != 2 || all[0].ID == begun.ID || all[0].Notes[0].Body != "Why?" || all[2].Notes[0].Body != "cloned from #1" {
		t.Errorf("the clone has %+v", all)
	}
	// What was said among reporters stays among them.
	if !all[1].Notes[0].Internal || all[1].Notes[0].Body != "Among us." {
		t.Errorf("the clone has %+v", all[1])
	}
	if got := bodies(t, w.As(t, w.stranger), with.path()+"/notes?sort=asc"); !slices.Equal(got, []string{"Why?", "Because.", "cloned from #1"}) {
		t.Errorf("a stranger reads %q in the clone", got)
	}
	if m := w.again(t, with); m.NotesCount != 2 {
		t.Errorf("the clone counts %d", m.NotesCount)
	}
	if got := bodies(t, w.reporter(t), without.path()+"/notes"); !slices.Equal(got, []string{"cloned from #1"}) || w.again(t, without).NotesCount != 0 {
		t.Errorf("the other clone has %q", got)
	}
	if m := w.again(t, w.issue); m.NotesCount != 2 {
		t.Errorf("the issue counts %d", m.NotesCount)
	}
}

// event is a change of an issue as the API shows it.
type event struct {
	ID        int64                   `json:"id"`
	User      *struct{ ID int64 }     `json:"user"`
	Type      string                  `json:"resource_type"`
	Of        int64                   `json:"resource_id"`
	State     string                  `json:"state"`
	Action    string                  `json:"action"`
	Label     *struct{ Name string }  `json:"label"`
	Milestone *struct{ Title string } `json:"milestone"`
}

func (w *fixture) changes(t testing.TB, kind string) []event {
	t.Helper()
	return httpapitest.JSON[[]event](t, w.As(t, w.stranger).Do(t, "GET", w.issue.path()+"/resource_"+kind+"_events", nil).WantStatus(t, http.StatusOK))
}

func TestStatesLabelsAndMilestonesOfAnIssueAreKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID), map[string]any{"title": "spring"}))
	for _, c := range []map[string]any{
		{"labels": "bug,wood"}, {"remove_labels": "bug"}, {"state_event": "close"}, {"milestone_id": m.ID}, {"state_event": "reopen"}, {"milestone_id": 0},
	} {
		w.change(t, w.issue, c)
	}
	states := w.changes(t, "state")
	if len(states) != 2 || states[0].State != "closed" || states[1].State != "reopened" || states[0].Type != "Issue" || states[0].Of != w.issue.ID ||
		states[0].User.ID != w.people[access.Reporter].ID {
		t.Errorf("the states were %+v", states)
	}
	labels := w.changes(t, "label")
	if len(labels) != 3 || labels[0].Action != "add" || labels[2].Action != "remove" || labels[2].Label.Name != "bug" {
		t.Errorf("the labels were %+v", labels)
	}
	milestones := w.changes(t, "milestone")
	if len(milestones) != 2 || milestones[0].Action != "add" || milestones[0].State != "closed" || milestones[1].Action != "remove" || milestones[1].Milestone.Title != "spring" ||
		milestones[1].State != "opened" {
		t.Errorf("the milestones were %+v", milestones)
	}
	one := fmt.Sprintf("%s/resource_label_events/%d", w.issue.path(), labels[2].ID)
	if got := httpapitest.JSON[event](t, w.As(t, w.stranger).Do(t, "GET", one, nil).WantStatus(t, http.StatusOK)); got.Label.Name != "bug" {
		t.Errorf("one is %+v", got)
	}
	w.As(t, w.stranger).Do(t, "GET", fmt.Sprintf("%s/resource_state_events/%d", w.issue.path(), labels[2].ID), nil).WantStatus(t, http.StatusNotFound)
	// Labels and milestones that an issue is made with are kept, too.
	other := w.open(t, w.project, "Made with", map[string]any{"labels": "bug", "milestone_id": m.ID})
	for _, kind := range []string{"label", "milestone"} {
		if all := httpapitest.JSON[[]event](t, w.reporter(t).Do(t, "GET", other.path()+"/resource_"+kind+"_events", nil)); len(all) != 1 || all[0].Action != "add" {
			t.Errorf("of the %s is kept %+v", kind, all)
		}
	}
	// A label that is gone is null.
	w.reporter(t).Do(t, "DELETE", fmt.Sprintf("/projects/%d/labels/bug", w.project.ID), nil).WantStatus(t, http.StatusNoContent)
	if got := httpapitest.JSON[event](t, w.As(t, w.stranger).Do(t, "GET", one, nil).WantStatus(t, http.StatusOK)); got.Label != nil {
		t.Errorf("a label that is gone is %+v", got)
	}
}

func TestPE02_LabelsOfAGroupThatAProjectLeftAreNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	left := grouptest.New(t, w.DB, grouptest.Named("left"))
	label := usableLabel(t, w, left.ID)
	if _, err := w.DB.Exec(t.Context(), `
insert into resource_events (issue_id, user_id, kind, action, label_id, closed, created_at) values ($1, $2, 'label', 'add', $3, false, now())`,
		w.issue.ID, w.stranger.ID, label); err != nil {
		t.Fatal(err)
	}
	all := w.changes(t, "label")
	if len(all) != 1 || all[0].Label != nil {
		t.Errorf("listed are %+v", all)
	}
	w.As(t, w.stranger).Do(t, "GET", fmt.Sprintf("%s/resource_label_events/%d", w.issue.path(), all[0].ID), nil).Want(t, http.StatusNotFound, `{"message":"404 ResourceLabelEvent Not Found"}`)
}

func usableLabel(t testing.TB, w *fixture, groupID int64) (id int64) {
	t.Helper()
	if err := w.DB.QueryRow(t.Context(), `
insert into labels (namespace_id, name, color, created_at, updated_at) values ($1, 'private', '#aabbcc', now(), now()) returning id`, groupID).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// award is an emoji as the API shows it.
type award struct {
	ID   int64               `json:"id"`
	Name string              `json:"name"`
	User *struct{ ID int64 } `json:"user"`
	Of   int64               `json:"awardable_id"`
	Type string              `json:"awardable_type"`
}

func TestEmojiAreGivenOnceAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := w.say(t, w.people[access.Reporter], w.issue, "x")
	for path, of := range map[string]award{
		w.issue.path() + "/award_emoji":                              {Type: "Issue", Of: w.issue.ID},
		fmt.Sprintf("%s/notes/%d/award_emoji", w.issue.path(), n.ID): {Type: "Note", Of: n.ID},
	} {
		stranger := w.As(t, w.stranger)
		given := httpapitest.JSON[award](t, stranger.Do(t, "POST", path, map[string]any{"name": "+1"}).WantStatus(t, http.StatusCreated))
		if given.Name != "thumbsup" || given.User.ID != w.stranger.ID || given.Type != of.Type || given.Of != of.Of {
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
		w.Client.Do(t, "POST", path, map[string]any{"name": "heart"}).WantStatus(t, http.StatusUnauthorized)
	}
	// An emoji of the issue is not one of the note.
	all := httpapitest.JSON[[]award](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/award_emoji", nil))
	w.reporter(t).Do(t, "GET", fmt.Sprintf("%s/notes/%d/award_emoji/%d", w.issue.path(), n.ID, all[0].ID), nil).WantStatus(t, http.StatusNotFound)
	// Administrators take those of others; those who are not signed in see them where the issue is public.
	w.As(t, w.root).Do(t, "DELETE", fmt.Sprintf("%s/award_emoji/%d", w.issue.path(), all[0].ID), nil).WantStatus(t, http.StatusNoContent)
	w.Client.Do(t, "GET", w.issue.path()+"/award_emoji", nil).WantStatus(t, http.StatusOK)
	// What the instance noted takes none.
	w.change(t, w.issue, map[string]any{"title": "Mend the gate"})
	system := httpapitest.JSON[[]said](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/notes?activity_filter=only_activity", nil))[0]
	w.reporter(t).Do(t, "POST", fmt.Sprintf("%s/notes/%d/award_emoji", w.issue.path(), system.ID), map[string]any{"name": "heart"}).WantStatus(t, http.StatusNotFound)
}

func TestAnIssueCountsItsVotesWhoeverGivesAndTakesThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := w.issue.path() + "/award_emoji"
	given := apptest.Heard[note.AwardEvent](w.Instance)
	for u, name := range map[*user.User]string{w.stranger: "thumbsup", w.people[access.Guest]: "thumbsdown", w.people[access.Owner]: "heart"} {
		w.As(t, u).Do(t, "POST", path, map[string]any{"name": name}).WantStatus(t, http.StatusCreated)
		// Others hear of each: it settles what its giver was asked.
		if told := given(); len(told) != 1 || !told[0].By.Is(u.ID) || told[0].Award.Name != name || *told[0].Award.IssueID != w.issue.ID {
			t.Errorf("told is %+v", told)
		}
	}
	if m := w.again(t, w.issue); m.Upvotes != 1 || m.Downvotes != 1 {
		t.Errorf("counted is %+v", m)
	}
	if _, err := w.DB.Exec(t.Context(), `delete from users where id = $1`, w.stranger.ID); err != nil {
		t.Fatal(err)
	}
	if m := w.again(t, w.issue); m.Upvotes != 0 || m.Downvotes != 1 {
		t.Errorf("counted is %+v when one is gone", m)
	}
}

func TestLabelsAndMilestonesThatBecomeOthersAreNamedByThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.change(t, w.issue, map[string]any{"labels": "bug"})
	m := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID), map[string]any{"title": "spring"}))
	w.change(t, w.issue, map[string]any{"milestone_id": m.ID})
	root := w.As(t, w.root)
	root.Do(t, "PUT", fmt.Sprintf("/projects/%d/labels/bug/promote", w.project.ID), nil).WantStatus(t, http.StatusOK)
	root.Do(t, "POST", fmt.Sprintf("/projects/%d/milestones/%d/promote", w.project.ID, m.ID), nil).WantStatus(t, http.StatusOK)
	if all := w.changes(t, "label"); len(all) != 1 || all[0].Label == nil || all[0].Label.Name != "bug" {
		t.Errorf("the labels were %+v", all)
	}
	if all := w.changes(t, "milestone"); len(all) != 1 || all[0].Milestone == nil || all[0].Milestone.Title != "spring" {
		t.Errorf("the milestones were %+v", all)
	}
}

// PE-09: who may not read internal notes does not learn that there are some.
func TestPE09_AnInternalNoteChangesNothingThatOthersSeeOfItsIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.say(t, w.stranger, w.issue, "everybody reads this")
	seen := func() (all []string) {
		t.Helper()
		for _, u := range []*user.User{w.stranger, w.people[access.Guest]} {
			for _, path := range []string{
				w.issue.path(), w.issue.path() + "/notes", w.issue.path() + "/discussions", w.issue.path() + "/participants",
				fmt.Sprintf("/projects/%d/issues?order_by=updated_at", w.project.ID),
			} {
				r := w.As(t, u).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)
				all = append(all, r.Body, r.Header.Get("X-Total"))
			}
		}
		return all
	}
	before := seen()
	unchanged := func(after string) {
		t.Helper()
		if now := seen(); !slices.Equal(before, now) {
			t.Errorf("after %s others see %v, before %v", after, now, before)
		}
	}
	w.Turn(time.Hour)
	n := w.say(t, w.people[access.Reporter], w.issue, "between us", map[string]any{"internal": true})
	unchanged("an internal note")
	at := fmt.Sprintf("%s/notes/%d", w.issue.path(), n.ID)
	w.Turn(time.Hour)
	w.reporter(t).Do(t, "PUT", at, map[string]any{"body": "still between us"}).WantStatus(t, http.StatusOK)
	unchanged("its change")
	w.reporter(t).Do(t, "POST", at+"/award_emoji", map[string]any{"name": "heart"}).WantStatus(t, http.StatusCreated)
	unchanged("an emoji for it")
	w.Turn(time.Hour)
	w.reporter(t).Do(t, "DELETE", at, nil).WantStatus(t, http.StatusNoContent)
	unchanged("its end")
	// A copy counts what everybody reads of it.
	w.say(t, w.people[access.Reporter], w.issue, "again", map[string]any{"internal": true})
	clone := httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", w.issue.path()+"/clone", map[string]any{"to_project_id": w.project.ID, "with_notes": true}).WantStatus(t, http.StatusCreated))
	if got := w.again(t, clone); got.NotesCount != 1 {
		t.Errorf("the copy counts %d", got.NotesCount)
	}
}

func TestWhatMovesNamesIssuesOfItsFormerProjectInFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.open(t, w.project, "The other") // #2
	moving := w.open(t, w.project, "Mend the gate", map[string]any{"description": "Like #2 and #99, not `#2`, house/tool#1 or \\#2.\n\n```\n#2\n```\n\n| a |\n|---|\n| #1 |"})
	w.say(t, w.stranger, moving, "see #2, (#2) and [a link](#2)")
	w.say(t, w.stranger, moving, "nothing here")
	w.reporter(t).Do(t, "POST", moving.path()+"/links", map[string]any{"target_project_id": w.project.ID, "target_issue_iid": other.IID}).WantStatus(t, http.StatusCreated)
	to := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, to, w.people[access.Reporter], access.Reporter)
	const want = "Like house/tool#2 and #99, not `#2`, house/tool#1 or \\#2.\n\n```\n#2\n```\n\n| a |\n|---|\n| house/tool#1 |"
	for _, act := range []string{"clone", "move"} {
		came := httpapitest.JSON[struct {
			made
			Description string
		}](t, w.reporter(t).Do(t, "POST", moving.path()+"/"+act, map[string]any{"to_project_id": to.ID, "with_notes": true}).WantStatus(t, http.StatusCreated))
		if came.Description != want {
			t.Errorf("%s: described is %q", act, came.Description)
		}
		said := bodies(t, w.reporter(t), came.path()+"/notes?sort=asc")
		for _, text := range []string{"see house/tool#2, (house/tool#2) and [a link](#2)", "nothing here"} {
			if !slices.Contains(said, text) {
				t.Errorf("%s: said is %q", act, said)
			}
		}
		if act == "move" && !slices.Contains(said, "marked this issue as related to house/tool#2") {
			t.Errorf("noted is %q", said)
		}
	}
}

func TestACommentAndTheEndOfItsIssueComeTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := func(u *user.User) (access.Actor, note.AtIssue) {
		t.Helper()
		a := access.Actor{Person: u.Person()}
		i, p, err := w.Issues.FindByID(t.Context(), a, w.issue.ID)
		if err != nil {
			t.Fatal(err)
		}
		return a, note.AtIssue{Placed: issue.Placed{Project: p, Issue: i}}
	}
	a, at := by(w.stranger) // may comment, and not close it
	if _, err := w.Notes.Create(t.Context(), a, at, note.Draft{Body: "I close this", Close: new(true)}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("who may not close it: %v", err)
	}
	if got := w.again(t, w.issue); got.NotesCount != 0 {
		t.Errorf("%d comments are left", got.NotesCount)
	}
	a, at = by(w.people[access.Reporter])
	if _, err := w.Notes.Create(t.Context(), a, at, note.Draft{Body: "I close this", Close: new(true)}); err != nil {
		t.Fatal(err)
	}
	if _, at = by(w.people[access.Reporter]); !at.Issue.Closed || at.Issue.NotesCount != 1 {
		t.Errorf("closed: %v, with %d comments", at.Issue.Closed, at.Issue.NotesCount)
	}
	if _, err := w.Notes.Create(t.Context(), a, at, note.Draft{Body: "and open it", Close: new(false)}); err != nil {
		t.Fatal(err)
	}
	if _, at = by(w.people[access.Reporter]); at.Issue.Closed || at.Issue.NotesCount != 2 {
		t.Errorf("closed: %v, with %d comments", at.Issue.Closed, at.Issue.NotesCount)
	}
}
