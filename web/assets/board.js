// Moves the cards of a board without loading the page anew: from their menus, with
// Shift and an arrow key, and by drag. All of it sends the one form of the board.
(() => {
  "use strict";
  const form = () => document.getElementById("move");
  const near = (from, what) => (from instanceof Element ? from.closest(what) : null);
  let busy = false;
  let held = null; // the card that is dragged

  const send = async (move) => {
    if (busy) return;
    busy = true;
    try {
      const body = new URLSearchParams(new FormData(form()));
      body.set("move", move);
      const answer = await fetch(form().action, { method: "POST", body, credentials: "same-origin" });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      if (!fresh) throw new Error(answer.status);
      replace(fresh, move.split(" "));
    } catch {
      location.reload();
    } finally {
      busy = false;
    }
  };

  // What was scrolled stays so, and the card that was moved has the focus.
  const replace = (fresh, [issue, , to]) => {
    const scrolled = [...document.querySelectorAll(".board, .cards")].map((e) => [e.id, e.scrollLeft, e.scrollTop]);
    const done = fresh.querySelector(".notice.good");
    const says = done?.textContent.trim() ?? "";
    done?.remove();
    document.querySelector("main").replaceWith(document.adoptNode(fresh));
    for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo(left, top);
    (document.querySelector(`#card-${to}-${issue} button`) ?? fresh).focus();
    setTimeout(() => (document.getElementById("said") ?? {}).textContent = says, 100);
    begin();
  };

  document.addEventListener("submit", (e) => {
    if (e.target !== form() || !e.submitter) return;
    e.preventDefault();
    send(e.submitter.value);
  });

  const ways = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
  document.addEventListener("keydown", (e) => {
    const button = e.shiftKey && ways[e.key] && near(e.target, ".card")?.querySelector(`[data-way="${ways[e.key]}"]`);
    if (!button) return;
    e.preventDefault();
    send(button.value);
  });

  // place is where a card would come to stand that is let go in a list: below one, above another.
  const place = (list, y) => {
    const cards = [...list.querySelectorAll(".card")].filter((c) => c !== held);
    const at = cards.findIndex((c) => y < c.getBoundingClientRect().top + c.offsetHeight / 2);
    const next = at < 0 ? cards.length : at;
    return { above: cards[next - 1], below: cards[next] };
  };
  const mark = (list, where) => {
    for (const e of document.querySelectorAll(".over, .above, .below")) e.classList.remove("over", "above", "below");
    list?.classList.add("over");
    if (where?.below) where.below.classList.add("below");
    else where?.above?.classList.add("above");
  };

  document.addEventListener("dragstart", (e) => {
    held = near(e.target, ".card[draggable]");
    if (held) e.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragover", (e) => {
    const list = held && near(e.target, "[data-list]");
    mark(list, list && place(list, e.clientY));
    if (list) e.preventDefault();
  });
  document.addEventListener("drop", (e) => {
    const list = held && near(e.target, "[data-list]");
    if (!list) return;
    e.preventDefault();
    const { above, below } = place(list, e.clientY);
    const from = near(held, "[data-list]");
    if (from === list && held.previousElementSibling === (above ?? null)) return;
    const beside = above ? ` after ${above.dataset.issue}` : below ? ` before ${below.dataset.issue}` : "";
    send(`${held.dataset.issue} ${from.dataset.list} ${list.dataset.list}${beside}`);
  });
  document.addEventListener("dragend", () => {
    held = null;
    mark();
  });

  const begin = () => {
    for (const button of document.querySelectorAll(".card button[popovertarget]")) near(button, ".card").draggable = true;
  };
  begin();
})();
