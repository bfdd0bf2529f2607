// The popup: the score of the site in the current tab, and the user's vote on it.

import { hostOf } from "../worker/hosts.js";
import { readSettings } from "../worker/settings.js";

/** The messages about the scores. */
const SCORES = {
  Good: "good_site",
  Bad: "bad_site",
  Controversial: "controversial_site",
  NoScore: "not_enough_votes",
};
const ICONS = { Good: "good", Bad: "bad", Controversial: "controversial" };

const text = (name) => chrome.i18n.getMessage(name);
const element = (id) => document.getElementById(id);
const buttons = [...element("votes").querySelectorAll("button")];

const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
const host = hostOf(tab?.url ?? "");
const settings = await readSettings(chrome.storage.local);

if (host === null) {
  showError("no_site");
} else if (settings.server === "") {
  element("host").textContent = host;
  showError("no_server");
} else {
  element("host").textContent = host;
  element("more").href = `${settings.server}/site/${encodeURIComponent(host)}`;
  element("more").hidden = false;
  buttons.forEach((button) => button.addEventListener("click", () => vote(Number(button.value))));
  await show();
}
document.body.dataset.ready = "";

async function show() {
  const site = await send({ type: "site", host });
  if (site === null) {
    return;
  }
  showScore(site.score);
  showVote(site.own);
  element("votes").hidden = false;
}

async function vote(value) {
  buttons.forEach((button) => (button.disabled = true));
  element("said").hidden = true;
  const answer = await send({ type: "vote", host, vote: value });
  buttons.forEach((button) => (button.disabled = false));
  if (answer === null) {
    return;
  }
  showVote(value);
  if (value === 0) {
    // The button that had the focus is now hidden.
    buttons[0].focus();
  }
  element("said").textContent = text(value === 0 ? "vote_taken_back" : "vote_counted");
  element("said").hidden = false;
  const site = await send({ type: "site", host });
  if (site !== null) {
    showScore(site.score);
  }
}

function showScore(score) {
  const icon = ICONS[score] === undefined ? "" : `${settings.icons[ICONS[score]]} `;
  element("score").textContent = icon + text(SCORES[score]);
  element("score").dataset.score = score;
  element("score").hidden = false;
}

function showVote(value) {
  for (const button of buttons) {
    if (button.id === "back") {
      button.hidden = value === 0;
    } else {
      button.setAttribute("aria-pressed", String(Number(button.value) === value));
    }
  }
}

/** Sends a message to the worker. If it fails, shows the error and returns null. */
async function send(message) {
  const answer = await chrome.runtime.sendMessage(message).catch(() => undefined);
  if (answer === undefined || answer.error !== undefined) {
    showError(answer?.error);
    return null;
  }
  element("failed").hidden = true;
  return answer;
}

/** Shows the message for a code: one of `ServerError` (worker/server.js), or `no_site`. */
function showError(code) {
  element("failed").textContent = text(`error_${code}`) || text("error_bad_response");
  element("failed").hidden = false;
}
