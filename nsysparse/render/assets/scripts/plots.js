// What plotly draws: data and labels come from the page, colours and type from the theme, the room from what stood there.
const SETTINGS = { displayModeBar: false, responsive: true, doubleClick: false };
const typeface = () => ({
  family: token("sans"), size: Math.max(12.5, parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.78), color: token("muted"),
});
const canvas = () => ({
  paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: token("panel"), font: typeface(), showlegend: false,
  hoverlabel: { bgcolor: token("bg"), bordercolor: token("line"), font: { color: token("ink"), family: token("sans") } },
});
const markup = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const few = (value) => Number(value.toPrecision(3)).toLocaleString("en");
const COLOURS = { pause: "gap", hidden: "gap", unknown: "hatch", count: "ink" };
const colourOf = (meaning) => token(COLOURS[meaning] || meaning);
// What is not known is hatched here, too: as a plain grey it would be compute.
const filled = (meaning) => (meaning === "unknown"
  ? { color: token("panel"), pattern: { shape: "/", fgcolor: token("hatch"), bgcolor: token("panel"), size: 6, solidity: 0.35 }, line: { width: 1, color: token("hatch") } }
  : { color: colourOf(meaning), line: { width: 0 } });
// Near the viewport, after the first paint: the picture below already stands.
const soon = new IntersectionObserver((seen) => {
  seen.filter((each) => each.isIntersecting).forEach((each) => {
    soon.unobserve(each.target);
    each.target.startDrawing();
  });
}, { rootMargin: "400px" });
function later(box, start) {
  let begun = false; // it comes near, or is asked for before
  box.startDrawing = () => {
    if (begun) return;
    begun = true;
    setTimeout(() => { box.classList.add("drawn"); start(); redraws.push(start); });
  };
  soon.observe(box);
}
