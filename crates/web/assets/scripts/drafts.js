// Drafts: what is typed into a field with `data-draft` is kept in the browser until it is sent. The
// attribute names the account and the form. All of this throws in a browser that blocks storage.

const DRAFT_PREFIX = "draft:";
const SENT_DRAFTS = "sent-drafts";
const LEAVING = "leaving";
const FAREWELLS = ["/logout", "/settings/deactivate"];
const MAX_DRAFTS = 20;
const DRAFT_DAYS = 30;
const DRAFT_DELAY_MS = 400;

const draftTimers = new Map();

const draftFields = () => document.querySelectorAll("[data-draft]");
const draftKey = (field) => DRAFT_PREFIX + field.dataset.draft;

// Whether the page shows a form again that was sent: with a message, or with a preview.
const isFormAgain = () =>
  document.querySelector(".trouble, .alert, [aria-invalid=true], .preview:not([hidden]), [data-fetched] p") !== null;

// A draft is based on what the form had when it was first opened: nothing, or the comment to edit.
function saveDraft(field) {
  clearTimeout(draftTimers.get(field));
  draftTimers.delete(field);
  const key = draftKey(field);
  const base = (isFormAgain() ? readDraft(key)?.base : undefined) ?? field.defaultValue;
  try {
    if (field.value === base || !field.value.trim()) {
      localStorage.removeItem(key);
      return;
    }
    localStorage.setItem(key, JSON.stringify({ text: field.value, base, time: Date.now() }));
    dropOldDrafts();
  } catch {}
}

function readDraft(key) {
  try {
    const draft = JSON.parse(localStorage.getItem(key));
    return typeof draft?.text === "string" ? draft : undefined;
  } catch {}
}

function dropOldDrafts() {
  try {
    const oldest = Date.now() - DRAFT_DAYS * 24 * 60 * 60 * 1000;
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(DRAFT_PREFIX));
    const times = keys.map((key) => [readDraft(key)?.time || 0, key]).sort(([a], [b]) => b - a);
    times.forEach(([time, key], number) => {
      if (number >= MAX_DRAFTS || time < oldest) localStorage.removeItem(key);
    });
  } catch {}
}

function restoreDraft(field) {
  const draft = readDraft(draftKey(field));
  const isBase = field.defaultValue === "" || field.defaultValue === draft?.base;
  if (!draft || !isBase || field.value !== field.defaultValue) return;
  field.value = draft.text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  sayItIsDraft(field);
}

// A text that the server has put into a field, and that is nowhere else.
function keepDraft(field) {
  const text = field.value;
  field.defaultValue = "";
  field.value = text;
  saveDraft(field);
  if (text) sayItIsDraft(field);
}

// Says above a form, once, that it has a draft.
function sayItIsDraft({ form }) {
  if (form.querySelector(".draft-note")) return;
  const note = document.createElement("p");
  note.className = "hint draft-note";
  const discard = document.createElement("button");
  discard.type = "button";
  discard.textContent = word("discard");
  discard.addEventListener("click", () => {
    const fields = [...form.querySelectorAll("[data-draft]")];
    for (const field of fields) {
      field.value = field.defaultValue;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      forgetDraft(field);
    }
    note.remove();
    fields[0].focus();
  });
  note.append(word("draft-note"), " ", discard);
  form.prepend(note);
}

// Marks the link to reply to a comment if there is a draft of the reply.
function markDraft(link) {
  const viewer = link.closest("[data-drafts]")?.dataset.drafts;
  const isBegun = viewer && readDraft(`${DRAFT_PREFIX}${viewer}${link.pathname}`);
  const mark = link.nextElementSibling?.matches(".draft") ? link.nextElementSibling : undefined;
  if (!isBegun) mark?.remove();
  else if (!mark) {
    const added = document.createElement("span");
    added.className = "tag draft";
    added.textContent = word("draft");
    link.after(" ", added);
  }
}

function forgetDraft(field) {
  clearTimeout(draftTimers.get(field));
  draftTimers.delete(field);
  try {
    localStorage.removeItem(draftKey(field));
  } catch {}
}

// Called when the text has arrived.
function forgetDrafts(form) {
  form.querySelectorAll("[data-draft]").forEach(forgetDraft);
}

// A form that the browser sends leads to another page. If that is one of the site that follows
// from the form, and not the form again, with a message or at its own address, the text has arrived.
function noteSentDrafts(form) {
  const names = [...form.querySelectorAll("[data-draft]")].map((field) => field.dataset.draft);
  if (names.length === 0) return;
  try {
    sessionStorage.setItem(SENT_DRAFTS, JSON.stringify({ names, action: new URL(form.action).pathname }));
  } catch {}
}

function forgetSentDrafts() {
  try {
    const { names = [], action } = JSON.parse(sessionStorage.getItem(SENT_DRAFTS) ?? "{}");
    sessionStorage.removeItem(SENT_DRAFTS);
    const [arrival] = performance.getEntriesByType("navigation");
    if (arrival?.type !== "navigate" || location.pathname === "/login") return;
    const isKept = document.querySelector("[data-kept]") !== null;
    if (!isKept && (location.pathname === action || isFormAgain())) return;
    for (const name of names) localStorage.removeItem(DRAFT_PREFIX + name);
  } catch {}
}

// After a logout or a deactivation no draft stays, once the site has confirmed it with a page for visitors. Over
// https the site tells the browser so, too.
function noteLeaving(form) {
  try {
    if (FAREWELLS.includes(new URL(form.action).pathname)) sessionStorage.setItem(LEAVING, "1");
  } catch {}
}

function forgetAllDrafts() {
  try {
    const isLeaving = sessionStorage.getItem(LEAVING) !== null;
    sessionStorage.removeItem(LEAVING);
    if (!isLeaving || document.querySelector("form[action='/logout']")) return;
    for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFT_PREFIX)) localStorage.removeItem(key);
  } catch {}
}

function scheduleDraft(event) {
  const field = event.target;
  if (!field.matches?.("[data-draft]")) return;
  clearTimeout(draftTimers.get(field));
  draftTimers.set(field, setTimeout(() => saveDraft(field), DRAFT_DELAY_MS));
}

document.addEventListener("input", scheduleDraft);
document.addEventListener("change", scheduleDraft);

function saveWaitingDrafts() {
  for (const field of [...draftTimers.keys()]) saveDraft(field);
}

window.addEventListener("pagehide", saveWaitingDrafts);
document.addEventListener("visibilitychange", saveWaitingDrafts);
document.addEventListener("submit", (event) => {
  saveWaitingDrafts();
  // The scripts of forms that are sent without loading a page say themselves when the text has arrived.
  if (event.defaultPrevented) return;
  noteSentDrafts(event.target);
  noteLeaving(event.target);
});

forgetSentDrafts();
forgetAllDrafts();
dropOldDrafts();
draftFields().forEach((field) => (field.dataset.kept === undefined ? restoreDraft : keepDraft)(field));
document.querySelectorAll("[data-drafts] a[href^='/reply/']").forEach(markDraft);
