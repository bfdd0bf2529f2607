// The options page. Saving a server requests the permission to access its host
// and removes the permission for the previous host.

import { parseIcon, parseServer, permissionFor, readSettings, validSettings } from "../worker/settings.js";

const ICONS = ["good", "controversial", "bad"];

const text = (name) => chrome.i18n.getMessage(name);

const element = (id) => document.getElementById(id);
let saved = await readSettings(chrome.storage.local);

show(saved);
element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
element("reset").addEventListener("click", reset);
document.body.dataset.ready = "";

function show(settings) {
  element("server").value = settings.server;
  document.querySelectorAll("[name=lookup]").forEach((choice) => (choice.checked = choice.value === settings.lookup));
  ICONS.forEach((name) => (element(name).value = settings.icons[name]));
}

async function save() {
  const typed = element("server").value.trim();
  const server = typed === "" ? "" : parseServer(typed);
  showServerError("");
  if (server === null) {
    showServerError(text("error_address"));
    return;
  }
  // This must come before any other `await`: browsers only accept the request in response to a click.
  if (server !== "" && !(await requestPermission(server))) {
    showServerError(text("error_permission"));
    return;
  }
  const settings = validSettings({
    server,
    lookup: document.querySelector("[name=lookup]:checked")?.value,
    icons: Object.fromEntries(ICONS.map((name) => [name, parseIcon(element(name).value)])),
  });
  await chrome.storage.local.set(settings);
  await removeOldPermission(saved.server, settings.server);
  saved = settings;
  show(saved);
  showStatus(text("saved"));
}

async function reset() {
  showServerError("");
  await chrome.storage.local.remove(["server", "icons", "lookup"]);
  const settings = validSettings({});
  await removeOldPermission(saved.server, settings.server);
  saved = settings;
  show(saved);
  showStatus(text("was_reset"));
}

async function requestPermission(server) {
  try {
    return await chrome.permissions.request({ origins: [permissionFor(server)] });
  } catch {
    return false;
  }
}

/** Removes the permission for the old server, unless the new one needs it too. */
async function removeOldPermission(oldServer, newServer) {
  if (oldServer !== "" && (newServer === "" || permissionFor(oldServer) !== permissionFor(newServer))) {
    // The browser may refuse, for example if an administrator has granted the permission.
    await chrome.permissions.remove({ origins: [permissionFor(oldServer)] }).catch(() => false);
  }
}

function showServerError(message) {
  element("said").hidden = true;
  element("server-error").textContent = message;
  element("server-error").hidden = message === "";
  element("server").setAttribute("aria-invalid", String(message !== ""));
  if (message !== "") {
    element("server").focus();
  }
}

function showStatus(message) {
  element("said").textContent = message;
  element("said").hidden = false;
}
