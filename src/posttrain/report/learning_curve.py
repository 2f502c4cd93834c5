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

INK, ACCENT, SOFT = "#1f2933", "#0b6e99", "#9fb3c8"


@dataclass(frozen=True)
class Curves:
    """What is drawn.

    val: (label, mean F1, (low, high)) along the training run. reward: mean reward per GRPO step.
    arms: (label, mean F1, (low, high)) on test.
    """

    val: Sequence[tuple[str, float, Sequence[float]]]
    reward: Sequence[float]
    arms: Sequence[tuple[str, float, Sequence[float]]]
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


def _points(axes: Axes, points: Sequence[tuple[str, float, Sequence[float]]], title: str) -> None:
    for x, (_, mean, (low, high)) in enumerate(points):
        axes.plot([x, x], [low, high], color=ACCENT, linewidth=2)
        axes.plot([x], [mean], color=ACCENT, marker="o", markersize=6)
        axes.annotate(f"{mean:.2f}", (x, mean), xytext=(6, 0), textcoords="offset points", va="center", color=INK)
    axes.set_xticks(range(len(points)), [label for label, _, _ in points], rotation=30, ha="right")
    axes.set_xlim(-0.5, len(points) - 0.2)
    axes.set_ylim(-0.02, 1)
    axes.set_title(title, fontsize=9, color=INK)
