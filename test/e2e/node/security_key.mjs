// A person registers a security key, signs in with it and takes it away again,
// in a real browser with an authenticator of its own. The first difference ends
// the script with a message.

import assert from 'node:assert/strict';
import { host, launch, login, password, signIn } from './browser.mjs';

const settings = `${host}/-/user_settings/two_factor`;
const browser = await launch();

function is(step, got, want) {
  assert.deepEqual(got, want, step);
  console.log(`security key: ${step}`);
}

// device is a browser with a key that can be taken from one to another.
async function device(options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on('console', (m) => m.type() === 'error' && !/status of 4\d\d/.test(m.text()) && assert.fail(m.text()));
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'usb', hasResidentKey: false, hasUserVerification: false, automaticPresenceSimulation: true },
  });
  return {
    page,
    close: () => context.close(),
    keys: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    put: (credential) => cdp.send('WebAuthn.addCredential', { authenticatorId, credential }),
  };
}

const first = await device();
await first.page.goto(settings);
await signIn(first.page);
await first.page.locator('#key_password').fill(password);
await first.page.getByRole('button', { name: 'Add a security key' }).click();
await first.page.getByLabel('Name').fill('Blue key');
await first.page.getByRole('button', { name: 'Register the key' }).click();
await first.page.getByText('Two-factor authentication is on.').waitFor();
is('ten recovery codes come with it', await first.page.locator('.tiles li').count(), 10);
is('it is listed', await first.page.getByText('Blue key', { exact: true }).count(), 1);
const [credential] = await first.keys();
is('the key knows this instance', credential.rpId, new URL(host).hostname);

// The same key again: the browser says no, and so does the page.
await first.page.locator('#key_password').fill(password);
await first.page.getByRole('button', { name: 'Add a security key' }).click();
await first.page.getByLabel('Name').fill('Same key');
await first.page.getByRole('button', { name: 'Register the key' }).click();
await first.page.getByText('This key is registered already.').waitFor();

// Another browser, the same key.
const second = await device();
await second.put(credential);
await second.page.goto(`${host}/-/user_settings/profile`);
await signIn(second.page);
await second.page.getByRole('button', { name: 'Use security key' }).click();
await second.page.waitForURL(`${host}/-/user_settings/profile`);
is('the key lets its owner in', (await second.page.context().cookies()).some((c) => c.name === '_svc_session' && c.httpOnly), true);
const [used] = await second.keys();
is('the key counted', used.signCount > credential.signCount, true);

// A copy from before that: its counter falls back.
const copy = await device();
await copy.put(credential);
await copy.page.goto(settings);
await signIn(copy.page);
await copy.page.getByRole('button', { name: 'Use security key' }).click();
await copy.page.getByText('This key did not answer as expected.').waitFor();
is('a copy does not', (await copy.page.context().cookies()).some((c) => c.name === '_svc_session'), false);

// A key of somebody else.
const stranger = await device();
await stranger.page.goto(settings);
await signIn(stranger.page);
await stranger.page.getByRole('button', { name: 'Use security key' }).click();
await stranger.page.getByText('The key did not answer in time, or was refused.').waitFor({ timeout: 90_000 });

// Without script the page says what to do.
const plain = await device({ javaScriptEnabled: false });
await plain.page.goto(settings);
await signIn(plain.page);
const words = plain.page.locator('noscript p');
await words.waitFor({ state: 'visible' });
is('the page says so', await words.innerText(), 'Security keys need script, which is switched off here. Enter a code instead.');
is('the button waits for script', await plain.page.getByRole('button', { name: 'Use security key' }).isDisabled(), true);

// Turning it off forgets the key.
await second.page.goto(settings);
await second.page.locator('#current_password').fill(password);
await second.page.getByRole('button', { name: 'Turn off two-factor' }).click();
await second.page.getByText('Two-factor authentication is off.').waitFor();
is('no key is left', await second.page.getByText('Blue key', { exact: true }).count(), 0);
const last = await device();
await last.page.goto(settings);
await signIn(last.page);
is(`${login} signs in by password alone`, last.page.url(), settings);
await browser.close();
