package mention_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/paging"
	"stithy/internal/mention"
	"stithy/internal/note"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// pushing is a fixture with a developer, whose project holds one commit on main.
type pushing struct {
	*fixture
	dev  *user.User
	repo *gitstore.Repo
	tree string
	read int64 // the last job that was run
}

func newPushing(t testing.TB) *pushing {
	t.Helper()
	w := &pushing{fixture: newFixture(t)}
	w.dev = usertest.New(t, w.DB, usertest.Named("dev"))
	projecttest.Join(t, w.DB, w.project, w.dev, access.Developer)
	w.repo = repositorytest.New(t, w.DB, w.Store, w.project, repositorytest.Files{"a": "b"})
	w.tree = strings.TrimSpace(gitstoretest.Git(t, w.Store, w.repo, "", "rev-parse", "main^{tree}"))
	return w
}

// tip is what a branch is now.
func (w *pushing) tip(t testing.TB, branch string) gitstore.OID {
	t.Helper()
	ref, err := w.repo.Ref(t.Context(), gitstore.Branches+branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return gitstore.Zero
	} else if err != nil {
		t.Fatal(err)
	}
	return ref.Target
}

// commit makes commits on top of another one, which no branch has yet.
func (w *pushing) commit(t testing.TB, parent gitstore.OID, messages ...string) gitstore.OID {
	t.Helper()
	for _, m := range messages {
		args := []string{"commit-tree", w.tree, "-F", "-"}
		if parent != gitstore.Zero {
			args = append(args, "-p", string(parent))
		}
		parent = gitstore.OID(strings.TrimSpace(gitstoretest.Git(t, w.Store, w.repo, m, args...)))
	}
	return parent
}

// move pushes a branch to where it shall be as somebody, and runs no job.
func (w *pushing) move(t testing.TB, as *user.User, branch string, to gitstore.OID) {
	t.Helper()
	by, err := w.Tokens.Later(t.Context(), as.ID)
	if err != nil {
		t.Fatal(err)
	}
	by.Credential.Kind = access.SSHKey
	w.moveAs(t, by, gitstore.RefUpdate{Name: gitstore.Branches + branch, Old: w.tip(t, branch), New: to})
}

func (w *pushing) moveAs(t testing.TB, by access.Actor, updates ...gitstore.RefUpdate) {
	t.Helper()
	p, err := w.Projects.Find(t.Context(), by, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Repositories.Push(t.Context(), by, p, gitstore.Quarantine{}, updates...); err != nil {
		t.Fatal(err)
	}
}

// jobs are those that pushes left behind since the last call.
func (w *pushing) jobs(t testing.TB) (all []mention.CommitsArgs) {
	t.Helper()
	rows, err := postgres.All[struct {
		ID   int64
		Args mention.CommitsArgs
	}](t.Context(), w.DB, `select id, args from river_job where kind = 'mention_commits' and id > $1 order by id`, w.read)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		all, w.read = append(all, r.Args), r.ID
	}
	return all
}

func (w *pushing) run(t testing.TB, jobs ...mention.CommitsArgs) {
	t.Helper()
	for _, args := range jobs {
		if err := w.Mentions.ReadCommits(t.Context(), args); err != nil {
			t.Error(err)
		}
	}
}

// push adds commits to a branch as the developer, and what follows is done. It returns the last one.
func (w *pushing) push(t testing.TB, branch string, messages ...string) gitstore.OID {
	t.Helper()
	from := w.tip(t, branch)
	if from == gitstore.Zero {
		from = w.tip(t, "main")
	}
	id := w.commit(t, from, messages...)
	w.move(t, w.dev, branch, id)
	w.run(t, w.jobs(t)...)
	return id
}

// closed is by whom an issue is closed, "" while it is open.
func (w *pushing) closed(t testing.TB, m made) string {
	t.Helper()
	i := httpapitest.JSON[struct {
		State    string
		ClosedBy *struct{ Username string } `json:"closed_by"`
	}](t, w.As(t, w.root).Do(t, "GET", m.path(), nil).WantStatus(t, http.StatusOK))
	if i.State == "opened" {
		return ""
	}
	return i.ClosedBy.Username
}

// states are the changes of state of an issue, and what made them, as somebody is shown them on its page.
func (w *pushing) states(t testing.TB, as *user.User, m made) []string {
	t.Helper()
	by, err := w.Tokens.Later(t.Context(), as.ID)
	if err != nil {
		t.Fatal(err)
	}
	i, p, err := w.Issues.FindByID(t.Context(), by, m.ID)
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.Notes.Timeline(t.Context(), by, note.AtIssue{Placed: issue.Placed{Project: p, Issue: i}}, paging.Request{PerPage: 100, Page: 1})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, moment := range page.Items {
		if moment.Change != nil {
			all = append(all, strings.TrimSpace(moment.Change.Action+" "+moment.Via))
		}
	}
	return all
}

func want(t testing.TB, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestACommitOnTheDefaultBranchClosesIssues(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	other := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, other, w.dev, access.Reporter)
	one, two, three := w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.project, "")
	far, near := w.open(t, w.reporter, other, ""), w.open(t, w.reporter, other, "")
	sha := w.push(t, "main", fmt.Sprintf("Mend the door\n\nCloses #%d and https://forge.example/house/other/-/issues/%d. See #%d, other#%d and #999.", one.IID, far.IID, two.IID, near.IID))
	for _, tt := range []struct {
		made
		by    string
		notes []string
	}{
		{one, "dev", []string{"mentioned in commit " + string(sha)}},
		{far, "dev", []string{"mentioned in commit house/tool@" + string(sha)}},
		{two, "", []string{"mentioned in commit " + string(sha)}},
		{near, "", []string{"mentioned in commit house/tool@" + string(sha)}},
		{three, "", []string{}},
	} {
		if by := w.closed(t, tt.made); by != tt.by {
			t.Errorf("%s is closed by %q, want %q", tt.path(), by, tt.by)
		}
		want(t, tt.path(), w.noted(t, w.guest, tt.made), tt.notes)
	}
	want(t, "state", w.states(t, w.guest, one), []string{"closed commit " + string(sha)})
	want(t, "state elsewhere", w.states(t, w.guest, far), []string{"closed commit house/tool@" + string(sha)})
	// The API tells of the state as it does of any other.
	w.As(t, w.guest).Do(t, "GET", one.path()+"/resource_state_events", nil).WantStatus(t, http.StatusOK)
	author, err := postgres.Value[int64](t.Context(), w.DB, `select author_id from notes where issue_id = $1`, two.ID)
	if err != nil || author != w.dev.ID {
		t.Errorf("noted by %d, %v", author, err)
	}
}

func TestACommitOfAnotherBranchIsNotedAndClosesNothing(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	m := w.open(t, w.reporter, w.project, "")
	first := w.push(t, "topic", fmt.Sprintf("Fix #%d", m.IID))
	second := w.push(t, "topic", fmt.Sprintf("Fix #%d at last", m.IID))
	noted := []string{"mentioned in commit " + string(first), "mentioned in commit " + string(second)}
	if by := w.closed(t, m); by != "" {
		t.Errorf("closed by %q", by)
	}
	want(t, "on a branch", w.noted(t, w.guest, m), noted)
	w.move(t, w.dev, "main", second)
	w.run(t, w.jobs(t)...)
	if by := w.closed(t, m); by != "dev" {
		t.Errorf("on the default branch: closed by %q", by)
	}
	want(t, "on the default branch", w.noted(t, w.guest, m), noted)
	// The first of them closed it.
	want(t, "state", w.states(t, w.guest, m), []string{"closed commit " + string(first)})
	// What the default branch has is not new on another.
	before := w.commit(t, w.tip(t, "main"), fmt.Sprintf("See #%d", m.IID))
	w.move(t, w.dev, "main", before)
	jobs := w.jobs(t)
	w.move(t, w.dev, "late", before)
	w.run(t, w.jobs(t)...)
	want(t, "of a branch that starts there", w.noted(t, w.guest, m), noted)
	w.run(t, jobs...)
	want(t, "of the default branch", w.noted(t, w.guest, m), append(noted, "mentioned in commit "+string(before)))
}

func TestWhoPushedClosesWhatTheyMayEditWhenItIsRead(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	set := func(column string, value any) func(*project.Project) {
		return func(p *project.Project) {
			if _, err := w.DB.Exec(t.Context(), `update projects set `+column+` = $2 where id = $1`, p.ID, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	as := func(u *user.User, role access.Role) func(*project.Project) {
		return func(p *project.Project) { projecttest.Join(t, w.DB, p, u, role) }
	}
	none := func(*project.Project) {}
	for n, tt := range []struct {
		name          string
		visible       access.Visibility
		before, after func(*project.Project)
		author        *user.User
		more          map[string]any
		noted, closed bool
	}{
		{"a reporter", access.Private, as(w.dev, access.Reporter), none, w.root, nil, true, true},
		{"a guest", access.Private, as(w.dev, access.Guest), none, w.root, nil, true, false},
		{"a guest who wrote it", access.Private, as(w.dev, access.Guest), none, w.dev, nil, true, true},
		{"a stranger", access.Private, none, none, w.root, nil, false, false},
		{"a stranger in public", access.Public, none, none, w.root, nil, true, false},
		{"one who came since", access.Private, none, as(w.dev, access.Reporter), w.root, nil, true, true},
		{"a guest, of what is confidential", access.Public, as(w.dev, access.Guest), none, w.root, map[string]any{"confidential": true}, false, false},
		{"a reporter, of what is confidential", access.Public, as(w.dev, access.Reporter), none, w.root, map[string]any{"confidential": true}, true, true},
		{"a reporter, of what is archived", access.Public, as(w.dev, access.Reporter), set("archived", true), w.root, nil, false, false},
		{"a reporter, where nothing is closed", access.Public, as(w.dev, access.Reporter), set("settings", map[string]any{"autoclose_referenced_issues": false}), w.root, nil, true, false},
	} {
		p := projecttest.New(t, w.DB, w.house.ID, projecttest.Named(fmt.Sprintf("other-%d", n)), projecttest.Visible(tt.visible))
		tt.before(p)
		m := w.open(t, tt.author, p, "", tt.more)
		w.move(t, w.dev, "main", w.commit(t, w.tip(t, "main"), fmt.Sprintf("Closes house/%s#%d", p.Path, m.IID)))
		tt.after(p)
		w.run(t, w.jobs(t)...)
		if noted := len(w.noted(t, w.root, m)) > 0; noted != tt.noted {
			t.Errorf("%s: noted %t", tt.name, noted)
		}
		if closed := w.closed(t, m) != ""; closed != tt.closed {
			t.Errorf("%s: closed %t", tt.name, closed)
		}
	}
}

func TestWhoLostTheirRightsSinceTheyPushedClosesNothing(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	m := w.open(t, w.reporter, w.project, "")
	w.move(t, w.dev, "main", w.commit(t, w.tip(t, "main"), fmt.Sprintf("Closes #%d", m.IID)))
	jobs := w.jobs(t)
	during := func(what, do, undo string, id int64) {
		t.Helper()
		if _, err := w.DB.Exec(t.Context(), do, id); err != nil {
			t.Fatal(err)
		}
		w.run(t, jobs...)
		if by := w.closed(t, m); by != "" || len(w.noted(t, w.root, m)) > 0 {
			t.Errorf("%s: closed by %q, noted %q", what, by, w.noted(t, w.root, m))
		}
		if _, err := w.DB.Exec(t.Context(), undo, id); err != nil {
			t.Fatal(err)
		}
	}
	during("blocked", `update users set state = 'blocked' where id = $1`, `update users set state = 'active' where id = $1`, w.dev.ID)
	during("the code is for members, and they are none any more",
		`with gone as (update members set requested_at = now() where user_id = (select id from users where username = 'dev')) update projects set visibility = 0 where id = $1`,
		`with back as (update members set requested_at = null where user_id = (select id from users where username = 'dev')) update projects set visibility = 20 where id = $1`,
		w.project.ID)
	during("there is no code any more", `update projects set features = jsonb_set(features, '{repository}', '"disabled"') where id = $1`,
		`update projects set features = jsonb_set(features, '{repository}', '"enabled"') where id = $1`, w.project.ID)
	w.run(t, jobs...)
	if by := w.closed(t, m); by != "dev" {
		t.Errorf("with their rights: closed by %q", by)
	}
}

func TestTheSameCommitClosesAndIsNotedOnce(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	m, shut := w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.project, "")
	w.As(t, w.reporter).Do(t, "PUT", shut.path(), map[string]any{"state_event": "close"}).WantStatus(t, http.StatusOK)
	sha := w.commit(t, w.tip(t, "main"), fmt.Sprintf("Closes #%d, house/tool#%d and #%d", m.IID, m.IID, shut.IID))
	w.move(t, w.dev, "main", sha)
	jobs := w.jobs(t)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { w.run(t, jobs...) })
	}
	all.Wait()
	for _, m := range []made{m, shut} {
		w.As(t, w.reporter).Do(t, "PUT", m.path(), map[string]any{"state_event": "reopen"}).WantStatus(t, http.StatusOK)
	}
	w.run(t, jobs...)
	for _, m := range []made{m, shut} {
		if by := w.closed(t, m); by != "" {
			t.Errorf("%s was reopened, and %q closed it", m.path(), by)
		}
		want(t, "notes", w.noted(t, w.guest, m), []string{"mentioned in commit " + string(sha)})
	}
	want(t, "states", w.states(t, w.guest, m), []string{"closed commit " + string(sha), "reopened"})
	want(t, "states of what was closed", w.states(t, w.guest, shut), []string{"closed", "reopened"})
	again := w.push(t, "main", fmt.Sprintf("Closes #%d", m.IID))
	want(t, "another commit", w.states(t, w.guest, m), []string{"closed commit " + string(sha), "reopened", "closed commit " + string(again)})
}

func TestAForcedPushReadsWhatItBrings(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	m, other := w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.project, "")
	base := w.tip(t, "main")
	old := w.push(t, "main", fmt.Sprintf("See #%d", m.IID), "Second thoughts")
	first := strings.TrimSpace(gitstoretest.Git(t, w.Store, w.repo, "", "rev-parse", string(old)+"^"))
	amended := w.commit(t, base, fmt.Sprintf("See #%d, and again", m.IID), fmt.Sprintf("Closes #%d", other.IID))
	w.move(t, w.dev, "main", amended)
	w.run(t, w.jobs(t)...)
	brought := strings.TrimSpace(gitstoretest.Git(t, w.Store, w.repo, "", "rev-parse", string(amended)+"^"))
	want(t, "both", w.noted(t, w.guest, m), []string{"mentioned in commit " + first, "mentioned in commit " + brought})
	if by := w.closed(t, other); by != "dev" {
		t.Errorf("closed by %q", by)
	}
	// A job that comes when its commits are gone has nothing to do.
	gone := mention.CommitsArgs{ProjectID: w.project.ID, UserID: w.dev.ID, Branch: "main", Old: string(base), New: strings.Repeat("1", 40)}
	w.run(t, gone)
}

func TestManyCommitsAreReadUpToALimit(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	m := w.open(t, w.reporter, w.project, "")
	var in strings.Builder
	for n := range 1000 {
		message := fmt.Sprintf("Commit %d of #%d", n, m.IID)
		fmt.Fprintf(&in, "commit refs/heads/scratch\ncommitter Ada <ada@example.com> %d +0000\ndata %d\n%s\n", 1709294400+n, len(message), message)
		if n == 0 {
			fmt.Fprintf(&in, "from %s\n", w.tip(t, "main"))
		}
		in.WriteByte('\n')
	}
	gitstoretest.Git(t, w.Store, w.repo, in.String(), "fast-import", "--quiet")
	w.move(t, w.dev, "main", w.tip(t, "scratch"))
	w.run(t, w.jobs(t)...)
	newest := strings.Fields(gitstoretest.Git(t, w.Store, w.repo, "", "rev-list", "--max-count=100", "--reverse", "main"))
	for n := range newest {
		newest[n] = "mentioned in commit " + newest[n]
	}
	want(t, "the newest hundred", w.noted(t, w.guest, m), newest)
}

func TestACommitNamesABoundedNumberOfIssues(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	var all []made
	message := "See"
	for range 22 {
		m := w.open(t, w.reporter, w.project, "")
		all = append(all, m)
		message += fmt.Sprintf(" #%d", m.IID)
	}
	last := all[len(all)-1]
	w.push(t, "main", message+fmt.Sprintf("\n\nCloses #%d", last.IID))
	if by := w.closed(t, last); by != "dev" {
		t.Errorf("what is closed comes first: closed by %q", by)
	}
	noted, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from issue_commits`)
	if err != nil || noted != 20 {
		t.Errorf("%d are noted, %v", noted, err)
	}
	// An issue has a bounded number of such notes, and is closed nevertheless.
	full := all[0]
	if _, err := w.DB.Exec(t.Context(), `with noted as (
			insert into notes (issue_id, discussion_id, first, thread, body, system, created_at, updated_at)
			select $1, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'x', true, now(), now() from generate_series(1, 999) n returning id
		) insert into issue_commits (issue_id, project_id, sha, note_id, created_at) select $1, $2, lpad(id::text, 40, '0'), id, now() from noted`,
		full.ID, w.project.ID); err != nil {
		t.Fatal(err)
	}
	w.push(t, "main", fmt.Sprintf("Closes #%d", full.IID))
	if count, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from issue_commits where issue_id = $1 and note_id is not null`, full.ID); err != nil || count != 1000 {
		t.Errorf("%d notes, %v", count, err)
	}
	if by := w.closed(t, full); by != "dev" {
		t.Errorf("a full one is closed by %q", by)
	}
}

func TestPE02_ACommitTellsNothingToWhoMayNotReadItsCode(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	public := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("open"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, public, w.dev, access.Reporter)
	m := w.open(t, w.dev, public, "")
	if _, err := w.DB.Exec(t.Context(), `update projects set visibility = 0 where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	sha := w.push(t, "main", "Closes open#1")
	body := "mentioned in commit house/tool@" + string(sha)
	note, err := postgres.One[struct {
		ID           int64
		DiscussionID []byte
	}](t.Context(), w.DB, `select id, discussion_id from notes where issue_id = $1`, m.ID)
	if err != nil {
		t.Fatal(err)
	}
	one, thread := fmt.Sprintf("%s/notes/%d", m.path(), note.ID), fmt.Sprintf("%s/discussions/%x", m.path(), note.DiscussionID)
	see := func(who *user.User, sees bool) {
		t.Helper()
		status, noted, states, discussions := http.StatusNotFound, []string{}, []string{"closed"}, "[]"
		if sees {
			status, noted, states = http.StatusOK, []string{body}, []string{"closed commit house/tool@" + string(sha)}
		}
		want(t, who.Username, w.noted(t, who, m), noted)
		want(t, who.Username, w.states(t, who, m), states)
		w.As(t, who).Do(t, "GET", one, nil).WantStatus(t, status)
		w.As(t, who).Do(t, "GET", thread, nil).WantStatus(t, status)
		all := w.As(t, who).Do(t, "GET", m.path()+"/discussions", nil).WantStatus(t, http.StatusOK)
		if !sees {
			all.Want(t, http.StatusOK, discussions)
		}
		if total := w.As(t, who).Do(t, "GET", m.path()+"/notes", nil).Header.Get("X-Total"); total != fmt.Sprint(len(noted)) {
			t.Errorf("%s counts %s", who.Username, total)
		}
	}
	see(w.dev, true)
	see(w.reporter, true)
	see(w.stranger, false)
	see(w.guest, false) // guests of a private project do not read its code
	// What is known goes with the issue when it moves.
	to := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("new"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, to, w.dev, access.Reporter)
	m = httpapitest.JSON[made](t, w.As(t, w.dev).Do(t, "POST", m.path()+"/move", map[string]any{"to_project_id": to.ID}).WantStatus(t, http.StatusCreated))
	want(t, "moved, to a stranger", w.noted(t, w.stranger, m), []string{"moved from house/open#1"})
	want(t, "moved, to the developer", w.noted(t, w.dev, m), []string{body, "moved from house/open#1"})
	// When the code goes, nobody is told what it was called.
	if err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.Bus.Publish(t.Context(), tx, project.Removing{ProjectID: w.project.ID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from projects where id = $1`, w.project.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want(t, "removed, to a stranger", w.noted(t, w.stranger, m), []string{"moved from house/open#1"})
}

func TestPE02_ACommitThatNamesAConfidentialIssueTellsNothing(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	secret := w.open(t, w.reporter, w.hidden, "", map[string]any{"confidential": true})
	near := w.open(t, w.reporter, w.project, "", map[string]any{"confidential": true, "title": "A secret"})
	guest := w.guest
	if _, err := w.DB.Exec(t.Context(), `update members set access_level = 30 where user_id = $1`, guest.ID); err != nil {
		t.Fatal(err)
	}
	w.move(t, guest, "main", w.commit(t, w.tip(t, "main"), fmt.Sprintf("Closes hidden#%d, hidden#9 and #%d", secret.IID, near.IID)))
	jobs := w.jobs(t)
	if _, err := w.DB.Exec(t.Context(), `update members set access_level = 10 where user_id = $1`, guest.ID); err != nil {
		t.Fatal(err)
	}
	w.run(t, jobs...)
	for _, m := range []made{secret, near} {
		if by, noted := w.closed(t, m), w.noted(t, w.root, m); by != "" || len(noted) > 0 {
			t.Errorf("%s: closed by %q, noted %q", m.path(), by, noted)
		}
	}
	if kept, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from issue_commits`); err != nil || kept > 0 {
		t.Errorf("%d are kept, %v", kept, err)
	}
}

func TestAForkClosesNothingOfWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	parent := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("parent"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, parent, w.dev, access.Maintainer)
	m := w.open(t, w.dev, parent, "")
	if _, err := w.DB.Exec(t.Context(), `update projects set forked_from_id = $2 where id = $1`, w.project.ID, parent.ID); err != nil {
		t.Fatal(err)
	}
	sha := w.push(t, "main", "Closes parent#1")
	want(t, "notes", w.noted(t, w.guest, m), []string{"mentioned in commit house/tool@" + string(sha)})
	if by := w.closed(t, m); by != "" {
		t.Errorf("closed by %q", by)
	}
}

func TestWhichPushesAreRead(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	by, err := w.Tokens.Later(t.Context(), w.dev.ID)
	if err != nil {
		t.Fatal(err)
	}
	main := w.tip(t, "main")
	next := w.commit(t, main, "Next")
	branches := func() (all []string) {
		for _, args := range w.jobs(t) {
			all = append(all, args.Branch)
		}
		return all
	}
	var updates []gitstore.RefUpdate
	for _, name := range []string{"heads/a", "tags/v1", "heads/b", "heads/c", "heads/d", "heads/e"} {
		updates = append(updates, gitstore.RefUpdate{Name: "refs/" + name, Old: gitstore.Zero, New: main})
	}
	w.moveAs(t, by, append(updates, gitstore.RefUpdate{Name: "refs/heads/main", Old: main, New: next})...)
	want(t, "the default branch and the first others", branches(), []string{"main", "a", "b", "c"})
	w.moveAs(t, by, gitstore.RefUpdate{Name: "refs/heads/a", Old: main, New: gitstore.Zero})
	want(t, "a branch that goes", branches(), nil)

	pushed := func(by access.Actor, via repository.Via) (jobs []mention.CommitsArgs) {
		t.Helper()
		tx, err := w.DB.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Mentions.OnPushed(t.Context(), tx, repository.Pushed{
			Push: repository.Push{Via: via}, Project: w.project, By: by, Updates: []gitstore.RefUpdate{{Name: "refs/heads/main", Old: main, New: next}},
		}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.jobs(t)
	}
	if jobs := pushed(by, repository.ViaJob); len(jobs) > 0 {
		t.Errorf("a job of the instance leaves %v", jobs)
	}
	if jobs := pushed(access.Actor{Process: "repository_settle"}, repository.ViaSSH); len(jobs) > 0 {
		t.Errorf("somebody who is gone leaves %v", jobs)
	}
	// The key of a machine speaks for its maker in its project alone.
	other := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, other, w.dev, access.Reporter)
	here, there := w.open(t, w.dev, w.project, ""), w.open(t, w.dev, other, "")
	next = w.commit(t, main, fmt.Sprintf("Closes #%d and other#%d", here.IID, there.IID))
	for _, kind := range []access.Kind{access.NoCredential, access.DeployKey, access.JobToken, access.SSHKey} {
		by.Credential.Kind = kind
		w.run(t, pushed(by, repository.ViaSSH)...)
		if got := w.closed(t, here); got != "dev" {
			t.Errorf("%s: closed by %q", kind, got)
		}
		if got, alone := w.closed(t, there), kind != access.SSHKey; (got == "") != alone {
			t.Errorf("%s: elsewhere closed by %q", kind, got)
		}
	}
}

func TestTheFirstPushOfAProjectClosesIssues(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	p := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("empty"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, p, w.dev, access.Maintainer)
	m := w.open(t, w.dev, p, "")
	w.As(t, w.dev).Do(t, "POST", fmt.Sprintf("/projects/%d/repository/commits", p.ID), map[string]any{
		"branch": "trunk", "commit_message": "Resolves #1", "actions": []map[string]any{{"action": "create", "file_path": "a", "content": "b"}},
	}).WantStatus(t, http.StatusCreated)
	jobs := w.jobs(t)
	w.run(t, jobs...)
	if by := w.closed(t, m); by != "dev" || len(jobs) != 1 || !slices.ContainsFunc(jobs, func(a mention.CommitsArgs) bool { return a.Old == string(gitstore.Zero) }) {
		t.Errorf("closed by %q after %v", by, jobs)
	}
}

// Whoever names an issue from a project of their own leaves room for the commits of the issue's project.
func TestCommitsOfStrangersLeaveRoom(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	m := w.open(t, w.dev, w.project, "")
	fill := func(projectID int64, from, to int) {
		t.Helper()
		if _, err := w.DB.Exec(t.Context(), `with noted as (
				insert into notes (issue_id, discussion_id, first, thread, body, system, created_at, updated_at)
				select $1, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'x', true, now(), now() from generate_series($3::int, $4::int) n returning id
			) insert into issue_commits (issue_id, project_id, sha, note_id, created_at) select $1, $2, lpad(id::text, 40, '0'), id, now() from noted`,
			m.ID, projectID, from, to); err != nil {
			t.Fatal(err)
		}
	}
	noted := func(p *project.Project, sha string) bool {
		t.Helper()
		err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
			i, err := issue.Lock(t.Context(), tx, access.Actor{Person: w.dev.Person(), Account: w.dev}, projecttest.Read(t, tx, w.project.ID), m.IID)
			if err != nil {
				return err
			}
			return w.Notes.NoteCommit(t.Context(), tx, access.Actor{Person: w.dev.Person()}, issue.Placed{Project: w.project, Issue: i}, issue.Commit{Project: p, SHA: sha}, w.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		there, err := postgres.Value[bool](t.Context(), w.DB, `select exists (select 1 from issue_commits where project_id = $1 and sha = $2 and note_id is not null)`, p.ID, sha)
		if err != nil {
			t.Fatal(err)
		}
		return there
	}
	sha := func(n int) string { return fmt.Sprintf("%040x", 0xabc0000+n) }
	one := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("one"))
	two := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("two"))
	three := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("three"))
	fill(one.ID, 1, 49)
	if !noted(one, sha(1)) || noted(one, sha(2)) {
		t.Error("another project has 50 notes")
	}
	fill(two.ID, 1001, 1449)
	if !noted(three, sha(3)) || noted(three, sha(4)) {
		t.Error("other projects have 500 notes together")
	}
	if !noted(w.project, sha(5)) {
		t.Error("there is no room for the project's own")
	}
}

// PE-02: whoever the message of a commit names is asked for nothing and told nothing: it may be of a project that they do not see.
func TestPE02_ACommitThatNamesAPersonAsksThemForNothing(t *testing.T) {
	t.Parallel()
	w := newPushing(t)
	i := w.open(t, w.reporter, w.project, "")
	secret := w.open(t, w.reporter, w.project, "", map[string]any{"confidential": true})
	w.heard()
	w.push(t, "main", fmt.Sprintf("@stranger look at #%d and #%d\n\n@guest and @house, too", i.IID, secret.IID))
	if named := w.named(t); len(named) > 0 {
		t.Errorf("%v are told", named)
	}
	for _, u := range []*user.User{w.stranger, w.guest} {
		w.As(t, u).Do(t, "GET", "/todos", nil).Want(t, http.StatusOK, "[]")
		w.As(t, u).Do(t, "GET", secret.path(), nil).WantStatus(t, http.StatusNotFound)
		if m := httpapitest.JSON[made](t, w.As(t, u).Do(t, "GET", i.path(), nil).WantStatus(t, http.StatusOK)); m.Subscribed {
			t.Errorf("%s is subscribed", u.Username)
		}
	}
	for _, name := range w.participants(t, w.reporter, i) {
		if name == "stranger" || name == "guest" {
			t.Errorf("%s takes part", name)
		}
	}
}
