// Code that is wider than its box can be scrolled with the keyboard.
function focusWideCode(part) {
  for (const block of part.querySelectorAll(".formatted pre")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
}

focusWideCode(document);
