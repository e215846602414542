// @gitbeaker/rest on groups, projects, members and their tokens. The first
// difference ends the tour with a message and a status other than 0.

import { Gitlab } from '@gitbeaker/rest';
import { isDeepStrictEqual, inspect } from 'node:util';

const { TOUR_URL: host, TOUR_TOKEN: token } = process.env;
const [reporter, developer, maintainer] = [20, 30, 40];
const day = new Date(Date.now() + 20 * 864e5).toISOString().slice(0, 10);

const root = new Gitlab({ host, token });

function step(text) {
  console.log(`node: ${text}`);
}

function fail(text) {
  console.error(`node: ${text}`);
  process.exit(1);
}

function equal(what, got, want) {
  if (!isDeepStrictEqual(got, want)) fail(`${what}: got ${inspect(got)}, want ${inspect(want)}`);
}

async function refused(what, status, description, promise) {
  try {
    await promise;
  } catch (e) {
    equal(`${what}, status`, e.cause?.response?.status, status);
    equal(`${what}, description`, e.cause.description, description);
    return;
  }
  fail(`${what}: was not refused`);
}

async function person(username) {
  const user = await root.Users.create({
    username, name: username, email: `${username}@example.com`, forceRandomPassword: true, skipConfirmation: true,
  });
  const made = await root.PersonalAccessTokens.create(user.id, 'tour', ['api']);
  return [user, new Gitlab({ host, token: made.token })];
}

const ids = (list) => list.map((one) => one.id);
const usernames = (users) => users.map((u) => u.username).sort();
const paths = (projects) => projects.map((p) => p.path_with_namespace);

const [ann, asAnn] = await person('ann');
const [bob, asBob] = await person('bob');

step('groups');
const works = await root.Groups.create('Works', 'works', { visibility: 'public', requestAccessEnabled: true });
equal('full path', works.full_path, 'works');
const hearth = await root.Groups.create('Hearth', 'hearth', { parentId: works.id, visibility: 'private' });
equal('subgroup', [hearth.parent_id, hearth.full_path], [works.id, 'works/hearth']);
equal('edited', (await root.Groups.edit(hearth.id, { description: 'warm' })).description, 'warm');
equal('by path', (await root.Groups.show('works/hearth')).id, hearth.id);
equal('groups', ids(await root.Groups.all({ orderBy: 'id', pagination: 'offset' })), [works.id, hearth.id]);
equal('search', ids(await root.Groups.search('hearth')), [hearth.id]);
equal('subgroups', ids(await root.Groups.allSubgroups(works.id)), [hearth.id]);
equal('descendants', ids(await root.Groups.allDescendantGroups(works.id, {})), [hearth.id]);
await refused('a hidden group', 404, '404 Group Not Found', asAnn.Groups.show(hearth.id));
const guests = await root.Groups.create('Guests', 'guests');
equal('shared', (await root.Groups.share(works.id, guests.id, developer, {})).shared_with_groups.map((s) => s.group_id), [guests.id]);
await root.Groups.unshare(works.id, guests.id, {});

step('projects');
const tongs = await root.Projects.create({ name: 'Tongs', path: 'tongs', namespaceId: works.id, visibility: 'public', topics: ['iron'] });
equal('made', [tongs.path_with_namespace, tongs.topics], ['works/tongs', ['iron']]);
const notes = await asAnn.Projects.create({ name: 'My Notes' });
equal('own', [notes.path_with_namespace, notes.namespace.kind], ['ann/my-notes', 'user']);
equal('for ann', (await root.Projects.create({ userId: ann.id, name: 'gift' })).path_with_namespace, 'ann/gift');
equal('by id', (await root.Projects.show(tongs.id)).name, 'Tongs');
equal('by path', (await root.Projects.show('works/tongs')).id, tongs.id);
equal('edited', (await root.Projects.edit(tongs.id, { description: 'to hold' })).description, 'to hold');
await refused('a hidden project', 404, '404 Project Not Found', asBob.Projects.show('ann/my-notes'));
equal('renamed', (await root.Projects.edit(tongs.id, { path: 'pincers' })).path_with_namespace, 'works/pincers');
equal('by the old path', (await root.Projects.show('works/tongs')).path_with_namespace, 'works/pincers');
equal('archived', (await root.Projects.archive(tongs.id)).archived, true);
equal('not archived', (await root.Projects.unarchive(tongs.id)).archived, false);
equal('star', (await asAnn.Projects.star(tongs.id)).star_count, 1);
equal('starrers', (await root.Projects.allStarrers(tongs.id)).map((s) => s.user.username), ['ann']);
equal('starred', ids(await root.Users.allStarredProjects(ann.id)), [tongs.id]);
equal('no star', (await asAnn.Projects.unstar(tongs.id)).star_count, 0);
const fork = await asAnn.Projects.fork(tongs.id);
equal('fork', [fork.path_with_namespace, fork.forked_from_project.id], ['ann/pincers', tongs.id]);
equal('forks', ids(await root.Projects.allForks(tongs.id)), [fork.id]);
await asAnn.Projects.removeForkRelationship(fork.id);

step('project lists');
for (let i = 0; i < 5; i += 1) await root.Projects.create({ name: `item-${i}`, namespaceId: hearth.id });
const items = [0, 1, 2, 3, 4].map((i) => `works/hearth/item-${i}`);
equal('pages', paths(await root.Projects.all({ search: 'item-', orderBy: 'id', sort: 'asc', perPage: 2, pagination: 'offset' })), items);
equal('keyset', paths(await root.Projects.all({ search: 'item-', orderBy: 'id', sort: 'desc', perPage: 2, pagination: 'keyset' })), items.toReversed());
equal('everything', (await root.Projects.all()).length, 9);
equal('all groups', (await root.Groups.all()).length, 3);
equal('owned', (await asAnn.Projects.all({ owned: true, orderBy: 'path', sort: 'asc', pagination: 'offset' })).map((p) => p.path), ['gift', 'my-notes', 'pincers']);
equal('hidden', await asAnn.Projects.all({ search: 'item-' }), []);
equal('of the group', (await root.Groups.allProjects(works.id, { includeSubgroups: true })).length, 6);
equal('of ann', (await root.Users.allProjects(ann.id)).length, 3);

step('transfer');
equal('transferred', (await root.Projects.transfer(notes.id, works.id)).path_with_namespace, 'works/my-notes');
await root.Groups.transferProject(hearth.id, notes.id);
equal('by an administrator', (await root.Projects.show(notes.id)).path_with_namespace, 'works/hearth/my-notes');

step('members');
const [item] = await root.Projects.all({ search: 'item-0' });
for (const [members, id] of [[root.ProjectMembers, item.id], [root.GroupMembers, hearth.id]]) {
  const member = await members.add(id, developer, { userId: ann.id, expiresAt: day });
  equal('member', [member.username, member.access_level, member.expires_at], ['ann', developer, day]);
  equal('found', usernames(await members.all(id, { query: 'ann' })), ['ann']);
  equal('edited', (await members.edit(id, ann.id, maintainer)).access_level, maintainer);
  equal('one', (await members.show(id, ann.id)).created_by.username, 'root');
  equal('all', usernames(await members.all(id, { includeInherited: true })), ['ann', 'root']);
  equal('one of all', (await members.show(id, ann.id, { includeInherited: true })).access_level, maintainer);
}
equal('memberships', (await root.Users.allMemberships(ann.id, { type: 'Namespace' })).map((m) => m.source_name), ['Hearth']);
await root.ProjectMembers.remove(item.id, ann.id);
await root.GroupMembers.remove(hearth.id, ann.id);
await refused('no longer', 404, '404 Project Not Found', asAnn.Projects.show(item.id));

step('sharing a project');
await root.GroupMembers.add(guests.id, maintainer, { userId: bob.id });
equal('share', (await root.Projects.share(item.id, guests.id, reporter)).group_access, reporter);
equal('shared', (await asBob.Projects.show(item.id)).shared_with_groups.map((s) => s.group_id), [guests.id]);
equal('shared projects', ids(await root.Groups.allSharedProjects(guests.id)), [item.id]);
await root.Projects.unshare(item.id, guests.id);
await refused('no longer shared', 404, '404 Project Not Found', asBob.Projects.show(item.id));

step('access requests');
const gate = await root.Projects.create({ name: 'gate', namespaceId: works.id, visibility: 'public', requestAccessEnabled: true });
equal('request', (await asAnn.GroupAccessRequests.request(works.id)).username, 'ann');
await asBob.GroupAccessRequests.request(works.id);
equal('requests', usernames(await root.GroupAccessRequests.all(works.id)), ['ann', 'bob']);
equal('approved', (await root.GroupAccessRequests.approve(works.id, ann.id, { accessLevel: reporter })).access_level, reporter);
await root.GroupAccessRequests.deny(works.id, bob.id);
equal('no requests', await root.GroupAccessRequests.all(works.id), []);
await asBob.ProjectAccessRequests.request(gate.id);
equal('requests there', usernames(await root.ProjectAccessRequests.all(gate.id)), ['bob']);
equal('approved there', (await root.ProjectAccessRequests.approve(gate.id, bob.id)).access_level, developer);

step('invitations');
for (const [invitations, id] of [[root.ProjectInvitations, item.id], [root.GroupInvitations, hearth.id]]) {
  equal('invited', (await invitations.add(id, reporter, { email: 'guest@example.org' })).status, 'success');
  equal('invitations', (await invitations.all(id)).map((i) => i.invite_email), ['guest@example.org']);
  await invitations.remove(id, 'guest@example.org');
  equal('no invitations', await invitations.all(id), []);
}

step('access tokens');
for (const [tokens, id] of [[root.ProjectAccessTokens, item.id], [root.GroupAccessTokens, hearth.id]]) {
  const made = await tokens.create(id, 'robot', ['api'], day, { accessLevel: developer });
  equal('made', [made.name, made.scopes, made.access_level, made.expires_at], ['robot', ['api'], developer, day]);
  const robot = new Gitlab({ host, token: made.token });
  equal('what the robot sees', (await robot.Projects.show(item.id)).id, item.id);
  equal('tokens', ids(await tokens.all(id)), [made.id]);
  equal('one', (await tokens.show(id, made.id)).token, undefined);
  const rotated = await tokens.rotate(id, made.id, { expiresAt: day });
  await refused('the old token', 401, '401 Unauthorized', robot.Projects.show(item.id));
  const next = new Gitlab({ host, token: rotated.token });
  equal('the new token', (await next.Projects.show(item.id)).id, item.id);
  await tokens.revoke(id, rotated.id);
  await refused('a revoked token', 401, '401 Unauthorized', next.Projects.show(item.id));
}

step('deploy tokens');
for (const place of [{ projectId: item.id }, { groupId: hearth.id }]) {
  const made = await root.DeployTokens.create('puller', ['read_repository'], { ...place, username: 'docker' });
  equal('made', [made.name, made.username, made.scopes, typeof made.token], ['puller', 'docker', ['read_repository'], 'string']);
  equal('deploy tokens', ids(await root.DeployTokens.all(place)), [made.id]);
  equal('one', (await root.DeployTokens.show(made.id, place)).name, 'puller');
  await root.DeployTokens.remove(made.id, place);
  equal('none', await root.DeployTokens.all(), []);
}

step('issues');
const crack = await root.Issues.create(item.id, 'A crack', { labels: 'iron', confidential: true });
equal('issue', [crack.iid, crack.state, crack.labels, crack.confidential], [1, 'opened', ['iron'], true]);
equal('closed', (await root.Issues.edit(item.id, 1, { stateEvent: 'close', addLabels: 'hot' })).labels, ['hot', 'iron']);
equal('issues', ids(await root.Issues.all({ projectId: item.id, state: 'closed', labels: 'hot' })), [crack.id]);
equal('of the group', ids(await root.Issues.all({ groupId: hearth.id })), [crack.id]);
equal('spent', (await root.Issues.addSpentTime(item.id, 1, '1d')).total_time_spent, 28800);
const note = await root.IssueNotes.create(item.id, 1, 'It drips.', { internal: true });
equal('note', [note.body, note.internal, note.noteable_type], ['It drips.', true, 'Issue']);
equal('changed', (await root.IssueNotes.edit(item.id, 1, note.id, { body: 'It pours.' })).body, 'It pours.');
const begun = await root.IssueDiscussions.create(item.id, 1, 'Why?');
await root.IssueDiscussions.addNote(item.id, 1, begun.id, 'Rain.');
equal('discussion', (await root.IssueDiscussions.show(item.id, 1, begun.id)).notes.map((n) => n.body), ['Why?', 'Rain.']);
equal('emoji', (await root.IssueAwardEmojis.award(item.id, 1, '+1')).name, 'thumbsup');
equal('labels', (await root.IssueLabelEvents.all(item.id, 1)).map((e) => e.label.name), ['iron', 'hot']);
await root.IssueNotes.remove(item.id, 1, note.id);
const board = await root.ProjectIssueBoards.create(item.id, 'Repairs');
equal('board', [board.name, board.project.id, board.lists], ['Repairs', item.id, []]);
equal('changed', (await root.ProjectIssueBoards.edit(item.id, board.id, { name: 'Mending' })).name, 'Mending');
const lists = [];
for (const name of ['iron', 'hot']) {
  const { id: labelId } = await root.ProjectLabels.show(item.id, name);
  lists.push(await root.ProjectIssueBoards.createList(item.id, board.id, { labelId }));
}
equal('moved', (await root.ProjectIssueBoards.editList(item.id, board.id, lists[1].id, 0)).position, 0);
equal('lists', (await root.ProjectIssueBoards.allLists(item.id, board.id)).map((l) => l.label.name), ['hot', 'iron']);
await root.ProjectIssueBoards.removeList(item.id, board.id, lists[1].id);
equal('left', (await root.ProjectIssueBoards.show(item.id, board.id)).lists.map((l) => l.position), [0]);
const above = await root.GroupIssueBoards.create(hearth.id, 'Above');
equal('of the group', ids(await root.GroupIssueBoards.all(hearth.id)), [above.id]);
await root.GroupIssueBoards.remove(hearth.id, above.id);
await root.ProjectIssueBoards.remove(item.id, board.id);
const todo = await root.Issues.createTodo(item.id, 1);
equal('to-do', [todo.action_name, todo.target_type, todo.target.iid, todo.state], ['marked', 'Issue', 1, 'pending']);
equal('to-dos', ids(await root.TodoLists.all({ projectId: item.id })), [todo.id]);
equal('done', (await root.TodoLists.done({ todoId: todo.id })).state, 'done');
equal('participants', (await root.Issues.allParticipants(item.id, 1)).map((u) => u.username), ['root']);
await root.Issues.remove(item.id, 1);
await refused('no issue', 404, '404 Not found', root.Issues.show(1, { projectId: item.id }));

step('namespaces');
equal('namespaces', (await asAnn.Namespaces.all({ search: 'ann' })).map((n) => [n.kind, n.full_path]), [['user', 'ann']]);
equal('by path', (await root.Namespaces.show('works')).id, works.id);
equal('exists', (await root.Namespaces.exists('works')).exists, true);

step('removal');
await root.Projects.remove(item.id);
await refused('the project', 404, '404 Project Not Found', root.Projects.show(item.id));
await root.Groups.remove(hearth.id);
await refused('the group', 404, '404 Group Not Found', root.Groups.show(hearth.id));
await refused('a project of it', 404, '404 Project Not Found', root.Projects.show(notes.id));

step('done');
