package e2e

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

// TestTheOfficialGoClientPlans is the tour through issues and what belongs to them, wikis, snippets and what is said about commits.
func TestTheOfficialGoClientPlans(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, f.token)
	g := call(c.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Works"), Path: new("works")})).ok(t, http.StatusCreated)
	p := call(c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Anvil"), NamespaceID: &g.ID})).ok(t, http.StatusCreated)
	me, _, err := c.Users.CurrentUser()
	if err != nil {
		t.Fatal(err)
	}

	bug := call(c.Labels.CreateLabel(p.ID, &gitlab.CreateLabelOptions{Name: new("bug"), Color: new("#ff0000"), Priority: new(int64(1))})).ok(t, http.StatusCreated)
	if bug.Name != "bug" || bug.Color != "#ff0000" || !bug.IsProjectLabel {
		t.Errorf("label: %+v", bug)
	}
	call(c.GroupLabels.CreateGroupLabel(g.ID, &gitlab.CreateGroupLabelOptions{Name: new("later"), Color: new("red")})).ok(t, http.StatusCreated)
	if all := call(c.Labels.ListLabels(p.ID, &gitlab.ListLabelsOptions{WithCounts: new(true)})).ok(t, http.StatusOK); len(all) != 2 {
		t.Errorf("labels: %+v", all)
	}
	call(c.Labels.SubscribeToLabel(p.ID, "bug")).ok(t, http.StatusCreated)
	day, err := gitlab.ParseISOTime("2030-01-31")
	if err != nil {
		t.Fatal(err)
	}
	m := call(c.Milestones.CreateMilestone(p.ID, &gitlab.CreateMilestoneOptions{Title: new("1.0"), DueDate: &day})).ok(t, http.StatusCreated)
	if m.Title != "1.0" || m.DueDate == nil || m.DueDate.String() != "2030-01-31" || m.State != "active" {
		t.Errorf("milestone: %+v", m)
	}

	i := call(c.Issues.CreateIssue(p.ID, &gitlab.CreateIssueOptions{
		Title: new("Mend the door"), Description: new("- [ ] hinge\n\n/estimate 2h"), Labels: &gitlab.LabelOptions{"bug", "later"}, MilestoneID: &m.ID,
		AssigneeIDs: &[]int64{me.ID}, DueDate: &day,
	})).ok(t, http.StatusCreated)
	if i.IID != 1 || i.State != "opened" || i.Milestone == nil || i.Milestone.ID != m.ID || len(i.Assignees) != 1 || strings.Join(i.Labels, " ") != "bug later" ||
		i.TimeStats.TimeEstimate != 7200 || i.Author.Username != "root" || i.DueDate.String() != "2030-01-31" {
		t.Errorf("issue: %+v", i)
	}
	other := call(c.Issues.CreateIssue(p.ID, &gitlab.CreateIssueOptions{Title: new("Paint it"), Confidential: new(true)})).ok(t, http.StatusCreated)
	if other.IID != 2 || !other.Confidential {
		t.Errorf("issue: %+v", other)
	}
	if got := call(c.Issues.ListProjectIssues(p.ID, &gitlab.ListProjectIssuesOptions{Labels: &gitlab.LabelOptions{"bug"}})).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != i.ID {
		t.Errorf("issues by label: %+v", got)
	}
	if got := call(c.Issues.ListGroupIssues(g.ID, &gitlab.ListGroupIssuesOptions{Search: new("paint")})).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != other.ID {
		t.Errorf("issues of the group: %+v", got)
	}
	link := call(c.IssueLinks.CreateIssueLink(p.ID, 1, &gitlab.CreateIssueLinkOptions{TargetProjectID: new(strconv.FormatInt(p.ID, 10)), TargetIssueIID: new("2"), LinkType: new("relates_to")})).ok(t, http.StatusCreated)
	if link.SourceIssue.IID != 1 || link.TargetIssue.IID != 2 {
		t.Errorf("link: %+v", link)
	}
	if got := call(c.IssueLinks.ListIssueRelations(p.ID, 1)).ok(t, http.StatusOK); len(got) != 1 || got[0].IID != 2 {
		t.Errorf("links: %+v", got)
	}

	n := call(c.Notes.CreateIssueNote(p.ID, 1, &gitlab.CreateIssueNoteOptions{Body: new("Which *door*?")})).ok(t, http.StatusCreated)
	if n.Body != "Which *door*?" || n.NoteableType != "Issue" || n.NoteableIID != 1 {
		t.Errorf("note: %+v", n)
	}
	d := call(c.Discussions.CreateIssueDiscussion(p.ID, 1, &gitlab.CreateIssueDiscussionOptions{Body: new("A thread")})).ok(t, http.StatusCreated)
	call(c.Discussions.AddIssueDiscussionNote(p.ID, 1, d.ID, &gitlab.AddIssueDiscussionNoteOptions{Body: new("goes on")})).ok(t, http.StatusCreated)
	if got := call(c.Discussions.GetIssueDiscussion(p.ID, 1, d.ID)).ok(t, http.StatusOK); len(got.Notes) != 2 || got.IndividualNote {
		t.Errorf("discussion: %+v", got)
	}
	award := call(c.AwardEmoji.CreateIssueAwardEmoji(p.ID, 1, &gitlab.CreateAwardEmojiOptions{Name: "thumbsup"})).ok(t, http.StatusCreated)
	if award.Name != "thumbsup" || award.AwardableType != "Issue" {
		t.Errorf("award: %+v", award)
	}
	call(c.AwardEmoji.CreateIssuesAwardEmojiOnNote(p.ID, 1, n.ID, &gitlab.CreateAwardEmojiOptions{Name: "tada"})).ok(t, http.StatusCreated)

	board := call(c.Boards.CreateIssueBoard(p.ID, &gitlab.CreateIssueBoardOptions{Name: new("Work")})).ok(t, http.StatusCreated)
	list := call(c.Boards.CreateIssueBoardList(p.ID, board.ID, &gitlab.CreateIssueBoardListOptions{LabelID: &bug.ID})).ok(t, http.StatusCreated)
	if got := call(c.Boards.GetIssueBoardLists(p.ID, board.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != list.ID || got[0].Label.Name != "bug" {
		t.Errorf("lists: %+v", got)
	}

	todo := call(c.Issues.CreateTodo(p.ID, 2)).ok(t, http.StatusCreated)
	if todo.TargetType != "Issue" || todo.ActionName != "marked" {
		t.Errorf("to-do: %+v", todo)
	}
	if got := call(c.Todos.ListTodos(nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != todo.ID {
		t.Errorf("to-dos: %+v", got)
	}

	closed := call(c.Issues.UpdateIssue(p.ID, 1, &gitlab.UpdateIssueOptions{StateEvent: new("close"), RemoveLabels: &gitlab.LabelOptions{"bug"}})).ok(t, http.StatusOK)
	if closed.State != "closed" || closed.ClosedAt == nil || strings.Join(closed.Labels, " ") != "later" {
		t.Errorf("closed: %+v", closed)
	}
	if got := call(c.ResourceStateEvents.ListIssueStateEvents(p.ID, 1, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].State != "closed" {
		t.Errorf("states: %+v", got)
	}
	if got := call(c.ResourceLabelEvents.ListIssueLabelEvents(p.ID, 1, nil)).ok(t, http.StatusOK); len(got) == 0 || got[len(got)-1].Action != "remove" {
		t.Errorf("labels: %+v", got)
	}
	if got := call(c.Milestones.GetMilestoneIssues(p.ID, m.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != i.ID {
		t.Errorf("issues of the milestone: %+v", got)
	}

	badge := call(c.ProjectBadges.AddProjectBadge(p.ID, &gitlab.AddProjectBadgeOptions{LinkURL: new("https://example.com/%{project_path}"), ImageURL: new("https://example.com/a.svg")})).ok(t, http.StatusCreated)
	if badge.RenderedLinkURL != "https://example.com/works/Anvil" {
		t.Errorf("badge: %+v", badge)
	}
	if got := call(c.Markdown.Render(&gitlab.RenderOptions{Text: new("See #1"), GitlabFlavouredMarkdown: new(true), Project: new("works/Anvil")})).ok(t, http.StatusCreated); !strings.Contains(got.HTML, "/works/Anvil/-/issues/1") {
		t.Errorf("rendered: %+v", got)
	}
	file := call(c.ProjectMarkdownUploads.UploadProjectMarkdown(p.ID, bytes.NewReader([]byte("x")), "a.txt")).ok(t, http.StatusCreated)
	if !strings.Contains(file.Markdown, "a.txt") {
		t.Errorf("upload: %+v", file)
	}

	page := call(c.Wikis.CreateWikiPage(p.ID, &gitlab.CreateWikiPageOptions{Title: new("docs/How to build"), Content: new("# Build")})).ok(t, http.StatusCreated)
	if page.Slug != "docs/How-to-build" || page.Title != "How to build" || page.Format != gitlab.WikiFormatMarkdown {
		t.Errorf("page: %+v", page)
	}
	call(c.Wikis.EditWikiPage(p.ID, page.Slug, &gitlab.EditWikiPageOptions{Content: new("# Built"), Title: new("Building")})).ok(t, http.StatusOK)
	if got := call(c.Wikis.GetWikiPage(p.ID, "docs/Building", nil)).ok(t, http.StatusOK); got.Content != "# Built" || got.Encoding != "UTF-8" {
		t.Errorf("page: %+v", got)
	}
	attached := call(c.Wikis.UploadWikiAttachment(p.ID, bytes.NewReader([]byte("x")), "a.png", nil)).ok(t, http.StatusCreated)
	if attached.FileName != "a.png" || attached.Branch != "main" {
		t.Errorf("attachment: %+v", attached)
	}
	if got := call(c.Wikis.ListWikis(p.ID, &gitlab.ListWikisOptions{WithContent: new(true)})).ok(t, http.StatusOK); len(got) != 1 || got[0].Content != "# Built" {
		t.Errorf("pages: %+v", got)
	}
	if _, err := c.Wikis.DeleteWikiPage(p.ID, "docs/Building"); err != nil {
		t.Error(err)
	}

	s := call(c.Snippets.CreateSnippet(&gitlab.CreateSnippetOptions{
		Title: new("Notes"), Visibility: new(gitlab.PublicVisibility), Files: &[]*gitlab.CreateSnippetFileOptions{{FilePath: new("a.txt"), Content: new("one")}, {FilePath: new("b/c.txt"), Content: new("two")}},
	})).ok(t, http.StatusCreated)
	if s.Title != "Notes" || len(s.Files) != 2 || s.Files[1].Path != "b/c.txt" {
		t.Errorf("snippet: %+v", s)
	}
	s = call(c.Snippets.UpdateSnippet(s.ID, &gitlab.UpdateSnippetOptions{Files: &[]*gitlab.UpdateSnippetFileOptions{{Action: new("update"), FilePath: new("a.txt"), Content: new("three")}}})).ok(t, http.StatusOK)
	if got := call(c.Snippets.SnippetContent(s.ID)).ok(t, http.StatusOK); string(got) != "three" {
		t.Errorf("content: %q", got)
	}
	if got := call(c.Snippets.SnippetFileContent(s.ID, "main", "b/c.txt")).ok(t, http.StatusOK); string(got) != "two" {
		t.Errorf("content: %q", got)
	}
	in := call(c.ProjectSnippets.CreateSnippet(p.ID, &gitlab.CreateProjectSnippetOptions{
		Title: new("In a project"), Visibility: new(gitlab.PrivateVisibility), Files: &[]*gitlab.CreateSnippetFileOptions{{FilePath: new("x.go"), Content: new("package x")}},
	})).ok(t, http.StatusCreated)
	if got := call(c.ProjectSnippets.SnippetContent(p.ID, in.ID)).ok(t, http.StatusOK); string(got) != "package x" {
		t.Errorf("content: %q", got)
	}
	sn := call(c.Notes.CreateSnippetNote(p.ID, in.ID, &gitlab.CreateSnippetNoteOptions{Body: new("Shorter")})).ok(t, http.StatusCreated)
	if sn.NoteableType != "Snippet" || sn.NoteableID != in.ID {
		t.Errorf("note: %+v", sn)
	}
	call(c.Notes.UpdateSnippetNote(p.ID, in.ID, sn.ID, &gitlab.UpdateSnippetNoteOptions{Body: new("Shorter!")})).ok(t, http.StatusOK)
	if got := call(c.Notes.ListSnippetNotes(p.ID, in.ID, nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].Body != "Shorter!" {
		t.Errorf("notes: %+v", got)
	}
	sd := call(c.Discussions.CreateSnippetDiscussion(p.ID, in.ID, &gitlab.CreateSnippetDiscussionOptions{Body: new("A thread")})).ok(t, http.StatusCreated)
	call(c.Discussions.AddSnippetDiscussionNote(p.ID, in.ID, sd.ID, &gitlab.AddSnippetDiscussionNoteOptions{Body: new("goes on")})).ok(t, http.StatusCreated)
	if got := call(c.Discussions.GetSnippetDiscussion(p.ID, in.ID, sd.ID)).ok(t, http.StatusOK); len(got.Notes) != 2 || got.IndividualNote {
		t.Errorf("discussion: %+v", got)
	}
	if got := call(c.AwardEmoji.CreateSnippetAwardEmoji(p.ID, in.ID, &gitlab.CreateAwardEmojiOptions{Name: "heart"})).ok(t, http.StatusCreated); got.AwardableType != "Snippet" {
		t.Errorf("award: %+v", got)
	}
	call(c.AwardEmoji.CreateSnippetAwardEmojiOnNote(p.ID, in.ID, sn.ID, &gitlab.CreateAwardEmojiOptions{Name: "tada"})).ok(t, http.StatusCreated)

	commit := call(c.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{
		Branch: new("main"), CommitMessage: new("Begin"), Actions: []*gitlab.CommitActionOptions{{Action: new(gitlab.FileCreate), FilePath: new("a.txt"), Content: new("one\ntwo\n")}},
	})).ok(t, http.StatusCreated)
	comment := call(c.Commits.PostCommitComment(p.ID, commit.ID, &gitlab.PostCommitCommentOptions{
		Note: new("Why two?"), Path: new("a.txt"), Line: new(int64(2)), LineType: new("new"),
	})).ok(t, http.StatusCreated)
	if comment.Note != "Why two?" || comment.Path != "a.txt" || comment.Line != 2 || comment.Author.Username != "root" {
		t.Errorf("comment: %+v", comment)
	}
	first := strings.Repeat("0", 40) // what the first commit is compared with
	cd := call(c.Discussions.CreateCommitDiscussion(p.ID, commit.ID, &gitlab.CreateCommitDiscussionOptions{Body: new("Why one?"), Position: &gitlab.NotePosition{
		BaseSHA: first, StartSHA: first, HeadSHA: commit.ID, PositionType: "text", NewPath: "a.txt", NewLine: 1,
	}})).ok(t, http.StatusCreated)
	if n := cd.Notes[0]; n.NoteableType != "Commit" || string(n.Type) != "DiffNote" || n.Position == nil || n.Position.NewLine != 1 || n.Position.NewPath != "a.txt" || n.Position.HeadSHA != commit.ID {
		t.Errorf("discussion: %+v", n)
	}
	reply := call(c.Discussions.AddCommitDiscussionNote(p.ID, commit.ID, cd.ID, &gitlab.AddCommitDiscussionNoteOptions{Body: new("Because")})).ok(t, http.StatusCreated)
	call(c.Discussions.UpdateCommitDiscussionNote(p.ID, commit.ID, cd.ID, reply.ID, &gitlab.UpdateCommitDiscussionNoteOptions{Body: new("Because!")})).ok(t, http.StatusOK)
	if got := call(c.Discussions.ListCommitDiscussions(p.ID, commit.ID, nil)).ok(t, http.StatusOK); len(got) != 2 || len(got[1].Notes) != 2 || got[1].Notes[1].Body != "Because!" {
		t.Errorf("discussions: %+v", got)
	}
	if got := call(c.Commits.GetCommitComments(p.ID, commit.ID, nil)).ok(t, http.StatusOK); len(got) != 3 || got[2].Note != "Because!" || got[2].Line != 1 {
		t.Errorf("comments: %+v", got)
	}
	if _, err := c.Discussions.DeleteCommitDiscussionNote(p.ID, commit.ID, cd.ID, reply.ID); err != nil {
		t.Error(err)
	}

	if got := call(c.Snippets.ListSnippets(nil)).ok(t, http.StatusOK); len(got) != 2 {
		t.Errorf("snippets: %+v", got)
	}
	if got := call(c.Snippets.ExploreSnippets(nil)).ok(t, http.StatusOK); len(got) != 1 || got[0].ID != s.ID {
		t.Errorf("public snippets: %+v", got)
	}
	if _, err := c.ProjectSnippets.DeleteSnippet(p.ID, in.ID); err != nil {
		t.Error(err)
	}
}
