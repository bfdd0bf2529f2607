// The user's settings, in `storage.local`. The rest of the extension only sees
// valid settings, even if others are stored there.
//
//   server  the address of the server, without a final slash; empty by default
//   icons   the text of the marks: good, controversial, bad
//   lookup  `private` or `plain`
//
// The same storage area holds the voter IDs (worker/voter.js).

export const DEFAULTS = Object.freeze({
  server: "",
  icons: Object.freeze({ good: "✓", controversial: "±", bad: "✗" }),
  lookup: "private",
});

/** The maximum length of an icon, in UTF-16 code units: enough for a family emoji. */
export const MAX_ICON_LENGTH = 16;

const MAX_SERVER_LENGTH = 300;
/** Host names and IP addresses. URL parsers of different browsers accept different further characters. */
const HOST = /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])$/;

export async function readSettings(area) {
  return validSettings(await area.get(["server", "icons", "lookup"]));
}

/** The stored settings, with the default for each that is missing or invalid. */
export function validSettings(stored) {
  const icons = stored.icons ?? {};
  const icon = (name) => parseIcon(icons[name]) ?? DEFAULTS.icons[name];
  return {
    server: parseServer(stored.server) ?? DEFAULTS.server,
    icons: { good: icon("good"), controversial: icon("controversial"), bad: icon("bad") },
    lookup: stored.lookup === "plain" ? "plain" : "private",
  };
}

/**
 * The address of a server as it is stored: http or https, without user name,
 * password, query, fragment or final slash. Null if the text is not such an address.
 */
export function parseServer(text) {
  if (typeof text !== "string" || text.trim() === "" || text.length > MAX_SERVER_LENGTH) {
    return null;
  }
  const typed = text.trim();
  let url;
  try {
    url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? typed : `https://${typed}`);
  } catch {
    return null;
  }
  const isWeb = (url.protocol === "https:" || url.protocol === "http:") && HOST.test(url.hostname);
  if (!isWeb || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return null;
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/**
 * The match pattern of the permission for a server: its host only. It has no
 * port, because Firefox does not accept one.
 */
export function permissionFor(server) {
  const url = new URL(server);
  return `${url.protocol}//${url.hostname}/*`;
}

/** The trimmed text of an icon, or null if it is blank or too long. */
export function parseIcon(text) {
  const icon = typeof text === "string" ? text.trim() : "";
  return icon !== "" && icon.length <= MAX_ICON_LENGTH ? icon : null;
}
