"""Which checkpoint goes on: the best F1 on val, the earlier one when equal."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

UNITS = {"sft": "epoch", "grpo": "step"}
"""What the checkpoints of a phase are counted in."""


def put_best(phase: str, best: int, models: Path = Path("models")) -> None:
    """Copies checkpoint number `best` of a phase to where the next phase looks for it."""
    shutil.copytree(models / phase / f"{UNITS[phase]}-{best}", models / f"{phase}_best", dirs_exist_ok=True)


def choose(by_label: Mapping[int, Mapping[str, Any]]) -> int:
    """The key (epoch or step) of the highest `f1`; ties go to the lowest key."""
    return min(by_label, key=lambda key: (-by_label[key]["f1"], key))
