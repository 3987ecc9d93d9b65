// The Skills screen: a piece that was fetched anew says what is new in it, and not what the whole page says.
"use strict";

document.addEventListener("htmx:afterSwap", (event) => {
  const told = document.getElementById(event.detail.target.id)?.dataset.tell;
  if (told) document.getElementById("announcer").textContent = told;
});
