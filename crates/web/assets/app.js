// Votes in place, completion of topics, keyboard navigation, new tweets, the
// length of a tweet. Every page works without this file.

const CONNECTION = "The site cannot be reached at the moment. Please try again.";

// Votes

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-api]") || !event.submitter) return;
  event.preventDefault();
  vote(form, event.submitter);
});

async function vote(form, button) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("next");
  fields.set(button.name, button.value);
  const item = form.closest("[data-item]");
  item.querySelector(".refusal")?.remove();
  const refusal = await post(form.dataset.api, fields);
  delete form.dataset.busy;
  if (refusal) {
    showRefusal(item, refusal);
    return;
  }
  const count = item.querySelector(`[data-count="${button.value}"]`);
  if (count) count.textContent = (Number(count.textContent.replaceAll(",", "")) + 1).toLocaleString("en");
  for (const each of form.querySelectorAll("button")) {
    each.setAttribute("aria-pressed", String(each === button));
    each.disabled = true;
  }
}

// The reason why the site refused, or undefined if it did not.
async function post(address, fields) {
  try {
    const response = await fetch(address, { method: "POST", body: fields });
    const answer = await response.json();
    return answer.status === "ok" ? undefined : answer.error || CONNECTION;
  } catch {
    return CONNECTION;
  }
}

function showRefusal(item, text) {
  const message = document.createElement("p");
  message.className = "refusal";
  message.setAttribute("role", "alert");
  item.querySelector(".meta").append(message);
  message.textContent = text;
}

// Several topics in one field: the browser completes the last of them.

for (const field of document.querySelectorAll("input[data-several]")) {
  const names = [...(field.list?.options ?? [])].map((option) => option.value);
  field.addEventListener("input", () => {
    const before = field.value.match(/^(.*,\s*)?/)[0];
    const taken = before.split(",").map((name) => name.trim());
    const offered = names.filter((name) => !taken.includes(name));
    field.list?.replaceChildren(...offered.map((name) => new Option("", before + name)));
  });
}

// Keyboard

const HELP = [
  ["j", "Next story, comment or tweet"],
  ["k", "Previous one"],
  ["Enter", "Open it"],
  ["a", "Vote it up"],
  ["z", "Vote it down"],
  ["?", "Show this help"],
];

let current;
let dialog;

const commands = {
  j: () => move(1),
  k: () => move(-1),
  a: () => press("up"),
  z: () => press("down"),
  "?": showHelp,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  if (event.key === "Enter" && current && !event.target.closest("a, button")) {
    event.preventDefault();
    opener(current)?.click();
    return;
  }
  const command = Object.hasOwn(commands, event.key) ? commands[event.key] : undefined;
  if (!command) return;
  event.preventDefault();
  command();
});

function opener(item) {
  return item.querySelector("[data-open]");
}

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  const at = items.indexOf(current);
  const next = items[at < 0 ? (step > 0 ? 0 : -1) : at + step];
  if (!next) return;
  current?.classList.remove("current");
  current = next;
  current.classList.add("current");
  opener(current)?.focus({ preventScroll: true });
  current.scrollIntoView({ block: "nearest" });
}

function press(direction) {
  const button = current?.querySelector(`.vote button.${direction}`);
  if (button && !button.disabled) button.click();
}

function showHelp() {
  dialog ??= makeHelp();
  if (!dialog.open) dialog.showModal();
}

function makeHelp() {
  const made = document.createElement("dialog");
  const heading = document.createElement("h2");
  heading.id = "help-title";
  heading.textContent = "Keyboard shortcuts";
  made.setAttribute("aria-labelledby", heading.id);
  const list = document.createElement("dl");
  for (const [key, meaning] of HELP) {
    const term = document.createElement("dt");
    const kbd = document.createElement("kbd");
    const description = document.createElement("dd");
    kbd.textContent = key;
    description.textContent = meaning;
    term.append(kbd);
    list.append(term, description);
  }
  const close = document.createElement("button");
  close.className = "button";
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => made.close());
  made.append(heading, list, close);
  document.body.append(made);
  return made;
}

const helpButton = document.querySelector("[data-help]");
if (helpButton) {
  helpButton.closest("[hidden]")?.removeAttribute("hidden");
  helpButton.addEventListener("click", showHelp);
}

// New tweets

const live = document.querySelector("[data-live]");
let stream;

function listen() {
  if (stream || document.hidden) return;
  stream = new EventSource(live.dataset.live);
  stream.addEventListener("new", (event) => showNew(Number(event.data)));
  // A broken connection the browser makes anew by itself. Refused, it waits
  // until the page is looked at again.
  stream.addEventListener("error", () => {
    if (stream?.readyState === EventSource.CLOSED) stream = undefined;
  });
}

function stopListening() {
  stream?.close();
  stream = undefined;
}

// The server counts to 100.
function showNew(count) {
  if (count === 0) {
    live.replaceChildren();
    return;
  }
  const number = count < 100 ? String(count) : "100 or more";
  const link = live.querySelector("a") ?? document.createElement("a");
  link.href = "/home";
  link.onclick = keepDraft;
  link.textContent = `${number} new ${count === 1 ? "tweet" : "tweets"}`;
  if (!link.isConnected) live.append(link);
}

// What is being written is still there on the page with the new tweets. A
// browser that stores nothing forbids these calls.
const draft = document.querySelector(".compose textarea");

function keepDraft() {
  try {
    sessionStorage.setItem("draft", draft.value);
  } catch {}
}

function takeDraft() {
  try {
    if (!draft.value) draft.value = sessionStorage.getItem("draft") ?? "";
    sessionStorage.removeItem("draft");
  } catch {}
}

if (live) {
  takeDraft();
  document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
  // A page that is left may be kept, and come back.
  window.addEventListener("pagehide", stopListening);
  window.addEventListener("pageshow", listen);
  listen();
}

// The length of a tweet

// Characters as a person counts them.
const segmenter = "Segmenter" in Intl ? new Intl.Segmenter() : undefined;

function lengthOf(text) {
  return segmenter ? [...segmenter.segment(text)].length : [...text].length;
}

for (const field of document.querySelectorAll("textarea[data-limit]")) {
  const counter = document.createElement("p");
  counter.className = "hint";
  field.form.querySelector("button").after(counter);
  const show = () => {
    const left = Number(field.dataset.limit) - lengthOf(field.value.trim());
    counter.textContent = left < 0 ? `${-left} too many` : `${left} left`;
    counter.classList.toggle("over", left < 0);
    // Told aloud only when it matters.
    counter.setAttribute("aria-live", left <= 20 ? "polite" : "off");
  };
  field.addEventListener("input", show);
  show();
}
