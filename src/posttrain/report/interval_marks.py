"""Means with their intervals on an axis: the one way in which pictures and page draw them."""

from collections.abc import Sequence

from matplotlib.axes import Axes

Point = tuple[str, float, Sequence[float]]
"""Label, mean, and the ends of its interval."""


def draw_intervals(axes: Axes, points: Sequence[Point], mark: str, ink: str) -> None:
    """A dot and a line for each point, side by side, in colour `mark`, with its mean in colour `ink`."""
    for x, (_, mean, (low, high)) in enumerate(points):
        axes.plot([x, x], [low, high], color=mark, linewidth=2)
        axes.plot([x], [mean], color=mark, marker="o", markersize=6)
        axes.annotate(f"{mean:.2f}", (x, mean), xytext=(6, 0), textcoords="offset points", va="center", color=ink)
    axes.set_xticks(range(len(points)), [label for label, _, _ in points], rotation=30, ha="right")
    axes.set_xlim(-0.5, len(points) - 0.2)
