// @sentry/node, unmodified, reports errors to the connection string that the forge issues. The first difference ends the tour with a message
// and a status other than 0.

import * as Sentry from '@sentry/node';
import { isDeepStrictEqual, inspect } from 'node:util';

const { TOUR_URL: host, TOUR_TOKEN: token } = process.env;

function step(text) {
  console.log(`node: ${text}`);
}

function equal(what, got, want) {
  if (isDeepStrictEqual(got, want)) return;
  console.error(`node: ${what}: got ${inspect(got, { depth: 5 })}, want ${inspect(want, { depth: 5 })}`);
  process.exit(1);
}

async function api(method, path, body) {
  const answer = await fetch(`${host}/api/v4${path}`, {
    method, headers: { 'PRIVATE-TOKEN': token, 'content-type': 'application/json' }, body: body && JSON.stringify(body),
  });
  if (!answer.ok) {
    console.error(`node: ${method} ${path}: ${answer.status} ${await answer.text()}`);
    process.exit(1);
  }
  return answer.json();
}

const { id } = await api('POST', '/projects', { name: 'Shop' });
const at = `/projects/${id}/error_tracking`;
await api('PUT', `${at}/settings`, { active: true, integrated: true, events_per_minute: 100000 });
const [key] = await api('GET', `${at}/client_keys`);

step('errors, breadcrumbs and releases');
const answers = [];
const client = Sentry.init({
  dsn: key.errsvc_dsn, release: 'shop@1.4.0', environment: 'production', transportOptions: { bufferSize: 2000 },
});
client.on('afterSendEvent', (_, answer) => answers.push(answer));

function total(cart) {
  return cart.rows.length;
}

function open(order) {
  throw new RangeError(`order ${order} is beyond the last`);
}

function report(call) {
  try {
    call();
  } catch (e) {
    Sentry.captureException(e);
  }
}

async function sent() {
  equal('all is sent', await Sentry.flush(120_000), true);
  return answers.splice(0);
}

Sentry.setUser({ id: '5', email: 'ann@example.com' });
Sentry.setTag('shard', '7');
Sentry.addBreadcrumb({ category: 'cart', message: 'opened cart 12', level: 'info' });
report(() => total({}));
equal('answer', (await sent()).map((a) => a.statusCode), [200]);
const [first] = await api('GET', `${at}/errors?release=shop@1.4.0&environment=production`);
equal('error', [first.name, first.platform, first.level, first.events_count, first.users_count], ['TypeError', 'node', 'error', 1, 1]);
const [{ report: kept }] = await api('GET', `${at}/errors/${first.id}/events`);
equal('breadcrumb', kept.breadcrumbs.at(-1).message, 'opened cart 12');
equal('tag', kept.tags, [{ name: 'shard', value: '7' }]);
equal('address of the person', kept.user, { id: '5' });
equal('innermost call', kept.exceptions[0].frames.at(-1).function, 'total');

step('a thousand events in a burst');
for (let n = 0; n < 1000; n++) {
  Sentry.setUser({ id: String(n % 10) });
  if (n % 2) report(() => open(n));
  else Sentry.captureMessage(`job ${n} took ${n / 8} s`, 'warning');
}
const burst = await sent();
equal('answers', [burst.length, burst.filter((a) => a.statusCode === 200).length], [1000, 1000]);
const all = await api('GET', `${at}/errors`);
equal('groups', all.map((e) => [e.name.replace(/^job .*/, 'job'), e.level, e.events_count, e.users_count]).sort(), [
  ['RangeError', 'error', 500, 5], ['TypeError', 'error', 1, 1], ['job', 'warning', 500, 5],
]);

step('a quota that is spent');
await api('PATCH', `${at}/settings`, { active: true, events_per_minute: 1 });
let last;
for (let n = 0; n < 3 && last?.statusCode !== 429; n++) {
  Sentry.captureMessage(`too much, part ${'abc'[n]}`);
  [last] = await sent();
}
equal('refusal', last.statusCode, 429);
equal('retry-after', Number(last.headers['retry-after']) > 0, true);
Sentry.captureMessage('while it waits');
equal('the SDK sends nothing while it is told to wait', await sent(), [{}]);

step('a replaced key');
await api('PATCH', `${at}/settings`, { active: true, events_per_minute: 100000 });
const next = await api('POST', `${at}/client_keys`);
const old = Sentry.init({ dsn: key.errsvc_dsn });
old.on('afterSendEvent', (_, answer) => answers.push(answer));
Sentry.captureMessage('with the old key');
equal('before', (await sent()).map((a) => a.statusCode), [200]);
await api('DELETE', `${at}/client_keys/${key.id}`);
Sentry.captureMessage('with a deleted key');
equal('after', (await sent()).map((a) => a.statusCode), [404]);
const renewed = Sentry.init({ dsn: next.errsvc_dsn });
renewed.on('afterSendEvent', (_, answer) => answers.push(answer));
Sentry.captureMessage('with the new key');
equal('with the new one', (await sent()).map((a) => a.statusCode), [200]);
const names = (await api('GET', `${at}/errors?per_page=100`)).map((e) => e.name);
equal('what was refused is not kept', names.filter((n) => /deleted|waits/.test(n)), []);

step('done');
