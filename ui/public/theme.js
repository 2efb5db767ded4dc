// Before the first paint: the theme that was chosen, else the system's. A file of its own, since the page allows no inline script.
(function () {
  var chosen = null;
  try { chosen = localStorage.getItem("remanence.theme"); } catch (e) { /* storage may be switched off */ }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
