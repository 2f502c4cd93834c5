"""A matplotlib figure as SVG inside a page: it takes the page's colours, light or dark, and its text stays text."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

INK, ACCENT, SOFT, ALARM, PAPER = "#010a01", "#010a02", "#010a03", "#010a04", "#010a05"
"""Colours to draw with; each stands for a variable of the page's style sheet."""
_VARIABLES = {
    INK: "var(--ink)",
    ACCENT: "var(--accent)",
    SOFT: "var(--soft)",
    ALARM: "var(--alarm)",
    PAPER: "var(--paper)",
}
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "posttrain",
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
}


@contextmanager
def figure(width: float = 5.6, height: float = 2.7) -> Iterator[Figure]:
    """A figure of so many inches in the page's style, closed at the end."""
    with pyplot.rc_context(_STYLE):
        made = pyplot.figure(figsize=(width, height), layout="constrained")
        try:
            yield made
        finally:
            pyplot.close(made)


def svg(made: Figure, name: str, says: str) -> str:
    """The figure as an SVG element; the same data give the same text with the same matplotlib.

    `name` keeps its ids apart from another figure's, `says` is read to those who do not see it. Call it within
    `figure`.
    """
    out = io.StringIO()
    made.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(says)}" ', 1).strip()
