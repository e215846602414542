// Opens every page in a real browser, prints the table of what it costs and
// whom it serves, and fails on a breach. With SCREENSHOTS set it writes pictures
// there instead.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const { BASE, PEOPLE, PAGES, SCREENSHOTS, STITHY_PAGES_LOOKS, CHROMIUM = "/usr/bin/chromium" } = process.env;
const people = JSON.parse(PEOPLE); // name -> cookies
const pages = JSON.parse(PAGES); // { name, path, as, status, small, live, large, send, text, fill, grows, moves, whole }
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const most = { axe: 0, kilobytes: 60, requests: 3, warm: 1, paint: 300, blocked: 50, tabs: 2, overflow: 0, nodes: 6000 };
// A part of something large is one answer of this size.
const mostOf = (page) => (page.large ? { ...most, kilobytes: 150 } : most);
// What is told by a clock is judged when all pages are measured: on a slow or busy machine all of them take longer.
const clocked = ["paint", "blocked"];
// blocked is the time for which tasks kept a page from answering: what is beyond 50 ms, on a machine that is so many times slower.
const blocked = (tasks, slower = 1) => Math.round(tasks.reduce((sum, took) => sum + Math.max(0, took / slower - 50), 0));

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});

async function open(page, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  if (page.as) await context.addCookies(people[page.as].map((c) => ({ ...c, url: BASE })));
  const tab = await context.newPage();
  tab.on("console", (m) => m.type() === "error" && !/status of [45]\d\d/.test(m.text()) && console.error(`${page.name}: ${m.text()}`));
  return { context, tab };
}

// load opens the page, which has a status, and counts what went over the wire. What a script asks for later does not
// count: the page was there before.
async function load(tab, page) {
  if (page.send) await tab.goto(BASE + page.path, { waitUntil: "load" });
  const session = await tab.context().newCDPSession(tab);
  await session.send("Network.enable");
  let bytes = 0;
  const asked = new Set();
  const kept = new Set();
  session.on("Network.requestWillBeSent", (e) => e.request.url.startsWith("data:") || e.type === "Fetch" || asked.add(e.requestId));
  session.on("Network.requestServedFromCache", (e) => kept.add(e.requestId));
  session.on("Network.responseReceived", (e) => e.response.fromDiskCache && kept.add(e.requestId));
  session.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
  const answer = page.send ? await send(tab, page) : await tab.goto(BASE + page.path, { waitUntil: "load" });
  if (answer.status() !== (page.status ?? 200)) throw new Error(`${page.name}: ${answer.status()}`);
  await session.detach();
  return { bytes, requests: [...asked].filter((id) => !kept.has(id)).length };
}

// send fills in a form of the page and sends it.
async function send(tab, page) {
  for (const [name, text] of Object.entries(page.fill ?? {})) await tab.fill(`[name="${name}"]`, text);
  await tab.fill(`[name="${page.send}"]`, page.text);
  const [answer] = await Promise.all([tab.waitForNavigation({ waitUntil: "load" }), tab.click("main .form button")]);
  return answer;
}

// timing says when the page was painted and how long its tasks kept it from answering.
const timing = () =>
  new Promise((resolve) => {
    const seen = { paint: 0, tasks: [] };
    new PerformanceObserver((list) => list.getEntries().forEach((e) => (seen.paint = e.startTime))).observe({ type: "largest-contentful-paint", buffered: true });
    new PerformanceObserver((list) => list.getEntries().forEach((e) => seen.tasks.push(e.duration))).observe({ type: "longtask", buffered: true });
    // A busy browser tells of the paint later than of the page.
    const done = (tries) => (seen.paint || !tries ? resolve(seen) : setTimeout(done, 50, tries - 1));
    setTimeout(done, 150, 100);
  });

async function rules(tab) {
  if (!(await tab.evaluate(() => !!window.axe))) await tab.evaluate(axe);
  const found = await tab.evaluate(() =>
    window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) =>
      r.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(", ")}`)));
  return found;
}

// tabs counts how often Tab is pressed until the content has the focus. The
// link that skips to the content is followed.
async function tabs(tab) {
  const where = () =>
    tab.evaluate(() => {
      const at = document.activeElement;
      return at.closest("main") && at.tagName !== "MAIN" ? "content" : at.classList.contains("skip") ? "skip" : "elsewhere";
    });
  if (await tab.evaluate(() => !document.querySelector("main a, main button, main input:not([type=hidden]), main select, main textarea, main [tabindex='0']"))) return 0;
  for (let pressed = 0; pressed < 60; pressed++) {
    const at = await where();
    if (at === "content") return pressed;
    if (at === "skip") await tab.keyboard.press("Enter");
    await tab.keyboard.press("Tab");
  }
  return 60;
}

// stale says what is wrong with a page that should keep itself fresh: it asks
// for itself again, and a link that has the focus has it still when its part of
// the page was put in place.
async function stale(tab, page) {
  await tab.evaluate(() => {
    document.querySelector("#live a[id]").focus();
    document.getElementById("live").dataset.old = "1";
  });
  try {
    await tab.waitForResponse((r) => r.url() === BASE + page.path, { timeout: 10_000 });
    await tab.waitForFunction(() => !document.getElementById("live").dataset.old, undefined, { timeout: 10_000 });
  } catch {
    return ["the page does not keep itself fresh"];
  }
  return (await tab.evaluate(() => !!document.activeElement.closest("#live a[id]"))) ? [] : ["the focus is lost when the page changes"];
}

// stuck says what is wrong with a log that should grow: its last line has no
// end, so it is asked for again, and takes the place of the old one.
async function stuck(tab) {
  const before = await tab.evaluate(() => {
    const lines = [...document.querySelectorAll('#log [id^="L"]')];
    lines.at(-1).dataset.old = "1";
    document.querySelectorAll(".lines, #took").forEach((e) => e.replaceChildren());
    return lines.map((l) => l.textContent).join("\n");
  });
  try {
    await tab.waitForFunction(() => !document.querySelector("#log [data-old]"), undefined, { timeout: 15_000 });
  } catch {
    return ["the log does not grow"];
  }
  const head = await tab.evaluate(() => [...document.querySelectorAll("#took, .lines, #follows:not([hidden])")].map((e) => e.textContent).join("; "));
  if (!/^\d+ .* so far; Lines 1 to 3 of 3; New lines come by themselves\.$/.test(head)) return [`the head of the log does not follow it: ${head}`];
  const after = await tab.evaluate(() => [...document.querySelectorAll('#log [id^="L"]')].map((l) => l.textContent).join("\n"));
  return before === after ? [] : [`the log is another when it grew: ${after}`];
}

// unmoved says which ways of moving a card of a board do not work: its menu, with and without script, the keyboard, and
// the mouse. The card ends where it began.
async function unmoved(tab, page) {
  const lists = await tab.evaluate(() => [...document.querySelectorAll("[data-list]")].map((e) => ({ id: e.dataset.list, name: e.querySelector("h2").textContent })));
  const [, from, to] = lists;
  const issue = await tab.evaluate((id) => document.querySelector(`[data-list="${id}"] .card`).dataset.issue, from.id);
  const card = (list) => `#card-${list.id}-${issue}`;
  const menu = async (at, list, of) => {
    await at.click(`${card(list)} [popovertarget]`);
    await at.click(`${card(list)} [popover] button:text-is("Move to “${of.name}”")`);
  };
  const problems = [];
  const moves = async (way, at, list, act) => {
    try {
      await act();
      await at.waitForSelector(card(list), { timeout: 10_000 });
    } catch (e) {
      problems.push(`${way} does not move a card: ${String(e).split("\n")[0]}`);
    }
  };
  await moves("the menu", tab, to, () => menu(tab, from, to));
  if (!(await tab.evaluate((at) => !!document.activeElement.closest(at), card(to)))) problems.push("a card that was moved does not have the focus");
  await moves("the keyboard", tab, from, () => tab.keyboard.press("Shift+ArrowLeft"));
  await moves("the mouse", tab, to, () => tab.dragAndDrop(`${card(from)} .num`, `[data-list="${to.id}"] header`));
  try {
    await tab.waitForFunction(() => document.getElementById("said").textContent.includes("moved"), undefined, { timeout: 5_000 });
  } catch {
    problems.push("who hears the page is not told that a card was moved");
  }
  const plain = await open(page, { javaScriptEnabled: false });
  await plain.tab.goto(BASE + page.path, { waitUntil: "load" });
  await moves("the menu without script", plain.tab, from, () => menu(plain.tab, to, from));
  await plain.context.close();
  await tab.goto(BASE + page.path, { waitUntil: "load" });
  return problems;
}

// misplaced says what a small screen shows wrongly: a section of a log whose title runs under how long it took, a list of
// pages that hides the one that is shown, and jobs of one list that are laid out in several ways.
const misplaced = () => {
  const problems = [];
  const within = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  for (const took of document.querySelectorAll(".log [data-s]>small")) {
    const title = document.createRange();
    title.selectNodeContents(took.parentElement.querySelector(":scope>details>summary"));
    const at = took.getBoundingClientRect();
    if ([...title.getClientRects()].some((r) => r.right > at.left && r.left < at.right && r.bottom > at.top && r.top < at.bottom)) {
      problems.push(`${took.textContent} covers ${title}`);
    }
  }
  for (const here of document.querySelectorAll(".side [aria-current], .tabs [aria-current], .sub [aria-current]")) {
    const list = here.closest("nav");
    if (!within(here.getBoundingClientRect(), list.getBoundingClientRect())) problems.push(`${list.ariaLabel} hides ${here.textContent.trim()}`);
  }
  const ways = new Set([...document.querySelectorAll(".jobs>li")].map((li) => {
    const [status, name] = [".status", ".grow"].map((part) => li.querySelector(`:scope>${part}`).getBoundingClientRect());
    return name.top >= status.bottom && Math.abs(name.left - status.left) < 1;
  }));
  if (ways.has(false)) problems.push("the name of a job is not below its status");
  return problems;
};

// clock opens a page for the first time, alone on the machine, and says what it costs.
async function clock(page) {
  let got;
  for (let attempt = 0; attempt < 8; attempt++) {
    const { context, tab } = await open(page);
    const cold = await load(tab, page);
    const seen = await tab.evaluate(timing);
    await context.close();
    const now = { kilobytes: Math.ceil(cold.bytes / 102.4) / 10, requests: cold.requests, paint: Math.round(seen.paint), blocked: blocked(seen.tasks), tasks: seen.tasks };
    // Another program on the machine may have had its turn: the best of a few counts.
    if (got === undefined || now.paint + now.blocked < got.paint + got.blocked) got = now;
    if (got.paint <= most.paint && got.blocked <= most.blocked) break;
  }
  return got;
}

// examine says whom a page serves.
async function examine(page) {
  const { context, tab } = await open(page);
  await load(tab, page);
  const got = { nodes: await tab.evaluate(() => document.querySelectorAll("*").length), tabs: await tabs(tab), overflow: 0 };
  const problems = [];
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme });
    (await rules(tab)).forEach((r) => problems.push(`${colorScheme} ${r}`));
  }
  if (page.grows) (await stuck(tab)).forEach((p) => problems.push(p));
  if (page.moves) (await unmoved(tab, page)).forEach((p) => problems.push(p));
  if (page.live) (await stale(tab, page)).forEach((p) => problems.push(p));
  if (page.whole) {
    const cut = await tab.evaluate((parts) => [...document.querySelectorAll(parts)].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.trim()), page.whole);
    cut.forEach((text) => problems.push(`${text} is cut off`));
  }
  for (const width of [390, 360, 320]) {
    await tab.setViewportSize({ width, height: 640 });
    got.overflow = Math.max(got.overflow, await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth));
    (await tab.evaluate(misplaced)).forEach((p) => problems.push(`${width} wide: ${p}`));
  }
  got.axe = problems.length;
  got.warm = (await load(tab, page)).requests;
  await context.close();
  return { ...got, problems };
}

// shoot pictures the page, a long one as far as two screens, a small one as far as four.
async function shoot(tab, file) {
  const { width } = tab.viewportSize();
  const height = await tab.evaluate((most) => Math.min(document.documentElement.scrollHeight, most), width < 700 ? 2560 : 1600);
  await tab.screenshot({ path: `${SCREENSHOTS}/${file}.png`, fullPage: true, clip: { x: 0, y: 0, width, height } });
}

async function picture(page) {
  const looks = { light: { colorScheme: "light" }, dark: { colorScheme: "dark" } };
  const forced = { forcedColors: "active" };
  if (page.small) Object.assign(looks, { 320: { viewport: { width: 320, height: 640 } }, forced });
  if (STITHY_PAGES_LOOKS === "all") Object.assign(looks, { 360: { viewport: { width: 360, height: 640 } }, forced });
  const take = async ([look, options]) => {
    const { context, tab } = await open(page, options);
    await load(tab, page);
    await shoot(tab, `${page.name}-${look}`);
    await context.close();
  };
  await Promise.all(Object.entries(looks).map(take));
}

let breaches = 0;
if (SCREENSHOTS) {
  for (const page of pages) await picture(page);
} else {
  const columns = ["axe", "kilobytes", "requests", "warm", "paint", "blocked", "tabs", "overflow", "nodes"];
  const line = (cells) => console.log(cells.map((c, i) => String(c).padEnd(i ? 10 : 26)).join(""));
  line(["page", ...columns]);
  const seen = [];
  const broken = [];
  const costs = [];
  for (const page of pages) costs.push(await clock(page));
  // What no clock tells is looked at two pages at a time.
  const served = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < pages.length; i = next++) served[i] = await examine(pages[i]);
  };
  await Promise.all([worker(), worker()]);
  for (const [i, page] of pages.entries()) {
    const got = { ...costs[i], ...served[i] };
    const limit = mostOf(page);
    line([page.name, ...columns.map((c) => (got[c] > limit[c] ? `${got[c]} !` : got[c]))]);
    got.problems.forEach((p) => broken.push(`${page.name}: ${p}`));
    columns.filter((c) => c !== "axe" && !clocked.includes(c) && got[c] > limit[c]).forEach((c) => broken.push(`${page.name}: ${c} ${got[c]}, at most ${limit[c]}`));
    seen.push({ ...got, name: page.name });
  }
  line(["at most", ...columns.map((c) => most[c])]);
  // One page may paint twice as late as the middle one, whose lateness says how slow the machine is.
  const middle = seen.map((p) => p.paint).sort((a, b) => a - b)[Math.floor(seen.length / 2)];
  const slower = Math.max(1, (2 * middle) / most.paint);
  for (const page of seen) {
    if (page.paint > Math.max(most.paint, Math.min(2 * middle, 2 * most.paint))) broken.push(`${page.name}: paints after ${page.paint} ms, the middle page after ${middle} ms`);
    const held = blocked(page.tasks, slower);
    if (held > most.blocked) broken.push(`${page.name}: answers ${held} ms late on a machine that is ${slower.toFixed(1)} times slower than one where the middle page paints after ${most.paint / 2} ms`);
  }
  broken.forEach((b) => console.log(b));
  breaches = broken.length;
}
await browser.close();
process.exit(breaches > 0 ? 1 : 0);
