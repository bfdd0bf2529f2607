// The menu of moderators, which opens where the post stands.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-menu]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const place = link.closest(".actions")?.parentElement ?? link.closest(".story, .tweet") ?? link.parentElement;
  const shown = place.querySelector(":scope > .moderation-menu");
  link.setAttribute("aria-expanded", String(!shown));
  if (shown) {
    shown.remove();
    return;
  }
  try {
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const menu = document.adoptNode(page.querySelector(".moderation-menu"));
    for (const field of menu.querySelectorAll("[name=next]")) field.value = location.pathname + location.search;
    place.append(menu);
    menu.querySelector("input:not([type=hidden], [hidden]), summary, a")?.focus();
  } catch {
    location.assign(link.href);
  }
});

// The review queue: keys that decide

const reviewQueue = document.querySelector("[data-queue]");
// The button that Enter presses in the field for the reason.
let reviewButton;

function reviewRow() {
  if (!reviewQueue.contains(current ?? null)) reach(reviewQueue.querySelector("[data-item]"));
  return current;
}

// Presses a button that needs no reason, or follows a link.
function reviewPress(selector) {
  reviewRow()?.querySelector(selector)?.click();
}

// Asks for the reason.
function reviewAsk(selector) {
  const button = reviewRow()?.querySelector(selector);
  if (!button) return;
  button.closest("details")?.setAttribute("open", "");
  reviewButton = button;
  const field = button.form.elements.reason;
  field.focus();
  field.select();
}

if (reviewQueue) {
  addShortcuts("review-keys", {
    y: () => reviewPress("[data-yes]"),
    r: () => reviewAsk("[data-no]"),
    w: () => reviewAsk("[data-warn]"),
    s: () => reviewAsk("[data-silence]"),
    b: () => reviewAsk("[data-ban]"),
    d: () => reviewPress("[data-domain]"),
  });
  reviewQueue.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("[name=reason]")) return;
    if (reviewButton?.form !== event.target.form) return;
    event.preventDefault();
    reviewButton.form.requestSubmit(reviewButton);
  });
  const keys = document.querySelector("[data-keys]");
  if (shortcutMode() === "on" && !matchMedia("(hover: none) and (pointer: coarse)").matches) keys.hidden = false;
}
