// New tweets

const live = document.querySelector("[data-live]");
let stream;

function listen() {
  if (stream || document.hidden) return;
  stream = new EventSource(live.dataset.live);
  stream.addEventListener("new", (event) => showNew(Number(event.data)));
  // The browser reconnects by itself after a lost connection, but not after an
  // error response. In that case, try again when the page is next shown.
  stream.addEventListener("error", () => {
    if (stream?.readyState === EventSource.CLOSED) stream = undefined;
  });
}

function stopListening() {
  stream?.close();
  stream = undefined;
}

// The server stops counting at 100.
function showNew(count) {
  if (count === 0) {
    live.replaceChildren();
    return;
  }
  const link = live.querySelector("a") ?? document.createElement("a");
  link.href = "/home";
  link.textContent = count < 100 ? counted("posts", count).join("") : word("many-posts");
  if (!link.isConnected) live.append(link);
}

if (live) {
  document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
  // The browser may cache a page that the user leaves, and show it again.
  window.addEventListener("pagehide", stopListening);
  window.addEventListener("pageshow", listen);
  listen();
}
