// Code that is wider than its box can be scrolled with the keyboard.
for (const block of document.querySelectorAll(".formatted pre")) {
  if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
}
