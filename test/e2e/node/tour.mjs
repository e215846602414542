// @gitbeaker/rest against a running forge. The first difference ends the tour
// with a message and a status other than 0.

import { Gitlab } from '@gitbeaker/rest';
import { isDeepStrictEqual, inspect } from 'node:util';

const { TOUR_URL: host, TOUR_TOKEN: token, TOUR_PASSWORD: password, TOUR_VALUE: value } = process.env;
const sshKeys = process.env.TOUR_SSH_KEYS.split('\n');
const gpgKey = process.env.TOUR_GPG_KEY;

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

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

function person(username, more = {}) {
  return root.Users.create({
    username, name: username, email: `${username}@example.com`, forceRandomPassword: true, skipConfirmation: true, ...more,
  });
}

const usernames = (users) => users.map((u) => u.username);

step('who am I');
const self = await root.Users.showCurrentUser();
equal('current user', self.username, 'root');
equal('an administrator', self.is_admin, true);
const metadata = await root.Metadata.show();
equal('enterprise', metadata.enterprise, true);
equal('keys of kas', Object.keys(metadata.kas), ['enabled', 'externalUrl', 'version']);
await refused('an unknown token', 401, '401 Unauthorized', new Gitlab({ host, token: 'unknown' }).Users.showCurrentUser());
equal('as a bearer', (await new Gitlab({ host, oauthToken: token }).Users.showCurrentUser()).id, self.id);

step('accounts');
const ann = await person('ann', { bio: 'writes', external: true, projectsLimit: 3 });
equal('username', ann.username, 'ann');
equal('external', ann.external, true);
equal('created by', ann.created_by.username, 'root');
const bob = await root.Users.create({ username: 'bob', name: 'Bob', email: 'bob@example.com', password, skipConfirmation: true });
equal('read again', (await root.Users.show(ann.id)).email, 'ann@example.com');
const changed = await root.Users.edit(ann.id, { name: 'Ann Lee', bio: '', avatar: { content: new Blob([pixel], { type: 'image/png' }), filename: 'ann.png' } });
equal('name', changed.name, 'Ann Lee');
equal('bio', changed.bio, '');
equal('avatar', changed.avatar_url.startsWith(host), true);
await refused('a taken email', 409, 'Email has already been taken', root.Users.create({ username: 'bob2', name: 'Bob', email: 'BOB@example.com', password }));
await refused('a taken username', 409, 'Username has already been taken', root.Users.create({ username: 'BOB', name: 'Bob', email: 'bob2@example.com', password }));
await refused('no email', 400, 'email is missing', root.Users.create({ username: 'cy', name: 'Cy', password }));
await refused('a short password', 400, '{"password":["is too short (minimum is 8 characters)"]}',
  root.Users.create({ username: 'cy', name: 'Cy', email: 'cy@example.com', password: 'x7!qZ' }));
await refused('nobody', 404, '404 User Not Found', root.Users.show(2 ** 40));
const camel = await new Gitlab({ host, token, camelize: true }).Users.show(ann.id);
equal('camel case', camel.projectsLimit, 3);

step('lists');
for (let i = 0; i < 5; i += 1) await person(`lister-${i}`);
const listers = [0, 1, 2, 3, 4].map((i) => `lister-${i}`);
equal('by username', usernames(await root.Users.all({ username: 'ANN' })), ['ann']);
equal('external', usernames(await root.Users.all({ external: true })), ['ann']);
equal('all pages', usernames(await root.Users.all({ search: 'lister-', orderBy: 'username', sort: 'asc', perPage: 2 })), listers);
const { data, paginationInfo } = await root.Users.all({
  search: 'lister-', orderBy: 'username', sort: 'asc', perPage: 2, page: 2, maxPages: 1, showExpanded: true,
});
equal('second page', usernames(data), ['lister-2', 'lister-3']);
equal('about the page', { ...paginationInfo }, { total: 5, next: 3, current: 2, previous: 1, perPage: 2, totalPages: 3 });
equal('keyset', usernames(await root.Users.all({ search: 'lister-', pagination: 'keyset', orderBy: 'username', sort: 'asc', perPage: 2 })), listers);
await refused('an unknown order', 400, 'order_by does not have a valid value', root.Users.all({ orderBy: 'bio' }));

step('states');
equal('block', await root.Users.block(ann.id), true);
equal('blocked', usernames(await root.Users.all({ blocked: true })), ['ann']);
await refused('activate a blocked one', 403, 'Error occurred. A blocked user must be unblocked to be activated', root.Users.activate(ann.id));
equal('unblock', await root.Users.unblock(ann.id), true);
equal('deactivate', await root.Users.deactivate(ann.id), true);
equal('activate', await root.Users.activate(ann.id), true);
equal('ban', await root.Users.ban(ann.id), true);
await refused('ban again', 403, 'You cannot ban banned users.', root.Users.ban(ann.id));
equal('unban', await root.Users.unban(ann.id), true);
await refused('approve', 409, 'The user you are trying to approve is not pending approval', root.Users.approve(ann.id));
await refused('reject', 409, 'User does not have a pending request', root.Users.reject(ann.id));
await refused('no second factor', 400, '400 Bad request - Two-factor authentication is not enabled for this user', root.Users.disableTwoFactor(ann.id));

step('following, status, preferences');
equal('follow', (await root.Users.follow(bob.id)).username, 'bob');
equal('followers', usernames(await root.Users.allFollowers(bob.id)), ['root']);
equal('following', usernames(await root.Users.allFollowing(self.id)), ['bob']);
equal('unfollow', (await root.Users.unfollow(bob.id)).username, 'bob');
const status = await root.Users.editStatus({ emoji: 'coffee', message: 'a break', clearStatusAfter: '30_minutes' });
equal('status', [status.emoji, status.message], ['coffee', 'a break']);
equal('status of root', (await root.Users.showStatus({ iDOrUsername: 'root' })).message, 'a break');
await refused('a bad emoji', 400, '{"emoji":["is not a valid emoji name"]}', root.Users.editStatus({ emoji: 'nonsense' }));
const preferences = await root.Users.editCurrentUserPreferences(true, false);
equal('preferences', [preferences.view_diffs_file_by_file, preferences.show_whitespace_in_diffs], [true, false]);
equal('preferences again', await root.Users.showCurrentUserPreferences(), preferences);

step('sudo');
equal('sudo', (await root.Users.showCurrentUser({ sudo: 'ann' })).username, 'ann');
await refused('sudo as nobody', 404, "404 User with ID or username 'nobody-here' Not Found", root.Users.showCurrentUser({ sudo: 'nobody-here' }));
await refused('the rank of ann', 403, '403 Forbidden', root.Users.block(bob.id, { sudo: 'ann' }));

step('addresses');
const own = await root.UserEmails.create('root2@example.com');
const given = await root.UserEmails.create('ann2@example.com', { userId: ann.id, skipConfirmation: true });
equal('one address', (await root.UserEmails.show(own.id)).email, 'root2@example.com');
equal('own addresses', (await root.UserEmails.all()).map((e) => e.email), ['root2@example.com']);
equal('addresses', (await root.UserEmails.all({ userId: ann.id })).map((e) => e.email), ['ann2@example.com']);
await root.UserEmails.remove(own.id);
await root.UserEmails.remove(given.id, { userId: ann.id });
await refused('an address that is gone', 404, '404 Email Not Found', root.UserEmails.show(own.id));

step('keys');
const key = await root.UserSSHKeys.create('laptop', sshKeys[0]);
const desk = await root.UserSSHKeys.create('desk', sshKeys[1], { userId: ann.id, usageType: 'auth' });
equal('one key', (await root.UserSSHKeys.show(key.id)).title, 'laptop');
equal('usage', desk.usage_type, 'auth');
equal('keys', (await root.UserSSHKeys.all({ userId: ann.id })).map((k) => k.title), ['desk']);
equal('key with its user', (await root.Keys.show({ keyId: desk.id })).user.username, 'ann');
await root.UserSSHKeys.remove(key.id);
await root.UserSSHKeys.remove(desk.id, { userId: ann.id });
const signing = await root.UserGPGKeys.create(gpgKey, { userId: ann.id });
equal('GPG keys', (await root.UserGPGKeys.all({ userId: ann.id })).map((k) => k.id), [signing.id]);
equal('one GPG key', (await root.UserGPGKeys.show(signing.id, { userId: ann.id })).id, signing.id);
await root.UserGPGKeys.remove(signing.id, { userId: ann.id });

step('custom attributes, identities');
equal('attribute', await root.UserCustomAttributes.set(bob.id, 'desk', '4'), { key: 'desk', value: '4' });
equal('attributes', await root.UserCustomAttributes.all(bob.id), [{ key: 'desk', value: '4' }]);
equal('by attribute', usernames(await root.Users.all({ customAttributes: { desk: '4' } })), ['bob']);
await root.UserCustomAttributes.remove(bob.id, 'desk');
await refused('an attribute that is gone', 404, '404 Not found', root.UserCustomAttributes.show(bob.id, 'desk'));
const eve = await person('eve', { provider: 'saml', externUid: 'eve-1' });
await root.Users.removeAuthenticationIdentity(eve.id, 'saml');
equal('no identity', (await root.Users.show(eve.id)).identities, []);

step('personal access tokens');
const day = new Date(Date.now() + 20 * 864e5).toISOString().slice(0, 10);
const made = await root.PersonalAccessTokens.create(bob.id, 'cli', ['api'], { expiresAt: day });
equal('expiry', made.expires_at, day);
const asBob = new Gitlab({ host, token: made.token });
equal('self', (await asBob.PersonalAccessTokens.show()).id, made.id);
equal('of user', (await root.PersonalAccessTokens.all({ userId: bob.id })).map((t) => t.id), [made.id]);
const rotated = await root.PersonalAccessTokens.rotate(made.id, { expiresAt: day });
equal('a new token', rotated.token !== made.token, true);
await refused('the old token', 401, '401 Unauthorized', asBob.Users.showCurrentUser());
const next = new Gitlab({ host, token: rotated.token });
const again = await next.PersonalAccessTokens.rotate('self');
await new Gitlab({ host, token: again.token }).PersonalAccessTokens.remove();
equal('revoked', (await root.PersonalAccessTokens.show({ tokenId: again.id })).revoked, true);

step('impersonation tokens');
const play = await root.UserImpersonationTokens.create(bob.id, 'play', ['api'], { expiresAt: day });
equal('impersonation', play.impersonation, true);
equal('player', (await new Gitlab({ host, token: play.token }).Users.showCurrentUser()).username, 'bob');
await root.UserImpersonationTokens.revoke(bob.id, play.id);
equal('inactive', (await root.UserImpersonationTokens.all(bob.id, { state: 'inactive' })).map((t) => t.id), [play.id]);
equal('one', (await root.UserImpersonationTokens.show(bob.id, play.id)).revoked, true);

step('instance variables'); // the client's remove sends a GET and removes nothing
await root.InstanceLevelCICDVariables.create('TOUR', value, { masked: true, variableType: 'file' });
const variable = await root.InstanceLevelCICDVariables.edit('TOUR', value, { protected: true });
equal('variable', variable, { variable_type: 'file', key: 'TOUR', value, protected: true, masked: true, raw: false, description: null });
equal('variables', await root.InstanceLevelCICDVariables.all(), [variable]);
await refused('a bad key', 400, `{"key":["can contain only letters, digits and '_'."]}`, root.InstanceLevelCICDVariables.create('A-B', value));

step('settings');
equal('no sign-up', (await root.ApplicationSettings.edit({ signupEnabled: false })).signup_enabled, false);
equal('sign-up', (await root.ApplicationSettings.edit({ signupEnabled: true })).signup_enabled, true);

step('activities');
equal('activities', Array.isArray(await root.Users.allActivities({ from: '2020-01-01' })), true);

step('deletion');
await root.Users.remove(eve.id, { hardDelete: true });
await refused('eve', 404, '404 User Not Found', root.Users.show(eve.id));

step('done');
