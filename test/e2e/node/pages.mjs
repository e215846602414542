// What a person does with applications on the pages, and what others cannot do
// for them: frames, openers, a key that is held down. The first difference
// ends the script with a message.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { host, launch, signIn } from './browser.mjs';

const { TOUR_CALLBACK: callback, TOUR_ASK: ask } = process.env;
const browser = await launch();
const context = await browser.newContext();
const page = await context.newPage();

async function is(step, got, want) {
  assert.deepEqual(got, want, step);
  console.log(`pages: ${step}`);
}

// An application of one's own.
await page.goto(`${host}/-/user_settings/applications/new`);
await signIn(page);
await page.getByLabel('Name').fill('Made by hand');
await page.getByLabel('Redirect URI').fill(callback);
await page.getByLabel('read_user', { exact: true }).check();
await page.getByRole('button', { name: 'Register' }).click();
const secret = await page.locator('#secret').textContent();
const uid = await page.locator('#application_id').textContent();
await is('the secret is shown', /^svcoas-[0-9a-f]{64}$/.test(secret), true);
await page.reload();
await is('and not again', await page.locator('#secret').count(), 0);

// Nobody presses for the person.
await page.goto(ask);
await page.getByRole('button', { name: 'Authorize', exact: true }).waitFor();
await page.keyboard.press('Enter');
await page.waitForLoadState('networkidle');
await is('Enter on load does nothing', page.url().startsWith(`${host}/oauth/authorize`), true);

const thief = createServer((request, response) => {
  response.setHeader('Content-Type', 'text/html');
  const address = ask.replaceAll('&', '&amp;');
  response.end(
    request.url === '/frame'
      ? `<iframe src="${address}"></iframe>`
      : `<script>function steal() { window.stolen = window.open(${JSON.stringify(ask)}); }</script><button onclick="steal()">Win</button>`,
  );
});
await new Promise((done) => thief.listen(0, '127.0.0.1', done));
const evil = `http://127.0.0.1:${thief.address().port}`;
await page.goto(`${evil}/frame`);
const frame = page.frames()[1];
await frame.waitForLoadState().catch(() => {});
await is('a frame stays blank', await frame.getByRole('button').count(), 0);

await page.goto(`${evil}/open`);
const [popup] = await Promise.all([context.waitForEvent('page'), page.getByRole('button', { name: 'Win' }).click()]);
await popup.getByRole('button', { name: 'Authorize', exact: true }).waitFor();
await is('the pop-up has no opener', await popup.evaluate(() => window.opener), null);
await is('and cannot be reached', await page.evaluate(() => window.stolen.closed), true);
await popup.close();

// A form of another site.
const cookieless = await context.request.post(`${host}/oauth/authorize`, {
  form: Object.fromEntries(new URL(ask).searchParams),
  headers: { Origin: evil },
  maxRedirects: 0,
});
await is('a form of another site is refused', cookieless.status(), 403);

// Ending what was granted, which the caller checks.
await page.goto(`${host}/-/user_settings/applications`);
await is('the application acts for me', await page.getByText('Tour', { exact: true }).count(), 1);
await page.getByRole('button', { name: 'Revoke access of Tour' }).click();
await page.getByRole('dialog').getByRole('button', { name: 'Revoke access of Tour' }).click();
await page.getByText('The application has no access any more.').waitFor();
await is('and no more', await page.getByText('Tour', { exact: true }).count(), 0);

thief.close();
await browser.close();
console.log(`made ${uid}`);
