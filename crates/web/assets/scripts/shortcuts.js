// Keyboard shortcuts

// The meaning and action of each key, in the order of the help. Other scripts add theirs.
const shortcuts = new Map();

// Adds keys in the order of their meanings, which are words of this name.
function addShortcuts(name, actions) {
  Object.entries(actions).forEach(([key, run], at) => shortcuts.set(key, { meaning: () => words(name)[at], run }));
}

addShortcuts("keys", {
  j: () => move(1),
  k: () => move(-1),
  Enter: () => linkOf(current)?.click(),
  a: () => press("up"),
  z: () => press("down"),
  n: () => reach(newComment(current, 1)),
  p: () => reach(newComment(current, -1)),
  r: () => current?.querySelector(".actions a[href^='/reply/']")?.click(),
  u: () => reach(parentOf(current)),
  "[": () => toggleBranch(current),
  "]": () => toggleAllBranches(),
  "/": () => {
    const box = document.querySelector("input[type=search]");
    if (box?.checkVisibility()) box.focus();
    else location.href = "/search";
  },
  "?": showHelp,
});

const SHORTCUT_SETTINGS = "/settings/reading#shortcuts";

let current;
let dialog;

// Members choose on their settings page how shortcuts work; visitors choose in the help. These
// calls throw in a browser that blocks storage.

const helpButton = document.querySelector("[data-help]");

function shortcutMode() {
  if (helpButton?.dataset.help) return helpButton.dataset.help;
  try {
    return localStorage.getItem("shortcuts") ?? "on";
  } catch {
    return "on";
  }
}

function setShortcutMode(mode) {
  try {
    localStorage.setItem("shortcuts", mode);
  } catch {}
}

// The key of an event without Alt, which changes the character on some keyboards.
function plainKey(event) {
  if (!event.altKey) return event.key;
  if (/^Key[A-Z]$/.test(event.code)) return event.code.slice(3).toLowerCase();
  return { BracketLeft: "[", BracketRight: "]", Slash: event.shiftKey ? "?" : "/" }[event.code] ?? event.key;
}

document.addEventListener("keydown", (event) => {
  const mode = shortcutMode();
  // On some keyboards brackets are typed with AltGr, which some systems report as Ctrl and Alt.
  const hasAltGraph = event.getModifierState("AltGraph");
  if (mode === "off" || (event.altKey && !hasAltGraph) !== (mode === "modifier")) return;
  if ((event.ctrlKey && !hasAltGraph) || event.metaKey || event.isComposing || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  const key = plainKey(event);
  if (key === "Enter" && (!current || event.target.closest("a, button"))) return;
  const shortcut = shortcuts.get(key);
  if (!shortcut) return;
  event.preventDefault();
  shortcut.run();
});

function linkOf(item) {
  return item.querySelector("[data-open]");
}

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  let at = items.indexOf(current);
  // Items in a collapsed branch are skipped.
  do at += step;
  while (items[at] && !isOnPage(items[at]));
  reach(items[at]);
}

function reach(item) {
  if (!item) return;
  current?.classList.remove("current");
  current = item;
  current.classList.add("current");
  linkOf(current)?.focus({ preventScroll: true });
  current.scrollIntoView({ block: "nearest" });
}

function press(direction) {
  const button = current?.querySelector(`.vote button.${direction}`);
  if (button && !button.disabled) button.click();
}

async function showHelp() {
  await helpWords();
  if (dialog?.open) return;
  // It says how the keys work now.
  dialog?.remove();
  dialog = createHelp();
  dialog.showModal();
}

// The page on which members choose how shortcuts work has the words of their help.
async function helpWords() {
  if (word("close")) return;
  try {
    const response = await fetch(SHORTCUT_SETTINGS);
    takeWords(new DOMParser().parseFromString(await response.text(), "text/html"));
  } catch {
    location.assign(SHORTCUT_SETTINGS);
  }
}

function createHelp() {
  const help = document.createElement("dialog");
  const heading = document.createElement("h2");
  heading.id = "help-title";
  heading.textContent = helpButton?.textContent;
  help.setAttribute("aria-labelledby", heading.id);
  const mode = shortcutMode();
  const list = document.createElement("dl");
  for (const [key, { meaning }] of shortcuts) {
    const term = document.createElement("dt");
    const kbd = document.createElement("kbd");
    const description = document.createElement("dd");
    kbd.textContent = mode === "modifier" ? `Alt+${key}` : key;
    description.textContent = meaning();
    term.append(kbd);
    list.append(term, description);
  }
  const close = document.createElement("button");
  close.className = "button";
  close.type = "button";
  close.textContent = word("close");
  close.addEventListener("click", () => help.close());
  if (mode === "off") {
    list.replaceChildren();
    heading.textContent = word("off");
  }
  help.append(heading, list, helpButton?.dataset.help ? settingsLink() : modeChoice(), close);
  document.body.append(help);
  return help;
}

// Where members change how shortcuts work.
function settingsLink() {
  const paragraph = document.createElement("p");
  const link = document.createElement("a");
  link.href = SHORTCUT_SETTINGS;
  link.textContent = word("change");
  paragraph.append(link);
  return paragraph;
}

function modeChoice() {
  const paragraph = document.createElement("p");
  const label = document.createElement("label");
  const choice = document.createElement("select");
  label.htmlFor = choice.id = "shortcut-mode";
  label.textContent = `${word("use")} `;
  choice.append(...["on", "modifier", "off"].map((mode, at) => new Option(words("modes")[at], mode)));
  choice.value = shortcutMode();
  choice.addEventListener("change", () => setShortcutMode(choice.value));
  paragraph.append(label, choice);
  return paragraph;
}

if (helpButton && !matchMedia("(hover: none) and (pointer: coarse)").matches) {
  helpButton.closest("[hidden]")?.removeAttribute("hidden");
  helpButton.addEventListener("click", showHelp);
}
