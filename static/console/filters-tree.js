// A filter as a tree of groups and conditions, and the JSON that it stands for. Nothing here knows of a page.
"use strict";

// As JSON writes numbers. They stay text all the way: a browser would round large ones.
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const TEXT_FIELD = "#document";
const ONE_LINE = 64;
// Of a key in a message of the server's.
const SHOWN = 60;
const UNPRINTABLE = /[\p{C}\p{Z}]/gu;

// Drawn as nothing, or changing the order of what is drawn; as core_app/names.py has it.
const INVISIBLE = /(?![\u200c\u200d\u0600-\u0605\u06dd\u070f])[\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|(?<![\u0600-\u18af\ufb50-\ufdff\ufe70-\ufefc\ufe0f\u2190-\u2bff\u{1f000}-\u{1faff}])[\u200c\u200d]/gu;

// A name with marks for what nobody sees in it.
export const visible = (name) =>
  name.replace(INVISIBLE, (found) => `[U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

export const newGroup = (...parts) => ({ kind: "and", negated: false, parts });

export const isGroup = (node) => node.kind !== "condition";

export function walk(node, visit, parent = null) {
  visit(node, parent);
  if (isGroup(node)) for (const part of node.parts) walk(part, visit, node);
}

export function countConditions(root) {
  let count = 0;
  walk(root, (node) => (count += isGroup(node) ? 0 : 1));
  return count;
}

// Levels of filters within filters, as the server counts them at most.
export function levels(node) {
  if (!isGroup(node)) return 1;
  return 1 + (node.negated ? 1 : 0) + Math.max(0, ...node.parts.map(levels));
}

function valueText(value) {
  if (value.type !== "number") return value.type === "boolean" ? value.text : JSON.stringify(value.text);
  if (NUMBER.test(value.text)) return value.text;
  const number = Number(value.text);
  return value.text.trim() !== "" && Number.isFinite(number) ? String(number) : "null";
}

// What stands behind the operator. What is not filled in yet is null: the server says what is missing.
function operandText(condition, takesList) {
  if (takesList(condition.operator)) return `[${condition.values.map(valueText).join(", ")}]`;
  return condition.values.length ? valueText(condition.values[0]) : "null";
}

// An object as entries: `operators` behind a key of the metadata, or a `node` behind $and, $or and $not.
function entriesOf(node, takesList) {
  if (!isGroup(node)) {
    const key = node.field === null ? TEXT_FIELD : node.field;
    return [{ key, operators: [[node.operator, operandText(node, takesList), node]] }];
  }
  const parts = node.parts.map((part) => entriesOf(part, takesList)).filter((entries) => entries.length);
  if (!parts.length) return [];
  const joined = node.kind === "or" ? joinedBy("$or", parts) : merged(parts);
  return node.negated ? [{ key: "$not", node: joined }] : joined;
}

const joinedBy = (key, parts) => (parts.length === 1 ? parts[0] : [{ key, list: parts }]);

// Conditions that must hold together, in one object where their keys allow it.
function merged(parts) {
  const found = [];
  for (const entry of parts.flat()) {
    const same = found.find((other) => other.key === entry.key);
    if (!same) {
      found.push({ ...entry });
      continue;
    }
    const clash = !same.operators || !entry.operators
      || entry.operators.some(([name]) => same.operators.some(([other]) => other === name));
    if (clash) return joinedBy("$and", parts);
    same.operators = [...same.operators, ...entry.operators];
  }
  return found;
}

function behind(entry, indent) {
  if (entry.node) return printed(entry.node, indent);
  if (entry.list) return block("[", entry.list.map((one) => printed(one, `${indent}  `)), "]", indent);
  const [[name, text]] = entry.operators;
  if (entry.operators.length === 1 && name === "$eq") return text;
  return `{${entry.operators.map(([one, operand]) => `${JSON.stringify(one)}: ${operand}`).join(", ")}}`;
}

function block(open, lines, close, indent) {
  const short = `${open}${lines.join(", ")}${close}`;
  if (short.length <= ONE_LINE && !short.includes("\n")) return short;
  return `${open}\n${lines.map((line) => `${indent}  ${line}`).join(",\n")}\n${indent}${close}`;
}

function printed(entries, indent) {
  const lines = entries.map((entry) => `${JSON.stringify(entry.key)}: ${behind(entry, `${indent}  `)}`);
  return block("{", lines, "}", indent);
}

// A key within a place, as the server's messages write it.
function placeOf(place, key) {
  const shown = [...key].slice(0, SHOWN).join("").replace(UNPRINTABLE, (found) => (found === " " ? found : "?"));
  return `${place}.${shown}${[...key].length > SHOWN ? "…" : ""}`;
}

function collect(entries, place, found) {
  for (const entry of entries) {
    const here = placeOf(place, entry.key);
    if (entry.node) collect(entry.node, here, found);
    else if (entry.list) entry.list.forEach((one, index) => collect(one, `${here}[${index}]`, found));
    else {
      const isShort = entry.operators.length === 1 && entry.operators[0][0] === "$eq";
      for (const [name, , node] of entry.operators) found.push({ place: isShort ? here : `${here}.${name}`, node });
    }
  }
  return found;
}

// The condition that stands in the JSON at a place such as `$.lang.$in[1]`, or the first within it; else nothing.
export function conditionAt(root, place, takesList) {
  const within = (inner, outer) => inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  if (place === "" || place === "$") return undefined;
  const found = collect(entriesOf(root, takesList), "$", []);
  return (found.find((one) => within(place, one.place)) || found.find((one) => within(one.place, place)))?.node;
}

// Whether a condition has all it asks for; a number that is none, or is too large for one, is not filled in.
export function isFilled(condition) {
  return condition.values.length > 0 && condition.values.every((value) => valueText(value) !== "null");
}

// The filter's JSON; nothing where nothing is asked. `takesList` says whether an operator takes a list.
export function toJson(root, takesList) {
  const entries = entriesOf(root, takesList);
  return entries.length ? printed(entries, "") : "";
}
