"""The learning curve as a picture: training, val by checkpoint, and the six arms on test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

from posttrain.files import replacing
from posttrain.report.interval_marks import Point, draw_intervals

INK, ACCENT, SOFT = "#1f2933", "#0b6e99", "#9fb3c8"


@dataclass(frozen=True)
class Curves:
    """What is drawn.

    val: F1 along the training run. reward: mean reward per GRPO step. arms: F1 on test.
    """

    val: Sequence[Point]
    reward: Sequence[float]
    arms: Sequence[Point]
    n_val: int
    n_test: int


def draw(curves: Curves, out: Path) -> None:
    """Writes a PNG; the same numbers give the same bytes with the same matplotlib."""
    style: Mapping[str, Any] = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with pyplot.rc_context(style):
        figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.8), width_ratios=[1.2, 1, 1.2])
        _points(axes[0], curves.val, f"F1 on val (n = {curves.n_val}), 95% interval")
        axes[0].plot(range(len(curves.val)), [mean for _, mean, _ in curves.val], color=SOFT, zorder=0)
        axes[1].plot(range(1, len(curves.reward) + 1), curves.reward, color=ACCENT, marker="o", markersize=3)
        axes[1].set_title("Mean reward per GRPO step (train questions)", fontsize=9, color=INK)
        axes[1].set_xlabel("step")
        axes[1].set_ylim(0, 1)
        _points(axes[2], curves.arms, f"F1 on test (n = {curves.n_test}), 95% interval")
        figure.tight_layout()
        with replacing(out) as temporary:
            figure.savefig(temporary, format="png", dpi=110, metadata={"Software": None})
        pyplot.close(figure)


def _points(axes: Axes, points: Sequence[Point], title: str) -> None:
    draw_intervals(axes, points, ACCENT, INK)
    axes.set_ylim(-0.02, 1)
    axes.set_title(title, fontsize=9, color=INK)
