// The popup: the score of the site in the current tab, and the user's vote on it.

import { hostOf } from "../worker/hosts.js";
import { readSettings } from "../worker/settings.js";

const SCORES = {
  Good: "Good site",
  Bad: "Bad site",
  Controversial: "Controversial site",
  NoScore: "Not enough votes yet",
};
const ICONS = { Good: "good", Bad: "bad", Controversial: "controversial" };

/** By the codes of `ServerError` (worker/server.js). */
const ERRORS = {
  no_server: "You haven't chosen a server yet. Choose one in the options.",
  banned: "You are banned from voting on this server.",
  voting_disabled: "Voting is turned off on this server. Try again later.",
  too_many_votes:
    "You have reached today's limit for votes on new sites, or your network has reached its limit for this site. Try again tomorrow. You can still change your existing votes.",
  too_many_voters: "Your network has reached today's limit for new voters. Try again tomorrow.",
  unavailable: "The server can't answer right now. Try again later.",
  invalid: "The server doesn't accept votes on this site.",
  unreachable: "Can't reach the server. Check your connection and the server address in the options.",
  bad_response: "The server sent an unexpected response. Check the server address in the options.",
};

const element = (id) => document.getElementById(id);
const buttons = [...element("votes").querySelectorAll("button")];

const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
const host = hostOf(tab?.url ?? "");
const settings = await readSettings(chrome.storage.local);

if (host === null) {
  showError("You can't vote on this page. Go to a web site and try again.");
} else if (settings.server === "") {
  element("host").textContent = host;
  showError(ERRORS.no_server);
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
  element("said").textContent = value === 0 ? "Your vote has been taken back." : "Your vote has been counted. Thank you.";
  element("said").hidden = false;
  const site = await send({ type: "site", host });
  if (site !== null) {
    showScore(site.score);
  }
}

function showScore(score) {
  const icon = ICONS[score] === undefined ? "" : `${settings.icons[ICONS[score]]} `;
  element("score").textContent = icon + SCORES[score];
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
    showError(ERRORS[answer?.error] ?? ERRORS.bad_response);
    return null;
  }
  element("failed").hidden = true;
  return answer;
}

function showError(text) {
  element("failed").textContent = text;
  element("failed").hidden = false;
}
