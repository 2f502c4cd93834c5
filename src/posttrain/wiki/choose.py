"""Which checkpoint goes on: the best F1 on val, the earlier one when equal."""

from collections.abc import Mapping
from typing import Any


def choose(by_label: Mapping[int, Mapping[str, Any]]) -> int:
    """The key (epoch or step) of the highest `f1`; ties go to the lowest key."""
    return min(by_label, key=lambda key: (-by_label[key]["f1"], key))
