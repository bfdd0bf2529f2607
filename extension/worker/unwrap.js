// Finds out where result links lead. Some engines wrap results in referral
// links of their own.

import { hostOf } from "./hosts.js";

/** The maximum number of nested referral links to unwrap. */
const MAX_DEPTH = 3;

/** The host that a result link leads to. Null if it has none or is a page of the engine itself. */
export function targetHost(engine, link) {
  let url;
  try {
    url = new URL(link);
  } catch {
    return null;
  }
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const inner = unwrap(engine, url);
    if (inner === null) {
      break;
    }
    url = inner;
  }
  return engine.hosts.test(url.hostname) ? null : hostOf(url.href);
}

/** The URL inside a referral link of the engine, or null if it is not a referral link. */
function unwrap(engine, url) {
  for (const rule of engine.unwrap) {
    const applies = rule.host === undefined ? engine.hosts.test(url.hostname) : rule.host === url.hostname;
    const text = applies ? extract(rule, url) : null;
    if (text !== null) {
      try {
        return new URL(text);
      } catch {
        // Not a URL: try the next rule.
      }
    }
  }
  return null;
}

function extract(rule, url) {
  if (rule.segment !== undefined) {
    const segment = url.pathname.split("/").find((part) => part.startsWith(rule.segment));
    return segment === undefined ? null : decodePercent(segment.slice(rule.segment.length));
  }
  const value = url.pathname === rule.path ? url.searchParams.get(rule.parameter) : null;
  if (value === null || !value.startsWith(rule.marker ?? "")) {
    return null;
  }
  const text = value.slice((rule.marker ?? "").length);
  return rule.base64 ? decodeBase64Url(text) : text;
}

function decodePercent(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function decodeBase64Url(text) {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return null;
  }
}
