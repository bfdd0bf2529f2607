// Character counter

// Counts characters as people do: an emoji of several code points is one.
const segmenter = "Segmenter" in Intl ? new Intl.Segmenter() : undefined;

function lengthOf(text) {
  return segmenter ? [...segmenter.segment(text)].length : [...text].length;
}

for (const field of document.querySelectorAll("textarea[data-limit]")) {
  const counter = document.createElement("p");
  counter.className = "hint";
  field.form.querySelector("button").after(counter);
  const show = () => {
    const left = Number(field.dataset.limit) - lengthOf(field.value.trim());
    counter.textContent = (left < 0 ? counted("over", -left) : counted("left", left)).join("");
    counter.classList.toggle("over", left < 0);
    // Screen readers only announce the count near the limit.
    counter.setAttribute("aria-live", left <= 20 ? "polite" : "off");
  };
  field.addEventListener("input", show);
  show();
}
