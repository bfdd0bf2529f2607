// Where the links of results lead: engines put addresses of their own around them.

import { hostOf } from "./hosts.js";

// Referral links inside referral links are followed this far.
const DEEPEST = 3;

/** The host that a link of a result leads to; null for none, and for pages of the engine itself. */
export function targetHost(engine, link) {
  let url;
  try {
    url = new URL(link);
  } catch {
    return null;
  }
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const inner = inside(engine, url);
    if (inner === null) {
      break;
    }
    url = inner;
  }
  return engine.hosts.test(url.hostname) ? null : hostOf(url.href);
}

/** The address that a referral link of the engine carries, or null when it is none. */
function inside(engine, url) {
  for (const rule of engine.unwrap) {
    const applies = rule.host === undefined ? engine.hosts.test(url.hostname) : rule.host === url.hostname;
    const text = applies ? carried(rule, url) : null;
    if (text !== null) {
      try {
        return new URL(text);
      } catch {
        // Not an address: perhaps another rule finds one.
      }
    }
  }
  return null;
}

function carried(rule, url) {
  if (rule.segment !== undefined) {
    const segment = url.pathname.split("/").find((part) => part.startsWith(rule.segment));
    return segment === undefined ? null : decoded(segment.slice(rule.segment.length));
  }
  const value = url.pathname === rule.path ? url.searchParams.get(rule.parameter) : null;
  if (value === null || !value.startsWith(rule.marker ?? "")) {
    return null;
  }
  const text = value.slice((rule.marker ?? "").length);
  return rule.base64 ? fromBase64(text) : text;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function fromBase64(text) {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return null;
  }
}
