// Deep links: a folded table opens, a request is looked at closer, a definition shows that it was meant.
function reveal() {
  let target = null;
  try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch (malformed) { return; }
  if (!target) return;
  const fold = target.closest("details");
  if (fold) fold.open = true;
  const table = target.closest("table.waterfall");
  if (table && target.matches("tr")) table.dispatchEvent(new CustomEvent("open-row", { detail: target }));
  if (fold || table) target.scrollIntoView({ block: "center" });
}
// Also where it is the place that the address names already: then nothing tells of a change.
function goTo(id) {
  if (!document.getElementById(id)) return;
  if (location.hash === "#" + id) reveal(); else location.hash = id;
}
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) reveal();
});
addEventListener("hashchange", reveal);
reveal();

// Where am I
const entries = new Map(all(".toc a").map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((seen) => {
  seen.filter((each) => each.isIntersecting).forEach((each) => {
    entries.forEach((link) => link.removeAttribute("aria-current"));
    const link = entries.get(each.target.id);
    if (!link) return;
    const list = link.closest("ol");
    link.setAttribute("aria-current", "true");
    if (list.scrollWidth > list.clientWidth) list.scrollLeft = link.offsetLeft - 60;
  });
}, { rootMargin: "-12% 0px -80% 0px" });
all("main > section").forEach((section) => watcher.observe(section));
