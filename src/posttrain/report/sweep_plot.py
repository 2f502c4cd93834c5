"""A sweep as a picture: each configuration's mean with its interval, told apart by place and shape, not by colour."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from posttrain.files import replacing
from posttrain.stats.bootstrap import Estimate

INK, SOFT = "#1f2933", "#c2c9d1"


def draw(rows: Sequence[tuple[str, float, Estimate | None]], title: str, out: Path) -> None:
    """Writes a PNG with one line a configuration, the baseline on top with a dotted line down from its mean.

    A mean without an interval is an open circle.
    """
    with pyplot.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = pyplot.subplots(figsize=(7.5, 1.3 + 0.34 * len(rows)))
        axes.axvline(rows[0][1], color=SOFT, linestyle=":", zorder=0)
        for y, (_, mean, interval) in enumerate(rows):
            if interval is not None:
                axes.plot([interval.low, interval.high], [y, y], color=INK, linewidth=1.6, marker="|", markersize=8)
            marker = "s" if y == 0 else "o"
            axes.plot([mean], [y], color=INK, marker=marker, markersize=6, fillstyle="full" if interval else "none")
            axes.annotate(f"{mean:.3f}", (mean, y), xytext=(0, 6), textcoords="offset points", ha="center", color=INK)
        # Names come from params.yaml; a dollar sign in one is no formula.
        names = [name.replace("$", r"\$") for name, _, _ in rows]
        axes.set_yticks(range(len(rows)), [f"{names[0]} (baseline)", *names[1:]])
        axes.set_ylim(len(rows) - 0.5, -0.7)
        axes.set_title(title.replace("$", r"\$"), fontsize=9, color=INK)
        figure.tight_layout()
        with replacing(out) as temporary:
            figure.savefig(temporary, format="png", dpi=130, metadata={"Software": None})
        pyplot.close(figure)
