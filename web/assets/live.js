// Keeps the part of a page that changes by itself fresh: asks for the page again
// now and then, and puts that part in its place. What has the focus keeps it, and
// what is open stays open. A page that has become another one is loaded.
(() => {
  "use strict";
  const said = document.getElementById("said");
  const part = () => document.getElementById("live");
  let fails = 0;

  const look = async () => {
    if (document.hidden) return wait();
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) return;
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      if (!fresh) return location.reload();
      fails = 0;
      replace(fresh);
    } catch {
      if (++fails > 20) return;
    }
    wait();
  };

  const replace = (fresh) => {
    const old = part();
    if (fresh.dataset.says !== old.dataset.says) said.textContent = fresh.dataset.says;
    if (fresh.outerHTML === old.outerHTML) return;
    const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
    const open = old.querySelector(":popover-open")?.id;
    const left = old.querySelector(".graph")?.scrollLeft ?? 0;
    old.replaceWith(document.adoptNode(fresh));
    if (open) document.getElementById(open)?.showPopover?.();
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    const graph = fresh.querySelector(".graph");
    if (graph) graph.scrollLeft = left;
  };

  const wait = () => {
    const seconds = Number(part()?.dataset.live);
    if (seconds) setTimeout(look, seconds * 1000 * (1 + fails));
  };
  if (part() && said) wait();
})();
