// @gitbeaker/rest on issues and what belongs to them, wikis, snippets and commits. The first difference ends the tour with a message and a
// status other than 0.

import { Gitlab } from '@gitbeaker/rest';
import { isDeepStrictEqual, inspect } from 'node:util';

const { TOUR_URL: host, TOUR_TOKEN: token } = process.env;

const api = new Gitlab({ host, token });

function step(text) {
  console.log(`node: ${text}`);
}

function equal(what, got, want) {
  if (isDeepStrictEqual(got, want)) return;
  console.error(`node: ${what}: got ${inspect(got)}, want ${inspect(want)}`);
  process.exit(1);
}

const { id } = await api.Projects.create({ name: 'Tongs' });

step('labels and milestones');
const bug = await api.ProjectLabels.create(id, 'bug', '#ff0000');
equal('labels', (await api.ProjectLabels.all(id)).map((l) => l.name), ['bug']);
const one = await api.ProjectMilestones.create(id, '1.0', { dueDate: '2030-01-31' });
equal('milestone', one.due_date, '2030-01-31');

step('issues');
const door = await api.Issues.create(id, 'Mend the door', { labels: 'bug', milestoneId: one.id });
equal('issue', [door.iid, door.labels, door.milestone.id], [1, ['bug'], one.id]);
await api.Issues.create(id, 'Paint it', { confidential: true });
equal('by label', (await api.Issues.all({ projectId: id, labels: 'bug' })).map((i) => i.iid), [1]);
equal('time', (await api.Issues.addSpentTime(id, 1, '1h')).total_time_spent, 3600);
await api.IssueLinks.create(id, 1, id, 2);
equal('links', (await api.IssueLinks.all(id, 1)).map((i) => i.iid), [2]);
equal('closed', (await api.Issues.edit(id, 1, { stateEvent: 'close' })).state, 'closed');
equal('states', (await api.IssueStateEvents.all(id, 1)).map((e) => e.state), ['closed']);

step('notes');
const note = await api.IssueNotes.create(id, 1, 'Which door?');
equal('changed', (await api.IssueNotes.edit(id, 1, note.id, { body: 'That door' })).body, 'That door');
const thread = await api.IssueDiscussions.create(id, 1, 'A thread');
await api.IssueDiscussions.addNote(id, 1, thread.id, 'goes on');
equal('thread', (await api.IssueDiscussions.show(id, 1, thread.id)).notes.map((n) => n.body), ['A thread', 'goes on']);
equal('emoji', (await api.IssueAwardEmojis.award(id, 1, 'tada')).name, 'tada');
equal('emoji of the note', (await api.IssueNoteAwardEmojis.award(id, 1, note.id, 'tada')).name, 'tada');

step('boards and to-dos');
const board = await api.ProjectIssueBoards.create(id, 'Work');
await api.ProjectIssueBoards.createList(id, board.id, { labelId: bug.id });
equal('lists', (await api.ProjectIssueBoards.allLists(id, board.id)).map((l) => l.label.name), ['bug']);
const todo = await api.Issues.createTodo(id, 2);
equal('to-dos', (await api.TodoLists.all()).map((t) => t.id), [todo.id]);

step('wikis');
const page = await api.ProjectWikis.create(id, '# Build', 'docs/How to build');
equal('page', [page.slug, page.title], ['docs/How-to-build', 'How to build']);
equal('changed', (await api.ProjectWikis.edit(id, page.slug, { content: '# Built' })).content, '# Built');
equal('pages', (await api.ProjectWikis.all(id)).map((p) => p.slug), ['docs/How-to-build']);
await api.ProjectWikis.remove(id, page.slug);
equal('pages that are left', await api.ProjectWikis.all(id), []);

step('snippets');
const files = [{ file_path: 'a.txt', content: 'one' }, { file_path: 'b.txt', content: 'two' }];
const mine = await api.Snippets.create('Notes', { visibility: 'public', files });
equal('files', mine.files.map((f) => f.path), ['a.txt', 'b.txt']);
equal('changed', (await api.Snippets.edit(mine.id, { title: 'More' })).title, 'More');
const theirs = await api.ProjectSnippets.create(id, 'In a project', { visibility: 'private', files });
equal('of the project', (await api.ProjectSnippets.all(id)).map((s) => s.id), [theirs.id]);

step('notes about snippets and commits');
const said = await api.ProjectSnippetNotes.create(id, theirs.id, 'Shorter');
equal('note', [said.noteable_type, said.noteable_id], ['Snippet', theirs.id]);
equal('changed', (await api.ProjectSnippetNotes.edit(id, theirs.id, said.id, { body: 'Shorter!' })).body, 'Shorter!');
const talk = await api.ProjectSnippetDiscussions.create(id, theirs.id, 'A thread');
await api.ProjectSnippetDiscussions.addNote(id, theirs.id, talk.id, 'goes on');
equal('thread', (await api.ProjectSnippetDiscussions.show(id, theirs.id, talk.id)).notes.map((n) => n.body), ['A thread', 'goes on']);
equal('emoji', (await api.ProjectSnippetAwardEmojis.award(id, theirs.id, 'heart')).awardable_type, 'Snippet');
const commit = await api.Commits.create(id, 'main', 'Begin', [{ action: 'create', filePath: 'a.txt', content: 'one\ntwo\n' }]);
const comment = await api.Commits.createComment(id, commit.id, 'Why two?', { path: 'a.txt', line: 2, lineType: 'new' });
equal('comment', [comment.note, comment.path, comment.line, comment.line_type], ['Why two?', 'a.txt', 2, 'new']);
equal('comments', (await api.Commits.allComments(id, commit.id)).map((c) => c.note), ['Why two?']);
equal('discussions', (await api.Commits.allDiscussions(id, commit.id)).map((d) => d.notes[0].type), ['DiffNote']);

await api.ProjectSnippets.remove(id, theirs.id);
equal("one's own", (await api.Snippets.all()).map((s) => s.id), [mine.id]);
step('done');
