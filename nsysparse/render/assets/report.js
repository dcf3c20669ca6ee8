"use strict";
// Tables and figures stand without this script; it adds sorting, the reader's place, and the interactive heatmap.
// Text reaches the page by textContent only.
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  // Sort by any column; what is unknown stays last either way.
  const value = (row, at) => {
    const raw = row.cells[at].dataset.v;
    return raw === undefined ? null : raw !== "" && !isNaN(raw) ? Number(raw) : raw;
  };
  const order = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  function sort(table, head, at) {
    const down = head.getAttribute("aria-sort") !== "descending";
    all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row, place) => ({ row, place, key: value(row, at) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      return (down ? order(b.key, a.key) : order(a.key, b.key)) || a.place - b.place;
    });
    body.append(...rows.map((each) => each.row));
  }
  all("table.sortable").forEach((table) => {
    if (table.tBodies[0].rows.length < 2) return;
    all("thead th", table).forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort";
      button.setAttribute("aria-label", "Sort by " + head.textContent);
      head.append("\u00a0", button);
      button.addEventListener("click", () => sort(table, head, at));
    });
  });

  // A definition may lie in view already: a link to it must still be seen to work, and a folded table must open.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest("details");
    if (fold) { fold.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Where am I
  const links = new Map(all(".toc a").map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      links.forEach((link) => link.removeAttribute("aria-current"));
      const link = links.get(entry.target.id);
      const list = link.closest("ol");
      link.setAttribute("aria-current", "true");
      if (list.scrollWidth > list.clientWidth) list.scrollLeft = link.offsetLeft - 60;
    });
  }, { rootMargin: "-12% 0px -80% 0px" });
  all("main > section").forEach((section) => watcher.observe(section));

  // The heatmap: data and labels come from the page, colours and type from the theme.
  function draw(box) {
    const figure = JSON.parse(document.getElementById(box.dataset.figure).textContent);
    const narrow = box.clientWidth < 560, trace = figure.data[0], layout = figure.layout;
    const font = { family: token("sans"), size: 12.5, color: token("muted") };
    trace.colorscale = [0, 1, 2, 3, 4, 5].map((shade) => [shade / 5, token("heat-" + shade)]);
    trace.showscale = !narrow;
    trace.colorbar = Object.assign(trace.colorbar || {}, { thickness: 12, outlinewidth: 0, len: 0.9 });
    Object.assign(layout, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: token("panel"), font,
      height: Math.min(620, Math.max(300, 110 + 14 * box.dataset.rows)), margin: { l: 8, r: 8, t: 8, b: 8 },
      hoverlabel: { bgcolor: token("bg"), bordercolor: token("line"), font: { color: token("ink"), family: font.family } },
    });
    layout.xaxis.tickangle = -45;
    layout.xaxis.nticks = narrow ? 6 : 24;
    layout.yaxis.nticks = 16;
    box.classList.add("drawn");
    box.classList.toggle("narrow", narrow);
    Plotly.react(box.querySelector(".plot"), figure.data, layout, { displayModeBar: false, responsive: true });
  }
  // After the first paint: the picture below it already stands.
  addEventListener("load", () => setTimeout(() => all(".heatbox").forEach(draw)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => all(".heatbox.drawn").forEach(draw));
})();
