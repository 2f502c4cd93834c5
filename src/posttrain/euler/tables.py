"""Tables of shares in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; "None." without rows."""
    if not rows:
        return "None."
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in line)} |" for line in lines
    )


def cell(value: object) -> str:
    """A value in a table, numbers with three digits."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def count_heads(confidence: float) -> tuple[str, str]:
    """The heads of the two columns that `count_cells` fills."""
    return "qualified", f"share [{confidence * 100:g}% CI]"


def count_cells(row: Mapping[str, Any]) -> list[str]:
    """How many of a row of `claims.shares` qualified, and their share with its interval."""
    return [f"{row['qualified']} of {row['n']}", f"{row['share']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"]
