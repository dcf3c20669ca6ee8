// Sort by any column; what is unknown stays last either way.
const sortValue = (row, at) => {
  const raw = row.cells[at].dataset.v;
  return raw === undefined ? null : raw !== "" && !isNaN(raw) ? Number(raw) : raw;
};
const order = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
function sort(table, head, at) {
  const down = head.getAttribute("aria-sort") !== "descending";
  all("tr.closer", table).forEach((row) => row.remove());
  all("tr.opened", table).forEach(shut);
  all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row, place) => ({ row, place, key: sortValue(row, at) }));
  rows.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
    return (down ? order(b.key, a.key) : order(a.key, b.key)) || a.place - b.place;
  });
  body.append(...rows.map((each) => each.row));
}
all("table.sortable").forEach((table) => {
  if (table.tBodies[0].rows.length < 2) return;
  all("thead th", table).forEach((head, at) => {
    if (head.dataset.fixed !== undefined) return;
    const name = head.textContent, button = make("button", "sort");
    button.type = "button";
    button.title = "Sort";
    button.setAttribute("aria-label", "Sort by " + name);
    head.append("\u00a0", button);
    head.addEventListener("click", (event) => { if (!event.target.closest("a, button")) button.click(); });
    button.addEventListener("click", () => {
      sort(table, head, at);
      say("Sorted by " + name + ", " + head.getAttribute("aria-sort"));
    });
  });
});

// Copy as tab-separated text, names in full. What a spreadsheet would compute starts with an apostrophe; numbers do not.
const copied = (cell) => {
  const code = one("code[title]", cell);
  const text = (code ? code.title : cell.textContent).trim().replace(/[\t\n]+/g, " ");
  return /^[=+@-]/.test(text) && !/^[+-]?[\d.,]+( ?%)?$/.test(text) ? "'" + text : text;
};
const asText = (table) => all("tr:not(.closer)", table)
  .map((row) => Array.from(row.cells).filter((cell) => !cell.matches(".axis, .pathcell")).map(copied).join("\t")).join("\n");
function copy(text, done) {
  const old = () => {
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    done();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, old); else old();
}
all("table.sortable").forEach((table) => {
  const caption = document.getElementById(table.getAttribute("aria-labelledby")), button = make("button", "copy", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", "Copy table: " + caption.textContent);
  caption.after(button);
  button.addEventListener("click", () => copy(asText(table), () => {
    button.textContent = "Copied";
    say("Table copied");
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }));
});
