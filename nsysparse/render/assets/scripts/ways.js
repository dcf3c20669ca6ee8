// A closer look at one request: its segments, its layers, and what else is known of it.
function shut(row) {
  row.classList.remove("opened");
  one(".row", row).setAttribute("aria-expanded", "false");
  if (row.nextElementSibling && row.nextElementSibling.matches(".closer")) row.nextElementSibling.remove();
}
function shutAll() { all("tr.opened").forEach(shut); }
function profile(title, labels, values) {
  const top = values.reduce((most, value) => Math.max(most, value || 0), 0), step = 100 / labels.length;
  const bars = values.flatMap((value, at) => {
    if (value === null) return [];
    const height = Math.max(1, value / (top || 1) * 72);
    const bar = draw("rect", { x: at * step + "%", width: step * 0.8 + "%", y: 84 - height, height, class: "mark-count" });
    const name = draw("title", {});
    name.textContent = "layer " + labels[at] + ": " + value.toLocaleString("en");
    bar.append(name);
    return [bar];
  });
  const every = Math.max(1, Math.ceil(labels.length / 8));
  const ticks = labels.flatMap((label, at) => {
    if (at % every) return [];
    const text = draw("text", { x: (at + 0.4) * step + "%", y: 100, class: "tick", "text-anchor": at ? "middle" : "start" });
    text.textContent = label;
    return [text];
  });
  const box = make("div"), head = make("h4", "", title + ", highest " + top.toLocaleString("en"));
  box.append(head, draw("svg", { width: "100%", height: 104, class: "chart", role: "img", "aria-label": title }, ...bars, ...ticks));
  return box;
}
function lookCloser(table, row, known) {
  const opened = row.classList.contains("opened");
  shutAll();
  if (opened) return;
  row.classList.add("opened");
  one(".row", row).setAttribute("aria-expanded", "true");
  const told = known.rows[row.id], line = make("tr", "closer"), cell = make("td"), box = make("div", "inside");
  cell.colSpan = row.cells.length;
  line.setAttribute("role", "row");
  cell.setAttribute("role", "cell");
  line.append(cell);
  cell.append(box);
  box.append(make("p", "whole", told.name));
  const segments = make("table"), body = make("tbody");
  told.segments.forEach(([label, look, text]) => {
    const each = make("tr"), mark = make("td");
    mark.append(draw("svg", { "aria-hidden": "true" }, draw("rect", { width: 14, height: 10, class: look })));
    each.append(mark, make("td", "", label), make("td", "r", text));
    body.append(each);
  });
  segments.append(body);
  box.append(segments);
  const right = make("div");
  if (told.profile.length) right.append(profile(known.profile, known.labels, told.profile));
  if (told.notes.length) right.append(make("p", "note", told.notes.join(" · ")));
  box.append(right);
  row.after(line);
  history.replaceState(null, "", "#" + row.id);
}
all("table.waterfall").forEach((table) => {
  const known = data(table.dataset.figure);
  all("tbody tr", table).forEach((row) => {
    const name = one("code", row.cells[0]), button = make("button", "row");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    if (name.title) button.title = name.title;
    button.textContent = name.textContent;
    const kept = make("code", "vh", name.title || name.textContent);
    kept.title = name.title || name.textContent;
    kept.setAttribute("aria-hidden", "true");
    name.replaceWith(button, kept);
    row.addEventListener("click", () => lookCloser(table, row, known));
  });
  table.addEventListener("open-row", (event) => {
    if (!event.detail.classList.contains("opened")) lookCloser(table, event.detail, known);
  });
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const row = one("tr.opened");
  if (row) { shut(row); one(".row", row).focus(); }
});
