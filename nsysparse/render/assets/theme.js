// Before the first paint: what is drawn only with scripts has its room, and the theme chosen last is there.
document.documentElement.classList.add("js");
try {
  const chosen = localStorage.getItem("nsysparse-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch (refused) { /* a page opened from a file may have no storage */ }
