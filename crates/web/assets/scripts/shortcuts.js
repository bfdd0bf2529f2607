// Keyboard shortcuts

const HELP = [
  ["j", "Next story, comment or tweet"],
  ["k", "Previous story, comment or tweet"],
  ["Enter", "Open it"],
  ["a", "Vote up"],
  ["z", "Vote down"],
  ["n", "Next new comment"],
  ["[", "Collapse or expand these comments"],
  ["]", "Collapse or expand all comments"],
  ["?", "Show this help"],
];

let current;
let dialog;

const commands = {
  j: () => move(1),
  k: () => move(-1),
  a: () => press("up"),
  z: () => press("down"),
  n: () => reach(nextNewComment(current)),
  "[": () => toggleBranch(current),
  "]": toggleAllBranches,
  "?": showHelp,
};

document.addEventListener("keydown", (event) => {
  // On some keyboards brackets are typed with AltGr, which some systems report as Ctrl and Alt.
  const isModified = event.ctrlKey || event.altKey ? !event.getModifierState("AltGraph") : event.metaKey;
  if (isModified || event.isComposing || event.defaultPrevented) return;
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
  let at = items.indexOf(current);
  // What is in a collapsed branch is skipped.
  do at += step;
  while (items[at] && items[at].getClientRects().length === 0);
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
