// What is wrong with a filter's conditions is said at their rows, before the form is sent and while it is mended.
"use strict";

import { button } from "./filters-rows.js";
import { conditionAt, isFilled, isGroup, walk } from "./filters-tree.js";

let problems = 0;

// What a condition still lacks: the sentence, and the part of its row that it is about; else nothing. A value that
// was typed beside others and not added counts where the form is sent.
function lack(builder, condition, isSent) {
  const sentences = builder.settings;
  if (condition.isUnnamed) return { text: sentences.fillField, part: "other" };
  if (condition.isPending && isSent) return { text: sentences.addValue, part: "value" };
  if (!isFilled(condition)) return { text: sentences.fillValue, part: "value" };
  return null;
}

// Conditions that lack something, in the order in which they stand.
export function unfinished(builder, isSent) {
  const found = [];
  walk(builder.root, (node) => !isGroup(node) && lack(builder, node, isSent) && found.push(node));
  return found;
}

function control(row, part) {
  const place = button(row, part);
  if (part !== "value") return place;
  // Of values in a list the input that adds one, which stands behind the chips.
  return [...place.querySelectorAll("input, select")].pop();
}

function mark(row, problem) {
  const note = button(row, "problem");
  const marked = row.querySelector("[aria-invalid]");
  marked?.removeAttribute("aria-invalid");
  marked?.removeAttribute("aria-describedby");
  note.hidden = !problem;
  note.textContent = problem ? problem.text : "";
  if (!problem) return;
  note.id = note.id || `filter-problem-${(problems += 1)}`;
  const at = control(row, problem.part);
  at.setAttribute("aria-invalid", "true");
  at.setAttribute("aria-describedby", note.id);
}

// Show at each row what is wrong there. What is only unfinished is said once the form was to be sent.
export function showProblems(builder) {
  const { refused } = builder;
  const at = refused && conditionAt(builder.root, refused.place, (name) => builder.takesList(name));
  walk(builder.root, (node) => {
    const row = !isGroup(node) && builder.drawn.get(node);
    if (!row) return;
    const lacking = builder.isStrict && lack(builder, node, true);
    mark(row, lacking || (node === at ? { text: refused.said, part: "value" } : null));
  });
  return at;
}

// Put the focus where something is wrong.
export function focusOn(builder, node) {
  const fold = builder.element.closest("details");
  if (fold) fold.open = true;
  builder.drawn.get(node)?.querySelector("[aria-invalid]")?.focus();
}
