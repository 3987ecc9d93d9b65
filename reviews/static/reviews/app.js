// Small behaviours bound to data- attributes. Pages work without any of this; keys and live pieces need it.
"use strict";

(() => {
  const root = document.documentElement;
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  const say = (text) => { const box = $("#announcer"); if (box) box.textContent = text; };
  const problem = (text) => {
    const box = $("#problem");
    box.textContent = text;
    box.hidden = !text;
    if (text) { clearTimeout(problem.timer); problem.timer = setTimeout(() => { box.hidden = true; }, 8000); }
  };

  // -- Menus and dialogs

  document.addEventListener("click", (event) => {
    for (const menu of $$("details[data-menu][open]")) if (!menu.contains(event.target)) menu.open = false;
    const opener = event.target.closest("[data-open]");
    if (opener) $("#" + opener.dataset.open).showModal();
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(copy.dataset.copy).then(() => say("Copied"));
    const closer = event.target.closest("[data-close]");
    if (closer) closer.closest("details").open = false;
  });

  // -- Keys: one press, one visible control. Never while typing, never with a modifier, never when switched off.

  const typing = (element) => element.closest("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable], [data-typing]");
  let going = false;

  const press = (key) => {
    const current = $("[data-claim].current");
    const target = (current && $(`[data-key="${key}"]`, current)) || $(`main [data-key="${key}"], header [data-key="${key}"]`);
    if (!target || target.disabled) return false;
    if (target.matches("summary")) { const box = target.parentElement; box.open = !box.open; if (box.open) $("textarea, select, input:not([type=hidden])", box)?.focus(); }
    else if (target.matches("input, select, textarea")) { target.focus(); target.select?.(); }
    else target.click();
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const box = document.activeElement.closest("details[open]");
      if (box) { box.open = false; $("summary", box).focus(); } else if (typing(document.activeElement)) document.activeElement.blur();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) { event.target.form.requestSubmit(); return; }
    if (root.dataset.shortcuts === "off" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target) || $("dialog[open]")) return;
    if (going) {
      going = false;
      const link = $(`[data-go="${event.key}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") { going = true; setTimeout(() => { going = false; }, 1200); return; }
    if (event.key === "j" || event.key === "k") { if (moveRow(event.key === "j" ? 1 : -1)) { event.preventDefault(); return; } }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && moveClaim(event.key === "ArrowDown" ? 1 : -1)) { event.preventDefault(); return; }
    // A key held down must not decide turn after turn.
    if (event.repeat) return;
    if (press(event.key)) event.preventDefault();
  });

  const moveRow = (step) => {
    const rows = $$("[data-row]");
    if (!rows.length) return false;
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)];
    next.focus();
    if (next === rows.at(-1)) $("[data-load-more]")?.click();
    return true;
  };

  // -- Claims of a turn: which one is current decides what t, f and u speak of

  const moveClaim = (step) => {
    const claims = $$("[data-claim]");
    if (claims.length < 2) return false;
    const at = claims.findIndex((claim) => claim.classList.contains("current"));
    const next = claims[Math.min(Math.max(at + step, 0), claims.length - 1)];
    $("[data-claim-link]", next).click();
    return true;
  };

  const showCurrent = () => {
    const mark = $("mark.claim.current");
    const box = mark?.closest(".draft-text");
    if (!box || box.scrollHeight <= box.clientHeight) return;
    box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
  };

  // -- Time spent on a turn, told with the decision: only while the page is in sight

  let shownAt = performance.now();
  let spent = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) spent += performance.now() - shownAt; else shownAt = performance.now();
  });
  const secondsSpent = () => (spent + (document.hidden ? 0 : performance.now() - shownAt)) / 1000;

  // -- HTMX

  document.addEventListener("htmx:configRequest", (event) => {
    // htmx wraps the fields in a proxy that does not answer "in".
    if (event.detail.verb === "post" && event.detail.parameters.spent !== undefined) event.detail.parameters.spent = secondsSpent().toFixed(1);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "review") {
      shownAt = performance.now(); spent = 0;
      const now = $("#review");
      if (now?.dataset.title) document.title = now.dataset.title;
      window.scrollTo({ top: 0 });
      (now && $("[data-focus]", now) || $("#main")).focus({ preventScroll: true });
      showCurrent();
    }
    // A piece that was fetched anew says what is new in it, and not what the whole page says.
    const piece = document.getElementById(event.detail.target.id);
    const told = piece?.dataset.tell ?? $("[data-say]")?.dataset.say;
    if (told) say(told);
  });
  // What asks by itself stays quiet: not while nobody looks, and without a word when the server is away.
  const polls = (event) => event.detail.elt.hasAttribute("data-poll");
  document.addEventListener("htmx:beforeRequest", (event) => { if (document.hidden && polls(event)) event.preventDefault(); });
  document.addEventListener("htmx:sendError", (event) => polls(event) || problem("The server does not answer. Nothing was saved; try again."));
  document.addEventListener("htmx:responseError", (event) => polls(event) || problem(`That did not work (${event.detail.xhr.status}). Nothing was saved.`));

  // -- Filters: a range shows its value while it moves

  document.addEventListener("input", (event) => {
    const out = event.target.dataset?.output && $("#" + event.target.dataset.output);
    if (out) out.textContent = Number(event.target.value) ? Number(event.target.value).toFixed(2) : "any";
    if (event.target.matches("[data-find]")) find(event.target);
  });

  // -- Searching the evidence: marks every hit, Enter goes to the next

  const find = (input, step = 0) => {
    const scope = $("#" + input.dataset.find);
    for (const old of $$("mark.hit", scope)) old.replaceWith(old.textContent);
    scope.normalize();
    const wanted = input.value.trim().toLowerCase();
    const count = $("[data-find-count]");
    if (wanted.length < 2) { count.textContent = ""; return; }
    const walker = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    let hits = 0;
    for (const node of nodes) {
      let text = node.textContent.toLowerCase(), current = node, from = 0, at;
      while ((at = text.indexOf(wanted, from)) >= 0 && hits < 500) {
        const hit = current.splitText(at - from);
        current = hit.splitText(wanted.length);
        const mark = document.createElement("mark");
        mark.className = "hit";
        hit.replaceWith(mark);
        mark.append(hit);
        from = at + wanted.length;
        hits += 1;
      }
    }
    const marks = $$("mark.hit", scope);
    find.at = step && marks.length ? ((find.at || 0) + step + marks.length) % marks.length : 0;
    if (marks.length) {
      for (let box = marks[find.at].closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
      marks[find.at].classList.add("now");
      marks[find.at].scrollIntoView({ block: "nearest" });
    }
    count.textContent = marks.length ? `${find.at + 1} of ${marks.length}` : "not found";
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-find]")) { event.preventDefault(); find(event.target, event.shiftKey ? -1 : 1); }
  });

  // On a narrow screen the bar of pages scrolls; the page one is on is to be seen in it.
  const showTab = () => {
    const tab = $(".tabs [aria-current]");
    if (tab) tab.closest(".tabs").scrollLeft = tab.offsetLeft - (tab.closest(".tabs").clientWidth - tab.offsetWidth) / 2;
  };

  document.addEventListener("DOMContentLoaded", () => { showCurrent(); showTab(); });
})();
