"""What the page's scripts draw from: a figure's values as JSON, apart from its view, which stands without them."""

import json
from functools import singledispatch

from markupsafe import Markup

from nsysparse.document import Block, Heatmap, Lanes, Waterfall
from nsysparse.render.figures import mark
from nsysparse.render.html_views.base import LONGEST_TITLE, said
from nsysparse.render.names import shortened, visible


@singledispatch
def data(block: Block) -> str | None:
    """JSON for a script; None for a block of which no script draws anything."""
    del block
    return None


@data.register
def _(block: Heatmap) -> str:
    # Plotly and numpy take a third of a second to load, and only these figures need them.
    from nsysparse.render.charts import heatmap_json

    return heatmap_json(block)


@data.register
def _(block: Lanes) -> str:
    from nsysparse.render.charts import lanes_json

    return lanes_json(block)


@data.register
def _(block: Waterfall) -> str:
    """What an opened row shows beside its figure."""
    return json.dumps(
        {
            "profile": block.profile_title,
            "labels": list(block.profile_labels),
            "rows": {
                line.anchor: {
                    "name": shortened(line.name, LONGEST_TITLE),
                    "segments": [
                        [each.label, mark(each.meaning), visible(each.text)]
                        for each in (*reversed(line.before), *line.after)
                    ],
                    "notes": [said(note) for note in line.notes],
                    "profile": [None if value is None else float(f"{value:.3g}") for value in line.profile],
                }
                for line in block.rows
            },
        },
        separators=(",", ":"),
    )


def json_block(text: str) -> Markup:
    """JSON that may stand inside a script element: no character of it can end the element or a line."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (escaped above)
