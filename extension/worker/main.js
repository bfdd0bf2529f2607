// The background script: a service worker in Chromium, an event page in
// Firefox. It answers messages from result pages and from the popup, and opens
// the help page after the installation.
//
//   from result pages         { type: "page" }              which links to mark
//                             { type: "scores", links }     the hosts and scores of links
//   from the extension's own  { type: "site", host }        a site's score and the user's vote
//   pages                     { type: "vote", host, vote }  casts a vote
//
// It ignores all other messages.

import { Cache } from "./cache.js";
import { engineOf } from "./engines.js";
import { parseHost } from "./hosts.js";
import { Scores } from "./scores.js";
import { ownVote, ServerError, vote } from "./server.js";
import { readSettings } from "./settings.js";
import { targetHost } from "./unwrap.js";
import { getOrCreateVoter, keepOldVoter, storedVoter } from "./voter.js";

/** The maximum number of links in a message. */
const MAX_LINKS = 100;
/** The maximum length of a link, in UTF-16 code units. */
const MAX_LINK_LENGTH = 8192;
/** How long result pages send no requests to a server after one has failed. */
const PAUSE_MILLISECONDS = 30_000;

const cache = new Cache(chrome.storage.session);
const scores = new Scores(cache);
/** When the pause of a server ends, by its address. */
const pauses = new Map();
/** Resolves when the voter ID of an earlier version has been assigned to its server. */
const oldVoterKept = readSettings(chrome.storage.local).then(({ server }) => keepOldVoter(chrome.storage.local, server));

chrome.runtime.onInstalled.addListener(({ reason }) => {
  if (reason === "install") {
    chrome.tabs.create({ url: chrome.runtime.getURL("pages/help.html") });
  }
});

chrome.runtime.onMessage.addListener((message, sender, respond) => {
  const answer = sender.id === chrome.runtime.id ? answerTo(message, sender) : null;
  if (answer === null) {
    return false;
  }
  answer.then(respond, (error) => respond({ error: error instanceof ServerError ? error.code : "bad_response" }));
  return true;
});

/** A promise of the answer, or null for a message to ignore. */
function answerTo(message, sender) {
  const isOwnPage = sender.url?.startsWith(chrome.runtime.getURL("")) ?? false;
  const engine = isOwnPage ? null : engineOf(sender.url);
  switch (message?.type) {
    case "page":
      return engine && describePage(engine);
    case "scores":
      return engine && areLinks(message.links) ? scoreLinks(engine, message.links) : null;
    case "site":
      return isOwnPage && parseHost(message.host) === message.host ? describeSite(message.host) : null;
    case "vote":
      return isOwnPage && parseHost(message.host) === message.host && [1, -1, 0].includes(message.vote)
        ? castVote(message.host, message.vote)
        : null;
    default:
      return null;
  }
}

function areLinks(links) {
  const isLink = (link) => typeof link === "string" && link.length <= MAX_LINK_LENGTH;
  return Array.isArray(links) && links.length <= MAX_LINKS && links.every(isLink);
}

/** The settings for the marks on a result page. `results` is empty if no server is chosen. */
async function describePage(engine) {
  const { server, icons } = await readSettings(chrome.storage.local);
  return { results: server === "" ? "" : engine.results, title: engine.title ?? "", icons };
}

/** The host and score of each link, or null for a link to leave unmarked. */
async function scoreLinks(engine, links) {
  const settings = await readSettings(chrome.storage.local);
  if (settings.server === "" || Date.now() < (pauses.get(settings.server) ?? 0)) {
    return { marks: links.map(() => null) };
  }
  const hosts = links.map((link) => targetHost(engine, link));
  let found;
  try {
    found = await scores.lookUp(settings, hosts.filter((host) => host !== null));
  } catch (error) {
    pauses.set(settings.server, Date.now() + PAUSE_MILLISECONDS);
    throw error;
  }
  return { marks: hosts.map((host) => (host === null ? null : { host, score: found.get(host) })) };
}

async function describeSite(host) {
  const settings = await readSettings(chrome.storage.local);
  if (settings.server === "") {
    throw new ServerError("no_server");
  }
  await oldVoterKept;
  const voter = await storedVoter(chrome.storage.local, settings.server);
  const [found, own] = await Promise.all([
    scores.lookUp(settings, [host]),
    voter === null ? 0 : ownVote(settings.server, voter, host),
  ]);
  return { score: found.get(host), own };
}

async function castVote(host, value) {
  const { server } = await readSettings(chrome.storage.local);
  if (server === "") {
    throw new ServerError("no_server");
  }
  await oldVoterKept;
  await vote(server, await getOrCreateVoter(chrome.storage.local, server), host, value);
  await scores.invalidate(server, host);
  return { own: value };
}
