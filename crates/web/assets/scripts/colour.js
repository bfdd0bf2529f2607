// The accent colour of the site: its preview and its contrast while it is chosen.

const accentField = document.querySelector("input[type=color]");
const contrastFormat = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

accentField?.addEventListener("input", () => {
  for (const preview of document.querySelectorAll("[data-page]")) {
    const [dark, light] = [accentField.value, preview.dataset.page].map(luminance).sort((a, b) => a - b);
    preview.querySelector("rect + rect").setAttribute("fill", accentField.value);
    preview.querySelector("[data-contrast]").textContent = contrastFormat.format((light + 0.05) / (dark + 0.05));
  }
});
