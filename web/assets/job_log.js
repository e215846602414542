// Shows the new lines of a log while its job runs, and finds lines that a link
// names but the page does not hold.
(() => {
  "use strict";
  const log = document.getElementById("log");
  if (!log) return;

  // Whether timestamps are shown is kept for the next page.
  const times = document.getElementById("times");
  if (times) {
    times.checked = sessionStorage.getItem("times") === "1";
    times.addEventListener("change", () => sessionStorage.setItem("times", times.checked ? "1" : "0"));
  }

  const find = () => {
    const asked = /^#L(\d+)$/.exec(location.hash);
    if (!asked || document.getElementById("L" + asked[1])) return false;
    if (new URLSearchParams(location.search).get("line") === asked[1]) return false;
    location.replace(location.pathname + "?line=" + asked[1] + location.hash);
    return true;
  };
  addEventListener("hashchange", find);
  if (find() || !log.dataset.follow) return;

  // What the head of the page says of the lines and of the time follows them.
  const follows = document.getElementById("follows");
  const took = document.getElementById("took");
  const head = (ran) => {
    const all = lines();
    if (all.length) {
      const [first, last] = [all[0].id.slice(1), all.at(-1).id.slice(1)];
      for (const text of document.querySelectorAll(".lines")) text.textContent = `Lines ${first} to ${last} of ${last}`;
    }
    if (took && ran) took.textContent = ran;
  };

  const most = 4000; // lines that the page may hold
  let next = Number(log.dataset.next);
  let fails = 0;

  const lines = () => [...log.querySelectorAll('[id^="L"]')];

  // A last line without an end comes again, whole.
  const drop = () => {
    for (const line of lines().reverse()) {
      if (Number(line.id.slice(1)) < next) return;
      (line.tagName === "SUMMARY" ? line.closest("[data-s]") : line).remove();
    }
  };

  // A section that goes on is put into the one that the page holds.
  const merge = (from, to) => {
    for (const node of [...from.children]) {
      const last = to.lastElementChild;
      if (node.dataset.s && last && last.dataset.s === node.dataset.s) {
        node.querySelector(":scope > details > summary").remove();
        merge(node.querySelector(":scope > details"), last.querySelector(":scope > details"));
        const took = node.querySelector(":scope > small");
        if (took && !last.querySelector(":scope > small")) last.append(took);
      } else {
        to.append(node);
      }
    }
  };

  const look = async () => {
    if (document.hidden) return wait();
    try {
      const answer = await fetch(log.dataset.follow + "?from=" + next, { credentials: "same-origin", redirect: "error" });
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) return stop();
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      fails = 0;
      const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 48;
      drop();
      merge(fresh, log);
      next = Number(answer.headers.get("Log-Next"));
      head(answer.headers.get("Job-Took"));
      if (end) scrollTo(0, document.documentElement.scrollHeight);
      if (answer.headers.get("Log-Ended") || lines().length > most) return location.reload();
    } catch {
      if (++fails > 20) return stop();
    }
    wait();
  };

  const stop = () => (follows.hidden = true);
  const wait = () => setTimeout(look, 3000 * (1 + fails));
  follows.hidden = false;
  wait();
})();
