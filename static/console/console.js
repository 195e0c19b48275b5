// What the console's pages do beyond htmx. A file of its own: the policy allows no script inside a page.
"use strict";

const size = (bytes) => {
  const units = ["bytes", "KB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
};

function uploadProblem(files, limits) {
  if (files.length > Number(limits.maxFiles)) {
    return `Choose at most ${limits.maxFiles} files at a time.`;
  }
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > Number(limits.maxRequestBytes)) {
    return `These files are larger than ${size(Number(limits.maxRequestBytes))} together. Upload them in parts.`;
  }
  return "";
}

function fileRow(file, limits) {
  const row = document.createElement("li");
  const name = document.createElement("span");
  const note = document.createElement("span");
  name.textContent = file.webkitRelativePath || file.name;
  name.dir = "auto";
  name.className = "rs-wrap";
  const tooLarge = file.size > Number(limits.maxFileBytes);
  note.textContent = tooLarge ? `${size(file.size)}: too large, will be refused` : size(file.size);
  note.className = tooLarge ? "rs-bad" : "rs-subtle";
  row.append(name, note);
  return row;
}

// What editors and systems keep for themselves: .git, .DS_Store.
const isHidden = (path) => path.split("/").some((part) => part.startsWith("."));

function setUpUpload(form) {
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector("[data-drop]");
  const list = form.querySelector("[data-upload-list]");
  const problem = form.querySelector("[data-upload-problem]");
  const button = form.querySelector("button[type=submit]");
  // django-unfold would write the name into a text field that its own widget has and this one has not.
  input.hasChangeListener = true;

  const folder = form.querySelector("[data-folder-input]");
  folder.hasChangeListener = true;
  form.querySelector("[data-choose-folder]").addEventListener("click", () => folder.click());
  folder.addEventListener("change", () => {
    // A browser sends the paths of such files with them, so that equal names in two folders stay two documents.
    const chosen = new DataTransfer();
    [...folder.files].filter((file) => !isHidden(file.webkitRelativePath)).forEach((file) => chosen.items.add(file));
    folder.value = "";
    input.files = chosen.files;
    input.dispatchEvent(new Event("change"));
  });
  input.addEventListener("change", () => {
    const files = [...input.files];
    list.replaceChildren(...files.slice(0, 200).map((file) => fileRow(file, form.dataset)));
    list.hidden = files.length === 0;
    problem.textContent = uploadProblem(files, form.dataset);
    problem.hidden = problem.textContent === "";
    button.disabled = !problem.hidden;
  });
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("rs-drop--over");
    });
  }
  for (const name of ["dragleave", "drop"]) {
    drop.addEventListener(name, () => drop.classList.remove("rs-drop--over"));
  }
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if ([...event.dataTransfer.items].some((item) => item.webkitGetAsEntry()?.isDirectory)) {
      problem.textContent = form.dataset.droppedFolder;
      problem.hidden = false;
      return;
    }
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change"));
  });
  form.addEventListener("submit", () => {
    button.disabled = true;
    button.textContent = button.dataset.busy;
  });
  // Coming back with the browser's button shows the page as it was left: with a button that waits.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });
}

function setUpTypedName(form) {
  const input = form.querySelector("input[name=name]");
  const button = form.querySelector("button[type=submit]");
  const compare = () => {
    button.disabled = ![form.dataset.typedName, form.dataset.shownName].includes(input.value);
  };
  input.addEventListener("input", compare);
  compare();
}

function setUpCopy(button) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}

// What the server would refuse for its length is not sent, so that nothing that was written is lost.
document.addEventListener("submit", (event) => {
  const form = event.target;
  const limit = document.querySelector("meta[name=ragsite-longest-form]");
  if (!limit || form.method !== "post" || form.enctype === "multipart/form-data") return;
  const isTooLong = new URLSearchParams(new FormData(form)).toString().length > Number(limit.content);
  let note = form.querySelector("[data-form-too-long]");
  if (isTooLong && !note) {
    note = document.createElement("p");
    note.dataset.formTooLong = "";
    note.className = "rs-note rs-note--bad";
    note.role = "alert";
    form.prepend(note);
  }
  if (note) note.textContent = isTooLong ? limit.dataset.sentence : "";
  if (note) note.hidden = !isTooLong;
  if (!isTooLong) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  note.scrollIntoView({ block: "center" });
}, { capture: true });

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-upload]").forEach(setUpUpload);
  document.querySelectorAll("[data-typed-name]").forEach(setUpTypedName);
  document.querySelectorAll("[data-copy]").forEach(setUpCopy);
});

// A poll that meets the login page means that the session has ended: show that page, whole.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.responseURL.includes("/admin/login/")) {
    event.detail.shouldSwap = false;
    window.location.reload();
  }
});
