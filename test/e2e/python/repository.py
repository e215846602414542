"""python-gitlab, as Debian ships it, on what is in a repository.

The first difference ends the tour with a message and a status other than 0.
"""

import base64
import os
import sys

import gitlab

URL = os.environ["TOUR_URL"]
TOKEN = os.environ["TOUR_TOKEN"]

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


step("a project with a first commit")
project = gl.projects.create({"name": "Anvil", "initialize_with_readme": True})
equal("default branch", project.default_branch, "main")
equal("empty", project.empty_repo, False)

step("commits")
first = project.commits.create(
    {
        "branch": "main",
        "commit_message": "Two files\n\nChangelog: added",
        "actions": [
            {"action": "create", "file_path": "src/hammer.go", "content": "package hammer\n"},
            {"action": "create", "file_path": "bin.dat", "content": base64.b64encode(b"\x00\x01").decode(), "encoding": "base64"},
        ],
    }
)
equal("title", first.title, "Two files")
equal("stats", first.stats["additions"], 1)
listed = project.commits.list(get_all=False)
equal("newest first", listed[0].id, first.id)
equal("by path", [c.title for c in project.commits.list(query_parameters={"path": "src"}, get_all=False)], ["Two files"])
equal("one by branch", project.commits.get("main").id, first.id)
equal("diff", sorted(d["new_path"] for d in first.diff()), ["bin.dat", "src/hammer.go"])
equal("refs", [r["name"] for r in first.refs()], ["main"])
refused("no such commit", 404, "404 Commit Not Found", project.commits.get, "0" * 40)

step("files")
made = project.files.create(
    {"file_path": "docs/read me.md", "branch": "main", "content": "# Anvil\n", "commit_message": "A page"}
)
equal("made", (made.file_path, made.branch), ("docs/read me.md", "main"))
f = project.files.get("docs/read me.md", ref="main")
equal("content", f.decode(), b"# Anvil\n")
equal("size", f.size, 8)
f.content = "# Anvil and hammer\n"
f.save(branch="main", commit_message="More of it")
equal("raw", project.files.raw("docs/read me.md", ref="main"), b"# Anvil and hammer\n")
equal("blame", project.files.blame("docs/read me.md", ref="main")[0]["lines"], ["# Anvil and hammer"])
refused("taken", 400, "A file with this name already exists", project.files.create, {
    "file_path": "docs/read me.md", "branch": "main", "content": "x", "commit_message": "x"})
refused("outside", 400, "file_path should be a valid file path", project.files.create, {
    "file_path": "../x", "branch": "main", "content": "x", "commit_message": "x"})

step("tree, blobs and archive")
root = project.repository_tree(get_all=True)
equal("order", [(e["type"], e["name"]) for e in root],
      [("tree", "docs"), ("tree", "src"), ("blob", "README.md"), ("blob", "bin.dat")])
equal("below", [e["path"] for e in project.repository_tree(path="src", get_all=True)], ["src/hammer.go"])
equal("all", len(project.repository_tree(recursive=True, get_all=True)), 6)
blob = next(e for e in root if e["name"] == "bin.dat")
equal("blob", base64.b64decode(project.repository_blob(blob["id"])["content"]), b"\x00\x01")
equal("raw blob", project.repository_raw_blob(blob["id"]), b"\x00\x01")
equal("archive", project.repository_archive(format="zip")[:2], b"PK")
refused("no such tree", 404, "404 Tree Not Found", project.repository_tree, ref="nowhere")

step("branches")
side = project.branches.create({"branch": "side", "ref": first.id})
equal("branch", (side.name, side.commit["id"], side.merged, side.default), ("side", first.id, True, False))
equal("branches", sorted(b.name for b in project.branches.list(get_all=True)), ["main", "side"])
refused("again", 400, "Branch already exists", project.branches.create, {"branch": "side", "ref": "main"})
project.commits.create({"branch": "side", "commit_message": "Aside", "actions": [
    {"action": "create", "file_path": "aside", "content": "x"}]})

step("compare, merge base, contributors")
compared = project.repository_compare("main", "side")
equal("commits", [c["title"] for c in compared["commits"]], ["Aside"])
equal("files", [d["new_path"] for d in compared["diffs"]], ["aside"])
equal("merge base", project.repository_merge_base(["main", "side"])["id"], first.id)
equal("contributors", len(project.repository_contributors(get_all=True)), 1)

step("protected branches")
equal("the first branch", [b.name for b in project.protectedbranches.list(get_all=True)], ["main"])
rule = project.protectedbranches.create({"name": "stable-*", "push_access_level": 30, "merge_access_level": 40})
equal("push", [a["access_level"] for a in rule.push_access_levels], [30])
rule.delete()

step("tags")
tag = project.tags.create({"tag_name": "v1.0.0", "ref": first.parent_ids[0], "message": "The first"})
equal("tag", (tag.name, tag.message), ("v1.0.0", "The first"))
equal("tags", [t.name for t in project.tags.list(get_all=True)], ["v1.0.0"])
refused("again", 400, "Tag v1.0.0 already exists", project.tags.create, {"tag_name": "v1.0.0", "ref": "main"})

step("changelog")
notes = gl.http_get(f"/projects/{project.id}/repository/changelog", query_data={"version": "1.1.0"})["notes"]
equal("heading", notes.split(" ")[:2], ["##", "1.1.0"])
equal("entry", f"- [Two files]({project.path_with_namespace}@{first.id})" in notes, True)

step("statuses and comments")
first.statuses.create({"state": "running", "name": "forge", "description": "hot"})
first.statuses.create({"state": "success", "name": "forge"})
equal("statuses", [(s.name, s.status) for s in first.statuses.list(get_all=True)], [("forge", "success")])
first.comments.create({"note": "Well struck."})
equal("comments", [c.note for c in first.comments.list(get_all=True)], ["Well struck."])

step("cherry-pick, revert and removal")
project.commits.get("side").cherry_pick(branch="main")
equal("picked", project.commits.get("main").title, "Aside")
project.commits.get("main").revert(branch="main")
equal("reverted", project.commits.get("main").title, 'Revert "Aside"')
project.branches.delete("side")
equal("branches", [b.name for b in project.branches.list(get_all=True)], ["main"])
project.tags.delete("v1.0.0")
project.files.delete("docs/read me.md", branch="main", commit_message="Gone")
refused("gone", 404, "404 File Not Found", project.files.get, "docs/read me.md", ref="main")
refused("default branch", 400, "The default branch of a project cannot be deleted.", project.branches.delete, "main")

step("fork")
fork = project.forks.create({"path": "anvil-copy", "name": "Anvil copy"})
equal("source", fork.forked_from_project["id"], project.id)
step("done")
