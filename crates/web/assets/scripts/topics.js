// Topic completion. A browser completes the whole value of a field, so each
// suggestion contains the topics that precede the last one.

for (const field of document.querySelectorAll("input[data-several]")) {
  const names = [...(field.list?.options ?? [])].map((option) => option.value);
  field.addEventListener("input", () => {
    const before = field.value.match(/^(.*,\s*)?/)[0];
    const chosen = before.split(",").map((name) => name.trim());
    const suggestions = names.filter((name) => !chosen.includes(name));
    field.list?.replaceChildren(...suggestions.map((name) => new Option("", before + name)));
  });
}
