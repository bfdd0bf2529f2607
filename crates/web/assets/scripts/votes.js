// Votes

// Screen readers announce what is written here. It has to be on the page beforehand.
const voteStatus = document.createElement("p");
voteStatus.className = "hidden";
voteStatus.setAttribute("role", "status");
if (document.querySelector(".vote [formaction]")) document.body.append(voteStatus);

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button?.matches(".vote [formaction]")) return;
  event.preventDefault();
  if (button.getAttribute("aria-disabled") !== "true") vote(button.parentElement, button);
});

const directionOf = (button) => (button.classList.contains("up") ? "up" : "down");

// The value of a button is a vote, or "none" to take it back. It shows at once, and takes itself back if it is refused.
async function vote(pair, button) {
  if (pair.dataset.busy) return;
  pair.dataset.busy = "yes";
  const choice = button.value;
  const before = [...pair.children].find((each) => each.getAttribute("aria-pressed") === "true");
  // The address of the button names what it votes on.
  const { pathname, searchParams } = new URL(button.formAction);
  const fields = new URLSearchParams([...new FormData(button.form), ...searchParams]);
  fields.delete("next");
  fields.set(button.name, choice);
  const item = pair.closest("[data-item]");
  item.querySelector(".refusal")?.remove();
  voteStatus.textContent = "";
  const karma = document.querySelector(".karma");
  const karmaBefore = karma?.textContent;
  const by = choice === "none" ? -1 : 1;
  changeCount(item, directionOf(button), by);
  showVote(pair, choice);
  changeKarma(-by * Number(button.dataset.cost ?? 0));
  let isTold = false;
  const error = await post(`/api${pathname}`, fields, (votes) => {
    isTold = true;
    takeVotes(pair, votes);
  });
  delete pair.dataset.busy;
  if (!error) {
    voteStatus.textContent = itemWord(choice);
    return;
  }
  if (!isTold) {
    changeCount(item, directionOf(button), -by);
    showVote(pair, before ? directionOf(before) : "none");
  }
  if (karma) karma.textContent = karmaBefore;
  button.focus();
  showError(item, error);
}

// The pressed button stays enabled, so that it keeps the focus and can take the vote back.
function showVote(pair, vote) {
  const isFinal = "final" in pair.dataset;
  for (const button of pair.querySelectorAll("button")) {
    const direction = directionOf(button);
    const pressed = direction === vote;
    button.title = pressed && !isFinal ? itemWord("back") : "";
    if (!button.title) button.removeAttribute("title");
    button.value = pressed && !isFinal ? "none" : direction;
    button.setAttribute("aria-pressed", String(pressed));
    if (pressed && isFinal) button.setAttribute("aria-disabled", "true");
    button.disabled = vote !== "none" && !pressed;
  }
}

// The votes as the site says they are.
function takeVotes(pair, { voted, up, down }) {
  const item = pair.closest("[data-item]");
  for (const [direction, votes] of [["up", up], ["down", down]]) {
    const shown = item.querySelector(`[data-count="${direction}"]`);
    const by = votes - (shown ? parseNumber(shown.textContent) : 0);
    if (by !== 0) changeCount(item, direction, by);
  }
  showVote(pair, voted);
}

// A page that the browser has kept, or that was in another tab, asks for its votes again.
async function askForVotes() {
  const pairs = new Map();
  for (const button of document.querySelectorAll(".vote .up[formaction]")) {
    const fields = new URL(button.formAction).searchParams;
    pairs.set(fields.get("news_id") ?? fields.get("comment_id"), button.parentElement);
  }
  if (pairs.size === 0) return;
  try {
    // After Back, a browser would take an earlier answer from its cache.
    const response = await fetch(`/api/votes?of=${[...pairs.keys()].join(",")}`, { cache: "no-store" });
    for (const votes of (await response.json()).votes ?? []) {
      const pair = pairs.get(votes.of);
      if (!pair.dataset.busy) takeVotes(pair, votes);
    }
  } catch {
    // The votes stay as they were.
  }
}

// After Back, a page may also come from the cache of the browser.
addEventListener("pageshow", ({ persisted }) => {
  const [navigation] = performance.getEntriesByType("navigation");
  if (persisted || navigation?.type === "back_forward") askForVotes();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) askForVotes();
});

// The karma beside the name of the viewer. A vote never takes it below 0.
function changeKarma(by) {
  const shown = document.querySelector(".karma");
  if (!shown || by === 0) return;
  const karma = parseNumber(shown.textContent.slice(1, -1));
  shown.textContent = `(${formatNumber(Math.max(karma + by, Math.min(karma, 0)))})`;
}

// Votes down are not shown while there are none.
function changeCount(item, direction, by) {
  const up = item.querySelector('[data-count="up"]');
  let count = item.querySelector(`[data-count="${direction}"]`);
  if (!count && direction === "down" && up?.parentElement.matches(".votes")) {
    const whole = up.parentElement.cloneNode(true);
    count = whole.querySelector("[data-count]");
    count.dataset.count = "down";
    count.textContent = "0";
    up.parentElement.after(" · ", whole);
  }
  if (!count) return;
  count.closest("[hidden]")?.removeAttribute("hidden");
  const votes = parseNumber(count.textContent) + by;
  count.textContent = formatNumber(votes);
  count.parentElement.replaceChildren(...counted(direction, votes, count));
  if (direction === "down" && votes <= 0) {
    count.parentElement.previousSibling.remove();
    count.parentElement.remove();
  }
}

function showError(item, text) {
  const message = document.createElement("p");
  message.className = "refusal";
  message.setAttribute("role", "alert");
  item.querySelector(".meta").append(message);
  message.append(text);
}
