// Votes

const VOTE_TEXTS = { up: "Voted up", down: "Voted down", none: "Vote taken back" };

// Screen readers announce what is written here. It has to be on the page beforehand.
const voteStatus = document.createElement("p");
voteStatus.className = "hidden";
voteStatus.setAttribute("role", "status");
if (document.querySelector("form.vote[data-api]")) document.body.append(voteStatus);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form.vote[data-api]") || !event.submitter) return;
  event.preventDefault();
  if (event.submitter.getAttribute("aria-disabled") !== "true") vote(form, event.submitter);
});

const directionOf = (button) => (button.classList.contains("up") ? "up" : "down");

// The value of a button is a vote, or "none" to take it back.
async function vote(form, button) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  const choice = button.value;
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("next");
  fields.set(button.name, choice);
  const item = form.closest("[data-item]");
  item.querySelector(".refusal")?.remove();
  voteStatus.textContent = "";
  const error = await post(form.dataset.api, fields);
  delete form.dataset.busy;
  if (error) {
    showError(item, error);
    return;
  }
  changeCount(item, directionOf(button), choice === "none" ? -1 : 1);
  showVote(form, choice);
  changeKarma(Number(button.dataset.cost ?? 0) * (choice === "none" ? 1 : -1));
  voteStatus.textContent = VOTE_TEXTS[choice];
}

// The pressed button stays enabled, so that it keeps the focus and can take the vote back.
function showVote(form, vote) {
  const isFinal = "final" in form.dataset;
  for (const button of form.querySelectorAll("button")) {
    const direction = directionOf(button);
    const pressed = direction === vote;
    button.title = pressed && !isFinal ? "Take back your vote" : "";
    if (!button.title) button.removeAttribute("title");
    button.value = pressed && !isFinal ? "none" : direction;
    button.setAttribute("aria-pressed", String(pressed));
    if (pressed && isFinal) button.setAttribute("aria-disabled", "true");
    button.disabled = vote !== "none" && !pressed;
  }
}

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
    count = whole.firstElementChild;
    count.dataset.count = "down";
    count.textContent = "0";
    count.nextSibling.textContent = " down";
    up.parentElement.after(" ", whole);
  }
  if (!count) return;
  count.closest("[hidden]")?.removeAttribute("hidden");
  const votes = parseNumber(count.textContent) + by;
  count.textContent = formatNumber(votes);
  const word = count.nextSibling;
  if (word?.textContent.startsWith(" vote")) word.textContent = votes === 1 ? " vote" : " votes";
  if (direction === "down" && votes <= 0) count.parentElement.remove();
}

function showError(item, text) {
  const message = document.createElement("p");
  message.className = "refusal";
  message.setAttribute("role", "alert");
  item.querySelector(".meta").append(message);
  message.textContent = text;
}
