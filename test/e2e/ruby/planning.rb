# ruby-gitlab, as Debian ships it, on issues and what belongs to them, wikis, snippets and commits. The first difference ends the tour.

require "gitlab"

CLIENT = Gitlab.client(endpoint: "#{ENV.fetch("TOUR_URL")}/api/v4", private_token: ENV.fetch("TOUR_TOKEN"))

def step(text)
  puts "ruby: #{text}"
  $stdout.flush
end

def equal(what, got, want)
  abort "ruby: #{what}: got #{got.inspect}, want #{want.inspect}" unless got == want
end

id = CLIENT.create_project("Anvil").id
me = CLIENT.user.id

step "labels and milestones"
bug = CLIENT.create_label(id, "bug", "#ff0000")
equal "labels", CLIENT.labels(id).map(&:name), ["bug"]
one = CLIENT.create_milestone(id, "1.0", due_date: "2030-01-31")
equal "milestone", CLIENT.milestone(id, one.id).due_date, "2030-01-31"

step "issues"
door = CLIENT.create_issue(id, "Mend the door", labels: "bug", milestone_id: one.id, assignee_ids: [me])
equal "issue", [door.iid, door.labels, door.milestone.id], [1, ["bug"], one.id]
CLIENT.create_issue(id, "Paint it")
equal "by label", CLIENT.issues(id, labels: "bug").map(&:iid), [1]
equal "of the milestone", CLIENT.milestone_issues(id, one.id).map(&:iid), [1]
equal "time", CLIENT.add_time_spent_on_issue(id, 1, "1h").total_time_spent, 3600
CLIENT.subscribe_to_issue(id, 2)
equal "closed", CLIENT.close_issue(id, 1).state, "closed"
equal "reopened", CLIENT.reopen_issue(id, 1).state, "opened"

step "notes"
note = CLIENT.create_issue_note(id, 1, "Which door?")
equal "note", CLIENT.issue_note(id, 1, note.id).body, "Which door?"
equal "changed", CLIENT.edit_issue_note(id, 1, note.id, "That door").body, "That door"
equal "emoji", CLIENT.create_award_emoji(id, 1, "issue", "tada").name, "tada"

step "boards and to-dos"
board = CLIENT.create_board(id, "Work").id
equal "boards", CLIENT.boards(id).map(&:name), ["Work"]
CLIENT.create_board_list(id, board, bug.id)
equal "lists", CLIENT.board_lists(id, board).map { |list| list.label["name"] }, ["bug"]
equal "to-dos: closing the issue was one's own", CLIENT.todos.length, 0

step "wikis"
page = CLIENT.create_wiki(id, "docs/How to build", "# Build")
equal "page", [page.slug, page.title], ["docs/How-to-build", "How to build"]
equal "changed", CLIENT.update_wiki(id, "docs%2FHow-to-build", content: "# Built").content, "# Built"
equal "pages", CLIENT.wikis(id).map(&:slug), ["docs/How-to-build"]
CLIENT.delete_wiki(id, "docs%2FHow-to-build")
equal "pages that are left", CLIENT.wikis(id).length, 0

step "snippets"
mine = CLIENT.create_user_snippet(title: "Notes", file_name: "a.txt", content: "one", visibility: "public")
equal "snippet", [mine.title, mine.file_name], ["Notes", "a.txt"]
equal "changed", CLIENT.edit_user_snippet(mine.id, title: "More").title, "More"
theirs = CLIENT.create_snippet(id, title: "In a project", file_name: "x.rb", content: "x = 1", visibility: "private")
equal "of the project", CLIENT.snippets(id).map(&:id), [theirs.id]
said = CLIENT.create_snippet_note(id, theirs.id, "Shorter")
equal "note", CLIENT.snippet_note(id, theirs.id, said.id).noteable_type, "Snippet"
equal "changed note", CLIENT.edit_snippet_note(id, theirs.id, said.id, "Shorter!").body, "Shorter!"
equal "emoji", CLIENT.create_award_emoji(id, theirs.id, "snippet", "heart").awardable_type, "Snippet"
equal "emoji of the note", CLIENT.create_note_award_emoji(id, theirs.id, "snippet", said.id, "tada").name, "tada"
CLIENT.delete_snippet_note(id, theirs.id, said.id)
equal "notes that are left", CLIENT.snippet_notes(id, theirs.id).length, 0
CLIENT.delete_snippet(id, theirs.id)
equal "one's own", CLIENT.user_snippets.map(&:id), [mine.id]

step "comments on commits"
commit = CLIENT.create_commit(id, "main", "Begin", [{ action: "create", file_path: "a.txt", content: "one\ntwo\n" }])
comment = CLIENT.create_commit_comment(id, commit.id, "Why two?", path: "a.txt", line: 2, line_type: "new")
equal "comment", [comment.note, comment.path, comment.line, comment.line_type], ["Why two?", "a.txt", 2, "new"]
equal "comments", CLIENT.commit_comments(id, commit.id).map(&:note), ["Why two?"]
step "done"
