// The one module that runs in the background: a service worker in Chromium,
// an event page in Firefox. It answers the messages of result pages and of
// the popup, and opens the help page on the first run.
//
//   from a result page   { ask: "page" }                what to look for there
//                        { ask: "scores", links }       where the links lead, and the scores
//   from our own pages   { ask: "site", host }          score and own vote
//                        { ask: "vote", host, vote }
//
// Anything else is not answered.

import { Cache } from "./cache.js";
import { engineOf } from "./engines.js";
import { parseHost } from "./hosts.js";
import { Scores } from "./scores.js";
import { ownVote, ServerError, vote } from "./server.js";
import { readSettings } from "./settings.js";
import { targetHost } from "./unwrap.js";
import { anyVoter, knownVoter } from "./voter.js";

/** The most links in one message, and the longest of them. */
const MOST_LINKS = 100;
const LONGEST_LINK = 8192;
/** How long result pages leave a server alone that was away, in milliseconds. */
const REST = 30_000;

const cache = new Cache(chrome.storage.session);
const scores = new Scores(cache);
const rests = new Map();

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
  answer.then(respond, (error) => respond({ error: error instanceof ServerError ? error.code : "broken" }));
  return true;
});

/** A promise of the answer, or null when the message is none of ours. */
function answerTo(message, sender) {
  const is_own_page = sender.url?.startsWith(chrome.runtime.getURL("")) ?? false;
  const engine = is_own_page ? null : engineOf(sender.url);
  switch (message?.ask) {
    case "page":
      return engine && describePage(engine);
    case "scores":
      return engine && areLinks(message.links) ? scoreLinks(engine, message.links) : null;
    case "site":
      return is_own_page && parseHost(message.host) === message.host ? describeSite(message.host) : null;
    case "vote":
      return is_own_page && parseHost(message.host) === message.host && [1, -1, 0].includes(message.vote)
        ? castVote(message.host, message.vote)
        : null;
    default:
      return null;
  }
}

function areLinks(links) {
  const is_link = (link) => typeof link === "string" && link.length <= LONGEST_LINK;
  return Array.isArray(links) && links.length <= MOST_LINKS && links.every(is_link);
}

/** What the script on a result page looks for; `results` is empty while there is no server. */
async function describePage(engine) {
  const { server, icons } = await readSettings(chrome.storage.local);
  return { results: server === "" ? "" : engine.results, title: engine.title ?? "", icons };
}

/** For each link the host and the score, or null where there is nothing to say. */
async function scoreLinks(engine, links) {
  const settings = await readSettings(chrome.storage.local);
  if (settings.server === "" || Date.now() < (rests.get(settings.server) ?? 0)) {
    return { marks: links.map(() => null) };
  }
  const hosts = links.map((link) => targetHost(engine, link));
  let found;
  try {
    found = await scores.of(settings, hosts.filter((host) => host !== null));
  } catch (error) {
    rests.set(settings.server, Date.now() + REST);
    throw error;
  }
  return { marks: hosts.map((host) => (host === null ? null : { host, score: found.get(host) })) };
}

async function describeSite(host) {
  const settings = await readSettings(chrome.storage.local);
  if (settings.server === "") {
    throw new ServerError("no_server");
  }
  const voter = await knownVoter(chrome.storage.local);
  const [found, own] = await Promise.all([
    scores.of(settings, [host]),
    voter === null ? 0 : ownVote(settings.server, voter, host),
  ]);
  return { score: found.get(host), own };
}

async function castVote(host, value) {
  const { server } = await readSettings(chrome.storage.local);
  if (server === "") {
    throw new ServerError("no_server");
  }
  await vote(server, await anyVoter(chrome.storage.local), host, value);
  await scores.forget(server, host);
  return { own: value };
}
