// Code that the other scripts share. Every page works without scripts.

const CONNECTION_ERROR = "The site can't be reached. Check your connection and try again.";

// Numbers on pages have thousands separators.
const formatNumber = (number) => number.toLocaleString("en");
const parseNumber = (text) => Number(text.replaceAll(",", ""));

// The names of requests that may or may not have been done. A reader who presses the button again
// repeats the request, and is answered as if it were the first time.
const unsureRequests = new Map();

// A refusal, with a link to the page that explains it.
function refusalOf({ error, about }) {
  const refusal = document.createElement("span");
  refusal.append(error || CONNECTION_ERROR);
  if (about) {
    const link = document.createElement("a");
    link.href = about;
    link.textContent = "When accounts are trusted";
    refusal.append(" ", link);
  }
  return refusal;
}

// Returns the refusal, or undefined on success. A refusal that has the current votes passes them on.
async function post(url, fields, takeVotes) {
  const asked = `${url}?${fields}`;
  const request = unsureRequests.get(asked) ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
  unsureRequests.set(asked, request);
  fields.set("request", request);
  try {
    const response = await fetch(url, { method: "POST", body: fields });
    const answer = await response.json();
    if (response.status < 500) unsureRequests.delete(asked);
    if (answer.votes) takeVotes?.(answer.votes);
    return answer.status === "ok" ? undefined : refusalOf(answer);
  } catch {
    return CONNECTION_ERROR;
  }
}

// The exact time of something, in the reader's time zone.
document.addEventListener("pointerover", ({ target }) => {
  if (target.tagName !== "TIME") return;
  target.title = new Date(target.dateTime).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
});

// Menus close like those of programs: with a click elsewhere, and with Escape.
const openMenus = () => document.querySelectorAll("details:is(.menu, .row-tools)[open]");
document.addEventListener("click", ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
