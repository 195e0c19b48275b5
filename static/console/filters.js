// The filter builder: a tree of conditions and the JSON beside it, each rebuilt from the other. What a filter means,
// whether it is one, and what passes, the server says. Used by templates/console/_filter_builder.html.
"use strict";

import { focusOn, showProblems, unfinished } from "./filters-check.js";
import { button, copyOf, drawCondition, newCondition } from "./filters-rows.js";
import { countConditions, isGroup, levels, newGroup, toJson, visible, walk } from "./filters-tree.js";

const PREVIEW_AFTER_MS = 350;
// Characters of a filter that the server reads; it is not asked about more.
const LONGEST = 200_000;

class Builder {
  constructor(element) {
    this.element = element;
    this.settings = element.dataset;
    this.json = document.getElementById(this.settings.target) || element.querySelector("[data-json]");
    this.hint = element.querySelector("[data-hint]");
    this.preview = element.querySelector("[data-preview]");
    this.root = newGroup();
    this.drawn = new Map();
    this.asked = 0;
    this.timer = 0;
    this.forget();
    this.json.addEventListener("input", () => {
      this.isTreeAhead = false;
      this.later(true);
    });
    this.json.form?.addEventListener("submit", (event) => this.check(event), { capture: true });
    // Enter is for adding values here, not for sending the form.
    element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input, select")) event.preventDefault();
    });
    const fold = element.closest("details");
    const source = this.source();
    if (source) source.addEventListener("change", () => (fold && !fold.open ? this.forget() : this.load()));
    // Where it is folded, nothing is asked of the server before it is opened.
    if (fold && !fold.open) fold.addEventListener("toggle", () => fold.open && !this.isLoaded && this.load());
    else this.load();
  }

  source() {
    return document.getElementById(this.settings.collectionFrom);
  }

  get collection() {
    const source = this.source();
    if (!source) return this.settings.collection;
    // Of several that are ticked, the first lends its fields.
    return "value" in source && !source.matches("fieldset") ? source.value : source.querySelector("input:checked")?.value;
  }

  forget() {
    this.isLoaded = false;
    // Whether the JSON was written by the tree; whether what is unfinished is shown; what the server refused of it.
    this.isTreeAhead = this.isStrict = false;
    this.refused = null;
    // What is done before the fields are known would be lost when they come.
    this.element.querySelector("[data-tree]").inert = true;
    this.fields = new Map();
    this.operators = new Map();
    this.textOperators = [];
    this.maxDepth = this.maxConditions = Infinity;
  }

  // The collection's fields, then the tree of what the JSON says already.
  async load() {
    this.forget();
    if (!this.collection) {
      this.say(this.settings.noCollection);
      return;
    }
    const data = await this.ask(this.settings.fieldsUrl, { collection: this.collection });
    if (!data || data.refused) {
      this.say(data ? data.refused : this.settings.failed);
      return;
    }
    this.isLoaded = true;
    this.fields = new Map(data.fields.map((field) => [field.name, field]));
    this.operators = new Map(data.operators.map((row) => [row.name, row]));
    this.textOperators = data.text_operators;
    this.maxDepth = data.max_depth;
    this.maxConditions = data.max_conditions;
    this.element.querySelector("[data-fields-note]").textContent = data.note;
    this.offer(data.filters);
    this.say("");
    this.redraw();
    await this.show(true);
    this.element.querySelector("[data-tree]").inert = false;
  }

  // Filters that are kept can be begun with.
  offer(filters) {
    const place = this.element.querySelector("[data-saved]");
    const select = place.querySelector("select");
    place.hidden = filters.length === 0;
    select.replaceChildren(select.options[0], ...filters.map((kept, index) => new Option(visible(kept.name), String(index))));
    select.onchange = () => {
      if (select.value === "") return;
      this.json.value = filters[Number(select.value)].text;
      select.value = "";
      this.later(true, 0);
    };
  }

  async ask(url, query) {
    try {
      const answer = await fetch(`${url}?${new URLSearchParams(query)}`);
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  }

  async suggestions(field, typed) {
    const found = await this.ask(this.settings.valuesUrl, { collection: this.collection, field, typed });
    return found ? found.values : [];
  }

  say(text) {
    this.hint.textContent = text;
  }

  // What the table of operators says.
  takes(condition) {
    const row = this.operators.get(condition.operator);
    const use = row && (condition.field === null ? row.text : row.metadata);
    return use ? use.takes : "scalar";
  }

  labelOf(name) {
    return this.operators.get(name)?.label || name;
  }

  operatorsOf(condition) {
    if (condition.field === null) return [...this.textOperators];
    const field = this.fields.get(condition.field);
    if (field) return [...field.operators];
    return [...this.operators.values()].filter((row) => row.metadata).map((row) => row.name);
  }

  nameAt(option) {
    return [...this.fields.keys()][Number(option.replace("field-", ""))];
  }

  takesList(name) {
    return this.operators.get(name)?.metadata?.takes === "list";
  }

  // After any change of the tree: the JSON follows, then the preview.
  changed() {
    this.say("");
    this.isTreeAhead = true;
    this.refused = null;
    this.json.value = toJson(this.root, (name) => this.takesList(name));
    showProblems(this);
    this.later(false);
  }

  // Before the form is sent: what is wrong in the tree is said at its row, and the tree stays as it is.
  async check(event) {
    if (!this.isLoaded || !this.isTreeAhead || this.isChecked === this.json.value) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const { submitter } = event;
    this.isStrict = true;
    showProblems(this);
    const [first] = unfinished(this, true);
    if (first) return focusOn(this, first);
    clearTimeout(this.timer);
    await this.show(false);
    const at = showProblems(this);
    if (at) return focusOn(this, at);
    // What has no place in the tree the page says that is shown next.
    this.isChecked = this.json.value;
    this.json.form.requestSubmit(submitter);
  }

  later(isFromJson, wait = PREVIEW_AFTER_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show(isFromJson), wait);
  }

  // Ask the server what the JSON means. The tree follows where the JSON was written by hand and is accepted.
  async show(isFromJson) {
    if (!this.isLoaded) return;
    const asked = (this.asked += 1);
    if (this.isTreeAhead && unfinished(this, false).length) {
      this.preview.setAttribute("aria-busy", "false");
      const said = this.settings.unfinished;
      if (this.preview.textContent !== said) this.preview.textContent = said;
      return;
    }
    if (this.json.value.length > LONGEST) {
      this.json.setAttribute("aria-invalid", "true");
      this.preview.textContent = this.settings.tooLong;
      return;
    }
    const body = new URLSearchParams({ collection: this.collection, where: this.json.value });
    let answer = null;
    this.preview.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(this.settings.previewUrl, {
        method: "POST", body, headers: { "X-CSRFToken": this.settings.token },
      });
      if (response.ok) answer = await response.json();
    } catch {
      answer = null;
    }
    // An answer to what was asked since then counts.
    if (asked !== this.asked) return;
    this.preview.setAttribute("aria-busy", "false");
    if (!answer) {
      this.say(this.settings.failed);
      return;
    }
    this.json.setAttribute("aria-invalid", String(Boolean(answer.refused)));
    this.preview.innerHTML = answer.html;
    this.refused = this.isTreeAhead && answer.refused ? answer : null;
    showProblems(this);
    if (isFromJson && answer.tree) {
      this.root = answer.tree;
      this.redraw();
    }
  }

  // Draw the whole tree again; the focus goes to a part of what `node` is drawn as.
  redraw(node = null, focus = "") {
    this.drawn = new Map();
    this.element.querySelector("[data-tree]").replaceChildren(this.draw(this.root, null));
    if (node === null) return;
    this.drawn.get(node)?.querySelector(focus)?.focus();
    this.changed();
  }

  draw(node, parent) {
    const drawn = isGroup(node) ? this.drawGroup(node, parent) : drawCondition(this, node);
    this.drawn.set(node, drawn);
    if (!isGroup(node)) {
      button(drawn, "remove").addEventListener("click", () => this.remove(node, parent));
      button(drawn, "indent").addEventListener("click", () => this.indent(node, parent));
      const out = button(drawn, "outdent");
      out.hidden = parent === this.root;
      out.addEventListener("click", () => this.outdent(node, parent));
    }
    return drawn;
  }

  drawGroup(group, parent) {
    const drawn = copyOf(this, "group");
    const kind = button(drawn, "kind");
    kind.value = `${group.negated ? "not-" : ""}${group.kind}`;
    kind.addEventListener("change", () => {
      group.negated = kind.value.startsWith("not-");
      group.kind = kind.value.replace("not-", "");
      this.changed();
    });
    const parts = group.parts.map((part) => {
      const item = document.createElement("li");
      item.append(this.draw(part, group));
      return item;
    });
    button(drawn, "empty").hidden = parts.length > 0;
    button(drawn, "add-condition").addEventListener("click", () => this.addCondition(group));
    button(drawn, "add-group").addEventListener("click", () => this.addGroup(group));
    for (const name of ["remove", "outdent"]) button(drawn, name).hidden = parent === null;
    if (parent !== null) {
      button(drawn, "remove").addEventListener("click", () => this.remove(group, parent));
      button(drawn, "outdent").addEventListener("click", () => this.dissolve(group, parent));
    }
    // Last of all: what is looked for above is the first of its kind.
    button(drawn, "parts").replaceChildren(...parts);
    return drawn;
  }

  hasRoom() {
    const room = this.isLoaded && countConditions(this.root) < this.maxConditions;
    if (!room) this.say(this.isLoaded ? this.settings.tooMany : this.settings.noCollection);
    return room;
  }

  addCondition(group) {
    if (!this.hasRoom()) return;
    const made = newCondition(this);
    group.parts.push(made);
    this.redraw(made, "[data-field]");
  }

  addGroup(group) {
    if (!this.hasRoom()) return;
    const made = newCondition(this);
    const inner = newGroup(made);
    inner.kind = group.kind === "and" ? "or" : "and";
    group.parts.push(inner);
    if (this.isTooDeep()) group.parts.pop();
    else this.redraw(inner, "[data-kind]");
  }

  isTooDeep() {
    const isSo = levels(this.root) > this.maxDepth;
    if (isSo) this.say(this.settings.tooDeep);
    return isSo;
  }

  remove(node, parent) {
    const place = parent.parts.indexOf(node);
    parent.parts.splice(place, 1);
    const next = parent.parts[Math.min(place, parent.parts.length - 1)];
    if (next) this.redraw(next, isGroup(next) ? "[data-kind]" : "[data-field]");
    else this.redraw(parent, "[data-add-condition]");
  }

  // The condition goes into a group of its own, in its place.
  indent(node, parent) {
    const group = newGroup(node);
    group.kind = parent.kind === "and" ? "or" : "and";
    const place = parent.parts.indexOf(node);
    parent.parts[place] = group;
    if (this.isTooDeep()) parent.parts[place] = node;
    else this.redraw(node, "[data-indent]");
  }

  // The condition goes behind the group that it was in; a group that is then empty goes away.
  outdent(node, parent) {
    const above = this.parentOf(parent);
    parent.parts.splice(parent.parts.indexOf(node), 1);
    above.parts.splice(above.parts.indexOf(parent) + 1, 0, node);
    if (parent.parts.length === 0) above.parts.splice(above.parts.indexOf(parent), 1);
    this.redraw(node, above === this.root ? "[data-indent]" : "[data-outdent]");
  }

  // What is in the group takes its place.
  dissolve(group, parent) {
    parent.parts.splice(parent.parts.indexOf(group), 1, ...group.parts);
    this.redraw(parent, "[data-add-condition]");
  }

  parentOf(node) {
    let found = null;
    walk(this.root, (one, parent) => {
      if (one === node) found = parent;
    });
    return found;
  }
}

document.querySelectorAll("[data-filter-builder]").forEach((element) => {
  // A page may include the script more than once.
  if (!element.builder) element.builder = new Builder(element);
});
