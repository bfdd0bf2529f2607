// Passkeys: only a script can talk to an authenticator.

const CAN_USE_PASSKEYS =
  typeof window.PublicKeyCredential?.parseCreationOptionsFromJSON === "function" &&
  typeof window.PublicKeyCredential.parseRequestOptionsFromJSON === "function";

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options);
  const response = await fetch(`${form.getAttribute("action")}/options`, { method: "POST" });
  return response.json();
}

async function askForPasskey(form) {
  const options = await optionsOf(form);
  return form.dataset.passkey === "create"
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

async function sendPasskey(form) {
  const error = form.querySelector("[role=alert]");
  const button = form.querySelector("button");
  error.hidden = true;
  button.disabled = true;
  try {
    const credential = await askForPasskey(form);
    form.elements.passkey.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (failure) {
    error.textContent = word(failure.name === "InvalidStateError" ? "passkey-known" : "passkey-failed");
    error.hidden = false;
    button.disabled = false;
  }
}

if (CAN_USE_PASSKEYS) {
  for (const hint of document.querySelectorAll("[data-no-passkeys]")) hint.hidden = true;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sendPasskey(form);
    });
    if ("start" in form.dataset) sendPasskey(form);
  }
}
