// The metadata editor: where a mistake in the JSON is, as one types. What saving would do is asked of the server.
"use strict";

const PAUSE_MS = 400;

const TOKEN = /([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|true\b|false\b|null\b)/y;
const SPACE = /[ \t\n\r]*/y;

const matchAt = (pattern, text, at) => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

// Where the first thing stands that JSON does not allow there. Browsers know whether, but not all of them say where.
function mistakeAt(text) {
  const open = [];
  let wanted = ["value"];
  let at = 0;
  for (;;) {
    at += matchAt(SPACE, text, at)[0].length;
    const found = matchAt(TOKEN, text, at);
    if (!found) return at;
    const [token, sign, string] = found;
    const inObject = open[open.length - 1] === "{";
    if (sign === "{" || sign === "[") {
      if (!wanted.includes("value")) return at;
      open.push(sign);
      wanted = sign === "{" ? ["key", "}"] : ["value", "]"];
    } else if (sign) {
      if (!wanted.includes(sign)) return at;
      if (sign === ",") wanted = inObject ? ["key"] : ["value"];
      else if (sign === ":") wanted = ["value"];
      else open.pop();
    } else if (string && wanted.includes("key")) {
      wanted = [":"];
      at += token.length;
      continue;
    } else if (!wanted.includes("value")) {
      return at;
    }
    const isWhole = sign ? sign === "}" || sign === "]" : true;
    if (isWhole) wanted = open.length ? [",", open[open.length - 1] === "{" ? "}" : "]"] : [];
    at += token.length;
  }
}

function placeOf(text) {
  const before = text.slice(0, mistakeAt(text)).split("\n");
  return { line: before.length, column: before[before.length - 1].length + 1 };
}

function setUpMetadata(form) {
  const input = form.querySelector("textarea[name=metadata]");
  const merge = form.querySelector("input[name=merge]");
  const state = form.querySelector("[data-metadata-state]");
  const changes = form.querySelector("#metadata-changes");
  const button = form.querySelector("button[type=submit]");
  let timer = 0;

  const problem = () => {
    if (input.value.trim() === "") return "";
    let value;
    try {
      value = JSON.parse(input.value);
    } catch {
      const place = placeOf(input.value);
      return form.dataset.wrong.replace("%line", place.line).replace("%column", place.column);
    }
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? "" : form.dataset.notObject;
  };

  const look = () => {
    const found = problem();
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
