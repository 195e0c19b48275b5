// The playground: sliders beside numbers, the second way to search, short addresses, judging by keyboard.
"use strict";

(() => {
  // A slider always has a value and a number may be empty: the number is what is sent.
  function setUpSlider(number) {
    const label = document.querySelector(`label[for="${number.id}"]`);
    const name = label ? label.textContent.trim() : number.name;
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: "0", max: "1", step: "0.05" });
    slider.setAttribute("aria-label", name);
    const reset = document.createElement("button");
    reset.type = "button";
    reset.className = "rs-btn pg-slider__reset";
    reset.textContent = "\u00d7";
    reset.setAttribute("aria-label", `${name}: ${number.placeholder}`);
    reset.title = number.placeholder;
    const box = document.createElement("div");
    box.className = "pg-slider";
    number.replaceWith(box);
    box.append(slider, number, reset);

    const show = () => {
      const isOpen = number.value === "";
      box.classList.toggle("pg-slider--open", isOpen);
      slider.value = isOpen ? "0.5" : number.value;
      slider.setAttribute("aria-valuetext", isOpen ? number.placeholder : number.value);
      reset.disabled = isOpen;
    };
    slider.addEventListener("input", () => {
      number.value = slider.value;
      show();
    });
    number.addEventListener("input", show);
    reset.addEventListener("click", () => {
      number.value = "";
      show();
      number.focus();
    });
    show();
  }

  function setUpForm(form) {
    form.querySelectorAll("[data-slider]").forEach(setUpSlider);
    const second = form.querySelector("[data-second]");
    const compare = second.querySelector("[name=compare]");
    second.addEventListener("toggle", () => {
      compare.checked = second.open;
    });
    // The address holds the page: without what is not set it can be read and passed on.
    form.addEventListener("submit", () => {
      for (const field of form.elements) {
        const isOfSecond = field.name.startsWith("b-") && !compare.checked;
        if (field.name && field.name !== "query" && (field.value === "" || isOfSecond)) field.disabled = true;
      }
    });
    window.addEventListener("pageshow", () => {
      for (const field of form.elements) if (field.name) field.disabled = false;
    });
  }

  function countJudged(form) {
    const told = form.querySelector("[data-judged]");
    const grades = [...document.querySelectorAll("[data-judge] input[type=radio]:checked")].map((box) => box.value);
    const relevant = grades.filter((grade) => grade === "1").length;
    const not = grades.filter((grade) => grade === "0").length;
    told.textContent = `Judged: ${relevant} relevant, ${not} not relevant.`;
  }

  function judge(passage, value) {
    const box = [...passage.querySelectorAll("[data-judge] input[type=radio]")].find((one) => one.value === value);
    if (!box) return;
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function setUpJudging(form) {
    const passages = [...document.querySelectorAll("[data-passage]")];
    document.addEventListener("change", (event) => {
      if (event.target.closest("[data-judge]")) countJudged(form);
    });
    document.addEventListener("keydown", (event) => {
      const target = event.target;
      const types = target.matches("textarea, select, [contenteditable]") || (target.matches("input") && target.type !== "radio");
      if (types || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = passages.findIndex((one) => one.contains(target));
      const key = event.key.toLowerCase();
      if (key === "j" || key === "k") {
        const next = passages[key === "j" ? at + 1 : Math.max(at - 1, 0)];
        if (!next) return;
        next.focus();
        event.preventDefault();
      } else if (at >= 0 && ["r", "n", "u"].includes(key)) {
        judge(passages[at], { r: "1", n: "0", u: "" }[key]);
        event.preventDefault();
      }
    });
    for (const one of passages) {
      one.addEventListener("focusin", () => {
        passages.forEach((other) => other.toggleAttribute("data-current", other === one));
      });
    }
    countJudged(form);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-playground]").forEach(setUpForm);
    document.querySelectorAll("[data-judging]").forEach(setUpJudging);
  });
})();
