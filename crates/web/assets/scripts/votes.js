// Votes

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-api]") || !event.submitter) return;
  event.preventDefault();
  vote(form, event.submitter);
});

async function vote(form, button) {
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("next");
  fields.set(button.name, button.value);
  const item = form.closest("[data-item]");
  item.querySelector(".refusal")?.remove();
  const error = await post(form.dataset.api, fields);
  delete form.dataset.busy;
  if (error) {
    showError(item, error);
    return;
  }
  const count = item.querySelector(`[data-count="${button.value}"]`);
  if (count) count.textContent = formatNumber(parseNumber(count.textContent) + 1);
  for (const each of form.querySelectorAll("button")) {
    each.setAttribute("aria-pressed", String(each === button));
    each.disabled = true;
  }
}

function showError(item, text) {
  const message = document.createElement("p");
  message.className = "refusal";
  message.setAttribute("role", "alert");
  item.querySelector(".meta").append(message);
  message.textContent = text;
}
