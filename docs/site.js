// The theme makes a landmark for the button of each block of code, all with the same name.
new MutationObserver(() => {
  document.querySelectorAll("nav.md-code__nav:not([role])").forEach((nav) => nav.setAttribute("role", "none"));
}).observe(document.body, { childList: true, subtree: true });
