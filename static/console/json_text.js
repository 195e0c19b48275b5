// JSON that people type: what is wrong with it, and where. For the metadata of a collection and that of a chunk.
"use strict";

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

// What is wrong with the text as a JSON object, in the words of `data-wrong` and `data-not-object`; "" where nothing is.
// An empty text is fine: the server takes it for no values.
function jsonProblem(text, words) {
  if (text.trim() === "") return "";
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    const place = placeOf(text);
    const language = document.documentElement.lang || undefined;
    return words.wrong
      .replace("%line", place.line.toLocaleString(language))
      .replace("%column", place.column.toLocaleString(language));
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? "" : words.notObject;
}
