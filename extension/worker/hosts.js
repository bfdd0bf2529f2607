// Parses site names by the server's rules (src/domain/sites/hostname.rs). The
// extension never sends anything else as a host.

const MAX_LENGTH = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
// A host whose last label is a number is an IPv4 address.
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/;

/**
 * The host in lower-case ASCII without a trailing dot. Null if nobody can vote
 * on it: an IP address, a single label, or not a host at all.
 */
export function parseHost(text) {
  if (typeof text !== "string" || text.length > 1000 || !/^[^\s/?#@:\\[\]]+$/.test(text)) {
    return null;
  }
  let name;
  try {
    name = new URL(`https://${text}`).hostname;
  } catch {
    return null;
  }
  name = name.replace(/\.$/, "");
  const labels = name.split(".");
  const isValid = name.length <= MAX_LENGTH && labels.length >= 2 && labels.every((label) => LABEL.test(label));
  return isValid && !NUMBER.test(labels.at(-1)) ? name : null;
}

/** The host of a web address, or null if nobody can vote on it. */
export function hostOf(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? parseHost(url.hostname) : null;
  } catch {
    return null;
  }
}

/** The first four hexadecimal digits of the SHA-256 of a host. A private lookup sends only this. */
export async function prefixOf(host) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(host));
  return Array.from(new Uint8Array(digest, 0, 2), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
