"use strict";

// Says while one types whether the metadata is a JSON object; the server checks it again, with better sentences.
function setUpChunkForm(form) {
  const input = form.querySelector("[name=metadata]");
  const problem = form.querySelector("[data-json-problem]");

  function check() {
    const found = jsonProblem(input.value, problem.dataset);
    problem.hidden = found === "";
    problem.textContent = found;
    input.setAttribute("aria-invalid", String(found !== ""));
  }

  input.addEventListener("input", check);
  check();
}

document.querySelectorAll("[data-chunk-form]").forEach(setUpChunkForm);
