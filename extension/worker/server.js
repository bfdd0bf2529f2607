// The calls to the server (docs/api.md). An answer is checked before it is
// used; a failure is a `ServerError` with a code for the texts of the popup.

import { parseHost } from "./hosts.js";

/** How long an answer may take, in milliseconds. */
const PATIENCE = 10_000;
/** The most hosts in one call of /scores. */
export const MOST_HOSTS = 100;

const SCORES = ["Good", "Bad", "Controversial", "NoScore"];
/** The refusals that the server explains by a code. */
const REFUSALS = ["banned", "voting_disabled", "too_many_votes", "too_many_voters", "unavailable", "invalid"];

export class ServerError extends Error {
  /** `code` is a refusal, `no_server` (none is chosen), `away` (not reached) or `broken` (an answer that is none). */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** The scores of all hosts whose hash begins so, as an object by host. */
export async function scoresByPrefix(server, prefix) {
  const answer = await json(await call(server, `/api/sites/prefix/${prefix}`));
  return scoreList(answer?.sites);
}

/** The scores of up to 100 hosts, as an object by host. */
export async function scoresOf(server, hosts) {
  const answer = await json(await call(server, `/scores?for=${encodeURIComponent(JSON.stringify(hosts))}`));
  return scoreList(answer);
}

/** Votes: 1, -1, or 0 to take the vote back. */
export async function vote(server, voter, host, value) {
  await call(server, "/vote", { link: host, vote: value, user_id: voter });
}

/** The voter's own vote on a host: 1, -1 or 0. */
export async function ownVote(server, voter, host) {
  const answer = await json(await call(server, "/api/sites/own", { user_id: voter, links: [host] }));
  const own = answer?.votes?.[0];
  if (own?.link !== host || ![1, -1, 0].includes(own.vote)) {
    throw new ServerError("broken");
  }
  return own.vote;
}

function scoreList(sites) {
  if (!Array.isArray(sites)) {
    throw new ServerError("broken");
  }
  const is_valid = (site) => {
    const host = parseHost(site?.link);
    return host !== null && host === site.link && SCORES.includes(site.score);
  };
  const valid = sites.filter(is_valid);
  return Object.fromEntries(valid.map((site) => [site.link, site.score]));
}

async function call(server, path, body) {
  const options = {
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    // So that the browser needs not ask first whether it may.
    options.headers = { "Content-Type": "text/plain;charset=UTF-8" };
  }
  let response;
  try {
    response = await fetch(server + path, options);
  } catch {
    throw new ServerError("away");
  }
  if (!response.ok) {
    throw new ServerError(await refusal(response));
  }
  return response;
}

async function refusal(response) {
  const answer = await response.json().catch(() => null);
  if (REFUSALS.includes(answer?.error)) {
    return answer.error;
  }
  return response.status >= 500 ? "unavailable" : "broken";
}

async function json(response) {
  try {
    return await response.json();
  } catch {
    throw new ServerError("broken");
  }
}
