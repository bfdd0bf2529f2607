// The content script of result pages. It knows neither engines nor servers: the
// worker tells it which links to look for and what to put in front of them. A
// content script cannot be a module, so all other code is in the worker.

(() => {
  /** The maximum number of links in a message. The worker ignores a message with more. */
  const MAX_LINKS = 100;
  /** How long to wait after a change of the page before looking for new results. */
  const DELAY_MILLISECONDS = 100;

  /** For each score, the icon, and the messages of its label and its meaning. */
  const KINDS = {
    Good: { icon: "good", label: "good_site", meaning: "trusted" },
    Controversial: { icon: "controversial", label: "controversial_site", meaning: "divided" },
    Bad: { icon: "bad", label: "bad_site", meaning: "distrusted" },
  };

  /** For each link that was looked up: its address at that time, and its mark or null. */
  const seen = new WeakMap();
  let isScheduled = false;

  start();

  async function start() {
    const page = await send({ type: "page" });
    if (!page?.results) {
      return;
    }
    const observer = new MutationObserver(() => {
      if (!isScheduled) {
        isScheduled = true;
        setTimeout(() => {
          isScheduled = false;
          scan(page);
        }, DELAY_MILLISECONDS);
      }
    });
    const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ["href"] };
    observer.observe(document.documentElement, changes);
    scan(page);
  }

  /** Marks the results that are new, have changed or have lost their mark. */
  async function scan(page) {
    const links = [...document.querySelectorAll(page.results)].filter((link) => link.href && !isDone(link));
    links.forEach((link) => seen.set(link, { href: link.href, mark: null }));
    for (let start = 0; start < links.length; start += MAX_LINKS) {
      const batch = links.slice(start, start + MAX_LINKS);
      const hrefs = batch.map((link) => seen.get(link).href);
      const answer = await send({ type: "scores", links: hrefs });
      answer?.marks?.forEach((found, position) => mark(batch[position], hrefs[position], found, page));
    }
  }

  function isDone(link) {
    const known = seen.get(link);
    return known?.href === link.href && (known.mark === null || link.contains(known.mark));
  }

  function mark(link, href, found, page) {
    const kind = Object.hasOwn(KINDS, found?.score ?? "") ? KINDS[found.score] : null;
    // The page may have changed the link while the worker looked it up.
    if (link.href !== href) {
      return;
    }
    const title = (page.title && link.querySelector(page.title)) || link;
    title.querySelectorAll(":scope > .tidings-mark").forEach((old) => old.remove());
    if (kind === null) {
      return;
    }
    const element = document.createElement("span");
    element.className = "tidings-mark";
    element.dataset.score = found.score;
    element.textContent = page.icons[kind.icon];
    element.title = chrome.i18n.getMessage(kind.meaning, found.host);
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", chrome.i18n.getMessage(kind.label));
    title.prepend(element);
    seen.set(link, { href, mark: element });
  }

  /** Sends a message to the worker. Null if it fails, for example because the extension was updated or removed. */
  async function send(message) {
    try {
      const answer = await chrome.runtime.sendMessage(message);
      return answer?.error === undefined ? answer : null;
    } catch {
      return null;
    }
  }
})();
