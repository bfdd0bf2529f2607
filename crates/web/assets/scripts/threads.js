// Links to comments. An address like /news/7#comment-3, or the original's
// /news/7#7-3, names the page of a thread, but the comment may be on another.

async function findComment() {
  const [, news] = location.pathname.match(/^\/(?:news|comment)\/(\d+)/) ?? [];
  const [, original, comment] = location.hash.match(/^#(?:comment|(\d+))-(\d+)$/) ?? [];
  if (!news || !comment || (original && original !== news)) return;
  if (document.getElementById(location.hash.slice(1))) return;
  if (!document.querySelector("[data-incomplete]")) return;
  const address = `/comment/${news}/${comment}`;
  try {
    // A deleted comment may have no page.
    const answer = await fetch(address, { method: "HEAD" });
    if (answer.ok) location.replace(address);
  } catch {}
}

window.addEventListener("hashchange", findComment);
findComment();
