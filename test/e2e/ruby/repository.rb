# ruby-gitlab, as Debian ships it, on what is in a repository. The first difference ends the tour.

require "base64"
require "gitlab"

CLIENT = Gitlab.client(endpoint: "#{ENV.fetch("TOUR_URL")}/api/v4", private_token: ENV.fetch("TOUR_TOKEN"))

def step(text)
  puts "ruby: #{text}"
  $stdout.flush
end

def equal(what, got, want)
  abort "ruby: #{what}: got #{got.inspect}, want #{want.inspect}" unless got == want
end

step "a project with a first commit"
project = CLIENT.create_project("Bellows", initialize_with_readme: true)
id = project.id

step "commits and files"
made = CLIENT.create_commit(id, "main", "Two files", [
  { action: "create", file_path: "a.txt", content: "a\n" },
  { action: "create", file_path: "dir/b.txt", content: "b\n" }
])
equal "title", made.title, "Two files"
equal "newest", CLIENT.commits(id).first.id, made.id
equal "one", CLIENT.commit(id, "main").id, made.id
equal "diff", CLIENT.commit_diff(id, made.id).map(&:new_path).sort, ["a.txt", "dir/b.txt"]
CLIENT.create_file(id, "c.txt", "main", "c\n", "A third")
equal "file", Base64.decode64(CLIENT.get_file(id, "c.txt", "main").content), "c\n"
CLIENT.edit_file(id, "c.txt", "main", "cc\n", "Changed")
equal "contents", CLIENT.file_contents(id, "c.txt", "main"), "cc\n"
CLIENT.remove_file(id, "c.txt", "main", "Gone")

step "tree"
equal "tree", CLIENT.tree(id).map(&:name), ["dir", "README.md", "a.txt"]

step "branches and tags"
equal "branch", CLIENT.create_branch(id, "side", made.id).commit.id, made.id
equal "branches", CLIENT.branches(id).map(&:name).sort, ["main", "side"]
equal "tag", CLIENT.create_tag(id, "v1", "main", "One").message, "One"
equal "tags", CLIENT.tags(id).map(&:name), ["v1"]

step "compare and merge base"
equal "compare", CLIENT.compare(id, "side", "main").commits.map(&:title), ["A third", "Changed", "Gone"]
equal "merge base", CLIENT.merge_base(id, ["side", "main"]).id, made.id
equal "contributors", CLIENT.contributors(id).first.commits, 5

step "protection"
equal "protected", CLIENT.protected_branches(id).map(&:name), ["main"]
CLIENT.protect_branch(id, "side")
equal "protected", CLIENT.branch(id, "side").protected, true
CLIENT.unprotect_branch(id, "side")

step "removal"
CLIENT.delete_branch(id, "side")
CLIENT.delete_tag(id, "v1")
equal "branches", CLIENT.branches(id).map(&:name), ["main"]
step "done"
