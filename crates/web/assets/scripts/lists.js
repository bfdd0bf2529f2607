// Hiding and saving stories, and subscribing to them, without loading a page

const oppositeOf = (action) => (action.startsWith("/un") ? `/${action.slice(3)}` : `/un${action.slice(1)}`);

document.addEventListener("click", (event) => {
  const button = event.target.closest(".meta button[form=items]");
  if (!button?.form) return;
  event.preventDefault();
  markStory(button);
});

async function markStory(button) {
  if (button.dataset.busy) return;
  const action = button.getAttribute("formaction");
  const item = button.closest("[data-item]");
  button.dataset.busy = "yes";
  item.querySelector(".refusal")?.remove();
  const error = await sendMark(button, action);
  delete button.dataset.busy;
  if (error) {
    showError(item, error);
    return;
  }
  setMark(button, oppositeOf(action));
  if (action === "/hide" && item.matches("li")) offerUndo(item, button);
}

function sendMark(button, action) {
  // The button of a story that has left the list is not in the document, and has no form.
  const fields = new URLSearchParams(new FormData(document.getElementById("items")));
  fields.delete("next");
  fields.set("news_id", button.value);
  return post(`/api${action}`, fields);
}

function setMark(button, action) {
  button.setAttribute("formaction", action);
  button.removeAttribute("title");
  button.textContent = itemWord(action.slice(1));
}

// A hidden story leaves the list, with a way back in its place.
function offerUndo(item, button) {
  const parts = [...item.childNodes];
  const message = document.createElement("p");
  message.className = "undone hint";
  message.setAttribute("role", "status");
  const title = document.createElement("bdi");
  title.textContent = item.querySelector("h2 > a, h2 > .gone")?.textContent;
  const undo = document.createElement("button");
  undo.type = "button";
  undo.className = "mark";
  undo.textContent = itemWord("undo");
  message.append(...filled(itemWord("hidden"), { story: title }), " ", undo);
  undo.addEventListener("click", async () => {
    const error = await sendMark(button, "/unhide");
    if (error) {
      message.append(" ", error);
      return;
    }
    setMark(button, "/hide");
    item.replaceChildren(...parts);
    button.focus();
  });
  item.replaceChildren(message);
  undo.focus();
}
