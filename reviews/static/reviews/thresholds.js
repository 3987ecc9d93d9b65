// The Thresholds screen: sliders and numbers in step, and every move tried at once.
"use strict";

(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // -- A slider and its number. The number is what counts; a kind's empty one follows the overall threshold.

  const follow = (number) => {
    for (const slider of $$("[data-steers]")) {
      const own = document.getElementById(slider.dataset.steers);
      const source = own.value === "" && slider.dataset.otherwise ? document.getElementById(slider.dataset.otherwise) : own;
      if (source === number && number.value !== "") slider.value = number.value;
    }
  };
  // While capturing: before htmx reads the fields.
  document.addEventListener("input", (event) => {
    const { target } = event;
    if (!target.closest?.("#controls")) return;
    if (target.dataset.steers) {
      const number = document.getElementById(target.dataset.steers);
      number.value = target.value;
      follow(number);
    } else if (target.type === "number") {
      follow(target);
      if (target.value === "") for (const slider of $$(`[data-steers="${target.id}"][data-otherwise]`)) slider.value = document.getElementById(slider.dataset.otherwise).value;
    }
  }, true);

  // -- A button that puts a value into a field

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-use]");
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const field = document.getElementById(button.dataset.for);
    field.value = button.dataset.use;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    // The button is about to be replaced.
    field.focus();
  });

  // -- Enter in a field tries it; buttons that lead elsewhere send the form as it is

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "controls" || event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    event.target.dispatchEvent(new Event("try"));
  });

  // -- HTMX: a value that cannot be used is not sent, and said; what was swapped tells itself, and stays as open as it was

  const wrong = new Set();
  const halted = (on) => {
    for (const field of wrong) field.removeAttribute("aria-invalid");
    wrong.clear();
    const box = $("[data-halted]");
    box.hidden = !on;
    $("#result").classList.toggle("stale", on);
    if (!on) return;
    for (const field of $("#controls").elements) if (field.willValidate && !field.validity.valid) { field.setAttribute("aria-invalid", "true"); wrong.add(field); }
    $("#announcer").textContent = box.textContent;
  };
  document.addEventListener("htmx:validation:halted", (event) => { if (event.detail.elt.id === "controls") halted(true); });
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.elt.id === "controls") halted(false); });
  let open = [];
  document.addEventListener("htmx:beforeSwap", (event) => { open = $$("details[open][id]", event.detail.target).map((box) => box.id); });
  document.addEventListener("htmx:afterSwap", (event) => {
    // What was done before is old news once something else is tried.
    if (event.detail.target.id === "result") $("#done")?.remove();
    for (const id of open) { const box = document.getElementById(id); if (box) box.open = true; }
    const told = document.getElementById(event.detail.target.id)?.dataset.tell;
    if (told) $("#announcer").textContent = told;
  });
})();
