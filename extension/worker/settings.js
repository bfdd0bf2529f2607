// What the user chooses, in `storage.local`, and how it is read: whatever is
// stored, the rest of the extension sees valid settings only.
//
//   server  the address of the server, without a slash at the end; none at first
//   icons   the texts that mark results: good, controversial, bad
//   lookup  `private` or `plain`
//
// Beside them lies `voter`, the UUID of the voter (worker/voter.js).

export const DEFAULTS = Object.freeze({
  server: "",
  icons: Object.freeze({ good: "✓", controversial: "±", bad: "✗" }),
  lookup: "private",
});

/** The longest icon, in UTF-16 units: room for an emoji of a family. */
export const LONGEST_ICON = 16;

const LONGEST_SERVER = 300;
/** Names and addresses of machines: browsers differ in what else they let pass. */
const MACHINE = /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])$/;

/** Reads the settings. */
export async function readSettings(area) {
  return checked(await area.get(["server", "icons", "lookup"]));
}

/** Valid settings out of whatever was stored. */
export function checked(stored) {
  const icons = stored.icons ?? {};
  const icon = (name) => parseIcon(icons[name]) ?? DEFAULTS.icons[name];
  return {
    server: parseServer(stored.server) ?? DEFAULTS.server,
    icons: { good: icon("good"), controversial: icon("controversial"), bad: icon("bad") },
    lookup: stored.lookup === "plain" ? "plain" : "private",
  };
}

/**
 * The address of a server as it is stored: http or https, without user, query,
 * fragment or final slash. Null when the text is no such address.
 */
export function parseServer(text) {
  if (typeof text !== "string" || text.trim() === "" || text.length > LONGEST_SERVER) {
    return null;
  }
  const typed = text.trim();
  let url;
  try {
    url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? typed : `https://${typed}`);
  } catch {
    return null;
  }
  const is_web = (url.protocol === "https:" || url.protocol === "http:") && MACHINE.test(url.hostname);
  if (!is_web || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return null;
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/**
 * The permission for a server: its host and nothing else. Without the port,
 * which Firefox does not accept there.
 */
export function permissionFor(server) {
  const url = new URL(server);
  return `${url.protocol}//${url.hostname}/*`;
}

/** A short text that is not blank, or null. */
export function parseIcon(text) {
  const icon = typeof text === "string" ? text.trim() : "";
  return icon !== "" && icon.length <= LONGEST_ICON ? icon : null;
}
