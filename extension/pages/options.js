// The options: shown, checked, saved. Saving a server asks for the permission
// to talk to its host, and gives back the one for the host before.

import { checked, parseIcon, parseServer, permissionFor, readSettings } from "../worker/settings.js";

const ICONS = ["good", "controversial", "bad"];

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
  refuseServer("");
  if (server === null) {
    refuseServer("Enter a server address, such as https://tidings.example.");
    return;
  }
  // Before anything else is waited for: browsers allow the question only in answer to a click.
  if (server !== "" && !(await allowed(server))) {
    refuseServer("Not saved. The extension needs access to this server. Choose Save again and allow it.");
    return;
  }
  const settings = checked({
    server,
    lookup: document.querySelector("[name=lookup]:checked")?.value,
    icons: Object.fromEntries(ICONS.map((name) => [name, parseIcon(element(name).value)])),
  });
  await chrome.storage.local.set(settings);
  await giveBack(saved.server, settings.server);
  saved = settings;
  show(saved);
  say("Saved. Reload any open result pages to see the changes.");
}

async function reset() {
  refuseServer("");
  await chrome.storage.local.remove(["server", "icons", "lookup"]);
  const settings = checked({});
  await giveBack(saved.server, settings.server);
  saved = settings;
  show(saved);
  say("All options are back to their defaults.");
}

async function allowed(server) {
  try {
    return await chrome.permissions.request({ origins: [permissionFor(server)] });
  } catch {
    return false;
  }
}

/** Gives back the permission for the server before, unless it is still in use. */
async function giveBack(before, now) {
  if (before !== "" && (now === "" || permissionFor(before) !== permissionFor(now))) {
    // The browser keeps what it was told to grant by other means; then it stays.
    await chrome.permissions.remove({ origins: [permissionFor(before)] }).catch(() => false);
  }
}

function refuseServer(reason) {
  element("said").hidden = true;
  element("server-error").textContent = reason;
  element("server-error").hidden = reason === "";
  element("server").setAttribute("aria-invalid", String(reason !== ""));
  if (reason !== "") {
    element("server").focus();
  }
}

function say(text) {
  element("said").textContent = text;
  element("said").hidden = false;
}
