// Links to comments. An address like /news/7#comment-3, or the original's
// /news/7#7-3, names the page of a thread, but the comment may be on another.

async function findComment() {
  const [, news] = location.pathname.match(/^\/news\/(\d+)/) ?? [];
  const [, original, comment] = location.hash.match(/^#(?:comment|(\d+))-(\d+)$/) ?? [];
  if (!news || !comment || (original && original !== news)) return;
  if (document.getElementById(location.hash.slice(1))) return;
  if (!document.querySelector("[data-incomplete]")) return;
  const sort = new URLSearchParams(location.search).get("sort");
  const address = `/news/${news}?at=${comment}${sort ? `&sort=${encodeURIComponent(sort)}` : ""}`;
  try {
    // A deleted comment may have no page.
    const answer = await fetch(address, { method: "HEAD" });
    if (answer.ok) location.replace(`${address}#comment-${comment}`);
  } catch {}
}

window.addEventListener("hashchange", findComment);
findComment();

// Collapsed branches. They work without this script, which remembers them: the
// last ones, as "news-comment" in the order of collapsing. Storage throws in a
// browser that blocks it.

const COLLAPSED = "collapsed";
const MAX_COLLAPSED = 500;
const branches = [...document.querySelectorAll(".thread .branch")];
const newsOfThread = location.pathname.match(/^\/news\/(\d+)/)?.[1];

// Browsers lay out what is in a closed branch, so it may have a size.
const isOnPage = (element) => element.checkVisibility?.() ?? element.getClientRects().length > 0;
const idOfBranch = (branch) => branch.parentElement.id.replace("comment", newsOfThread);
const isTopBranch = (branch) => !branch.parentElement.closest(".branch");

function collapsedIds() {
  try {
    const stored = JSON.parse(localStorage.getItem(COLLAPSED));
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

function rememberBranches(changed) {
  const states = new Map(changed.map((branch) => [idOfBranch(branch), branch.open]));
  const kept = collapsedIds().filter((id) => !states.has(id));
  const added = [...states].filter(([, isOpen]) => !isOpen).map(([id]) => id);
  try {
    localStorage.setItem(COLLAPSED, JSON.stringify([...kept, ...added].slice(-MAX_COLLAPSED)));
  } catch {}
}

function setOpen(changed, isOpen) {
  for (const branch of changed) branch.open = isOpen;
  rememberBranches(changed);
  showCollapseAll();
}

function restoreBranches() {
  const collapsed = new Set(collapsedIds());
  for (const branch of branches) branch.open = !collapsed.has(idOfBranch(branch));
}

// Opens what hides a comment that the address names.
function openTarget(hash) {
  const target = hash.length > 1 ? document.getElementById(decodeURIComponent(hash.slice(1))) : undefined;
  const closed = [];
  for (let at = target?.closest(".branch"); at; at = at.parentElement.closest(".branch")) {
    if (!at.open) closed.push(at);
  }
  const own = target?.querySelector(":scope > .branch");
  if (own && !own.open) closed.push(own);
  if (closed.length === 0) return;
  setOpen(closed, true);
  target.scrollIntoView();
}

// The button that collapses or expands all branches.
let collapseAllButton;

function addCollapseAll() {
  const tools = document.querySelector("[data-tools]");
  if (!tools || branches.length < 2) return;
  collapseAllButton = document.createElement("button");
  collapseAllButton.type = "button";
  collapseAllButton.className = "button quiet small";
  collapseAllButton.addEventListener("click", toggleAllBranches);
  tools.append(collapseAllButton);
  showCollapseAll();
}

const hasOpenBranch = () => branches.some((branch) => isTopBranch(branch) && branch.open);

function showCollapseAll() {
  if (collapseAllButton) collapseAllButton.textContent = word(hasOpenBranch() ? "collapse" : "expand");
}

function toggleAllBranches() {
  if (branches.length === 0) return;
  if (hasOpenBranch()) setOpen(branches.filter((branch) => isTopBranch(branch)), false);
  else setOpen(branches, true);
}

// The branch of the comment that the shortcuts have reached, or the first on the screen.
function toggleBranch(item) {
  const shown = branches.filter(isOnPage);
  const branch = item?.closest(".branch") ?? shown.find((each) => each.getBoundingClientRect().bottom > 0);
  if (!branch) return;
  setOpen([branch], !branch.open);
  branch.querySelector("summary").focus({ preventScroll: true });
  branch.scrollIntoView({ block: "nearest" });
}

// The new comment after or before another, or after the top of the screen; beyond the last, the first.
function newComment(from, step) {
  const fresh = [...document.querySelectorAll(".comment.is-new")];
  if (fresh.length === 0) return undefined;
  const isPast = (item) => {
    if (!from) return item.getBoundingClientRect().top > 0;
    const position = from.compareDocumentPosition(item);
    return position & (step > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING);
  };
  const next = step > 0 ? fresh.find(isPast) ?? fresh[0] : fresh.findLast(isPast) ?? fresh.at(-1);
  const closed = [];
  for (let at = next.closest(".branch"); at; at = at.parentElement.closest(".branch")) {
    if (!at.open) closed.push(at);
  }
  setOpen(closed, true);
  return next;
}

function parentOf(item) {
  return item?.closest(".thread li")?.parentElement.closest(".thread li")?.querySelector(".comment");
}

if (branches.length > 0) {
  restoreBranches();
  addCollapseAll();
  document.addEventListener("click", (event) => {
    const summary = event.target.closest?.(".branch > summary");
    // The browser changes the element after the click.
    if (summary) setTimeout(() => setOpen([summary.parentElement], summary.parentElement.open));
    // The line beside the replies.
    if (event.target.matches?.(".replies")) setOpen([event.target.closest(".branch")], false);
    const link = event.target.closest?.("a[href^='#']");
    if (link) openTarget(link.hash);
  });
  window.addEventListener("hashchange", () => openTarget(location.hash));
  openTarget(location.hash);
  // From a list: to the first new comment itself.
  const firstNew = location.hash === "#new" ? document.querySelector("[data-first-new]") : undefined;
  if (firstNew?.getAttribute("href").startsWith("#")) location.replace(firstNew.hash);
  // Some browsers cannot open branches by style.
  let closedForPrint = [];
  window.addEventListener("beforeprint", () => {
    closedForPrint = branches.filter((branch) => !branch.open);
    for (const branch of closedForPrint) branch.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const branch of closedForPrint) branch.open = false;
  });
}
