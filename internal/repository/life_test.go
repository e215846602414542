package repository_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/setting"
)

// known is the project as the jobs of the room see it.
func (w *fixture) known(t testing.TB) *project.Project {
	t.Helper()
	p, err := w.projects.Known(t.Context(), w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *fixture) repo() *gitstore.Repo {
	return w.store.Repo(gitstore.KeyOf("default", w.project.ID, 0))
}

func TestASurveyTellsSizeCommitsLanguagesReadmeAndLicense(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{
		"main.go": strings.Repeat("x", 300), "web/app.js": strings.Repeat("y", 100), "vendor/x.go": strings.Repeat("z", 5000), "README.txt": "r",
		"readme.md": "# r", "LICENSE": "MIT", "docs/a.md": "prose",
	})
	repositorytest.Commit(t, repo, "main", "Second", repositorytest.Files{"empty.go": "e"})
	repositorytest.Commit(t, repo, "side", "Elsewhere", repositorytest.Files{"a.py": strings.Repeat("p", 9000)})
	for range 2 { // doing it again changes nothing
		if err := w.repositories.Survey(t.Context(), w.known(t)); err != nil {
			t.Fatal(err)
		}
		all, err := w.repositories.Digests(t.Context(), []int64{w.project.ID})
		d := all[w.project.ID]
		if err != nil || d.Size <= 0 || d.Commits != 2 || d.Readme != "readme.md" || d.License != "LICENSE" || d.Empty {
			t.Errorf("got %+v %v", d, err)
		}
		if diff := cmp.Diff(map[string]float64{"Go": 75.06, "JavaScript": 24.94}, d.Languages); diff != "" {
			t.Error(diff)
		}
	}
}

func TestASurveyOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if err := w.repositories.Survey(t.Context(), w.known(t)); err != nil {
		t.Fatal(err)
	}
	all, err := w.repositories.Digests(t.Context(), []int64{w.project.ID})
	if d := all[w.project.ID]; err != nil || !d.Empty || d.Commits != 0 || len(d.Languages) != 0 || d.Readme != "" {
		t.Errorf("got %+v %v", d, err)
	}
}

// ruleOf is the rule of a branch in one line, "" without one.
func ruleOf(t testing.TB, w *fixture, branch string) string {
	t.Helper()
	rule, err := w.protection.BranchRule(t.Context(), w.known(t), branch)
	if fault.Is(err, fault.NotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("push %d merge %d", rule.Push[0].Role, rule.Merge[0].Role)
}

func TestAProjectThatAsksForItBeginsWithAReadme(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `update projects set description = 'What it is for.', creator_id = $2 where id = $1`, w.project.ID, w.people[access.Owner].ID)
	for range 2 { // the process that makes the project begins it, and so does the job
		if err := w.repositories.Begin(t.Context(), w.known(t)); err != nil {
			t.Fatal(err)
		}
	}
	file := httpapitest.JSON[struct{ Content string }](t, w.Do(t, "GET", w.at("/repository/files/README.md?ref=main"), nil).WantStatus(t, 200))
	if file.Content != "IyBmb3JnZQoKV2hhdCBpdCBpcyBmb3IuCg==" {
		t.Errorf("got %s", file.Content)
	}
	p := w.known(t)
	if p.DefaultBranch == nil || *p.DefaultBranch != "main" || ruleOf(t, w, "main") != "push 40 merge 40" {
		t.Errorf("the default branch is %v with %q", p.DefaultBranch, ruleOf(t, w, "main"))
	}
	if len(w.pushed) != 1 || w.pushed[0].Push.Via != repository.ViaJob || !w.pushed[0].By.Is(w.people[access.Owner].ID) {
		t.Errorf("got %+v", w.pushed)
	}
}

func TestWhoeverPushesFirstDoesNotLoseToAReadme(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/repository/files/a"), `{"branch":"main","content":"1","commit_message":"m"}`).WantStatus(t, 201)
	if err := w.repositories.Begin(t.Context(), w.known(t)); err != nil {
		t.Fatal(err)
	}
	w.Do(t, "GET", w.at("/repository/files/README.md?ref=main"), nil).WantStatus(t, 404)
}

func TestHEADFollowsTheDefaultBranch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1"})
	repositorytest.Commit(t, repo, "next", "Next", repositorytest.Files{"b": "2"})
	w.exec(t, `update projects set default_branch = 'next' where id = $1`, w.project.ID)
	for range 2 {
		if err := w.repositories.FollowHead(t.Context(), w.known(t)); err != nil {
			t.Fatal(err)
		}
		if head, err := repo.Head(t.Context()); head != "next" || err != nil {
			t.Errorf("HEAD is %s, %v", head, err)
		}
	}
	for _, state := range []string{"copying", "importing", "failed"} {
		w.exec(t, `update repositories set state = $2 where project_id = $1`, w.project.ID, state)
		if err := w.repositories.FollowHead(t.Context(), w.known(t)); err != nil {
			t.Errorf("while it is %s: %v", state, err)
		}
	}
}

// The first branch that is pushed becomes the default one unless the one that
// was to be it comes along, and gets the rule that the instance wants.
func TestTheFirstBranchBecomesTheDefaultOneAndIsProtected(t *testing.T) {
	t.Parallel()
	for level, rule := range map[int]string{
		0: "", 1: "push 30 merge 40", 2: "push 40 merge 40", 3: "push 40 merge 30", 4: "push 40 merge 40",
	} {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			err := w.settings.Update(t.Context(), access.Actor{Person: w.root.Person()}, func(s *setting.Settings) { s.DefaultBranchProtection = level })
			if err != nil {
				t.Fatal(err)
			}
			commit := func(role access.Role, branch string) *httpapitest.Reply {
				return w.as(t, role).Do(t, "POST", w.at("/repository/commits"),
					`{"branch":"`+branch+`","commit_message":"m","actions":[{"action":"create","file_path":"`+branch+`","content":"1"}]}`)
			}
			if early := commit(access.Developer, "trunk"); (early.Status == 201) != (level == 0 || level == 1 || level == 4) {
				t.Errorf("a developer begins: %d %s", early.Status, early.Body)
			} else if early.Status != 201 {
				commit(access.Maintainer, "trunk").WantStatus(t, 201)
			}
			if p := w.known(t); p.DefaultBranch == nil || *p.DefaultBranch != "trunk" {
				t.Errorf("the default branch is %v", p.DefaultBranch)
			}
			if head, err := w.repo().Head(t.Context()); head != "trunk" || err != nil {
				t.Errorf("HEAD is %s, %v", head, err)
			}
			if got := ruleOf(t, w, "trunk"); got != rule {
				t.Errorf("its rule is %q, want %q", got, rule)
			}
			w.as(t, access.Maintainer).Do(t, "POST", w.at("/repository/branches"), `{"branch":"main","ref":"trunk"}`).WantStatus(t, 201)
			if p := w.known(t); *p.DefaultBranch != "trunk" || ruleOf(t, w, "main") != "" {
				t.Error("a later branch takes the place of the first")
			}
		})
	}
}

// What a process that died left behind is settled once: by what the refs are
// now, and not while somebody may still work on it.
func TestPushesThatNobodyWorksOnAreSettledOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1"})
	there := repositorytest.Commit(t, repo, "there", "There", repositorytest.Files{"b": "2"})
	add := func(name string, old, id gitstore.OID) int64 {
		updates, err := json.Marshal([]gitstore.RefUpdate{{Name: name, Old: old, New: id}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := postgres.Value[int64](t.Context(), w.db, `insert into pushes (project_id, user_id, via, state, updates, created_at)
			values ($1, $2, 'http', 'pending', $3, $4) returning id`, w.project.ID, w.people[access.Developer].ID, updates, w.now)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	moved := add("refs/heads/there", gitstore.Zero, there)
	void := add("refs/heads/never", gitstore.Zero, there)
	working := add("refs/heads/there", gitstore.Zero, there)
	ticket, err := repo.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ticket.Number(t.Context(), working); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		rows, err := postgres.Values[string](t.Context(), w.db, `select state from pushes order by id`)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(rows, " ")
	}
	for range 2 {
		if err := w.repositories.SettlePending(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := states(); got != "done void pending" {
			t.Errorf("got %s", got)
		}
	}
	if len(w.pushed) != 1 || w.pushed[0].Push.ID != moved || !w.pushed[0].By.Is(w.people[access.Developer].ID) || void == moved {
		t.Errorf("told is %+v", w.pushed)
	}
	if err := ticket.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.repositories.SettlePending(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same was done by another push before: this one did nothing.
	if got := states(); got != "done void void" || len(w.pushed) != 1 {
		t.Errorf("got %s and %d told", got, len(w.pushed))
	}
}

// A fork is a whole copy of branches and tags, and of nothing that is hidden.
func TestAForkIsACopyThatStandsByItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1"})
	tip := repositorytest.Commit(t, repo, "side", "Side", repositorytest.Files{"b": "2"})
	if err := repo.UpdateRefs(t.Context(), []gitstore.RefUpdate{
		{Name: "refs/tags/v1", Old: gitstore.Zero, New: tip}, {Name: "refs/keep-around/x", Old: gitstore.Zero, New: tip},
	}); err != nil {
		t.Fatal(err)
	}
	fork := projecttest.New(t, w.db, w.home.ID, projecttest.Named("copy"), projecttest.With("forked_from_id", w.project.ID))
	w.exec(t, `insert into repositories (project_id, storage, state, created_at) values ($1, 'default', 'copying', '2024-01-01')`, fork.ID)
	if _, err := w.repositories.Open(t.Context(), fork); !fault.Is(err, fault.Unavailable) {
		t.Errorf("before it is filled: %v", err)
	}
	for range 2 { // the second time there is nothing to do
		if err := w.repositories.Fill(t.Context(), fork.ID); err != nil {
			t.Fatal(err)
		}
	}
	made, err := w.repositories.Open(t.Context(), fork)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Remove(t.Context()); err != nil { // the source goes
		t.Fatal(err)
	}
	if err := made.Check(t.Context()); err != nil {
		t.Error(err)
	}
	var names []string
	refs, _, err := made.Refs(t.Context(), gitstore.RefQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refs {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"refs/heads/main", "refs/heads/side", "refs/tags/v1"}, names); diff != "" {
		t.Error(diff)
	}
	row, err := w.repositories.Find(t.Context(), fork)
	if err != nil || row.State != repository.Ready || row.Empty {
		t.Errorf("got %+v %v", row, err)
	}
}

// A commit may begin where another project of the network stands; what it is
// built on comes along.
func TestACommitMayBeginInAnotherProjectOfTheNetwork(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(t, repositorytest.Files{"a": "1"})
	fork := projecttest.New(t, w.db, w.home.ID, projecttest.Named("copy"), projecttest.Visible(access.Public), projecttest.With("forked_from_id", w.project.ID))
	theirs := repositorytest.New(t, w.db, w.store, fork, repositorytest.Files{"a": "1"})
	first := repositorytest.Commit(t, theirs, "theirs", "Theirs", repositorytest.Files{"theirs": "2"})
	tip := repositorytest.Commit(t, theirs, "theirs", "More of theirs", repositorytest.Files{"theirs": "3"})
	dev := w.as(t, access.Developer)
	body := func(branch, start string) string {
		return fmt.Sprintf(`{"branch":%q,%s,"start_project":%d,"commit_message":"Mine","actions":[{"action":"create","file_path":"mine","content":"m"}]}`, branch, start, fork.ID)
	}
	for branch, c := range map[string]struct {
		start  string
		parent gitstore.OID
		text   string
	}{
		"by-branch": {`"start_branch":"theirs"`, tip, "3"}, "by-sha": {`"start_sha":"` + string(first) + `"`, first, "2"},
	} {
		made := httpapitest.JSON[struct {
			ID        string
			ParentIDs []gitstore.OID `json:"parent_ids"`
		}](t, dev.Do(t, "POST", w.at("/repository/commits"), body(branch, c.start)).WantStatus(t, 201))
		if len(made.ParentIDs) != 1 || made.ParentIDs[0] != c.parent {
			t.Errorf("%s: got %+v, want %s", branch, made, c.parent)
		}
		if raw := dev.Do(t, "GET", w.at("/repository/files/theirs/raw?ref="+branch), nil); raw.Status != 200 || raw.Body != c.text {
			t.Errorf("%s: %d %s", branch, raw.Status, raw.Body)
		}
	}
	if err := theirs.Remove(t.Context()); err != nil { // nothing of it is needed any more
		t.Fatal(err)
	}
	if err := w.repo().Check(t.Context()); err != nil {
		t.Error(err)
	}
	alien := projecttest.New(t, w.db, w.home.ID, projecttest.Named("alien"), projecttest.Visible(access.Public))
	repositorytest.New(t, w.db, w.store, alien, repositorytest.Files{"x": "1"})
	dev.Do(t, "POST", w.at("/repository/commits"), fmt.Sprintf(
		`{"branch":"b","start_branch":"main","start_project":%d,"commit_message":"m","actions":[{"action":"create","file_path":"n"}]}`, alien.ID)).WantStatus(t, 403)
}

// keeper keeps large files in memory.
type keeper map[string]string

func (k keeper) Missing(_ context.Context, _ int64, oids []string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(oids), func(oid string) bool { _, ok := k[oid]; return ok }), nil
}

func (k keeper) Has(context.Context, int64) (bool, error) { return len(k) > 0, nil }

func (k keeper) Size(_ context.Context, _ int64, oid string) (int64, error) {
	text, ok := k[oid]
	if !ok {
		return 0, fault.NotFoundf("Object")
	}
	return int64(len(text)), nil
}

func (k keeper) Open(ctx context.Context, projectID int64, oid string) (int64, io.ReadCloser, error) {
	size, err := k.Size(ctx, projectID, oid)
	return size, io.NopCloser(strings.NewReader(k[oid])), err
}

func pointerTo(oid string, size int) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, size)
}

func TestAPointerToALargeFileThatNobodySentIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(t, repositorytest.Files{"a": "1"})
	sent, unsent := strings.Repeat("a", 64), strings.Repeat("b", 64)
	w.large.LargeFiles = keeper{sent: "large"}
	dev := w.as(t, access.Developer)
	commit := func(branch string, files map[string]string) *httpapitest.Reply {
		var actions []map[string]string
		for _, path := range slices.Sorted(maps.Keys(files)) {
			actions = append(actions, map[string]string{"action": "create", "file_path": path, "content": files[path]})
		}
		return dev.Do(t, "POST", w.at("/repository/commits"), map[string]any{
			"branch": branch, "start_branch": "main", "commit_message": "m", "actions": actions,
		})
	}
	const missing = `{"message":"LFS objects are missing. Ensure LFS is properly set up or try a manual \"git lfs push --all\"."}`
	commit("ok", map[string]string{"x": pointerTo(sent, 5), "y": "no pointer"}).WantStatus(t, 201)
	commit("bad", map[string]string{"x": pointerTo(unsent, 5), "y": pointerTo(sent, 5)}).Want(t, 400, missing)
	commit("like", map[string]string{"x": pointerTo(unsent, 5) + "and more\n", "y": strings.Repeat(" ", 200) + pointerTo(unsent, 5)}).WantStatus(t, 201)
	w.Do(t, "GET", w.at("/repository/branches/bad"), nil).WantStatus(t, 404)

	raw := func(query string) *httpapitest.Reply {
		return w.Do(t, "GET", w.at("/repository/files/x/raw?ref=ok"+query), nil)
	}
	if r := raw(""); r.Status != 200 || !strings.HasPrefix(r.Body, "version ") {
		t.Errorf("the pointer: %d %s", r.Status, r.Body)
	}
	if r := raw("&lfs=true"); r.Status != 200 || r.Body != "large" {
		t.Errorf("the large file: %d %s", r.Status, r.Body)
	}
	if r := w.Do(t, "GET", w.at("/repository/files/y/raw?lfs=true&ref=ok"), nil); r.Body != "no pointer" {
		t.Errorf("a file that is none: %d %s", r.Status, r.Body)
	}
	for format, unpack := range map[string]func([]byte) string{"tar": untar, "tar.gz": untarGz, "zip": unzip} {
		archive := func(query string) string {
			r := w.admin().Do(t, "GET", w.at("/repository/archive."+format+"?sha=ok"+query), nil).WantStatus(t, 200)
			return unpack([]byte(r.Body))
		}
		if got, want := archive(""), "a=1 x=large y=no pointer"; got != want {
			t.Errorf("%s has %q, want %q", format, got, want)
		}
		if got := archive("&include_lfs_blobs=false"); !strings.Contains(got, "x=version https://git-lfs") {
			t.Errorf("%s without large files has %q", format, got)
		}
	}
	w.exec(t, `update projects set settings = settings || '{"lfs_enabled": false}' where id = $1`, w.project.ID)
	commit("off", map[string]string{"z": pointerTo(unsent, 5)}).WantStatus(t, 201)
	w.exec(t, `update projects set settings = settings || '{"lfs_enabled": true}' where id = $1`, w.project.ID)
	w.Do(t, "GET", w.at("/repository/files/z/raw?lfs=true&ref=off"), nil).WantStatus(t, 404)
}

// untar lists the files of an archive with their content.
func untar(archive []byte) string {
	in := tar.NewReader(bytes.NewReader(archive))
	var all []string
	for {
		h, err := in.Next()
		if err != nil {
			return strings.Join(all, " ")
		}
		if h.Typeflag == tar.TypeReg {
			text, _ := io.ReadAll(in)
			all = append(all, path.Base(h.Name)+"="+string(text))
		}
	}
}

func untarGz(archive []byte) string {
	in, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err.Error()
	}
	return untar(text)
}

func unzip(archive []byte) string {
	in, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, f := range in.File {
		if body, err := f.Open(); err == nil && !f.FileInfo().IsDir() {
			text, _ := io.ReadAll(body)
			all = append(all, path.Base(f.Name)+"="+string(text))
		}
	}
	return strings.Join(all, " ")
}

func FuzzAPointerIsExactlyOne(f *testing.F) {
	oid := strings.Repeat("0a", 32)
	f.Add(pointerTo(oid, 1))
	f.Add("version https://git-lfs.github.com/spec/v1\next-0-x sha256:1\noid sha256:" + oid + "\nsize 1\n")
	f.Add("oid sha256:" + oid)
	f.Fuzz(func(t *testing.T, text string) {
		got := repository.Pointer([]byte(text))
		if got != "" && (len(got) != 64 || !strings.Contains(text, "oid sha256:"+got+"\n") || len(text) > 200 ||
			!strings.HasPrefix(text, "version https://git-lfs.github.com/spec/v1\n")) {
			t.Errorf("%q is a pointer to %q", text, got)
		}
	})
}

// A page of branches asks git once which of them are merged.
func TestAPageOfBranchesTellsWhatIsMerged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1"})
	base, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	var made []gitstore.RefUpdate
	for i := range 40 {
		made = append(made, gitstore.RefUpdate{Name: fmt.Sprintf("refs/heads/old/%02d", i), Old: gitstore.Zero, New: base.Target})
	}
	if err := repo.UpdateRefs(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	repositorytest.Commit(t, repo, "old/07", "Ahead", repositorytest.Files{"ahead": "1"})
	tip := repositorytest.Commit(t, repo, "main", "On", repositorytest.Files{"b": "2"})
	if err := repo.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: "refs/heads/same", Old: gitstore.Zero, New: tip}}); err != nil {
		t.Fatal(err)
	}
	for _, b := range httpapitest.JSON[[]struct {
		Name   string
		Merged bool
	}](t, w.Do(t, "GET", w.at("/repository/branches?per_page=100"), nil).WantStatus(t, 200)) {
		if want := strings.HasPrefix(b.Name, "old/") && b.Name != "old/07"; b.Merged != want {
			t.Errorf("%s is merged: %t", b.Name, b.Merged)
		}
	}
	if _, err := repo.Merged(t.Context(), []gitstore.Ref{{Name: "refs/heads/main", Target: "x"}}, tip); !errors.Is(err, gitstore.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	// A branch that has moved since it was read is judged as it was read.
	moved, err := repo.Merged(t.Context(), []gitstore.Ref{{Name: "refs/heads/old/07", Target: base.Target}, {Name: "refs/heads/gone", Target: base.Target}}, tip)
	if err != nil || !moved[base.Target] {
		t.Errorf("got %v %v", moved, err)
	}
}
