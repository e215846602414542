// A real browser at the pages of a running forge, for the scripts beside it.

import { chromium } from 'playwright-core';

export const { TOUR_URL: host, TOUR_LOGIN: login, TOUR_PASSWORD: password } = process.env;

export const launch = () =>
  chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });

// signIn fills in the sign-in form, if the page is one.
export async function signIn(page) {
  const secret = page.locator('input[type=password]');
  if ((await secret.count()) !== 1) return;
  await page.locator('form input[type=text]').fill(login);
  await secret.fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

// authorize opens the address that an application sent the person to, signs in
// and consents, and returns where the browser was sent back to.
export async function authorize(page, url, callback) {
  const back = new Promise((resolve) => {
    page.route(
      (to) => to.href.startsWith(callback),
      (route) => {
        resolve(route.request().url());
        return route.fulfill({ contentType: 'text/plain', body: 'Back at the application.' });
      },
    );
  });
  await page.goto(url);
  await signIn(page);
  const button = page.getByRole('button', { name: 'Authorize', exact: true });
  await Promise.race([back, button.waitFor()]);
  if (await button.count()) await button.click();
  return back;
}
