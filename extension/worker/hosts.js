// The name of a web site, as the server reads it (src/domain/sites/hostname.rs):
// what is no such name is never sent.

const LONGEST_NAME = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
// A last label of this kind makes the whole an IPv4 address.
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/;

/**
 * A host in lower case and ASCII without a trailing dot, or null when nobody
 * can vote on it: an address of a machine, a single label, or no host at all.
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
  const fits = name.length <= LONGEST_NAME && labels.length >= 2 && labels.every((label) => LABEL.test(label));
  return fits && !NUMBER.test(labels.at(-1)) ? name : null;
}

/** The host of a web address, or null when there is none to vote on. */
export function hostOf(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? parseHost(url.hostname) : null;
  } catch {
    return null;
  }
}

/** The first four hexadecimal digits of the SHA-256 of a host: all that a private lookup tells. */
export async function prefixOf(host) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(host));
  return Array.from(new Uint8Array(digest, 0, 2), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
