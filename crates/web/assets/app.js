// Progressive enhancements: voting without a page load, links to comments on
// other pages of a thread, topic completion, keyboard shortcuts, notice of new
// tweets, the character counter. Every page works without this file.

const CONNECTION_ERROR = "The site can't be reached. Check your connection and try again.";

// Numbers on pages have thousands separators.
const formatNumber = (number) => number.toLocaleString("en");
const parseNumber = (text) => Number(text.replaceAll(",", ""));

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
  const error = await post(form.dataset.api, fields);
  delete form.dataset.busy;
  if (error) {
    showError(item, error);
    return;
  }
  const count = item.querySelector(`[data-count="${button.value}"]`);
  if (count) count.textContent = formatNumber(parseNumber(count.textContent) + 1);
  for (const each of form.querySelectorAll("button")) {
    each.setAttribute("aria-pressed", String(each === button));
    each.disabled = true;
  }
}

// Returns the error message, or undefined on success.
async function post(url, fields) {
  try {
    const response = await fetch(url, { method: "POST", body: fields });
    const answer = await response.json();
    return answer.status === "ok" ? undefined : answer.error || CONNECTION_ERROR;
  } catch {
    return CONNECTION_ERROR;
  }
}

function showError(item, text) {
  const message = document.createElement("p");
  message.className = "refusal";
  message.setAttribute("role", "alert");
  item.querySelector(".meta").append(message);
  message.textContent = text;
}

// Links to comments. An address like /news/7#comment-3, or the original's
// /news/7#7-3, names the page of a thread, but the comment may be on another.

async function findComment() {
  const [, news] = location.pathname.match(/^\/(?:news|comment)\/(\d+)/) ?? [];
  const [, original, comment] = location.hash.match(/^#(?:comment|(\d+))-(\d+)$/) ?? [];
  if (!news || !comment || (original && original !== news)) return;
  if (document.getElementById(location.hash.slice(1))) return;
  if (!document.querySelector("[data-incomplete]")) return;
  const address = `/comment/${news}/${comment}`;
  try {
    // A deleted comment may have no page.
    const answer = await fetch(address, { method: "HEAD" });
    if (answer.ok) location.replace(address);
  } catch {}
}

window.addEventListener("hashchange", findComment);
findComment();

// Topic completion. A browser completes the whole value of a field, so each
// suggestion contains the topics that precede the last one.

for (const field of document.querySelectorAll("input[data-several]")) {
  const names = [...(field.list?.options ?? [])].map((option) => option.value);
  field.addEventListener("input", () => {
    const before = field.value.match(/^(.*,\s*)?/)[0];
    const chosen = before.split(",").map((name) => name.trim());
    const suggestions = names.filter((name) => !chosen.includes(name));
    field.list?.replaceChildren(...suggestions.map((name) => new Option("", before + name)));
  });
}

// Keyboard shortcuts

const HELP = [
  ["j", "Next story, comment or tweet"],
  ["k", "Previous story, comment or tweet"],
  ["Enter", "Open it"],
  ["a", "Vote up"],
  ["z", "Vote down"],
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
    linkOf(current)?.click();
    return;
  }
  const command = Object.hasOwn(commands, event.key) ? commands[event.key] : undefined;
  if (!command) return;
  event.preventDefault();
  command();
});

function linkOf(item) {
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
  linkOf(current)?.focus({ preventScroll: true });
  current.scrollIntoView({ block: "nearest" });
}

function press(direction) {
  const button = current?.querySelector(`.vote button.${direction}`);
  if (button && !button.disabled) button.click();
}

function showHelp() {
  dialog ??= createHelp();
  if (!dialog.open) dialog.showModal();
}

function createHelp() {
  const help = document.createElement("dialog");
  const heading = document.createElement("h2");
  heading.id = "help-title";
  heading.textContent = "Keyboard shortcuts";
  help.setAttribute("aria-labelledby", heading.id);
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
  close.addEventListener("click", () => help.close());
  help.append(heading, list, close);
  document.body.append(help);
  return help;
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
  // The browser reconnects by itself after a lost connection, but not after an
  // error response. In that case, try again when the page is next shown.
  stream.addEventListener("error", () => {
    if (stream?.readyState === EventSource.CLOSED) stream = undefined;
  });
}

function stopListening() {
  stream?.close();
  stream = undefined;
}

// The server stops counting at 100.
function showNew(count) {
  if (count === 0) {
    live.replaceChildren();
    return;
  }
  const number = count < 100 ? String(count) : "100 or more";
  const link = live.querySelector("a") ?? document.createElement("a");
  link.href = "/home";
  link.onclick = saveDraft;
  link.textContent = `${number} new ${count === 1 ? "tweet" : "tweets"}`;
  if (!link.isConnected) live.append(link);
}

// Saves an unfinished tweet while the page with the new tweets is loaded. These
// calls throw in a browser that blocks storage.
const draft = document.querySelector(".compose textarea");

function saveDraft() {
  try {
    sessionStorage.setItem("draft", draft.value);
  } catch {}
}

function restoreDraft() {
  try {
    if (!draft.value) draft.value = sessionStorage.getItem("draft") ?? "";
    sessionStorage.removeItem("draft");
  } catch {}
}

if (live) {
  restoreDraft();
  document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
  // The browser may cache a page that the user leaves, and show it again.
  window.addEventListener("pagehide", stopListening);
  window.addEventListener("pageshow", listen);
  listen();
}

// Character counter

// Counts characters as people do: an emoji of several code points is one.
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
    counter.textContent = left < 0 ? `${formatNumber(-left)} too many` : `${formatNumber(left)} left`;
    counter.classList.toggle("over", left < 0);
    // Screen readers only announce the count near the limit.
    counter.setAttribute("aria-live", left <= 20 ? "polite" : "off");
  };
  field.addEventListener("input", show);
  show();
}
