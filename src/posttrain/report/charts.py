"""The report's kinds of chart; each is told apart in grey by its marks, lines and hatches as well as by colour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from posttrain.report.interval_marks import Point, draw_intervals
from posttrain.report.svg import ACCENT, ALARM, INK, PAPER, SOFT, figure, svg

_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++", "oo", "||||")
_LINES = ("-", "--", ":")
_MARKS = ("o", "s", "^")


@dataclass(frozen=True)
class Chart:
    """A picture with the numbers behind it: `header` and `rows` are shown as a table on request."""

    name: str
    title: str
    svg: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    wide: bool = False


def figure_html(chart: Chart) -> str:
    """The chart as a figure element with its notes and its numbers."""
    rows = [chart.header, *chart.rows]
    cells = [
        "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in row)
        for row, tag in zip(rows, ["th", *["td"] * len(chart.rows)], strict=True)
    ]
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    width = "whole" if chart.wide else "half"
    notes = "".join(f'<p class="alarm">{escape(note)}</p>' for note in chart.notes)
    return (
        f'<figure id="chart-{chart.name}" class="{width}">{chart.svg}{notes}'
        f"<details><summary>{escape(chart.title)}: the numbers</summary><table>{table}</table></details></figure>"
    )


def intervals(name: str, title: str, points: Sequence[Point], *, zero: bool = False, joined: bool = False) -> Chart:
    """Means with their intervals; `zero` draws the line of no difference, `joined` a line through the means."""
    with figure() as made:
        axes = made.subplots()
        if joined:
            axes.plot(range(len(points)), [mean for _, mean, _ in points], color=SOFT, zorder=0)
        draw_intervals(axes, points, ACCENT, INK)
        axes.plot(range(len(points)), [mean for _, mean, _ in points], alpha=0, gid=f"data-{name}")
        if zero:
            axes.axhline(0, color=INK, linewidth=0.8)
        else:
            axes.set_ylim(-0.03, 1.03)
        axes.set_title(title)
        said = "; ".join(f"{label} {mean:.3f} [{low:.3f}, {high:.3f}]" for label, mean, (low, high) in points)
        rows = [(label, f"{mean:.4f}", f"{low:.4f}", f"{high:.4f}") for label, mean, (low, high) in points]
        return Chart(name, title, svg(made, name, f"{title}: {said}"), ("", "mean", "low", "high"), rows)


def curves(
    name: str,
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    unit: str = "step",
    share: bool = False,
    marks: Sequence[tuple[float, str]] = (),
) -> Chart:
    """Values by step, a line for each of `series`; `share` fixes the axis to 0 to 1.

    `marks` are alarms, (step, message): each is a dashed line where it fired, and a note below.
    """
    with figure() as made:
        axes = made.subplots()
        for (label, points), line, mark in zip(series.items(), _LINES, _MARKS, strict=False):
            steps, values = [step for step, _ in points], [value for _, value in points]
            gid = f"data-{name}" if len(series) == 1 else f"data-{name}-{label.replace(' ', '-')}"
            axes.plot(steps, values, label=label, gid=gid, marker=mark, markersize=3, linestyle=line, color=ACCENT)
        for step, _ in marks:
            axes.axvline(step, color=ALARM, linestyle=(0, (4, 2)), linewidth=1.4, gid=f"alarm-{name}-{step:g}")
            axes.annotate(
                "alarm", (step, 1), (2, -2), ("data", "axes fraction"), "offset points", color=ALARM, va="top"
            )
        values = [value for points in series.values() for _, value in points]
        _frame(axes, title, unit, share or not any(values))
        if len(series) > 1:
            axes.legend()
        span = f"from {min(values):.4g} to {max(values):.4g}" if values else "no data"
        told = "".join(f"; alarm at {unit} {step:g}" for step, _ in marks)
        steps = sorted({step for points in series.values() for step, _ in points})
        found = {label: dict(points) for label, points in series.items()}
        rows = [(f"{step:g}", *(_cell(found[label].get(step)) for label in series)) for step in steps]
        picture = svg(made, name, f"{title}: {len(steps)} points, {span}{told}")
        notes = [f"{unit} {step:g}: {message}" for step, message in marks]
        return Chart(name, title, picture, (unit, *series), rows, notes)


def stacked_bars(name: str, title: str, bars: Mapping[str, Mapping[str, int]], kinds: Sequence[str]) -> Chart:
    """One bar for each of `bars`, divided into counts by kind, the kinds told apart by hatches."""
    with figure(11.4, 3.2) as made:
        axes = made.subplots()
        left = [0] * len(bars)
        for number, (kind, hatch) in enumerate(zip(kinds, _HATCHES, strict=False)):
            counts = [bar.get(kind, 0) for bar in bars.values()]
            fill = SOFT if number % 2 else "none"
            drawn = axes.barh(list(bars), counts, left=left, label=kind, color=fill, edgecolor=INK, hatch=hatch)
            for place, count, start in zip(drawn, counts, left, strict=True):
                place.set_gid(f"data-{name}-{kind}")
                if count:
                    middle = (start + count / 2, place.get_y() + place.get_height() / 2)
                    box = {"boxstyle": "round,pad=0.15", "facecolor": ACCENT, "edgecolor": "none"}
                    axes.annotate(str(count), middle, ha="center", va="center", color=PAPER, fontsize=8, bbox=box)
            left = [start + count for start, count in zip(left, counts, strict=True)]
        axes.invert_yaxis()
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handleheight=1.6, handlelength=2.4)
        rows = [(bar, *(str(counts.get(kind, 0)) for kind in kinds)) for bar, counts in bars.items()]
        said = "; ".join(f"{bar}: {', '.join(f'{k} {n}' for k, n in counts.items())}" for bar, counts in bars.items())
        return Chart(name, title, svg(made, name, f"{title}: {said}"), ("", *kinds), rows, wide=True)


def _frame(axes: Axes, title: str, unit: str, zero_to_one: bool) -> None:
    axes.set_title(title)
    axes.set_xlabel(unit)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if zero_to_one:
        axes.set_ylim(-0.03, 1.03)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
