// The keys go to the app from the start, and what is written fits a narrow window.
"use strict";

// Before textual.js opens its terminal, which it does when everything is loaded.
if (window.innerWidth < 600) {
  document.querySelector("#terminal").dataset.fontSize = "12";
}

function focusTerminal() {
  document.querySelector(".xterm-helper-textarea")?.focus();
}

// The first byte is there: so is the socket, which is told of the focus.
const opening = new MutationObserver(() => {
  if (document.body.classList.contains("-first-byte")) {
    opening.disconnect();
    focusTerminal();
    window.addEventListener("focus", focusTerminal);
  }
});
opening.observe(document.body, { attributes: true, attributeFilter: ["class"] });
