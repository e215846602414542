"""python-gitlab, as Debian ships it, on issues and what belongs to them, wikis, snippets and what is said about commits.

The first difference ends the tour with a message and a status other than 0.
"""

import os
import sys

import gitlab

gl = gitlab.Gitlab(os.environ["TOUR_URL"], private_token=os.environ["TOUR_TOKEN"])


def step(text):
    print("python:", text, flush=True)


def equal(what, got, want):
    if got != want:
        sys.exit(f"python: {what}: got {got!r}, want {want!r}")


def refused(what, code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except gitlab.exceptions.GitlabError as e:
        equal(what + ", status", e.response_code, code)
        return
    sys.exit(f"python: {what}: was not refused")


gl.auth()
works = gl.groups.create({"name": "Works", "path": "works"})
p = gl.projects.create({"name": "Anvil", "namespace_id": works.id})

step("labels and milestones")
bug = p.labels.create({"name": "bug", "color": "#ff0000"})
bug.description = "not as it should be"
bug.save()
equal("label", p.labels.get("bug").description, "not as it should be")
bug.subscribe()
works.labels.create({"name": "later", "color": "#112233"})
equal("labels", sorted(x.name for x in p.labels.list(get_all=True)), ["bug", "later"])
one = p.milestones.create({"title": "1.0", "due_date": "2030-01-31"})
equal("milestone", (one.title, one.due_date, one.state), ("1.0", "2030-01-31", "active"))

step("issues")
door = p.issues.create({"title": "Mend the door", "labels": ["bug", "later"], "milestone_id": one.id, "assignee_ids": [gl.user.id]})
equal("issue", (door.iid, sorted(door.labels), door.milestone["id"], door.state), (1, ["bug", "later"], one.id, "opened"))
paint = p.issues.create({"title": "Paint it", "confidential": True})
equal("by label", [i.iid for i in p.issues.list(labels=["bug"], get_all=True)], [1])
equal("of the group", [i.iid for i in works.issues.list(search="paint", get_all=True)], [2])
equal("of everybody", sorted(i.id for i in gl.issues.list(scope="all", get_all=True)), [door.id, paint.id])
equal("of the milestone", [i.iid for i in one.issues()], [1])
door.time_estimate("2h")
equal("time", door.add_spent_time("1h30m")["total_time_spent"], 5400)
door.links.create({"target_project_id": p.id, "target_issue_iid": 2})
equal("links", [i.iid for i in door.links.list(get_all=True)], [2])
equal("participants", [u["username"] for u in door.participants()], ["root"])
todo = paint.todo()
equal("to-dos", [t.target["iid"] for t in gl.todos.list(get_all=True)], [2])
gl.todos.mark_all_as_done()
equal("to-dos that are left", gl.todos.list(get_all=True), [])

step("notes")
note = door.notes.create({"body": "Which *door*?"})
note.body = "That door"
note.save()
equal("note", door.notes.get(note.id).body, "That door")
thread = door.discussions.create({"body": "A thread"})
thread.notes.create({"body": "goes on"})
equal("thread", [n["body"] for n in door.discussions.get(thread.id).attributes["notes"]], ["A thread", "goes on"])
door.awardemojis.create({"name": "thumbsup"})
note.awardemojis.create({"name": "tada"})
equal("emoji", [a.name for a in door.awardemojis.list(get_all=True)], ["thumbsup"])
equal("emoji of the note", [a.name for a in note.awardemojis.list(get_all=True)], ["tada"])
note.delete()
refused("a note that is gone", 404, door.notes.get, note.id)

step("changes")
door.labels = ["later"]
door.state_event = "close"
door.save()
equal("closed", p.issues.get(1).state, "closed")
equal("states", [e.state for e in door.resourcestateevents.list(get_all=True)], ["closed"])
equal("labels that went", [e.label["name"] for e in door.resourcelabelevents.list(get_all=True) if e.action == "remove"], ["bug"])

step("boards")
board = p.boards.create({"name": "Work"})
board.lists.create({"label_id": bug.id})
equal("lists", [x.label["name"] for x in p.boards.get(board.id).lists.list(get_all=True)], ["bug"])

step("files and texts")
equal("upload", p.upload("a.txt", filedata="x")["alt"], "a.txt")
equal("markdown", "/works/Anvil/-/issues/1" in gl.markdown("See #1", gfm=True, project="works/Anvil"), True)
badge = p.badges.create({"link_url": "https://example.com/%{project_path}", "image_url": "https://example.com/a.svg"})
equal("badge", badge.rendered_link_url, "https://example.com/works/Anvil")

step("wikis")
page = p.wikis.create({"title": "docs/How to build", "content": "# Build"})
equal("page", (page.slug, page.title, page.format), ("docs/How-to-build", "How to build", "markdown"))
page.content = "# Built"
page.save()
equal("changed", p.wikis.get("docs/How-to-build").content, "# Built")
equal("pages", [x.slug for x in p.wikis.list(get_all=True)], ["docs/How-to-build"])
page.delete()
refused("a page that is gone", 404, p.wikis.get, "docs/How-to-build")

step("snippets")
mine = gl.snippets.create({"title": "Notes", "visibility": "public", "file_name": "a.txt", "content": "one"})
equal("files", [f["path"] for f in mine.attributes["files"]], ["a.txt"])
equal("content", mine.content(), b"one")
mine.title = "More notes"
mine.save()
equal("changed", gl.snippets.get(mine.id).title, "More notes")
theirs = p.snippets.create({"title": "In a project", "visibility": "private", "file_name": "x.py", "content": "x = 1"})
equal("content in a project", theirs.content(), b"x = 1")
equal("one's own", sorted(s.id for s in gl.snippets.list(get_all=True)), [mine.id, theirs.id])
equal("public", [s.id for s in gl.snippets.public(get_all=True)], [mine.id])
equal("of the project", [s.id for s in p.snippets.list(get_all=True)], [theirs.id])

step("notes about snippets and commits")
said = theirs.notes.create({"body": "Shorter"})
said.body = "Shorter!"
said.save()
equal("note", (theirs.notes.get(said.id).body, said.noteable_type, said.noteable_id), ("Shorter!", "Snippet", theirs.id))
thread = theirs.discussions.create({"body": "A thread"})
thread.notes.create({"body": "goes on"})
equal("thread", [n["body"] for n in theirs.discussions.get(thread.id).attributes["notes"]], ["A thread", "goes on"])
theirs.awardemojis.create({"name": "heart"})
said.awardemojis.create({"name": "tada"})
equal("emoji", [a.awardable_type for a in theirs.awardemojis.list(get_all=True)], ["Snippet"])
equal("emoji of the note", [a.name for a in said.awardemojis.list(get_all=True)], ["tada"])
said.delete()
equal("notes that are left", [n.body for n in theirs.notes.list(get_all=True, sort="asc")], ["A thread", "goes on"])
commit = p.commits.create({
    "branch": "main", "commit_message": "Begin", "actions": [{"action": "create", "file_path": "a.txt", "content": "one\ntwo\n"}],
})
comment = commit.comments.create({"note": "Why two?", "path": "a.txt", "line": 2, "line_type": "new"})
equal("comment", (comment.note, comment.path, comment.line, comment.line_type), ("Why two?", "a.txt", 2, "new"))
first = "0" * 40  # what the first commit is compared with
thread = commit.discussions.create({"body": "Why one?", "position": {
    "base_sha": first, "start_sha": first, "head_sha": commit.id, "position_type": "text", "new_path": "a.txt", "new_line": 1,
}})
equal("position", [(n["type"], n["position"]["new_line"]) for n in thread.attributes["notes"]], [("DiffNote", 1)])
thread.notes.create({"body": "Because"})
equal("comments", [c.note for c in commit.comments.list(get_all=True)], ["Why two?", "Why one?", "Because"])
equal("discussions", [len(d.attributes["notes"]) for d in commit.discussions.list(get_all=True)], [1, 2])
refused("a position that the diff does not show", 400, commit.discussions.create, {"body": "x", "position": {
    "base_sha": first, "start_sha": first, "head_sha": commit.id, "position_type": "text", "new_path": "a.txt", "new_line": 9,
}})

theirs.delete()
refused("a snippet that is gone", 404, p.snippets.get, theirs.id)
step("done")
