"use strict";

// Says while one types whether the metadata is a JSON object; the server checks it again, with better sentences.
function setUpChunkForm(form) {
  const input = form.querySelector("[name=metadata]");
  const problem = form.querySelector("[data-json-problem]");

  function isObject(text) {
    if (text.trim() === "") return true;
    try {
      const value = JSON.parse(text);
      return typeof value === "object" && value !== null && !Array.isArray(value);
    } catch {
      return false;
    }
  }

  function check() {
    const isGood = isObject(input.value);
    problem.hidden = isGood;
    problem.textContent = isGood ? "" : problem.dataset.sentence;
    input.setAttribute("aria-invalid", String(!isGood));
  }

  input.addEventListener("input", check);
  check();
}

document.querySelectorAll("[data-chunk-form]").forEach(setUpChunkForm);
