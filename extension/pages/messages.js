// Puts the texts into the page: `data-message` names the message of an element, and `data-label` that of its
// accessible name.

const text = (name) => chrome.i18n.getMessage(name);

document.documentElement.lang = text("language");
for (const element of document.querySelectorAll("[data-message]")) {
  element.textContent = text(element.dataset.message);
}
for (const element of document.querySelectorAll("[data-label]")) {
  element.setAttribute("aria-label", text(element.dataset.label));
}
