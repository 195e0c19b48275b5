// One condition of a filter as a row: its field, its operator, and inputs that fit both.
"use strict";

import { visible } from "./filters-tree.js";

const ANY_TYPE = ["string", "number", "date", "boolean"];
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const SUGGEST_AFTER_MS = 200;
let lists = 0;

export const copyOf = (builder, name) =>
  builder.element.querySelector(`template[data-${name}]`).content.firstElementChild.cloneNode(true);

export const button = (element, name) => element.querySelector(`[data-${name}]`);

function option(value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}

// The types that a value behind this operator may have.
function typesFor(takes) {
  if (takes === "ordered") return ["number", "date"];
  return takes === "scalar" || takes === "list" ? ANY_TYPE : ["string"];
}

// The one that the collection's own values have most often.
export function likelyType(builder, condition) {
  const allowed = typesFor(builder.takes(condition));
  const field = builder.fields.get(condition.field);
  const isList = condition.operator.endsWith("contains");
  const seen = Object.entries((isList ? field?.element_types : field?.types) || {}).sort((a, b) => b[1] - a[1]);
  return seen.map(([type]) => type).find((type) => allowed.includes(type)) || allowed[0];
}

// A condition with nothing filled in, on the first field there is.
export function newCondition(builder) {
  const first = builder.fields.values().next().value;
  const condition = { kind: "condition", field: first ? first.name : null, operator: "", values: [] };
  condition.operator = builder.operatorsOf(condition)[0];
  condition.type = likelyType(builder, condition);
  return condition;
}

function typeOf(builder, condition) {
  if (!condition.type) {
    const type = condition.values[0]?.type || likelyType(builder, condition);
    condition.type = type === "string" && builder.takes(condition) === "ordered" ? "date" : type;
  }
  return condition.type;
}

// The row stays while its parts change: a select that was drawn anew would forget what is being typed into it.
export function drawCondition(builder, condition) {
  const row = copyOf(builder, "condition");
  const field = button(row, "field");
  const other = button(row, "other");
  const names = [...builder.fields.keys()];
  field.prepend(...names.map((name, index) => option(`field-${index}`, visible(name))));
  const place = names.indexOf(condition.field);
  const isOther = condition.field !== null && place < 0;
  field.value = condition.field === null ? "text" : isOther ? "other" : `field-${place}`;
  other.hidden = !isOther;
  other.value = isOther ? condition.field : "";
  field.addEventListener("change", () => {
    other.hidden = field.value !== "other";
    condition.isUnnamed = field.value === "other" && other.value === "";
    condition.field = field.value === "text" ? null : other.hidden ? builder.nameAt(field.value) : other.value;
    if (!builder.operatorsOf(condition).includes(condition.operator)) {
      condition.operator = builder.operatorsOf(condition)[0];
    }
    reset(builder, condition);
    drawOperator(builder, condition, row);
    builder.changed();
  });
  other.addEventListener("input", () => {
    condition.field = other.value;
    condition.isUnnamed = other.value === "";
    builder.changed();
  });
  drawOperator(builder, condition, row);
  return row;
}

function reset(builder, condition) {
  condition.values = [];
  condition.type = likelyType(builder, condition);
}

function drawOperator(builder, condition, row) {
  const operator = button(row, "operator");
  const names = builder.operatorsOf(condition);
  if (!names.includes(condition.operator)) names.push(condition.operator);
  operator.replaceChildren(...names.map((name) => option(name, builder.labelOf(name))));
  operator.value = condition.operator;
  operator.onchange = () => {
    const before = builder.takes(condition);
    condition.operator = operator.value;
    const takes = builder.takes(condition);
    if (takes !== before) {
      const keeps = typesFor(takes).includes(condition.type) && takes !== "boolean" && before !== "boolean";
      condition.values = keeps ? condition.values.slice(0, takes === "list" ? undefined : 1) : [];
      if (!keeps) condition.type = likelyType(builder, condition);
    }
    drawType(builder, condition, row);
    builder.changed();
  };
  drawType(builder, condition, row);
}

function drawType(builder, condition, row) {
  const type = button(row, "type");
  const takes = builder.takes(condition);
  const allowed = typesFor(takes);
  for (const one of type.options) one.hidden = one.disabled = !allowed.includes(one.value);
  type.hidden = allowed.length < 2 || takes === "boolean";
  type.value = typeOf(builder, condition);
  const value = button(row, "value");
  type.onchange = () => {
    condition.type = type.value;
    condition.values = [];
    drawValue(builder, condition, value);
    builder.changed();
  };
  drawValue(builder, condition, value);
}

function drawValue(builder, condition, place) {
  condition.isPending = false;
  const takes = builder.takes(condition);
  if (takes === "list") return place.replaceChildren(drawList(builder, condition));
  if (takes === "boolean" || condition.type === "boolean") return place.replaceChildren(drawTruth(builder, condition));
  const input = drawInput(builder, condition);
  input.value = condition.values[0]?.text ?? "";
  input.toggleAttribute("data-unfilled", !condition.values.length);
  input.addEventListener("input", () => {
    condition.values = input.value === "" ? [] : [valueOf(condition, input.value)];
    input.toggleAttribute("data-unfilled", !condition.values.length);
    builder.changed();
  });
  return place.replaceChildren(input, ...listOf(input));
}

const valueOf = (condition, text) => ({ type: condition.type === "date" ? "string" : condition.type, text });

// An input of the type of the value; strings and numbers are suggested as they are typed.
function drawInput(builder, condition) {
  const input = copyOf(builder, "input");
  const type = condition.type;
  const asDay = type === "date" && (!condition.values.length || DATE.test(condition.values[0].text));
  input.type = type === "number" ? "number" : asDay ? "date" : "text";
  if (type === "number") input.step = "any";
  input.dir = type === "string" ? "auto" : "ltr";
  if (condition.field) input.setAttribute("aria-label", `${input.getAttribute("aria-label")}: ${condition.field}`);
  if (condition.field !== null && type !== "date" && builder.takes(condition) !== "pattern") {
    suggest(builder, condition, input);
  }
  return input;
}

const listOf = (input) => (input.suggestions ? [input.suggestions] : []);

function suggest(builder, condition, input) {
  const list = document.createElement("datalist");
  list.id = `filter-values-${(lists += 1)}`;
  input.setAttribute("list", list.id);
  input.suggestions = list;
  let timer = 0;
  const ask = async () => {
    const values = await builder.suggestions(condition.field, input.value);
    list.replaceChildren(...values.map((value) => option(value, visible(value))));
  };
  input.addEventListener("focus", ask, { once: true });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, SUGGEST_AFTER_MS);
  });
}

function drawTruth(builder, condition) {
  const select = copyOf(builder, "truth");
  if (!condition.values.length) condition.values = [{ type: "boolean", text: "true" }];
  select.value = condition.values[0].text;
  select.addEventListener("change", () => {
    condition.values = [{ type: "boolean", text: select.value }];
    builder.changed();
  });
  return select;
}

// Values as chips, and an input that adds one more by Enter or its button.
function drawList(builder, condition) {
  const list = copyOf(builder, "list");
  const chips = button(list, "chips");
  const given = list.querySelector("input");
  const place = given.parentElement;
  const isTruth = condition.type === "boolean";
  const input = isTruth ? copyOf(builder, "truth") : drawInput(builder, condition);
  input.setAttribute("aria-label", given.getAttribute("aria-label"));
  if (!isTruth) input.placeholder = given.placeholder;
  given.replaceWith(input);
  place.append(...listOf(input));
  const draw = () => chips.replaceChildren(...condition.values.map((value, index) => drawChip(value, index)));
  const drawChip = (value, index) => {
    const chip = copyOf(builder, "chip");
    chip.querySelector("bdi").textContent = visible(value.text);
    const away = chip.querySelector("button");
    away.setAttribute("aria-label", `${away.getAttribute("aria-label")}: ${value.text}`);
    away.addEventListener("click", () => {
      condition.values.splice(index, 1);
      draw();
      input.focus();
      builder.changed();
    });
    return chip;
  };
  // What was typed and not added yet would be lost without a word.
  if (!isTruth) {
    input.addEventListener("input", () => {
      condition.isPending = input.value !== "";
      builder.changed();
    });
  }
  const add = () => {
    if (input.value === "") return;
    condition.isPending = false;
    const value = valueOf(condition, input.value);
    if (!condition.values.some((one) => one.type === value.type && one.text === value.text)) condition.values.push(value);
    if (!isTruth) input.value = "";
    draw();
    input.focus();
    builder.changed();
  };
  input.addEventListener("keydown", (event) => event.key === "Enter" && add());
  button(list, "add").addEventListener("click", add);
  draw();
  return list;
}
