// The timeline: of all levels of detail the finest that leaves the part in view with few enough marks to stay smooth.
const MOST_IN_VIEW = 3000;
const ARRAYS = { lane: Uint16Array, meaning: Uint8Array, start: Float64Array, length: Float32Array, busy: Float32Array, count: Uint32Array, owner: Int32Array };
const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
const lasting = (ns) => (ns >= 1e9 ? few(ns / 1e9) + " s" : ns >= 1e6 ? few(ns / 1e6) + " ms" : ns >= 1e3 ? few(ns / 1e3) + " µs" : few(ns) + " ns");

all(".lanebox").forEach((box) => {
  const known = data(box.dataset.figure), plot = one(".plot", box), told = one(".told", box.parentNode);
  const levels = known.levels.map((level) => {
    const columns = { merged: level.merged };
    Object.entries(ARRAYS).forEach(([name, Kind]) => { columns[name] = unpack(level[name], Kind); });
    return columns;
  });
  const seconds = known.end >= 1e10, unit = seconds ? 1e9 : 1e6;
  let range = [0, known.end / unit], wired = false, listening = true;

  // Which marks of a level touch what is in view; a call may be an instant, also the first or the last one.
  const inView = (level) => {
    const from = range[0] * unit, to = range[1] * unit, found = [];
    for (let at = 0; at < level.start.length; at += 1) {
      if (level.start[at] <= to && level.start[at] + level.length[at] >= from) found.push(at);
    }
    return found;
  };
  const chosen = () => {
    for (let at = levels.length - 1; at > 0; at -= 1) {
      const found = inView(levels[at]);
      if (found.length <= MOST_IN_VIEW) return [levels[at], found];
    }
    return [levels[0], inView(levels[0])];
  };
  const hover = (level, at) => {
    const count = level.count[at], owner = level.owner[at], name = known.names[known.meanings[level.meaning[at]]] || "";
    const merged = count > 1 ? "<br>" + count.toLocaleString("en") + " as one, busy " + few(level.busy[at] * 100) + " %" : "";
    return markup(name) + " " + lasting(level.length[at]) + merged + (owner >= 0 ? "<br>" + markup(known.owners[owner]) : "");
  };
  const start = () => {
    const [level, found] = chosen(), least = (range[1] - range[0]) * unit / Math.max(box.clientWidth, 300);
    const traces = known.meanings.map((meaning, number) => {
      const marks = found.filter((at) => level.meaning[at] === number);
      return {
        type: "bar", orientation: "h", marker: filled(meaning),
        base: Float64Array.from(marks, (at) => level.start[at] / unit),
        x: Float64Array.from(marks, (at) => Math.max(level.length[at], least) / unit),
        y: Uint16Array.from(marks, (at) => level.lane[at]), width: 0.64,
        text: marks.map((at) => hover(level, at)), customdata: Int32Array.from(marks, (at) => level.owner[at]),
        textposition: "none", hovertemplate: "%{text}<br>at %{base:,.4~f} " + (seconds ? "s" : "ms") + "<extra></extra>",
      };
    });
    const narrow = box.clientWidth < 560, named = 16 + 5.7 * Math.max(8, ...known.lanes.map((name) => name.length));
    const layout = Object.assign(canvas(), {
      barmode: "overlay", bargap: 0, height: box.clientHeight, margin: { l: narrow ? named : Math.max(120, box.clientWidth * 0.17), r: narrow ? 16 : 28, t: 2, b: 38 }, dragmode: "zoom",
      xaxis: { range: range.slice(), ticksuffix: seconds ? " s" : " ms", gridcolor: token("grid"), zeroline: false, nticks: narrow ? 4 : 9, separatethousands: true },
      yaxis: {
        range: [known.lanes.length - 0.5, -0.5], fixedrange: true, gridcolor: token("grid"), zeroline: false, tickmode: "array",
        tickvals: known.lanes.map((_, at) => at), ticktext: known.lanes.map(markup), tickfont: { size: narrow ? 10 : typeface().size * 0.96 }, ticks: "outside", ticklen: 8, tickcolor: "rgba(0,0,0,0)",
      },
      plot_bgcolor: "rgba(0,0,0,0)",
    });
    listening = false;
    Plotly.react(plot, traces, layout, SETTINGS).then(() => { listening = true; });
    told.textContent = found.length.toLocaleString("en") + " marks" + (level.merged ? "; closer than " + lasting(level.merged) + " is one" : "; nothing merged");
    if (wired) return;
    wired = true;
    plot.on("plotly_relayout", (change) => {
      if (!listening || change["xaxis.range[0]"] === undefined) return;
      show(change["xaxis.range[0]"], change["xaxis.range[1]"]);
    });
    plot.on("plotly_doubleclick", () => show(0, known.end / unit));
    plot.on("plotly_click", (event) => {
      const anchor = known.anchors[event.points[0].customdata];
      if (anchor) goTo(anchor);
    });
  };
  const show = (from, to) => {
    const end = known.end / unit, width = Math.min(Math.max(to - from, end * 1e-7), end);
    const left = Math.min(Math.max(from, 0), end - width);
    range = [left, left + width];
    start();
  };
  const moves = {
    in: (left, width) => [left + width / 4, left + width * 3 / 4], out: (left, width) => [left - width / 2, left + width * 3 / 2],
    left: (left, width) => [left - width / 2, left + width / 2], right: (left, width) => [left + width / 2, left + width * 3 / 2],
    all: () => [0, known.end / unit],
  };
  all("[data-zoom]", box.parentNode).forEach((button) => button.addEventListener("click", () => {
    if (!wired) box.startDrawing();
    show(...moves[button.dataset.zoom](range[0], range[1] - range[0]));
  }));
  later(box, start);
});
