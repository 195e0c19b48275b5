// The metadata editor: says what is wrong as one types. What saving would do is asked of the server.
"use strict";

const PAUSE_MS = 400;

function setUpMetadata(form) {
  const input = form.querySelector("textarea[name=metadata]");
  const merge = form.querySelector("input[name=merge]");
  const state = form.querySelector("[data-metadata-state]");
  const changes = form.querySelector("#metadata-changes");
  const button = form.querySelector("button[type=submit]");
  let timer = 0;

  const look = () => {
    const found = jsonProblem(input.value, form.dataset);
    state.textContent = found || form.dataset.fine;
    state.className = found ? "rs-bad" : "rs-subtle";
    input.setAttribute("aria-invalid", found ? "true" : "false");
    button.disabled = found !== "";
    if (found) changes.replaceChildren();
    else form.dispatchEvent(new Event("metadata-changed"));
  };

  input.id ||= "metadata";
  state.id = `${input.id}-state`;
  input.setAttribute("aria-describedby", state.id);
  for (const source of [input, merge]) {
    source.addEventListener("input", () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(look, PAUSE_MS);
    });
  }
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-metadata]").forEach(setUpMetadata);
});
