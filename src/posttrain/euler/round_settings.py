"""The sections of the recipe's params.yaml that say what the next round is about."""

from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class RoundSettings:
    """mode: canonical can unlock; explore varies the prompt at the frontier; probe asks the problems of `probe`.

    trained_on: problems that the model was trained on, which decides what its rollouts are evidence for.
    """

    mode: Literal["canonical", "explore", "probe"]
    probe: list[int]
    trained_on: list[int]

    def check(self) -> None:
        """Raises SettingsError for values that do not go together."""
        if (self.mode == "probe") != bool(self.probe):
            raise SettingsError(f"probe: must name problems in mode probe and in no other, mode is {self.mode}")
        for name in ("probe", "trained_on"):
            values = getattr(self, name)
            if any(value < 1 for value in values) or len(set(values)) < len(values):
                raise SettingsError(f"{name}: must be different problems from 1 on, is {values}")


@dataclass(frozen=True)
class TransferSettings:
    """rollouts: for each of the four tasks in each language."""

    rollouts: int

    def check(self) -> None:
        """Raises SettingsError for a value out of range."""
        if self.rollouts < 1:
            raise SettingsError(f"rollouts: must be at least 1, is {self.rollouts}")
