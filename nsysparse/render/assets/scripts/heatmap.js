// Layer by request: one figure per view; a cell leads to its request.
all(".heatbox").forEach((box) => {
  const known = data(box.dataset.figure), plot = one(".plot", box), buttons = all("[data-view]", box.parentNode);
  let shown = 0, wired = false;
  const start = () => {
    const figure = known.figures[shown], narrow = box.clientWidth < 560, trace = figure.data[0];
    // A scale that goes both ways has steps, and the page has their key below; another has shades that blend.
    const steps = figure.layout.meta && figure.layout.meta.steps, key = one(".scale", box.parentNode);
    if (key) key.hidden = !steps;
    box.classList.toggle("unknown-hatched", Boolean(steps));
    trace.colorscale = steps ? steps.map(([end, shade]) => [end, token(shade)]) : [0, 1, 2, 3, 4, 5].map((shade) => [shade / 5, token("heat-" + shade)]);
    trace.showscale = !narrow && !(steps && key);
    trace.colorbar = Object.assign(trace.colorbar || {}, { thickness: 12, outlinewidth: 0, len: 1, xpad: 16, ypad: 0, ticklen: 4, tickcolor: token("line") });
    const titled = (axis) => ({ title: Object.assign({}, axis.title, { font: typeface(), standoff: 10 }), tickcolor: token("line"), ticklen: 4 });
    if (trace.colorbar.title) trace.colorbar.title.font = typeface();
    if (known.names.length) {
      trace.text = figure.rows = figure.rows || Array(trace.y.length).fill(known.names);
    }
    const layout = Object.assign({}, figure.layout, canvas(), { height: box.clientHeight, margin: { l: 8, r: 8, t: 8, b: 8 } });
    layout.xaxis = Object.assign({}, figure.layout.xaxis, titled(figure.layout.xaxis), { nticks: narrow ? 6 : 24, fixedrange: narrow });
    layout.yaxis = Object.assign({}, figure.layout.yaxis, titled(figure.layout.yaxis), { nticks: 16, fixedrange: narrow });
    Plotly.react(plot, figure.data, layout, Object.assign({}, SETTINGS, { doubleClick: "reset" }));
    if (wired) return;
    wired = true;
    plot.on("plotly_click", (event) => {
      const index = event.points[0].pointIndex || event.points[0].pointNumber, anchor = index && known.anchors[index[1]];
      if (anchor) goTo(anchor);
    });
  };
  buttons.forEach((button) => button.addEventListener("click", () => {
    shown = Number(button.dataset.view);
    buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    start();
  }));
  later(box, start);
});
