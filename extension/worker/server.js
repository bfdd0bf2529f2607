// Calls to the server (docs/api.md). Each response is checked before it is
// used. A failed call throws a `ServerError` with a code, for which the popup
// has a message.

import { parseHost } from "./hosts.js";

const TIMEOUT_MILLISECONDS = 10_000;
/** The maximum number of hosts in one call of /scores. */
export const MAX_HOSTS = 100;

const SCORES = ["Good", "Bad", "Controversial", "NoScore"];
/** The error codes that the server sends and the popup explains. */
const SERVER_CODES = ["banned", "voting_disabled", "too_many_votes", "too_many_voters", "unavailable", "invalid"];

export class ServerError extends Error {
  /**
   * `code` is one of the server's codes above, `no_server` (the user has not
   * chosen one), `unreachable` or `bad_response`.
   */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** The scores of all hosts whose hash starts with `prefix`, as an object by host. */
export async function scoresByPrefix(server, prefix) {
  const answer = await json(await call(server, `/api/sites/prefix/${prefix}`));
  return scoreList(answer?.sites);
}

/** The scores of up to 100 hosts, as an object by host. */
export async function scoresOf(server, hosts) {
  const answer = await json(await call(server, `/scores?for=${encodeURIComponent(JSON.stringify(hosts))}`));
  return scoreList(answer);
}

/** Votes on a host: 1, -1, or 0 to take the vote back. */
export async function vote(server, voter, host, value) {
  await call(server, "/vote", { link: host, vote: value, user_id: voter });
}

/** The voter's own vote on a host: 1, -1 or 0. */
export async function ownVote(server, voter, host) {
  const answer = await json(await call(server, "/api/sites/own", { user_id: voter, links: [host] }));
  const own = answer?.votes?.[0];
  if (own?.link !== host || ![1, -1, 0].includes(own.vote)) {
    throw new ServerError("bad_response");
  }
  return own.vote;
}

function scoreList(sites) {
  if (!Array.isArray(sites)) {
    throw new ServerError("bad_response");
  }
  const isValid = (site) => {
    const host = parseHost(site?.link);
    return host !== null && host === site.link && SCORES.includes(site.score);
  };
  return Object.fromEntries(sites.filter(isValid).map((site) => [site.link, site.score]));
}

async function call(server, path, body) {
  const options = {
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
  };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    // With this content type, the browser sends no CORS preflight request.
    options.headers = { "Content-Type": "text/plain;charset=UTF-8" };
  }
  let response;
  try {
    response = await fetch(server + path, options);
  } catch {
    throw new ServerError("unreachable");
  }
  if (!response.ok) {
    throw new ServerError(await errorCode(response));
  }
  return response;
}

async function errorCode(response) {
  const answer = await response.json().catch(() => null);
  if (SERVER_CODES.includes(answer?.error)) {
    return answer.error;
  }
  return response.status >= 500 ? "unavailable" : "bad_response";
}

async function json(response) {
  try {
    return await response.json();
  } catch {
    throw new ServerError("bad_response");
  }
}
