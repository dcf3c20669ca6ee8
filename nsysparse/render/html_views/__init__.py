"""Each block kind as the HTML template draws it: texts made visible, names shortened, figures drawn."""

from nsysparse.render.html_views import figures, pairs, tables, texts
from nsysparse.render.html_views.base import LONGEST_TITLE, View, view
from nsysparse.render.html_views.scripted import data, json_block

__all__ = ["LONGEST_TITLE", "View", "data", "figures", "json_block", "pairs", "tables", "texts", "view"]
