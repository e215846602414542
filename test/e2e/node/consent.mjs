// Takes the part of the person in someone else's flow: signs in, consents to
// what the first argument asks for, and writes down where that led.

import { authorize, launch } from './browser.mjs';

const browser = await launch();
const [url, callback] = process.argv.slice(2);
console.log(await authorize(await browser.newPage(), url, callback));
await browser.close();
