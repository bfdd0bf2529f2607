// Code that the other scripts share. Every page works without scripts.

const language = document.documentElement.lang;
const dateLanguage = language === "en" ? "en-GB" : language;

// The words of the scripts. The page has those that can be needed on it, in the language of the site.
const word = (name) => document.querySelector(`[data-t-${name}]`)?.getAttribute(`data-t-${name}`) ?? "";
const words = (name) => word(name).split("|");
const lostWord = () => words("no")[0];

// Takes over the words of another page of the site.
function takeWords(page) {
  const footer = document.querySelector("footer");
  for (const element of page.querySelectorAll("footer, [data-help]")) {
    for (const { name, value } of element.attributes) if (name.startsWith("data-t-")) footer.setAttribute(name, value);
  }
}

// The words for the buttons of items, in the order of the page.
const ITEM_WORDS =
  ["up", "down", "none", "back", "hide", "unhide", "save", "unsave", "subscribe", "unsubscribe", "undo", "hidden"];
const itemWord = (name) => words("items")[ITEM_WORDS.indexOf(name)];

// The parts of a text, with what stands in its braces.
const filled = (text, values) =>
  text.split(/\{(\w+)\}/).map((part, at) => (at % 2 ? values[part] : part)).filter((part) => part !== "");

// The parts of a text about a number. The page has its forms for some numbers, up to the one that the others have too.
const plurals = new Intl.PluralRules(language);
const PLURAL_SAMPLES = [1, 2, 5, 0, 11, 100];
function counted(name, count, number = formatNumber(count)) {
  const forms = words(name);
  const at = PLURAL_SAMPLES.findIndex((sample) => plurals.select(sample) === plurals.select(count));
  return filled(forms[at] ?? forms.at(-1), { n: number });
}

// Numbers on pages have thousands separators.
const formatNumber = (number) => number.toLocaleString(language);
const parseNumber = (text) => Number(text.replace(/[^\d-]/g, ""));

// The names of requests that may or may not have been done. A reader who presses the button again
// repeats the request, and is answered as if it were the first time.
const unsureRequests = new Map();

// A refusal, with a link to the page that explains it.
function refusalOf({ message, about }) {
  const refusal = document.createElement("span");
  refusal.append(message || lostWord());
  if (about) {
    const link = document.createElement("a");
    link.href = about;
    link.textContent = words("no")[1] ?? about;
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
    return lostWord();
  }
}

// The exact time of something, in the reader's time zone.
document.addEventListener("pointerover", ({ target }) => {
  if (target.tagName !== "TIME") return;
  target.title = new Date(target.dateTime).toLocaleString(dateLanguage, { dateStyle: "medium", timeStyle: "short" });
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
