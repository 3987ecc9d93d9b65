// The Thresholds screen: sliders and numbers in step, and what is tried goes along with every form beside them.
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

  // -- Forms beside the controls send what the controls show now, not what they showed when the page was made

  document.addEventListener("formdata", (event) => {
    const source = event.target.dataset.with && document.getElementById(event.target.dataset.with);
    if (!source) return;
    for (const [name, value] of new FormData(source)) if (name !== "version") event.formData.set(name, value);
  });

  // -- HTMX: a value that cannot be used is not sent; what was swapped tells itself, and stays as open as it was

  const halted = (on) => { const box = $("[data-halted]"); if (box) box.hidden = !on; };
  document.addEventListener("htmx:validation:halted", (event) => { if (event.detail.elt.id === "controls") halted(true); });
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.elt.id === "controls") halted(false); });
  let open = [];
  document.addEventListener("htmx:beforeSwap", (event) => { open = $$("details[open][id]", event.detail.target).map((box) => box.id); });
  document.addEventListener("htmx:afterSwap", (event) => {
    for (const id of open) { const box = document.getElementById(id); if (box) box.open = true; }
    const told = document.getElementById(event.detail.target.id)?.dataset.tell;
    if (told) $("#announcer").textContent = told;
  });
})();
