// Runs on result pages. It knows no engine and no server: the worker tells
// what to look for, and what to put beside it. (A script of this kind cannot
// be a module; all rules are in the modules of the worker.)

(() => {
  /** Links in one message to the worker, which takes no more. */
  const MOST_LINKS = 100;
  /** How long after a change of the page new results are looked for, in milliseconds. */
  const DELAY = 100;

  const KINDS = {
    Good: { icon: "good", label: "Good site", meaning: "Your community trusts" },
    Controversial: { icon: "controversial", label: "Controversial site", meaning: "Your community is divided on" },
    Bad: { icon: "bad", label: "Bad site", meaning: "Your community distrusts" },
  };

  /** For each link that was looked up: its address then, and its mark if it has one. */
  const seen = new WeakMap();
  let waiting = false;

  start();

  async function start() {
    const page = await ask({ ask: "page" });
    if (!page?.results) {
      return;
    }
    const observer = new MutationObserver(() => {
      if (!waiting) {
        waiting = true;
        setTimeout(() => {
          waiting = false;
          scan(page);
        }, DELAY);
      }
    });
    const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ["href"] };
    observer.observe(document.documentElement, changes);
    scan(page);
  }

  /** Marks the results that are new, were changed, or have lost their mark. */
  async function scan(page) {
    const links = [...document.querySelectorAll(page.results)].filter((link) => link.href && !isDone(link));
    links.forEach((link) => seen.set(link, { href: link.href, mark: null }));
    for (let start = 0; start < links.length; start += MOST_LINKS) {
      const some = links.slice(start, start + MOST_LINKS);
      const hrefs = some.map((link) => seen.get(link).href);
      const answer = await ask({ ask: "scores", links: hrefs });
      answer?.marks?.forEach((found, position) => mark(some[position], hrefs[position], found, page));
    }
  }

  function isDone(link) {
    const known = seen.get(link);
    return known?.href === link.href && (known.mark === null || link.contains(known.mark));
  }

  function mark(link, href, found, page) {
    const kind = Object.hasOwn(KINDS, found?.score ?? "") ? KINDS[found.score] : null;
    // The page may have changed the link while the worker was asked.
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
    element.title = `${kind.meaning} ${found.host}`;
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", kind.label);
    title.prepend(element);
    seen.set(link, { href, mark: element });
  }

  /** Asks the worker. Null when it cannot answer, also after the extension was updated or removed. */
  async function ask(message) {
    try {
      const answer = await chrome.runtime.sendMessage(message);
      return answer?.error === undefined ? answer : null;
    } catch {
      return null;
    }
  }
})();
