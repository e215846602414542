package repository_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/repository/repositorytest"
)

type commitShown struct {
	ID             string   `json:"id"`
	ShortID        string   `json:"short_id"`
	Title          string   `json:"title"`
	Message        string   `json:"message"`
	ParentIDs      []string `json:"parent_ids"`
	AuthorName     string   `json:"author_name"`
	AuthorEmail    string   `json:"author_email"`
	CommitterName  string   `json:"committer_name"`
	CommitterEmail string   `json:"committer_email"`
	Stats          *struct {
		Additions, Deletions, Total int
	} `json:"stats"`
}

func titles(t testing.TB, r *httpapitest.Reply) (all []string) {
	t.Helper()
	for _, c := range httpapitest.JSON[[]commitShown](t, r.WantStatus(t, 200)) {
		all = append(all, c.Title)
	}
	return all
}

func TestCommitsAreListedByWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	commits := w.at("/repository/commits")
	repo := w.fill(t, repositorytest.Files{"a.txt": "one\n"})
	repositorytest.Commit(t, repo, "main", "Second\n\nChangelog: added", repositorytest.Files{"b.txt": "two\n"})
	side := repositorytest.Commit(t, repo, "side", "Elsewhere", repositorytest.Files{"c.txt": "three\n"})
	for query, want := range map[string][]string{
		"":                              {"Second", "Initial commit"},
		"?path=a.txt":                   {"Initial commit"},
		"?path=../../etc":               nil,
		"?ref_name=side":                {"Elsewhere"},
		"?ref_name=" + string(side):     {"Elsewhere"},
		"?ref_name=main~1..main":        {"Second"},
		"?author=nobody":                nil,
		"?author=ada":                   {"Second", "Initial commit"},
		"?since=2030-01-01T00:00:00Z":   nil,
		"?until=2020-01-01T00:00:00Z":   nil,
		"?per_page=1&page=2":            {"Initial commit"},
		"?first_parent=true&order=topo": {"Second", "Initial commit"},
	} {
		reply := w.Do(t, "GET", commits+query, nil)
		if diff := cmp.Diff(want, titles(t, reply)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		if reply.Header.Get("X-Total") != "" {
			t.Errorf("%s: commits are counted", query)
		}
	}
	if got := titles(t, w.Do(t, "GET", commits+"?all=true", nil)); len(got) != 3 {
		t.Errorf("all: %v", got)
	}
	if link := w.Do(t, "GET", commits+"?per_page=1", nil).Header.Get("Link"); !strings.Contains(link, `rel="next"`) || strings.Contains(link, `rel="last"`) {
		t.Errorf("links %s", link)
	}
	w.Do(t, "GET", commits+"?since=x", nil).Want(t, 400, `{"error":"since is invalid"}`)
	w.Do(t, "GET", commits+"?page=0", nil).Want(t, 400, `{"error":"page does not have a valid value"}`)
	w.Do(t, "GET", commits+"?ref_name=nope", nil).Want(t, 404, `{"message":"404 Commit Not Found"}`)
	var one struct {
		commitShown
		Trailers map[string]string `json:"trailers"`
	}
	w.Do(t, "GET", commits+"/main", nil).WantStatus(t, 200).Decode(t, &one)
	if one.Stats == nil || one.Stats.Total != 1 || one.Trailers["Changelog"] != "added" || one.ShortID != one.ID[:8] {
		t.Errorf("got %+v", one)
	}
	w.Do(t, "GET", commits+"/nope", nil).Want(t, 404, `{"message":"404 Commit Not Found"}`)
	w.Do(t, "GET", commits+"/main/signature", nil).Want(t, 404, `{"message":"404 Signature Not Found"}`)
	w.Do(t, "GET", commits+"/main/sequence", nil).Want(t, 200, `{"count":2}`)
	w.Do(t, "GET", commits+"/main/merge_requests", nil).Want(t, 200, `[]`)
	w.Do(t, "GET", commits+"/side/refs", nil).Want(t, 200, `[{"type":"branch","name":"side"}]`)
	w.Do(t, "GET", commits+"/main/diff", nil).Want(t, 200,
		`[{"diff":"@@ -0,0 +1 @@\n+two\n","new_path":"b.txt","old_path":"b.txt","a_mode":"0","b_mode":"100644","new_file":true,"renamed_file":false,"deleted_file":false}]`)
}

func TestACommitOfSeveralEditsIsMadeWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n", "b": "2\n", "c": "3\n", "dir/d": "4\n"})
	boss, commits := w.as(t, access.Maintainer), w.at("/repository/commits")
	write := func(more string, actions ...string) *httpapitest.Reply {
		return boss.Do(t, "POST", commits, `{"branch":"main","commit_message":"Edits"`+more+`,"actions":[`+strings.Join(actions, ",")+`]}`)
	}
	var made commitShown
	write(`,"author_name":"Grace","author_email":"grace@example.com"`,
		`{"action":"create","file_path":"new","content":"`+base64.StdEncoding.EncodeToString([]byte("n\x00"))+`","encoding":"base64"}`,
		`{"action":"update","file_path":"a","content":"11\n"}`, `{"action":"delete","file_path":"b"}`,
		`{"action":"move","file_path":"e","previous_path":"c"}`, `{"action":"chmod","file_path":"dir/d","execute_filemode":true}`,
	).WantStatus(t, 201).Decode(t, &made)
	me := w.people[access.Maintainer]
	if made.AuthorName != "Grace" || made.AuthorEmail != "grace@example.com" || made.CommitterName != me.Name || made.CommitterEmail != me.Email {
		t.Errorf("the commit says %+v", made)
	}
	tip, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil || string(tip.Target) != made.ID {
		t.Fatalf("the branch is at %v, %v", tip, err)
	}
	for path, mode := range map[string]gitstore.Mode{"new": gitstore.FileMode, "a": gitstore.FileMode, "e": gitstore.FileMode, "dir/d": gitstore.ExecMode} {
		if e, err := repo.Find(t.Context(), tip.Target, path); err != nil || e.Mode != mode {
			t.Errorf("%s is %v, %v", path, e, err)
		}
	}
	const said = `{"message":"`
	for _, c := range []struct{ more, action, want string }{
		{"", `{"action":"create","file_path":"a"}`, "A file with this name already exists"},
		{"", `{"action":"create","file_path":"dir"}`, "A directory with this name already exists"},
		{"", `{"action":"update","file_path":"nope","content":""}`, "A file with this name doesn't exist"},
		{"", `{"action":"delete","file_path":"dir"}`, "A file with this name doesn't exist"},
		{"", `{"action":"create","file_path":"../x"}`, "Path cannot include directory traversal"},
		{"", `{"action":"create","file_path":".GIT/config"}`, "Path cannot include directory traversal"},
		{"", `{"action":"update","file_path":"a","content":"","last_commit_id":"` + string(gitstore.Zero) + `"}`, "The file has changed since you started editing it: a"},
		{`,"start_branch":"nope","force":true`, `{"action":"create","file_path":"x"}`, "You can only create or edit files when you are on a branch"},
		{`,"start_sha":"xyz","force":true`, `{"action":"create","file_path":"x"}`, "Invalid start_sha 'xyz'"},
		{`,"start_sha":"` + string(gitstore.Zero) + `","force":true`, `{"action":"create","file_path":"x"}`, "Cannot find start_sha '" + string(gitstore.Zero) + "'"},
		{`,"start_sha":"` + made.ID + `"`, `{"action":"create","file_path":"x"}`, "A branch called 'main' already exists. Switch to that branch in order to make changes"},
	} {
		write(c.more, `{"action":"create","file_path":"before"}`, c.action).Want(t, 400, said+c.want+`"}`)
	}
	write(`,"start_branch":"a","start_sha":"b"`, `{"action":"create","file_path":"x"}`).
		Want(t, 400, `{"error":"start_branch, start_sha are mutually exclusive"}`)
	write("", `{"action":"update","file_path":"a"}`).Want(t, 400, `{"error":"actions[content] is missing"}`)
	if now, err := repo.Ref(t.Context(), "refs/heads/main"); err != nil || now.Target != tip.Target {
		t.Errorf("a refused commit moved the branch: %v, %v", now, err)
	}
	boss.Do(t, "POST", commits, `{"branch":"next","start_branch":"main","commit_message":"On","actions":[{"action":"create","file_path":"x"}]}`).WantStatus(t, 201)
	boss.Do(t, "POST", commits, `{"branch":"lost","commit_message":"On","actions":[{"action":"create","file_path":"x"}]}`).
		Want(t, 400, said+`You can only create or edit files when you are on a branch"}`)
	if len(w.pushed) != 2 || w.pushed[0].Updates[0].Name != "refs/heads/main" {
		t.Errorf("told of %d pushes", len(w.pushed))
	}
}

func TestACommitIsPickedAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n"})
	base, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	boss := w.as(t, access.Maintainer)
	boss.Do(t, "POST", w.at("/repository/branches"), `{"branch":"old","ref":"main"}`).WantStatus(t, 201)
	picked := repositorytest.Commit(t, repo, "main", "Fix it", repositorytest.Files{"fix": "f\n"})
	at := w.at("/repository/commits/" + string(picked))
	boss.Do(t, "POST", at+"/cherry_pick", `{"branch":"old","dry_run":true}`).Want(t, 200, `{"dry_run":"success"}`)
	if ref, err := repo.Ref(t.Context(), "refs/heads/old"); err != nil || ref.Target != base.Target {
		t.Errorf("a dry run moved the branch: %v, %v", ref, err)
	}
	var made commitShown
	boss.Do(t, "POST", at+"/cherry_pick", `{"branch":"old"}`).WantStatus(t, 201).Decode(t, &made)
	if made.Message != "Fix it\n\n(cherry picked from commit "+string(picked)+")" || made.AuthorName != "Ada" || made.ParentIDs[0] != string(base.Target) {
		t.Errorf("got %+v", made)
	}
	const failed = ` failed: Can't perform this action automatically. It may have already been done, or a more recent commit may have updated some of this content. Please perform this action locally."}`
	boss.Do(t, "POST", at+"/cherry_pick", `{"branch":"old"}`).Want(t, 400, `{"error_code":"empty","message":"Commit cherry-pick`+failed)
	boss.Do(t, "POST", at+"/revert", `{"branch":"old"}`).WantStatus(t, 201).Decode(t, &made)
	if made.Message != "Revert \"Fix it\"\n\nThis reverts commit "+string(picked) {
		t.Errorf("got %q", made.Message)
	}
	boss.Do(t, "POST", at+"/revert", `{"branch":"nope"}`).Want(t, 404, `{"message":"404 Branch Not Found"}`)
	repositorytest.Commit(t, repo, "main", "Clash", repositorytest.Files{"fix": "other\n"})
	boss.Do(t, "POST", at+"/revert", `{"branch":"main","dry_run":true}`).
		Want(t, 400, `{"dry_run":"error","error_code":"conflict","message":"Commit revert`+failed)
	boss.Do(t, "POST", w.at("/protected_branches"), `{"name":"main"}`).WantStatus(t, 201)
	w.as(t, access.Developer).Do(t, "POST", at+"/revert", `{"branch":"main"}`).
		Want(t, 403, `{"message":"403 Forbidden - You are not allowed to push into this branch"}`)
}

func TestAFileLivesThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(t, repositorytest.Files{"dir/a b.txt": "one\ntwo\n"})
	boss := w.as(t, access.Maintainer)
	file := func(path string) string { return w.at("/repository/files/" + url.PathEscape(path)) }
	var got struct {
		FileName     string `json:"file_name"`
		FilePath     string `json:"file_path"`
		Size         int    `json:"size"`
		Content      string `json:"content"`
		SHA256       string `json:"content_sha256"`
		Ref          string `json:"ref"`
		LastCommitID string `json:"last_commit_id"`
		BlobID       string `json:"blob_id"`
	}
	w.Do(t, "GET", file("dir/a b.txt")+"?ref=main", nil).WantStatus(t, 200).Decode(t, &got)
	if got.FileName != "a b.txt" || got.FilePath != "dir/a b.txt" || got.Size != 8 || got.Content != "b25lCnR3bwo=" || got.Ref != "main" ||
		got.SHA256 != "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8" {
		t.Errorf("got %+v", got)
	}
	head := w.Do(t, "HEAD", file("dir/a b.txt")+"?ref=main", nil)
	if head.Status != 200 || head.Header.Get("X-Svc-File-Path") != "dir/a b.txt" || head.Header.Get("X-Gitlab-Last-Commit-Id") != got.LastCommitID || head.Body != "" {
		t.Errorf("got %d %v", head.Status, head.Header)
	}
	raw := w.Do(t, "GET", file("dir/a b.txt")+"/raw", nil)
	if raw.Body != "one\ntwo\n" || !strings.HasPrefix(raw.Header.Get("Content-Type"), "text/plain") || raw.Header.Get("X-Svc-Blob-Id") != got.BlobID {
		t.Errorf("got %q %v", raw.Body, raw.Header)
	}
	w.With("If-None-Match", raw.Header.Get("Etag")).Do(t, "GET", file("dir/a b.txt")+"/raw", nil).WantStatus(t, 304)
	var blame []struct{ Lines []string }
	w.Do(t, "GET", file("dir/a b.txt")+"/blame?ref=main", nil).WantStatus(t, 200).Decode(t, &blame)
	if len(blame) != 1 || len(blame[0].Lines) != 2 {
		t.Errorf("got %+v", blame)
	}
	w.Do(t, "GET", file("dir/a b.txt")+"/blame?ref=main&range[start]=2&range[end]=1", nil).
		Want(t, 400, `{"error":"range[start] must be less than or equal to range[end]"}`)
	w.Do(t, "GET", file("dir/a b.txt"), nil).Want(t, 400, `{"error":"ref is missing, ref is empty"}`)
	w.Do(t, "GET", file("nope")+"?ref=main", nil).Want(t, 404, `{"message":"404 File Not Found"}`)
	w.Do(t, "GET", file("dir")+"?ref=main", nil).Want(t, 404, `{"message":"404 File Not Found"}`)
	w.Do(t, "GET", file("dir/a b.txt")+"?ref=nope", nil).Want(t, 404, `{"message":"404 Commit Not Found"}`)

	boss.Do(t, "POST", file("n.txt"), `{"branch":"main","commit_message":"m","content":"x"}`).Want(t, 201, `{"file_path":"n.txt","branch":"main"}`)
	boss.Do(t, "POST", file("n.txt"), `{"branch":"main","commit_message":"m","content":"x"}`).Want(t, 400, `{"message":"A file with this name already exists"}`)
	boss.Do(t, "PUT", file("n.txt"), `{"branch":"main","commit_message":"m","content":"y"}`).Want(t, 200, `{"file_path":"n.txt","branch":"main"}`)
	boss.Do(t, "PUT", file("n.txt"), `{"branch":"main","commit_message":"m","content":"z","last_commit_id":"`+got.LastCommitID+`"}`).
		Want(t, 400, `{"message":"You are attempting to update a file that has changed since you started editing it."}`)
	boss.Do(t, "DELETE", file("n.txt"), `{"branch":"main","commit_message":"m","last_commit_id":"`+got.LastCommitID+`"}`).
		Want(t, 400, `{"message":"You are attempting to delete a file that has been previously updated."}`)
	boss.Do(t, "DELETE", file("n.txt"), `{"branch":"main","commit_message":"m"}`).Want(t, 204, ``)
	boss.Do(t, "DELETE", file("n.txt"), `{"branch":"main","commit_message":"m"}`).Want(t, 400, `{"message":"A file with this name doesn't exist"}`)
}

// RE-01, RE-02: no path leads out of the tree of a commit, and none through a
// link.
func TestRE02_NoPathParameterLeavesTheRepository(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(t, repositorytest.Files{"a": "1\n"})
	boss := w.as(t, access.Maintainer)
	for _, path := range []string{
		"../../etc/passwd", "/etc/passwd/..", "a/../../x", "..", ".", "./a", "a//b", ".git/config", ".GIT/hooks/x", "x/.git/y", "git~1/config",
		".git\u200c/config", "a\\..\\b/../c", "x\x01y",
	} {
		at := w.at("/repository/files/" + url.PathEscape(path))
		for _, call := range []struct{ method, query, body string }{
			{"GET", "?ref=main", ""}, {"GET", "/raw?ref=main", ""}, {"GET", "/blame?ref=main", ""}, {"HEAD", "?ref=main", ""},
			{"POST", "", `{"branch":"main","commit_message":"m","content":"x"}`}, {"PUT", "", `{"branch":"main","commit_message":"m","content":"x"}`},
			{"DELETE", "", `{"branch":"main","commit_message":"m"}`},
		} {
			var body any
			if call.body != "" {
				body = call.body
			}
			if r := boss.Do(t, call.method, at+call.query, body); r.Status != 400 && r.Status != 404 {
				t.Errorf("%s %q%s: %d %s", call.method, path, call.query, r.Status, r.Body)
			}
		}
		for _, action := range []map[string]any{
			{"action": "create", "file_path": path}, {"action": "move", "file_path": "z", "previous_path": path}, {"action": "chmod", "file_path": path},
		} {
			r := boss.Do(t, "POST", w.at("/repository/commits"), map[string]any{"branch": "main", "commit_message": "m", "actions": []any{action}})
			if r.Status != 400 {
				t.Errorf("%v: %d %s", action, r.Status, r.Body)
			}
		}
	}
	if len(w.pushed) != 0 {
		t.Errorf("%d commits were made", len(w.pushed))
	}
}

func TestAStatusMovesOnAndBeginsAnew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n"})
	tip, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	dev, at := w.as(t, access.Developer), w.at("/statuses/"+string(tip.Target))
	type shown struct {
		ID         int64   `json:"id"`
		Status     string  `json:"status"`
		Ref        string  `json:"ref"`
		Name       string  `json:"name"`
		StartedAt  *string `json:"started_at"`
		FinishedAt *string `json:"finished_at"`
	}
	var st shown
	dev.Do(t, "POST", at, `{"state":"pending","target_url":"https://ci.example/1"}`).WantStatus(t, 201).Decode(t, &st)
	if st.Ref != "main" || st.Name != "default" || st.Status != "pending" || st.StartedAt != nil {
		t.Errorf("got %+v", st)
	}
	dev.Do(t, "POST", at, `{"state":"pending"}`).Want(t, 400,
		`{"message":"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via \"enqueue\")"}`)
	first := st.ID
	dev.Do(t, "POST", at, `{"state":"running"}`).WantStatus(t, 201)
	dev.Do(t, "POST", at, `{"state":"success","coverage":81.5}`).WantStatus(t, 201).Decode(t, &st)
	if st.ID != first || st.StartedAt == nil || st.FinishedAt == nil {
		t.Errorf("got %+v", st)
	}
	dev.Do(t, "POST", at, `{"state":"failed"}`).WantStatus(t, 201).Decode(t, &st)
	if st.ID == first {
		t.Error("what had ended was changed")
	}
	list := w.at("/repository/commits/main/statuses")
	if got := httpapitest.JSON[[]shown](t, w.Do(t, "GET", list, nil)); len(got) != 1 || got[0].Status != "failed" {
		t.Errorf("got %+v", got)
	}
	if got := httpapitest.JSON[[]shown](t, w.Do(t, "GET", list+"?all=true", nil)); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
	dev.Do(t, "POST", w.at("/statuses/nope"), `{"state":"running"}`).Want(t, 404, `{"message":"404 Commit Not Found"}`)
	dev.Do(t, "POST", at, `{"state":"running","target_url":"javascript:alert(1)"}`).
		Want(t, 400, `{"message":{"target_url":["is blocked: Only allowed schemes are http, https"]}}`)
	w.as(t, access.Reporter).Do(t, "POST", at, `{"state":"running"}`).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), `{"name":"main"}`).WantStatus(t, 201)
	dev.Do(t, "POST", at, `{"state":"running"}`).Want(t, 403, `{"message":"403 Forbidden"}`)
	var detail struct{ Status string }
	w.Do(t, "GET", w.at("/repository/commits/main"), nil).WantStatus(t, 200).Decode(t, &detail)
	if detail.Status != "failed" {
		t.Errorf("the commit is %q", detail.Status)
	}
}
