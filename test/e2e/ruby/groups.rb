# frozen_string_literal: true

# ruby-gitlab, as Debian ships it, on groups, projects and members. The first
# difference ends the tour with a message and a status other than 0.

require 'gitlab'

URL_ = ENV.fetch('TOUR_URL')
PASSWORD = ENV.fetch('TOUR_PASSWORD')
REPORTER, DEVELOPER, MAINTAINER = 20, 30, 40

def client(token)
  Gitlab.client(endpoint: "#{URL_}/api/v4", private_token: token)
end

def step(text)
  puts "ruby: #{text}"
  $stdout.flush
end

def equal(what, got, want)
  abort "ruby: #{what}: got #{got.inspect}, want #{want.inspect}" unless got == want
end

def refused(what, error, message)
  yield
rescue error => e
  abort "ruby: #{what}: #{e.message}" unless e.message.include?("message: #{message}. ")
else
  abort "ruby: #{what}: was not refused"
end

root = client(ENV.fetch('TOUR_TOKEN'))
ann, bob = %w[ann bob].map { |name| root.create_user("#{name}@example.com", PASSWORD, name, name: name, skip_confirmation: true) }
as_ann, as_bob = [ann, bob].map do |user| # what the client has no method for, it sends all the same
  client(root.post("/users/#{user.id}/personal_access_tokens", body: { name: 'tour', scopes: ['api'] }).token)
end

step 'groups'
works = root.create_group('Works', 'works', visibility: 'public', request_access_enabled: true)
equal 'full path', works.full_path, 'works'
hearth = root.create_group('Hearth', 'hearth', parent_id: works.id, visibility: 'private')
equal 'subgroup', [hearth.parent_id, hearth.full_path], [works.id, 'works/hearth']
equal 'edited', root.edit_group(hearth.id, description: 'warm').description, 'warm'
equal 'by path', root.group('works/hearth').id, hearth.id
equal 'groups', root.groups(order_by: 'id').map(&:full_path), %w[works works/hearth]
equal 'top level', root.groups(top_level_only: true).map(&:full_path), %w[works]
equal 'search', root.group_search('hearth').map(&:id), [hearth.id]
equal 'subgroups', root.group_subgroups(works.id).map(&:id), [hearth.id]
refused('a hidden group', Gitlab::Error::NotFound, '404 Group Not Found') { as_ann.group(hearth.id) }

step 'projects'
tongs = root.create_project('Tongs', path: 'tongs', namespace_id: works.id, visibility: 'public')
equal 'path', tongs.path_with_namespace, 'works/tongs'
notes = as_ann.create_project('My Notes')
equal 'own', [notes.path_with_namespace, notes.namespace.kind], ['ann/my-notes', 'user']
equal 'for ann', root.create_project('gift', user_id: ann.id).path_with_namespace, 'ann/gift'
equal 'by id', root.project(tongs.id).name, 'Tongs'
equal 'by path', root.project('works/tongs').id, tongs.id
equal 'edited', root.edit_project(tongs.id, description: 'to hold').description, 'to hold'
refused('a hidden project', Gitlab::Error::NotFound, '404 Project Not Found') { as_bob.project('ann/my-notes') }
equal 'renamed', root.edit_project(tongs.id, path: 'pincers').path_with_namespace, 'works/pincers'
equal 'by the old path', root.project('works/tongs').path_with_namespace, 'works/pincers'
equal 'archived', root.archive_project(tongs.id).archived, true
equal 'not archived', root.unarchive_project(tongs.id).archived, false
equal 'star', as_ann.star_project(tongs.id).star_count, 1
equal 'starred', root.user_starred_projects(ann.id).map(&:id), [tongs.id]
as_ann.post("/projects/#{tongs.id}/unstar")
equal 'not starred', root.user_starred_projects(ann.id).map(&:id), []
fork = as_ann.create_fork(tongs.id)
equal 'fork', [fork.path_with_namespace, fork.forked_from_project.id], ['ann/pincers', tongs.id]
equal 'forks', root.project_forks(tongs.id).map(&:id), [fork.id]
as_ann.remove_forked(fork.id)
equal 'no forks', root.project_forks(tongs.id).map(&:id), []

step 'project lists'
5.times { |i| root.create_project("item-#{i}", namespace_id: hearth.id) }
items = Array.new(5) { |i| "works/hearth/item-#{i}" }
paths = ->(list) { list.map(&:path_with_namespace) }
equal 'pages', paths.(root.projects(search: 'item-', order_by: 'id', sort: 'asc', per_page: 2).auto_paginate), items
equal 'keyset', paths.(root.projects(search: 'item-', pagination: 'keyset', order_by: 'id', sort: 'desc', per_page: 2).auto_paginate), items.reverse
equal 'search', paths.(root.project_search('item-3')), [items[3]]
equal 'owned', as_ann.projects(owned: true, order_by: 'path', sort: 'asc').map(&:path), %w[gift my-notes pincers]
equal 'hidden', paths.(as_ann.projects(search: 'item-')), []
equal 'of the group', root.group_projects(works.id, include_subgroups: true).length, 6
equal 'of ann', root.user_projects(ann.id).length, 3

step 'transfer'
equal 'transferred', root.transfer_project(notes.id, works.id).path_with_namespace, 'works/my-notes'
root.transfer_project_to_group(hearth.id, notes.id)
equal 'by an administrator', root.project(notes.id).path_with_namespace, 'works/hearth/my-notes'

step 'members'
member = root.add_group_member(hearth.id, ann.id, DEVELOPER)
equal 'member', [member.username, member.access_level], ['ann', DEVELOPER]
equal 'edited', root.edit_group_member(hearth.id, ann.id, MAINTAINER).access_level, MAINTAINER
equal 'one', root.group_member(hearth.id, ann.id).access_level, MAINTAINER
equal 'members', root.group_members(hearth.id).map(&:username), %w[ann]
refused('twice', Gitlab::Error::Conflict, 'Member already exists') { root.add_group_member(hearth.id, ann.id, DEVELOPER) }
item = root.project('works/hearth/item-0')
equal 'member of the project', root.add_team_member(item.id, bob.id, REPORTER).access_level, REPORTER
equal 'edited there', root.edit_team_member(item.id, bob.id, DEVELOPER).access_level, DEVELOPER
equal 'one there', root.team_member(item.id, bob.id).username, 'bob'
equal 'found there', root.team_members(item.id, query: 'bob').map(&:username), %w[bob]
equal 'all', root.all_members(item.id).map(&:username).sort, %w[ann bob root]
equal 'what bob sees', as_bob.project(item.id).id, item.id
root.remove_team_member(item.id, bob.id)
root.remove_group_member(hearth.id, ann.id)
refused('no longer', Gitlab::Error::NotFound, '404 Project Not Found') { as_bob.project(item.id) }

step 'sharing a project'
guests = root.create_group('Guests', 'guests')
root.add_group_member(guests.id, bob.id, MAINTAINER)
equal 'share', root.share_project_with_group(item.id, guests.id, REPORTER).group_access, REPORTER
equal 'shared', as_bob.project(item.id).shared_with_groups.map { |s| s['group_id'] }, [guests.id]
root.unshare_project_with_group(item.id, guests.id)
refused('no longer shared', Gitlab::Error::NotFound, '404 Project Not Found') { as_bob.project(item.id) }

step 'access requests'
gate = root.create_project('gate', namespace_id: works.id, visibility: 'public', request_access_enabled: true)
equal 'request', as_ann.request_group_access(works.id).username, 'ann'
as_bob.request_group_access(works.id)
equal 'requests', root.group_access_requests(works.id).map(&:username).sort, %w[ann bob]
equal 'approved', root.approve_group_access_request(works.id, ann.id, access_level: REPORTER).access_level, REPORTER
root.deny_group_access_request(works.id, bob.id)
equal 'no requests', root.group_access_requests(works.id).map(&:username), []
as_bob.request_project_access(gate.id)
equal 'requests there', root.project_access_requests(gate.id).map(&:username), %w[bob]
equal 'approved there', root.approve_project_access_request(gate.id, bob.id).access_level, DEVELOPER

step 'tokens'
day = (Time.now.utc + 20 * 86_400).strftime('%F')
made = root.post("/projects/#{item.id}/access_tokens", body: { name: 'robot', scopes: ['api'], access_level: DEVELOPER, expires_at: day })
equal 'token', [made.name, made.access_level, made.expires_at], ['robot', DEVELOPER, day]
robot = client(made.token)
equal 'what the robot sees', robot.project(item.id).id, item.id
equal 'tokens', root.get("/projects/#{item.id}/access_tokens").map(&:id), [made.id]
rotated = root.post("/projects/#{item.id}/access_tokens/#{made.id}/rotate")
refused('the old token', Gitlab::Error::Unauthorized, '401 Unauthorized') { robot.project(item.id) }
root.delete("/projects/#{item.id}/access_tokens/#{rotated.id}")
refused('a revoked token', Gitlab::Error::Unauthorized, '401 Unauthorized') { client(rotated.token).project(item.id) }
deploy = root.post("/projects/#{item.id}/deploy_tokens", body: { name: 'puller', scopes: ['read_repository'] })
equal 'deploy tokens', root.get("/projects/#{item.id}/deploy_tokens").map(&:id), [deploy.id]
root.delete("/projects/#{item.id}/deploy_tokens/#{deploy.id}")
equal 'no deploy tokens', root.get("/projects/#{item.id}/deploy_tokens").map(&:id), []
equal 'memberships', root.get("/users/#{bob.id}/memberships").map(&:source_name).sort, %w[Guests gate]

step 'issues'
issue = root.create_issue(item.id, 'A crack', labels: 'iron', assignee_ids: [1])
equal 'issue', [issue.iid, issue.state, issue.labels], [1, 'opened', ['iron']]
equal 'changed', root.edit_issue(item.id, 1, title: 'A dent', add_labels: 'hot').labels, %w[hot iron]
equal 'closed', root.close_issue(item.id, 1).state, 'closed'
equal 'reopened', root.reopen_issue(item.id, 1).state, 'opened'
equal 'issues', root.issues(item.id, labels: 'hot').map(&:title), ['A dent']
equal 'spent', root.add_time_spent_on_issue(item.id, 1, '3h').human_total_time_spent, '3h'
note = root.create_issue_note(item.id, 1, 'It drips.')
equal 'note', [note.body, note.noteable_type, note.system], ['It drips.', 'Issue', false]
equal 'changed', root.edit_issue_note(item.id, 1, note.id, 'It pours.').body, 'It pours.'
equal 'notes', root.issue_notes(item.id, 1, activity_filter: 'only_comments').map(&:body), ['It pours.']
root.delete_issue_note(item.id, 1, note.id)
board = root.create_board(item.id, 'Repairs')
equal 'board', [board.name, board.project.id, board.lists], ['Repairs', item.id, []]
equal 'changed', root.edit_board(item.id, board.id, name: 'Mending').name, 'Mending'
named = root.labels(item.id).to_h { |label| [label.name, label.id] }
lists = %w[iron hot].map { |name| root.create_board_list(item.id, board.id, named[name]) }
equal 'moved', root.edit_board_list(item.id, board.id, lists[1].id, 0).position, 0
equal 'lists', root.board_lists(item.id, board.id).map { |list| list.label.name }, %w[hot iron]
root.delete_board_list(item.id, board.id, lists[1].id)
equal 'left', root.board(item.id, board.id).lists.map { |list| list['position'] }, [0]
root.delete_board(item.id, board.id)
equal 'boards', root.boards(item.id).map(&:id), []
todo = root.post("/projects/#{item.id}/issues/1/todo")
equal 'to-do', [todo.action_name, todo.target_type, todo.target.iid], ['marked', 'Issue', 1]
equal 'to-dos', root.todos.map(&:id), [todo.id]
equal 'done', root.mark_todo_as_done(todo.id).state, 'done'
root.mark_all_todos_as_done
equal 'participants', root.get("/projects/#{item.id}/issues/1/participants").map(&:username), ['root']
root.delete_issue(item.id, 1)
refused('no issue', Gitlab::Error::NotFound, '404 Not found') { root.issue(item.id, 1) }

step 'namespaces'
equal 'namespaces', root.namespaces(search: 'guests').map { |n| [n.kind, n.full_path] }, [%w[group guests]]

step 'removal'
root.delete_project(item.id)
refused('the project', Gitlab::Error::NotFound, '404 Project Not Found') { root.project(item.id) }
root.delete_group(hearth.id)
refused('the group', Gitlab::Error::NotFound, '404 Group Not Found') { root.group(hearth.id) }
refused('a project of it', Gitlab::Error::NotFound, '404 Project Not Found') { root.project(notes.id) }

step 'done'
