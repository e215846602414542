package e2e

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

// TestTheOfficialGoClientFindsWhatIsInARepository is the tour through code: commits, files, trees, branches, tags.
func TestTheOfficialGoClientFindsWhatIsInARepository(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, f.token)
	p := call(c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Hammer"), InitializeWithReadme: new(true)})).ok(t, http.StatusCreated)
	if p.DefaultBranch != "main" || p.EmptyRepo {
		t.Errorf("made: %+v", p)
	}

	made := call(c.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{
		Branch: new("main"), CommitMessage: new("Two files"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new("a.txt"), Content: new("a\n")},
			{Action: new(gitlab.FileCreate), FilePath: new("dir/b.txt"), Content: new("b\n")},
		},
	})).ok(t, http.StatusCreated)
	if made.Title != "Two files" || len(made.ParentIDs) != 1 || made.CommittedDate == nil || made.Stats.Additions != 2 {
		t.Errorf("commit: %+v", made)
	}
	if got := call(c.Commits.ListCommits(p.ID, &gitlab.ListCommitsOptions{Path: new("dir")})).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != made.ID {
		t.Errorf("commits: %+v", got)
	}
	if got := call(c.Commits.GetCommitDiff(p.ID, made.ID, nil)).ok(t, http.StatusOK); len(got) != 2 || !got[0].NewFile || !strings.HasPrefix(got[0].Diff, "@@") {
		t.Errorf("diff: %+v", got)
	}

	call(c.RepositoryFiles.CreateFile(p.ID, "docs/read me.md", &gitlab.CreateFileOptions{
		Branch: new("main"), Content: new("# Hammer\n"), CommitMessage: new("A page"),
	})).ok(t, http.StatusCreated)
	file := call(c.RepositoryFiles.GetFile(p.ID, "docs/read me.md", &gitlab.GetFileOptions{Ref: new("main")})).ok(t, http.StatusOK)
	if text, err := base64.StdEncoding.DecodeString(file.Content); err != nil || string(text) != "# Hammer\n" || file.Size != 9 {
		t.Errorf("file: %+v, %v", file, err)
	}
	meta := call(c.RepositoryFiles.GetFileMetaData(p.ID, "docs/read me.md", &gitlab.GetFileMetaDataOptions{Ref: new("main")})).ok(t, http.StatusOK)
	if meta.BlobID != file.BlobID || meta.Size != file.Size || meta.FileName != "read me.md" {
		t.Errorf("headers: %+v, body: %+v", meta, file)
	}

	tree := call(c.Repositories.ListTree(p.ID, nil)).ok(t, http.StatusOK)
	var entries []string
	for _, e := range tree {
		entries = append(entries, e.Mode+" "+e.Path)
	}
	texts(t, "tree", entries, "040000 dir", "040000 docs", "100644 README.md", "100644 a.txt")
	if archive := call(c.Repositories.Archive(p.ID, &gitlab.ArchiveOptions{Format: new("tar.gz")})).ok(t, http.StatusOK); len(archive) < 100 {
		t.Errorf("an archive of %d bytes", len(archive))
	}

	branch := call(c.Branches.CreateBranch(p.ID, &gitlab.CreateBranchOptions{Branch: new("side"), Ref: &made.ID})).ok(t, http.StatusCreated)
	if branch.Commit.ID != made.ID || branch.Default || branch.Protected || !branch.CanPush {
		t.Errorf("branch: %+v", branch)
	}
	tag := call(c.Tags.CreateTag(p.ID, &gitlab.CreateTagOptions{TagName: new("v1.0.0"), Ref: new("main"), Message: new("One")})).ok(t, http.StatusCreated)
	if tag.Message != "One" || tag.Commit == nil {
		t.Errorf("tag: %+v", tag)
	}
	compared := call(c.Repositories.Compare(p.ID, &gitlab.CompareOptions{From: new("side"), To: new("main")})).ok(t, http.StatusOK)
	if len(compared.Commits) != 1 || len(compared.Diffs) != 1 || compared.CompareSameRef || compared.Commit.Title != "A page" {
		t.Errorf("compared: %+v", compared)
	}
	if base := call(c.Repositories.MergeBase(p.ID, &gitlab.MergeBaseOptions{Ref: &[]string{"side", "main"}})).ok(t, http.StatusOK); base.ID != made.ID {
		t.Errorf("merge base: %+v", base)
	}
	rule := call(c.ProtectedBranches.ProtectRepositoryBranches(p.ID, &gitlab.ProtectRepositoryBranchesOptions{
		Name: new("stable-*"), PushAccessLevel: new(gitlab.DeveloperPermissions),
	})).ok(t, http.StatusCreated)
	if len(rule.PushAccessLevels) != 1 || rule.PushAccessLevels[0].AccessLevel != gitlab.DeveloperPermissions {
		t.Errorf("rule: %+v", rule)
	}
	status := call(c.Commits.SetCommitStatus(p.ID, made.ID, &gitlab.SetCommitStatusOptions{State: gitlab.Success, Name: new("forge")})).ok(t, http.StatusCreated)
	if status.Status != "success" || status.SHA != made.ID {
		t.Errorf("status: %+v", status)
	}
	key := call(c.DeployKeys.AddDeployKey(p.ID, &gitlab.AddDeployKeyOptions{
		Title: new("robot"), Key: new("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"), CanPush: new(true),
	})).ok(t, http.StatusCreated)
	if !key.CanPush || key.Fingerprint == "" {
		t.Errorf("deploy key: %+v", key)
	}
}
