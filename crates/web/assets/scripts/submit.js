// Submitting a story: the title of the page, an earlier story with the same URL, stories with a
// title like it, and buttons of topics. Without this script the buttons send the form, which comes back filled in.

// Milliseconds without typing before a URL or a title is looked up.
const LOOK_UP_PAUSE = 400;

const submission = document.querySelector("form[data-submission]");
let lookUp;
let lookUpTimer;
let similarTimer;

// Returns the answer of a call, or undefined.
async function answerOf(url, options) {
  try {
    return await (await fetch(url, options)).json();
  } catch {
    return undefined;
  }
}

function note(...parts) {
  const paragraph = document.createElement("p");
  paragraph.className = "hint";
  paragraph.append(...parts);
  return paragraph;
}

// The age of a story, as pages say it. The clock is that of the site.
function ageOf(ctime) {
  const seconds = Number(submission.dataset.now) + performance.now() / 1000 - ctime;
  if (seconds >= 604_800) {
    return new Date(ctime * 1000).toLocaleDateString(dateLanguage, { dateStyle: "medium", timeZone: "UTC" });
  }
  const units = Object.entries({ day: 86_400, hour: 3_600, minute: 60 });
  const [unit, length] = units.find(([, length]) => seconds >= length) ?? [];
  return unit ? new Intl.RelativeTimeFormat(language).format(-Math.floor(seconds / length), unit) : word("now");
}

// Shows the story that the URL leads to. Returns the answer, unless the URL has changed meanwhile.
async function findDuplicate() {
  const { url, news_id: id } = submission.elements;
  const place = submission.querySelector("[data-duplicate]");
  clearTimeout(lookUpTimer);
  lookUp?.abort();
  const { signal } = (lookUp = new AbortController());
  const typed = url.value.trim();
  const answer = typed && (await answerOf(`/api/duplicate?${new URLSearchParams({ url: typed })}`, { signal }));
  if (signal.aborted) return undefined;
  const earlier = answer?.status === "ok" ? answer.news_id : undefined;
  if (!earlier || String(earlier) === id.value) {
    place.replaceChildren();
    return answer;
  }
  const link = document.createElement("a");
  link.href = `/news/${earlier}`;
  link.textContent = answer.title;
  place.replaceChildren(note(...filled(word("submitted"), { age: ageOf(answer.ctime), story: link })));
  return answer;
}

// Shows stories with a title like the typed one.
async function findSimilar() {
  const { title } = submission.elements;
  const place = submission.querySelector("[data-similar]");
  const typed = title.value.trim();
  const answer = typed && (await answerOf(`/api/search/similar?${new URLSearchParams({ title: typed })}`));
  if (typed !== title.value.trim()) return;
  const found = answer?.stories ?? [];
  if (!found.length) return place.replaceChildren();
  const list = document.createElement("ul");
  for (const { id, title: name, comments, ctime } of found) {
    const [item, link] = [document.createElement("li"), document.createElement("a")];
    link.href = `/news/${id}`;
    link.textContent = name;
    item.append(link, ` ${ageOf(ctime)}, `, ...counted("comments", comments));
    list.append(item);
  }
  place.replaceChildren(note(word("similar")), list);
}

// Puts the URL into the field as the site would store it.
async function completeUrl() {
  const answer = await findDuplicate();
  if (answer?.status === "ok") submission.elements.url.value = answer.url;
}

function showUrlError(text) {
  const { url } = submission.elements;
  document.getElementById("error-url")?.remove();
  url.removeAttribute("aria-invalid");
  url.removeAttribute("aria-describedby");
  if (!text) return;
  const error = document.createElement("p");
  error.id = "error-url";
  error.className = "error";
  error.setAttribute("role", "alert");
  url.after(error);
  error.append(text);
  url.setAttribute("aria-invalid", "true");
  url.setAttribute("aria-describedby", error.id);
}

async function fetchTitle(button) {
  if (button.getAttribute("aria-disabled")) return;
  const { url, title, apisecret } = submission.elements;
  const place = submission.querySelector("[data-fetched]");
  button.setAttribute("aria-disabled", "true");
  place.replaceChildren(note(word("fetching")));
  showUrlError();
  await completeUrl();
  const body = new URLSearchParams({ url: url.value.trim(), apisecret: apisecret.value });
  const answer = await answerOf("/api/fetchtitle", { method: "POST", body });
  button.removeAttribute("aria-disabled");
  if (answer?.status !== "ok") {
    place.replaceChildren();
    showUrlError(refusalOf(answer ?? {}));
    return;
  }
  const before = title.value.trim();
  title.value = answer.title;
  title.dispatchEvent(new Event("input", { bubbles: true }));
  const isReplaced = before && before !== answer.title;
  place.replaceChildren(note(...filled(word(isReplaced ? "replaced" : "fetched"), { title: before })));
}

function prepareTopicButtons(group) {
  const { topics } = submission.elements;
  const names = () => topics.value.split(",").map((name) => name.trim()).filter(Boolean);
  topics.addEventListener("input", () => {
    const chosen = names();
    for (const button of group.children) button.setAttribute("aria-pressed", String(chosen.includes(button.value)));
  });
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    event.preventDefault();
    const chosen = names();
    const others = chosen.filter((name) => name !== button.value);
    topics.value = (others.length < chosen.length ? others : [...chosen, button.value]).join(", ");
    topics.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

if (submission) {
  const { url, title } = submission.elements;
  url.addEventListener("input", () => {
    clearTimeout(lookUpTimer);
    lookUpTimer = setTimeout(findDuplicate, LOOK_UP_PAUSE);
  });
  url.addEventListener("change", completeUrl);
  if (url.value) findDuplicate();
  if (submission.querySelector("[data-similar]")) {
    title.addEventListener("input", () => {
      clearTimeout(similarTimer);
      similarTimer = setTimeout(findSimilar, LOOK_UP_PAUSE);
    });
  }
  submission.querySelector("[data-fetch-title]")?.addEventListener("click", (event) => {
    event.preventDefault();
    fetchTitle(event.currentTarget);
  });
  const group = submission.querySelector("[data-topic-buttons]");
  if (group) prepareTopicButtons(group);
}
