"""python-gitlab, as Debian ships it, on groups, projects, members and their tokens.

The first difference ends the tour with a message and a status other than 0.
"""

import datetime
import os
import sys

import gitlab

URL = os.environ["TOUR_URL"]
TOKEN = os.environ["TOUR_TOKEN"]
DAY = (datetime.date.today() + datetime.timedelta(days=20)).isoformat()

REPORTER, DEVELOPER, MAINTAINER = 20, 30, 40

gl = gitlab.Gitlab(URL, private_token=TOKEN)


def step(text):
    print("python:", text, flush=True)


def equal(what, got, want):
    if got != want:
        sys.exit(f"python: {what}: got {got!r}, want {want!r}")


def refused(what, code, message, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except gitlab.exceptions.GitlabError as e:
        equal(what + ", status", e.response_code, code)
        equal(what + ", message", e.error_message, message)
        return
    sys.exit(f"python: {what}: was not refused")


def person(username):
    return gl.users.create(
        {
            "username": username,
            "name": username.title(),
            "email": f"{username}@example.com",
            "force_random_password": True,
            "skip_confirmation": True,
        }
    )


def client_of(user):
    made = user.personal_access_tokens.create({"name": "tour", "scopes": ["api"]})
    return gitlab.Gitlab(URL, private_token=made.token)


def usernames(members):
    return sorted(m.username for m in members)


ann, bob = person("ann"), person("bob")
as_ann, as_bob = client_of(ann), client_of(bob)

step("groups")
works = gl.groups.create({"name": "Works", "path": "works", "visibility": "public", "request_access_enabled": True})
equal("full path", works.full_path, "works")
hearth = gl.groups.create({"name": "Hearth", "path": "hearth", "parent_id": works.id, "visibility": "private"})
equal("parent", (hearth.parent_id, hearth.full_path, hearth.full_name), (works.id, "works/hearth", "Works / Hearth"))
hearth.description = "warm"
hearth.save()
equal("by path", gl.groups.get("works/hearth").description, "warm")
equal("groups", [g.full_path for g in gl.groups.list(order_by="id", iterator=True)], ["works", "works/hearth"])
equal("search", [g.full_path for g in gl.groups.list(search="hearth", get_all=True)], ["works/hearth"])
equal("top level", [g.full_path for g in gl.groups.list(top_level_only=True, get_all=True)], ["works"])
equal("subgroups", [g.id for g in works.subgroups.list(get_all=True)], [hearth.id])
equal("descendants", [g.id for g in works.descendant_groups.list(get_all=True)], [hearth.id])
equal("what a stranger sees below", as_ann.groups.get(works.id).subgroups.list(get_all=True), [])
refused("a hidden group", 404, "404 Group Not Found", as_ann.groups.get, hearth.id)
refused("a taken path", 400, "Failed to save group {:path=>[\"has already been taken\"]}", gl.groups.create, {"name": "None", "path": "works"})
works.share(hearth.id, DEVELOPER)
equal("shared", [s["group_id"] for s in gl.groups.get(works.id).shared_with_groups], [hearth.id])
works.unshare(hearth.id)
attribute = works.customattributes.set("colour", "red")
equal("attribute", (attribute.key, attribute.value), ("colour", "red"))
works.customattributes.delete("colour")

step("projects")
tongs = gl.projects.create({"name": "Tongs", "path": "tongs", "namespace_id": works.id, "visibility": "public", "topics": ["iron"]})
equal("path", tongs.path_with_namespace, "works/tongs")
equal("namespace", (tongs.namespace["kind"], tongs.namespace["id"]), ("group", works.id))
notes = as_ann.projects.create({"name": "My Notes"})
equal("own", (notes.path_with_namespace, notes.visibility), ("ann/my-notes", "private"))
equal("for ann", ann.projects.create({"name": "gift"}).path_with_namespace, "ann/gift")
equal("by id", gl.projects.get(tongs.id).name, "Tongs")
equal("by path", gl.projects.get("works/tongs").id, tongs.id)
tongs.description = "to hold"
tongs.topics = ["steel"]
tongs.save()
equal("updated", (lambda p: (p.description, p.topics))(gl.projects.get(tongs.id)), ("to hold", ["steel"]))
refused("a hidden project", 404, "404 Project Not Found", as_bob.projects.get, "ann/my-notes")
tongs.path = "pincers"
tongs.save()
equal("by the old path", gl.projects.get("works/tongs").path_with_namespace, "works/pincers")
tongs.archive()
equal("archived", gl.projects.get(tongs.id).archived, True)
tongs.unarchive()
equal("not archived", gl.projects.get(tongs.id).archived, False)
as_ann.projects.get(tongs.id).star()
equal("starred", [p.id for p in ann.starred_projects.list(get_all=True)], [tongs.id])
as_ann.projects.get(tongs.id).unstar()
fork = as_ann.projects.get(tongs.id).forks.create({})
equal("fork", (fork.path_with_namespace, fork.forked_from_project["id"]), ("ann/pincers", tongs.id))
equal("forks", [p.id for p in tongs.forks.list(get_all=True)], [fork.id])

step("project lists")
for i in range(5):
    gl.projects.create({"name": f"item-{i}", "namespace_id": hearth.id})
items = [f"works/hearth/item-{i}" for i in range(5)]
equal("search", [p.path_with_namespace for p in gl.projects.list(search="item-", order_by="id", sort="asc", per_page=2, iterator=True)], items)
keyset = gl.projects.list(search="item-", pagination="keyset", order_by="id", sort="desc", per_page=2, iterator=True)
equal("keyset", [p.path_with_namespace for p in keyset], items[::-1])
equal("owned", [p.path for p in as_ann.projects.list(owned=True, order_by="path", sort="asc", get_all=True)], ["gift", "my-notes", "pincers"])
equal("hidden", as_ann.projects.list(search="item-", get_all=True), [])
equal("of the group", len(works.projects.list(include_subgroups=True, get_all=True)), 6)
equal("of ann", len(as_ann.users.get(ann.id).projects.list(get_all=True)), 3)

step("transfer")
tongs.transfer("works/hearth")
refused("public below private", 404, "404 Project Not Found", as_bob.projects.get, tongs.id)
hearth.transfer_project(notes.id)
equal("moved", gl.projects.get(notes.id).path_with_namespace, "works/hearth/my-notes")
hearth.transfer()
equal("at the top", gl.groups.get("hearth").id, hearth.id)

step("members")
for holder in (gl.projects.get("hearth/item-0"), hearth):
    member = holder.members.create({"user_id": ann.id, "access_level": DEVELOPER, "expires_at": DAY})
    equal("member", (member.username, member.access_level, member.expires_at), ("ann", DEVELOPER, DAY))
    equal("one", holder.members.get(ann.id).created_by["username"], "root")
    equal("found", usernames(holder.members.list(query="ann", get_all=True)), ["ann"])
    refused("twice", 409, "Member already exists", holder.members.create, {"user_id": ann.id, "access_level": DEVELOPER})
    member.access_level = MAINTAINER
    member.save()
    equal("edited", holder.members.get(ann.id).access_level, MAINTAINER)
    refused("an unknown level", 400, {"access_level": ["is not included in the list"]}, holder.members.create, {"user_id": bob.id, "access_level": 7})
item = gl.projects.get("hearth/item-0")
equal("all", usernames(item.members_all.list(get_all=True)), ["ann", "root"])
equal("inherited", gl.projects.get("hearth/item-1").members_all.get(ann.id).access_level, MAINTAINER)
equal("memberships", sorted((m.source_type, m.source_id) for m in ann.memberships.list(type="Project", get_all=True) if m.source_id == item.id), [("Project", item.id)])
equal("memberships of groups", [(m.source_name, m.access_level) for m in ann.memberships.list(type="Namespace", get_all=True)], [("Hearth", str(MAINTAINER))])
item.members.delete(ann.id)
hearth.members.delete(ann.id)
refused("gone", 404, "404 Project Not Found", as_ann.projects.get, item.id)

step("sharing a project")
guests = gl.groups.create({"name": "Guests", "path": "guests"})
guests.members.create({"user_id": bob.id, "access_level": MAINTAINER})
item.share(guests.id, REPORTER)
equal("shared", as_bob.projects.get(item.id).shared_with_groups[0]["group_access_level"], REPORTER)
equal("shared projects", [p.id for p in guests.shared_projects.list(get_all=True)], [item.id])
equal("through the group", item.members_all.get(bob.id).access_level, REPORTER)
item.unshare(guests.id)
refused("no longer", 404, "404 Project Not Found", as_bob.projects.get, item.id)

step("access requests")
gate = gl.projects.create({"name": "gate", "namespace_id": works.id, "visibility": "public", "request_access_enabled": True})
equal("request", as_ann.groups.get(works.id).accessrequests.create({}).username, "ann")
as_bob.groups.get(works.id).accessrequests.create({})
equal("requests", usernames(works.accessrequests.list(get_all=True)), ["ann", "bob"])
[of_ann] = [r for r in works.accessrequests.list(get_all=True) if r.id == ann.id]
of_ann.approve(access_level=REPORTER)
equal("approved", works.members.get(ann.id).access_level, REPORTER)
works.accessrequests.delete(bob.id)
equal("no requests", works.accessrequests.list(get_all=True), [])
as_bob.projects.get(gate.id).accessrequests.create({})
[of_bob] = gate.accessrequests.list(get_all=True)
of_bob.approve()
equal("approved for the project", gate.members.get(bob.id).access_level, DEVELOPER)

step("access tokens")
for holder in (item, hearth):
    token = holder.access_tokens.create({"name": "robot", "scopes": ["api"], "access_level": DEVELOPER, "expires_at": DAY})
    equal("token", (token.name, token.scopes, token.access_level, token.expires_at), ("robot", ["api"], DEVELOPER, DAY))
    robot = gitlab.Gitlab(URL, private_token=token.token)
    equal("what the robot sees", robot.projects.get(item.id).id, item.id)
    equal("tokens", [t.id for t in holder.access_tokens.list(get_all=True)], [token.id])
    holder.access_tokens.delete(token.id)
    refused("revoked", 401, "401 Unauthorized", robot.projects.get, item.id)

step("deploy tokens")
for holder in (item, hearth):
    token = holder.deploytokens.create({"name": "puller", "scopes": ["read_repository"], "username": "docker"})
    equal("deploy token", (token.name, token.username, token.scopes, token.token != ""), ("puller", "docker", ["read_repository"], True))
    equal("deploy tokens", [t.id for t in holder.deploytokens.list(get_all=True)], [token.id])
    equal("one", holder.deploytokens.get(token.id).name, "puller")
    equal("all", [t.id for t in gl.deploytokens.list(get_all=True)], [token.id])
    holder.deploytokens.delete(token.id)
    equal("none", holder.deploytokens.list(get_all=True), [])

step("labels, milestones and badges")
for holder in (item, hearth):
    label = holder.labels.create({"name": "bug " + holder.path, "color": "red"})
    equal("label", (label.color, label.text_color, label.subscribed), ("#FF0000", "#FFFFFF", False))
    label.color = "#abcdef"
    label.save()
    equal("labels", [l.color for l in holder.labels.list(search="bug " + holder.path, get_all=True)], ["#abcdef"])
    equal("subscribed", label.subscribe(), None)
    label.delete()
    milestone = holder.milestones.create({"title": "1.0 " + holder.path, "due_date": DAY})
    equal("milestone", (milestone.state, milestone.due_date, milestone.expired), ("active", DAY, False))
    milestone.state_event = "close"
    milestone.save()
    equal("closed", [m.id for m in holder.milestones.list(state="closed", get_all=True)], [milestone.id])
    milestone.delete()
    badge = holder.badges.create({"link_url": "https://example.com/%{project_name}", "image_url": "https://example.com/x.svg"})
    equal("badge", holder.badges.get(badge.id).link_url, "https://example.com/%{project_name}")
    equal("rendered", holder.badges.render(link_url="https://example.com/x", image_url="https://example.com/x.svg")["rendered_link_url"], "https://example.com/x")
    badge.delete()
label = item.labels.create({"name": "shared", "color": "#123456", "priority": 1})
label.promote()
equal("promoted", hearth.labels.get("shared").color, "#123456")
refused("a name that is inherited", 409, "Label already exists", item.labels.create, {"name": "shared", "color": "red"})
hearth.labels.delete("shared")
milestone = item.milestones.create({"title": "shared"})
milestone.promote()
equal("promoted", [m.title for m in hearth.milestones.list(get_all=True)], ["shared"])
hearth.milestones.list(get_all=True)[0].delete()

step("issues")
issue = item.issues.create({"title": "A crack", "labels": ["iron"], "confidential": True, "assignee_ids": [1]})
equal("issue", (issue.iid, issue.state, issue.labels, issue.confidential), (1, "opened", ["iron"], True))
issue.labels = ["iron", "hot"]
issue.state_event = "close"
issue.save()
equal("closed", [i.id for i in item.issues.list(state="closed", labels=["hot"], get_all=True)], [issue.id])
equal("of the group", [i.iid for i in hearth.issues.list(get_all=True)], [1])
equal("of mine", [i.id for i in gl.issues.list(scope="assigned_to_me", get_all=True)], [issue.id])
other = item.issues.create({"title": "A dent"})
source, target = issue.links.create({"target_project_id": item.id, "target_issue_iid": other.iid})
equal("linked", (source.iid, target.iid, [i.iid for i in issue.links.list(get_all=True)]), (1, 2, [2]))
equal("spent", issue.add_spent_time("2h")["total_time_spent"], 7200)
equal("counts", item.issues_statistics.get().statistics["counts"], {"all": 2, "closed": 1, "opened": 1})
note = issue.notes.create({"body": "It drips.", "internal": True})
equal("note", (note.body, note.internal, note.noteable_type, note.system), ("It drips.", True, "Issue", False))
note.body = "It pours."
note.save()
equal("changed", issue.notes.get(note.id).body, "It pours.")
discussion = issue.discussions.create({"body": "Why?"})
reply = discussion.notes.create({"body": "Rain."})
equal("discussion", [n["body"] for n in issue.discussions.get(discussion.id).attributes["notes"]], ["Why?", "Rain."])
reply.delete()
award = note.awardemojis.create({"name": "+1"})
equal("emoji", (award.name, award.awardable_type), ("thumbsup", "Note"))
award.delete()
issue.awardemojis.create({"name": "heart"})
equal("emoji", [a.name for a in issue.awardemojis.list(get_all=True)], ["heart"])
equal("labels", [e.label["name"] for e in issue.resourcelabelevents.list(get_all=True)], ["iron", "hot"])
equal("states", [e.state for e in issue.resourcestateevents.list(get_all=True)], ["closed"])
told = issue.notes.create({"body": "/reopen"})
equal("commands", (told.commands_changes, told.summary), ({"state_event": "reopen"}, ["Reopened this issue."]))
note.delete()
refused("no note", 404, "404 Note Not Found", issue.notes.get, note.id)
board = item.boards.create({"name": "Repairs"})
equal("board", (board.name, board.project["id"], board.attributes["lists"]), ("Repairs", item.id, []))
board.name = "Mending"
board.hide_backlog_list = True
board.save()
equal("changed", (item.boards.get(board.id).name, item.boards.get(board.id).hide_backlog_list), ("Mending", True))
lists = [board.lists.create({"label_id": item.labels.get(name).id}) for name in ("iron", "hot")]
equal("lists", [(b.label["name"], b.position) for b in board.lists.list(get_all=True)], [("iron", 0), ("hot", 1)])
lists[1].position = 0
lists[1].save()
equal("moved", [b.label["name"] for b in board.lists.list(get_all=True)], ["hot", "iron"])
lists[1].delete()
equal("left", [(b.label["name"], b.position) for b in board.lists.list(get_all=True)], [("iron", 0)])
above = hearth.boards.create({"name": "Above"})
equal("of the group", [(b.name, b.group["id"]) for b in hearth.boards.list(get_all=True)], [("Above", hearth.id)])
above.delete()
board.delete()
refused("no board", 404, "404 Not found", item.boards.get, board.id)
issue.todo()
todo = gl.todos.list(get_all=True)[0]
equal("to-do", (todo.action_name, todo.target_type, todo.target["iid"], todo.state), ("marked", "Issue", 1, "pending"))
todo.mark_as_done()
equal("done", [t.id for t in gl.todos.list(state="done", get_all=True)], [todo.id])
gl.todos.mark_all_as_done()
equal("participants", [u["username"] for u in issue.participants()], ["root"])
issue.delete()
refused("no issue", 404, "404 Not found", item.issues.get, 1)

step("invitations")
for holder in (item, hearth):
    holder.invitations.create({"email": "guest@example.org", "access_level": REPORTER})
    equal("invited", [i.invite_email for i in holder.invitations.list(get_all=True)], ["guest@example.org"])
    holder.invitations.delete("guest@example.org")
    equal("no longer invited", holder.invitations.list(get_all=True), [])

step("namespaces")
equal("namespaces", [(n.kind, n.full_path) for n in as_bob.namespaces.list(search="bob", get_all=True)], [("user", "bob")])
equal("by path", gl.namespaces.get("works").id, works.id)
equal("exists", gl.namespaces.exists("works").exists, True)

step("removal")
item.delete()
refused("the project", 404, "404 Project Not Found", gl.projects.get, item.id)
hearth.delete()
refused("the group", 404, "404 Group Not Found", gl.groups.get, hearth.id)
refused("a project of it", 404, "404 Project Not Found", gl.projects.get, notes.id)

step("done")
