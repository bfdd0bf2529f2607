// Writing: comments are sent without loading a page, replies, changes and flags are written below what they are
// about, texts are previewed, and Ctrl-Enter sends.

const SEND_TIMEOUT_MS = 30_000;

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.repeat) return;
  const form = event.target.closest("textarea")?.form;
  if (!form) return;
  event.preventDefault();
  form.requestSubmit();
});

document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (event.submitter?.dataset.preview) {
      event.preventDefault();
      showTextPreview(form, event.submitter);
    } else if (form.matches("form[data-comment]")) {
      event.preventDefault();
      sendComment(form);
    } else if (form.matches("form[data-flag].in-place")) {
      event.preventDefault();
      sendFlag(form);
    }
  },
  // Before the script for drafts looks whether the form is sent by the browser.
  { capture: true },
);

// Sends a form. Returns the answer, or why there is none: it was refused, or the connection is lost.
async function sendEditorForm(address, fields) {
  try {
    const signal = AbortSignal.timeout(SEND_TIMEOUT_MS);
    const response = await fetch(address, { method: "POST", body: fields, signal });
    const answer = await response.json();
    return answer.status === "ok" ? { answer } : { refusal: refusalOf(answer) };
  } catch {
    return { lost: lostWord() };
  }
}

// A page that only members see leads to the page to log in.
async function hasBeenLoggedOut() {
  try {
    const response = await fetch("/settings", { method: "HEAD", redirect: "manual" });
    return response.type === "opaqueredirect";
  } catch {
    return false;
  }
}

const sendComment = (form) =>
  sendInPlace(form, form.dataset.comment, (answer) => {
    forgetDrafts(form);
    form.reset();
    const isNew = form.elements.comment_id.value === "-1";
    const address = new URL(addressOf(answer, isNew ? "posted" : "at"), location);
    if (address.href === location.href) location.reload();
    else location.assign(address);
  });

// The link to flag says that it was done.
const sendFlag = (form) =>
  sendInPlace(form, form.dataset.flag, () => {
    const { link } = openForm;
    closeForm();
    link.textContent = word("flagged");
    announce(menuOf(link) ?? link, word("looked"));
  });

async function sendInPlace(form, address, done) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  clearEditorMessage(form);
  const fields = new URLSearchParams(new FormData(form));
  const { answer, refusal, lost } = await sendEditorForm(address, fields);
  if (answer) return done(answer);
  const wasLoggedOut = refusal && (await hasBeenLoggedOut());
  delete form.dataset.busy;
  if (wasLoggedOut || lost) {
    showEditorMessage(form, lost ?? word("logged-out"));
    offerToTryAgain(form);
  } else {
    showEditorMessage(form, refusal, { isAboutText: true });
  }
}

// Where the thread shows a comment: among the others, or first if it was just posted.
const addressOf = ({ news_id: news, comment_id: comment }, parameter) =>
  `/news/${news}?${parameter}=${comment}#comment-${comment}`;

function focusPostedComment() {
  const posted = new URLSearchParams(location.search).get("posted");
  const comment = posted && document.getElementById(`comment-${posted}`);
  if (!comment) return;
  comment.tabIndex = -1;
  comment.focus({ preventScroll: true });
  comment.scrollIntoView({ block: "center" });
}

const fieldOf = (form) => form.querySelector("textarea, [name=note]");
const describedBy = (field) => (field.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);

// Shows a message beside the text, which may be wrong itself.
function showEditorMessage(form, text, { isAboutText } = {}) {
  clearEditorMessage(form);
  const field = fieldOf(form);
  const message = document.createElement("p");
  message.className = "error";
  message.id = `error-${field.id}`;
  message.setAttribute("role", "alert");
  field.after(message);
  // Screen readers announce what changes in an element that is there.
  message.append(text);
  field.setAttribute("aria-describedby", [message.id, ...describedBy(field)].join(" "));
  if (!isAboutText) return;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

function offerToTryAgain(form) {
  const button = document.createElement("button");
  button.className = "button small";
  button.textContent = word("again");
  button.dataset.again = "";
  form.querySelector(".error").after(button);
}

function clearEditorMessage(form) {
  const field = fieldOf(form);
  const message = document.getElementById(`error-${field.id}`);
  field.setAttribute("aria-describedby", describedBy(field).filter((id) => id !== message?.id).join(" "));
  field.removeAttribute("aria-invalid");
  message?.remove();
  form.querySelector("[data-again]")?.remove();
}

// Preview

async function showTextPreview(form, button) {
  const fields = new URLSearchParams({ text: form.elements[button.dataset.preview].value });
  const secret = form.elements.apisecret?.value;
  if (secret) fields.set("apisecret", secret);
  clearEditorMessage(form);
  const { answer, refusal, lost } = await sendEditorForm("/api/preview", fields);
  if (!answer) {
    showEditorMessage(form, refusal ?? lost, { isAboutText: refusal !== undefined });
    return;
  }
  const place = form.querySelector("[data-preview-place]");
  const page = new DOMParser().parseFromString(answer.html, "text/html");
  place.firstElementChild.replaceChildren(...page.body.childNodes);
  place.hidden = false;
  focusWideCode(place);
}

// Replies, changes and flags in place

let openForm;

const IN_PLACE = "a:is([href^='/reply/'], [href^='/editcomment/'], [href^='/flag/']):not([href*='#'])";

function focusAtEnd(field) {
  field.focus();
  if (field.type === "textarea") field.setSelectionRange(field.value.length, field.value.length);
}

document.addEventListener("click", (event) => {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest(IN_PLACE);
  const isMember = document.querySelector("form[action='/logout']");
  if (!link || !isMember || !placeOf(link)) return;
  event.preventDefault();
  openInPlace(link);
});

// The menu that a link is in. Comments are in elements that open, too.
const menuOf = (link) => link.closest("details:is(.menu, .row-tools)");

// Where a form opens: below the text, or below the line of a story.
function placeOf(link) {
  const item = link.closest("[data-item]");
  return item?.querySelector(".text")?.parentElement ?? item?.querySelector(".story");
}

async function openInPlace(link) {
  if (openForm?.link === link) {
    fieldOf(openForm.form).focus();
    return;
  }
  closeForm();
  const opening = { link };
  openForm = opening;
  const form = await fetchForm(link.href);
  if (openForm !== opening) return;
  if (!form) {
    openForm = undefined;
    location.assign(link.href);
    return;
  }
  opening.form = form;
  const place = placeOf(link);
  const menu = menuOf(link);
  if (menu) menu.open = false;
  if (link.pathname.startsWith("/editcomment/")) {
    // The form has the text.
    opening.hidden = place.querySelector(".text");
    opening.hidden.hidden = true;
    opening.hidden.after(form);
  } else {
    place.append(form);
  }
  const field = form.querySelector("textarea, [type=radio]");
  if (field.dataset.draft) restoreDraft(field);
  focusAtEnd(field);
}

// The form of the page that the link leads to. Its ids are changed, because this page may have a form with
// the same ones.
async function fetchForm(address) {
  try {
    const response = await fetch(address);
    if (!response.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const form = page.querySelector("form:is([data-comment], [data-flag])");
    takeWords(page);
    const renamed = (ids) => ids.split(" ").map((id) => `in-place-${id}`).join(" ");
    for (const attribute of ["id", "for", "aria-describedby"]) {
      for (const element of form.querySelectorAll(`[${attribute}]`)) {
        element.setAttribute(attribute, renamed(element.getAttribute(attribute)));
      }
    }
    const field = form.querySelector("textarea");
    field?.removeAttribute("autofocus");
    field?.classList.add("short");
    form.classList.add("in-place");
    form.querySelector(".buttons").append(cancelButton());
    return document.adoptNode(form);
  } catch {}
}

function cancelButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet";
  button.textContent = word("cancel");
  button.addEventListener("click", closeForm);
  return button;
}

// The draft stays.
function closeForm() {
  const closing = openForm;
  openForm = undefined;
  if (!closing?.form) return;
  saveWaitingDrafts();
  closing.form.remove();
  if (closing.hidden) closing.hidden.hidden = false;
  markDraft(closing.link);
  (menuOf(closing.link)?.querySelector("summary") ?? closing.link).focus();
}

// Says something beside an element, so that screen readers hear it.
function announce(element, text) {
  const said = document.createElement("span");
  said.className = "hint";
  said.setAttribute("role", "status");
  element.after(" ", said);
  said.textContent = text;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || !event.target.closest(".in-place")) return;
  event.preventDefault();
  closeForm();
});

focusPostedComment();
// Browsers put the cursor before a text that is already there. They set the focus themselves, maybe
// after this script.
const autofocused = document.querySelector("textarea[autofocus]");
autofocused?.setSelectionRange(autofocused.value.length, autofocused.value.length);
