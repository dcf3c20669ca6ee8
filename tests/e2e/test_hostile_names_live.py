"""Names that would act if they were not text: live, in every field of the report, with and without its policy."""

import re
from pathlib import Path

import factories
import pytest
from browsing import Opened, OpenReport, plain, quiet
from reported import written

from nsysparse.render.names import shortened

OWN = "window.__owned=1"
PROBES = {
    "script": f"</script><script>{OWN}</script>",
    "image": f"<img src=x onerror={OWN}>",
    "markup": f"</td></table></svg></details><svg onload={OWN}><iframe srcdoc='<script>parent.__owned=1</script>'>",
    "attribute": f'" onmouseover={OWN} onfocus={OWN} autofocus x="',
    "quote": f"' onmouseover='{OWN}' tabindex='0",
    "address": f"javascript:{OWN}",
    "plotly": f"<a href='javascript:{OWN}' target='_self'>name</a><b style='color:red'>x</b>",
    "entity": f"&lt;img src=x onerror={OWN}&gt;&#60;script&#62;{OWN}",
    "template": "{{7*7}}${7*7}#{7*7}<%= 7*7 %>%{x}",
    "bidi": "abc\u202edcb\u2066x\u2069\u200f\u200b",
    "style": "</style><style>main { display: none }</style><link rel=stylesheet href=http://example.invalid/x.css>",
}

# What acts on a page, wherever it stands: handlers, addresses that run or that lead away, and what would fetch.
_ACTING = """() => Array.from(document.querySelectorAll("*")).flatMap((element) => {
  const tag = element.tagName.toLowerCase();
  const active = Array.from(element.attributes).filter(({ name, value }) => name.startsWith("on") ||
    /^(src|href|xlink:href|action|formaction|data|srcdoc|srcset|poster|background|ping)$/.test(name) &&
      !/^(#|data:image\\/png;)/.test(value.trim()));
  const foreign = /^(iframe|object|embed|link|base|form|img|audio|video|foreignobject)$/.test(tag) ? [tag] : [];
  return [...foreign, ...active.map(({ name, value }) => `${tag} ${name}=${value.slice(0, 80)}`)];
})"""
# Where each point of what plotly drew lies in its plot, in pixels.
_POINTS = """(plot) => plot._fullData.flatMap((trace) => {
  const across = plot._fullLayout[trace.xaxis.replace("x", "xaxis")];
  const down = plot._fullLayout[trace.yaxis.replace("y", "yaxis")];
  const at = (axis, values, place) => axis._offset + axis.d2p(values ? values[place] : place);
  const count = (values) => Array.from(values || []).length;
  if (trace.type !== "heatmap") return Array.from(Array(count(trace.x)), (_, place) =>
    ({ x: at(across, trace.x, place), y: at(down, trace.y, place) }));
  return Array.from(trace.z).flatMap((row, y) => Array.from(row, (_, x) =>
    ({ x: at(across, null, x), y: at(down, null, y) })));  // categories by their number
})"""
# The plot's label, once it is another than before; plotly waits a little before it labels the next point.
_LABEL = """(plot, before) => new Promise((done) => {
  const look = (tries) => {
    const label = plot.querySelector(".hoverlayer").textContent;
    if ((label && label !== before) || !tries) done(label); else setTimeout(look, 20, tries - 1);
  };
  look(50);
})"""
_TEXT = "document.documentElement.textContent"
_ATTRIBUTES = """Array.from(document.querySelectorAll("*"))
  .flatMap((element) => Array.from(element.attributes, (each) => each.value)).join("\\n")"""


def without_policy(path: Path) -> str:
    """The page if nothing but its escaping stood between a name and the reader."""
    html, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text(encoding="utf-8"))
    assert removed == 1
    return html


def touch(opened: Opened) -> list[str]:
    """Unfold, point at every point of every plot, and move the focus about; what the plots' labels said."""
    opened.unfold()
    opened.draw()
    labels = [""]
    for plot in opened.page.locator(".js-plotly-plot").filter(visible=True).all():
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        assert box is not None
        for point in plot.evaluate(_POINTS):
            opened.page.mouse.move(box["x"] + point["x"], box["y"] + point["y"])
            labels.append(plot.evaluate(_LABEL, labels[-1]))
    for _ in range(5):
        opened.page.keyboard.press("Tab")
    opened.settle()
    return labels


def acts(opened: Opened) -> dict[str, object]:
    """All by which a name could have become more than text; everything is empty on a page whose names are text."""
    return {
        "ran": opened.page.evaluate("window.__owned ? [window.__owned] : []"),
        "acting": opened.page.evaluate(_ACTING),
        "fetched": opened.requests,
        "hidden": [] if opened.page.get_by_role("main").is_visible() else ["main"],
    }


@pytest.mark.parametrize(
    ("probe", "guarded"),
    # The policy would hide a hole in the escaping, so most look without it; plotly's markup is what it may stop.
    [*((probe, False) for probe in PROBES), ("script", True), ("plotly", True), ("attribute", True)],
)
def test_a_name_stays_text(open_report: OpenReport, tmp_path: Path, probe: str, *, guarded: bool) -> None:
    name = PROBES[probe]
    of = written(factories.hostile(name), tmp_path / "hostile.html")
    opened = open_report(of.path if guarded else without_policy(of.path))
    labels = touch(opened)
    quiet(opened)
    assert not any(acts(opened).values()), acts(opened)
    assert len(set(filter(None, labels))) >= 12  # a cell per layer and request
    shown = plain(opened.page.evaluate(_TEXT))
    assert plain(shortened(name, 48)) in shown
    everything = shown + opened.page.evaluate(_ATTRIBUTES) + "".join(labels)
    assert not re.search("[\u200b\u200f\u202a-\u202e\u2066-\u2069]", everything)


@pytest.mark.parametrize("probe", ["script", "attribute", "plotly", "style"])
def test_a_name_that_is_let_through_is_seen(open_report: OpenReport, tmp_path: Path, probe: str) -> None:
    """What the silence above rests on: the same page with one name unescaped."""
    of = written(factories.hostile("HERE"), tmp_path / "hostile.html")
    html = without_policy(of.path)
    assert 'title="HERE' in html
    assert ">HERE<" in html
    opened = open_report(html.replace('title="HERE', f'title="{PROBES[probe]}').replace(">HERE<", f">{PROBES[probe]}<"))
    assert any(acts(opened).values())
