// @gitbeaker/rest on activity events, audit events and notification settings. The first difference ends the tour with a message and a status other than 0.

import { Gitlab } from '@gitbeaker/rest';
import { isDeepStrictEqual, inspect } from 'node:util';

const { TOUR_URL: host, TOUR_TOKEN: token, TOUR_PASSWORD: password } = process.env;

const api = new Gitlab({ host, token });

function step(text) {
  console.log(`node: ${text}`);
}

function equal(what, got, want) {
  if (isDeepStrictEqual(got, want)) return;
  console.error(`node: ${what}: got ${inspect(got)}, want ${inspect(want)}`);
  process.exit(1);
}

const works = await api.Groups.create('Works', 'works');
const { id } = await api.Projects.create({ name: 'Tongs', namespaceId: works.id });
const me = await api.Users.showCurrentUser();

step('activity events');
await api.Issues.create(id, 'Mend the door');
await api.IssueNotes.create(id, 1, 'Which one?');
await api.Issues.edit(id, 1, { stateEvent: 'close' });
equal('of the project', (await api.Events.all({ projectId: id })).map((e) => e.action_name), ['closed', 'commented on', 'opened', 'created']);
equal('of one kind', (await api.Events.all({ projectId: id, targetType: 'issue', action: 'closed' })).map((e) => e.target_title), ['Mend the door']);
equal('one\'s own', (await api.Events.all({ perPage: 2, maxPages: 1 })).map((e) => e.action_name), ['closed', 'commented on']);
equal('of a person', (await api.Users.allEvents(me.id)).length, 4);

step('audit events');
const ann = await api.Users.create({ email: 'ann@example.com', username: 'ann', name: 'Ann', password, skipConfirmation: true });
await api.GroupMembers.add(works.id, 30, { userId: ann.id });
const made = (await api.AuditEvents.all({ groupId: works.id })).find((e) => e.details.target_id === ann.id);
equal('of the group', made.entity_type, 'Group');
equal('one of them', (await api.AuditEvents.show(made.id, { groupId: works.id })).id, made.id);
equal('one of the instance', (await api.AuditEvents.show(made.id)).entity_id, works.id);
equal('of the project', (await api.AuditEvents.all({ projectId: id })).every((e) => e.entity_id === id), true);

step('notification settings');
equal('everywhere', (await api.NotificationSettings.show()).level, 'participating');
equal('everywhere, changed', (await api.NotificationSettings.edit({ level: 'watch' })).level, 'watch');
equal('of the group', (await api.NotificationSettings.edit({ groupId: works.id, level: 'mention' })).level, 'mention');
const own = await api.NotificationSettings.edit({ projectId: id, level: 'custom', newNote: true });
equal('of the project', [own.level, own.events.new_note, own.events.new_issue], ['custom', true, false]);
console.log('node: done');
